package stat

import (
	"fmt"
	"math"

	"orrery/internal/libm"
)

// Run is one run of a side of a comparison by a metric that says nothing of a
// queue that grows without end, as waits do.
type Run struct {
	Observation
	Overloaded bool   // the queue grew without end
	Schedule   string // equal of runs that scheduled alike; "" when that is not known
}

// Overload says what became of the overloaded windows of a comparison. A window
// is overloaded when at least half of its runs are.
type Overload struct {
	Windows int // that count
	Aside   int // set aside, since the baseline is overloaded in all of their runs
	Alike   int // of Windows: both sides scheduled alike in all of their runs
	Over    int // of Windows: the candidate is overloaded, and the baseline is not
	Spare   int // so many of Over may be chance
}

// Unranked says that the candidate is overloaded in more windows than chance
// explains, so that it has no rank by waits.
func (o Overload) Unranked() bool { return o.Over > o.Spare }

// String says in how many windows the candidate is overloaded.
func (o Overload) String() string {
	return fmt.Sprintf("overloaded in %d of %d windows, and %d may be chance", o.Over, o.Windows, o.Spare)
}

// Spare is in how many of so many windows a candidate may be overloaded though
// the baseline is not: in one of ten, or one, or as many as one of the jittered
// replicas of the baseline is; but never in all. The verdict on a single window
// is often chance, and windows in which the baseline alone is overloaded by chance
// are set aside, so a few more are to be expected of any candidate.
func Spare(windows int, replicas ...int) int {
	most := max(1, windows/10)
	for _, n := range replicas {
		most = max(most, n)
	}
	return max(0, min(most, windows-1))
}

// AtLeast is what a value of the candidate counts for in a run in which it is
// overloaded and the baseline is not: as it was measured or as it is of the
// baseline, whichever is worse. It never counts as a gain.
func AtLeast(baseline, candidate float64, better Direction) float64 {
	if better.Gain(candidate-baseline) > 0 {
		return baseline
	}
	return candidate
}

// PairRuns is Pair for metrics that say nothing of an overloaded run. Runs are
// compared with those of the same window and seed on the other side; runs without
// one are unmatched. Runs that scheduled alike on both sides are equal, whatever
// their verdict. Of the others
// those are set aside in which the baseline is overloaded, and AtLeast holds of
// those in which the candidate is.
func PairRuns(baseline, candidate []Run, better Direction) (Pairs, Overload, error) {
	var a, b []Observation
	lone := 0
	counts := ledger{at: map[int]int{}}
	before, met := map[place]int{}, map[place]bool{}
	for i := range baseline {
		before[placeOf(&baseline[i])] = i
	}
	for _, c := range candidate {
		met[placeOf(&c)] = true
		i, paired := before[placeOf(&c)]
		if !paired {
			lone++
			continue
		}
		w := counts.of(c.Window)
		switch from := baseline[i]; {
		case from.Schedule != "" && from.Schedule == c.Schedule:
			w.kept, w.alike = w.kept+1, w.alike+1
		case from.Overloaded:
			w.aside++
			continue
		case c.Overloaded:
			w.kept, w.over = w.kept+1, w.over+1
			c.Value = AtLeast(from.Value, c.Value, better)
		default:
			w.kept++
		}
		a, b = append(a, baseline[i].Observation), append(b, c.Observation)
	}
	for _, r := range baseline {
		if !met[placeOf(&r)] {
			lone++
		}
	}
	pairs, err := Pair(a, b)
	pairs.Unmatched += lone
	return pairs, sum(counts.windows), err
}

// place is what the two runs of a pair share.
type place struct{ window, seed int }

func placeOf(r *Run) place { return place{r.Window, r.Seed} }

// windowPairs counts the pairs of one window.
type windowPairs struct{ window, kept, aside, alike, over int }

// ledger holds the counts of each window, in the order of the first request.
type ledger struct {
	windows []windowPairs
	at      map[int]int
}

func (l *ledger) of(window int) *windowPairs {
	i, there := l.at[window]
	if !there {
		i = len(l.windows)
		l.at[window] = i
		l.windows = append(l.windows, windowPairs{window: window})
	}
	return &l.windows[i]
}

// sum adds the windows up.
func sum(windows []windowPairs) Overload {
	var o Overload
	for _, b := range windows {
		if b.kept == 0 {
			o.Aside++
			continue
		}
		o.Windows++
		if b.alike == b.kept && b.aside == 0 {
			o.Alike++
		}
		if Half(b.over, b.kept) {
			o.Over++
		}
	}
	o.Spare = Spare(o.Windows)
	return o
}

// Half says whether so many of the runs of a window make it an overloaded one.
func Half(overloaded, runs int) bool { return overloaded > 0 && 2*overloaded >= runs }

// Queues says of two sides that each replayed the same jobs several times, with
// arrivals jittered, in how many of these replicas the queue grows without end. On a
// cluster that is nearly full that is chance in part; how much of it is measured by
// the replicas.
type Queues struct {
	Baseline, Candidate         int // replicas with such a queue
	BaselineRuns, CandidateRuns int // of so many
}

// queuesLevel is how often, at most, chance alone takes the rank of a candidate.
const queuesLevel = 0.01

// Aside says that nothing can be said by waits: the queue of the baseline grows in at
// least half of its replicas.
func (q Queues) Aside() bool { return Half(q.Baseline, q.BaselineRuns) }

// Unranked says that the candidate has no rank by waits: its queue grows in at least
// half of its replicas, and in more than chance explains. The chance is that of
// Fisher's exact test: with as many growing queues in all, how often would so many or
// more be on the side of the candidate?
func (q Queues) Unranked() bool {
	return Half(q.Candidate, q.CandidateRuns) && q.P() <= queuesLevel
}

// P is the chance of Fisher's exact test, one-sided.
func (q Queues) P() float64 {
	all, grown := q.BaselineRuns+q.CandidateRuns, q.Baseline+q.Candidate
	p := 0.0
	for k := q.Candidate; k <= min(grown, q.CandidateRuns); k++ {
		if grown-k <= q.BaselineRuns {
			p += libm.Exp(choose(q.CandidateRuns, k) + choose(q.BaselineRuns, grown-k) - choose(all, grown))
		}
	}
	return min(p, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	of := func(n int) float64 { x, _ := math.Lgamma(float64(n) + 1); return x }
	return of(n) - of(k) - of(n-k)
}

// String says in how many replicas the queues grow.
func (q Queues) String() string {
	return fmt.Sprintf("the queue grows without end in %d of %d replicas, and in %d of %d of the other side", q.Candidate, q.CandidateRuns, q.Baseline, q.BaselineRuns)
}
