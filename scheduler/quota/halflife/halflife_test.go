package halflife

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// TestLeft has rows whose values are roots and powers of two.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want float64
	}{
		{0, 1, 1},
		{1, 1, 0.5},
		{2, 1, 0.25},
		{1, 2, math.Sqrt2 / 2},
		{3, 2, math.Sqrt2 / 4},
		{1, 4, math.Sqrt(math.Sqrt2 / 2)},
		{63, 1, math.Ldexp(1, -63)},
		{64, 1, 0},
		{math.MaxInt64, 1, 0},
		{0, math.MaxInt64, 1},
		{math.MaxInt64, math.MaxInt64, 0.5},
	} {
		require.InDelta(t, c.want, math.Ldexp(float64(Left(c.a, c.b)), -63), 1e-15, "%d/%d", c.a, c.b)
	}
	require.Equal(t, One, Left(0, 7))
	require.Equal(t, One/2, Left(7, 7))
}

// TestLeftAgainstRoots raises the factor of one n-th of a half-life to its n-th
// power in exact arithmetic, which must be a half.
func TestLeftAgainstRoots(t *testing.T) {
	half := new(big.Int).Lsh(big.NewInt(1), 62)
	for _, n := range []int64{2, 3, 5, 17, 100, 2016, 8640} {
		p := new(big.Int).SetUint64(uint64(One))
		f := new(big.Int).SetUint64(uint64(Left(1, n)))
		// 128 more bits keep the powers exact enough.
		p.Lsh(p, 128)
		for range n {
			p.Rsh(p.Mul(p, f), 63)
		}
		off := p.Sub(p.Rsh(p, 128), half)
		require.LessOrEqual(t, off.Abs(off).Int64(), 4*n, "n %d", n)
	}
}

// TestLeftFalls: more time leaves no more, apart from the stated error.
func TestLeftFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.Int64Range(1, math.MaxInt64).Draw(t, "b")
		a := rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "a")
		later := rapid.Int64Range(a, math.MaxInt64).Draw(t, "later")
		x, y := Left(a, b), Left(later, b)
		require.LessOrEqual(t, y, x+8)
		require.LessOrEqual(t, x, One)
		ratio := float64(a) / float64(b)
		require.InDelta(t, math.Exp2(-ratio), math.Ldexp(float64(x), -63), 1e-14)
	})
}

// TestOf rounds down.
func TestOf(t *testing.T) {
	require.EqualValues(t, math.MaxInt64, One.Of(math.MaxInt64))
	require.EqualValues(t, 3, (One / 2).Of(7))
	require.EqualValues(t, 0, Factor(0).Of(7))
}

func BenchmarkLeft(b *testing.B) {
	for i := range int64(b.N) {
		Left(i, 1<<40)
	}
}
