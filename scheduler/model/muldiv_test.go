package model

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMulDiv: it is the exact quotient, rounded towards zero, or the end of the range.
func TestMulDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, num, den := rapid.Int64().Draw(t, "x"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "num"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "den")
		want := new(big.Int).Mul(big.NewInt(x), big.NewInt(num))
		want.Quo(want, big.NewInt(den))
		got := MulDiv(x, num, den)
		switch {
		case want.IsInt64():
			require.Equal(t, want.Int64(), got)
		case x < 0:
			require.EqualValues(t, math.MinInt64, got)
		default:
			require.EqualValues(t, math.MaxInt64, got)
		}
	})
}
