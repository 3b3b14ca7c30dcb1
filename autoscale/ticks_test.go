package autoscale_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// TestTicks: the first call is due whenever it comes, the next ones an interval after the
// last that was, however late that came.
func TestTicks(t *testing.T) {
	var ticks autoscale.Ticks
	var plan autoscale.Plan
	for _, c := range []struct {
		now, wake model.Time
		due       bool
	}{{-5, 5, true}, {4, 5, false}, {5, 15, true}, {22, 32, true}, {31, 32, false}} {
		plan.Reset()
		require.Equal(t, c.due, ticks.Due(c.now, 10, &plan), c.now)
		require.Equal(t, c.wake, plan.Wake, c.now)
	}
	plan.Reset()
	require.True(t, ticks.Due(0, 0, &plan))
	require.Equal(t, model.Never, plan.Wake)
}
