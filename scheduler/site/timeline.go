package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
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
func (s *Core) passTimeline(l *lane, now model.Time) {
	p := &l.plans
	p.due = model.Never
	if next := s.nextPlan(l, now); next > now {
		first := len(s.plan.Proposals)
		s.passQueue(l, now)
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
	if len(l.queue) > 0 {
		p.planned = now // which says when the next may be, if somebody waits
	}
	s.work.Passes++
	s.lay(l, now)
	swap := s.line(l, now)
	for moved := true; moved; {
		moved = s.replan(l, now)
	}
	if l.blocked && l.policy.Preempts {
		s.preempt(l, now, l.hold.ref)
	}
	s.growPlanned(l, now)
	for i := range p.slots {
		p.due = min(p.due, p.slots[i].at)
	}
	l.quiet = max(min(swap, p.due), now)
}

// nextPlan is the first instant from now on at which a pass of l may plan. On a cycle
// these are ticks that hang on nothing but their number, for ticks at which nothing
// can change are skipped.
func (s *Core) nextPlan(l *lane, now model.Time) model.Time {
	every, c := l.policy.Window.Interval, l.policy.Cycle
	switch {
	case every == 0:
		return now
	case c > 0:
		return now.Grid((every+c-1)/c*c, l.policy.Phase)
	case l.plans.planned == model.AbsentTime:
		return now
	}
	return max(now, l.plans.planned.Add(every))
}

// line writes the candidates in order into s.tight, and returns a lower bound on
// the instant at which the plan for them would be another.
func (s *Core) line(l *lane, now model.Time) model.Time {
	s.room, s.tight = s.room[:0], s.tight[:0]
	for i := range l.queue {
		ref := l.queue[i].ref
		s.room = append(s.room, order.Candidate{Key: s.keyOf(l, &s.jobs[ref], now), Tier: s.rankTier(ref), Ref: ref, At: int32(i)})
	}
	ranked := s.heap(l, now, s.room)
	ranked.Init()
	steady := s.steady(l, now)
	for len(ranked.List) > 0 {
		c := ranked.List[0]
		ranked.Pop()
		s.tight = append(s.tight, c)
		if steady > now && len(ranked.List) > 0 {
			steady = min(steady, s.overtakes(l, c, ranked.List[0], now))
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
func (s *Core) replan(l *lane, now model.Time) (moved bool) {
	l.plans.tests = l.plans.tests[:0]
	l.blocked, l.hold.ref, l.hold.at = false, -1, model.Never
	depth, tried := 0, 0
	for _, c := range s.tight {
		if s.jobs[c.Ref].phase != waiting {
			continue
		}
		s.work.Examined++
		if r := s.held(l, c, now); r != model.ReasonNone {
			moved = s.cancelSlot(l, c.Ref) || moved
			s.note(c.Ref, r)
			continue
		}
		if most := l.policy.Window.Tests; (most > 0 && tried >= most) || !s.mayTest(l, c.Ref) {
			l.behind = true
			moved = s.cancelSlot(l, c.Ref) || moved
			s.note(c.Ref, model.ReasonPriority)
			continue
		}
		tried++
		started, changed := s.slotIn(l, now, c.Ref, depth < l.policy.Depth)
		moved = moved || changed
		if started {
			continue
		}
		depth++
		if !l.blocked {
			l.blocked, l.hold.ref = true, c.Ref
		}
	}
	return moved
}

// steady is until when a plan made now stays the same if nothing is observed
// and nobody overtakes anybody; now when that cannot be told.
func (s *Core) steady(l *lane, now model.Time) model.Time {
	p := l.policy
	if p.Expected || p.MinScore > 0 || p.Window.Length > 0 ||
		len(s.site.Reservations) > 0 || len(s.claims) > 0 {
		return now
	}
	if p.Ranking == ByScore {
		return min(max(l.ends.First(), now), s.book.NextTick(now))
	}
	if p.Ranking == ByOrder && p.Order.Static() {
		return max(l.ends.First(), now)
	}
	return now
}

// overtakes is a lower bound on the instant at which b, next behind a in the
// order, comes before it.
func (s *Core) overtakes(l *lane, a, b order.Candidate, now model.Time) model.Time {
	if l.policy.Ranking != ByScore || a.Tier != b.Tier {
		return model.Never
	}
	i, j := &s.jobs[a.Ref], &s.jobs[b.Ref]
	return now.Add(score.Overtake(model.Fixed(a.Key-b.Key), l.policy.Weights[score.Wait], l.penalty[j.Tenant+1], l.penalty[i.Tenant+1],
		now.Sub(j.Submit), now.Sub(i.Submit), l.policy.Reference))
}

// mayTest counts a job against its user's bound of jobs planned for.
func (s *Core) mayTest(l *lane, ref model.Ref) bool {
	most := l.policy.MaxUserTests
	if most == 0 {
		return true
	}
	u := s.jobs[ref].User
	for i := range l.plans.tests {
		if t := &l.plans.tests[i]; t.user == u {
			t.n++
			return t.n <= most
		}
	}
	l.plans.tests = append(l.plans.tests, userTests{u, 1})
	return true
}

// lay rebuilds the timeline: what is free now, what comes free at the predicted
// ends, and the reservations that stand. A reservation whose nodes are no longer
// predicted to be free (a node was lost) is given up.
func (s *Core) lay(l *lane, now model.Time) {
	t := l.timeline
	t.Reset(now, l.free.Idle())
	caps := &l.plans.caps
	caps.reset(now, s.used, s.powerCap != (usage{}))
	clashes := s.clashes(l)
	s.walk++
	l.ends.Ascend(now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at == model.Never {
			return false
		}
		s.comesFree(l, ref, clashes)
		t.Add(s.rounded(l, at), model.Never, s.extra)
		caps.add(s.rounded(l, at), model.Never, s.jobs[ref].ask, -1)
		return true
	})
	for i := range s.site.Reservations {
		t.Split(s.site.Reservations[i].Start)
		t.Split(s.site.Reservations[i].End)
	}
	for i := 0; i < len(l.plans.slots); {
		k := &l.plans.slots[i]
		j := &s.jobs[k.ref]
		until := s.until(l, k.at, j)
		if k.at < now || !t.Holds(k.at, until, k.nodes) || !s.keepsCaps(l, k.at, until, j.ask) {
			l.dropSlot(i)
			continue
		}
		t.Remove(k.at, until, k.nodes)
		caps.add(k.at, until, j.ask, 1)
		i++
	}
}

// rounded is at on the grid of the plan, never earlier.
func (s *Core) rounded(l *lane, at model.Time) model.Time {
	r := l.policy.Window.Resolution
	if r <= 1 {
		return at
	}
	return at.Grid(r, 0)
}

// until is when a job that starts at an instant is planned to give its nodes back.
func (s *Core) until(l *lane, at model.Time, j *job) model.Time {
	return s.rounded(l, at.Add(j.left))
}

// slotIn plans for a job whose turn it is: it lifts its reservation, starts the
// job when it has room from now on, and else sets the reservation at the earliest
// instant; where that is the one it had, it keeps its nodes. keep says whether the
// job may hold a reservation.
func (s *Core) slotIn(l *lane, now model.Time, ref model.Ref, keep bool) (started, moved bool) {
	j, t := &s.jobs[ref], l.timeline
	had := s.lift(l, ref)
	s.chosenBorrows = false
	limit := model.Never
	if !keep {
		limit = now
	} else if w := l.policy.Window.Length; w > 0 {
		limit = now.Add(w)
	}
	end := func(at model.Time) model.Time { return s.until(l, at, j) }
	at := t.Earliest(now, limit, end, j.kind.mask, j.NodesMin, func(at model.Time, nodes model.NodeSet) bool {
		until := end(at)
		if at > now {
			return s.keepsCaps(l, at, until, j.ask) && s.chooseIn(l, ref, at, nodes)
		}
		return s.chooseIn(l, ref, at, nodes) && s.keepsCaps(l, at, until, usage{s.makes.Draw(&j.Allocation, &s.chosen), j.ask.bandwidth})
	})
	if at == now {
		s.nodesOf(&s.chosen)
		t.Remove(at, end(at), s.extra)
		l.dropSlot(had)
		s.propose(l, ref, now)
		l.plans.caps.add(now, end(now), j.ask, 1)
		return true, true
	}
	s.note(ref, s.shortOf(l, j))
	switch {
	case at == model.Never:
		l.dropSlot(had)
		return false, had >= 0
	case had < 0:
		had = len(l.plans.slots)
		l.plans.slots = append(l.plans.slots, slot{ref: ref, nodes: l.keepNodes(s.extra), at: model.Never})
	}
	k := &l.plans.slots[had]
	if k.at != at {
		s.nodesOf(&s.chosen)
		copy(k.nodes, s.extra)
		k.at, moved = at, true
	}
	t.Remove(at, end(at), k.nodes)
	l.plans.caps.add(at, end(at), j.ask, 1)
	return false, moved
}

// shortOf is why a job that holds a reservation, or none, does not start now.
func (s *Core) shortOf(l *lane, j *job) model.Reason {
	switch {
	case !s.fitsCaps(&usage{power: j.ask.power}, s.used):
		return model.ReasonPower
	case !s.fitsCaps(&j.ask, s.used):
		return model.ReasonBandwidth
	case l.free.Count(j.kind.class) >= j.NodesMin:
		return model.ReasonPriority
	}
	return model.ReasonResources
}

// chooseIn selects nodes for ref among those given, for a run from at on.
func (s *Core) chooseIn(l *lane, ref model.Ref, at model.Time, nodes model.NodeSet) bool {
	j := &s.jobs[ref]
	avoid := s.avoids(ref, at, at.Add(j.left))
	if avoid == nil {
		avoid = s.avoid
		clear(avoid)
	}
	for i := range avoid {
		avoid[i] |= ^nodes[i]
	}
	q := s.query(l, j, j.NodesMin, avoid)
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
func (s *Core) lift(l *lane, ref model.Ref) int {
	for i := range l.plans.slots {
		if k := &l.plans.slots[i]; k.ref == ref {
			j := &s.jobs[ref]
			until := s.until(l, k.at, j)
			l.timeline.Add(k.at, until, k.nodes)
			l.plans.caps.add(k.at, until, j.ask, -1)
			return i
		}
	}
	return -1
}

// cancelSlot gives up the reservation of ref and says whether it had one.
func (s *Core) cancelSlot(l *lane, ref model.Ref) bool {
	i := s.lift(l, ref)
	l.dropSlot(i)
	return i >= 0
}

// unreserve forgets the reservation of a job that has left.
func (s *Core) unreserve(ref model.Ref) {
	l := s.jobs[ref].lane
	for i := range l.plans.slots {
		if l.plans.slots[i].ref == ref {
			l.dropSlot(i)
			return
		}
	}
}

func (l *lane) dropSlot(i int) {
	if i < 0 {
		return
	}
	l.plans.spare = append(l.plans.spare, l.plans.slots[i].nodes)
	l.plans.slots = append(l.plans.slots[:i], l.plans.slots[i+1:]...)
}

func (l *lane) keepNodes(s model.NodeSet) model.NodeSet {
	if n := len(l.plans.spare); n > 0 {
		k := l.plans.spare[n-1]
		l.plans.spare = l.plans.spare[:n-1]
		copy(k, s)
		return k
	}
	return append(model.NodeSet(nil), s...)
}
