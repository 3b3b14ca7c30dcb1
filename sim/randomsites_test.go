package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
)

// siteWorld is a small site, as a cluster file, and the jobs that come to it.
type siteWorld struct {
	head      []string // settings and lists of the cluster file but for those below
	groups    []siteGroup
	vclusters []string
	events    []string
	falling   []string // of these, caps by powerRules
	jobs      []traces.Job
	edges     []traces.Edge
	demands   []traces.Event // of services, in order of time
	seed      uint64
	overrun   string
	size      int // of a batch
}

type siteGroup struct {
	name, kind, print string
	nodes             int
}

// siteDraw hands out the choices of a world from bytes; features that are off are
// not drawn, so that plain worlds are among the random ones.
type siteDraw struct {
	bytesOf
	w         siteWorld
	nodes     int
	vclusters int
	shared    bool
	resources bool // nodes are divided by amounts
	tenants   bool
	qos       bool
	parts     bool
	reserves  bool
	caps      bool
	calm      bool // reservations of EASY can be checked
}

func (d *siteDraw) span(lo, hi int) string { return fmt.Sprintf("%ds", lo+d.below(hi-lo+1)) }

func (d *siteDraw) yes(percent int) bool { return d.below(100) < percent }

// drawSite makes a world of up to 12 nodes, 3 vClusters and 40 jobs.
func drawSite(data []byte) *siteWorld {
	d := &siteDraw{bytesOf: bytesOf{data: data}}
	d.w.seed, d.w.size = uint64(d.below(200)), 1+d.below(5)
	if d.yes(15) {
		d.w.overrun = "extend"
	}
	d.calm = d.yes(30)
	d.shared = !d.calm && d.yes(20)
	d.add("agents: {kill_grace: %s, wipe: %s, boot_delay: %s, start_delay: %s, checkpoint_bandwidth: %dGB/s, restore_bandwidth: %dGB/s}",
		d.span(0, 3), d.span(0, 4), d.span(0, 4), []string{"0s", "0s", "1s"}[d.below(3)], 1+d.below(20), 1+d.below(20))
	if d.yes(30) {
		d.add("quorum: {latency: %s, jitter: %s}", d.span(0, 3), d.span(0, 2))
	}
	if d.shared {
		if d.resources = d.yes(60); d.resources {
			d.add("sharing: resources")
			d.add("job_memory: %dGB", d.below(3))
		} else {
			d.add("sharing: gpus")
		}
	}
	if d.caps = !d.calm && d.yes(25); d.caps {
		d.add("power_cap: %dW", 300+100*d.below(20))
	}
	if d.caps && d.yes(50) {
		d.add("storage_bandwidth: %dB/s", 5+d.below(20))
	}
	d.add("node_types: [{name: a, gpus: 4, gpu: H, gpu_memory: 10GB, cpus: 8, memory: 20GB, idle_power: 50W, busy_power: 100W}, {name: b, gpus: 2, gpu: L, gpu_memory: 4GB, cpus: 4, memory: 10GB, idle_power: 80W, busy_power: 200W, features: [fast]}]")
	for g := range 1 + d.below(4) {
		n := 1 + d.below(4)
		d.nodes += n
		d.w.groups = append(d.w.groups, siteGroup{fmt.Sprint("g", g), []string{"a", "a", "b"}[d.below(3)], []string{"", "x", "x", "y"}[d.below(4)], n})
	}
	d.people()
	d.drawVClusters()
	d.happenings()
	at := model.Time(0)
	for i := range 1 + d.below(40) {
		at += model.Time(d.below(5)) * model.Time(model.Second)
		d.job(i, at)
	}
	if d.caps {
		d.w.powerRules(data)
	}
	return &d.w
}

// powerRules draws how a world keeps its cap, and caps that fall, from bytes of its own: what else
// a world has does not depend on it.
func (w *siteWorld) powerRules(data []byte) {
	h := fnv.New64a()
	h.Write(data)
	own := bytesOf{data: randomBytes(h.Sum64())}
	for _, line := range []string{"power_cap_scope: site", "over_power_cap: shed"} {
		if own.below(100) < 40 {
			w.head = append(w.head, line)
		}
	}
	for range 2 {
		if own.below(100) < 50 {
			w.falling = append(w.falling, fmt.Sprintf("{time: %ds, kind: power_cap, value: %dW}", own.below(150), 100+100*own.below(8)))
		}
	}
	w.events = append(w.events, w.falling...)
	slices.SortStableFunc(w.events, func(a, b string) int { return cmp.Compare(secondsOf(a), secondsOf(b)) })
}

// secondsOf is when an event happens.
func secondsOf(event string) int {
	seconds, err := strconv.Atoi(eventTime.FindStringSubmatch(event)[1])
	if err != nil {
		panic(err) // the expression has digits there
	}
	return seconds
}

func (d *siteDraw) add(format string, args ...any) {
	d.w.head = append(d.w.head, fmt.Sprintf(format, args...))
}

// gpuLimit draws a limit in GPUs where jobs share nodes.
func (d *siteDraw) gpuLimit(key string) string {
	if !d.shared || d.yes(50) {
		return ""
	}
	return fmt.Sprintf(", %s: %d", key, 1+d.below(12))
}

// people draws tenants, qualities of service, partitions and reservations.
func (d *siteDraw) people() {
	limit := func(most int) string {
		if d.yes(50) {
			return "none"
		}
		return fmt.Sprint(1 + d.below(most))
	}
	if d.tenants = d.yes(50); d.tenants {
		for _, t := range []string{"ada", "bob"} {
			d.w.head = append(d.w.head, fmt.Sprintf("tenants+ {name: %s, max_nodes: %s, max_concurrent: %s, fair_share: 0.%d, node_hours: 0.0%d%s}",
				t, limit(9), limit(4), 1+d.below(8), 1+d.below(8), d.gpuLimit("max_gpus")))
		}
	}
	// Its class keeps low from preempting what preempts high: such jobs would take turns for ever.
	if d.qos = d.yes(30); d.qos {
		d.w.head = append(d.w.head, fmt.Sprintf("qos+ {name: low, class: 0, max_nodes: %s, group_nodes: %s, group_jobs: %s, user_jobs: %s, user_nodes: %s, preempt_grace: %s%s}",
			limit(9), limit(9), limit(4), limit(3), limit(9), d.span(0, 2), d.gpuLimit("group_gpus")), "qos+ {name: high, preempts: [low]}")
	}
	if d.parts = !d.calm && d.yes(30); d.parts {
		d.w.head = append(d.w.head, fmt.Sprintf("partitions+ {name: all, tier: %d, min_nodes: 0, max_nodes: %s}", d.below(2), limit(9)),
			fmt.Sprintf("partitions+ {name: some, nodes: [g0], tier: %d, up: %t}", d.below(2), d.yes(90)))
	}
	if d.reserves = !d.calm && d.yes(25); d.reserves {
		start := d.below(60)
		d.w.head = append(d.w.head, fmt.Sprintf("reservations+ {name: mine, nodes: [g0], start: %ds, end: %ds, maintenance: %t}", start, start+1+d.below(40), d.yes(30)))
	}
}

// drawVClusters draws up to three, each with a profile of its own.
func (d *siteDraw) drawVClusters() {
	d.vclusters = 1 + d.below(3)
	preempts := !d.calm && d.yes(40)
	for l := range d.vclusters {
		home := "[]"
		switch {
		case d.vclusters == 1 && d.yes(70):
			home = "all"
		case l < len(d.w.groups) && d.yes(80):
			home = "[" + d.w.groups[l].name + "]"
		}
		if l >= len(d.w.groups) {
			home = "[]"
		}
		d.w.vclusters = append(d.w.vclusters, fmt.Sprintf("{name: v%d, home: %s, lend: %t, borrow: %t, max_lent: 0.%d, grace: %s, profile: {%s}}",
			l, home, d.yes(70), d.yes(70), 1+d.below(9), d.span(0, 3), d.profile(preempts)))
	}
}

func (d *siteDraw) profile(preempts bool) string {
	backfill := []string{"none", "first-fit", "easy", "easy", "easy", "conservative"}[d.below(6)]
	if backfill == "conservative" && (d.shared || d.caps) {
		backfill = "easy"
	}
	p := "backfill: " + backfill
	if backfill == "conservative" && d.yes(50) {
		p += fmt.Sprintf(", depth: %d", 1+d.below(4))
	}
	order := d.below(4)
	if d.calm {
		order, p = 0, "backfill: easy"
	}
	switch order {
	case 0:
		p += ", order: fcfs"
	case 1:
		p += ", order: fcfs"
	case 2:
		p += fmt.Sprintf(", order: score, accounting_tick: 10s, usage: {window: 1h}, weights: {priority: %d, wait_time: 3, fair_share: %d, topology: %d, conformance: %d}", d.below(3), d.below(3), d.below(3), d.below(3))
	case 3:
		p += ", order: sjf"
	}
	if d.yes(30) {
		cycle := 2 + d.below(6)
		p += fmt.Sprintf(", cycle: %ds, phase: %ds", cycle, d.below(cycle))
	}
	if preempts && d.yes(80) {
		p += fmt.Sprintf(", preemption: {enabled: true, max_victims: %d, near_completion: %s, timeout: 8s, deferral: 2s}", 1+d.below(3), d.span(0, 3))
	}
	return p
}

// happenings draws what befalls nodes, limits and caps. All nodes work in the end.
func (d *siteDraw) happenings() {
	if !d.yes(50) {
		return
	}
	at := 0
	event := func(format string, args ...any) {
		d.w.events = append(d.w.events, fmt.Sprintf("{time: %ds, ", at)+fmt.Sprintf(format, args...)+"}")
	}
	for range d.below(8) {
		at += d.below(25)
		g := &d.w.groups[d.below(len(d.w.groups))]
		subject := fmt.Sprintf("[%s-%d]", g.name, 1+d.below(g.nodes))
		switch k := d.below(9); {
		case k < 6:
			event("kind: %s, subject: %s", []string{"drain", "undrain", "degraded", "down", "down", "up"}[k], subject)
		case k == 6 && d.tenants:
			event("kind: quota, subject: ada, limit: max_nodes, value: %d", 1+d.below(9))
		case k == 7 && d.caps:
			event("kind: power_cap, value: %dW", 300+100*d.below(20))
		case k == 8:
			event("kind: price, value: 0.%d", 1+d.below(9))
		}
	}
	at += 300
	event("kind: up, subject: all")
	at += 60
	event("kind: undrain, subject: all")
	if d.caps {
		event("kind: power_cap, value: none")
	}
}

func (d *siteDraw) job(i int, at model.Time) {
	sec := func(n int) traces.Opt[model.Duration] { return traces.Some(model.Duration(n) * model.Second) }
	runtime := d.below(14)
	j := traces.Job{ID: int64(100 + i), Submit: at, Runtime: sec(runtime), Walltime: sec(max(1, runtime-1+d.below(7))), User: fmt.Sprint("u", d.below(3))}
	j.NodesMin = traces.Some(int32(1 + d.below(min(d.nodes, 1+d.below(d.nodes)))))
	j.VCluster = fmt.Sprint("v", d.below(d.vclusters))
	if !d.calm && d.yes(20) {
		j.NodesMax = traces.Some(j.NodesMin.V + int32(d.below(4)))
	}
	if d.shared && d.yes(70) {
		j.GPUsPerNode = traces.Some(int32(1 + d.below(4)))
	}
	if d.resources {
		if d.yes(50) {
			j.GPUsPerNode, j.GPUMilli = traces.Some[int32](1), traces.Some(int32(100*(1+d.below(10))))
		}
		if d.yes(70) {
			j.CPUsPerNode, j.MemPerNode = traces.Some(int32(1+d.below(4))), traces.Some(int64(d.below(8))*1_000_000_000)
		}
		j.Exclusive = traces.Some(d.yes(15))
	}
	if d.yes(20) {
		j.GPUType = map[string]string{"a": "H", "b": "L"}[d.w.groups[d.below(len(d.w.groups))].kind]
	}
	j.Topology = []string{"", "", "tight", "spread", "any"}[d.below(5)]
	j.Class = traces.Some(int32(d.below(10)))
	j.Sensitive = traces.Some(d.yes(10))
	j.Checkpoint = []string{"", "auto", "manual", "none"}[d.below(4)]
	j.CkptBytes = traces.Some(int64(1+d.below(60)) * 1_000_000_000)
	j.Requeue = []string{"", "never", "always"}[d.below(3)]
	j.RequeueMax = traces.Some(int32(d.below(3)))
	j.ExitState = []string{"", "", "", "", "FAILED", "CANCELLED", "TIMEOUT"}[d.below(7)]
	if d.yes(5) {
		j.Kind = "session"
	}
	if d.yes(20) {
		j.Power, j.IODemand = traces.Some(int64(100*d.below(4))), traces.Some(int64(d.below(6)))
	}
	if d.tenants {
		j.Tenant = []string{"ada", "bob"}[d.below(2)]
	}
	if d.qos {
		j.QOS = []string{"low", "high", ""}[d.below(3)]
	}
	if d.parts {
		j.Partition = []string{"all", "some", ""}[d.below(3)]
	}
	if d.reserves && d.yes(20) {
		j.Reservation = "mine"
	}
	if d.yes(10) {
		j.Eligible = traces.Some(at.Add(model.Duration(d.below(20)) * model.Second))
	}
	if d.yes(8) {
		j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(at.Add(model.Duration(d.below(30))*model.Second))
	}
	if d.yes(15) {
		j.Group, j.Index, j.MaxConcurrent = fmt.Sprint("t", d.below(2)), traces.Some(int32(i)), traces.Some(int32(2))
	}
	if d.yes(15) {
		d.service(&j)
	}
	d.w.jobs = append(d.w.jobs, j)
	d.ties(model.JobID(i))
}

// service makes a reactive service of j, which lasts longer than jobs do, and draws what
// it is to have.
func (d *siteDraw) service(j *traces.Job) {
	j.Kind, j.NodesMin = "reactive", traces.Some(int32(1+d.below(min(2, d.nodes))))
	j.NodesMax = traces.Some(j.NodesMin.V + int32(d.below(d.nodes)))
	if j.Runtime.OK {
		j.Runtime.V += model.Duration(d.below(50)) * model.Second
	}
	if j.Walltime.V += j.Runtime.V; d.yes(50) {
		j.Walltime = traces.Opt[model.Duration]{}
	}
	for range d.below(5) {
		d.w.demands = append(d.w.demands, traces.Event{
			Time: j.Submit.Add(model.Duration(d.below(40)) * model.Second), Kind: "demand", Subject: fmt.Sprint(j.ID), Value: fmt.Sprint(1 + d.below(d.nodes+2)),
		})
	}
	slices.SortStableFunc(d.w.demands, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// ties lets a job wait for others.
func (d *siteDraw) ties(i model.JobID) {
	seen := map[model.JobID]bool{}
	for range d.below(8) / 3 {
		if i == 0 {
			continue
		}
		e := traces.Edge{Job: i, On: model.JobID(d.below(int(i))), Condition: model.Condition(d.below(5))}
		if !seen[e.On] {
			d.w.edges = append(d.w.edges, e)
		}
		seen[e.On] = true
	}
}

// cluster is the cluster file.
func (w *siteWorld) cluster() string {
	var out []string
	lists := map[string][]string{}
	for _, l := range w.head {
		if name, item, ok := strings.Cut(l, "+ "); ok && !strings.Contains(name, ":") {
			lists[name] = append(lists[name], item)
			continue
		}
		out = append(out, l)
	}
	for _, name := range []string{"tenants", "qos", "partitions", "reservations"} {
		if len(lists[name]) > 0 {
			out = append(out, name+": ["+strings.Join(lists[name], ", ")+"]")
		}
	}
	var groups []string
	for _, g := range w.groups {
		text := fmt.Sprintf("{name: %s, nodes: %d, type: %s", g.name, g.nodes, g.kind)
		if g.print != "" {
			text += ", fingerprint: " + g.print
		}
		groups = append(groups, text+"}")
	}
	out = append(out, "groups: ["+strings.Join(groups, ", ")+"]", "vclusters: ["+strings.Join(w.vclusters, ", ")+"]")
	if len(w.events) > 0 {
		out = append(out, "events: ["+strings.Join(w.events, ", ")+"]")
	}
	return strings.Join(out, "\n") + "\n"
}

// memory is the trace, and spec the settings of its replay.
func (w *siteWorld) memory() *memory {
	m := &memory{size: w.size, edges: w.edges, events: w.demands, info: traces.Info{Name: "world", Sorted: true, Rows: int64(len(w.jobs))}}
	b := &m.all
	b.Attr = &traces.Attributes{}
	users := map[string]int32{}
	for i := range w.jobs {
		j := &w.jobs[i]
		if _, ok := users[j.User]; !ok {
			users[j.User] = int32(len(users))
		}
		b.ID, b.Submit, b.User, b.Start = append(b.ID, j.ID), append(b.Submit, j.Submit), append(b.User, users[j.User]), append(b.Start, model.AbsentTime)
		span := func(o traces.Opt[model.Duration]) model.Duration {
			if o.OK {
				return o.V
			}
			return model.AbsentDuration
		}
		count := func(o traces.Opt[int32]) int32 {
			if o.OK {
				return o.V
			}
			return traces.Absent
		}
		b.Runtime, b.Walltime = append(b.Runtime, span(j.Runtime)), append(b.Walltime, span(j.Walltime))
		cancelled := model.AbsentTime
		if j.CancelledAt.OK {
			cancelled = j.CancelledAt.V
		}
		b.CancelledAt = append(b.CancelledAt, cancelled)
		b.ProcsRequested, b.ProcsAllocated = append(b.ProcsRequested, traces.Absent), append(b.ProcsAllocated, traces.Absent)
		b.NodesMin, b.CPUsPerNode, b.GPUsPerNode = append(b.NodesMin, count(j.NodesMin)), append(b.CPUsPerNode, traces.Absent), append(b.GPUsPerNode, count(j.GPUsPerNode))
		b.Attr.AppendJob(j)
	}
	return m
}

func (w *siteWorld) spec(t testing.TB) plan.Spec {
	t.Helper()
	c, err := profiles.ParseCluster("world", []byte(w.cluster()))
	require.NoError(t, err, w)
	spec := plan.DefaultSpec()
	spec.Site, spec.Seed, spec.Overrun = c.JSON(), w.seed, w.overrun
	spec.AllowUnheeded = true // some worlds are too small for all their jobs
	return spec
}

// String is the world for people. Assertions are given the world itself, so that only
// one that fails writes it.
func (w *siteWorld) String() string {
	var s strings.Builder
	s.WriteString(w.cluster())
	for i, j := range w.jobs {
		fmt.Fprintf(&s, "%d: %+v\n", i, j)
	}
	for _, e := range w.edges {
		fmt.Fprintf(&s, "%+v\n", e)
	}
	for _, e := range w.demands {
		fmt.Fprintf(&s, "%+v\n", e)
	}
	return s.String()
}

// TestSiteInvariants watches replays of random small sites.
func TestSiteInvariants(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(150, 700, 2000)
	var facts, proposals, slips, resized, shed int64
	for i := range worlds {
		w := drawSite(longBytes(uint64(i)))
		m, spec := w.memory(), w.spec(t)
		var kept log
		res, err := Run(context.Background(), spec, m.open, Options{Watch: true, Log: kept.recorder()})
		require.NoError(t, err, "world %d\n%s", i, w)
		kept.same(t, spec, m.open, res.Fingerprint)
		for _, b := range res.Watch.Breaches {
			t.Errorf("%s", b)
		}
		if t.Failed() {
			t.Fatalf("world %d\n%s", i, w)
		}
		facts, proposals, slips, resized, shed = facts+res.Watch.Facts, proposals+res.Watch.Proposals, slips+res.Watch.Slips, resized+res.SiteCounts.Resized, shed+res.SiteCounts.Shed
	}
	t.Logf("%d worlds: %d facts, %d proposals, %d of them behind a blocked job checked, %d resizes, %d jobs shed", worlds, facts, proposals, slips, resized, shed)
	require.Positive(t, slips)
	require.Positive(t, resized)
	require.Positive(t, shed)
}

// A job that a cap alone keeps from starting holds its reservation at a later
// instant than now, which is not the next microsecond: nothing but a fact will
// make room for it.
func TestConservativeUnderACap(t *testing.T) {
	w := &siteWorld{
		head: []string{
			"agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}", "power_cap: 100W",
			"node_types: [{name: a, cpus: 1, idle_power: 50W, busy_power: 100W}]",
		},
		groups:    []siteGroup{{"g0", "a", "x", 2}},
		vclusters: []string{"{name: v0, home: all, profile: {order: fcfs, backfill: conservative}}"},
		size:      1,
	}
	for i := range int64(2) {
		w.jobs = append(w.jobs, traces.Job{
			ID: i, NodesMin: traces.Some[int32](1), Runtime: traces.Some(10 * model.Second), Walltime: traces.Some(20 * model.Second),
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	m := w.memory()
	res, err := Run(ctx, w.spec(t), m.open, Options{Watch: true})
	require.NoError(t, err)
	require.Less(t, res.Work.Instants, uint64(10))
}

// longBytes are some 2400 bytes of a generator that is easily rebuilt.
func longBytes(seed uint64) []byte {
	var out []byte
	for i := range uint64(12) {
		part := randomBytes(seed*12 + i + 1_000_000)
		out = append(out, part...)
	}
	return out
}
