package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestReplicaFloor: three replicas over two windows with means 10, 12 and 16:
// distances 2, 4 and 6. Quantiles of chi-square with 2 degrees of freedom are
// -2·ln(1-q).
func TestReplicaFloor(t *testing.T) {
	values := [][]float64{{9, 11}, {13, 11}, {12, 20}}
	f, err := ReplicaFloor(values, 0.5, 0.9)
	require.NoError(t, err)
	require.Equal(t, 4.0, f.Value)
	require.InDelta(t, 4*math.Sqrt(2/(-2*math.Log(0.05))), f.Low, 1e-9)
	require.InDelta(t, 4*math.Sqrt(2/(-2*math.Log(0.95))), f.High, 1e-9)
	require.Equal(t, 3, f.Replicas)

	values[1][0] = nan
	f, err = ReplicaFloor(values, 0.95, 0.95)
	require.NoError(t, err)
	require.Equal(t, 9.0, f.Value, "only the second window is whole: 11, 11, 20")

	for want, broken := range map[string][][]float64{
		"stat: a noise floor from 1 replicas; give at least 2 runs of the same configuration": {{1}},
		"stat: replica 1 of a noise floor has 2 windows, the first has 1":                     {{1}, {1, 2}},
		"stat: no window of the noise floor has a value in all 2 replicas":                    {{1, nan}, {nan, 2}},
	} {
		_, err := ReplicaFloor(broken, 0.95, 0.95)
		require.EqualError(t, err, want)
	}
	_, err = ReplicaFloor(values, 1, 0.95)
	require.EqualError(t, err, "stat: quantile 1 and confidence 0.95 of a noise floor: both lie between 0 and 1")
}

// TestFloorCoverage: the interval of the floor holds the true quantile of
// |difference|, √2·1.96 for normal replicas of deviation 1.
func TestFloorCoverage(t *testing.T) {
	truth := math.Sqrt2 * distuv.UnitNormal.Quantile(0.975)
	for _, replicas := range []int{4, 8, 20} {
		const runs = 1000
		hits, above := 0, 0
		for k := range uint64(runs) {
			var values [][]float64
			for _, x := range series(replicas, 0, k) {
				values = append(values, []float64{x})
			}
			f, err := ReplicaFloor(values, 0.95, 0.95)
			require.NoError(t, err)
			if f.Low <= truth && truth <= f.High {
				hits++
			}
			if f.High >= truth {
				above++
			}
		}
		require.GreaterOrEqual(t, hits, 900, "%d replicas", replicas)
		require.GreaterOrEqual(t, above, 940, "%d replicas", replicas)
	}
}
