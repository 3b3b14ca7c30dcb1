package gate

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/sim/stat"
)

// Replica is what a paired check knows of one replay of a trace with jittered
// arrivals.
type Replica struct {
	Seed     int
	Schedule string // equal of replays that scheduled alike
	// Overloaded says that the queue of the replay grows without end.
	Overloaded bool
	Values     []float64 // of the metric, by window; NaN is undefined
}

// Rule is how a paired check decides on replicas of one trace. It is a function of
// numbers: docs/STATISTICS.md says what it was measured to do.
type Rule struct {
	Better     stat.Direction
	Margin     stat.Margin
	Detect     float64 // the regression that is to be found, as a part of the other side; 0 is the usual one
	Reading    stat.Reading
	Confidence float64
	Queues     bool // the metric says nothing of a queue that grows without end
	Most       int  // replicas of a side
}

// The numbers of replicas that any check begins with: the first show whether both
// sides schedule alike, all of them what the noise is.
const (
	firstReplicas = 5
	leastReplicas = 10
)

// Chances to find a regression: planned are those for which replicas are added,
// stated is that of the regression that a check is said to find. The noise is known
// from few replicas only, hence the reserve.
const (
	plannedPower = 0.9
	statedPower  = 0.8
)

// Ruling is what a Rule says of two sides.
type Ruling struct {
	stat.NonInferiority
	Queues stat.Queues
	Alike  bool // the sides scheduled alike in all replicas
	// Replicas of each side, those of the side that has fewer.
	Replicas int
	// Detectable is the smallest regression, as a part of the other side, that such a
	// check finds in 8 of 10 cases; NaN when that is not known.
	Detectable float64
	Candidate  float64 // its mean over the windows, Baseline that of the other side
	LeftOut    int     // values without a number or a partner
}

func (r *Rule) settings() stat.Settings {
	s := stat.Defaults()
	s.Confidence = r.Confidence
	return s
}

// Judge decides on the replicas that there are.
func (r *Rule) Judge(other, candidate []Replica) (Ruling, error) {
	other, candidate = common(other, candidate)
	out := Ruling{Alike: alike(other, candidate), Replicas: min(len(other), len(candidate)), Detectable: math.NaN()}
	out.Queues = stat.Queues{Baseline: grown(other), BaselineRuns: len(other), Candidate: grown(candidate), CandidateRuns: len(candidate)}
	pairs, err := pairsOf(other, candidate)
	if err != nil {
		return out, err
	}
	if out.NonInferiority, err = stat.NotWorse(pairs, r.Better, r.Margin, r.Reading, r.settings()); err != nil {
		return out, err
	}
	out.Candidate, out.LeftOut = gonum.Mean(pairs.Candidate, nil), pairs.Unmatched+pairs.Undefined
	if plan, err := stat.PlanOf(pairs, r.Reading, r.settings()); err == nil && out.Windows > 0 && !out.Alike {
		out.Detectable = plan.Detectable(out.Margin/out.Baseline, statedPower)
	}
	switch {
	case !r.Queues || out.Alike:
	case out.Queues.Aside():
		out.Outcome, out.Reason = stat.Undecided, out.Queues.String()+": waits say nothing of such a queue, unless both sides schedule alike"
	case out.Queues.Unranked():
		out.Outcome, out.Reason = stat.Violated, out.Queues.String()
	}
	return out, nil
}

// Wanted is how many replicas of each side are to be made, those at hand included: as
// many as the noise between those at hand asks for, so that the regression that is to
// be found is. It looks at the noise alone, never at which side is better, so that
// looking again and again claims nothing more often.
func (r *Rule) Wanted(other, candidate []Replica) int {
	have := min(len(other), len(candidate))
	if have == 0 {
		return min(firstReplicas, r.Most)
	}
	if alike(other, candidate) {
		return have
	}
	if have < leastReplicas {
		return min(leastReplicas, r.Most)
	}
	pairs, err := pairsOf(other, candidate)
	if err != nil {
		return have
	}
	plan, err := stat.PlanOf(pairs, r.Reading, r.settings())
	if err != nil { // no ratio: nothing to plan by
		return have
	}
	margin := r.margin(&pairs)
	need, enough := plan.ReplicasFor(r.detect(margin), margin, plannedPower)
	if !enough {
		need = r.Most
		if plan.Spread > 0 { // that no replica makes smaller
			need = int(math.Ceil(min(10*plan.Noise/plan.Spread, float64(r.Most))))
		}
	}
	if need <= have {
		return have
	}
	return min(max(need, have+have/4), r.Most)
}

// Sight is what a side alone says of a check with a candidate that is as noisy: the
// replicas that are wanted, and the regression that is found with those at hand.
func (r *Rule) Sight(side []Replica) (wanted int, found Ruling, err error) {
	reseeded := make([]Replica, len(side))
	for i := range side {
		reseeded[i] = side[i]
		reseeded[i].Seed += 1 << 30 // another seed: nothing in common
		reseeded[i].Schedule = ""
	}
	wanted = r.Wanted(side, reseeded)
	found, err = r.Judge(side, reseeded)
	return wanted, found, err
}

// margin as a part of the other side.
func (r *Rule) margin(pairs *stat.Pairs) float64 {
	return r.Margin.Relative + r.Margin.Absolute/math.Abs(gonum.Mean(pairs.Baseline, nil))
}

func (r *Rule) detect(margin float64) float64 {
	if r.Detect > 0 {
		return r.Detect
	}
	return max(margin*5/3, margin+0.02)
}

// pairsOf pairs the windows of two sides. The windows of a replica are cut from one
// replay.
func pairsOf(other, candidate []Replica) (stat.Pairs, error) {
	p, err := stat.Pair(observations(other), observations(candidate))
	p.Continuous = true
	return p, err
}

func observations(side []Replica) []stat.Observation {
	var out []stat.Observation
	for i := range side {
		for w, x := range side[i].Values {
			out = append(out, stat.Observation{Window: w, Seed: side[i].Seed, Value: x})
		}
	}
	return out
}

// common are the replicas of both sides whose seed the other side has too: what a seed
// does to both then cancels. Where no seed is shared all of them count.
func common(other, candidate []Replica) (a, b []Replica) {
	has := map[int]bool{}
	for i := range other {
		has[other[i].Seed] = true
	}
	both := map[int]bool{}
	for i := range candidate {
		if seed := candidate[i].Seed; has[seed] {
			both[seed], b = true, append(b, candidate[i])
		}
	}
	if len(b) == 0 {
		return other, candidate
	}
	for i := range other {
		if both[other[i].Seed] {
			a = append(a, other[i])
		}
	}
	return a, b
}

// alike says whether both sides have the same seeds, and scheduled alike in each.
func alike(other, candidate []Replica) bool {
	n := min(len(other), len(candidate))
	for i := range n {
		a, b := &other[i], &candidate[i]
		if a.Seed != b.Seed || a.Schedule == "" || a.Schedule != b.Schedule {
			return false
		}
	}
	return n > 0
}

func grown(side []Replica) (n int) {
	for i := range side {
		if side[i].Overloaded {
			n++
		}
	}
	return n
}
