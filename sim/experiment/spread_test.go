package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Other seeds of a window are one value of it, windows that are set aside are none, and a
// window without a value is told of.
func TestByWindow(t *testing.T) {
	at := func(v float64) trial { return trial{done: true, values: []float64{v}, have: []bool{true}} }
	tried := []trial{at(1), at(3), at(10), at(100), at(5)}
	windows := []int{0, 0, 2, 3, 4} // the first of the same window
	got, whole := byWindow(tried, 0, []bool{false, false, false, true, false}, windows)
	require.Equal(t, []float64{2, 10, 5}, got)
	require.True(t, whole)
	tried[4].have[0] = false
	got, whole = byWindow(tried, 0, make([]bool, 5), windows)
	require.Equal(t, []float64{2, 10, 100}, got)
	require.False(t, whole)
}
