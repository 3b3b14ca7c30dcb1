package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// Confidence is the share of records in which the interval of an Estimate holds the truth.
const Confidence = 0.95

// Estimate is a fitted figure. The interval Low to High of its band holds the truth in 95 % of
// such records.
type Estimate struct {
	hwmodel.Band
	// N independent Units are what the figure rests on, such as 12 "jobs". Readings of a sensor
	// are not independent, so they are never the unit.
	N     int
	Units string
	// Residual is the median distance of a unit from what the fit says of it, as a part of the
	// latter.
	Residual float64
	// Spread holds a further unit with the probability Share, 0.8 where there are nine units or
	// more: 10 % lie below Low and 10 % above High.
	Spread Range
	Share  float64
	// Valid is what the units span, in the unit of what the figure depends on. Beyond it the
	// figure is not supported.
	Valid Range
	// Of are the units themselves, ascending, where each has a value of its own.
	Of []float64
}

// Range is from Low to High, both included.
type Range struct{ Low, High float64 }

// Figure is an estimate, or why there is none. The Spread of a refused one may be known,
// as where two jobs were seen: see OtherWork.
type Figure struct {
	Estimate
	Refused *Refusal // nil where Estimate is known
}

// Known says whether there is an estimate.
func (f Figure) Known() bool { return f.Refused == nil }

// Refusal says why a figure is not given. It is a value of the answer where other figures are
// given, and an error where it is the only one.
type Refusal struct {
	What    string // the figure that is not given
	Found   string
	Want    string // what is missing
	Obtain  string // how to get it
	tooFew  bool
	because error
}

// Error is one sentence.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: found %s, want %s: %s", r.What, r.Found, r.Want, r.Obtain)
}

// Unwrap makes a refusal for a small number ErrTooFew.
func (r *Refusal) Unwrap() error {
	if r.tooFew {
		return ErrTooFew
	}
	return r.because
}

func refused(r Refusal) Figure { return Figure{Refused: &r} }

// few is a refused figure with the range of the units that there are.
func few(units []float64, name string, because *Refusal) Figure {
	out := Figure{Estimate: Estimate{N: len(units), Units: name}, Refused: because}
	if len(units) > 1 {
		out.Of = slices.Sorted(slices.Values(units))
		out.Spread, out.Share = spreadOf(out.Of)
	}
	return out
}

// fewer is the refusal of a figure for want of units.
func fewer(what string, found, want int, units, obtain string) *Refusal {
	return &Refusal{What: what, Found: fmt.Sprintf("%d %s", found, units), Want: fmt.Sprintf("at least %d", want), Obtain: obtain, tooFew: true}
}

// middle is the estimate of the median of independent units by their order statistics, which
// supposes no law; it needs leastMedian of them.
func middle(units []float64, name string) Estimate {
	sorted := slices.Sorted(slices.Values(units))
	value := Median(sorted)
	low, _ := quantileBound(sorted, 0.5, (1-Confidence)/2)
	high, _ := quantileBound(sorted, 0.5, (1+Confidence)/2)
	return described(hwmodel.Band{Value: value, Low: min(low, value), High: max(high, value)}, sorted, name)
}

// average is the estimate of the mean of independent units by Student's law.
func average(units []float64, name string) Estimate {
	sorted := slices.Sorted(slices.Values(units))
	n := float64(len(sorted))
	value, square := meanOf(sorted), 0.0
	for _, x := range sorted {
		square += (x - value) * (x - value)
	}
	half := libm.StudentQuantile((1+Confidence)/2, n-1) * math.Sqrt(square/(n-1)/n)
	return described(hwmodel.Band{Value: value, Low: value - half, High: value + half}, sorted, name)
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// described adds to a band what its units say of themselves.
func described(b hwmodel.Band, sorted []float64, name string) Estimate {
	out := Estimate{Band: b, N: len(sorted), Units: name, Valid: Range{sorted[0], sorted[len(sorted)-1]}, Of: sorted}
	out.Spread, out.Share = spreadOf(sorted)
	off := make([]float64, len(sorted))
	for i, x := range sorted {
		off[i] = math.Abs(x - b.Value)
	}
	if b.Value != 0 {
		out.Residual = Median(off) / math.Abs(b.Value)
	}
	return out
}

// spreadOf is the range that holds a further unit with a probability of 0.8: from rank
// 0.1·(n + 1) to rank 0.9·(n + 1), whatever the law. Fewer than nine units do not reach so far;
// least and largest hold it with the probability (n - 1) ÷ (n + 1).
func spreadOf(sorted []float64) (Range, float64) {
	n := float64(len(sorted))
	at := func(rank float64) float64 {
		below := min(max(math.Floor(rank), 1), n)
		above := min(below+1, n)
		return sorted[int(below)-1] + (rank-below)*(sorted[int(above)-1]-sorted[int(below)-1])
	}
	if n < 9 {
		return Range{sorted[0], sorted[len(sorted)-1]}, (n - 1) / (n + 1)
	}
	return Range{at(0.1 * (n + 1)), at(0.9 * (n + 1))}, 0.8
}

// leastMedian is the least number of units whose least and largest hold the median in 95 % of
// samples.
const leastMedian = 6

// quantileBound is the value that the quantile at p of the law of the units lies below with a
// probability of beta, false where no order statistic reaches it. Between the order statistics
// it is interpolated (Hettmansperger and Sheather 1986 for the median, Nyblom 1992 for other
// quantiles), as they alone cover more than is asked.
func quantileBound(sorted []float64, p, beta float64) (float64, bool) {
	return quantileOf(sorted, len(sorted), p, beta)
}

// quantileOf is quantileBound of units that are worth so many independent ones, at most as many as
// there are: the rank is that among so many, set into the ranks of all.
func quantileOf(sorted []float64, worth int, p, beta float64) (float64, bool) {
	n := len(sorted)
	if worth == 0 {
		return math.NaN(), false
	}
	upTo, known := boundRank(worth, p, beta)
	if !known {
		return math.NaN(), false
	}
	if worth < n {
		upTo *= float64(n+1) / float64(worth+1)
	}
	r, part := int(upTo), upTo-math.Floor(upTo)
	if part == 0 || r == n {
		return sorted[r-1], true
	}
	return sorted[r-1] + part*(sorted[r]-sorted[r-1]), true
}

// boundRank is the rank of quantileBound, counted from 1 and between ranks by its fraction.
func boundRank(n int, p, beta float64) (float64, bool) {
	below := binomialBelow(n, p) // by r: the chance that fewer than r of n lie below the quantile
	r := 0
	for r < n && below[r+1] <= beta {
		r++
	}
	if r == 0 || r == n && below[n] < beta {
		return 0, false
	}
	if r == n {
		return float64(n), true
	}
	over, under := float64(r)*(1-p)*(below[r+1]-beta), float64(n-r)*p*(beta-below[r])
	return float64(r) + under/(under+over), true
}

// binomialBelow are the chances of fewer than r successes in n trials, for r from 0 to n.
func binomialBelow(n int, p float64) []float64 {
	weight := make([]float64, n+1) // relative to the most likely number
	mode := min(n, int(float64(n+1)*p))
	weight[mode] = 1
	for k := mode; k < n && weight[k] > 0; k++ {
		weight[k+1] = weight[k] * float64(n-k) / float64(k+1) * p / (1 - p)
	}
	for k := mode; k > 0 && weight[k] > 0; k-- {
		weight[k-1] = weight[k] * float64(k) / float64(n-k+1) * (1 - p) / p
	}
	total := 0.0
	for _, w := range weight {
		total += w
	}
	out := make([]float64, n+1)
	for r := 1; r <= n; r++ {
		out[r] = out[r-1] + weight[r-1]/total
	}
	return out
}

// unitsFor is the least number of units of which some order statistics hold the quantile at p
// in 95 % of samples, on both sides.
func unitsFor(p float64) int {
	tail := math.Log((1 - Confidence) / 2)
	return int(math.Ceil(max(tail/math.Log(p), tail/math.Log1p(-p))))
}

// MedianOf is the median of independent units with its interval; there are six of them at
// least.
func MedianOf(units []float64, name string) Estimate { return middle(units, name) }
