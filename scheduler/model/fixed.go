package model

import (
	"fmt"
	"math"
	"math/bits"
)

// Fixed is a number with 32 fraction bits: 1<<32 is one. Scores, weights,
// shares and prices are Fixed, so that sums of them are associative and equal on
// every machine; the range is ±2^31 at a resolution of 2.3e-10.
type Fixed int64

// FractionBits of a Fixed.
const FractionBits = 32

// One is the Fixed 1.
const One Fixed = 1 << FractionBits

// FixedOf rounds x, a number that people wrote in a file, to the nearest Fixed;
// it saturates. It is for configuration and never for decisions.
func FixedOf(x float64) Fixed {
	switch y := math.RoundToEven(math.Ldexp(x, FractionBits)); {
	case y >= math.MaxInt64:
		return math.MaxInt64
	case y <= math.MinInt64:
		return math.MinInt64
	default:
		return Fixed(y)
	}
}

// Float is x for people and plots, exact up to 2^53 units of the last place.
func (x Fixed) Float() float64 { return math.Ldexp(float64(x), -FractionBits) }

// String shows six decimals.
func (x Fixed) String() string { return fmt.Sprintf("%.6f", x.Float()) }

// Mul is x*y rounded to the nearest, halves away from zero; it saturates.
func (x Fixed) Mul(y Fixed) Fixed {
	if x|y < 0 {
		return x.mulSigned(y)
	}
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	lo, carry := bits.Add64(lo, 1<<(FractionBits-1), 0)
	hi += carry
	if hi>>(FractionBits-1) != 0 {
		return math.MaxInt64
	}
	return Fixed(hi<<FractionBits | lo>>FractionBits)
}

// mulSigned is Mul where an operand is negative, which is rare.
func (x Fixed) mulSigned(y Fixed) Fixed {
	neg := (x < 0) != (y < 0)
	hi, lo := bits.Mul64(magnitude(int64(x)), magnitude(int64(y)))
	lo, carry := bits.Add64(lo, 1<<(FractionBits-1), 0)
	hi += carry
	if hi>>(FractionBits-1) != 0 {
		return saturated(neg)
	}
	return signed(hi<<FractionBits|lo>>FractionBits, neg)
}

// Ratio is a/b for a >= 0 and b > 0, rounded to the nearest; it saturates.
func Ratio(a, b int64) Fixed {
	hi, lo := uint64(a)>>(64-FractionBits), uint64(a)<<FractionBits
	lo, carry := bits.Add64(lo, uint64(b)/2, 0)
	hi += carry
	if hi >= uint64(b) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(b))
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return Fixed(q)
}

// MulDiv is x·num ÷ den for num >= 0 and den > 0, exact before it is rounded towards zero; it
// saturates.
func MulDiv(x, num, den int64) int64 {
	hi, lo := bits.Mul64(magnitude(x), uint64(num))
	if hi >= uint64(den) {
		return int64(saturated(x < 0))
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	if q > math.MaxInt64 {
		return int64(saturated(x < 0))
	}
	return int64(signed(q, x < 0))
}

// Clamp is x within lo and hi.
func (x Fixed) Clamp(lo, hi Fixed) Fixed { return min(max(x, lo), hi) }

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func saturated(neg bool) Fixed {
	if neg {
		return math.MinInt64
	}
	return math.MaxInt64
}

func signed(m uint64, neg bool) Fixed {
	if neg {
		return Fixed(-m)
	}
	return Fixed(m)
}
