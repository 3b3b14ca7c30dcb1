package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model/draw"
)

// The streams of this package.
var (
	resampleStream = draw.StreamOf("stat.resample")
	flipStream     = draw.StreamOf("stat.flip")
)

// Interval is an estimate with the range that holds the true value with a
// probability of Confidence, in the unit of what was estimated. An interval of
// nothing is NaN throughout.
type Interval struct {
	Estimate, Low, High float64
	Confidence          float64
}

// Known says whether the interval is one of numbers.
func (i Interval) Known() bool { return Finite(i.Estimate) && Finite(i.Low) && Finite(i.High) }

// Times is the interval in another unit, one of which is 1/factor of the old.
// A negative factor swaps its ends.
func (i Interval) Times(factor float64) Interval {
	if factor < 0 { // 0 - x, so that zero does not become -0
		return Interval{0 - i.Estimate*-factor, 0 - i.High*-factor, 0 - i.Low*-factor, i.Confidence}
	}
	return Interval{i.Estimate * factor, i.Low * factor, i.High * factor, i.Confidence}
}

func unknown(confidence float64) Interval {
	return Interval{math.NaN(), math.NaN(), math.NaN(), confidence}
}

// Interval is the centre of values, given in the order of time, with its block
// bootstrap interval. That of a median is always by percentiles: its jackknife,
// which BCa needs, says nothing (Efron and Tibshirani 1993, 11.6). Values of no number give an unknown interval; one value
// gives one of no width, which says nothing: see Settings.MinBlocks.
func (s Settings) Interval(values []float64) (Interval, error) {
	block := s.Block
	if block == 0 {
		block = BlockLength(values, s.Scheme)
	}
	if s.Centre == Median {
		s.Method = Percentile
	}
	return s.Bootstrap(len(values), block, s.of(values))
}

// Bootstrap is the interval of a statistic of n rows, given in the order of
// time and resampled in blocks. The statistic gets row numbers, some of them
// several times, and must not keep the slice. Replicates that are not numbers
// are left out; it is an error when that is half of them.
//
// Replicates of few blocks spread too little. The tails are therefore those of
// Student's t with k-1 degrees of freedom for k = n/block blocks, widened by
// √(k/(k-1)) (Hesterberg 2015, the expanded percentile interval). The
// replicates of n rows are the same for each statistic, so that swapping two
// configurations mirrors the interval. Cost: Draws calls of the statistic.
func (s Settings) Bootstrap(n, block int, statistic func(rows []int) float64) (Interval, error) {
	if err := s.Validate(); err != nil {
		return Interval{}, err
	}
	if block < 1 {
		return Interval{}, fmt.Errorf("stat: blocks of %d rows; give at least 1", block)
	}
	out, _, err := s.intervals(n, block, statistic)
	if err != nil {
		return Interval{}, err
	}
	return out[0], nil
}

// statistic is a number of some rows.
type statistic = func(rows []int) float64

// intervals are those of several statistics over the same resamples, with the
// sorted replicates of each.
func (s Settings) intervals(n, block int, list ...statistic) (out []Interval, sorted [][]float64, err error) {
	out, sorted = make([]Interval, len(list)), make([][]float64, len(list))
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	for k, of := range list {
		out[k] = unknown(s.Confidence)
		if n > 0 {
			out[k].Estimate = of(rows)
		}
	}
	if n == 0 {
		return out, sorted, nil
	}
	block = min(block, n)
	for b := range s.Draws {
		source := draw.New(s.Seed, resampleStream, uint64(b), 0)
		s.Scheme.fill(rows, block, &source)
		for k, of := range list {
			if x := of(rows); Finite(out[k].Estimate) && Finite(x) {
				sorted[k] = append(sorted[k], x)
			}
		}
	}
	for k, of := range list {
		if !Finite(out[k].Estimate) {
			out[k] = unknown(s.Confidence)
			continue
		}
		if 2*len(sorted[k]) < s.Draws {
			return nil, nil, fmt.Errorf("stat: the statistic is undefined in %d of %d resamples; give more rows", s.Draws-len(sorted[k]), s.Draws)
		}
		slices.Sort(sorted[k])
		low, high := s.ends(sorted[k], out[k].Estimate, n, block, of)
		out[k].Low, out[k].High = min(sorted[k][low], out[k].Estimate), max(sorted[k][high], out[k].Estimate)
	}
	return out, sorted, nil
}

// ends are the ranks of the ends of an interval among the sorted replicates.
func (s Settings) ends(replicates []float64, estimate float64, n, block int, of statistic) (low, high int) {
	z := distuv.UnitNormal.Quantile(s.tail(n, block))
	bias, skew := 0.0, 0.0
	if s.Method == BCa {
		bias, skew = biasOf(replicates, estimate), acceleration(n, block, of)
	}
	low = rank(replicates, adjusted(bias, skew, z))
	return low, len(replicates) - 1 - rank(replicates, adjusted(-bias, -skew, z))
}

// tail is the share of replicates beyond each end, before corrections.
func (s Settings) tail(n, block int) float64 {
	k := float64(n) / float64(block)
	if k <= 1 {
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: k - 1}.Quantile((1 - s.Confidence) / 2)
	return distuv.UnitNormal.CDF(t * math.Sqrt(k/(k-1)))
}

// rank is the index of the replicate below which a share of tail lies.
func rank(replicates []float64, tail float64) int {
	k := int(math.Floor(tail * float64(len(replicates)+1)))
	return max(0, min(k, len(replicates))-1)
}

// adjusted is the lower tail of a BCa interval: Φ(b + (b+z)/(1-a(b+z))) for
// bias b, acceleration a and normal quantile z < 0. The upper tail is that of
// the mirrored distribution, with -b and -a.
func adjusted(bias, skew, z float64) float64 {
	if math.IsInf(z, -1) {
		return 0
	}
	under := 1 - skew*(bias+z)
	if under <= 0 {
		return 0
	}
	return distuv.UnitNormal.CDF(bias + (bias+z)/under)
}

// biasOf is the normal quantile of the share of replicates below the estimate,
// those equal to it counting half. Sums of the same numbers in another order
// are equal, whatever their last bits, so that neither the unit nor the sign
// matters.
func biasOf(sorted []float64, estimate float64) float64 {
	n := float64(len(sorted))
	near := 1e-12 * max(math.Abs(sorted[0]), math.Abs(sorted[len(sorted)-1]))
	below, _ := slices.BinarySearch(sorted, estimate-near)
	upTo, _ := slices.BinarySearch(sorted, estimate+near)
	under, over := float64(below), n-float64(upTo)
	share := max(1, (n-math.Abs(over-under))/2) // on the emptier side
	return math.Copysign(distuv.UnitNormal.Quantile(min(share, n/2)/n), under-over)
}

// acceleration is the skewness of the statistic over the jackknife that leaves
// out one block of consecutive rows at a time, divided by six.
func acceleration(n, block int, statistic func(rows []int) float64) float64 {
	var without []float64
	rows := make([]int, 0, n)
	for from := 0; from < n; from += block {
		rows = rows[:0]
		for i := range n {
			if i < from || i >= from+block {
				rows = append(rows, i)
			}
		}
		if x := statistic(rows); len(rows) > 0 && Finite(x) {
			without = append(without, x)
		}
	}
	mean := Mean.Of(without)
	squares, cubes := 0.0, 0.0
	for _, x := range without {
		d := mean - x
		squares += d * d
		cubes += d * d * d
	}
	if math.Sqrt(squares) <= 1e-12*math.Abs(mean) { // equal but for their last bits
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// fill draws the rows of one resample.
func (scheme Scheme) fill(rows []int, block int, source *draw.Source) {
	n := len(rows)
	left, at := 0, 0
	for i := range rows {
		if left == 0 {
			at, left = int(source.IntN(int64(n))), block
			if scheme == Stationary {
				left = geometric(block, source)
			}
		}
		rows[i] = at
		at, left = (at+1)%n, left-1
	}
}

// geometric draws a length of mean block: 1, 2, 3 ... with ratio 1-1/block.
func geometric(block int, source *draw.Source) int {
	if block == 1 {
		return 1
	}
	k := math.Log(source.Open()) / math.Log1p(-1/float64(block))
	return 1 + int(k)
}
