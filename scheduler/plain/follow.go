package plain

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Follow takes in what another core has proposed in a pass at now over the same facts: what it
// has in flight is in flight here too, and the answers are observed as those to own proposals.
// So a core of another policy can take over at any instant: the first Plan of its own goes by what
// is committed and in flight, and by no reservation of the other core. It is called at every pass
// of that, also where nothing is proposed.
func (c *Core) Follow(now model.Time, proposals []model.Proposal) {
	for i := range proposals {
		p := &proposals[i]
		j := &c.jobs[p.Ref]
		c.dequeue(p.Ref)
		c.view.Hold(&p.Placement)
		j.placement = c.pool.Copy(&p.Placement)
		j.phase, j.predicted = inFlight, c.leaves(now, j)
		c.ends.Insert(j.predicted, p.Ref, j.need)
		c.seq = p.Seq
	}
	c.q.Tidy()
	// What a pass would look at is found anew when there is one.
	c.followed, c.fresh, c.cons.agenda = true, c.fresh[:0], c.cons.agenda[:0]
}

// takeOver is before the first pass of a core that has followed another.
func (c *Core) takeOver(now model.Time) {
	c.followed, c.full = false, true
	if c.cfg.Backfill != order.Conservative {
		return
	}
	k := &c.cons
	k.profile.Reset(now, c.view.Total())
	k.agenda, k.fresh, k.planned, k.stale, k.lost = k.agenda[:0], k.fresh[:0], 0, true, false
	for ref := range c.jobs {
		j := &c.jobs[ref]
		switch j.phase {
		case waiting:
			c.note(step{kind: stepInsert, ref: model.Ref(ref)})
		case inFlight, withdrawn, running:
			if j.predicted > now { // or it is overdue, which a pass sees
				k.profile.Add(now, j.predicted, -j.need)
			}
		}
	}
	//detlint:total no two jobs have one id
	slices.SortFunc(k.agenda, func(a, b step) int { return cmp.Compare(c.jobs[a.ref].ID, c.jobs[b.ref].ID) })
}
