package site

import (
	"math"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/notes"
)

// note notes a job's reason when it is to be explained and has changed. Cost of a change:
// a selection, and the nodes of the site.
func (s *Core) note(ref model.Ref, r model.Reason) {
	if s.cfg.Explain == nil {
		return
	}
	j := &s.jobs[ref]
	if !s.cfg.Explain(j.Job) {
		return
	}
	behind, until := s.inTheWay(ref, r)
	if !j.note.Update(r, behind) {
		return
	}
	c := notes.Case{
		Site: s.site, Space: s.space, Job: j.Allocation, Ref: ref, Mask: j.kind.mask, Class: j.kind.class, Reason: r, Behind: behind, Until: until,
		Free: j.queue.free, Nodes: &j.placement,
	}
	if r != model.ReasonNone {
		c.Avoid, c.Kept = s.avoids(ref, s.now, s.now.Add(j.left)), s.keptFrom(ref)
		c.Nodes = &model.Placement{}
		if notes.OfNodes(r) {
			s.wouldChoose(j, c.Avoid, c.Nodes)
		}
	}
	out := notes.Of(&c)
	out.Score, out.Scored = s.standing(ref)
	s.notes.Add(out)
}

// noteNoVictims notes why no job is preempted for ref, when it is to be explained and that has
// changed.
func (p *pass) noteNoVictims(ref model.Ref, why scheduler.NoVictims) {
	s := p.core
	if s.cfg.Explain == nil {
		return
	}
	j := &s.jobs[ref]
	if s.cfg.Explain(j.Job) && j.note.UpdateVictims(why) {
		r, behind := j.note.Noted()
		s.notes.Add(scheduler.Note{Job: j.Job, Ref: ref, Reason: r, Behind: behind, Until: model.AbsentTime, NoVictims: why})
	}
}

// noteShortfall notes why no victims were found for ref.
func (p *pass) noteShortfall(ref model.Ref, trigger preempt.Trigger) {
	if p.core.cfg.Explain == nil || !p.core.cfg.Explain(p.core.jobs[ref].Job) {
		return
	}
	t := newTrial(p, ref)
	why := scheduler.VictimsNone
	switch tooMany, protected := preempt.Shortfall(&p.qs.policy.Preemption, trigger, p.core.jobs[ref].Class, holdersFor(p, ref, trigger), &t); {
	case tooMany:
		why = scheduler.VictimsTooMany
	case protected:
		why = scheduler.VictimsProtected
	}
	p.noteNoVictims(ref, why)
}

// notePassedOver notes why no job is preempted for ref, for which that is not tried, if it is
// blocked and to be explained.
func (p *pass) notePassedOver(ref model.Ref) {
	j := &p.core.jobs[ref]
	if p.core.holds.has(ref) || !p.core.cfg.Explain(j.Job) || p.held(order.Candidate{Ref: ref, Key: math.MaxInt64}) != model.ReasonNone {
		return
	}
	if p.choose(ref, &p.core.buf.choice) != model.ReasonNone {
		p.noteShortfall(ref, triggerOf(j))
	}
}

// standing is what a job is ranked by, taken apart; ok is false where it is not.
func (s *Core) standing(ref model.Ref) (e score.Explanation, ok bool) {
	j := &s.jobs[ref]
	qs := j.queue
	switch {
	case j.phase != queued && j.phase != proposed:
	case qs.policy.Ranking == ByScore:
		return qs.by.explain(ref, s.now), true
	case qs.policy.Ranking == ByMultifactor && s.ledger.Complete(): // all users are in the tree
		var tres [NumTRES]multifactor.Part
		in := s.factors(qs, j, s.now, &tres)
		return notes.Points(&qs.policy.Multifactor, &in), true
	}
	return e, false
}

// wouldChoose writes into p the nodes that j would get if nothing but their number
// counted, none when there are too few.
func (s *Core) wouldChoose(j *job, avoid model.NodeSet, p *model.Placement) {
	q := j.queue.query(j, j.NodesMin, avoid)
	asked := pass{core: s, qs: j.queue, now: s.now} // beside the one under way
	asked.borrowable = asked.lendable()
	if !j.queue.free.Select(&q, p) && !asked.borrow(j, &q, p) {
		p.Words, p.Shares = p.Words[:0], p.Shares[:0]
	}
}

// keptFrom lists the sets of nodes that are kept from ref now, for jobs first.
func (s *Core) keptFrom(ref model.Ref) (kept []notes.Kept) {
	for i := range s.holds {
		if c := &s.holds[i]; c.ref != ref {
			kept = append(kept, notes.Kept{Nodes: c.nodes, Keeper: s.jobs[c.ref].Job, Until: model.AbsentTime})
		}
	}
	j := &s.jobs[ref]
	s.promises.heeded(ref, j.queue, s.now, s.now, s.now.Add(j.left), func(x *promise) {
		nodes := slices.Clone(x.nodes)
		nodes.AndNot(s.home[j.queue.id])
		kept = append(kept, notes.Kept{Nodes: nodes, Keeper: s.jobs[x.ref].Job, Until: model.AbsentTime})
	})
	for i := range s.site.Reservations {
		r, id := &s.site.Reservations[i], model.ReservationID(i)
		if !setsAside(r, id, j, s.now, s.now.Add(j.left)) {
			continue
		}
		until := r.End
		if j.Reservation == id && !r.Maintenance { // its own, which has not begun, or is over too soon for it
			until = r.Start
		}
		kept = append(kept, notes.Kept{Nodes: r.Nodes, Keeper: -1, Until: until})
	}
	return kept
}

// inTheWay says which job keeps ref from starting for the reason r, -1 for none,
// and until when, as far as that is known.
func (s *Core) inTheWay(ref model.Ref, r model.Reason) (model.JobID, model.Time) {
	qs := s.jobs[ref].queue
	switch r {
	case model.ReasonPriority:
		if h := &qs.reservation; h.Ref >= 0 && h.Ref != ref {
			return s.jobs[h.Ref].Job, qs.reservedAt()
		}
	case model.ReasonReserved:
		j := &s.jobs[ref]
		if j.Reservation >= 0 && s.site.Reservations[j.Reservation].Outside(s.now, s.now.Add(j.left)) { // whatever is idle
			return -1, s.site.Reservations[j.Reservation].Start
		}
		return notes.Keeper(s.keptFrom(ref), qs.free.Idle(), j.kind.mask)
	case model.ReasonDependency:
		if on, _, ok := s.graph.Blocker(ref); ok {
			return on, model.AbsentTime
		}
	}
	return -1, model.AbsentTime
}

// reservedAt is the instant of the reservation of the first blocked job.
func (qs *queueState) reservedAt() model.Time {
	at := model.AbsentTime
	if qs.policy.plans() {
		at = qs.plan.At(qs.reservation.Ref)
	} else if qs.reservation.Known() {
		at = qs.reservation.At
	}
	if at == model.Never {
		return model.AbsentTime
	}
	return at
}
