package wide

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// wrapped is x as 192 bits hold it.
func wrapped(x *big.Int) *big.Int {
	m := new(big.Int).Lsh(big.NewInt(1), 192)
	x = new(big.Int).Mod(x, m)
	if x.Bit(191) == 1 {
		x.Sub(x, m)
	}
	return x
}

func big3(x *big.Int, y, z int64) *big.Int {
	out := new(big.Int).Mul(x, big.NewInt(y))
	return out.Mul(out, big.NewInt(z))
}

// Sums of products are those of numbers without bounds.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum, want := Int{}, new(big.Int)
		for range rapid.IntRange(0, 9).Draw(t, "n") {
			x, y := rapid.Uint64().Draw(t, "x"), rapid.Uint64().Draw(t, "y")
			p, w := rapid.Int64().Draw(t, "p"), rapid.Int64().Draw(t, "w")
			term := Product(x, y).Times(p).Times(w)
			of := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
			require.Equal(t, of.String(), wrapped(new(big.Int).Set(Product(x, y).Big())).String())
			if rapid.Bool().Draw(t, "off") {
				sum, want = sum.Minus(term), want.Sub(want, big3(of, p, w))
			} else {
				sum, want = sum.Plus(term), want.Add(want, big3(of, p, w))
			}
		}
		require.Equal(t, wrapped(want).String(), sum.Big().String())
	})
}

// A quotient is the nearest integer, a half away from 0, whatever the sign.
func TestPer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Uint64().Draw(t, "x"), rapid.Uint64().Draw(t, "y")
		sign := rapid.Int64Range(-3, 3).Draw(t, "sign")
		den := rapid.Int64Range(1, math.MaxInt64).Draw(t, "den")
		a := Product(x, y).Times(sign)
		abs := new(big.Int).Abs(a.Big())
		q := abs.Lsh(abs, 1).Add(abs, big.NewInt(den))
		q.Quo(q, new(big.Int).Lsh(big.NewInt(den), 1))
		want := int64(math.MaxInt64)
		if q.IsInt64() {
			want = q.Int64()
		}
		if sign < 0 {
			want = -want
		}
		require.Equal(t, want, a.Per(den))
		require.Equal(t, -want, Int{}.Minus(a).Per(den))
	})
	require.EqualValues(t, 3, Product(5, 1).Per(2))
	require.EqualValues(t, -3, Product(5, 1).Times(-1).Per(2))
	require.EqualValues(t, 2, Product(7, 1).Per(3))
}
