package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// pending is a proposal on its way to the platform.
type pending struct {
	autoscale.Proposal
	used bool // its place is taken
}

// propose sends a proposal to the platform, which answers later, or in the next round of
// the instant.
func (s *Sim) propose(now model.Time, p autoscale.Proposal) {
	if p.Verb == autoscale.Cancel {
		for i := range s.pending {
			if s.pending[i].used && s.pending[i].Seq == p.Seq {
				s.pending[i].Verb = autoscale.Cancel
			}
		}
		if s.host != nil {
			s.host.withdraw(p.Seq)
		}
		return
	}
	s.out.Proposals++
	i := 0
	for i < len(s.pending) && s.pending[i].used {
		i++
	}
	if i == len(s.pending) {
		s.pending = append(s.pending, pending{})
	}
	s.pending[i] = pending{p, true}
	s.push(now.Add(s.cfg.Supply.Latency), des.RankQuorum, int32(i), 0)
}

// answer carries a proposal out and tells how it went.
func (s *Sim) answer(now model.Time, i int32) {
	p := s.pending[i].Proposal
	s.pending[i].used = false
	f := autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Entity: p.Entity, Outcome: autoscale.Accepted}
	source := draw.New(s.cfg.Draws.Seed, errorStream, s.results, 0)
	s.results++
	switch {
	case p.Verb == autoscale.Cancel:
		f.Outcome = autoscale.Superseded
	case source.Bool(s.cfg.Faults.Error):
		f.Outcome = autoscale.Errored
		s.out.Errored++
	default:
		if !s.carry(now, p, &f) {
			return // the cluster will
		}
		if f.Outcome == autoscale.Rejected {
			s.out.Rejected++
		}
	}
	s.facts = append(s.facts, f)
	s.tell(now)
}

// carry does what a proposal asks for, as far as it can be done. It says whether the result
// is known.
func (s *Sim) carry(now model.Time, p autoscale.Proposal, f *autoscale.Fact) (answered bool) {
	size := s.fleet.size()
	by, target := p.N, size+p.N
	if p.Verb == autoscale.SetReplicas {
		by, target = p.N-size, p.N
	}
	switch p.Verb {
	case autoscale.Scale, autoscale.SetReplicas:
		if s.host == nil {
			by = s.resize(now, by)
		} else if by, answered = s.host.resize(now, &p, by); !answered {
			return false
		}
		if f.N = by; p.Verb == autoscale.SetReplicas {
			f.N = size + by
		}
		if by == 0 && target != size {
			f.Outcome = autoscale.Rejected
		}
	case autoscale.Drain:
		i := int32(p.Entity)
		if i < 0 || int(i) >= len(s.fleet.list) || !s.removable(i) {
			f.Outcome = autoscale.Rejected
			return true
		}
		s.leave(now, i)
		f.N = -1
		s.out.Downs++
	default:
		f.Outcome = autoscale.Rejected
	}
	return true
}

// resize changes the size as far as the limit and the free rooms allow, and returns by how
// much.
func (s *Sim) resize(now model.Time, by int64) int64 {
	done := int64(0)
	if by > 0 {
		if s.cfg.Supply.Limit > 0 {
			by = min(by, s.cfg.Supply.Limit-s.fleet.held())
		}
		for ; done < by; done++ {
			s.order(now)
		}
		if done > 0 {
			s.out.Ups++
		}
		return max(done, 0)
	}
	for ; done > by; done-- {
		i, ok := s.leaving()
		if !ok {
			break
		}
		s.leave(now, i)
	}
	if done < 0 {
		s.out.Downs++
	}
	return done
}

// removable says whether a replica may be taken away: none that drains already, and no
// occupied room.
func (s *Sim) removable(i int32) bool {
	switch s.fleet.list[i].state {
	case autoscale.Starting, autoscale.Ready:
		return true
	case autoscale.Busy:
		return s.cfg.Kind != Rooms
	}
	return false
}

// leaving is the replica that goes first: one that still starts, then the youngest.
func (s *Sim) leaving() (best int32, ok bool) {
	for i := range s.fleet.list {
		if !s.removable(int32(i)) {
			continue
		}
		if !ok {
			best, ok = int32(i), true
			continue
		}
		a, b := &s.fleet.list[i], &s.fleet.list[best]
		starts, other := a.state == autoscale.Starting, b.state == autoscale.Starting
		if starts && !other || starts == other && a.ordinal > b.ordinal {
			best = int32(i)
		}
	}
	return best, ok
}
