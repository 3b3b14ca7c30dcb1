package law

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The clock of the cycle goes forward, makes a day in a day, and finds the way back to
// whole hours.
func TestCycle(t *testing.T) {
	var weights [DaySlots]float64
	for i := range weights {
		weights[i] = float64(1 + i*(DaySlots-i)%17)
	}
	c := NewCycle(weights)
	for hour := range 24 {
		require.InDelta(t, int64(hour)*2*slotMicros, c.At(c.Start(hour)), 10)
	}
	last := int64(-1)
	for x := int64(0); x < 3*dayMicros; x += 97_000_003 {
		require.Greater(t, c.At(x), last)
		last = c.At(x)
	}
	require.Equal(t, 5*dayMicros, c.At(5*dayMicros))
}

// Busy times are told by the weight of their half hour against the largest.
func TestBusy(t *testing.T) {
	var weights [DaySlots]float64
	for i := range weights {
		weights[i] = 1
	}
	weights[20] = 4
	c := NewCycle(weights)
	require.InDelta(t, 1, c.Busy(20*slotMicros), 1e-12)
	require.InDelta(t, 0.25, c.Busy(3*dayMicros+slotMicros), 1e-12)
}
