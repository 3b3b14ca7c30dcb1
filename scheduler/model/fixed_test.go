package model

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// Products and ratios are rounded to the nearest, halves away from zero, and stop at the bounds.
func TestFixedLikeBig(t *testing.T) {
	bounded := func(x *big.Int) Fixed {
		switch {
		case x.Cmp(big.NewInt(math.MaxInt64)) > 0:
			return math.MaxInt64
		case x.Cmp(big.NewInt(math.MinInt64)) < 0:
			return math.MinInt64
		}
		return Fixed(x.Int64())
	}
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1<<34, 1<<34), rapid.Int64Range(-9, 9))
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		want := new(big.Int).Mul(new(big.Int).Abs(big.NewInt(a)), new(big.Int).Abs(big.NewInt(b)))
		want.Add(want, big.NewInt(int64(One/2))).Rsh(want, FractionBits)
		if (a < 0) != (b < 0) {
			want.Neg(want)
		}
		require.Equal(t, bounded(want), Fixed(a).Mul(Fixed(b)), "%d x %d", a, b)
		if a >= 0 && b > 0 {
			want.Lsh(big.NewInt(a), FractionBits)
			want.Add(want, big.NewInt(b/2)).Quo(want, big.NewInt(b))
			require.Equal(t, bounded(want), Ratio(a, b), "%d / %d", a, b)
		}
	})
	require.Equal(t, 6*One, (2 * One).Mul(3*One))
	require.Equal(t, -6*One, (2 * One).Mul(-3*One))
	require.Equal(t, Fixed(1), (One / 2).Mul(1), "a half is rounded up")
	require.Equal(t, Fixed(-1), (One / 2).Mul(-1), "or away from zero")
	require.Equal(t, Fixed(0), (One/2 - 1).Mul(1))
	require.Equal(t, One/4, Ratio(5, 20))
	require.Equal(t, 2*One, (3*One).Clamp(One, 2*One))
	require.Equal(t, One, Fixed(0).Clamp(One, 2*One))
}

// Instants of a cycle of 10 s with a phase of 3 s.
func TestGrid(t *testing.T) {
	const s = Time(Second)
	for in, want := range map[Time]Time{0: 3 * s, 3 * s: 3 * s, 3*s + 1: 13 * s, 13 * s: 13 * s, 20 * s: 23 * s, Never: Never} {
		require.Equal(t, want, in.Grid(10*Second, 3*Second), in)
	}
	require.Equal(t, 20*s, (11*s).Grid(10*Second, 0))
}

func TestNextOfASet(t *testing.T) {
	s := NewNodeSet(200)
	for _, n := range []NodeID{0, 5, 63, 64, 130} {
		s.Add(n)
	}
	for from, want := range map[NodeID]NodeID{0: 0, 1: 5, 5: 5, 6: 63, 63: 63, 64: 64, 65: 130, 130: 130, 131: -1, 199: -1, 1000: -1} {
		require.Equal(t, want, s.Next(from), from)
	}
	require.EqualValues(t, -1, NodeSet(nil).Next(0))
}

// Two nodes of four GPUs and one of two; a part of a node counts what it names.
func TestThousandthsOfAPlacement(t *testing.T) {
	site := Site{Nodes: []Node{{GPUs: 4}, {GPUs: 4}, {GPUs: 2}}}
	words := func(mask uint64) *Placement { return &Placement{Words: []NodeWord{{Mask: mask}}} }
	all := NewNodeClasses(&site)
	require.EqualValues(t, 4000, all.Thousandths(words(1), 1))
	require.EqualValues(t, 10_000, all.Thousandths(words(7), 3))
	parts := &Placement{Shares: []NodeShare{{Node: 0, Units: 2}, {Node: 2, Amounts: Amounts{GPUMilli: 300}}, {Node: 1, Amounts: Amounts{CPUs: 3}}}}
	require.EqualValues(t, 2300, all.Thousandths(parts, 3))
	site.Nodes = site.Nodes[:2] // all alike
	alike := NewNodeClasses(&site)
	require.EqualValues(t, 8000, alike.Thousandths(words(3), 2))
	require.EqualValues(t, 2300, alike.Thousandths(&Placement{Shares: []NodeShare{{Node: 0, Units: 2}, {Node: 1, Amounts: Amounts{GPUMilli: 300}}}}, 2))
}
