package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// warp turns costs into targets of a process, of mean 0 and variance 1. Waits of
// overloaded runs are a thousand times those of good ones: the logarithm
//
//	ln(1 + (y - best)/bend)
//
// leaves differences that are smaller than the bend as they are and brings
// disasters closer. A bend of 0 stands for no logarithm.
type warp struct {
	best, bend      float64
	mean, deviation float64
}

// bends are those that are tried, in distances from the best cost to the median.
// Which one suits is a matter of the likelihood (see chosen). With several
// objectives there is a gentle one alone: the part of a front where one objective
// is not near its best matters as much as where it is.
var (
	bends  = []float64{3, 1, 0.3, 0.1}
	gentle = bends[:1]
)

// of returns the targets of costs, and by how much they are denser than the costs:
// the sum of the logarithms of the derivatives, by which likelihoods of different
// warps compare.
func (w *warp) of(y []float64) (targets []float64, density float64) {
	targets = make([]float64, len(y))
	for i, v := range y {
		targets[i] = w.bent(v)
		if w.bend > 0 {
			density -= math.Log(w.bend + v - w.best)
		}
	}
	w.mean, w.deviation = stat.MeanStdDev(targets, nil)
	if !(w.deviation > 1e-12*math.Abs(w.mean)) || len(y) < 2 {
		w.deviation = 1
	}
	for i := range targets {
		targets[i] = (targets[i] - w.mean) / w.deviation
	}
	return targets, density - float64(len(y))*math.Log(w.deviation)
}

func (w *warp) bent(y float64) float64 {
	if w.bend == 0 {
		return y
	}
	return math.Log1p((y - w.best) / w.bend)
}

// target of a cost; a cost below what the logarithm can tell is minus infinity.
func (w *warp) target(y float64) float64 {
	if w.bend > 0 && y <= w.best-w.bend {
		return math.Inf(-1)
	}
	return (w.bent(y) - w.mean) / w.deviation
}

// cost is the way back.
func (w *warp) cost(target float64) float64 {
	z := w.mean + w.deviation*target
	if w.bend == 0 {
		return z
	}
	return w.best + w.bend*math.Expm1(z)
}

// warps are those to choose from, for costs that are all finite: none first, and
// only that where half of the costs are the best one.
func warps(y, bends []float64) []warp {
	sorted := slices.Sorted(slices.Values(y))
	best, median := sorted[0], sorted[len(sorted)/2]
	out := []warp{{}}
	if median > best {
		for _, b := range bends {
			out = append(out, warp{best: best, bend: b * (median - best)})
		}
	}
	return out
}

// chosen returns the process of costs, which come best first, under the warp and
// the parameters that explain them best. (Snelson, Rasmussen, Ghahramani: Warped
// Gaussian processes, 2004.) Parameters are fitted to a part of the points.
func chosen(x [][]float64, y, bends []float64) *process {
	rows := spreadOf(countTo(len(y)), fitPoints)
	l := newLikelihood(pick(x, rows))
	least, first := math.Inf(1), [][]float64{l.start(quiet), l.start(loud)}
	var best warp
	var theta []float64
	for _, w := range warps(y, bends) {
		targets, density := w.of(pick(y, rows))
		got, cost := l.fit(targets, first...)
		if theta == nil || cost-density < least {
			best, theta, least = w, got, cost-density
		}
		if cost-density > least+2 {
			break
		}
		first = [][]float64{got, l.start(quiet)}
	}
	targets := make([]float64, len(y))
	for i, v := range y {
		targets[i] = best.target(v)
	}
	p := condition(kernelOf(theta), x, targets)
	p.warp = best
	return p
}

// ofGaps returns the process of the gaps of a constraint. They are softened to
// asinh(y/scale) with the median size as the scale: the sign stays.
func ofGaps(x [][]float64, y []float64) (p *process, zero float64) {
	rows := spreadOf(countTo(len(y)), fitPoints)
	soft := soften(slices.Clone(y))
	var w warp
	_, _ = w.of(soft)
	targets := make([]float64, len(y))
	for i, v := range soft {
		targets[i] = w.target(v)
	}
	l := newLikelihood(pick(x, rows))
	theta, _ := l.fit(pick(targets, rows), l.start(quiet), l.start(loud))
	return condition(kernelOf(theta), x, targets), w.target(0)
}

// countTo are 0 to n-1.
func countTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// pick are the elements in some rows.
func pick[T any](x []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = x[r]
	}
	return out
}

// spreadOf takes at most n of ranked indices: the first half of n from the top,
// the others at even distances from the rest.
func spreadOf(ranked []int, n int) []int {
	if len(ranked) <= n {
		return ranked
	}
	top := n / 2
	chosen := slices.Clone(ranked[:top])
	rest := ranked[top:]
	for i := range n - top {
		chosen = append(chosen, rest[i*len(rest)/(n-top)])
	}
	return chosen
}

// imputed replaces the targets of failed trials by the worst of the others.
func imputed(y []float64) []float64 {
	worst := math.Inf(-1)
	for _, v := range y {
		if !math.IsInf(v, 1) {
			worst = max(worst, v)
		}
	}
	if math.IsInf(worst, -1) {
		worst = 0
	}
	for i, v := range y {
		if math.IsInf(v, 1) {
			y[i] = worst
		}
	}
	return y
}

// soften turns gaps into asinh(y/scale) with the median size as the scale: the
// sign stays.
func soften(y []float64) []float64 {
	sizes := make([]float64, len(y))
	for i := range y {
		sizes[i] = math.Abs(y[i])
	}
	slices.Sort(sizes)
	scale := sizes[len(sizes)/2]
	if scale == 0 {
		return y
	}
	for i := range y {
		y[i] = math.Asinh(y[i] / scale)
	}
	return y
}
