package site

import "orrery/scheduler/model"

// A scheduler that begins in the middle of a log is told what was used before, in order
// of time: it counts then as if the scheduler had been there.

// usedBefore charges for the begin of an attempt from before this scheduler began, or for
// its end. The accounting ticks until now have frozen what they would have.
func (s *Core) usedBefore(f *model.Fact) {
	s.define(f.Alloc, f.Constraint)
	if s.usage = true; f.At >= s.book.LastTick(s.now) {
		s.freezeUsage()
	}
	c := s.claimOf(f.Alloc, s.kindOf(f.Alloc), f.Alloc.NodesMin)
	sign := int64(1)
	if f.Kind == model.FactUsageBegan {
		s.book.Start(&c, f.At)
	} else {
		s.book.Stop(&c, f.At)
		sign = -1
	}
	if s.shares != nil {
		assoc := s.shares.join(f.Alloc.Tenant, f.Alloc.User, len(s.site.Tenants))
		s.shares.settle()
		s.shares.tree.Use(assoc, sign*s.usageOf(&c), f.At)
	}
}

// freezeUsage is the last accounting tick up to now, once, if any usage was told of.
func (s *Core) freezeUsage() {
	if s.usage && !s.usageFrozen {
		s.usageFrozen = true
		s.freezeBooks(s.book.LastTick(s.now))
	}
}

// freezeBooks is an accounting tick.
func (s *Core) freezeBooks(at model.Time) {
	s.ticks++
	s.book.Freeze(at)
	if s.shares != nil {
		s.shares.settle()
		s.shares.tree.Freeze(at)
	}
}
