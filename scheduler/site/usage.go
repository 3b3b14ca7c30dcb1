package site

import "orrery/scheduler/model"

// A scheduler that begins in the middle of a log is told what was used before, in order
// of time: it counts then as if the scheduler had been there.

// usedBefore charges for the begin of an attempt from before this scheduler began, or for
// its end. The accounting ticks until now have frozen what they would have.
func (s *Core) usedBefore(f *model.Fact) {
	s.define(f.Alloc, f.Constraint)
	if s.usageTold = true; f.At >= s.ledger.LastTick(s.now) {
		s.freezeUsage()
	}
	c := usageOf(f.Alloc, s.kindOf(f.Alloc), f.Alloc.NodesMin)
	assoc := s.ledger.Associate(f.Alloc.Tenant, f.Alloc.User)
	if f.Kind == model.FactUsageBegan {
		s.ledger.Begin(&c, assoc, f.At)
	} else {
		s.ledger.End(&c, assoc, f.At)
	}
}

// freezeUsage is the last accounting tick up to now, once, if any usage was told of.
func (s *Core) freezeUsage() {
	if s.usageTold && !s.usageFrozen {
		s.usageFrozen = true
		s.ledger.Tick(s.ledger.LastTick(s.now))
	}
}
