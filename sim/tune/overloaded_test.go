package tune

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
	"orrery/sim/task"
)

// TestOverloadedCandidatesHaveNoRank: what is overloaded where the current policy is not
// is out, and an overloaded current policy is a warning.
func TestOverloadedCandidatesHaveNoRank(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if partOf(k.Spec.Site) > 0.51 {
			r.Verdict = metric.Overloaded
		}
	})
	r := w.tune(t, o)
	require.NotEqual(t, Change, r.Verdict)
	seen := 0
	for _, c := range r.Tried {
		if c.Overloaded {
			require.Contains(t, c.Out, "it is overloaded, and the current policy is not", c.Name)
			require.Zero(t, c.Rank)
			require.False(t, c.P.Defined(), "it is not tested")
			seen++
		}
	}
	require.Positive(t, seen)
	o.Evaluate = changed(planted(0.2, 0.005), func(_ *task.Task, r *task.Result) { r.Verdict = metric.Overloaded })
	r = w.tune(t, o)
	require.Equal(t, Change, r.Verdict, "an overloaded current policy is no reason to keep it")
	require.Len(t, r.Overloaded, 1)
	require.Contains(t, markdown(t, r), "its waits grow with the length of the log. Expect this change only")
}

// TestQueuesAreComparedOnTheSamePart: the first quarter of the log, which the sensitivity
// looks at, may be overloaded under every policy. That speaks against none.
func TestQueuesAreComparedOnTheSamePart(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if k.Window != nil {
			r.Verdict = metric.Overloaded
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Change, r.Verdict)
	require.Empty(t, r.Overloaded, "the whole log is not")
	require.NotContains(t, markdown(t, r), "rows of the base sample are left out")
	require.NotEmpty(t, r.Slopes)
}
