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
	require.NotEqual(t, Change, r.Decision)
	o.Evaluate = changed(planted(0.2, 0.005), func(_ *task.Task, r *task.Result) { r.Verdict = metric.Overloaded })
	r = w.tune(t, o)
	require.Equal(t, Change, r.Decision, "an overloaded current policy is no reason to keep it")
	require.Len(t, r.Overloaded, 1)
	require.Contains(t, string(r.Markdown()), "its waits grow with the length of the log. Expect this change only")
}

// TestQueuesAreComparedOnTheSamePart: a part of the log that is overloaded under every
// policy speaks against none, also where the race has eliminated the current policy.
func TestQueuesAreComparedOnTheSamePart(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if k.Window != nil {
			r.Verdict = metric.Overloaded
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision)
	require.Empty(t, r.Overloaded, "the whole log is not")
	require.Contains(t, namesOf(r.Dropped), r.Current, "the race eliminates the current policy")
}

func namesOf(dropped []Dropped) (out []string) {
	for _, d := range dropped {
		out = append(out, d.Name)
	}
	return out
}
