package preempt

import (
	"math"
	"math/bits"
)

// scaled is a*b/c rounded down, for a, b >= 0 and c > 0; it saturates.
func scaled(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// times is a*b for a, b >= 0; it saturates.
func times(a, b int64) int64 { return scaled(a, b, 1) }

// plus is a+b for a, b >= 0; it saturates.
func plus(a, b int64) int64 { return int64(min(uint64(a)+uint64(b), math.MaxInt64)) }

// rootOfProduct is the square root of a*b rounded down: one bit of it after the
// other, the highest first.
func rootOfProduct(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	root := uint64(0)
	for bit := uint64(1) << 63; bit != 0; bit >>= 1 {
		h, l := bits.Mul64(root|bit, root|bit)
		if h < hi || h == hi && l <= lo {
			root |= bit
		}
	}
	return root
}
