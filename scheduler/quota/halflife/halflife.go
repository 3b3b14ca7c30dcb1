// Package halflife computes what is left of something after a while, when half
// of it goes in each half-life, in integers and equal on every machine. It
// knows numbers only: neither tenants nor clocks.
package halflife

import "math/bits"

// Factor is a number from 0 to 1 with 63 fraction bits.
type Factor uint64

// One is the Factor 1.
const One Factor = 1 << 63

// ln2 has 64 fraction bits.
const ln2 = 0xB17217F7D1CF79AB

// terms of the series of exp(-y): for y below ln 2 the next one is less than
// 2^-70.
const terms = 20

// Left is 2^(-a/b) for a >= 0 and b > 0, within 2^-61 of the true value: what
// is left after a when the half-life is b. It costs twenty multiplications and
// divisions.
func Left(a, b int64) Factor {
	n := a / b
	if n >= 64 {
		return 0
	}
	f, _ := bits.Div64(uint64(a%b), 0, uint64(b))
	y, _ := bits.Mul64(f, ln2)
	s := uint64(One)
	for k := uint64(terms); k > 0; k-- {
		hi, _ := bits.Mul64(y, s)
		s = uint64(One) - hi/k
	}
	return Factor(s >> uint(n))
}

// Of is x*f rounded down, for x >= 0.
func (f Factor) Of(x int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(f))
	return int64(hi<<1 | lo>>63)
}
