package fit

import (
	"cmp"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// mostPairs is about how many pairs of points a line is made of.
const mostPairs = 500_000

// straight is y = level + slope · x with 95 % intervals.
type straight struct {
	level, slope hwmodel.Band
	centre       float64      // middle of x
	about        hwmodel.Band // of y there, less its value
	left         []float64    // of each point, y less the line
	residual     float64      // median of |left ÷ y|
}

// theilSen is the line whose slope is the median of those of all pairs. Its interval is from how
// the pairs of each point lie about it, so that noise may grow with x. False where all x are equal.
func theilSen(x, y []float64) (straight, bool) {
	n := len(x)
	stride := 1 + int(float64(n)*float64(n)/(2*mostPairs)) // of many, each point is paired with each stride-th one behind it
	type pair struct {
		slope float64
		i, j  int
	}
	var pairs []pair
	for i := range x {
		for j := i + 1; j < n; j += stride {
			if x[i] != x[j] {
				pairs = append(pairs, pair{(y[j] - y[i]) / (x[j] - x[i]), i, j})
			}
		}
	}
	count := len(pairs)
	if count == 0 || n < 3 {
		return straight{}, false
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.slope, b.slope) })
	slope := (pairs[(count-1)/2].slope + pairs[count/2].slope) / 2
	over, of := make([]float64, n), make([]float64, n)
	for _, p := range pairs {
		sign := float64(cmp.Compare(p.slope, slope))
		over[p.i], over[p.j] = over[p.i]+sign, over[p.j]+sign
		of[p.i]++
		of[p.j]++
	}
	square := 0.0
	for i := range over {
		if of[i] > 0 {
			square += over[i] * over[i] / of[i] / of[i] / float64(n)
		}
	}
	off := libm.StudentQuantile((1+Confidence)/2, float64(n-2)) * math.Sqrt(4*square/float64(n)) * float64(count)
	out := straight{slope: hwmodel.Band{
		Value: slope,
		Low:   pairs[max(0, int(math.Floor((float64(count)-off)/2)))].slope,
		High:  pairs[min(count-1, int(math.Ceil((float64(count)+off)/2)))].slope,
	}}
	parts := make([]float64, n)
	for i := range x {
		out.left = append(out.left, y[i]-slope*x[i])
	}
	level := middle(withoutWild(out.left, y), "points")
	for i := range x {
		out.left[i] -= level.Value
		parts[i] = math.Abs(out.left[i] / y[i])
	}
	out.residual = Median(parts)
	// The level moves with the slope about the middle of x.
	out.centre, out.about = Median(x), hwmodel.Band{Low: level.Low - level.Value, High: level.High - level.Value}
	out.level.Value = level.Value
	out.level = out.at(0)
	return out, true
}

// at is y at x. Its interval is that at the middle of x, which moves with the slope away from it.
func (s *straight) at(x float64) hwmodel.Band {
	value, off := s.level.Value+s.slope.Value*x, x-s.centre
	below, above := (s.slope.High-s.slope.Value)*off, (s.slope.Value-s.slope.Low)*off
	if off > 0 {
		below, above = (s.slope.Value-s.slope.Low)*off, (s.slope.High-s.slope.Value)*off
	}
	return hwmodel.Band{Value: value, Low: value - math.Hypot(s.about.Low, below), High: value + math.Hypot(s.about.High, above)}
}

// withoutWild are what is left of points without those that lie far from the line through the
// middle of them, as a part of what the line says there. Where all wild ones lie on one side, such
// as transfers that meet a busy store, the median of all would be beside the others.
func withoutWild(left, y []float64) (out []float64) {
	middle := Median(left)
	off := make([]float64, len(left))
	for i := range left {
		if line := math.Abs(y[i] - left[i] + middle); line > 0 {
			off[i] = math.Abs(left[i]-middle) / line
		}
	}
	most := outlierScale * normalMAD * Median(off)
	for i := range left {
		if off[i] <= most || most == 0 {
			out = append(out, left[i])
		}
	}
	return out
}
