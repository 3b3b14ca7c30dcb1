package site

import (
	"math"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// margins bound how far scores move together.
type margins struct{ *view }

func (v *view) margins() margins { return margins{v} }

// foresight bounds for how long a pass looks ahead for jobs that overtake: the
// further, the more of them have to be examined.
const foresight = 10 * model.Minute

// mostTolerance is how far a pass foresees that what all scores have in common moves: a sixteenth of what the
// backlog can bring about. The further, the more jobs have to be examined. Where penalties are the same it adds the same to each.
func (p margins) mostTolerance() model.Fixed {
	if p.qs.fair.Spread() == 0 {
		return anyTolerance
	}
	return min(p.qs.policy.Weights[score.Backlog]/16, anyTolerance)
}

// anyTolerance is that where the order of the jobs does not matter.
const anyTolerance model.Fixed = math.MaxInt64

// marginOf is more than what that brings jobs of tenants with different penalties nearer to each other.
func (p margins) marginOf() model.Fixed {
	if spread := p.qs.fair.Spread(); spread > 0 {
		return p.mostTolerance().Mul(spread) + roundingMargin
	}
	return 0
}

// roundingMargin is more than what is lost in rounding two scores.
const roundingMargin = 8
