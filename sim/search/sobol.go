package search

import (
	"fmt"
	"math/bits"

	"orrery/scheduler/model/draw"
)

// sobol is a scrambled Sobol sequence: points of the unit cube that fill it
// more evenly than random ones do. Any 2^m points that begin at a multiple of
// 2^m are a net, evenly spread over all boxes of equal volume down to a size
// that the dimension decides. (Sobol': On the distribution of points in a cube,
// 1967; Antonov and Saleev's order of points, 1979, is not used: point i is a
// function of i.)
//
// The scrambling is Owen's: each binary digit is flipped or not by a coin of
// its own for each value of the digits before it, so every point is uniform in
// the cube, and the net stays one. (Owen: Randomly permuted (t,m,s)-nets, 1995.)
// The first point is used as any other, since the scrambling takes it off the
// corner.
type sobol struct {
	columns [][sobolBits]uint32
	keys    []uint64 // of the scrambling, one for each dimension
	plain   bool     // without scrambling, in tests
}

// sobolBits is the number of binary digits of a coordinate that follow the
// sequence; the digits below are random.
const sobolBits = 32

// maxSobol is the largest dimension of a Sobol sequence.
const maxSobol = len(directions)

// direction says how the digits of one dimension begin.
type direction struct {
	polynomial uint32   // primitive over GF(2), the coefficient of x^k in bit k
	initial    []uint32 // odd, number k below 2^(k+1), one for each degree
}

// newSobol returns the sequence of a dimension from 1 to maxSobol.
func newSobol(dim int, seed uint64) (*sobol, error) {
	if dim < 1 || dim > maxSobol {
		return nil, fmt.Errorf("search: a Sobol sequence of dimension %d: 1 to %d are known", dim, maxSobol)
	}
	s := &sobol{columns: make([][sobolBits]uint32, dim), keys: make([]uint64, dim)}
	for j := range s.columns {
		s.columns[j] = directions[j].columns()
		s.keys[j] = draw.At(seed, draw.StreamOf("search/sobol"), uint64(j), 0, 0)
	}
	return s, nil
}

// columns is the generator matrix: column k as a 32-bit fraction. Those beyond
// the initial ones follow from the polynomial x^s + a1 x^(s-1) + … + 1 by
//
//	v[k] = a1 v[k-1] ^ … ^ a(s-1) v[k-s+1] ^ v[k-s] ^ v[k-s]>>s
//
// (Bratley and Fox: Algorithm 659, 1988.) The polynomial 1 stands for the
// first dimension, where all numbers are 1.
func (d *direction) columns() [sobolBits]uint32 {
	var v [sobolBits]uint32
	s := bits.Len32(d.polynomial) - 1
	for k := range v {
		switch {
		case s == 0:
			v[k] = 1 << (sobolBits - 1 - k)
		case k < s:
			v[k] = d.initial[k] << (sobolBits - 1 - k)
		default:
			v[k] = v[k-s] ^ v[k-s]>>s
			for i := 1; i < s; i++ {
				if d.polynomial>>(s-i)&1 == 1 {
					v[k] ^= v[k-i]
				}
			}
		}
	}
	return v
}

// Point writes point i, i < 2^32, into u, as many numbers in (0, 1) as there
// are dimensions. It costs below a microsecond for each.
func (s *sobol) Point(i uint32, u []float64) {
	for j := range s.columns {
		digits := uint32(0)
		for k := i; k != 0; k &= k - 1 {
			digits ^= s.columns[j][bits.TrailingZeros32(k)]
		}
		if s.plain {
			u[j] = float64(digits) / (1 << sobolBits)
			continue
		}
		digits = scramble(digits, s.keys[j])
		rest := draw.At(s.keys[j], 1, uint64(i), 0, 0)
		u[j] = (float64(digits) + (float64(rest>>44)+0.5)/(1<<20)) / (1 << sobolBits)
	}
}

// scramble flips each digit by a coin that depends on the digits before it.
func scramble(digits uint32, key uint64) uint32 {
	out := uint32(0)
	for b := range sobolBits {
		prefix := uint64(digits) >> (sobolBits - b) // the b digits before
		coin := uint32(draw.At(key, 0, prefix, uint64(b), 0) >> 63)
		out |= ((digits>>(sobolBits-1-b))&1 ^ coin) << (sobolBits - 1 - b)
	}
	return out
}
