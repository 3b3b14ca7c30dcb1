package model

import (
	"errors"
	"fmt"
)

// Cluster describes the nodes. A unit is one schedulable processor, or one GPU
// where GPUs are what is shared out.
type Cluster struct {
	// Units of each node, indexed by NodeID; all at least 1.
	Units []int32
	// Whole hands out whole nodes only. All nodes must then have equal Units,
	// and a request for processors is rounded up to nodes.
	Whole bool
}

// UniformCluster is a cluster of n nodes of u units each.
func UniformCluster(n, u int32, whole bool) Cluster {
	c := Cluster{Units: make([]int32, n), Whole: whole || u == 1}
	for i := range c.Units {
		c.Units[i] = u
	}
	return c
}

// Validate says what is wrong with c, or nil.
func (c Cluster) Validate() error {
	if len(c.Units) == 0 {
		return errors.New("cluster: no nodes")
	}
	for i, u := range c.Units {
		if u < 1 {
			return fmt.Errorf("cluster: node %d has %d units, want at least 1", i, u)
		}
		if c.Whole && u != c.Units[0] {
			return fmt.Errorf("cluster: whole nodes must be equal, but node %d has %d units and node 0 has %d", i, u, c.Units[0])
		}
	}
	return nil
}

// Total is the number of units in the cluster.
func (c Cluster) Total() int64 {
	var t int64
	for _, u := range c.Units {
		t += int64(u)
	}
	return t
}
