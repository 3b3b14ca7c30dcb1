package slurm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
)

// TestTRESAreOfThePartition: what a job asks for is weighed as a part of what its partition has, and of all nodes without one.
func TestTRESAreOfThePartition(t *testing.T) {
	node := model.Node{CPUs: 8, Memory: 1000, GPUs: 2}
	s := &model.Site{Nodes: []model.Node{node, node, node, node}, Partitions: []model.Partition{{Nodes: model.NewNodeSet(4)}}}
	s.Partitions[0].Nodes.Add(1)
	s.Partitions[0].Nodes.Add(2)
	parts := newTRESParts(s)
	requested := func(partition model.PartitionID, memory int64, tasks int32) []multifactor.Part {
		a := &model.Allocation{Partition: partition, NodesMin: 2, Tasks: tasks, Amounts: model.Amounts{CPUs: 3, Memory: memory}}
		return append([]multifactor.Part{}, parts.of(&job{Allocation: a, cpus: 6, usage: quota.ResourceUsage{GPUs: 1}})...)
	}
	require.Equal(t, []multifactor.Part{{Amount: 2, Whole: 2}, {Amount: 6, Whole: 16}, {Amount: 200, Whole: 2000}, {Amount: 1, Whole: 4}}, requested(0, 100, 0))
	require.Equal(t, []multifactor.Part{{Amount: 2, Whole: 4}, {Amount: 6, Whole: 32}, {Amount: 200, Whole: 4000}, {Amount: 1, Whole: 8}}, requested(-1, 100, 0))
	require.Equal(t, int64(600), requested(0, 100, 6)[tresMemory].Amount, "of each task")
	require.Equal(t, int64(2000), requested(0, 0, 0)[tresMemory].Amount, "that of its nodes, where it asks for none")

	weights := &multifactor.Weights{TRES: []int32{0, 1600, 0, 0}, MaxAge: model.Day}
	p := newPriorities(&Config{Site: s, Weights: weights, Options: Defaults()})
	a := &model.Allocation{Partition: 0, NodesMin: 1, QOS: -1, Tenant: -1}
	require.Equal(t, int64(800), p.of(&job{Allocation: a, cpus: 8, assoc: -1}, 0))
}
