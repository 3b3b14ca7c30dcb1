package stat

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// Observation is one value of one metric: that of a run over a window. NaN
// stands for a value that is undefined.
type Observation struct {
	Window int // place of the window in the order of time
	// Seed tells the replicas of a window apart: 0 is the log as it is, others
	// have their arrivals jittered.
	Seed  int
	Value float64
}

// Pairs are the values of two configurations by window, in the order of time.
// Make them with Pair. A literal of Window, Baseline and Candidate alone is one
// run of each side per window.
type Pairs struct {
	Window    []int
	Baseline  []float64 // mean over the replicas of the window
	Candidate []float64
	// BaselineRuns and CandidateRuns count the replicas behind each mean, and the
	// variances are those between the replicas of one window: NaN of a single one.
	BaselineRuns, CandidateRuns         []int
	BaselineVariance, CandidateVariance []float64
	// Runs counts the runs of both sides behind all windows.
	Runs int
	// Unmatched counts runs of windows that the other side does not have, Undefined
	// the runs without a number, and those of the other side with the same window and
	// seed. None of them is part of any figure.
	Unmatched, Undefined int

	// Continuous says that the windows of a seed were cut from one run, so that its
	// noise may reach from window to window. It is then measured between the seeds, by
	// their means over all windows. It is for the caller to set: windows that were
	// each replayed by themselves are not.
	Continuous bool

	// covariance is that between the replicas of both sides in a window where they
	// have the same seeds, NaN of other windows.
	covariance []float64
	seeds      [2][]seedSum // of baseline and candidate, in the order of their seeds
}

// seedSum adds up the windows of a seed.
type seedSum struct {
	seed, windows int
	sum           float64
}

// Pair collects the runs of two configurations by window. The mean over the
// replicas of a side is its value of the window. Replicas of the two sides need
// not have the same seeds; where they have, what a pair of runs shares cancels in
// their difference, and in its noise. The order of the observations does not
// matter. It is an error when one side names a (window, seed) twice.
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
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0].Window, b[0].Window; {
		case x < y:
			n := lengthOf(a)
			a, p.Unmatched = a[n:], p.Unmatched+n
		case x > y:
			n := lengthOf(b)
			b, p.Unmatched = b[n:], p.Unmatched+n
		default:
			n, m := lengthOf(a), lengthOf(b)
			p.add(a[:n], b[:m])
			a, b = a[n:], b[m:]
		}
	}
	p.Unmatched += len(a) + len(b)
	return p, nil
}

// lengthOf is how many of the observations, which are in order, are of the first
// window.
func lengthOf(list []Observation) int {
	n := slices.IndexFunc(list, func(o Observation) bool { return o.Window != list[0].Window })
	if n < 0 {
		return len(list)
	}
	return n
}

// add is a window with the runs of both sides.
func (p *Pairs) add(a, b []Observation) {
	window := a[0].Window
	broken := map[int]bool{} // seeds without a number
	for _, o := range slices.Concat(a, b) {
		if !Finite(o.Value) {
			broken[o.Seed] = true
		}
	}
	before := len(a) + len(b)
	gone := func(o Observation) bool { return broken[o.Seed] }
	a, b = slices.DeleteFunc(slices.Clone(a), gone), slices.DeleteFunc(slices.Clone(b), gone)
	p.Undefined += before - len(a) - len(b)
	if len(a) == 0 || len(b) == 0 {
		p.Undefined += len(a) + len(b)
		return
	}
	x, y := valuesOf(a), valuesOf(b)
	p.Window = append(p.Window, window)
	p.Baseline, p.Candidate = append(p.Baseline, Mean(x)), append(p.Candidate, Mean(y))
	p.BaselineRuns, p.CandidateRuns = append(p.BaselineRuns, len(x)), append(p.CandidateRuns, len(y))
	p.BaselineVariance = append(p.BaselineVariance, gonum.Variance(x, nil))
	p.CandidateVariance = append(p.CandidateVariance, gonum.Variance(y, nil))
	p.Runs += len(x) + len(y)
	covariance := math.NaN()
	if len(x) > 1 && slices.EqualFunc(a, b, func(o, other Observation) bool { return o.Seed == other.Seed }) {
		covariance = gonum.Covariance(x, y, nil)
	}
	p.covariance = append(p.covariance, covariance)
	for side, list := range [2][]Observation{a, b} {
		for _, o := range list {
			p.count(side, o)
		}
	}
}

// count adds a value to the sum of its seed.
func (p *Pairs) count(side int, o Observation) {
	i, found := slices.BinarySearchFunc(p.seeds[side], o.Seed, func(s seedSum, seed int) int { return s.seed - seed })
	if !found {
		p.seeds[side] = slices.Insert(p.seeds[side], i, seedSum{seed: o.Seed})
	}
	p.seeds[side][i].windows++
	p.seeds[side][i].sum += o.Value
}

func valuesOf(list []Observation) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = list[i].Value
	}
	return out
}

// differences are candidate minus baseline, by window.
func (p *Pairs) differences() []float64 {
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
