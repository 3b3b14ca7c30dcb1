package metric

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRanker: percentiles are those of the sorted keys, whether these are few or many,
// of all magnitudes or crowded.
func TestRanker(t *testing.T) {
	var r Ranker
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40*sortedKeys).Draw(t, "keys")
		wide, base := rapid.IntRange(0, 64).Draw(t, "bits"), rapid.Uint64().Draw(t, "base")
		crowd := rapid.IntRange(0, 9).Draw(t, "of ten in a crowd")
		x := rapid.Uint64().Draw(t, "seed")
		keys := make([]uint64, n)
		for i := range keys {
			x = x*6364136223846793005 + 1442695040888963407
			keys[i], _ = bits.Mul64(x, 1<<wide-1)
			if x>>17%10 < uint64(crowd) {
				keys[i] = base + keys[i]%3000
			}
		}
		percents := rapid.SliceOfNDistinct(rapid.IntRange(1, 100), 1, 7, rapid.ID[int]).Draw(t, "percents")
		slices.Sort(percents)
		values := make([]uint64, len(percents))
		r.Percentiles(keys, percents, values)
		slices.Sort(keys)
		for i, p := range percents {
			require.Equal(t, keys[(p*n+99)/100-1], values[i], "%d of %d keys", p, n)
		}
	})
}
