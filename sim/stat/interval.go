package stat

import (
	"math"

	"orrery/internal/libm"
)

// Interval is the mean of values, given in the order of time, with its interval by
// Cosines, whose law is that of the dependence that the values show. Values of no
// number give an unknown interval, and one value alone has no ends.
func (s Settings) Interval(values []float64) (Interval, error) {
	j, err := NewJudge(s)
	if err != nil {
		return Interval{}, err
	}
	return j.Interval(values), nil
}

// Interval is that of the settings.
func (j *Judge) Interval(values []float64) Interval {
	return j.settings.mean(values, j.shelf.of(len(values), j.settings.alpha()))
}

// Independent is the mean of values whose order means nothing, such as those of
// seeds or of points of a design, with the interval of Student's t.
func (s Settings) Independent(values []float64) (Interval, error) {
	if err := s.Validate(); err != nil {
		return Interval{}, err
	}
	n := float64(len(values))
	mean := Mean(values)
	if n < 2 || !Finite(mean) {
		return alone(mean, s.Confidence), nil
	}
	squares := 0.0
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	reach := math.Sqrt(squares/(n-1)/n) * libm.StudentQuantile(1-s.alpha()/2, n-1)
	return Interval{mean, mean - reach, mean + reach, s.Confidence}, nil
}

// alone is an estimate without ends; unknown when it is no number.
func alone(estimate, confidence float64) Interval {
	out := unknown(confidence)
	if Finite(estimate) {
		out.Estimate = estimate
	}
	return out
}

// ready is Cosines of a length with the laws that were needed so far.
type ready struct {
	*Cosines
	level float64
	laws  [100*mostDependence + 1]*reachingLaw // by φ in hundredths
}

// reachingLaw is a law with its quantile of one level.
type reachingLaw struct {
	*Law
	reach float64 // standard errors on either side of an estimate
}

// law is that of a series by the dependence that it shows itself.
func (r *ready) law(values []float64) *reachingLaw {
	at := hundredths(values)
	if r.laws[at] == nil {
		law := r.At(float64(at) / 100)
		r.laws[at] = &reachingLaw{law, law.Quantile(r.level)}
	}
	return r.laws[at]
}

// shelf keeps what series of a length need at a two-sided level.
type shelf map[shelfKey]*ready

type shelfKey struct {
	n     int
	level float64
}

// of is what series of n values need; nil of fewer than two.
func (k shelf) of(n int, level float64) *ready {
	if n < 2 {
		return nil
	}
	at := shelfKey{n, level}
	if k[at] == nil {
		k[at] = &ready{Cosines: NewCosines(n), level: level}
	}
	return k[at]
}

// mean is the mean of values with its interval. r is nil of fewer than two values.
func (s Settings) mean(values []float64, r *ready) Interval {
	mean := Mean(values)
	if r == nil || !Finite(mean) {
		return alone(mean, s.Confidence)
	}
	return s.around(mean, r.law(values).reach*r.StandardError(values))
}

// around is the interval of an estimate that reaches so far to either side.
func (s Settings) around(estimate, reach float64) Interval {
	return Interval{estimate, estimate - reach, estimate + reach, s.Confidence}
}

// LogRatio is the logarithm of the sum of the candidate as a part of that of the
// baseline, with its standard error over the windows. The pairs are as many as
// NewCosines was told, and scratch has room for as many numbers. It is false when
// there is none: values below 0, a sum of 0, or one window that holds all of a side.
//
// The error is that of the mean of the jackknife's residuals: with B and C the sums,
//
//	z(i) = -(n-1)·(ln(1 - c(i)/C) - ln(1 - b(i)/B))
//
// which is c(i)/C - b(i)/B, times n, but for windows that hold much of a sum: these
// pull the ratio towards themselves, and leaving them out tells by how much (Efron
// and Stein 1981). Of the logarithm, since what can only be halved or doubled then
// has an interval that never reaches -100 %, and since exchanging the sides changes
// nothing but the sign.
func (c *Cosines) LogRatio(p *Pairs, scratch []float64) (logarithm, standardError float64, ok bool) {
	logarithm, ok = p.residuals(scratch)
	if !ok {
		return 0, 0, false
	}
	return logarithm, c.StandardError(scratch), true
}

// residuals are those of LogRatio by window, and the logarithm that they are about.
func (p *Pairs) residuals(out []float64) (logarithm float64, ok bool) {
	baseline, candidate, ok := p.sums()
	if !ok || candidate == 0 {
		return 0, false
	}
	for i, b := range p.Baseline {
		if b == baseline || p.Candidate[i] == candidate {
			return 0, false
		}
		out[i] = float64(len(out)-1) * (math.Log1p(-b/baseline) - math.Log1p(-p.Candidate[i]/candidate))
	}
	return math.Log(candidate / baseline), true
}

// sums are those of both sides; false when a ratio of them means nothing.
func (p *Pairs) sums() (baseline, candidate float64, ok bool) {
	for i, b := range p.Baseline {
		if !(b >= 0 && p.Candidate[i] >= 0) {
			return 0, 0, false
		}
		baseline += b
		candidate += p.Candidate[i]
	}
	return baseline, candidate, baseline > 0 && Finite(baseline) && Finite(candidate)
}
