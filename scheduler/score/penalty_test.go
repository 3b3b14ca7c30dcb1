package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

func TestPenalty(t *testing.T) {
	for _, c := range []struct{ used, want float64 }{
		{-1, 1}, {0, 1}, {.5, 1}, {.8, 1},
		{.85, .963843}, {.90, .860876}, {.95, .706775}, {1.00, .525}, {1.05, .343225}, {1.10, .189124}, {1.15, .086157},
		{1.2, .05}, {1.3, .05}, {1e6, .05}, {1e12, .05},
	} {
		closeTo(t, c.want, Penalty(model.FixedOf(c.used)), c.used)
	}
	require.Equal(t, model.One, Penalty(freeUntil))
	require.Equal(t, model.Fixed(214748365), Penalty(floorFrom))
	require.Equal(t, model.Fixed(math.Round(.525*float64(model.One))), Penalty(model.One))
}

// The float64 curve is within 1e-15 of the exact one, a quarter of a millionth of
// a unit of the last place.
func exactPenalty(used model.Fixed) float64 {
	return .525 - .475*math.Sin(math.Pi/2*5*(used-model.One).Float())
}

func TestPenaltyIsWithinItsBoundAndNeverRises(t *testing.T) {
	hold := func(t require.TestingT, used model.Fixed) {
		off := (exactPenalty(used) - Penalty(used).Float()) * float64(model.One)
		require.True(t, -0.51 < off && off < 0.51, "%d: off by %g units", used, off)
		require.GreaterOrEqual(t, Penalty(used), Penalty(used+1), used)
	}
	for _, from := range []model.Fixed{freeUntil, model.One - 50_000, floorFrom - 100_001} {
		for used := from + 1; used < from+100_000; used++ {
			hold(t, used)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		hold(t, model.Fixed(rapid.Int64Range(int64(freeUntil)+1, int64(floorFrom)-1).Draw(t, "used")))
	})
}

// At both ends of a range of SamePenalty it is the same, and a range is as wide as the curve is flat.
func TestSamePenalty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used := model.Fixed(rapid.Int64Range(0, 2*int64(model.One)).Draw(t, "used"))
		least, most := SamePenalty(used)
		require.True(t, least <= used && used <= most)
		for _, x := range []model.Fixed{least, most} {
			require.Equal(t, Penalty(used), Penalty(x))
		}
		if least == most {
			require.True(t, freeUntil < used && used < floorFrom)
		}
	})
	least, most := SamePenalty(0)
	require.Equal(t, [2]model.Fixed{0, freeUntil}, [2]model.Fixed{least, most})
	least, most = SamePenalty(2 * model.One)
	require.Equal(t, [2]model.Fixed{floorFrom, math.MaxInt64}, [2]model.Fixed{least, most})
}

func BenchmarkPenalty(b *testing.B) {
	sum := model.Fixed(0)
	for b.Loop() {
		sum += Penalty(model.One + sum&0xffff)
	}
}
