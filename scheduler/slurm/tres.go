package slurm

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
)

// What PriorityWeightTRES gives weights to, in the order of Weights.TRES.
const (
	tresNode = iota
	tresCPU
	tresMemory
	tresGPU
	numTRES
)

// tresParts answers which parts of what its partition has a job asks for.
type tresParts struct {
	whole [][numTRES]int64 // by partition, the last of all nodes
	parts [numTRES]multifactor.Part
}

func newTRESParts(s *model.Site) tresParts {
	t := tresParts{whole: make([][numTRES]int64, len(s.Partitions)+1)}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		has := [numTRES]int64{tresNode: 1, tresCPU: int64(n.CPUs), tresMemory: n.Memory, tresGPU: int64(n.GPUs)}
		for p := range t.whole {
			if p < len(s.Partitions) && !s.Partitions[p].Nodes.Has(model.NodeID(i)) {
				continue
			}
			for k := range has {
				t.whole[p][k] += has[k]
			}
		}
	}
	return t
}

// of is the parts that a job asks for; they are overwritten by the next call. Memory that it does not ask for is that of the nodes it
// asks for, as Slurm has it without DefMemPerCPU and DefMemPerNode.
func (t *tresParts) of(j *job) []multifactor.Part {
	whole := &t.whole[len(t.whole)-1]
	if j.Partition >= 0 {
		whole = &t.whole[j.Partition]
	}
	times := int64(max(j.NodesMin, 1)) // of what one node gives
	asked := [numTRES]int64{tresNode: times, tresCPU: j.cpus, tresGPU: int64(j.usage.GPUs)}
	switch {
	case j.Memory > 0 && j.Tasks > 0:
		asked[tresMemory] = j.Memory * int64(j.Tasks)
	case j.Memory > 0:
		asked[tresMemory] = j.Memory * times
	case whole[tresNode] > 0:
		asked[tresMemory] = whole[tresMemory] / whole[tresNode] * times
	}
	for k := range asked {
		t.parts[k] = multifactor.Part{Amount: asked[k], Whole: whole[k]}
	}
	return t.parts[:]
}
