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
func (s *Core) clashes(l *lane) bool {
	for _, ref := range l.flying {
		if s.contested(&s.jobs[ref].placement) {
			return true
		}
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.lane == l && s.contested(&x.gained) {
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
func (s *Core) leaves(ref model.Ref) { s.jobs[ref].walked = s.walk }

// stay calls f with the placement of everybody seen by l who is not past, and with what
// its services gain by proposals in flight.
func (s *Core) stay(l *lane, f func(*model.Placement)) {
	for _, refs := range [...][]model.Ref{s.active, l.flying} {
		for _, ref := range refs {
			if j := &s.jobs[ref]; j.walked != s.walk {
				f(&j.placement)
			}
		}
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.lane == l {
			f(&x.gained)
		}
	}
}

// giveIn gives the nodes of ref back in the forecast, but for those that others
// who clash with it still hold.
func (s *Core) giveIn(forecast *place.Free, l *lane, ref model.Ref, clashes bool) {
	forecast.Give(&s.jobs[ref].placement)
	if clashes {
		s.leaves(ref)
		s.stay(l, forecast.Take)
	}
}

// comesFree writes into s.extra the nodes of ref that will take work again when
// it leaves.
func (s *Core) comesFree(l *lane, ref model.Ref, clashes bool) {
	clear(s.extra)
	for _, w := range s.jobs[ref].placement.Words {
		s.extra[w.Word] |= w.Mask & s.ready[w.Word]
	}
	if clashes {
		s.leaves(ref)
		s.stay(l, func(p *model.Placement) {
			for _, w := range p.Words {
				s.extra[w.Word] &^= w.Mask
			}
		})
	}
}
