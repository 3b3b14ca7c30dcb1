package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// query is the search for the nodes of j on n nodes; avoid is what avoids said.
func (qs *queueState) query(j *job, n int32, avoid model.NodeSet) place.Query {
	return qs.search(j.Allocation, j.kind, n, avoid)
}

// search is query for an allocation of a kind that need not be in the system.
func (qs *queueState) search(a *model.Allocation, k *nodeChoice, n int32, avoid model.NodeSet) place.Query {
	return place.Query{
		Class: k.class, Nodes: n, Share: place.ShareOf(a), Topology: a.Topology,
		Sensitive: a.IsSensitive(), Avoid: avoid, ConformanceFirst: qs.mode.conformanceFirst, Mix: qs.mix(),
	}
}

// mix is the one that placements go by, nil for none.
func (qs *queueState) mix() *place.Mix {
	if qs.requests == nil {
		return nil
	}
	return qs.requests.Mix()
}

// room counts the nodes that are free for j, or for what it takes of each.
func (qs *queueState) room(j *job) int32 {
	if j.Divides() {
		return qs.free.CountShares(j.kind.class, place.ShareOf(j.Allocation))
	}
	return qs.free.Count(j.kind.class)
}

// choice is the nodes that a job is to start on.
type choice struct {
	nodes    model.Placement
	borrowed bool // some are of other vClusters
}
