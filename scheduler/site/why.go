package site

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/notes"
	"orrery/scheduler/site/internal/reserve"
)

// Why a job waits is a question that is asked after a pass. It is answered by the tests of a pass, each job by itself
// on what is committed and in flight now: no other starts before it. What a pass would change is put back.

// Answers implements scheduler.Questions. Cost: the tests of the jobs and, once for a vCluster until the next Observe or
// Plan, those of the jobs before them up to the first blocked one, if any has room; with victims the running jobs as well.
func (s *Core) Answers(refs []model.Ref, now model.Time, victims bool, dst []scheduler.Answer) []scheduler.Answer {
	var a *inquiry // into the vCluster of the job before, nil for none
	for _, ref := range refs {
		j := &s.jobs[ref]
		if !isAsked(j) {
			dst = append(dst, aside(s, ref, now))
			continue
		}
		if a != nil && a.pass.qs != j.queue {
			a.close()
			a = nil
		}
		if a == nil {
			a = openInquiry(s, j.queue, now)
		}
		dst = append(dst, a.answer(ref, victims))
	}
	if a != nil {
		a.close()
	}
	return dst
}

// isAsked says whether the tests of a pass are asked about a job: it is in a queue, or a service that may preempt others.
func isAsked(j *job) bool { return j.phase == queued || j.phase == running && j.Scaled }

// aside is the answer for a job that is in no queue.
func aside(s *Core, ref model.Ref, now model.Time) scheduler.Answer {
	j, out := &s.jobs[ref], scheduler.Answer{Behind: -1}
	switch j.phase {
	case dependent:
		out.Reason = model.ReasonDependency
		if on, _, ok := s.graph.Blocker(ref); ok {
			out.Behind = on
		}
	case early:
		switch {
		case j.onHold:
			out.Reason = model.ReasonHeld
		case j.Eligible > now: // else the next plan lets it into the queue
			out.Reason = model.ReasonNotEligible
		}
	case unwanted:
		out.Reason = j.why
	}
	return out
}

// answer is the answer for a job of the queue, or for a service.
func (a *inquiry) answer(ref model.Ref, victims bool) scheduler.Answer {
	out, blocked := scheduler.Answer{Behind: -1}, true
	if a.pass.core.jobs[ref].phase == queued {
		out.Reason, blocked = a.reason(ref)
		out.Behind, _ = a.inTheWay(ref, out.Reason)
	}
	if blocked && victims {
		out.NoVictims = a.noVictims(ref)
	}
	return out
}

// reason is that of the first test that a job of the queue fails, in the order in which a pass makes them; blocked says that it is
// for want of room.
func (a *inquiry) reason(ref model.Ref) (r model.Reason, blocked bool) {
	p := &a.pass
	j := &p.core.jobs[ref]
	if a.coded != nil {
		x := ascoded.Job{Allocation: j.Allocation, Ref: ref, Left: j.left}
		return a.coded.Why(&x, p.now), false
	}
	if r := a.held(ref); r != model.ReasonNone {
		return r, false
	}
	if r := a.room(ref, &a.found); r != model.ReasonNone {
		return r, true
	}
	if r := p.core.overLimits(j, &a.found.nodes, 0); r != model.ReasonNone { // which are known now
		return r, false
	}
	if !a.mayPass(ref) {
		return model.ReasonPriority, false
	}
	return model.ReasonNone, false
}

// held is what keeps a job from starting, whatever is free.
func (a *inquiry) held(ref model.Ref) model.Reason {
	c := order.Candidate{Ref: ref}
	if a.pass.qs.policy.MinScore > 0 {
		c.Key = a.pass.ranking().keyOf(&a.pass.core.jobs[ref])
	}
	return a.pass.gate().held(c)
}

// room selects nodes for a job, or says what is short.
func (a *inquiry) room(ref model.Ref, found *choice) model.Reason {
	p := &a.pass
	j, row := &p.core.jobs[ref], p.qs.waiting.Row(ref)
	if free := p.qs.waiting.Free(row.Size); free < row.Need && !(row.Borrows && free+p.borrowable >= row.Need) {
		return model.ReasonResources
	}
	q := p.room().searchNow(ref)
	if !p.room().findNodes(j, &q, found) {
		return p.room().short(j, &q)
	}
	return p.core.overCap(j, &found.nodes)
}

// mayPass says whether a job that has room on a.found may start there although one before it is blocked.
func (a *inquiry) mayPass(ref model.Ref) bool {
	p := &a.pass
	switch {
	case p.rule.looksBehind() && !p.rule.reserves():
		return true
	case a.plans():
		return a.planned(ref)
	}
	first := a.ahead()
	if first < 0 || !a.before(first, ref) {
		return true
	}
	if !p.rule.looksBehind() {
		return false
	}
	j := &p.core.jobs[ref]
	return p.easy().outOfTheWay(p.now.Add(j.left)) || p.qs.reservation.LeavesRoom(&a.found.nodes, p.easy().drawn(j, &a.found.nodes))
}

// plans says whether a pass now would plan, or has done so.
func (a *inquiry) plans() bool {
	p := &a.pass
	return p.qs.policy.plans() && (a.was.plan.Planned == p.now || a.nextPlan() <= p.now)
}

// nextPlan is when the vCluster may plan.
func (a *inquiry) nextPlan() model.Time {
	a.pass.qs.plan.Planned = a.was.plan.Planned
	return a.pass.planned().nextPlan()
}

// ahead is the first job of the queue that a job with room may have to wait for, -1 for none: the first blocked one, or
// in a pass that plans the first that no limit holds, for it has a reservation before all others.
func (a *inquiry) ahead() model.Ref {
	if a.foundFirst {
		return a.first
	}
	a.foundFirst, a.first = true, -1
	p, plans := &a.pass, a.plans()
	var best order.Candidate
	h := p.ranking().heap(nil)
	for i := range p.qs.waiting.Jobs {
		c := a.candidate(p.qs.waiting.Jobs[i].Ref)
		if a.first >= 0 && !h.Before(&c, &best) || a.held(c.Ref) != model.ReasonNone || !plans && a.room(c.Ref, &a.others) == model.ReasonNone {
			continue
		}
		a.first, best = c.Ref, c
	}
	p.qs.reservation.Ref = a.first
	return a.first
}

// candidate is a job of the queue as a pass orders it.
func (a *inquiry) candidate(ref model.Ref) order.Candidate {
	return order.Candidate{Key: a.pass.ranking().keyOf(&a.pass.core.jobs[ref]), Tier: a.pass.ranking().rankTier(ref), Ref: ref}
}

// before says whether one job comes before another in the queue.
func (a *inquiry) before(first, second model.Ref) bool {
	h, x, y := a.pass.ranking().heap(nil), a.candidate(first), a.candidate(second)
	return h.Before(&x, &y)
}

// planned says whether a pass that plans would test a job, and start it beside the reservations that stand.
func (a *inquiry) planned(ref model.Ref) bool {
	p := &a.pass
	if a.lacksTest(ref) {
		return false
	}
	plan, j := &p.qs.plan, &p.core.jobs[ref]
	a.layOut()
	at, nodes := plan.Slot(ref)
	had := plan.Lift(ref, j.left, j.needs)
	starts := plan.Earliest(p.now, p.now, j.left, j.kind.mask, j.NodesMin, func(_, until model.Time, free model.NodeSet) bool {
		return p.planned().startsIn(ref, until, free, &a.found.nodes)
	})
	if had >= 0 {
		plan.Set(had, ref, at, j.left, nodes, j.needs)
	}
	return starts == p.now
}

// layOut lays the plan of the vCluster out as it is now.
func (a *inquiry) layOut() {
	if !a.laidOut {
		a.laidOut = true
		a.pass.qs.plan.CopyFrom(&a.was.plan)
		a.pass.planned().layTimeline()
	}
}

// lacksTest says whether a job is beyond the bounds on the jobs that a pass plans for.
func (a *inquiry) lacksTest(ref model.Ref) bool {
	p := &a.pass
	most, ofUser := p.qs.policy.Window.Tests, p.qs.policy.MaxUserTests
	if most == 0 && ofUser == 0 {
		return false
	}
	if a.untested == nil {
		a.line = a.line[:0]
		for i := range p.qs.waiting.Jobs {
			c := a.candidate(p.qs.waiting.Jobs[i].Ref)
			c.At = int32(i)
			a.line = append(a.line, c)
		}
		h := p.ranking().heap(nil)
		slices.SortFunc(a.line, func(x, y order.Candidate) int { //detlint:total no job is in the queue twice
			if h.Before(&x, &y) {
				return -1
			}
			return 1
		})
		a.untested = make([]bool, len(a.line))
		p.qs.plan.NextRound()
		for tried, i := 0, 0; i < len(a.line); i++ {
			c := &a.line[i]
			switch {
			case a.held(c.Ref) != model.ReasonNone:
			case most > 0 && tried >= most || !p.qs.plan.MayTest(p.core.jobs[c.Ref].User, ofUser):
				a.untested[c.At] = true
			default:
				tried++
			}
		}
	}
	return a.untested[p.qs.waiting.At(ref)]
}

// inTheWay says which job keeps one of the queue from starting for the reason r, -1 for none,
// and until when, as far as that is known.
func (a *inquiry) inTheWay(ref model.Ref, r model.Reason) (model.JobID, model.Time) {
	p := &a.pass
	s, j := p.core, &p.core.jobs[ref]
	switch r {
	case model.ReasonPriority:
		if first := a.ahead(); first >= 0 && first != ref {
			return s.jobs[first].Job, a.reservedAt(first)
		}
	case model.ReasonReserved:
		if j.Reservation >= 0 && s.site.Reservations[j.Reservation].Outside(p.now, p.now.Add(j.left)) { // whatever is idle
			return -1, s.site.Reservations[j.Reservation].Start
		}
		return notes.Keeper(keptFrom(s, ref), p.qs.free.Idle(), j.kind.mask)
	}
	return -1, model.AbsentTime
}

// reservedAt is the instant of the reservation of the first job of the queue that others wait for.
func (a *inquiry) reservedAt(first model.Ref) model.Time {
	at, p := model.AbsentTime, &a.pass
	switch {
	case p.qs.policy.plans():
		a.layOut()
		at = p.qs.plan.At(first)
	case p.qs.reservation.Known():
		at = p.qs.reservation.At
	}
	if at == model.Never {
		return model.AbsentTime
	}
	return at
}

// keptFrom lists the sets of nodes that are kept from ref now, for jobs first.
func keptFrom(s *Core, ref model.Ref) (kept []notes.Kept) {
	for i := range s.holds {
		if c := &s.holds[i]; c.Ref != ref {
			kept = append(kept, notes.Kept{Nodes: c.Nodes, Keeper: s.jobs[c.Ref].Job, Until: model.AbsentTime})
		}
	}
	j := &s.jobs[ref]
	s.promises.Heeded(ref, j.queue.id, s.now, s.now, s.now.Add(j.left), func(x *reserve.Promise) {
		nodes := slices.Clone(x.Nodes)
		nodes.AndNot(s.home[j.queue.id])
		kept = append(kept, notes.Kept{Nodes: nodes, Keeper: s.jobs[x.Ref].Job, Until: model.AbsentTime})
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
