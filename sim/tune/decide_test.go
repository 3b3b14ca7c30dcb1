package tune

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/task"
)

// TestBoundsOfSeveralTraces: each trace has a limit of its own. What the current policy breaks on
// one of them may not be broken on another.
func TestBoundsOfSeveralTraces(t *testing.T) {
	a, b := newWorld(t, 3000, 0.8, halves), newWorld(t, 2500, 0.8, halves)
	p := a.problem()
	p.Traces = append(p.Traces, Trace{Set: b.set, Spec: b.spec})
	o := small()
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	longest := func(mild float64) func(k *task.Task, r *task.Result) {
		return func(k *task.Task, r *task.Result) {
			switch {
			case k.Spec.Trace == a.spec.Trace:
				set(&r.Figures, "wait_max", 9000) // broken now, and no further
			case partOf(k.Spec.Site) > 0.5:
				set(&r.Figures, "wait_max", mild)
			default:
				set(&r.Figures, "wait_max", 3000)
			}
		}
	}
	o.Evaluate = changed(planted(0.2, 0.005), longest(5000)) // below what the other trace may come to
	r, err := Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Keep, r.Verdict, "%s", markdown(t, r))
	require.Contains(t, r.Why, "wait_max is 01:23:20 on "+b.set.Name+", and <= 01:06:40 was to hold")
	o.Evaluate = changed(planted(0.2, 0.005), longest(3900))
	r, err = Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Verdict, "%s", markdown(t, r))
	require.True(t, r.Bounds[0].Kept)
}

// TestOtherObjectivesArePaidFor: what is better in the first objective and worse in another is not
// recommended, be it beyond chance or by the margin.
func TestOtherObjectivesArePaidFor(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Objectives = []search.Objective{DefaultObjective, {Metric: "wait_mean", Direction: search.Minimise}}
	tuned := func(factor float64) *Report {
		o.Evaluate = byWindow(func(k *task.Task, s metric.Span) task.Figures {
			level, x, wait := draw.New(uint64(s.From), draw.StreamOf("level"), 0, 0), 10.0, 600.0
			if k.Spec.Order == "sjf" {
				x, wait = 7, 600*factor*(0.5+level.Float64())
			}
			return valued(map[string]float64{"bounded_slowdown_mean": x, "wait_max": 90000, "wait_mean": wait})
		})
		r, err := Run(context.Background(), w.plain(), o)
		require.NoError(t, err)
		return r
	}
	r := tuned(1.2)
	require.Equal(t, Keep, r.Verdict, "%s", markdown(t, r))
	require.Regexp(t, `sjf with easy passes the test, and wait_mean is worse by 2\d %`, r.Why)
	require.Contains(t, r.Finalists[0].Out, "wait_mean is worse by")
	require.Equal(t, Change, tuned(0.7).Verdict)
}

// TestNothingToGain: an objective that is 0 now is kept, and says why; of several traces no gain
// can be a part of it.
func TestNothingToGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Objectives = []search.Objective{{Metric: "wait_p50", Direction: search.Minimise}}
	o.Evaluate = changed(planted(0.2, 0.005), func(_ *task.Task, r *task.Result) {
		for _, f := range append([]*task.Figures{&r.Figures}, append(pointers(r.Parts), pointers(r.Brief)...)...) {
			set(f, "wait_p50", 0)
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Keep, r.Verdict)
	require.Equal(t, "wait_p50 is 0 under the current policy: there is nothing to gain", r.Why)
	p := w.problem()
	p.Traces = append(p.Traces, Trace{Set: newWorld(t, 2500, 0.8, halves).set, Spec: newWorld(t, 2500, 0.8, halves).spec})
	r, err := Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Unsure, r.Verdict)
	require.Contains(t, r.Why, "no gain is a part of that")
}

// TestLackOfEvidence: a gain that single windows make is not claimed, and the report says
// which one would have been, and how much more log it takes.
func TestLackOfEvidence(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = byWindow(func(k *task.Task, s metric.Span) task.Figures {
		chance := draw.New(uint64(s.From), draw.StreamOf("chance"), 0, 0)
		x := 1.0
		if k.Spec.Order == "sjf" {
			x = 0.4 + 1.1*chance.Float64() // from 60 % less to 50 % more
		}
		return valued(map[string]float64{"bounded_slowdown_mean": 10 * x, "wait_max": 90000, "wait_mean": 600})
	})
	o.Windows = 20
	r, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Equal(t, Unsure, r.Verdict, "%s", markdown(t, r))
	require.Contains(t, r.About, "sjf with")
	require.Greater(t, float64(r.P), 0.05)
	require.Greater(t, float64(r.DetectableGain), float64(r.Gain))
	require.Less(t, float64(r.DetectableGain), 1.0)
	first, last, _, err := w.set.Bounds()
	require.NoError(t, err)
	require.Greater(t, float64(r.WeeksNeeded), last.Sub(first).Seconds()/7/86400, "more than there is")
	require.Regexp(t, `This log shows gains of \d+ % and more four times in five`, strings.Join(r.Summary(), "\n"))
}

// TestBudget: what it does not pay for is named, and no more jobs are replayed.
func TestBudget(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate, o.Loads = w.real(2), nil
	o.Budget = 4*3000 + 500
	r, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Len(t, r.Tried, 4)
	require.EqualValues(t, 12000, r.Replayed)
	require.Len(t, r.NotReplayed, 2*len(orders)-4)
	require.Equal(t, Unsure, r.Verdict, "what was not replayed may be better")
	require.Contains(t, r.Why, "none of the 3 candidates that the budget pays for")
	require.Contains(t, strings.Join(r.Summary(), "\n"), "The budget of 12500 jobs did not pay for 20 candidates: sqf with easy")
	o.Budget = 3000
	r, err = Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Equal(t, Unsure, r.Verdict)
	require.Equal(t, "the budget pays for no candidate", r.Why)
	require.True(t, r.Bounds[0].Kept, "by the current policy, of which it is then")
	o.Budget = 2999
	_, err = Run(context.Background(), w.plain(), o)
	require.ErrorContains(t, err, "--budget 2999: one replay of the trace takes 3000 jobs")

	o = small()
	o.Budget = 30 * 3000
	o.Evaluate = planted(0.1, 0.01)
	r = w.tune(t, o)
	require.LessOrEqual(t, r.Replayed, o.Budget)
	require.NotEmpty(t, r.LeftOut)
	require.Less(t, len(r.Search), o.Trials)
	require.NotEmpty(t, r.Search)
}
