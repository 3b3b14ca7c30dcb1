package site

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// A scheduler that begins in the middle of a log may be told what was consumed before:
// it is on the books then as if the scheduler had been there.

// consumed is what an attempt of before the beginning held, and when.
type consumed struct {
	claim    quota.Claim
	assoc    int32
	units    int64 // of Slurm's usage
	from, to model.Time
}

// Recall tells that an allocation held so many nodes over [from, to), before the
// beginning. It counts from Remember on.
func (s *Core) Recall(a *model.Allocation, nodes int32, from, to model.Time) {
	if from >= to {
		return
	}
	c := consumed{claim: claimOf(a, s.kindOf(a), nodes), from: from, to: to}
	if s.shares != nil {
		c.assoc = s.shares.join(a.Tenant, a.User, len(s.site.Tenants))
		c.units = s.usageOf(&c.claim)
	}
	s.recalled = append(s.recalled, c)
}

// Remember books all that was recalled, as of now: the accounting ticks of before have
// frozen what they would have. It is to be called once, before any job starts. Cost: n log n.
func (s *Core) Remember(now model.Time) {
	type change struct {
		at   model.Time
		of   int
		ends bool
	}
	list := make([]change, 0, 2*len(s.recalled))
	for i := range s.recalled {
		c := &s.recalled[i]
		list = append(list, change{c.from, i, false}, change{min(c.to, now), i, true})
	}
	slices.SortFunc(list, func(a, b change) int { //detlint:total a change is the begin or the end of one attempt
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of, b.of)) // the begin is before the end by its instant
	})
	if s.shares != nil {
		s.shares.settle()
	}
	last := s.ledger.LastTick(now)
	frozen := false
	for _, x := range list {
		if x.at >= last && !frozen {
			s.freezeBooks(last)
			frozen = true
		}
		s.booked(&s.recalled[x.of], x.at, x.ends)
	}
	if len(list) > 0 && !frozen {
		s.freezeBooks(last)
	}
	s.recalled = nil
}

// OutOfTurn makes every vCluster look at its queue in the next plans, whatever its cycle,
// until it is called off; these passes are not those of a tick. Jobs that ran before the
// beginning are placed so.
func (s *Core) OutOfTurn(on bool) { s.outOfTurn = on }

// booked charges for the begin of an attempt, or its end.
func (s *Core) booked(c *consumed, at model.Time, ends bool) {
	sign := int64(1)
	if ends {
		s.ledger.Stop(&c.claim, at)
		sign = -1
	} else {
		s.ledger.Start(&c.claim, at)
	}
	if s.shares != nil {
		s.shares.tree.Use(c.assoc, sign*c.units, at)
	}
}

// freezeBooks is an accounting tick.
func (s *Core) freezeBooks(at model.Time) {
	s.ticks++
	s.ledger.Freeze(at)
	if s.shares != nil {
		s.shares.settle()
		s.shares.tree.Freeze(at)
	}
}
