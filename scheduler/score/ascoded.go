package score

import "orrery/scheduler/model"

// CodedWaitOf is f2 of the as-coded mode: whole seconds count.
func CodedWaitOf(waited, reference model.Duration) model.Fixed {
	return WaitOf(waited-waited%model.Second, reference)
}

// CodedFairShareOf is f3 of the as-coded mode, in which a burst of 1.5 allows
// 150 % on top of the share.
func CodedFairShareOf(share, burst, usage, utilisation model.Fixed) model.Fixed {
	return fairShare(share, burst, usage, utilisation)
}

// CodedTopologyOf is f4 of the as-coded mode: β inter + (1-β) memory, with β 0.3
// for one node and 0.7 for more. inter is 1 - ceil(nodes/groups)/groups, at
// least 0, in which the number of groups stands where their size is meant; one
// half without groups. memory is the mean locality of the nodes, negative when
// there is no figure: one half; sameNUMA makes it a fifth better, up to 1.
func CodedTopologyOf(nodes, groups int32, memory model.Fixed, sameNUMA bool) model.Fixed {
	inter := half
	if groups > 0 {
		inter = TopologyOf((max(nodes, 1)-1)/groups+1, groups)
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

// CodedBacklogHours is what one allocation adds to the backlog of the as-coded
// mode: nodes times the whole hours of its walltime, 24 when it has none;
// reactive work counts its nodes twice over.
func CodedBacklogHours(kind model.Kind, nodes int32, walltime model.Duration) int64 {
	switch {
	case kind == model.Reactive:
		return int64(nodes) * int64(nodes) * 24
	case kind == model.Service || walltime == model.Forever:
		return int64(nodes) * 24
	}
	return int64(nodes) * int64(walltime/model.Hour)
}

// CodedBacklogOf is f6 of the as-coded mode, of sums of CodedBacklogHours.
func CodedBacklogOf(queued, running int64) model.Fixed {
	return min(model.One, model.Ratio(max(queued, 0), max(running, 1)))
}

// CodedCheckpointOf is f8 of the as-coded mode: by constants.
func CodedCheckpointOf(kind model.Checkpoint) model.Fixed {
	switch kind {
	case model.CheckpointAuto:
		return model.Ratio(1, 1+autoMinutes)
	case model.CheckpointManual:
		return model.Ratio(1, 1+manualMinutes)
	}
	return 0
}

// CodedConformanceOf is f9 of the as-coded mode: largest/nodes without a cap (but
// for that of Values), where largest counts all free nodes of the largest
// conformance group of the cluster, whether the job may use them or not.
// Negative when that is not known: one half.
func CodedConformanceOf(largest, nodes int32) model.Fixed {
	switch {
	case largest < 0:
		return half
	case nodes <= 0:
		return model.One
	}
	return min(model.Ratio(int64(largest), int64(nodes)), 1<<20*model.One)
}
