package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
)

// tresOf are nodes, CPUs, memory and GPUs, as parts of what the nodes have that
// the job's partition lets it use: those that a request does not count are as
// many as its nodes, and GPUs count for who may use nodes with GPUs only.
func (s *Core) tresOf(j *job) (parts [NumTRES]multifactor.Part) {
	for int(j.Partition)+1 >= len(s.tres) {
		s.tres = append(s.tres, s.wholeOf(model.PartitionID(len(s.tres))-1))
	}
	whole := &s.tres[j.Partition+1]
	c, n := s.constraints[j.Constraint], int64(j.NodesMin)
	parts[TRESNode] = multifactor.Part{Amount: n, Whole: whole[TRESNode]}
	asked := [NumTRES]int64{TRESCPU: int64(c.CPUs), TRESMemory: c.Memory, TRESGPU: int64(s.gpusAskedBy(j))}
	for i := TRESCPU; i < NumTRES; i++ {
		switch {
		case asked[i] > 0:
			parts[i] = multifactor.Part{Amount: n * asked[i], Whole: whole[i]}
		case i != TRESGPU:
			parts[i] = parts[TRESNode]
		}
	}
	return parts
}

// gpusAskedBy is how many GPUs each node of j has at least, or its own part.
func (s *Core) gpusAskedBy(j *job) int32 {
	if j.Divides() {
		return j.Cards()
	}
	return j.kind.fewest
}

// wholeOf is what the nodes of a partition have, or all nodes for -1.
func (s *Core) wholeOf(p model.PartitionID) (whole [NumTRES]int64) {
	for i := range s.site.Nodes {
		if p >= 0 && !s.site.Partitions[p].Nodes.Has(model.NodeID(i)) {
			continue
		}
		n := &s.site.Nodes[i]
		whole[TRESNode]++
		whole[TRESCPU] += int64(n.CPUs)
		whole[TRESMemory] += n.Memory
		whole[TRESGPU] += int64(n.GPUs)
	}
	return whole
}
