package preempt

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// codedCost is the cost of Lattice's code, in minutes: it knows whole minutes
// only, and neither the size of a checkpoint nor the class nor, but for a job
// without checkpoints, the nodes.
func codedCost(v *Victim) model.Fixed {
	elapsed := int64(max(v.Elapsed, 0) / model.Minute)
	minutes := int64(writeAuto / model.Minute)
	switch v.Checkpoint {
	case model.CheckpointManual:
		minutes = int64(writeManual / model.Minute)
	case model.CheckpointNone:
		minutes = times(int64(v.Nodes), elapsed)
	}
	cost := model.Fixed(min(minutes, math.MaxInt32/2))*model.One + codedValue(elapsed, v)
	if v.Burst {
		cost /= 2
	}
	return cost
}

func codedValue(elapsed int64, v *Victim) model.Fixed {
	walltime := int64(v.Walltime / model.Minute)
	switch {
	case unbounded(v) || walltime <= 0:
		return 0
	case elapsed*tenths >= walltime*late:
		return model.Fixed(valueLate/model.Minute) * model.One
	case elapsed*tenths < walltime*early:
		return model.Fixed(valueEarly/model.Minute) * model.One
	}
	return model.Ratio(elapsed*int64(valueFull/model.Minute), walltime)
}

// codedSelect chooses as Lattice's code does: by cost alone, the cheapest first,
// until the nodes they hold, usable or not, are as many as the pending job asks
// for, whatever is free; at most cfg.MaxVictims. dst is overwritten with their
// indices; equal costs stay in the order of candidates.
func codedSelect(cfg *Config, pendingClass, need int32, candidates []Victim, dst []int) ([]int, bool) {
	dst = dst[:0]
	for i := range candidates {
		v := &candidates[i]
		if v.Class < pendingClass && !v.Sensitive {
			v.cost = int64(codedCost(v))
			dst = append(dst, i)
		}
	}
	slices.SortStableFunc(dst, func(a, b int) int { return cmp.Compare(candidates[a].cost, candidates[b].cost) })
	freed := int64(0)
	for n := 0; n < min(len(dst), int(cfg.MaxVictims)); n++ {
		if freed += int64(candidates[dst[n]].Nodes); freed >= int64(need) {
			return dst[:n+1], true
		}
	}
	return dst[:0], false
}
