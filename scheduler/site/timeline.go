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
func (p *pass) passTimeline(scalingUp []model.Ref) {
	plans := &p.qs.plans
	plans.due = model.Never
	if next := p.nextPlan(); next > p.now {
		first := len(p.plan.Proposals)
		p.passQueue(scalingUp)
		for i := range p.plan.Proposals[first:] {
			if q := &p.plan.Proposals[first+i]; q.Kind == model.ProposeAssign {
				p.unreserve(q.Ref)
			}
		}
		plans.due = next
		for i := range plans.slots {
			if at := plans.slots[i].at; at > p.now {
				plans.due = min(plans.due, at)
			}
		}
		return
	}
	if len(p.qs.waiting.Jobs) > 0 {
		plans.planned = p.now // which says when the next may be, if somebody waits
	}
	p.work.Passes++
	p.layTimeline()
	line, swap := p.ranked()
	for moved := true; moved; {
		moved = p.replan(line)
	}
	if p.qs.blocked && p.qs.policy.Preempts {
		p.preempt(p.qs.reservation.ref)
	}
	p.growPlanned()
	for i := range plans.slots {
		plans.due = min(plans.due, plans.slots[i].at)
	}
	p.qs.quietUntil = max(min(swap, plans.due), p.now)
}

// nextPlan is the first instant from now on at which a pass of l may plan. On a cycle
// these are ticks that hang on nothing but their number, for ticks at which nothing
// can change are skipped.
func (p *pass) nextPlan() model.Time {
	every, c := p.qs.policy.Window.Interval, p.qs.policy.Cycle
	switch {
	case every == 0:
		return p.now
	case c > 0:
		return p.now.Grid((every+c-1)/c*c, p.qs.policy.Phase)
	case p.qs.plans.planned == model.AbsentTime:
		return p.now
	}
	return max(p.now, p.qs.plans.planned.Add(every))
}

// ranked is the candidates in order, valid until the next call, and a lower bound on the
// instant at which the plan for them would be another.
func (p *pass) ranked() (line []order.Candidate, until model.Time) {
	list := p.buf.room[:0]
	for i := range p.qs.waiting.Jobs {
		ref := p.qs.waiting.Jobs[i].Ref
		list = append(list, order.Candidate{Key: p.keyOf(&p.jobs[ref]), Tier: p.rankTier(ref), Ref: ref, At: int32(i)})
	}
	heap := p.heap(list)
	heap.Init()
	line, until = p.buf.tight[:0], p.planStableUntil()
	for len(heap.List) > 0 {
		c := heap.List[0]
		heap.Pop()
		line = append(line, c)
		if until > p.now && len(heap.List) > 0 {
			until = min(until, p.overtakes(c, heap.List[0]))
		}
	}
	p.buf.room, p.buf.tight = list, line
	return line, until
}

// replan goes once through the candidates. It says whether a job started or a
// reservation moved, so that another round may move more. Rounds end: who is held,
// tested or among the first Depth hangs on the jobs started alone, so between
// two starts the same jobs hold reservations from the second round on; each finds the
// one it had when it is lifted, for nodes and caps are kept for it, and so
// moves to an earlier instant only. After a plan all reservations begin
// later than now, so that planning.due is never reached without time passing.
func (p *pass) replan(line []order.Candidate) (moved bool) {
	p.qs.plans.tests = p.qs.plans.tests[:0]
	p.qs.blocked, p.qs.reservation.ref, p.qs.reservation.at = false, -1, model.Never
	depth, tried := 0, 0
	for _, c := range line {
		if p.jobs[c.Ref].phase != queued {
			continue
		}
		p.work.Examined++
		if r := p.held(c); r != model.ReasonNone {
			moved = p.cancelSlot(c.Ref) || moved
			p.note(c.Ref, r)
			continue
		}
		if most := p.qs.policy.Window.Tests; (most > 0 && tried >= most) || !p.mayTest(c.Ref) {
			p.qs.orderHolds = true
			moved = p.cancelSlot(c.Ref) || moved
			p.note(c.Ref, model.ReasonPriority)
			continue
		}
		tried++
		started, changed := p.slotIn(c.Ref, depth < p.qs.policy.Depth)
		moved = moved || changed
		if started {
			continue
		}
		depth++
		if !p.qs.blocked {
			p.qs.blocked, p.qs.reservation.ref = true, c.Ref
		}
	}
	return moved
}

// steady is until when a plan made now stays the same if nothing is observed
// and nobody overtakes anybody; now when that cannot be told.
func (p *pass) planStableUntil() model.Time {
	policy := p.qs.policy
	if policy.Expected || policy.MinScore > 0 || policy.Window.Length > 0 ||
		len(p.site.Reservations) > 0 || len(p.holds) > 0 {
		return p.now
	}
	if policy.Ranking == ByScore {
		return min(max(p.qs.ends.First(), p.now), p.book.NextTick(p.now))
	}
	if policy.Ranking == ByOrder && policy.Order.Static() {
		return max(p.qs.ends.First(), p.now)
	}
	return p.now
}

// overtakes is a lower bound on the instant at which b, next behind a in the
// order, comes before it.
func (p *pass) overtakes(a, b order.Candidate) model.Time {
	if p.qs.policy.Ranking != ByScore || a.Tier != b.Tier {
		return model.Never
	}
	i, j := &p.jobs[a.Ref], &p.jobs[b.Ref]
	return p.now.Add(score.Overtake(model.Fixed(a.Key-b.Key), p.qs.policy.Weights[score.Wait], p.qs.terms.Penalty[j.Tenant+1], p.qs.terms.Penalty[i.Tenant+1],
		p.now.Sub(j.Submit), p.now.Sub(i.Submit), p.qs.policy.Reference))
}

// mayTest counts a job against its user's bound of jobs planned for.
func (p *pass) mayTest(ref model.Ref) bool {
	most := p.qs.policy.MaxUserTests
	if most == 0 {
		return true
	}
	u := p.jobs[ref].User
	for i := range p.qs.plans.tests {
		if t := &p.qs.plans.tests[i]; t.user == u {
			t.n++
			return t.n <= most
		}
	}
	p.qs.plans.tests = append(p.qs.plans.tests, userTests{u, 1})
	return true
}

// lay rebuilds the timeline: what is free now, what comes free at the predicted
// ends, and the reservations that stand. A reservation whose nodes are no longer
// predicted to be free (a node was lost) is given up.
func (p *pass) layTimeline() {
	t := p.qs.timeline
	t.Reset(p.now, p.qs.free.Idle())
	line := &p.qs.plans.caps
	line.reset(p.now, p.caps.Used, p.caps.Cap != (caps.Usage{}))
	clashes := p.clashes()
	p.walk++
	p.qs.ends.Ascend(p.now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at == model.Never {
			return false
		}
		t.Add(p.rounded(at), model.Never, p.comesFree(ref, clashes))
		line.add(p.rounded(at), model.Never, p.jobs[ref].needs, -1)
		return true
	})
	for i := range p.site.Reservations {
		t.Split(p.site.Reservations[i].Start)
		t.Split(p.site.Reservations[i].End)
	}
	for i := 0; i < len(p.qs.plans.slots); {
		k := &p.qs.plans.slots[i]
		j := &p.jobs[k.ref]
		until := p.until(k.at, j)
		if k.at < p.now || !t.Holds(k.at, until, k.nodes) || !p.keepsCaps(k.at, until, j.needs) {
			p.qs.dropSlot(i)
			continue
		}
		t.Remove(k.at, until, k.nodes)
		line.add(k.at, until, j.needs, 1)
		i++
	}
}

// rounded is at on the grid of the plan, never earlier.
func (p *pass) rounded(at model.Time) model.Time {
	r := p.qs.policy.Window.Resolution
	if r <= 1 {
		return at
	}
	return at.Grid(r, 0)
}

// until is when a job that starts at an instant is planned to give its nodes back.
func (p *pass) until(at model.Time, j *job) model.Time {
	return p.rounded(at.Add(j.left))
}

// slotIn plans for a job whose turn it is: it lifts its reservation, starts the
// job when it has room from now on, and else sets the reservation at the earliest
// instant; where that is the one it had, it keeps its nodes. keep says whether the
// job may hold a reservation.
func (p *pass) slotIn(ref model.Ref, keep bool) (started, moved bool) {
	j, t := &p.jobs[ref], p.qs.timeline
	had := p.liftSlot(ref)
	c := &p.buf.choice
	c.borrowed = false
	limit := model.Never
	if !keep {
		limit = p.now
	} else if w := p.qs.policy.Window.Length; w > 0 {
		limit = p.now.Add(w)
	}
	end := func(at model.Time) model.Time { return p.until(at, j) }
	at := t.Earliest(p.now, limit, end, j.kind.mask, j.NodesMin, func(at model.Time, nodes model.NodeSet) bool {
		until := end(at)
		if at > p.now {
			return p.keepsCaps(at, until, j.needs) && p.chooseIn(ref, at, nodes, &c.nodes)
		}
		return p.chooseIn(ref, at, nodes, &c.nodes) && p.keepsCaps(at, until, caps.Usage{Power: p.nodeClasses.Draw(&j.Allocation, &c.nodes), Bandwidth: j.needs.Bandwidth})
	})
	if at == p.now {
		t.Remove(at, end(at), p.nodesOf(&c.nodes))
		p.qs.dropSlot(had)
		p.propose(ref, c)
		p.qs.plans.caps.add(p.now, end(p.now), j.needs, 1)
		return true, true
	}
	p.note(ref, p.shortOf(j))
	switch {
	case at == model.Never:
		p.qs.dropSlot(had)
		return false, had >= 0
	case had < 0:
		had = len(p.qs.plans.slots)
		p.qs.plans.slots = append(p.qs.plans.slots, slot{ref: ref, nodes: p.qs.keepNodes(p.nodesOf(&c.nodes)), at: model.Never})
	}
	k := &p.qs.plans.slots[had]
	if k.at != at {
		copy(k.nodes, p.nodesOf(&c.nodes))
		k.at, moved = at, true
	}
	t.Remove(at, end(at), k.nodes)
	p.qs.plans.caps.add(at, end(at), j.needs, 1)
	return false, moved
}

// shortOf is why a job that holds a reservation, or none, does not start now.
func (p *pass) shortOf(j *job) model.Reason {
	switch {
	case !p.caps.Fits(caps.Usage{Power: j.needs.Power}):
		return model.ReasonPower
	case !p.caps.Fits(j.needs):
		return model.ReasonBandwidth
	case p.qs.free.Count(j.kind.class) >= j.NodesMin:
		return model.ReasonPriority
	}
	return model.ReasonResources
}

// chooseIn selects nodes for ref among those given, for a run from at on.
func (p *pass) chooseIn(ref model.Ref, at model.Time, nodes model.NodeSet, into *model.Placement) bool {
	j := &p.jobs[ref]
	avoid := p.avoids(ref, at, at.Add(j.left))
	if avoid == nil {
		avoid = p.buf.avoid
		clear(avoid)
	}
	for i := range avoid {
		avoid[i] |= ^nodes[i]
	}
	q := p.qs.query(j, j.NodesMin, avoid)
	return p.idle.Select(&q, into)
}

// nodesOf is the nodes of a placement of whole nodes. The set is valid until the next
// call.
func (s *Core) nodesOf(placement *model.Placement) model.NodeSet {
	set := s.buf.extra
	clear(set)
	for _, w := range placement.Words {
		set[w.Word] |= w.Mask
	}
	return set
}

// lift takes the reservation of ref out of the timeline and returns its index,
// -1 when it has none.
func (p *pass) liftSlot(ref model.Ref) int {
	for i := range p.qs.plans.slots {
		if k := &p.qs.plans.slots[i]; k.ref == ref {
			j := &p.jobs[ref]
			until := p.until(k.at, j)
			p.qs.timeline.Add(k.at, until, k.nodes)
			p.qs.plans.caps.add(k.at, until, j.needs, -1)
			return i
		}
	}
	return -1
}

// cancelSlot gives up the reservation of ref and says whether it had one.
func (p *pass) cancelSlot(ref model.Ref) bool {
	i := p.liftSlot(ref)
	p.qs.dropSlot(i)
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
