// Package processor computes what other processors of the same architecture round differently.
package processor

import "math"

func wrong(x, y float64) float64 {
	f := math.Exp              // want processor
	z := math.Pow(x, y)        // want float processor
	return f(x) + math.Erfc(z) // want float processor
}

func right(x float64) float64 {
	//detlint:inexact an example of both
	return math.Pow(x, 2) + 1 //detlint:processor its argument is whole
}
