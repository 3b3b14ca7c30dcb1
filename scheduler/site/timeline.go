package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
)

// slot is a reservation of Conservative: the job has these nodes from at on.
type slot struct {
	ref   model.Ref
	at    model.Time
	nodes model.NodeSet
}

// planning is the state of conservative backfilling in a vCluster.
type planning struct {
	slots   []slot
	spare   []model.NodeSet
	planned model.Time // last pass that planned
	tests   []userTests
	due     model.Time
	caps    capLine // in use, with the slots
}

// userTests counts the jobs of a user that a pass has planned for.
type userTests struct {
	user int32
	n    int
}

// passTimeline is the pass under Conservative: the best Depth blocked jobs hold
// reservations on definite nodes, and whoever does not touch them may start. All
// candidates are met in order; reservations of before stand until their own
// job's turn, so that nobody's is moved later by another's.
func (s *Core) passTimeline(qs *queueState, now model.Time, scalingUp []model.Ref) {
	p := &qs.plans
	p.due = model.Never
	if next := s.nextPlan(qs, now); next > now {
		first := len(s.plan.Proposals)
		s.passQueue(qs, now, scalingUp)
		for i := range s.plan.Proposals[first:] {
			if q := &s.plan.Proposals[first+i]; q.Kind == model.ProposeAssign {
				s.unreserve(q.Ref)
			}
		}
		p.due = next
		for i := range p.slots {
			if at := p.slots[i].at; at > now {
				p.due = min(p.due, at)
			}
		}
		return
	}
	if len(qs.waiting.Jobs) > 0 {
		p.planned = now // which says when the next may be, if somebody waits
	}
	s.work.Passes++
	s.layTimeline(qs, now)
	swap := s.orderCandidates(qs, now)
	for moved := true; moved; {
		moved = s.replan(qs, now)
	}
	if qs.blocked && qs.policy.Preempts {
		s.preempt(qs, now, qs.reservation.ref)
	}
	s.growPlanned(qs, now)
	for i := range p.slots {
		p.due = min(p.due, p.slots[i].at)
	}
	qs.quietUntil = max(min(swap, p.due), now)
}

// nextPlan is the first instant from now on at which a pass of l may plan. On a cycle
// these are ticks that hang on nothing but their number, for ticks at which nothing
// can change are skipped.
func (s *Core) nextPlan(qs *queueState, now model.Time) model.Time {
	every, c := qs.policy.Window.Interval, qs.policy.Cycle
	switch {
	case every == 0:
		return now
	case c > 0:
		return now.Grid((every+c-1)/c*c, qs.policy.Phase)
	case qs.plans.planned == model.AbsentTime:
		return now
	}
	return max(now, qs.plans.planned.Add(every))
}

// line writes the candidates in order into s.tight, and returns a lower bound on
// the instant at which the plan for them would be another.
func (s *Core) orderCandidates(qs *queueState, now model.Time) model.Time {
	s.room, s.tight = s.room[:0], s.tight[:0]
	for i := range qs.waiting.Jobs {
		ref := qs.waiting.Jobs[i].Ref
		s.room = append(s.room, order.Candidate{Key: s.keyOf(qs, &s.jobs[ref], now), Tier: s.rankTier(ref), Ref: ref, At: int32(i)})
	}
	ranked := s.heap(qs, now, s.room)
	ranked.Init()
	steady := s.planStableUntil(qs, now)
	for len(ranked.List) > 0 {
		c := ranked.List[0]
		ranked.Pop()
		s.tight = append(s.tight, c)
		if steady > now && len(ranked.List) > 0 {
			steady = min(steady, s.overtakes(qs, c, ranked.List[0], now))
		}
	}
	return steady
}

// replan goes once through the candidates. It says whether a job started or a
// reservation moved, so that another round may move more. Rounds end: who is held,
// tested or among the first Depth hangs on the jobs started alone, so between
// two starts the same jobs hold reservations from the second round on; each finds the
// one it had when it is lifted, for nodes and caps are kept for it, and so
// moves to an earlier instant only. After a plan all reservations begin
// later than now, so that planning.due is never reached without time passing.
func (s *Core) replan(qs *queueState, now model.Time) (moved bool) {
	qs.plans.tests = qs.plans.tests[:0]
	qs.blocked, qs.reservation.ref, qs.reservation.at = false, -1, model.Never
	depth, tried := 0, 0
	for _, c := range s.tight {
		if s.jobs[c.Ref].phase != queued {
			continue
		}
		s.work.Examined++
		if r := s.held(qs, c, now); r != model.ReasonNone {
			moved = s.cancelSlot(qs, c.Ref) || moved
			s.note(c.Ref, r)
			continue
		}
		if most := qs.policy.Window.Tests; (most > 0 && tried >= most) || !s.mayTest(qs, c.Ref) {
			qs.orderHolds = true
			moved = s.cancelSlot(qs, c.Ref) || moved
			s.note(c.Ref, model.ReasonPriority)
			continue
		}
		tried++
		started, changed := s.slotIn(qs, now, c.Ref, depth < qs.policy.Depth)
		moved = moved || changed
		if started {
			continue
		}
		depth++
		if !qs.blocked {
			qs.blocked, qs.reservation.ref = true, c.Ref
		}
	}
	return moved
}

// steady is until when a plan made now stays the same if nothing is observed
// and nobody overtakes anybody; now when that cannot be told.
func (s *Core) planStableUntil(qs *queueState, now model.Time) model.Time {
	p := qs.policy
	if p.Expected || p.MinScore > 0 || p.Window.Length > 0 ||
		len(s.site.Reservations) > 0 || len(s.holds) > 0 {
		return now
	}
	if p.Ranking == ByScore {
		return min(max(qs.ends.First(), now), s.book.NextTick(now))
	}
	if p.Ranking == ByOrder && p.Order.Static() {
		return max(qs.ends.First(), now)
	}
	return now
}

// overtakes is a lower bound on the instant at which b, next behind a in the
// order, comes before it.
func (s *Core) overtakes(qs *queueState, a, b order.Candidate, now model.Time) model.Time {
	if qs.policy.Ranking != ByScore || a.Tier != b.Tier {
		return model.Never
	}
	i, j := &s.jobs[a.Ref], &s.jobs[b.Ref]
	return now.Add(score.Overtake(model.Fixed(a.Key-b.Key), qs.policy.Weights[score.Wait], qs.terms.Penalty[j.Tenant+1], qs.terms.Penalty[i.Tenant+1],
		now.Sub(j.Submit), now.Sub(i.Submit), qs.policy.Reference))
}

// mayTest counts a job against its user's bound of jobs planned for.
func (s *Core) mayTest(qs *queueState, ref model.Ref) bool {
	most := qs.policy.MaxUserTests
	if most == 0 {
		return true
	}
	u := s.jobs[ref].User
	for i := range qs.plans.tests {
		if t := &qs.plans.tests[i]; t.user == u {
			t.n++
			return t.n <= most
		}
	}
	qs.plans.tests = append(qs.plans.tests, userTests{u, 1})
	return true
}

// lay rebuilds the timeline: what is free now, what comes free at the predicted
// ends, and the reservations that stand. A reservation whose nodes are no longer
// predicted to be free (a node was lost) is given up.
func (s *Core) layTimeline(qs *queueState, now model.Time) {
	t := qs.timeline
	t.Reset(now, qs.free.Idle())
	line := &qs.plans.caps
	line.reset(now, s.caps.Used, s.caps.Cap != (caps.Usage{}))
	clashes := s.clashes(qs)
	s.walk++
	qs.ends.Ascend(now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at == model.Never {
			return false
		}
		s.comesFree(qs, ref, clashes)
		t.Add(s.rounded(qs, at), model.Never, s.extra)
		line.add(s.rounded(qs, at), model.Never, s.jobs[ref].needs, -1)
		return true
	})
	for i := range s.site.Reservations {
		t.Split(s.site.Reservations[i].Start)
		t.Split(s.site.Reservations[i].End)
	}
	for i := 0; i < len(qs.plans.slots); {
		k := &qs.plans.slots[i]
		j := &s.jobs[k.ref]
		until := s.until(qs, k.at, j)
		if k.at < now || !t.Holds(k.at, until, k.nodes) || !s.keepsCaps(qs, k.at, until, j.needs) {
			qs.dropSlot(i)
			continue
		}
		t.Remove(k.at, until, k.nodes)
		line.add(k.at, until, j.needs, 1)
		i++
	}
}

// rounded is at on the grid of the plan, never earlier.
func (s *Core) rounded(qs *queueState, at model.Time) model.Time {
	r := qs.policy.Window.Resolution
	if r <= 1 {
		return at
	}
	return at.Grid(r, 0)
}

// until is when a job that starts at an instant is planned to give its nodes back.
func (s *Core) until(qs *queueState, at model.Time, j *job) model.Time {
	return s.rounded(qs, at.Add(j.left))
}

// slotIn plans for a job whose turn it is: it lifts its reservation, starts the
// job when it has room from now on, and else sets the reservation at the earliest
// instant; where that is the one it had, it keeps its nodes. keep says whether the
// job may hold a reservation.
func (s *Core) slotIn(qs *queueState, now model.Time, ref model.Ref, keep bool) (started, moved bool) {
	j, t := &s.jobs[ref], qs.timeline
	had := s.liftSlot(qs, ref)
	s.chosenBorrows = false
	limit := model.Never
	if !keep {
		limit = now
	} else if w := qs.policy.Window.Length; w > 0 {
		limit = now.Add(w)
	}
	end := func(at model.Time) model.Time { return s.until(qs, at, j) }
	at := t.Earliest(now, limit, end, j.kind.mask, j.NodesMin, func(at model.Time, nodes model.NodeSet) bool {
		until := end(at)
		if at > now {
			return s.keepsCaps(qs, at, until, j.needs) && s.chooseIn(qs, ref, at, nodes)
		}
		return s.chooseIn(qs, ref, at, nodes) && s.keepsCaps(qs, at, until, caps.Usage{Power: s.nodeClasses.Draw(&j.Allocation, &s.chosen), Bandwidth: j.needs.Bandwidth})
	})
	if at == now {
		s.nodesOf(&s.chosen)
		t.Remove(at, end(at), s.extra)
		qs.dropSlot(had)
		s.propose(qs, ref, now)
		qs.plans.caps.add(now, end(now), j.needs, 1)
		return true, true
	}
	s.note(ref, s.shortOf(qs, j))
	switch {
	case at == model.Never:
		qs.dropSlot(had)
		return false, had >= 0
	case had < 0:
		had = len(qs.plans.slots)
		qs.plans.slots = append(qs.plans.slots, slot{ref: ref, nodes: qs.keepNodes(s.extra), at: model.Never})
	}
	k := &qs.plans.slots[had]
	if k.at != at {
		s.nodesOf(&s.chosen)
		copy(k.nodes, s.extra)
		k.at, moved = at, true
	}
	t.Remove(at, end(at), k.nodes)
	qs.plans.caps.add(at, end(at), j.needs, 1)
	return false, moved
}

// shortOf is why a job that holds a reservation, or none, does not start now.
func (s *Core) shortOf(qs *queueState, j *job) model.Reason {
	switch {
	case !s.caps.Fits(caps.Usage{Power: j.needs.Power}):
		return model.ReasonPower
	case !s.caps.Fits(j.needs):
		return model.ReasonBandwidth
	case qs.free.Count(j.kind.class) >= j.NodesMin:
		return model.ReasonPriority
	}
	return model.ReasonResources
}

// chooseIn selects nodes for ref among those given, for a run from at on.
func (s *Core) chooseIn(qs *queueState, ref model.Ref, at model.Time, nodes model.NodeSet) bool {
	j := &s.jobs[ref]
	avoid := s.avoids(ref, at, at.Add(j.left))
	if avoid == nil {
		avoid = s.avoid
		clear(avoid)
	}
	for i := range avoid {
		avoid[i] |= ^nodes[i]
	}
	q := s.query(qs, j, j.NodesMin, avoid)
	return s.idle.Select(&q, &s.chosen)
}

// nodesOf writes the nodes of a placement of whole nodes into s.extra.
func (s *Core) nodesOf(p *model.Placement) {
	clear(s.extra)
	for _, w := range p.Words {
		s.extra[w.Word] |= w.Mask
	}
}

// lift takes the reservation of ref out of the timeline and returns its index,
// -1 when it has none.
func (s *Core) liftSlot(qs *queueState, ref model.Ref) int {
	for i := range qs.plans.slots {
		if k := &qs.plans.slots[i]; k.ref == ref {
			j := &s.jobs[ref]
			until := s.until(qs, k.at, j)
			qs.timeline.Add(k.at, until, k.nodes)
			qs.plans.caps.add(k.at, until, j.needs, -1)
			return i
		}
	}
	return -1
}

// cancelSlot gives up the reservation of ref and says whether it had one.
func (s *Core) cancelSlot(qs *queueState, ref model.Ref) bool {
	i := s.liftSlot(qs, ref)
	qs.dropSlot(i)
	return i >= 0
}

// unreserve forgets the reservation of a job that has left.
func (s *Core) unreserve(ref model.Ref) {
	qs := s.jobs[ref].queue
	for i := range qs.plans.slots {
		if qs.plans.slots[i].ref == ref {
			qs.dropSlot(i)
			return
		}
	}
}

func (qs *queueState) dropSlot(i int) {
	if i < 0 {
		return
	}
	qs.plans.spare = append(qs.plans.spare, qs.plans.slots[i].nodes)
	qs.plans.slots = append(qs.plans.slots[:i], qs.plans.slots[i+1:]...)
}

func (qs *queueState) keepNodes(s model.NodeSet) model.NodeSet {
	if n := len(qs.plans.spare); n > 0 {
		k := qs.plans.spare[n-1]
		qs.plans.spare = qs.plans.spare[:n-1]
		copy(k, s)
		return k
	}
	return append(model.NodeSet(nil), s...)
}
