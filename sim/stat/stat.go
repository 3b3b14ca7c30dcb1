// Package stat says how sure a comparison of two configurations is. It pairs
// runs that met the same jobs and the same luck, puts intervals and p-values
// on the mean difference over windows of a trace, measures the noise floor
// below which a difference means nothing, and turns all of it into a verdict.
// The formulas and their sources are in docs/STATISTICS.md.
//
// It must not know what a metric means, how a run is made or where results are
// kept: it takes numbers and returns numbers. Its draws are keyed, so the same
// numbers and the same Settings give the same answer, whatever was asked
// before.
//
// The unit of evidence is the window. Seeds of one window replay the same jobs
// and are averaged; windows next to each other share a queue, so they are
// resampled in blocks.
package stat

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// Direction says which way a metric is better.
type Direction int

// The directions.
const (
	Lower  Direction = iota // less is better: waits, slowdowns, cost
	Higher                  // more is better: utilisation, throughput
)

// Gain turns a difference, candidate minus baseline, into a gain: positive
// when the candidate is better.
func (d Direction) Gain(difference float64) float64 {
	if d == Higher {
		return difference
	}
	return -difference
}

func (d Direction) String() string {
	if d == Higher {
		return "higher is better"
	}
	return "lower is better"
}

// Centre is how many numbers become one.
type Centre int

// The centres.
const (
	Mean   Centre = iota // the arithmetic mean
	Median               // the middle value, or the mean of the two middle ones
)

// Of is the centre of values, NaN of none. It allocates for Median only.
func (c Centre) Of(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	if c == Mean {
		return gonum.Mean(values, nil)
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Observation is one value of one metric: that of the run over a window with a
// seed. NaN stands for a value that is undefined.
type Observation struct {
	Window int // place of the window in the order of time
	Seed   int
	Value  float64
}

// Pairs are the values of two configurations by window, in the order of time:
// each the mean over the seeds that both ran. Make them with Pair.
type Pairs struct {
	Window    []int
	Baseline  []float64
	Candidate []float64
	// Runs counts the pairs of runs behind all windows.
	Runs int
	// Unmatched counts runs without a run of the same window and seed on the
	// other side, Undefined the pairs in which either value is not a number.
	// Neither is part of any figure.
	Unmatched, Undefined int
}

// Pair matches the runs of two configurations by window and seed. A pair of
// runs met the same arrivals and the same draws, so what they share cancels in
// their difference (common random numbers). The order of the observations does
// not matter. It is an error when one side names a (window, seed) twice.
func Pair(baseline, candidate []Observation) (Pairs, error) {
	a, err := inOrder("baseline", baseline)
	if err != nil {
		return Pairs{}, err
	}
	b, err := inOrder("candidate", candidate)
	if err != nil {
		return Pairs{}, err
	}
	var p Pairs
	seeds := 0 // pairs of the last window
	for len(a) > 0 && len(b) > 0 {
		switch c := byKey(a[0], b[0]); {
		case c < 0:
			a, p.Unmatched = a[1:], p.Unmatched+1
			continue
		case c > 0:
			b, p.Unmatched = b[1:], p.Unmatched+1
			continue
		}
		from, to := a[0], b[0]
		a, b = a[1:], b[1:]
		if !Finite(from.Value) || !Finite(to.Value) {
			p.Undefined++
			continue
		}
		last := len(p.Window) - 1
		if last < 0 || p.Window[last] != from.Window {
			p.Window, p.Baseline, p.Candidate = append(p.Window, from.Window), append(p.Baseline, 0), append(p.Candidate, 0)
			seeds, last = 0, last+1
		}
		seeds++
		p.Runs++
		p.Baseline[last] += (from.Value - p.Baseline[last]) / float64(seeds)
		p.Candidate[last] += (to.Value - p.Candidate[last]) / float64(seeds)
	}
	p.Unmatched += len(a) + len(b)
	return p, nil
}

// Differences are candidate minus baseline, by window.
func (p Pairs) Differences() []float64 {
	out := make([]float64, len(p.Window))
	for i := range out {
		out[i] = p.Candidate[i] - p.Baseline[i]
	}
	return out
}

// inOrder returns the observations by window, then seed.
func inOrder(side string, list []Observation) ([]Observation, error) {
	out := slices.Clone(list)
	slices.SortStableFunc(out, byKey)
	for i := 1; i < len(out); i++ {
		if byKey(out[i-1], out[i]) == 0 {
			return nil, fmt.Errorf("stat: the %s has two values for window %d, seed %d; give one per run", side, out[i].Window, out[i].Seed)
		}
	}
	return out, nil
}

func byKey(a, b Observation) int {
	return slices.Compare([]int{a.Window, a.Seed}, []int{b.Window, b.Seed})
}

// Finite says whether x is a number: neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
