package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

const sec = model.Second

// keep is a Sink that remembers.
type keep struct {
	jobs     []model.JobRecord
	attempts []model.AttemptRecord
}

func (k *keep) Job(r *model.JobRecord)         { k.jobs = append(k.jobs, *r) }
func (k *keep) Attempt(r *model.AttemptRecord) { k.attempts = append(k.attempts, *r) }

// one is a batch of one row; procs 4 for 5 s of at most 9 s, submitted at 10 s.
func one(change func(*traces.Batch)) *traces.Batch {
	b := &traces.Batch{
		First: 3, ID: []int64{77}, Submit: []model.Time{model.Time(10 * sec)}, Start: []model.Time{model.AbsentTime},
		Runtime: []model.Duration{5 * sec}, Walltime: []model.Duration{9 * sec}, CancelledAt: []model.Time{model.AbsentTime},
		ProcsRequested: []int32{4}, ProcsAllocated: []int32{traces.Absent}, NodesMin: []int32{traces.Absent},
		CPUsPerNode: []int32{traces.Absent}, GPUsPerNode: []int32{traces.Absent}, User: []int32{-1},
	}
	change(b)
	return b
}

func atMost(n int32) func(model.Request) bool {
	return func(r model.Request) bool { return r.Units <= n }
}

// submission is Submission with the fact returned.
func (w *World) submission(b *traces.Batch, i int, possible func(model.Request) bool) (f model.Fact, ok bool) {
	ok = w.Submission(b, i, possible, &f)
	return f, ok
}

// TestRules submits a row that meets each rule.
func TestRules(t *testing.T) {
	none := translate.Rule(len(translate.AllRules()))
	shares := translate.Units{PerNode: true, CPUs: 2}
	for _, c := range []struct {
		name   string
		rule   translate.Rule
		policy translate.Policy
		units  translate.Units
		change func(*traces.Batch)
		enters bool
		wall   model.Duration
	}{
		{"no rule", none, translate.Policy{}, translate.Units{}, func(*traces.Batch) {}, true, 9 * sec},
		{"no processors", translate.RuleNoProcessors, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.ProcsRequested[0] = traces.Absent }, false, 0},
		{"never ran", translate.RuleNeverRan, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.Runtime[0] = model.AbsentDuration }, false, 0},
		{"too large", translate.RuleTooLarge, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.ProcsRequested[0] = 11 }, false, 0},
		{"withdrawn", translate.RuleWithdrawn, translate.Policy{}, translate.Units{}, func(b *traces.Batch) {
			b.Runtime[0], b.CancelledAt[0] = model.AbsentDuration, model.Time(12*sec)
		}, true, 9 * sec},
		{"no request", translate.RuleMissing, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.Walltime[0] = model.AbsentDuration }, true, model.Forever},
		{"no request, a default", translate.RuleMissing, translate.Policy{MissingWalltime: translate.DefaultTime, DefaultWalltime: 6 * sec}, translate.Units{}, func(b *traces.Batch) { b.Walltime[0] = model.AbsentDuration }, true, 6 * sec},
		{"no request, recorded", translate.RuleMissing, translate.Policy{MissingWalltime: translate.TrueRuntime}, translate.Units{}, func(b *traces.Batch) { b.Walltime[0] = model.AbsentDuration }, true, 5 * sec},
		{"overrun", translate.RuleOverrun, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.Walltime[0] = 2 * sec }, true, 2 * sec},
		{"runtime 0", translate.RuleZeroRuntime, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.Runtime[0] = 0 }, true, 9 * sec},
		{"allocated", translate.RuleUsesAllocated, translate.Policy{}, translate.Units{}, func(b *traces.Batch) { b.ProcsRequested[0], b.ProcsAllocated[0] = 0, 4 }, true, 9 * sec},
		{"rounded up", translate.RuleRoundedUp, translate.Policy{}, shares, func(b *traces.Batch) { b.NodesMin[0], b.CPUsPerNode[0] = 2, 3 }, true, 9 * sec},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &keep{}
			w := New(Config{Cluster: model.UniformCluster(10, 1, true), Plain: translate.Plain{Units: c.units, Policy: c.policy}}, k)
			f, ok := w.submission(one(c.change), 0, atMost(10))
			require.Equal(t, c.enters, ok)
			for _, r := range translate.AllRules() {
				want := int64(0)
				if r == c.rule {
					want = 1
					require.Equal(t, []int64{77}, w.Special.Examples[r])
				}
				require.Equal(t, want, w.Special.Count[r], r.String())
				require.NotEmpty(t, r.Doc())
			}
			if ok {
				require.Equal(t, model.Fact{Kind: model.FactSubmitted, Job: 3, Submit: model.Time(10 * sec), Walltime: c.wall, Request: f.Request}, f)
			}
			w.Close()
			require.Equal(t, c.rule == translate.RuleTooLarge, len(k.jobs) == 1)
			if len(k.jobs) == 1 {
				require.Equal(t, model.Rejected, k.jobs[0].State)
				require.Equal(t, model.ReasonTooLarge, k.jobs[0].Reason)
			}
		})
	}
}

// TestEnds starts a job at its submission and looks at how it ends.
func TestEnds(t *testing.T) {
	withdrawn := func(b *traces.Batch) { b.Runtime[0], b.CancelledAt[0] = model.AbsentDuration, model.Time(13*sec) }
	for _, c := range []struct {
		name   string
		policy translate.Policy
		change func(*traces.Batch)
		after  model.Duration
		state  model.JobState
		reason model.Reason
	}{
		{"by itself", translate.Policy{}, func(*traces.Batch) {}, 5 * sec, model.Completed, model.ReasonNone},
		{"at its request to the second", translate.Policy{}, func(b *traces.Batch) { b.Walltime[0] = 5 * sec }, 5 * sec, model.Completed, model.ReasonNone},
		{"killed", translate.Policy{}, func(b *traces.Batch) { b.Walltime[0] = 2 * sec }, 2 * sec, model.Timeout, model.ReasonWalltimeLimit},
		{"extended", translate.Policy{Overrun: translate.Extend}, func(b *traces.Batch) { b.Walltime[0] = 2 * sec }, 5 * sec, model.Completed, model.ReasonNone},
		{"withdrawn while it runs", translate.Policy{}, withdrawn, 3 * sec, model.Cancelled, model.ReasonCancelled},
		{"killed before it is withdrawn", translate.Policy{}, func(b *traces.Batch) { withdrawn(b); b.Walltime[0] = sec }, sec, model.Timeout, model.ReasonWalltimeLimit},
		{"no time at all", translate.Policy{}, func(b *traces.Batch) { b.Runtime[0] = 0 }, 0, model.Completed, model.ReasonNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, now := &keep{}, model.Time(10*sec)
			w := New(Config{Cluster: model.UniformCluster(10, 1, true), Plain: translate.Plain{Policy: c.policy}}, k)
			f, _ := w.submission(one(c.change), 0, atMost(10))
			p := model.Proposal{Seq: 1, Job: f.Job, Ref: f.Ref, Request: f.Request, Placement: model.Placement{Words: []model.NodeWord{{Mask: 0xf}}}}
			answers := w.Submit(now, []model.Proposal{p}, nil)
			require.Equal(t, model.FactAssigned, answers[0].Kind)
			w.Start(now, f.Ref)
			require.Equal(t, int64(4), w.State.BusyUnits)
			end := now.Add(c.after)
			for w.Next() < end { // a withdrawal of a running job says nothing by itself
				require.Empty(t, w.Take(w.Next(), nil))
			}
			require.Equal(t, end, w.Next())
			facts := w.Take(end, nil)
			require.Len(t, facts, 1)
			require.Equal(t, model.FactEnded, facts[0].Kind)
			w.Close()
			require.Equal(t, c.state, k.jobs[0].State)
			require.Equal(t, c.reason, k.jobs[0].Reason)
			require.Equal(t, c.after, k.jobs[0].Runtime)
			require.Equal(t, end, k.attempts[0].End)
			require.Equal(t, c.state, k.attempts[0].Outcome)
			require.Equal(t, State{Started: 1, Ended: 1, Submitted: 1, Left: 1}, w.State)
		})
	}
}

// TestWithdrawnInFlight: the quorum refuses a job that left while its proposal
// was under way, and its ref is free only then.
func TestWithdrawnInFlight(t *testing.T) {
	w := New(Config{Cluster: model.UniformCluster(10, 1, true), Latency: 5 * sec}, &keep{})
	f, _ := w.submission(one(func(b *traces.Batch) {
		b.Runtime[0], b.CancelledAt[0] = model.AbsentDuration, model.Time(12*sec)
	}), 0, atMost(10))
	p := model.Proposal{Seq: 1, Job: f.Job, Ref: f.Ref, Request: f.Request, Placement: model.Placement{Words: []model.NodeWord{{Mask: 0xf}}}}
	require.Empty(t, w.Submit(model.Time(10*sec), []model.Proposal{p}, nil))
	facts := w.Take(model.Time(12*sec), nil)
	require.Equal(t, model.FactCancelled, facts[0].Kind)
	w.Close()
	g, _ := w.submission(one(func(*traces.Batch) {}), 0, atMost(10))
	require.NotEqual(t, f.Ref, g.Ref)
	facts = w.Take(model.Time(15*sec), nil)
	require.Equal(t, model.FactRefused, facts[0].Kind)
	require.Equal(t, model.ReasonNotPending, facts[0].Reason)
	w.Close()
	h, _ := w.submission(one(func(*traces.Batch) {}), 0, atMost(10))
	require.Equal(t, f.Ref, h.Ref)
}
