package ascoded

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

const (
	// half is a constant price of energy, and a factor of which nothing is known.
	half = model.One / 2
	// highest is the most that f9 is: score.Values bounds it.
	highest = 1 << 20 * model.One
)

// waitOf is f2 by the curve of the reference: whole seconds count.
func waitOf(waited model.Duration, curve score.Curve) model.Fixed {
	return curve.Of(waited - waited%model.Second)
}

// TopologyOf is f4: β inter + (1-β) memory, with β 0.3 for one node and 0.7 for
// more. inter is 1 - ceil(nodes/groups)/groups, at least 0, in which the number of
// groups stands where their size is meant; one half without groups. memory is the
// mean locality of the nodes, negative when there is no figure: one half; sameNUMA
// makes it a fifth better, up to 1.
func TopologyOf(nodes, groups int32, memory model.Fixed, sameNUMA bool) model.Fixed {
	inter := half
	if groups > 0 {
		inter = score.TopologyOf((max(nodes, 1)-1)/groups+1, groups)
	}
	switch {
	case memory < 0:
		memory = half
	case sameNUMA:
		memory = min(model.One, (6*min(memory, model.One)+2)/5)
	}
	if nodes <= 1 {
		return (3*inter + 7*memory + 5) / 10
	}
	return (7*inter + 3*memory + 5) / 10
}

// backlogHours is what one allocation adds to the backlog: nodes times the whole
// hours of its walltime, 24 when it has none; reactive work counts its nodes twice
// over.
func backlogHours(kind model.Kind, nodes int32, walltime model.Duration) int64 {
	switch {
	case kind == model.Reactive:
		return int64(nodes) * int64(nodes) * 24
	case kind == model.Service || walltime == model.Forever:
		return int64(nodes) * 24
	}
	return int64(nodes) * int64(walltime/model.Hour)
}

// backlogOf is f6, of sums of backlogHours.
func backlogOf(queued, running int64) model.Fixed {
	return min(model.One, model.Ratio(max(queued, 0), max(running, 1)))
}

// checkpointOf is f8: by constants.
func checkpointOf(kind model.Checkpoint) model.Fixed { return score.CheckpointOf(kind, 0, 0) }

// conformanceOf is f9: largest/nodes without a cap (but for that of score.Values),
// where largest counts all free nodes of the largest conformance group of the
// cluster, whether the job may use them or not. Negative when that is not known:
// one half.
func conformanceOf(largest, nodes int32) model.Fixed {
	switch {
	case largest < 0:
		return half
	case nodes <= 0:
		return model.One
	}
	return min(model.Ratio(int64(largest), int64(nodes)), highest)
}
