package order

import "math/bits"

// wide is a signed 128-bit number, the form of every key that does not change
// while a job waits.
type wide struct {
	hi int64
	lo uint64
}

func wideOf(x int64) wide { return wide{hi: x >> 63, lo: uint64(x)} }

// wideMul is the full product of two non-negative numbers.
func wideMul(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{int64(hi), lo}
}

func (a wide) add(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(uint64(a.hi), uint64(b.hi), carry)
	return wide{int64(hi), lo}
}

func (a wide) sub(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(uint64(a.hi), uint64(b.hi), borrow)
	return wide{int64(hi), lo}
}

func (a wide) shl(n uint) wide {
	return wide{a.hi<<n | int64(a.lo>>(64-n)), a.lo << n}
}

// shr rounds towards minus infinity.
func (a wide) shr(n uint) wide {
	return wide{a.hi >> n, a.lo>>n | uint64(a.hi)<<(64-n)}
}

func (a wide) cmp(b wide) int {
	switch {
	case a.hi != b.hi && a.hi < b.hi, a.hi == b.hi && a.lo < b.lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// product is an unsigned product of up to eight factors, least significant
// word first. Eight words hold any cross-product compared here: the largest is
// (63+63+63+31) + (63+63+63) bits.
type product [8]uint64

func productOf(factors ...uint64) product {
	p := product{1}
	for _, f := range factors {
		var carry uint64
		for i := range p {
			hi, lo := bits.Mul64(p[i], f)
			var c uint64
			p[i], c = bits.Add64(lo, carry, 0)
			carry = hi + c
		}
	}
	return p
}

func (p *product) cmp(q *product) int {
	for i := len(p) - 1; i >= 0; i-- {
		switch {
		case p[i] < q[i]:
			return -1
		case p[i] > q[i]:
			return 1
		}
	}
	return 0
}

// log2Bits is the number of fraction bits of log2Fixed and log10Fixed.
const log2Bits = 57

// log2Fixed is the binary logarithm of x > 0 with log2Bits fraction bits,
// rounded down; the error is below two units of the last place. The fraction
// comes bit by bit from repeated squaring of the mantissa, which is kept to
// 128 bits: 57 squarings lose at most 58 of them.
func log2Fixed(x uint64) uint64 {
	whole := uint64(63 - bits.LeadingZeros64(x))
	hi, lo := x<<(63-whole), uint64(0) // mantissa in [1, 2), 127 fraction bits
	f := whole
	for range log2Bits {
		hi, lo = square(hi, lo)
		f <<= 1
		if hi>>63 == 1 { // at least 2 after the shift in square
			f |= 1
		} else {
			hi, lo = hi<<1|lo>>63, lo<<1
		}
	}
	return f
}

// square returns the upper 128 bits of the square of a mantissa with 127
// fraction bits; its top bit says that the square is at least 2.
func square(hi, lo uint64) (uint64, uint64) {
	h1, h0 := bits.Mul64(hi, hi)
	m1, m0 := bits.Mul64(hi, lo)
	l1, _ := bits.Mul64(lo, lo)
	// hi*hi<<128 + 2*hi*lo<<64 + lo*lo, of which the low 128 bits are dropped.
	w1, c := bits.Add64(l1, m0, 0)
	h0, c = bits.Add64(h0, m1, c)
	h1 += c
	_, c = bits.Add64(w1, m0, 0)
	h0, c = bits.Add64(h0, m1, c)
	return h1 + c, h0
}

// log10Of2 is log10(2) with 64 fraction bits, rounded to nearest.
const log10Of2 = 0x4d104d427de7fbcc

// log10Fixed is the decimal logarithm of x > 0 with log2Bits fraction bits; the
// error is below two units of the last place, 1.4e-17.
func log10Fixed(x uint64) uint64 {
	hi, _ := bits.Mul64(log2Fixed(x), log10Of2)
	return hi
}

// sqrtFixed is the square root of hi:lo, rounded down.
func sqrtFixed(hi, lo uint64) uint64 {
	var root uint64
	for bit := uint64(1) << 63; bit != 0; bit >>= 1 {
		t := root | bit
		h, l := bits.Mul64(t, t)
		if h < hi || (h == hi && l <= lo) {
			root = t
		}
	}
	return root
}
