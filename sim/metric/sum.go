package metric

import (
	"math/big"
	"math/bits"
)

// sum is an unsigned 192-bit accumulator, least significant word first. It
// holds the sum of 2^31 products of three factors (units, a span and a span)
// without overflow, so every total is exact and independent of order; it is
// divided once, at the end.
type sum struct{ w0, w1, w2 uint64 }

func (s *sum) add(x uint64) {
	var c uint64
	s.w0, c = bits.Add64(s.w0, x, 0)
	s.w1, c = bits.Add64(s.w1, 0, c)
	s.w2 += c
}

func (s *sum) join(t sum) {
	var c uint64
	s.w0, c = bits.Add64(s.w0, t.w0, 0)
	s.w1, c = bits.Add64(s.w1, t.w1, c)
	s.w2 += t.w2 + c
}

// addProduct adds x·y.
func (s *sum) addProduct(x, y uint64) {
	hi, lo := bits.Mul64(x, y)
	var c uint64
	s.w0, c = bits.Add64(s.w0, lo, 0)
	s.w1, c = bits.Add64(s.w1, hi, c)
	s.w2 += c
}

// addProduct3 adds x·y·z.
func (s *sum) addProduct3(x, y, z uint64) {
	hi, lo := bits.Mul64(x, y)
	a1, a0 := bits.Mul64(lo, z)
	b1, b0 := bits.Mul64(hi, z)
	var c uint64
	s.w0, c = bits.Add64(s.w0, a0, 0)
	s.w1, c = bits.Add64(s.w1, a1, c)
	s.w2 += c
	s.w1, c = bits.Add64(s.w1, b0, 0)
	s.w2 += b1 + c
}

// minus is s-t; t must not exceed s.
func (s sum) minus(t sum) sum {
	var b uint64
	s.w0, b = bits.Sub64(s.w0, t.w0, 0)
	s.w1, b = bits.Sub64(s.w1, t.w1, b)
	s.w2 -= t.w2 + b
	return s
}

func (s sum) big() *big.Int {
	z := new(big.Int).SetUint64(s.w2)
	z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(s.w1))
	return z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(s.w0))
}

// quotient is num/den as the nearest float64: one rounding, the same on every
// machine. den must not be zero.
func quotient(num, den *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(num, den).Float64()
	return f
}

// product multiplies integers.
func product(xs ...*big.Int) *big.Int {
	z := big.NewInt(1)
	for _, x := range xs {
		z.Mul(z, x)
	}
	return z
}
