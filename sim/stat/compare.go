package stat

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"
)

// Subject is one metric of one candidate against the baseline.
type Subject struct {
	Candidate, Metric string // names, for the reader
	Better            Direction
	Pairs             Pairs
}

// Row is a line of a comparison: numbers as they are, rounding is the
// reader's. Intervals are per comparison; the correction for the number of
// comparisons is in Corrected, which the verdict obeys.
type Row struct {
	Candidate, Metric string
	Better            Direction
	// The mean over windows of each side, and of the differences, candidate minus
	// baseline, all in the unit of the metric. Difference has no ends where it is
	// Withheld.
	Baseline, CandidateValue, Difference Interval
	// Relative is the candidate as a part of the baseline, less 1: 0.05 is 5 %
	// more. It never reaches -1. Difference and Relative lie beyond 0 together, or
	// an end of Difference is 0. It is unknown where values are below 0 and where the
	// baseline is 0, and has no ends where one window holds all of a side.
	Relative Interval
	// P is the two-sided p-value of Relative, and of Difference where that is
	// unknown: at most 1 - Confidence exactly when the interval lies beyond 0.
	// Corrected is the same after the correction for all rows of the table.
	P, Corrected float64
	Windows      int // with a value on both sides
	Runs         int // of both sides, behind them
	Unmatched    int // runs of windows that the other side lacks, in no figure
	Undefined    int // runs without a number, in no figure
	Noise        Noise
	Verdict      Verdict
	Reason       string
}

// Withheld says that the interval of Difference is not given, since the windows
// differ too much in level for it. The estimate is, and Relative has its interval.
func (r *Row) Withheld() bool { return r.Relative.Known() && !r.Difference.Known() }

// Noise says what part the noise of single runs has in a row. It is in the
// intervals already, and is not to be subtracted from anything.
type Noise struct {
	Measured Measured
	// Error is the standard error of Difference that the measured noise alone would
	// make, in the unit of the metric; NaN when none was measured.
	Error float64
	// Share is its part of the variance of P's estimate, from 0 to 1.
	Share float64
}

// Judge compares with the same settings again and again, keeping what depends on
// the number of windows alone. It is not for several goroutines.
type Judge struct {
	settings Settings
	shelf    shelf
}

// NewJudge makes one. It is an error when a setting is out of its range.
func NewJudge(s Settings) (*Judge, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Judge{s, shelf{}}, nil
}

// Compare judges all subjects together with a Judge of its own.
func Compare(subjects []Subject, s Settings) ([]Row, error) {
	j, err := NewJudge(s)
	if err != nil {
		return nil, err
	}
	return j.Compare(subjects)
}

// Compare judges all subjects together: their p-values are corrected for the
// number of subjects with a p-value, so a table must hold all that was looked at,
// not only what came out well. Rows keep the order of the subjects.
func (j *Judge) Compare(subjects []Subject) ([]Row, error) {
	rows := make([]Row, len(subjects))
	p := make([]float64, len(subjects))
	for i := range subjects {
		if err := subjects[i].Pairs.check(); err != nil {
			return nil, fmt.Errorf("comparing %s of %s: %w", subjects[i].Metric, subjects[i].Candidate, err)
		}
		rows[i] = j.row(&subjects[i])
		p[i] = rows[i].P
	}
	for i, corrected := range holm(p) {
		r := &rows[i]
		r.Corrected = corrected
		r.Verdict, r.Reason = j.settings.judge(r, len(rows))
		if r.Withheld() {
			r.Reason += "; difference in the unit withheld: uneven windows"
		}
	}
	return rows, nil
}

// check refuses pairs whose parts do not fit together.
func (p *Pairs) check() error {
	if len(p.Baseline) != len(p.Window) || len(p.Candidate) != len(p.Window) {
		return fmt.Errorf("stat: %d windows, %d values of the baseline and %d of the candidate", len(p.Window), len(p.Baseline), len(p.Candidate))
	}
	return nil
}

// row fills all of a line but what depends on the other lines.
func (j *Judge) row(subject *Subject) Row {
	p := &subject.Pairs
	r := Row{
		Candidate: subject.Candidate, Metric: subject.Metric, Better: subject.Better,
		P: math.NaN(), Windows: len(p.Window), Runs: p.Runs, Unmatched: p.Unmatched, Undefined: p.Undefined,
		Noise: Noise{Measured: p.measured(), Error: math.NaN()},
	}
	s, c := j.settings, j.shelf.of(len(p.Window), j.settings.alpha())
	r.Baseline, r.CandidateValue = level(s.mean(p.Baseline, c), p.Baseline), level(s.mean(p.Candidate, c), p.Candidate)
	differences := p.differences()
	r.Difference, r.Relative = alone(Mean(differences), s.Confidence), unknown(s.Confidence)
	if c == nil || !Finite(r.Difference.Estimate) {
		return r
	}
	e, law := spreadOf(c.StandardError(differences), p, 1, 1), c.law(differences)
	r.Noise.Error, r.Noise.Share = e.noise, e.share()
	r.Difference = s.around(r.Difference.Estimate, e.reach(law.reach, s.alpha()))
	r.P = e.p(law.Law, r.Difference.Estimate)
	r.Relative = j.relative(&r, p, c, differences)
	if r.Relative.Known() && (uneven(p.Baseline) || uneven(p.Candidate)) {
		r.Difference = alone(r.Difference.Estimate, s.Confidence)
	}
	return r
}

// relative is the change as a part of the baseline. Where its ends are known, P
// and the share of the noise are made those of it, and the difference agrees with
// it about the sign.
func (j *Judge) relative(r *Row, p *Pairs, c *ready, scratch []float64) Interval {
	s := j.settings
	baseline, candidate, ok := p.sums()
	if !ok {
		return unknown(s.Confidence)
	}
	logarithm, standardError, ok := c.LogRatio(p, scratch)
	if !ok {
		return alone(candidate/baseline-1, s.Confidence)
	}
	e, law := spreadOf(standardError, p, candidate/baseline, candidate/float64(len(p.Window))), c.law(scratch)
	out := s.around(logarithm, e.reach(law.reach, s.alpha())).part()
	r.P, r.Noise.Share = e.p(law.Law, logarithm), e.share()
	r.Difference = agreeing(r.Difference, out)
	return out
}

// mostUneven is the largest coefficient of variation of windows for which the
// interval of their mean difference is given. Lognormal windows with σ = 0.5 have
// 0.53 and those with σ = 0.8 have 0.95.
const mostUneven = 0.6

// uneven says whether the standard deviation of values from 0, of at least two
// windows, is too large a part of their mean. A few windows then decide the mean
// difference, and a sample without such windows has an interval that is too short.
// The skewness of the differences would tell less: it is small in just these samples.
func uneven(values []float64) bool {
	mean, deviation := gonum.MeanStdDev(values, nil)
	return deviation > mostUneven*mean
}

// part turns the interval of a logarithm of a ratio into that of the ratio, less 1.
func (i Interval) part() Interval {
	return Interval{math.Expm1(i.Estimate), math.Expm1(i.Low), math.Expm1(i.High), i.Confidence}
}

// level cuts the interval of a mean of values at 0 where none of them is below.
func level(i Interval, values []float64) Interval {
	for _, x := range values {
		if !(x >= 0) {
			return i
		}
	}
	if i.Low < 0 {
		i.Low = 0
	}
	return i
}

// agreeing is the interval of the differences with the end that is nearest to 0
// moved to it where it says another thing of the sign than that of the ratio. The
// two are different questions (the differences vary with the load of the windows,
// the ratio does not), and a reader sees both.
func agreeing(difference, relative Interval) Interval {
	switch d, r := difference.side(), relative.side(); {
	case d == r:
	case d > 0 || r > 0:
		difference.Low = 0
	default:
		difference.High = 0
	}
	return difference
}
