// Package float computes what other machines round differently.
package float

import "math"

type seconds float64

func wrong(x, y, z float64, s seconds) float64 {
	r := x*y + z     // want float
	t := x * y       // want float
	r *= z           // want float
	s = s * 2        // want float
	_ = math.Sin(t)  // want float
	_ = math.Log2(x) // want float
	return r - float64(s)
}

func right(x, y, z float64, n int) float64 {
	const hours = 24 * 365.25
	r := float64(x*y) + z
	if x*y < z || (x*y*z)/2 > r {
		n = int(x*y) * n
	}
	//detlint:inexact a filter whose error is bounded, an exact comparison follows
	filter := math.Log(x) * y
	return math.Sqrt(r) + filter/hours + float64(n)
}
