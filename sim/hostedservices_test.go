package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/profiles"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/hosting"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// sized is a change of the size of a service: nodes that it has from a second on, or that it
// lacks for a reason.
type sized struct {
	at     int64
	nodes  int64
	reason string
}

// sizesOf follows the size of the service that is the job, and what was not met.
type sizesOf struct {
	drive.Unrecorded
	job  model.JobID
	seen []sized
}

// Fact implements drive.Recorder.
func (s *sizesOf) Fact(now model.Time, f *model.Fact) {
	if f.Job != s.job {
		return
	}
	at := int64(now) / 1e6
	switch f.Kind {
	case model.FactAssigned, model.FactResized:
		s.seen = append(s.seen, sized{at, int64(f.Placement.Nodes()), f.Reason.String()})
	case model.FactUnmet:
		s.seen = append(s.seen, sized{at, -f.Value, f.Reason.String()})
	case model.FactSuspended, model.FactEnded, model.FactRequeued:
		s.seen = append(s.seen, sized{at, 0, f.Kind.String()})
	}
}

// hostedReplay replays jobs beside the services of a site and returns the sizes of the first.
func hostedReplay(t *testing.T, site string, events []traces.Event, jobs ...submittedJob) ([]sized, []hosting.Result, *record.Memory) {
	t.Helper()
	seen, res, sink := loadedRun(t, site, nil, events, jobs...)
	return seen, res.Services, sink
}

// loadedReplay is hostedReplay for a trace with a load table.
func loadedReplay(t *testing.T, site string, table []traces.Load, events []traces.Event, jobs ...submittedJob) ([]sized, []hosting.Result, *record.Memory) {
	t.Helper()
	seen, res, sink := loadedRun(t, site, table, events, jobs...)
	return seen, res.Services, sink
}

// loadedRun is loadedReplay with all of the result.
func loadedRun(t *testing.T, site string, table []traces.Load, events []traces.Event, jobs ...submittedJob) ([]sized, *Result, *record.Memory) {
	t.Helper()
	m := &memory{size: 2, info: traces.Info{Name: "hosted", Hash: "hosted", Sorted: true}, events: events, load: table}
	if len(table) > 0 {
		m.info.Tables = []traces.TableRows{{Table: "load", Rows: int64(len(table))}}
	}
	m.all.Attr = &traces.Attributes{}
	for _, j := range jobs {
		m.add(row{submit: j.submit, runtime: j.runtime, walltime: j.runtime, procs: j.nodes, nodes: j.nodes, cancel: j.cancel})
		m.all.User[m.all.Len()-1] = j.user
		job := j.job
		m.all.Attr.AppendJob(&job)
	}
	sink := record.NewSiteMemory()
	follow := &sizesOf{job: model.JobID(m.info.Rows)}
	res, err := Run(context.Background(), siteOf(t, "agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\n"+site), m.open, Options{Sink: sink, Watch: true, Observer: follow})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches)
	return follow.seen, res, sink
}

// stepped is a service of lattice whose demand rises to ten times at 9:59, which the
// evaluation at 10:00 sees; two replicas serve a fifth of it.
const stepped = `services:
- name: chat
  vcluster: serving
  min: 2
  max: 5
  demand: {shape: step, base: 10, peak: 100, at: 599s, over: 15m, length: 45m, grain: 1s}
  service: {kind: queue, slots: 10, work: 800ms, boot: 30s, scrape: 1s, mode: fluid, goal: {limit: 1s}}
  policy: {kind: lattice, target: 0.7}
`

// TestSwitchInsideACluster: with a window of 4 min and a cooldown of 3 min the second node
// comes 3 min behind the first, or 5 min where a change begins the window anew.
func TestSwitchInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 12}]\nvclusters: [{name: batch, home: 4}, {name: serving, home: 8}]\n"
	for key, second := range map[string]int64{"up_window: 4m": 1020, "up_window: 4m, change_restarts_windows: true": 1140} {
		seen, _, _ := hostedReplay(t, site+strings.Replace(stepped, "target: 0.7", "target: 0.7, "+key, 1), nil, submittedJob{0, 1800, 4, 9, 0, traces.Job{VCluster: "batch"}})
		require.Equal(t, []sized{{0, 2, ""}, {840, 3, ""}, {second, 4, ""}}, seen[:3], key)
	}
}

// TestLatticeInsideACluster: with free nodes it takes one 120, 300 and 480 s behind the step,
// as it does alone, and gives them back.
func TestLatticeInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 12}]\nvclusters: [{name: batch, home: 4}, {name: serving, home: 8}]\n" + stepped
	seen, results, _ := hostedReplay(t, site, nil, submittedJob{0, 1800, 4, 9, 0, traces.Job{VCluster: "batch"}})
	require.Zero(t, results[0].Lacking)
	require.Equal(t, []sized{{0, 2, ""}, {720, 3, ""}, {900, 4, ""}, {1080, 5, ""}}, seen[:4])
}

// TestRecordedInsideACluster: the demand of the load table is that of the same shape, from its
// first sample on, of the service that the file names, or of a part of it.
func TestRecordedInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 12}]\nvclusters: [{name: batch, home: 4}, {name: serving, home: 8}]\n" +
		strings.Replace(stepped, "{shape: step, base: 10, peak: 100, at: 599s, over: 15m, length: 45m, grain: 1s}", "{service: chat}", 1)
	sample := func(name string, at, width int64, rate float64) traces.Load {
		return traces.Load{Service: name, Time: model.Time(at * 1e6), Width: model.Duration(width * 1e6), Arrivals: traces.Some(rate * float64(width))}
	}
	table := []traces.Load{sample("other", 0, 60, 900), sample("chat", 100, 599, 10), sample("other", 400, 60, 900), sample("chat", 699, 900, 100), sample("chat", 1599, 1201, 10)}
	job := submittedJob{0, 1800, 4, 9, 0, traces.Job{VCluster: "batch"}}
	seen, results, _ := loadedReplay(t, site, table, nil, job)
	require.Equal(t, []sized{{100, 2, ""}, {820, 3, ""}, {1000, 4, ""}, {1180, 5, ""}}, seen[:4])
	require.Equal(t, sized{2800, 0, "ended"}, seen[len(seen)-1], "when the demand is over")
	require.InDelta(t, 599*10+900*100+1201*10, results[0].Outcome.Requests, 1e-6)

	seen, results, _ = loadedReplay(t, strings.Replace(site, "{service: chat}", "{service: chat, from: 5m, length: 20m, scale: 2}", 1), table, nil, job)
	require.Equal(t, sized{400, 2, ""}, seen[0])
	require.Equal(t, sized{1600, 0, "ended"}, seen[len(seen)-1])
	require.InDelta(t, 2*(299*10+900*100+10), results[0].Outcome.Requests, 1e-6)

	c, err := profiles.ParseCluster("site", []byte(strings.Replace(site, "{service: chat}", "{service: none}", 1)))
	require.NoError(t, err)
	require.NoError(t, c.Inline(""))
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	for _, x := range []struct {
		table []traces.Load
		want  string
	}{{table, "want one of other, chat"}, {nil, "which this trace does not have: give the demand a shape"}} {
		m := &memory{size: 1, info: traces.Info{Name: "hosted", Hash: "hosted", Sorted: true}, load: x.table}
		if x.table != nil {
			m.info.Tables = []traces.TableRows{{Table: "load", Rows: 5}}
		}
		_, err := Run(context.Background(), spec, m.open, Options{})
		require.ErrorContains(t, err, x.want)
	}
}

// TestRefusedInsideACluster: where batch work has all nodes each proposal is rejected, with
// the reason; three of them in a row make the policy wait for two cooldowns. When the job has
// ended it gets what it asks for.
func TestRefusedInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 6}]\nvclusters: [{name: serving, home: all}]\n" + stepped
	seen, results, _ := hostedReplay(t, site, nil, submittedJob{1, 1400, 4, 9, 0, traces.Job{}})
	require.Equal(t, []sized{
		{0, 2, ""}, {720, -1, "RESOURCES"}, {780, -1, "RESOURCES"}, {840, -1, "RESOURCES"}, {1200, -1, "RESOURCES"}, {1260, -1, "RESOURCES"}, {1320, -1, "RESOURCES"},
	}, seen[:7])
	require.Equal(t, []sized{{1680, 3, ""}, {1860, 4, ""}, {2040, 5, ""}}, seen[7:10])
	require.EqualValues(t, 6, results[0].Outcome.Rejected)
	require.EqualValues(t, 6, results[0].Unmet[model.ReasonResources])
	require.EqualValues(t, 6, results[0].Lacking)
}

// lending is a site whose batch nodes may be borrowed.
const lending = "groups: [{name: a, nodes: 12}]\nvclusters:\n- {name: batch, home: 8, max_lent: 0.25, profile: {order: fcfs, backfill: easy, preemption: {enabled: true}}}\n- {name: serving, home: 4}\n"

// TestServicesBorrowAboveTheirLeast: beyond its home nodes a service gets what the others
// lend, and what is lent goes back when a job there wants it, while the service runs on.
func TestServicesBorrowAboveTheirLeast(t *testing.T) {
	site := lending + strings.Replace(stepped, "max: 5", "max: 8", 1)
	small := func(at, runs int64, nodes int32) submittedJob {
		return submittedJob{at, runs, nodes, 9, 0, traces.Job{VCluster: "batch"}}
	}
	seen, results, sink := hostedReplay(t, site, nil, small(0, 2000, 6), small(1500, 100, 2))
	require.Equal(t, []sized{
		{0, 2, ""}, {720, 3, ""}, {900, 4, ""}, {1080, 5, ""}, {1260, 6, ""}, {1440, -1, "RESOURCES"}, // 4 at home and 2 of 8 lent
		{1500, 4, "RECLAIMED"}, {1500, -3, "RESOURCES"}, // what was asked for at that instant
	}, seen[:8])
	require.EqualValues(t, 2, results[0].Reclaimed)
	require.Zero(t, results[0].Preempted)
	require.Equal(t, int64(1500e6), sink.Jobs.Start[0], "the job at home starts at once")
}

// drawnPolicies are policies of services that are drawn, each with its series.
var drawnPolicies = []string{
	"{kind: lattice, target: 0.6, interval: 20s, up_window: 20s, down_window: 40s, cooldown: 40s}", "{kind: lattice-coded, cooldown: 40s}", "{kind: hpa, target: 0.6, down_window: 1m}",
	"{kind: kpa, target: 6}", "{kind: keda, metric: rate, target: 12}", "{kind: fixed, size: LEAST}", "{kind: clairvoyant}",
}

// drawnWorld is a site of two vClusters with services and batch work.
func drawnWorld(t *rapid.T) (site string, jobs []submittedJob) {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "agents: {kill_grace: %ds, start_delay: %ds, checkpoint_bandwidth: 1GiB/s}\n", n("grace", 0, 20), n("delay", 0, 5))
	fmt.Fprintf(&b, "quorum: {latency: %dms}\n", []int{0, 0, 300}[n("latency", 0, 2)])
	home, serving := n("home", 2, 8), n("serving", 2, 6)
	fmt.Fprintf(&b, "groups: [{name: a, nodes: %d}]\n", home+serving+n("common", 0, 3))
	fmt.Fprintf(&b, "tenants: [{name: x, max_nodes: %s}]\n", []string{"none", strconv.Itoa(n("most", 4, 12))}[n("quota", 0, 1)])
	fmt.Fprintf(&b, "vclusters:\n- {name: batch, home: %d, max_lent: 0.%d, profile: {order: fcfs, preemption: {enabled: %t}}}\n", home, n("lent", 0, 9), n("preempts", 0, 2) > 0)
	fmt.Fprintf(&b, "- {name: serving, home: %d, profile: {order: fcfs, backfill: %s, preemption: {enabled: %t}}}\nservices:\n", serving, []string{"easy", "first-fit", "conservative"}[n("backfill", 0, 2)], n("seeks", 0, 2) > 0)
	for i := range n("services", 1, 3) {
		least := n("min", 1, 2)
		fmt.Fprintf(&b, "- {name: s%d, vcluster: %s, tenant: x, class: %d, nodes: %d, min: %d, max: %d, start: %ds,\n", i, []string{"serving", "serving", "batch"}[n("of", 0, 2)], n("class", 1, 9), n("per", 1, 2), least, least+n("range", 0, 5), n("start", 0, 60))
		fmt.Fprintf(&b, "   demand: {shape: sine, base: %d, peak: %d, period: 3m, length: 6m, grain: 5s, noise: 0.3},\n", n("base", 0, 10), n("peak", 20, 60))
		fmt.Fprintf(&b, "   service: {kind: queue, slots: 10, work: 800ms, boot: %ds, drain: 15s, scrape: 5s, mode: %s},\n", n("boot", 0, 40), []string{"exact", "fluid"}[n("fluid", 0, 1)])
		fmt.Fprintf(&b, "   policy: %s}\n", strings.Replace(drawnPolicies[n("policy", 0, len(drawnPolicies)-1)], "LEAST", strconv.Itoa(least), 1))
	}
	at := int64(0)
	for range n("jobs", 0, 12) {
		at += int64(n("gap", 0, 60))
		jobs = append(jobs, submittedJob{at, int64(n("runs", 1, 200)), int32(n("nodes", 1, 6)), int32(n("user", 0, 2)), 0, traces.Job{VCluster: []string{"batch", "batch", "serving"}[n("queue", 0, 2)], Class: traces.Some(int32(n("job class", 1, 9)))}})
	}
	return b.String(), jobs
}

// TestHostedWorlds: in drawn worlds with services no invariant breaks, a fresh core that is fed
// the log makes the same plans, and a second replay is the same.
func TestHostedWorlds(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		site, jobs := drawnWorld(t)
		m := &memory{size: 2, info: traces.Info{Name: "hosted", Hash: "hosted", Sorted: true}}
		m.all.Attr = &traces.Attributes{}
		for _, j := range append(jobs, submittedJob{at(jobs), 1, 1, 0, 0, traces.Job{VCluster: "batch"}}) {
			m.add(row{submit: j.submit, runtime: j.runtime, walltime: j.runtime, procs: j.nodes, nodes: j.nodes})
			job := j.job
			m.all.Attr.AppendJob(&job)
		}
		c, err := profiles.ParseCluster("site", []byte(site))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Inline(""); err != nil {
			t.Fatal(err)
		}
		spec := plan.DefaultSpec()
		spec.Site, spec.Seed, spec.AllowUnheeded = c.JSON(), 7, true // some worlds are too small for all their jobs
		var kept log
		res, err := Run(context.Background(), spec, m.open, Options{Watch: true, Log: kept.recorder()})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Watch.Breaches) > 0 {
			t.Fatalf("%s\n%v", site, res.Watch)
		}
		taken, asked := model.Duration(0), int64(0)
		for i := range res.Takings {
			taken += res.Takings[i].NodeTime + res.Takings[i].Borrowed
			asked += res.Takings[i].Preemptions
		}
		if asked != res.SiteCounts.Preempted || int64(taken) > int64(res.Last-res.First)*int64(len(res.Cluster.Units)) {
			t.Fatalf("%s\n%v: %d preemptions", site, res.Takings, res.SiteCounts.Preempted)
		}
		again, err := Run(context.Background(), spec, m.open, Options{})
		if err != nil || again.Fingerprint != res.Fingerprint || !slices.EqualFunc(again.Services, res.Services, func(a, b hosting.Result) bool { return a.Outcome.Late == b.Outcome.Late && a.NodeTime == b.NodeTime }) {
			t.Fatalf("the second replay is another: %v", err)
		}
		kept.same(tt, spec, m.open, res.Fingerprint)
	})
}

// at is when the last of the jobs is submitted.
func at(jobs []submittedJob) int64 {
	if len(jobs) == 0 {
		return 0
	}
	return jobs[len(jobs)-1].submit
}
