package libm

import "math"

// Pow is x**y, as math.Pow.
func Pow(x, y float64) float64 {
	whole, part := math.Modf(math.Abs(y))
	switch {
	case math.IsNaN(x), math.IsNaN(y), math.IsInf(x, 0), math.IsInf(y, 0), x <= 0, x == 1, part == 0, part == 0.5 && whole == 0:
		return math.Pow(x, y) //detlint:processor it calls no exponential for these
	}
	// The answer is a * 2**e.
	if part > 0.5 {
		part--
		whole++
	}
	a, e := Exp(float64(part*math.Log(x))), 0
	b, k := math.Frexp(x)
	for i := int64(whole); i != 0; i >>= 1 {
		if k < -1<<12 || 1<<12 < k { // the rest only takes it further out of range
			e += k
			break
		}
		if i&1 == 1 {
			a = float64(a * b)
			e += k
		}
		b = float64(b * b)
		k <<= 1
		if b < 0.5 {
			b += b
			k--
		}
	}
	if y < 0 {
		a, e = 1/a, -e
	}
	return math.Ldexp(a, e)
}
