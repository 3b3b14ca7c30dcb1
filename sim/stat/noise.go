package stat

import (
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// Measured says of which sides the noise was measured: which sides have windows
// with several replicas.
type Measured int

// The sides whose noise was measured.
const (
	NoNoise Measured = iota
	NoiseOfBaseline
	NoiseOfCandidate
	NoiseOfBoth
)

func (m Measured) String() string {
	switch m {
	case NoiseOfBoth:
		return "the noise of both sides was measured"
	case NoiseOfBaseline:
		return "the noise of the baseline was measured; that of the candidate is taken as equal"
	case NoiseOfCandidate:
		return "the noise of the candidate was measured; that of the baseline is taken as equal"
	}
	return "no noise was measured: this holds for the jobs exactly as submitted"
}

// MarshalText writes which sides were measured in a word.
func (m Measured) MarshalText() ([]byte, error) {
	return []byte([...]string{"none", "baseline", "candidate", "both"}[m]), nil
}

// measured says which sides of the pairs have replicas.
func (p *Pairs) measured() Measured {
	m := NoNoise
	if _, ok := p.seedNoise(1); p.Continuous && !ok {
		return m
	}
	if several(p.BaselineRuns) {
		m |= NoiseOfBaseline
	}
	if several(p.CandidateRuns) {
		m |= NoiseOfCandidate
	}
	return m
}

func several(runs []int) bool {
	for _, n := range runs {
		if n > 1 {
			return true
		}
	}
	return false
}

// replicaNoise is a variance that comes from the noise of replicas.
type replicaNoise struct {
	variance float64 // of the mean over the windows of candidate - factor·baseline
	single   float64 // the same of one run per window and side
	freedom  float64 // degrees of freedom behind it, at least 1
}

// replicaNoise is the variance that the measured noise puts on the mean over windows of
// candidate - factor·baseline; false when no noise was measured. Windows are
// taken as independent in their noise, unless they are Continuous.
//
// A window whose sides have the same seeds has the variance of the R paired
// differences, by R. Otherwise it has the variance of each side by its number of
// replicas. A side of one replica takes the mean variance of its other windows,
// and a side that has none the variance of the other side. Degrees of freedom are
// those of Welch (1947): f = (Σv)² / Σ(v²/(f+2)) - 2, with the f of each variance.
func (p *Pairs) replicaNoise(factor float64) (replicaNoise, bool) {
	if p.measured() == NoNoise {
		return replicaNoise{}, false
	}
	if p.Continuous {
		return p.seedNoise(factor)
	}
	baseline, candidate := pooled(p.BaselineVariance), pooled(p.CandidateVariance)
	n := float64(len(p.Window))
	var l replicaNoise
	var w welch
	for i := range p.Window {
		a, b := p.BaselineVariance[i], p.CandidateVariance[i]
		r, s := float64(p.BaselineRuns[i]), float64(p.CandidateRuns[i])
		if c := p.covariance[i]; Finite(c) {
			v := max(factor*factor*a+b-2*factor*c, 0)
			l.single += v
			w.add(v/r, r-1)
			continue
		}
		a, b = orElse(a, baseline), orElse(b, candidate)
		a, b = factor*factor*a, orElse(b, factor*factor*a)
		a = orElse(a, b)
		l.single += a + b
		w.add(a/r, max(r-1, 1))
		w.add(b/s, max(s-1, 1))
	}
	l.variance, l.single, l.freedom = w.sum/(n*n), l.single/(n*n), w.freedom()
	return l, true
}

// seedNoise is replicaNoise by the means over all windows of each seed that has them
// all: whatever runs from window to window is in it. It has fewer degrees of freedom.
func (p *Pairs) seedNoise(factor float64) (replicaNoise, bool) {
	var means [2][]float64
	var seeds [2][]int
	for side, list := range p.seeds {
		for _, s := range list {
			if s.windows == len(p.Window) {
				seeds[side], means[side] = append(seeds[side], s.seed), append(means[side], s.sum/float64(s.windows))
			}
		}
	}
	r, s := float64(len(means[0])), float64(len(means[1]))
	if max(r, s) < 2 {
		return replicaNoise{}, false
	}
	if slices.Equal(seeds[0], seeds[1]) {
		v := gonum.Variance(means[1], nil) + factor*factor*gonum.Variance(means[0], nil) - 2*factor*gonum.Covariance(means[0], means[1], nil)
		return replicaNoise{max(v, 0) / r, max(v, 0), r - 1}, true
	}
	a, b := factor*factor*gonum.Variance(means[0], nil), gonum.Variance(means[1], nil)
	a, b = orElse(a, b), orElse(b, a)
	var w welch
	w.add(a/max(r, 1), max(r-1, 1))
	w.add(b/max(s, 1), max(s-1, 1))
	return replicaNoise{w.sum, a + b, w.freedom()}, true
}

// welch adds up variances with the degrees of freedom behind each.
type welch struct{ sum, squares float64 } // of v, and of v²/(f+2)

func (w *welch) add(v, freedom float64) {
	w.sum += v
	w.squares += v * v / (freedom + 2)
}

// freedom behind the sum (Welch 1947), at least 1.
func (w *welch) freedom() float64 {
	if w.squares == 0 {
		return 1
	}
	return max(w.sum*w.sum/w.squares-2, 1)
}

// pooled is the mean of the variances that are known, NaN when none is.
func pooled(variances []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range variances {
		if Finite(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

func orElse(x, other float64) float64 {
	if math.IsNaN(x) {
		return other
	}
	return x
}
