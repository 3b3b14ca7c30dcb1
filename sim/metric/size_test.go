package metric_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
)

func TestSizes(t *testing.T) {
	for units, want := range map[int32]string{0: "1", 1: "1", 2: "2-4", 4: "2-4", 5: "5-16", 16: "5-16", 17: "17-64", math.MaxInt32: "1073741825-4294967296"} {
		require.Equal(t, want, metric.SizeName(metric.SizeOf(units)), units)
	}
	require.Less(t, metric.SizeOf(math.MaxInt32), metric.Sizes)
}
