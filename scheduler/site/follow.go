package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/elastic"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/wake"
)

// Follow takes in what another core has proposed in a pass at now over the same facts: what it
// has in flight is in flight here too, and the answers are observed as those to own proposals.
// So a core of other policies can take over at any instant: the first Plan of its own goes by what
// is committed and in flight, and by no reservation and no promise of the other core. It is called
// at every pass of that, also where nothing is proposed.
func (s *Core) Follow(now model.Time, proposals []model.Proposal) {
	s.advance(now)
	if s.nextDue <= now {
		s.admitDue()
	}
	for i := range proposals {
		p := &proposals[i]
		s.seq = p.Seq
		switch p.Kind {
		case model.ProposeAssign:
			followStart(s, now, p)
		case model.ProposePreempt:
			followPreemption(s, p)
		case model.ProposeResize:
			followResize(s, now, p)
		case model.ProposeCancel: // the answer takes the job out, whatever it waits for here
			s.unwanted = slices.DeleteFunc(s.unwanted, func(u unwantedJob) bool { return u.ref == p.Ref })
		}
	}
	// What a pass would look at is found anew when there is one.
	s.board.RaiseAll(wake.Site)
	for i := range s.vclusters {
		s.vclusters[i].newcomers = s.vclusters[i].newcomers[:0]
	}
}

// followStart counts the nodes of a start as taken.
func followStart(s *Core, now model.Time, proposal *model.Proposal) {
	j := &s.jobs[proposal.Ref]
	if j.phase == unwanted { // a limit kept it out here, and not there
		s.unwanted = slices.DeleteFunc(s.unwanted, func(u unwantedJob) bool { return u.ref == proposal.Ref })
		s.enter(proposal.Ref)
	}
	c := &s.buf.choice
	c.nodes.Set(&proposal.Placement)
	c.borrowed = proposal.Borrowed
	j.usage = usageOf(j.Allocation, j.kind, proposal.Placement.Nodes())
	p := s.viewOf(j.queue, now)
	p.proposals().occupy(proposal.Ref, c)
	j.seq = proposal.Seq
}

// followPreemption keeps the nodes of the victim for the job that it is to leave them to.
func followPreemption(s *Core, proposal *model.Proposal) {
	v := &s.jobs[proposal.Victim]
	v.leaving, v.preemptSeq = true, proposal.Seq
	h := s.holds.Find(proposal.Ref)
	if h == nil {
		h = s.holds.Add(proposal.Ref, len(s.site.Nodes))
	}
	h.Victims = append(h.Victims, reserve.Victim{Ref: proposal.Victim, Seq: proposal.Seq})
	v.placement.AddTo(h.Nodes)
}

// followResize counts what a service gains as taken.
func followResize(s *Core, now model.Time, proposal *model.Proposal) {
	j := &s.jobs[proposal.Ref]
	p := s.viewOf(j.queue, now)
	x := p.services().newResize(proposal.Ref)
	x.Reason = proposal.Reason
	gained := &s.buf.choice.nodes
	elastic.Less(&proposal.Placement, &j.placement, gained)
	if gained.Nodes() > 0 {
		p.services().fitsAt(x, gained, proposal.Placement.Nodes()) // which works out what it takes
	}
	x.Whole.Set(&proposal.Placement)
	s.reserveMore(x, 1)
	if x.Nodes > 0 {
		p.qs.free.Take(&x.Gained)
	}
	j.resizing, x.Seq = true, proposal.Seq
}
