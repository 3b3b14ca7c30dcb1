package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestDelaysSpread over the share of the interval, and are the same again for the same instant.
func TestDelaysSpread(t *testing.T) {
	o := Options{Interval: time.Second, Jitter: 0.2}
	var parts [4]int
	for i := range 4000 {
		due := model.Time(1_790_000_000_000_000).Add(model.Duration(i) * model.Second)
		d := o.delay(due)
		require.GreaterOrEqual(t, d, model.Duration(0))
		require.Less(t, d, model.Second/5)
		require.Equal(t, d, o.delay(due))
		parts[d*4/(model.Second/5)]++
	}
	for _, n := range parts {
		require.InDelta(t, 1000, n, 120)
	}
	o.Jitter = 0
	require.Zero(t, o.delay(5))
}
