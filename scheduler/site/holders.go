package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// A proposal in flight may name nodes that another vCluster was granted meanwhile.
// Such a node comes free when all who hold it have left, so whoever walks the
// predicted ends of a vCluster keeps a mark on those that are past.

// clashes says whether a proposal of l in flight names nodes that others hold, or
// might: shares of nodes are not looked at closely. Cost: the nodes in flight.
func (s *Core) clashes(qs *queueState) bool {
	for _, ref := range qs.inFlight {
		if s.contested(&s.jobs[ref].placement) {
			return true
		}
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.queue == qs && s.contested(&x.gained) {
			return true
		}
	}
	return false
}

// contested says whether nodes proposed are held by others, or might be.
func (s *Core) contested(p *model.Placement) bool {
	idle := s.free.Idle()
	for _, w := range p.Words {
		if w.Mask&^idle[w.Word] != 0 {
			return true
		}
	}
	return len(p.Shares) > 0
}

// leaves marks ref as past in the walk of its ends that began last.
func (s *Core) markPast(ref model.Ref) { s.jobs[ref].pastWalk = s.walk }

// stay calls f with the placement of everybody seen by l who is not past, and with what
// its services gain by proposals in flight.
func (s *Core) eachStaying(qs *queueState, f func(*model.Placement)) {
	for _, refs := range [...][]model.Ref{s.active, qs.inFlight} {
		for _, ref := range refs {
			if j := &s.jobs[ref]; j.pastWalk != s.walk {
				f(&j.placement)
			}
		}
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.queue == qs {
			f(&x.gained)
		}
	}
}

// giveIn gives the nodes of ref back in the forecast, but for those that others
// who clash with it still hold.
func (s *Core) giveInForecast(forecast *place.Free, qs *queueState, ref model.Ref, clashes bool) {
	forecast.Give(&s.jobs[ref].placement)
	if clashes {
		s.markPast(ref)
		s.eachStaying(qs, forecast.Take)
	}
}

// comesFree writes into s.extra the nodes of ref that will take work again when
// it leaves.
func (s *Core) comesFree(qs *queueState, ref model.Ref, clashes bool) {
	clear(s.extra)
	for _, w := range s.jobs[ref].placement.Words {
		s.extra[w.Word] |= w.Mask & s.ready[w.Word]
	}
	if clashes {
		s.markPast(ref)
		s.eachStaying(qs, func(p *model.Placement) {
			for _, w := range p.Words {
				s.extra[w.Word] &^= w.Mask
			}
		})
	}
}
