package site

import (
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/wake"
)

// newRequestMix is the mix that a vCluster places shares by, nil under policies that do not
// go by one.
func newRequestMix(p *Policy) *place.MixSoFar {
	if !p.LeastFragmentation {
		return nil
	}
	return place.NewMixSoFar()
}

// mix is the one that placements go by, nil for none.
func (qs *queueState) mix() *place.Mix {
	if qs.requests == nil {
		return nil
	}
	return qs.requests.Mix()
}

// countRequest counts what a submitted job asks for. With another mix a pass may find other
// nodes than the last one did, for jobs that start and for those that are promised some.
func countRequest(s *Core, j *job) {
	qs := j.queue
	if qs.requests == nil {
		return
	}
	nodes := min(j.NodesMin, int32(s.space.Nodes())) // one that asks for more can never run
	if qs.requests.Add(j.kind.class, place.ShareOf(j.Allocation), nodes) {
		s.board.Raise(qs.id, wake.Queue)
	}
}
