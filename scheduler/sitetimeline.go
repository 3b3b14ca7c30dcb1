package scheduler

import (
	"orrery/scheduler/model"
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
}

// userTests counts the jobs of a user that a pass has planned for.
type userTests struct {
	user int32
	n    int
}

// timelineDue is the next instant at which a reservation begins, or at which a
// plan may be made again that was put off.
func (l *lane) timelineDue(now model.Time) model.Time {
	if l.plans.due <= now {
		return now.Add(1)
	}
	return l.plans.due
}

// passTimeline is the pass under Conservative: the best Depth blocked jobs hold
// reservations on definite nodes, and whoever does not touch them may start. All
// candidates are met in order; reservations of before stand until their own
// job's turn, so that nobody's is moved later by another's.
func (s *Site) passTimeline(l *lane, now model.Time) {
	p, w := &l.plans, &l.policy.Window
	p.due = model.Never
	if w.Interval > 0 && p.planned != model.AbsentTime && now < p.planned.Add(w.Interval) {
		s.passQueue(l, now)
		p.due = min(p.due, p.planned.Add(w.Interval))
		return
	}
	p.planned = now
	s.work.Passes++
	s.lay(l, now)
	p.tests = p.tests[:0]
	s.room = s.room[:0]
	for _, ref := range l.queue {
		s.room = append(s.room, candidate{s.keyOf(l, &s.jobs[ref], now), s.tier(&s.jobs[ref]), ref})
	}
	order := candidates{s, l, now, s.room}
	order.init()
	depth, tried := 0, 0
	for len(order.h) > 0 {
		c := order.h[0]
		order.pop()
		s.work.Examined++
		if r := s.held(l, c, now); r != model.ReasonNone {
			s.cancelSlot(l, c.ref)
			s.note(c.ref, r)
			continue
		}
		if (w.Tests > 0 && tried >= w.Tests) || !s.mayTest(l, c.ref) {
			s.cancelSlot(l, c.ref)
			s.note(c.ref, model.ReasonPriority)
			continue
		}
		tried++
		if s.slotIn(l, now, c.ref, depth < l.policy.Depth) {
			continue
		}
		depth++
		l.blocked = true
		if l.hold.ref < 0 {
			l.hold.ref, l.hold.at = c.ref, model.Never
			if l.policy.Preempts {
				s.preempt(l, now, c.ref)
			}
		}
	}
	l.quiet = now // plans are compressed at every pass
	for i := range p.slots {
		p.due = min(p.due, p.slots[i].at)
	}
}

// mayTest counts a job against its user's bound of jobs planned for.
func (s *Site) mayTest(l *lane, ref model.Ref) bool {
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
func (s *Site) lay(l *lane, now model.Time) {
	t := l.timeline
	t.Reset(now, l.free.Idle())
	l.ends.Ascend(now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at == model.Never {
			return false
		}
		clear(s.extra)
		for _, w := range s.jobs[ref].placement.Words {
			s.extra[w.Word] |= w.Mask & s.ready[w.Word]
		}
		t.Add(s.rounded(l, at), model.Never, s.extra)
		return true
	})
	for i := range s.site.Reservations {
		t.Split(s.site.Reservations[i].Start)
		t.Split(s.site.Reservations[i].End)
	}
	for i := 0; i < len(l.plans.slots); {
		k := &l.plans.slots[i]
		until := k.at.Add(s.jobs[k.ref].left)
		if k.at < now || !t.Holds(k.at, until, k.nodes) {
			l.dropSlot(i)
			continue
		}
		t.Remove(k.at, until, k.nodes)
		i++
	}
}

// rounded is at on the grid of the plan, never earlier.
func (s *Site) rounded(l *lane, at model.Time) model.Time {
	r := l.policy.Window.Resolution
	if r <= 1 {
		return at
	}
	return grid(at, r, 0)
}

// slotIn plans for a job whose turn it is: it lifts its reservation, starts the
// job when it has room from now on, and else sets the reservation at the earliest
// instant. It says whether the job has started; keep says whether it may hold a
// reservation.
func (s *Site) slotIn(l *lane, now model.Time, ref model.Ref, keep bool) bool {
	j, t := &s.jobs[ref], l.timeline
	s.cancelSlot(l, ref)
	s.chosenBorrows = false
	limit := model.Never
	if !keep {
		limit = now
	} else if w := l.policy.Window.Length; w > 0 {
		limit = now.Add(w)
	}
	at := t.Earliest(now, limit, j.left, j.kind.mask, j.NodesMin, func(at model.Time, nodes model.NodeSet) bool {
		return s.chooseIn(l, ref, at, nodes) && (at > now || s.overCap(j) == model.ReasonNone)
	})
	if at == now {
		until := at.Add(j.left)
		s.nodesOf(&s.chosen)
		t.Remove(at, until, s.extra)
		s.propose(l, ref, now)
		return true
	}
	s.note(ref, s.shortOf(l, j))
	if at != model.Never {
		s.nodesOf(&s.chosen)
		t.Remove(at, at.Add(j.left), s.extra)
		l.plans.slots = append(l.plans.slots, slot{ref, at, l.keepNodes(s.extra)})
	}
	return false
}

// shortOf is why a job that holds a reservation, or none, does not start now.
func (s *Site) shortOf(l *lane, j *siteJob) model.Reason {
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
func (s *Site) chooseIn(l *lane, ref model.Ref, at model.Time, nodes model.NodeSet) bool {
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
func (s *Site) nodesOf(p *model.Placement) {
	clear(s.extra)
	for _, w := range p.Words {
		s.extra[w.Word] |= w.Mask
	}
}

// cancelSlot lifts the reservation of ref, if it has one.
func (s *Site) cancelSlot(l *lane, ref model.Ref) {
	for i := range l.plans.slots {
		if k := &l.plans.slots[i]; k.ref == ref {
			l.timeline.Add(k.at, k.at.Add(s.jobs[ref].left), k.nodes)
			l.dropSlot(i)
			return
		}
	}
}

// unreserve forgets the reservation of a job that has left.
func (s *Site) unreserve(ref model.Ref) {
	l := s.jobs[ref].lane
	for i := range l.plans.slots {
		if l.plans.slots[i].ref == ref {
			l.dropSlot(i)
			return
		}
	}
}

func (l *lane) dropSlot(i int) {
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
