package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// Joint is the outcome of one test of many candidates against one baseline: is there
// a candidate that is better or worse, on windows that all have replayed? Its p-values
// are corrected for all candidates at once and use that candidates are alike, so
// nothing of a log has to be set aside for a second look.
type Joint struct {
	Windows int
	// Dependence is the φ of the law (see Dependence), and Critical what the largest
	// |T| of all reaches by chance with a probability of 1 - Confidence.
	Dependence, Critical float64
	Candidates           []JointRow // in the order given
}

// JointRow is what the test says of a candidate. The mean of the logarithms lets each
// window weigh alike, and the ratio of the sums lets each job weigh alike: what only
// one of them sees is found by the other.
type JointRow struct {
	Windows JointMean // mean over windows of ln(candidate/baseline)
	Sums    JointMean // ln of the ratio of the sums over all windows, corrected by the jackknife
	// P is how often chance alone makes the largest |T| of all candidates as large as
	// the larger one of this candidate; 1 of one that does not differ at all.
	P float64
}

// JointMean is one of the two statistics: NaN throughout where there is none, as where
// one side of a window is 0.
type JointMean struct {
	Estimate float64 // a logarithm: below 0 the candidate has less
	SD       float64 // of the values of one window
	T        float64 // Estimate by SD/√n
}

// jointDraws is how many times chance is drawn. Of p it resolves 1 in 2,001.
const jointDraws = 2000

var jointStream = draw.StreamOf("stat.joint")

// Sides are a candidate and the baseline that it is held against: sums, or means over equal
// numbers of jobs, of windows in the order of time, or their means over replicas. They are
// numbers from 0.
type Sides struct{ Baseline, Candidate []float64 }

// Joint tests candidates, each against its baseline, over the same n windows.
//
// The law of the largest |T| is that of normal autoregressive series of the same
// length, with the correlations that the observed series have among each other, at
// the φ of Dependence. Each draw of such series is a sum of the observed ones,
// standardised, with random weights at each instant, so that any number of candidates
// may be alike. p = (1 + draws as large or larger) / (1 + draws) (the maximum test of
// Westfall and Young 1993, with a parametric law).
//
// Cost: 2,000·n² normal numbers, and as many multiplications a candidate.
func (s Settings) Joint(sides []Sides) (*Joint, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(sides) == 0 {
		return nil, errors.New("stat: no candidate to test")
	}
	n := len(sides[0].Baseline)
	if n < s.MinWindows {
		return nil, fmt.Errorf("stat: %d windows, at least %d needed", n, s.MinWindows)
	}
	out := &Joint{Windows: n, Candidates: make([]JointRow, len(sides))}
	var series [][]float64
	for i, x := range sides {
		if len(x.Baseline) != n || len(x.Candidate) != n {
			return nil, fmt.Errorf("stat: %d and %d windows of candidate %d, and %d of the first", len(x.Baseline), len(x.Candidate), i, n)
		}
		windows, sums, err := jointSeries(x.Baseline, x.Candidate)
		if err != nil {
			return nil, fmt.Errorf("candidate %d: %w", i, err)
		}
		out.Candidates[i] = JointRow{Windows: jointMean(windows), Sums: jointMean(sums)}
		series = append(series, windows, sums)
	}
	series = slices.DeleteFunc(series, func(x []float64) bool { _, varies := neighbours(x); return !varies })
	out.Dependence = Dependence(series...)
	largest := largestByChance(series, n, out.Dependence, s.Seed)
	out.Critical = math.Inf(1) // of a level that so few draws cannot tell
	if k := int(math.Floor(s.alpha() * (1 + jointDraws))); k > 0 {
		out.Critical = largest[jointDraws-k]
	}
	for i := range out.Candidates {
		r := &out.Candidates[i]
		t := max(orElse(math.Abs(r.Windows.T), 0), orElse(math.Abs(r.Sums.T), 0))
		at, _ := slices.BinarySearch(largest, t)
		if r.P = 1; t > 0 {
			r.P = float64(1+len(largest)-at) / (1 + jointDraws)
		}
	}
	return out, nil
}

// jointSeries are the values by window of which the two statistics are the means: the
// logarithms of the ratios, and the jackknife's residuals of the ratio of the sums
// about it (LogRatio). Each is nil where there is none.
func jointSeries(baseline, candidate []float64) (windows, sums []float64, err error) {
	for i, b := range baseline {
		c := candidate[i]
		switch {
		case !(b >= 0 && c >= 0) || !Finite(b) || !Finite(c):
			return nil, nil, errors.New("stat: a window without a number, or with one below 0")
		case b == c: // of 0 and 0 as well
			windows = append(windows, 0)
		default:
			windows = append(windows, math.Log(c/b))
		}
	}
	if slices.ContainsFunc(windows, func(x float64) bool { return !Finite(x) }) {
		windows = nil
	}
	p := Pairs{Window: make([]int, len(baseline)), Baseline: baseline, Candidate: candidate}
	sums = make([]float64, len(baseline))
	theta, ok := p.residuals(sums)
	if !ok {
		return windows, nil, nil
	}
	floats.AddConst(theta, sums)
	return windows, sums, nil
}

// jointMean is the statistic of a series, which may be nil.
func jointMean(x []float64) JointMean {
	if x == nil {
		return JointMean{math.NaN(), math.NaN(), math.NaN()}
	}
	mean, sd := gonum.MeanStdDev(x, nil)
	if mean == 0 {
		return JointMean{0, sd, 0}
	}
	return JointMean{mean, sd, mean / sd * math.Sqrt(float64(len(x)))}
}

// largestByChance are the largest |T| of all series in draws in which no mean differs
// from 0, ascending.
func largestByChance(series [][]float64, n int, phi float64, seed uint64) []float64 {
	parts := independentParts(series)
	value, shock := make([]float64, len(series)), make([]float64, len(series))
	sum, squares := make([]float64, len(series)), make([]float64, len(series))
	out := make([]float64, jointDraws)
	for d := range out {
		source := draw.New(seed, jointStream, uint64(d), 0)
		clear(sum)
		clear(squares)
		for t := range n {
			clear(shock)
			for _, x := range parts {
				floats.AddScaled(shock, source.Normal(), x)
			}
			if t == 0 { // as if the series had gone on for ever
				copy(value, shock)
			} else {
				floats.Scale(phi, value)
				floats.AddScaled(value, math.Sqrt(1-phi*phi), shock)
			}
			for k, v := range value {
				sum[k] += v
				squares[k] += v * v
			}
		}
		for k := range value {
			mean := sum[k] / float64(n)
			if variance := squares[k]/float64(n) - mean*mean; variance > 0 {
				out[d] = max(out[d], math.Abs(mean)*math.Sqrt(float64(n-1)/variance))
			}
		}
	}
	slices.Sort(out)
	return out
}

// independentParts are lists of a number for each series, of which a sum with
// independent normal weights has the correlations of the series: the columns of
// Cholesky's factor. Series may be alike, so that pivots are 0 but for rounding; their
// columns are left out, which factorisations for matrices of full rank refuse to do, and
// those that exchange rows would make the draws hang on the last bits of a tie.
func independentParts(series [][]float64) [][]float64 {
	m := len(series)
	var parts [][]float64
	for j := range m {
		part := make([]float64, m)
		for i := j; i < m; i++ {
			part[i] = gonum.Correlation(series[i], series[j], nil)
			for _, before := range parts {
				part[i] -= before[i] * before[j]
			}
		}
		pivot := part[j]
		if pivot <= 1e-9 {
			continue
		}
		floats.Scale(1/math.Sqrt(pivot), part)
		parts = append(parts, part)
	}
	return parts
}

// Detectable is the smallest change of a statistic, as the absolute value of a
// logarithm, that the test finds with a probability of power, in (0.5, 1), where the
// windows differ as these do and there are so many of them:
//
//	SD/√n · (Critical + q(power)·√((1 + φ)/(1 - φ)))
//
// with the quantile q of Student's t with as many degrees of freedom as windows less
// one. Critical is what chance reaches, and the other part is how far the estimate
// itself wanders. With other numbers of windows Critical is taken as it is.
func (j *Joint) Detectable(m JointMean, windows int, power float64) float64 {
	wander := math.Sqrt((1 + j.Dependence) / (1 - j.Dependence))
	return m.SD / math.Sqrt(float64(windows)) * (j.Critical + libm.StudentQuantile(power, float64(j.Windows-1))*wander)
}

// WindowsFor is how many windows like these would show a change as large as the one
// that was seen with a probability of power; +Inf where none was seen.
func (j *Joint) WindowsFor(m JointMean, power float64) float64 {
	if m.Estimate == 0 {
		return math.Inf(1)
	}
	x := j.Detectable(m, 1, power) / math.Abs(m.Estimate)
	return math.Ceil(x * x)
}
