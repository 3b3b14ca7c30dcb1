package hwmodel

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// A number is the PUE at any draw; a table has its points, lines between them, and nothing
// beyond its ends.
func TestPUE(t *testing.T) {
	fixed := FixedPUE(1_250_000)
	require.False(t, fixed.Varies())
	for _, draw := range []int64{-5, 0, 1e9} {
		require.EqualValues(t, 1_250_000, fixed.At(draw))
	}
	p := PUE{Capacity: 1000, Points: []PUEPoint{{300_000, 1_500_000}, {800_000, 1_200_000}, {1_000_000, 1_250_000}}}
	require.True(t, p.Varies())
	for draw, want := range map[int64]int64{-9: 1_500_000, 0: 1_500_000, 300: 1_500_000, 550: 1_350_000, 800: 1_200_000, 900: 1_225_000, 1000: 1_250_000, 1 << 60: 1_250_000} {
		require.Equal(t, want, p.At(draw), draw)
	}
	require.Zero(t, (&PUE{}).At(7))
}

// The PUE lies within a millionth of the line between its two points.
func TestPUEIsPiecewiseLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := PUE{Capacity: rapid.Int64Range(1, MaxCapacity).Draw(t, "capacity")}
		load := int64(-1)
		for range rapid.IntRange(2, 5).Draw(t, "points") {
			load = rapid.Int64Range(load+1, load+1+(1_000_000-load-1)/2).Draw(t, "load")
			p.Points = append(p.Points, PUEPoint{load, rapid.Int64Range(1_000_000, 10_000_000).Draw(t, "pue")})
		}
		draw := rapid.Int64Range(0, 2*p.Capacity).Draw(t, "draw")
		x := big.NewRat(min(draw, p.Capacity), p.Capacity)
		x.Mul(x, big.NewRat(1_000_000, 1))
		want := big.NewRat(p.Points[0].PUE, 1)
		for i, to := range p.Points[1:] {
			from := p.Points[i]
			if a := new(big.Rat).Sub(x, big.NewRat(from.Load, 1)); a.Sign() > 0 {
				if part := a.Quo(a, big.NewRat(to.Load-from.Load, 1)); part.Cmp(big.NewRat(1, 1)) < 0 {
					want = part.Mul(part, big.NewRat(to.PUE-from.PUE, 1))
					want.Add(want, big.NewRat(from.PUE, 1))
					break
				}
				want = big.NewRat(to.PUE, 1)
			}
		}
		off := want.Sub(want, big.NewRat(p.At(draw), 1))
		require.Negative(t, off.Abs(off).Cmp(big.NewRat(1, 1)))
	})
}
