package score

import (
	"math/bits"

	"orrery/scheduler/model"
)

// WaitOf is f2 = ln(1 + waited/reference). It never falls as waited grows, is 0
// at 0 (and below), and differs from the exact value by less than 0.52 units of
// the last place (1.3e-10) wherever it is asked. reference is positive; less
// counts as a microsecond. Cost: two logarithms by table, no division.
func WaitOf(waited, reference model.Duration) model.Fixed {
	ref := uint64(max(reference, 1))
	return rounded(ln(ref+uint64(max(waited, 0))) - ln(ref))
}

// Curve is WaitOf for one reference, of which it remembers the logarithm: half
// the cost. The zero Curve is not one; use CurveOf.
type Curve struct{ ref, ln uint64 }

// CurveOf returns the curve of a reference, for which WaitOf's rules hold.
func CurveOf(reference model.Duration) Curve {
	ref := uint64(max(reference, 1))
	return Curve{ref, ln(ref)}
}

// Of equals WaitOf(waited, reference).
func (c Curve) Of(waited model.Duration) model.Fixed {
	return rounded(ln(c.ref+uint64(max(waited, 0))) - c.ln)
}

// WaitUntil is the least wait, at least 0, at which WaitOf reaches target:
// exactly that microsecond, found by bisection. Forever when no wait does.
func WaitUntil(target model.Fixed, reference model.Duration) model.Duration {
	c := CurveOf(reference)
	if c.Of(model.Forever) < target {
		return model.Forever
	}
	low, high := model.Duration(0), model.Forever
	for low < high {
		if mid := low + (high-low)/2; c.Of(mid) < target {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// lnBits are the fraction bits of ln, which leaves six for the whole part.
const lnBits = 58

func rounded(ln uint64) model.Fixed {
	const drop = lnBits - model.FractionBits
	return model.Fixed((ln + 1<<(drop-1)) >> drop)
}

const (
	cellBits = 9
	cells    = 1 << cellBits
)

// cell of the table: [1, 2) is cut into 512 of equal width.
type cell struct {
	ln      uint64 // of the lower bound c = 1 + i/512, in units of 2^-58
	inverse uint64 // 1/c in units of 2^-63
}

// table has one more cell, which begins at 2. It is made of integers alone, so
// it is the same everywhere.
var table = tabulate()

func tabulate() [cells + 1]cell {
	var t [cells + 1]cell
	sum := uint64(0)
	for i := range t {
		n := uint64(cells + i)
		inverse, _ := bits.Div64(1<<(63+cellBits-64), 0, n)
		t[i] = cell{sum >> 4, inverse}
		// ln((n+1)/n) = 2 artanh(1/q) = 2/q + 2/3q^3 + 2/5q^5 + ..., q = 2n+1, in
		// units of 2^-62; q > 2^10, so what follows is below 2^-71.
		q := 2*n + 1
		first := (1<<63 + q/2) / q
		third := first / (q * q)
		sum += first + third/3 + third/(q*q)/5
	}
	return t
}

// ln is the natural logarithm of n >= 1 in units of 2^-58, with an error between
// -2^-44 and 2^-38, and it never falls as n grows.
//
// n = 2^k * c * (1+r) with c from the table and 0 <= r < 2^-9, so
// ln n = k ln 2 + ln c + (r - r²/2 + r³/3) - at most r⁴/4 < 2^-38.
// With x = 2^9 r in units of 2^-63, the bracket is x - x*q in units of 2^-72,
// q = x/2^10 - x²/3*2^18. Each step of x raises q by at most one of its units
// (2^-73), and so x*q by at most one unit of its high word, and x - x*q never
// falls; nor does it across cells, since it is cut off at the next one.
func ln(n uint64) uint64 {
	zeros := bits.LeadingZeros64(n)
	m := n << (zeros & 63)
	i := m >> (63 - cellBits) & (cells - 1)
	c, next := &table[i], table[i+1].ln
	x, _ := bits.Mul64(m<<(1+cellBits), c.inverse)
	square := x >> 32 * (x >> 32)              // in units of 2^-62
	q := x - square>>7/3                       // x²/3 * 2^-18 in units of 2^-73: square * 2 * 2^-8 / 3
	down, _ := bits.Mul64(x, q)                // in units of 2^-72 for x of 2^-63
	fine := (x - down>>9) >> (63 + 9 - lnBits) // in units of 2^-58
	return uint64(63-zeros)*table[cells].ln + min(c.ln+fine, next)
}
