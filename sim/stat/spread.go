package stat

import (
	"math"

	"orrery/internal/libm"
)

// spread are the two readings of the error of an estimate: over the windows, by
// Cosines, and of the measured noise alone, by Student's t. The first holds the
// noise as well, but few windows may agree by chance. An interval is therefore never
// shorter than the noise alone would make it.
type spread struct {
	windows float64 // standard error
	noise   float64 // standard error, NaN when none was measured
	single  float64 // noise of one run per window and side, as a variance
	freedom float64 // behind noise
}

// spreadOf adds the noise of candidate - factor·baseline in another unit, one of
// which is unit of the metric.
func spreadOf(windows float64, p *Pairs, factor, unit float64) spread {
	e := spread{windows: windows, noise: math.NaN()}
	if l, measured := p.replicaNoise(factor); measured {
		e.noise, e.single, e.freedom = math.Sqrt(l.variance)/unit, l.single/(unit*unit), l.freedom
	}
	return e
}

// reach is how far an interval goes to either side that leaves out a share of
// level. times is the quantile of Law for it.
func (e *spread) reach(times, level float64) float64 {
	reach := 0.0
	if e.windows > 0 {
		reach = times * e.windows
	}
	if e.noise > 0 {
		reach = max(reach, student(e.freedom).Quantile(level)*e.noise)
	}
	return reach
}

// p is the two-sided p-value of an estimate: the level at which reach comes to it.
func (e *spread) p(l *Law, estimate float64) float64 {
	if estimate == 0 {
		return 1
	}
	p := l.P(estimate / e.windows)
	if e.noise > 0 {
		p = max(p, student(e.freedom).P(estimate/e.noise))
	}
	return p
}

// share of the variance that noise explains.
func (e *spread) share() float64 {
	if !(e.noise > 0) {
		return 0
	}
	return min((e.noise/e.windows)*(e.noise/e.windows), 1)
}

// student is Student's t with that many degrees of freedom, two-sided.
type student float64

// Quantile leaves a share of level beyond it, on both sides together.
func (nu student) Quantile(level float64) float64 {
	return libm.StudentQuantile(1-level/2, float64(nu))
}

// P is the share beyond t, on both sides together.
func (nu student) P(t float64) float64 { return 2 * libm.StudentSurvival(math.Abs(t), float64(nu)) }
