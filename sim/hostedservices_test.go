package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/hosting"
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
	m := &memory{size: 2, info: traces.Info{Name: "hosted", Hash: "hosted", Sorted: true}, events: events}
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
	return follow.seen, res.Services, sink
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

// TestLatticeInsideACluster: with free nodes it takes one 120, 300 and 480 s behind the step,
// as it does alone, and gives them back.
func TestLatticeInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 12}]\nvclusters: [{name: batch, home: 4}, {name: serving, home: 8}]\n" + stepped
	seen, results, _ := hostedReplay(t, site, nil, submittedJob{0, 1800, 4, 9, 0, traces.Job{VCluster: "batch"}})
	require.Zero(t, results[0].Lacking)
	require.Equal(t, []sized{{0, 2, ""}, {720, 3, ""}, {900, 4, ""}, {1080, 5, ""}}, seen[:4])
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
