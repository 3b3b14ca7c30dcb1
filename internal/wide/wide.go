// Package wide has integers of 192 bits, in which sums of products of several amounts are exact.
package wide

import (
	"math"
	"math/big"
	"math/bits"
)

// Int is a signed integer of 192 bits, in two's complement; the zero value is 0. What goes
// beyond wraps around: a price of 63 bits times a PUE of 24, a power of 40 (1 TW) and a span
// of 61 has 188.
type Int struct{ w0, w1, w2 uint64 } // the least significant word first

// Product is x·y.
func Product(x, y uint64) Int {
	hi, lo := bits.Mul64(x, y)
	return Int{lo, hi, 0}
}

// Plus is a + b.
func (a Int) Plus(b Int) Int {
	w0, c := bits.Add64(a.w0, b.w0, 0)
	w1, c := bits.Add64(a.w1, b.w1, c)
	return Int{w0, w1, a.w2 + b.w2 + c}
}

// Minus is a - b.
func (a Int) Minus(b Int) Int {
	w0, c := bits.Sub64(a.w0, b.w0, 0)
	w1, c := bits.Sub64(a.w1, b.w1, c)
	return Int{w0, w1, a.w2 - b.w2 - c}
}

// Times is a·x.
func (a Int) Times(x int64) Int {
	if x < 0 {
		return Int{}.Minus(a.times(-uint64(x)))
	}
	return a.times(uint64(x))
}

func (a Int) times(x uint64) Int {
	h0, w0 := bits.Mul64(a.w0, x)
	h1, w1 := bits.Mul64(a.w1, x)
	w1, c := bits.Add64(w1, h0, 0)
	return Int{w0, w1, a.w2*x + h1 + c}
}

func (a Int) negative() bool { return int64(a.w2) < 0 }

// Per is a ÷ den to the nearest, a half away from 0, and the largest or the smallest int64
// where it lies beyond. den is above 0.
func (a Int) Per(den int64) int64 {
	if a.negative() {
		return -Int{}.Minus(a).Per(den)
	}
	d := uint64(den)
	q2, r := a.w2/d, a.w2%d
	q1, r := bits.Div64(r, a.w1, d)
	q0, r := bits.Div64(r, a.w0, d)
	if r >= d-r {
		var c uint64
		q0, c = bits.Add64(q0, 1, 0)
		q1 += c
	}
	if q2 > 0 || q1 > 0 || q0 > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q0)
}

// Big is a as a number without bounds.
func (a Int) Big() *big.Int {
	if a.negative() {
		x := Int{}.Minus(a).Big()
		return x.Neg(x)
	}
	z := new(big.Int).SetUint64(a.w2)
	z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(a.w1))
	return z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(a.w0))
}
