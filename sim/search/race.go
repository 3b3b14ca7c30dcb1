package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"orrery/internal/libm"
)

// Rule says which candidates of a race go on after a rung.
type Rule string

const (
	// Friedman drops those that are significantly worse than the leader by their ranks on each
	// window: where a test of Friedman says that the ranks are not those of equals, those
	// that a test of pairs tells from the leader; of two candidates by the test of
	// Paired. (Birattari, Yuan, Balaprakash, Stützle: F-Race and iterated F-Race: an
	// overview, 2010.)
	Friedman Rule = "friedman"
	// Halving keeps the best 1/Ratio of the candidates: a fixed cost, and the
	// best one may be lost to noise. (Jamieson and Talwalkar: Non-stochastic
	// best arm identification and hyperparameter optimization, 2016.)
	Halving Rule = "halving"
	// Paired drops those alone that are significantly worse than the best one,
	// by a paired test over the windows. (Maron and Moore: Hoeffding races,
	// 1994; Birattari et al.: A racing algorithm for configuring
	// metaheuristics, 2002.)
	Paired Rule = "paired"
)

// Rules are all of them, the one that is taken where none is named first: halving spares
// runs on any log, and tests on the few windows of a first rung on some (docs/SEARCH.md).
func Rules() []string { return []string{string(Halving), string(Friedman), string(Paired)} }

// RaceConfig describes a race: candidates that are compared on the same
// windows, more and more of them, while the losers drop out. All see the same
// windows under the same seeds, so that noise is common to them and differences
// are the candidates' own.
type RaceConfig struct {
	Goal Goal `json:"goal"` // of one objective
	// Candidates are points; any design or search gives them.
	Candidates [][]float64 `json:"candidates"`
	// Rungs are the numbers of windows after which losers drop out, ascending;
	// the last is the number of all windows.
	Rungs []int `json:"rungs"`
	Rule  Rule  `json:"rule"` // "" stands for halving
	// Ratio of candidates to those that go on, for halving: 2 at least, 0
	// stands for 3.
	Ratio int `json:"ratio,omitempty"`
	// Doubt is the level of the tests: 0 stands for 0.05. For the paired rule it bounds
	// the chance that a race drops the candidate that is truly best: it is divided by
	// the number of all comparisons that the race may make (Bonferroni). For friedman it
	// is that of each test of a rung.
	Doubt float64 `json:"doubt,omitempty"`
}

// Heat is a candidate on a window.
type Heat struct {
	Candidate int       `json:"candidate"`
	Window    int       `json:"window"`
	Values    []float64 `json:"values"`
}

// HeatResult is what came of a heat.
type HeatResult struct {
	Candidate int                `json:"candidate"`
	Window    int                `json:"window"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	// Failed drops the candidate at the end of the rung, whatever the rule.
	Failed bool `json:"failed,omitempty"`
}

// Drop says why a candidate was eliminated.
type Drop struct {
	Candidate int `json:"candidate"`
	Windows   int `json:"windows"` // it had run
	Against   int `json:"against"` // the leader, -1 when the candidate failed
	// Worse is the mean paired difference to the leader, in the unit of the
	// objective (of excess, when Excess is set), and P the one-sided chance of
	// one as large between equals, or of ranks as far apart; P is 0 under halving,
	// which tests nothing.
	Worse  float64 `json:"worse"`
	Excess bool    `json:"excess,omitempty"`
	P      float64 `json:"p"`
}

// Race asks for heats and drops candidates. Like a Search it depends neither
// on the number of workers nor on the order of results: a rung is decided when
// all its heats are in. Telling a new race all results again resumes it.
type Race struct {
	config RaceConfig
	rung   int
	alive  []int
	scores [][]*Score // of candidate and window
	issued [][]bool
	drops  []Drop
}

// leastPairs is the number of windows below which the rules that test drop no candidate: a
// variance of fewer differences means little.
const leastPairs = 4

// NewRace returns a race before its first heat.
func NewRace(c RaceConfig) (*Race, error) {
	c.Rule = cmp.Or(c.Rule, Halving)
	c.Ratio = cmp.Or(c.Ratio, 3)
	c.Doubt = cmp.Or(c.Doubt, 0.05)
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &Race{config: c, scores: make([][]*Score, len(c.Candidates)), issued: make([][]bool, len(c.Candidates))}
	windows := c.Rungs[len(c.Rungs)-1]
	for i := range c.Candidates {
		r.alive = append(r.alive, i)
		r.scores[i], r.issued[i] = make([]*Score, windows), make([]bool, windows)
	}
	return r, nil
}

func (c *RaceConfig) validate() error {
	if err := c.Goal.Validate(); err != nil {
		return err
	}
	switch {
	case len(c.Goal.Objectives) != 1:
		return fmt.Errorf("search: a race takes one objective, not %d: turn all but one into constraints", len(c.Goal.Objectives))
	case len(c.Candidates) == 0:
		return fmt.Errorf("search: a race needs candidates")
	case len(c.Rungs) == 0 || c.Rungs[0] < 1:
		return fmt.Errorf("search: the rungs of a race, %v, are numbers of windows above 0", c.Rungs)
	case !slices.Contains(Rules(), string(c.Rule)):
		return fmt.Errorf("search: unknown rule %q of a race: use one of %v", c.Rule, Rules())
	case c.Ratio < 2:
		return fmt.Errorf("search: a race that keeps 1/%d: the ratio is 2 at least", c.Ratio)
	case !(c.Doubt > 0 && c.Doubt < 0.5):
		return fmt.Errorf("search: doubt %v of a race: it is between 0 and 0.5", c.Doubt)
	}
	for i := 1; i < len(c.Rungs); i++ {
		if c.Rungs[i] <= c.Rungs[i-1] {
			return fmt.Errorf("search: the rungs of a race, %v, must ascend", c.Rungs)
		}
	}
	return nil
}

// Ask returns up to n heats of this rung that were not returned yet, window by window.
func (r *Race) Ask(n int) []Heat {
	var out []Heat
	if r.Done() {
		return nil
	}
	for w := range r.config.Rungs[r.rung] {
		for _, c := range r.alive {
			if len(out) < n && !r.issued[c][w] && r.scores[c][w] == nil {
				r.issued[c][w] = true
				out = append(out, Heat{Candidate: c, Window: w, Values: slices.Clone(r.config.Candidates[c])})
			}
		}
	}
	return out
}

// Done says whether the race is decided: all rungs are run, or one candidate
// is left.
func (r *Race) Done() bool { return r.rung == len(r.config.Rungs) || len(r.alive) <= 1 }

// Alive returns the candidates that are still in the race, the leader first
// and the others in the order of what they have shown; before the first rung
// is decided in their own order.
func (r *Race) Alive() []int {
	alive := slices.Clone(r.alive)
	if r.rung > 0 {
		slices.SortStableFunc(alive, r.compare)
	}
	return alive
}

// Dropped returns those that left, in the order of leaving.
func (r *Race) Dropped() []Drop { return slices.Clone(r.drops) }

// Tell takes results in any order. Results of later rungs or of candidates
// that have left are kept, so a race can be told all it knows at once; a
// second result of a heat that differs from the first is an error. On an error
// the results before the offending one are taken.
func (r *Race) Tell(results []HeatResult) error {
	for _, h := range results {
		if h.Candidate < 0 || h.Candidate >= len(r.scores) || h.Window < 0 || h.Window >= len(r.scores[0]) {
			return fmt.Errorf("search: the result of candidate %d on window %d: the race has %d candidates and %d windows",
				h.Candidate, h.Window, len(r.scores), len(r.scores[0]))
		}
		score, err := r.config.Goal.Score(Result{ID: h.Candidate, Metrics: h.Metrics, Failed: h.Failed})
		if err != nil {
			return err
		}
		known := &r.scores[h.Candidate][h.Window]
		if *known != nil && !((*known).Costs[0] == score.Costs[0] && slices.Equal((*known).Gaps, score.Gaps)) {
			return fmt.Errorf("search: candidate %d on window %d was told twice with different results: its evaluation is not deterministic", h.Candidate, h.Window)
		}
		*known = &score
	}
	for !r.Done() && r.complete() {
		r.decide()
	}
	return nil
}

// complete says whether all heats of the rung are in.
func (r *Race) complete() bool {
	for _, c := range r.alive {
		if slices.Contains(r.scores[c][:r.config.Rungs[r.rung]], nil) {
			return false
		}
	}
	return true
}

// decide drops the losers of a rung. Candidates that failed go first; when all
// did, none is left.
func (r *Race) decide() {
	windows := r.config.Rungs[r.rung]
	r.rung++
	r.alive = slices.DeleteFunc(r.alive, func(c int) bool {
		failed := slices.ContainsFunc(r.scores[c][:windows], (*Score).failed)
		if failed {
			r.drops = append(r.drops, Drop{Candidate: c, Windows: windows, Against: -1})
		}
		return failed
	})
	order := r.Alive()
	if len(order) == 0 {
		return
	}
	lost := r.losers(order)
	r.alive = slices.DeleteFunc(r.alive, func(c int) bool {
		return slices.ContainsFunc(lost, func(d Drop) bool { return d.Candidate == c })
	})
	r.drops = append(r.drops, lost...)
}

// losers are those of the ranked candidates that do not go on.
func (r *Race) losers(order []int) []Drop {
	switch {
	case r.config.Rule == Halving:
		return r.rest(order)
	case r.config.Rule == Friedman && len(order) > 2:
		return r.outranked(order)
	case r.config.Rule == Friedman:
		return r.beaten(order, r.config.Doubt)
	}
	return r.beaten(order, r.config.Doubt/float64((len(r.config.Candidates)-1)*len(r.config.Rungs)))
}

// rest are those behind the best part.
func (r *Race) rest(order []int) []Drop {
	if r.rung == len(r.config.Rungs) {
		return nil // nothing is left to save
	}
	var lost []Drop
	keep := (len(order) + r.config.Ratio - 1) / r.config.Ratio
	for _, c := range order[keep:] {
		lost = append(lost, r.drop(c, order[0], 0))
	}
	return lost
}

// drop says by how much a candidate is behind the leader.
func (r *Race) drop(c, leader int, p float64) Drop {
	d := Drop{Candidate: c, Windows: r.windows(), Against: leader, P: p}
	d.Excess = r.mean(c, excessOf) != r.mean(leader, excessOf)
	read := costOf
	if d.Excess {
		read = excessOf
	}
	d.Worse = r.mean(c, read) - r.mean(leader, read)
	return d
}

// beaten are those that paired tests at a level tell from the leader.
func (r *Race) beaten(order []int, level float64) []Drop {
	var lost []Drop
	leader := order[0]
	for _, c := range order[1:] {
		d := Drop{Candidate: c, Windows: r.windows(), Against: leader}
		if d.Worse, d.P = r.test(c, leader, excessOf); d.P < level {
			d.Excess = true
			lost = append(lost, d)
			continue
		}
		if r.mean(c, excessOf) < r.mean(leader, excessOf) {
			continue
		}
		if d.Worse, d.P = r.test(c, leader, costOf); d.P < level {
			lost = append(lost, d)
		}
	}
	return lost
}

// outranked are those whose ranks are surely behind those of the leader. The leader
// has the best means, for it is means that are sought: a candidate that ranks better
// most of the time stays. (Conover: Practical Nonparametric Statistics, 1999,
// section 5.8: Friedman's test by the F distribution, equation 5, and its comparison
// of pairs, equation 6.)
func (r *Race) outranked(order []int) []Drop {
	n, k := float64(r.windows()), float64(len(order))
	if n < leastPairs {
		return nil
	}
	sums, squares := r.ranks(order)
	between := 0.0
	for _, sum := range sums {
		between += sum * sum / n
	}
	middle := n * k * (k + 1) * (k + 1) / 4
	within := max(squares-between, 0)
	if !(between-middle > 1e-9*squares) {
		return nil // all alike
	}
	freedom := (n - 1) * (k - 1)
	statistic := (n - 1) * (between - middle) / within // infinite where all windows rank alike
	if within > 0 && libm.FSurvival(statistic, k-1, freedom) >= r.config.Doubt {
		return nil
	}
	unit := math.Sqrt(2 * n * within / freedom)
	var lost []Drop
	for i, c := range order[1:] {
		behind := sums[i+1] - sums[0]
		if p := libm.StudentSurvival(behind/unit, freedom); behind > 0 && p < r.config.Doubt/2 {
			lost = append(lost, r.drop(c, order[0], p))
		}
	}
	return lost
}

// ranks are the sums of the candidates' ranks over the windows, equals sharing the
// middle of theirs, and the sum of the squares of all ranks.
func (r *Race) ranks(order []int) (sums []float64, squares float64) {
	sums = make([]float64, len(order))
	for w := range r.windows() {
		for i, c := range order {
			rank := 1.0
			for _, other := range order {
				switch sign := better(r.scores[other][w], r.scores[c][w]); {
				case other == c:
				case sign < 0:
					rank++
				case sign == 0:
					rank += 0.5
				}
			}
			sums[i] += rank
			squares += rank * rank
		}
	}
	return sums, squares
}

// windows is the number of windows behind the last decision.
func (r *Race) windows() int { return r.config.Rungs[r.rung-1] }

func costOf(s *Score) float64   { return s.Costs[0] }
func excessOf(s *Score) float64 { return s.Excess }

// mean of what a candidate has shown on the windows of the rung.
func (r *Race) mean(c int, read func(*Score) float64) float64 {
	sum := 0.0
	for _, s := range r.scores[c][:r.windows()] {
		sum += read(s)
	}
	return sum / float64(r.windows())
}

// compare ranks by mean excess, mean cost and number.
func (r *Race) compare(a, b int) int {
	return cmp.Or(cmp.Compare(r.mean(a, excessOf), r.mean(b, excessOf)), cmp.Compare(r.mean(a, costOf), r.mean(b, costOf)), cmp.Compare(a, b))
}

// test is the one-sided paired t test of c being worse than the leader: the
// mean difference, and its chance between equals. 1 stands for no evidence.
func (r *Race) test(c, leader int, read func(*Score) float64) (worse, p float64) {
	n := r.windows()
	differences := make([]float64, n)
	for w := range n {
		differences[w] = read(r.scores[c][w]) - read(r.scores[leader][w])
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	if n < leastPairs || !(mean > 0) {
		return mean, 1
	}
	if deviation <= 1e-12*mean {
		return mean, 0 // the same loss on each window
	}
	t := mean / (deviation / math.Sqrt(float64(n)))
	return mean, libm.StudentSurvival(t, float64(n-1))
}
