// Package advice says whether one of many candidates is better than the current policy, of
// which one log was replayed under each. It must not know what a candidate is, nor how a
// log is replayed.
package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/internal/libm"
	"orrery/sim/stat"
)

// Series is the objective under one policy.
type Series struct {
	// Windows are sums, or means over as many jobs under every policy, by window in the
	// order of time; of one replay, or means over replicas.
	Windows []float64
	// Whole is the objective on the whole log, of one replay.
	Whole float64
}

// Over is the objective over replicas of one log: the means by window, and the whole of the
// first, which is the log as it is. A replica without a value in a window, as one that moved
// the only job of a group out of it, says nothing there; without a value in the first there
// is none.
func Over(replicas ...Series) Series {
	out := Series{Windows: slices.Clone(replicas[0].Windows), Whole: replicas[0].Whole}
	for k := range out.Windows {
		n := 1.0
		for _, r := range replicas[1:] {
			if x := r.Windows[k]; !math.IsNaN(x) {
				out.Windows[k], n = out.Windows[k]+x, n+1
			}
		}
		out.Windows[k] /= n
	}
	return out
}

// Candidate is a policy that may be recommended.
type Candidate struct {
	// Now is the current policy, over as many replicas as Then, the candidate.
	Now, Then Series
	// Out says that it is none to recommend whatever it gains, as it breaks a bound. It is
	// not tested, so that it takes nothing from the power of the test of others.
	Out bool
}

// Settings are how sure to be, and of what.
type Settings struct {
	Stat stat.Settings
	// Margin is the least gain on the whole log, as a part, for which a change is worth it.
	Margin   float64
	Maximise bool
	// Power is the probability with which Detectable and WindowsFor want a gain found.
	Power float64
}

// Finding is what is known of a candidate.
type Finding struct {
	// Gain on the whole log, as a part of the current policy: positive is better. NaN
	// where it has no value.
	Gain float64
	// P of the joint test, corrected for all that were tested; NaN where it was not.
	P float64
	// Windows and Sums are the two statistics, logarithms of candidate by current policy;
	// NaN where there is none.
	Windows, Sums stat.JointMean
	// Better and Worse say that it is no chance: P is small enough, and neither statistic
	// says the contrary.
	Better, Worse bool
}

// Evidence is what the replays of one log say of all candidates.
type Evidence struct {
	Findings []Finding // by candidate
	Tested   int
	// Dependence is the φ of the windows (stat.Dependence); NaN where nothing was tested.
	Dependence float64
	joint      *stat.Joint
	set        Settings
}

// Weigh holds candidates against the current policy, by one joint test of all that are not
// out (stat.Settings.Joint). It may be repeated with means over replicas for the candidates
// that came out best: p-values are corrected for all candidates either way, as the law is one
// of all.
func Weigh(candidates []Candidate, s Settings) (*Evidence, error) {
	out := &Evidence{Findings: make([]Finding, len(candidates)), Dependence: math.NaN(), set: s}
	none := stat.JointMean{Estimate: math.NaN(), SD: math.NaN(), T: math.NaN()}
	var tested []int
	var sides []stat.Sides
	for i := range candidates {
		c := &candidates[i]
		out.Findings[i] = Finding{Gain: s.Gain(c.Now.Whole, c.Then.Whole), P: math.NaN(), Windows: none, Sums: none}
		if !c.Out {
			tested, sides = append(tested, i), append(sides, stat.Sides{Baseline: c.Now.Windows, Candidate: c.Then.Windows})
		}
	}
	if out.Tested = len(tested); len(tested) == 0 {
		return out, nil
	}
	var err error
	if out.joint, err = s.Stat.Joint(sides); err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	out.Dependence = out.joint.Dependence
	for k, i := range tested {
		f, row := &out.Findings[i], &out.joint.Candidates[k]
		f.P, f.Windows, f.Sums = row.P, row.Windows, row.Sums
		shown := f.P <= 1-s.Stat.Confidence
		f.Better = shown && s.says(f.Windows, 1) && s.says(f.Sums, 1)
		f.Worse = shown && s.says(f.Windows, -1) && s.says(f.Sums, -1)
	}
	return out, nil
}

// Finalists is how many candidates get all replicas, and Contenders how many get two before, so
// that the finalists are not chosen by what chance made of a single replay.
const (
	Finalists  = 3
	Contenders = 10
)

// WeighInRounds weighs candidates, of which all are over single replays, and again with replicas of
// the most promising ones. over gives candidates, by their places, over the log as it is and so
// many replicas with jittered arrivals: those of a round at once, so that they can be replayed
// side by side. The finalists are those with all replicas, the most promising first.
func WeighInRounds(candidates []Candidate, replicas int, s Settings, over func(places []int, replicas int) ([]Candidate, error)) (e *Evidence, finalists []int, err error) {
	list := slices.Clone(candidates)
	if e, err = Weigh(list, s); err != nil {
		return nil, nil, err
	}
	for _, round := range []struct{ candidates, replicas int }{{Contenders, min(2, replicas)}, {Finalists, replicas}} {
		if finalists = e.Promising(round.candidates); len(finalists) == 0 {
			break
		}
		replicated, err := over(finalists, round.replicas)
		if err != nil {
			return nil, nil, err
		}
		for k, i := range finalists {
			list[i] = replicated[k]
		}
		if e, err = Weigh(list, s); err != nil {
			return nil, nil, err
		}
	}
	return e, finalists, nil
}

// Gain is what then is better than now, as a part of now; NaN where that is 0.
func (s *Settings) Gain(now, then float64) float64 {
	switch gain := (then - now) / math.Abs(now); {
	case now == 0:
		return math.NaN() // there is no part of nothing
	case s.Maximise:
		return gain
	default:
		return -gain
	}
}

// Worse says whether then is worse than now.
func (s *Settings) Worse(now, then float64) bool { return then != now && then > now != s.Maximise }

// says tells whether a statistic does not contradict a change for the better, with a sign
// of 1, or for the worse, with one of -1. One that there is not contradicts nothing.
func (s *Settings) says(m stat.JointMean, sign float64) bool {
	if s.Maximise {
		sign = -sign
	}
	return math.IsNaN(m.Estimate) || sign*m.Estimate < 0
}

// Ranked are the candidates of which is is true, those with the largest gain first, and
// those that come first where gains are equal.
func (e *Evidence) Ranked(is func(i int) bool) []int {
	var out []int
	for i, f := range e.Findings {
		if !math.IsNaN(f.Gain) && is(i) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(e.Findings[b].Gain, e.Findings[a].Gain) })
	return out
}

// Passing are the candidates that are better by the margin or more, the best first.
func (e *Evidence) Passing() []int {
	return e.Ranked(func(i int) bool { return e.Findings[i].Better && e.Findings[i].Gain >= e.set.Margin })
}

// Promising are the candidates that replicas are worth, at most n: those that are better by the
// margin, the best first; then others that both statistics together speak for, by how strongly
// they do. The gain of one replay is a worse guide, for it is that of a few long waits.
func (e *Evidence) Promising(n int) []int {
	out := e.Passing()
	more := e.Ranked(func(i int) bool { return e.strength(i) > 0 && !slices.Contains(out, i) })
	slices.SortStableFunc(more, func(a, b int) int { return cmp.Compare(e.strength(b), e.strength(a)) })
	out = append(out, more...)
	return out[:min(len(out), n)]
}

// strength is the mean T of the statistics that there are of a candidate, above 0 for a change
// for the better; NaN where there is none.
func (e *Evidence) strength(i int) float64 {
	sum, n := 0.0, 0.0
	for _, m := range []stat.JointMean{e.Findings[i].Windows, e.Findings[i].Sums} {
		if !math.IsNaN(m.T) {
			sum, n = sum+m.T, n+1
		}
	}
	if e.set.Maximise {
		return sum / n
	}
	return -sum / n
}

// Detectable is the smallest gain of a candidate which this test would have
// found with the probability Power on windows like these, by the statistic that sees it
// better; NaN where there is none, as of one that was not tested.
func (e *Evidence) Detectable(i int) float64 {
	least := math.NaN()
	for _, m := range []stat.JointMean{e.Findings[i].Windows, e.Findings[i].Sums} {
		if !(m.SD > 0) {
			continue
		}
		if x := e.joint.Detectable(m, e.joint.Windows, e.set.Power); !(least < x) {
			least = x
		}
	}
	if e.set.Maximise {
		return libm.Exp(least) - 1
	}
	return 1 - libm.Exp(-least)
}

// WindowsFor is how many windows like these would show the gain of a candidate with the
// probability Power; +Inf where it shows none, and where it was not tested.
func (e *Evidence) WindowsFor(i int) float64 {
	least := math.Inf(1)
	for _, m := range []stat.JointMean{e.Findings[i].Windows, e.Findings[i].Sums} {
		if m.SD > 0 && e.set.says(m, 1) {
			least = min(least, e.joint.WindowsFor(m, e.set.Power))
		}
	}
	return least
}

// Replication is a gain over replicas of a log with jittered arrivals, of which one policy
// and another were replayed on the same.
type Replication struct {
	Replicas int
	Mean     float64 // gain, as a part of the first policy
	SD       float64 // of the gain of one replica
	Low      float64 // ends of the interval of the mean
	High     float64
}

// Replicate is the gain of then against now over replicas in the same order, two at least.
func (s *Settings) Replicate(now, then []float64) Replication {
	gains := make([]float64, len(now))
	for i := range now {
		gains[i] = s.Gain(now[i], then[i])
	}
	mean, sd := gonum.MeanStdDev(gains, nil)
	half := libm.StudentQuantile((1+s.Stat.Confidence)/2, float64(len(gains)-1)) * sd / math.Sqrt(float64(len(gains)))
	return Replication{Replicas: len(gains), Mean: mean, SD: sd, Low: mean - half, High: mean + half}
}

// Holds says whether the gain is the margin or more in the mean over replicas too, without
// which a candidate is not recommended.
func (s *Settings) Holds(r Replication) bool { return r.Mean >= s.Margin }
