package sim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order/ordertest"
	"orrery/sim/plan"
	"orrery/traces"
)

// outcome is what one replay did: a line per job that entered, by job, and a
// line per fact and proposal, in order.
type outcome struct {
	jobs []string
	log  []string
	// undecided counts comparisons of keys within the core's stated error: the
	// core may order such a pair either way.
	undecided int
	slips     int // reservations that moved to a later instant
}

// hash sums up the whole outcome.
func (o *outcome) hash() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(o.jobs, "\n") + "\n\n" + strings.Join(o.log, "\n")))
}

// difference names the first line that differs, "" when none does. What
// happened first is said first, therefore the log comes before the jobs.
func (o *outcome) difference(p *outcome) string {
	if o.hash() == p.hash() {
		return ""
	}
	for _, part := range []struct {
		name string
		a, b []string
	}{{"log", o.log, p.log}, {"job", o.jobs, p.jobs}} {
		for i := range max(len(part.a), len(part.b)) {
			a, b := "nothing", "nothing"
			if i < len(part.a) {
				a = part.a[i]
			}
			if i < len(part.b) {
				b = part.b[i]
			}
			if a != b {
				return fmt.Sprintf("%s line %d: the core has %q, the naive %q", part.name, i, a, b)
			}
		}
	}
	return "equal lines with different hashes"
}

// collector is a Sink and a Recorder that fill an outcome.
type collector struct {
	drive.Unrecorded
	outcome
	lines map[int]string
	sets  map[int]string
	units []int32
}

func (c *collector) Flush() error { return nil }

func (c *collector) Job(r *model.JobRecord) {
	c.lines[int(r.Job)] = jobLine(int(r.Job), r.State, r.Start, r.End, c.sets[int(r.Job)])
}

func (c *collector) Attempt(r *model.AttemptRecord) {
	c.sets[int(r.Job)] = c.nodes(&r.Placement)
}

func (c *collector) nodes(p *model.Placement) string { return nodeText(c.held(p)) }

// held spreads a placement over the nodes.
func (c *collector) held(p *model.Placement) map[int]int32 {
	held := map[int]int32{}
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			n := int(w.Word)*64 + bits.TrailingZeros64(m)
			held[n] = c.units[n]
		}
	}
	for _, s := range p.Shares {
		held[int(s.Node)] += s.Units
	}
	return held
}

func (c *collector) Fact(now model.Time, f *model.Fact) {
	c.log = append(c.log, fmt.Sprintf("%d %s %d", now, f.Kind, f.Job))
}

func (c *collector) Proposed(now model.Time, p *model.Proposal) {
	c.log = append(c.log, fmt.Sprintf("%d propose %d on%s", now, p.Job, c.nodes(&p.Placement)))
}

func jobLine(id int, state model.JobState, start, end model.Time, nodes string) string {
	return fmt.Sprintf("job %d %s start %d end %d on%s", id, state, start, end, nodes)
}

// runCore replays m through the production core.
func runCore(m *memory, spec plan.Spec, opt Options) (*outcome, *Result, error) {
	c := &collector{lines: map[int]string{}, sets: map[int]string{}, units: unitsOf(m, spec)}
	opt.Sink, opt.Observer = c, c
	res, err := Run(context.Background(), spec, m.open, opt)
	if err != nil {
		return nil, nil, err
	}
	for i := range m.all.Len() {
		if line, ok := c.lines[i]; ok {
			c.jobs = append(c.jobs, line)
		}
	}
	return &c.outcome, res, nil
}

func unitsOf(m *memory, spec plan.Spec) []int32 {
	var out []int32
	switch c := spec.Cluster; {
	case c.Table:
		for _, n := range m.nodes {
			out = append(out, n.CPUs)
		}
	case c.Nodes > 0:
		out = slices.Repeat([]int32{c.CoresPerNode}, int(c.Nodes))
	case c.Procs > 0:
		out = slices.Repeat([]int32{1}, int(c.Procs))
	default:
		out = slices.Repeat([]int32{1}, int(m.info.MaxProcs))
	}
	return out
}

// runNaive replays m through the naive implementation.
func runNaive(m *memory, spec plan.Spec) *outcome {
	w := &naive{spec: spec, now: -1, keys: ordertest.New()}
	w.spec.Order, w.spec.Backfill = cmp.Or(spec.Order, "fcfs"), cmp.Or(spec.Backfill, "easy")
	w.units = unitsOf(m, spec)
	w.free = slices.Clone(w.units)
	for _, u := range w.units {
		w.vacant += u
	}
	w.whole = spec.Cluster.Exclusive || !spec.Cluster.Table && w.units[0] == 1
	for i := range m.all.Len() {
		w.enter(&m.all, i)
	}
	w.run()
	var o outcome
	for _, j := range w.jobs {
		if j.state.Terminal() {
			start := model.AbsentTime
			if j.order > 0 {
				start = j.start
			}
			set := ""
			if j.order > 0 {
				set = j.nodeSet
			}
			o.jobs = append(o.jobs, jobLine(j.id, j.state, start, j.end, set))
		}
	}
	o.log, o.undecided, o.slips = w.log, w.undecided, w.slips
	return &o
}

// enter turns a row into a job, or drops it by the policies for awkward rows.
func (w *naive) enter(b *traces.Batch, i int) {
	present := func(n int32) int32 { return max(n, 0) }
	j := &naiveJob{
		id: i, submit: b.Submit[i], runtime: b.Runtime[i], walltime: b.Walltime[i], leaves: b.CancelledAt[i],
		units: present(b.ProcsRequested[i]), slot: model.AbsentTime,
	}
	if j.units == 0 {
		j.units = present(b.ProcsAllocated[i])
	}
	nodes, cpus := present(b.NodesMin[i]), present(b.CPUsPerNode[i])
	if procs := present(b.ProcsRequested[i]); cpus == 0 && nodes > 0 { // each node has its part of what the row asks for in all
		for cpus*nodes < procs {
			cpus++
		}
	}
	switch cpus = max(1, cpus); {
	case w.spec.Cluster.Table && nodes > 0:
		j.nodes, j.perNode, j.units = nodes, cpus, nodes*cpus
	case j.units == 0:
		j.units = nodes * cpus
	}
	if j.units == 0 || j.runtime == model.AbsentDuration && j.leaves == model.AbsentTime {
		return
	}
	if j.walltime == model.AbsentDuration {
		j.walltime = model.Forever
		switch w.spec.MissingRequest {
		case "default":
			j.walltime = w.spec.DefaultRequest
		case "recorded":
			if j.runtime != model.AbsentDuration {
				j.walltime = j.runtime
			}
		}
	}
	w.jobs = append(w.jobs, j)
	if !w.fits(j, w.free) { // all nodes are free now
		j.state, j.end = model.Rejected, j.submit
		return
	}
	w.arrivals = append(w.arrivals, naiveEvent{j.submit, naiveSubmission, j})
}

// requireNaive holds the core against the naive implementation and returns the core's result, nil
// where it is undecided.
// Where they differ it looks for a smaller trace that shows a difference.
func requireNaive(t testing.TB, m *memory, spec plan.Spec, opt Options) *Result {
	t.Helper()
	res, d := compareNaive(m, spec, opt)
	switch d {
	case "":
		return res
	case undecided:
		return nil
	}
	if m.all.Len() <= 60 {
		m, d = shrink(m, spec, opt, d)
	}
	t.Fatalf("%s\n%s\n%s", d, spec.JSON(), m)
	return nil
}

// undecided is the difference between outcomes that hang on keys within the
// stated error.
const undecided = "undecided"

// compareNaive says what differs, "" when nothing does.
func compareNaive(m *memory, spec plan.Spec, opt Options) (res *Result, difference string) {
	defer func() {
		if r := recover(); r != nil {
			difference = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	got, res, err := runCore(m, spec, opt)
	if err != nil {
		return nil, err.Error()
	}
	want := runNaive(m, spec)
	if difference = got.difference(want); difference != "" && want.undecided > 0 {
		difference = undecided
	}
	return res, difference
}

// shrink leaves out rows as long as a difference remains.
func shrink(m *memory, spec plan.Spec, opt Options, d string) (*memory, string) {
	for i := 0; i < m.all.Len(); {
		fewer := m.without(i)
		if _, e := compareNaive(fewer, spec, opt); e != "" && e != undecided {
			m, d, i = fewer, e, 0
		} else {
			i++
		}
	}
	return m, d
}

// without is a copy that lacks row i.
func (m *memory) without(i int) *memory {
	out, a := *m, &m.all
	out.info.Rows--
	out.all = traces.Batch{
		ID: cut(a.ID, i), Submit: cut(a.Submit, i), Start: cut(a.Start, i), Runtime: cut(a.Runtime, i),
		Walltime: cut(a.Walltime, i), CancelledAt: cut(a.CancelledAt, i), ProcsRequested: cut(a.ProcsRequested, i),
		ProcsAllocated: cut(a.ProcsAllocated, i), NodesMin: cut(a.NodesMin, i), CPUsPerNode: cut(a.CPUsPerNode, i),
		GPUsPerNode: cut(a.GPUsPerNode, i), User: cut(a.User, i),
	}
	return &out
}

func cut[T any](s []T, i int) []T { return slices.Delete(slices.Clone(s), i, i+1) }

// String lists the rows of a small trace.
func (m *memory) String() string {
	if m.all.Len() > 60 {
		return m.info.Name
	}
	var b strings.Builder
	for _, n := range m.nodes {
		fmt.Fprintf(&b, "node of %d\n", n.CPUs)
	}
	for i := range m.all.Len() {
		a := &m.all
		fmt.Fprintf(&b, "job %d submit %v runtime %v walltime %v cancel %v procs %d nodes %d of %d\n",
			i, a.Submit[i], a.Runtime[i], a.Walltime[i], a.CancelledAt[i], a.ProcsRequested[i], a.NodesMin[i], a.CPUsPerNode[i])
	}
	return b.String()
}
