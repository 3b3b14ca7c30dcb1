// Package libm has the functions of package math whose last bit hangs on the processor, with the same bits on every
// one: math.Exp on amd64 asks at its start whether the processor multiplies and adds in one rounding, and whatever
// calls it, such as math.Pow, math.Erfc and the distributions of gonum, differs with it. The functions here give what
// math gives on a processor that does, and take longer on one that does not. It must not know what is computed with it.
//
// exp.go follows math/exp_amd64.s, pow.go and erf.go follow math/pow.go and math/erf.go of Go 1.26: Copyright 2009 and
// 2010 The Go Authors, under the BSD licence of Go; the rational functions of erf.go are of FreeBSD's s_erf.c,
// Copyright (C) 1993 by Sun Microsystems, Inc., which may be used, copied, modified and distributed freely while this
// notice is kept.
package libm

import "math"

const (
	ln2High  = 0.69314718055966295651160180568695068359375
	ln2Low   = 0.28235290563031577122588448175013436025525412068e-12
	overflow = 7.09782712893384e+02
)

// taylor are 1/8! to 1/2!, and 1.
var taylor = [...]float64{2.4801587301587301587e-5, 1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3, 4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1}

// Exp is e**x, as math.Exp.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > overflow:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.RoundToEven(float64(x * math.Log2E))
	x = math.FMA(-k, ln2High, x)
	x = math.FMA(-k, ln2Low, x)
	x = float64(x * 0.0625)
	y := taylor[0]
	for _, c := range taylor[1:] {
		y = math.FMA(x, y, c)
	}
	x = float64(x * y) // e**x - 1 of a sixteenth; the square of e**x less 1 is (e**x - 1)(e**x + 1)
	for range 3 {
		x = float64(x * float64(x+2))
	}
	return scaled(math.FMA(x, float64(x+2), 1), int(k))
}

// scaled is x times 2**k, rounded as often as math.Exp rounds it.
func scaled(x float64, k int) float64 {
	switch biased := k + 0x3ff; {
	case biased >= 0x7ff:
		return math.Inf(1)
	case biased > 0:
		return float64(x * math.Float64frombits(uint64(biased)<<52))
	case biased < -52:
		return 0
	default:
		x = float64(x * math.Float64frombits(uint64(biased+0x3fe)<<52))
		return float64(x * math.Float64frombits(1<<52))
	}
}
