package multifactor

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota/halflife"
)

// Where usage is counted at ticks alone, as Slurm's plugin does, its owner decays what was used, charges what ran since the last
// tick and computes the factors. Such a tree has neither Use nor Freeze.

// Len is the number of associations.
func (t *Tree) Len() int { return len(t.of) }

// Decay takes off what everything used so far loses in d.
func (t *Tree) Decay(d model.Duration) {
	for i := range t.of {
		if a := &t.of[i]; a.recent > 0 {
			a.recent = t.Decayed(a.recent, d)
		}
	}
}

// Decayed is what is left of used after d.
func (t *Tree) Decayed(used int64, d model.Duration) int64 {
	if t.half == model.Forever || d <= 0 {
		return used
	}
	return halflife.Left(int64(d), int64(t.half)).Of(used)
}

// Charge counts so many units more for association i, in any unit that is the same for all.
func (t *Tree) Charge(i int32, units int64) { t.of[i].recent += units }

// Rate computes the factors of all users from what is used now.
func (t *Tree) Rate() { t.rate() }
