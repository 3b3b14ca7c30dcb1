package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// holm returns p-values corrected for their number, in the order given: the
// chance of claiming any difference that is not there stays at the level they
// are compared with, whatever their dependence (Holm 1979). NaN means that
// nothing was tested: it stays NaN and is not counted. It panics on a number
// outside [0, 1].
func holm(p []float64) []float64 {
	order := ascending(p)
	out := slices.Clone(p)
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(order)-k)*p[i]))
		out[i] = least
	}
	return out
}

// ascending is the order of the numbers among p, smallest first.
func ascending(p []float64) []int {
	var order []int
	for i, x := range p {
		if math.IsNaN(x) {
			continue
		}
		if x < 0 || x > 1 {
			panic(fmt.Sprintf("stat: p-value %v lies outside [0, 1]", x))
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}
