package stat

import (
	"fmt"
	"math"
)

// Plan says what a comparison could tell with other numbers of replicas, from the
// noise that was measured so far. Changes are parts of the baseline.
//
// The variance of the logarithm of the ratio with R replicas of each side is
// Spread + Noise/R. Of fixed windows Spread is 0: any change can be told with
// enough replicas. Of random windows it is what the windows themselves differ by,
// and only more windows make it smaller.
type Plan struct {
	Reading       Reading
	Windows       int
	Replicas      int // fewest at hand of a window and side
	Spread, Noise float64

	law     *Law    // of random windows
	freedom float64 // behind the noise of the replicas at hand
	alpha   float64
}

// mostReplicas is where the search for a number of replicas ends.
const mostReplicas = 1000

// PlanOf plans from pairs. It is an error when windows are fixed and neither side has
// replicas, or when there is no ratio of the means. Of random windows without
// replicas all error is taken to be theirs.
func PlanOf(pairs Pairs, reading Reading, s Settings) (Plan, error) {
	if err := s.Validate(); err != nil {
		return Plan{}, err
	}
	if err := pairs.check(); err != nil {
		return Plan{}, err
	}
	if pairs.measured() == NoNoise && reading == FixedWindows {
		return Plan{}, fmt.Errorf("stat: no noise was measured: give one side at least 2 replicas of a window")
	}
	e, ok := estimateOf(&pairs, reading)
	if !ok || !e.ratio {
		return Plan{}, fmt.Errorf("stat: no ratio of the means of %d windows: give at least 2 with values above 0 on both sides", len(pairs.Window))
	}
	p := Plan{Reading: reading, Windows: len(pairs.Window), Noise: e.single, law: e.law, freedom: e.freedom, alpha: s.alpha()}
	if reading == RandomWindows {
		p.Spread = max(e.windows*e.windows-orElse(e.noise*e.noise, 0), 0)
	}
	p.Replicas = pairs.BaselineRuns[0]
	for i := range pairs.Window {
		p.Replicas = min(p.Replicas, pairs.BaselineRuns[i], pairs.CandidateRuns[i])
	}
	return p, nil
}

// resolution is the smallest distance, as a part of the baseline, between a change
// and a limit that is told with a probability of power, in (0.5, 1), with so many
// replicas of each side, by a one-sided bound at the confidence of the settings:
//
//	exp((q(confidence) + q(power))·√(Spread + Noise/R)) - 1
//
// with the quantiles q of Student's t for fixed windows and of Law for random
// ones, where it is no less than that of fixed ones.
func (p *Plan) resolution(replicas int, power float64) float64 {
	r := float64(replicas)
	noise := student(max(p.freedom*max(r-1, 1)/max(float64(p.Replicas-1), 1), 1))
	reach := (noise.Quantile(2*p.alpha) + noise.Quantile(2*(1-power))) * math.Sqrt(p.Noise/r)
	if l := p.law; l != nil {
		reach = max(reach, (l.Quantile(2*p.alpha)+l.Quantile(2*(1-power)))*math.Sqrt(p.Spread+p.Noise/r))
	}
	return math.Expm1(reach)
}

// Detectable is the smallest regression, as a part of the baseline, that a check
// with that margin calls violated with a probability of power, with the replicas
// at hand.
func (p *Plan) Detectable(margin, power float64) float64 {
	return (1+margin)*(1+p.resolution(p.Replicas, power)) - 1
}

// ReplicasFor is how many replicas of each window and side a check with a margin
// needs to call a regression violated with a probability of power; false when more
// than 1,000, or no number of them, would do. For a regression of 0 it is how many
// the check needs to call an unchanged candidate good.
func (p *Plan) ReplicasFor(regression, margin, power float64) (int, bool) {
	distance := math.Abs(math.Log1p(regression) - math.Log1p(margin))
	for r := 2; r <= mostReplicas; r++ {
		if math.Log1p(p.resolution(r, power)) <= distance {
			return r, true
		}
	}
	return 0, false
}
