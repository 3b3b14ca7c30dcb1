package sim

import (
	"context"
	"fmt"
	"testing"

	"orrery/scheduler/model"
)

// watch checks the invariants of docs/INVARIANTS.md after every fact and every
// proposal of a replay. It believes neither the core nor the quorum.
type watch struct {
	t      testing.TB
	spec   Spec
	units  []int32
	free   []int32
	jobs   map[model.JobID]*watched
	now    model.Time
	broken bool
	left   int
}

// watched is what the log says about a job.
type watched struct {
	state    model.JobState
	submit   model.Time
	walltime model.Duration
	request  model.Request
	proposed bool
	held     map[int]int32
	start    model.Time
	recorded bool
}

func (w *watch) fail(invariant int, format string, args ...any) {
	if !w.broken {
		w.t.Errorf("invariant %d broken at %v: %s", invariant, w.now, fmt.Sprintf(format, args...))
	}
	w.broken = true
}

// clock checks invariant 1, and 10 when an instant is over.
func (w *watch) clock(now model.Time) {
	if now > w.now {
		w.settled()
	}
	if now < w.now {
		w.fail(1, "time runs back to %v", now)
	}
	w.now = now
}

// settled checks invariant 10: nobody who could start is left waiting.
func (w *watch) settled() {
	if w.spec.Cluster.Procs == 0 || w.spec.Cycle > 0 || w.spec.QuorumLatency > 0 {
		return
	}
	free := int32(0)
	for _, f := range w.free {
		free += f
	}
	head := w.head()
	for id, j := range w.jobs {
		if j.state != model.Pending || j.request.Units > free {
			continue
		}
		if w.spec.Backfill == "first-fit" || id == head && w.spec.Order == "fcfs" && w.spec.Backfill != "conservative" {
			w.fail(10, "job %d waits for %d of %d free units", id, j.request.Units, free)
		}
	}
}

// Fact implements drive.Recorder.
func (w *watch) Fact(now model.Time, f *model.Fact) {
	w.clock(now)
	j := w.jobs[f.Job]
	if f.Kind == model.FactSubmitted {
		if j != nil {
			w.fail(2, "job %d is submitted twice", f.Job)
		}
		w.jobs[f.Job] = &watched{submit: now, walltime: f.Walltime, request: f.Request}
		if f.Submit != now {
			w.fail(4, "job %d, submitted for %v, arrives now", f.Job, f.Submit)
		}
		return
	}
	if j == nil {
		w.fail(2, "%s for job %d, which is not there", f.Kind, f.Job)
		return
	}
	switch f.Kind {
	case model.FactAssigned:
		w.assigned(f.Job, j)
	case model.FactEnded:
		w.become(f.Job, j, model.Completed)
		w.ended(f.Job, j)
	case model.FactCancelled:
		w.become(f.Job, j, model.Cancelled)
	case model.FactRefused:
		if j.state != model.Cancelled {
			w.fail(6, "job %d is refused: %s", f.Job, f.Reason)
		}
		j.proposed = false
	}
}

// become checks invariant 3; how a run ended is known to the record alone.
func (w *watch) become(id model.JobID, j *watched, next model.JobState) {
	if !j.state.CanBecome(next) {
		w.fail(3, "job %d goes from %s to %s", id, j.state, next)
	}
	j.state = next
}

func (w *watch) assigned(id model.JobID, j *watched) {
	w.become(id, j, model.Running)
	if !j.proposed {
		w.fail(6, "job %d starts without a proposal", id)
	}
	j.start = w.now
	for n, u := range j.held {
		if w.free[n] -= u; w.free[n] < 0 {
			w.fail(5, "node %d of %d units holds %d too many with job %d", n, w.units[n], -w.free[n], id)
		}
	}
	if j.start < j.submit {
		w.fail(4, "job %d starts before its submission", id)
	}
}

func (w *watch) ended(id model.JobID, j *watched) {
	for n, u := range j.held {
		w.free[n] += u
	}
	if over := w.now.Sub(j.start) - j.walltime; w.spec.Overrun != "extend" && over > 0 {
		w.fail(7, "job %d runs %v beyond its request", id, over)
	}
}

// Proposed implements drive.Recorder. It checks invariants 6, 8 and 9.
func (w *watch) Proposed(now model.Time, p *model.Proposal) {
	w.clock(now)
	j := w.jobs[p.Job]
	if j == nil || j.state != model.Pending || j.proposed {
		w.fail(6, "job %d is proposed although it does not wait", p.Job)
		return
	}
	head := w.head()
	before := w.shadow(head)
	j.proposed = true
	c := collector{units: w.units}
	j.held = c.held(&p.Placement)
	w.shape(p.Job, j)
	if w.spec.Order != "fcfs" || head == p.Job {
		return
	}
	switch w.spec.Backfill {
	case "none":
		w.fail(8, "job %d overtakes job %d", p.Job, head)
	case "easy":
		// A job that asks for no time is gone at once by its own word.
		if after := w.shadow(head); after > before && j.walltime > 0 {
			w.fail(9, "job %d delays job %d from %v to %v", p.Job, head, before, after)
		}
	}
}

// shape checks that a job gets what it asks for, invariant 6.
func (w *watch) shape(id model.JobID, j *watched) {
	units := int32(0)
	for n, u := range j.held {
		if n >= len(w.units) || u < 1 || u > w.units[n] {
			w.fail(6, "job %d gets %d units of node %d", id, u, n)
		}
		if j.request.Shape == model.PerNode && u < j.request.PerNode {
			w.fail(6, "job %d gets %d units of node %d and asks for %d", id, u, n, j.request.PerNode)
		}
		units += u
	}
	if units < j.request.Units || j.request.Shape == model.PerNode && len(j.held) != int(j.request.Nodes) {
		w.fail(6, "job %d gets %v for %+v", id, j.held, j.request)
	}
}

// head is the first job that waits and is not proposed, -1 when there is none.
func (w *watch) head() model.JobID {
	first := model.JobID(-1)
	for id, j := range w.jobs {
		if j.state == model.Pending && !j.proposed && (first < 0 || id < first) {
			first = id
		}
	}
	return first
}

// shadow is when a job is predicted to fit by count, on one-core nodes; what is
// overdue is predicted to end a second from now.
func (w *watch) shadow(id model.JobID) model.Time {
	j := w.jobs[id]
	if j == nil {
		return model.Never
	}
	free := int32(len(w.units))
	ends := map[model.Time]int32{}
	predicted := func(end model.Time) model.Time {
		if end <= w.now {
			return w.now.Add(model.Second)
		}
		return end
	}
	for _, o := range w.jobs {
		switch {
		case o.state == model.Running:
			free -= o.request.Units
			ends[predicted(o.start.Add(o.walltime))] += o.request.Units
		case o.proposed && o.state == model.Pending:
			free -= o.request.Units
			ends[predicted(w.now.Add(o.walltime))] += o.request.Units
		}
	}
	var at []model.Time
	for e := range ends {
		at = append(at, e)
	}
	for _, e := range sorted(append(at, w.now)) {
		if free += ends[e]; free >= j.request.Units {
			return e
		}
	}
	return model.Never
}

// Flush implements record.Sink.
func (w *watch) Flush() error { return nil }

// Attempt implements record.Sink.
func (w *watch) Attempt(r *model.AttemptRecord) {
	if j := w.jobs[r.Job]; j == nil || r.Start != j.start || r.End != w.at(r.End) {
		w.fail(2, "the attempt of job %d is recorded from %v to %v", r.Job, r.Start, r.End)
	}
}

func (w *watch) at(t model.Time) model.Time { return max(t, w.now) }

// Job implements record.Sink. It checks invariant 2.
func (w *watch) Job(r *model.JobRecord) {
	w.left++
	if r.State == model.Rejected {
		if w.jobs[r.Job] != nil {
			w.fail(2, "job %d is rejected and submitted", r.Job)
		}
		return
	}
	j := w.jobs[r.Job]
	if j == nil || j.recorded || !j.state.Terminal() || !r.State.Terminal() {
		w.fail(2, "job %d is recorded as %s", r.Job, r.State)
		return
	}
	j.recorded = true
	if r.Submit > r.Eligible || r.Start != model.AbsentTime && r.Start < r.Eligible || r.End < r.Submit {
		w.fail(4, "job %d: submitted %v, started %v, ended %v", r.Job, r.Submit, r.Start, r.End)
	}
}

// idle checks that nothing is held and that everybody is accounted for when
// the replay is over: invariants 2 and 5.
func (w *watch) idle(rows int, res *Result) {
	for n, f := range w.free {
		if res.State.Running == 0 && f != w.units[n] {
			w.fail(5, "%d of %d units of node %d are free at the end", f, w.units[n], n)
		}
	}
	dropped := int64(0)
	for _, r := range res.Awkward.Count[:2] { // no-processors, never-ran
		dropped += r
	}
	if total := int64(w.left) + dropped + res.Unfinished; total != int64(rows) {
		w.fail(2, "%d rows, but %d left, %d dropped, %d unfinished", rows, w.left, dropped, res.Unfinished)
	}
}

// watchRun replays m under the eyes of a watch.
func watchRun(t testing.TB, m *memory, spec Spec) bool {
	units := unitsOf(m, spec)
	w := &watch{t: t, spec: spec, units: units, free: append([]int32(nil), units...), jobs: map[model.JobID]*watched{}, now: -1}
	w.spec.Order, w.spec.Backfill = or(spec.Order, "fcfs"), or(spec.Backfill, "easy")
	if spec.Cluster.Procs == 0 || spec.Overrun == "extend" || spec.QuorumLatency > 0 || spec.EventOrder == "sequential" {
		// Predictions are not the watch's own there: only the twin checks them.
		w.spec.Order = ""
	}
	res, err := Run(context.Background(), spec, m.open, Options{Sink: w, Observer: w})
	if err != nil {
		t.Fatal(err)
	}
	w.idle(m.all.Len(), res)
	return !w.broken
}

// TestConservativeKeepsItsWord checks invariant 11 on the twin, whose log is the
// core's: where ends are as predicted or earlier, no reservation moves to a
// later instant.
func TestConservativeKeepsItsWord(t *testing.T) {
	tried := 0
	for i := uint64(0); tried < 300; i++ {
		m, spec := decodeWorld(randomBytes(i))
		if spec.Backfill != "conservative" || spec.Cycle > 0 || spec.QuorumLatency > 0 || spec.Overrun == "extend" || spec.Depth > 0 {
			continue
		}
		tried++
		requireTwin(t, m, spec, Options{})
		if slips := runTwin(m, spec).slips; slips > 0 {
			t.Fatalf("invariant 11 broken: %d reservations were put off\n%s\n%s", slips, spec.JSON(), listRows(m))
		}
	}
}

// TestInvariants watches replays of random small worlds.
func TestInvariants(t *testing.T) {
	worlds := 4000
	if testing.Short() {
		worlds = 1000
	}
	for i := range worlds {
		m, spec := decodeWorld(randomBytes(uint64(i)))
		if i%4 == 0 { // those in which reservations are checked
			spec.Order, spec.Cluster = "", ClusterSpec{Procs: int32(1 + i%12)}
			m.nodes = nil
		}
		if !watchRun(t, m, spec) {
			t.Fatalf("world %d: %s\n%s", i, spec.JSON(), listRows(m))
		}
	}
}
