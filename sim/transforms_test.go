package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
	"orrery/traces/transform"
)

// transformed is a log after a recipe, under a policy.
func transformed(t testing.TB, spec plan.Spec, b *traces.Bundle, recipe string) lived {
	set, err := transform.Open(b)
	require.NoError(t, err)
	steps, err := transform.ParseRecipe(recipe)
	require.NoError(t, err)
	out, err := set.Apply(steps, nil)
	require.NoError(t, err)
	m, err := out.Collect()
	require.NoError(t, err)
	return live(t, spec, m.Open)
}

// TestTransformsOfALog: names do not matter to a schedule, and time has no unit:
// what is twice as slow happens twice as late.
func TestTransformsOfALog(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads a whole log")
	}
	b := importedLog(t, "SDSC-SP2-1998-4.2-cln.swf.gz")
	for _, order := range []string{"fcfs", "sjf"} {
		spec := plan.DefaultSpec()
		spec.Order = order
		plain := live(t, spec, b.Jobs)
		require.Equal(t, plain.res.Fingerprint, transformed(t, spec, b, "anonymise").res.Fingerprint)
		slow := transformed(t, spec, b, "stretch by=2")
		require.Len(t, slow.start, len(plain.start))
		for id, s := range plain.start {
			if s != model.AbsentTime {
				s *= 2
			}
			require.Equal(t, s, slow.start[id], "job %d", id)
		}
	}
}
