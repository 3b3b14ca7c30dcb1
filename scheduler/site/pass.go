package site

import (
	"math"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
)

// Plan makes the passes that are due at now, in the order of the vClusters,
// and returns what they decided; it is valid until the next Plan.
func (s *Core) Plan(now model.Time) *scheduler.Plan {
	s.advance(now)
	s.weighBacklog(now)
	s.plan.Proposals = s.plan.Proposals[:0]
	s.forgetNotes()
	s.plan.Due, s.plan.QuietUntil, s.plan.Again = model.Never, model.Never, false
	s.wake()
	s.withdraw()
	for i := range s.lanes {
		l := &s.lanes[i]
		switch {
		case s.restoring:
			l.dirty = false
			s.pass(l, now)
		case s.turn(l, now):
			l.passed, l.dirty = now, false
			s.pass(l, now)
		}
	}
	for i := range s.lanes {
		s.plan.Due = min(s.plan.Due, s.due(&s.lanes[i], now))
	}
	for _, ref := range s.later {
		if j := &s.jobs[ref]; !j.Hold {
			s.plan.Due = min(s.plan.Due, j.Eligible)
		}
	}
	s.told = len(s.plan.Notes)
	return &s.plan
}

// withdraw proposes to cancel the jobs that can never start.
func (s *Core) withdraw() {
	for _, ref := range s.doomed {
		j := &s.jobs[ref]
		s.seq++
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
			Kind: model.ProposeCancel, Reason: model.ReasonDependencyNever, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref,
		})
	}
	s.doomed = s.doomed[:0]
}

// pass looks through the queue of one vCluster, best job first. Jobs that have
// room now and jobs that have none wait in two heaps: of the latter only the
// best is of interest, for it is the one that holds a reservation.
func (s *Core) pass(l *lane, now model.Time) {
	l.quiet, l.tick, l.release, l.short, l.behind = model.Never, model.Never, model.Never, false, false
	l.fresh, l.known = l.fresh[:0], false
	kept := l.keeps()
	l.blocked = false
	s.shrink(l)
	lacks := s.lacking(l)
	if len(l.queue) > 0 || lacks {
		s.passCandidates(l, now)
	} else {
		l.plans.due = model.Never // nobody is planned for
	}
	l.hungry = s.hunger(l)
	if l.short {
		// The accounts may lift a job to min_score as well.
		if at := s.book.NextTick(now); at <= s.settled {
			l.release = min(l.release, at)
			l.quiet = min(l.quiet, max(at, now))
		}
	}
	if kept && !l.keeps() {
		s.stirOthers(l) // they may borrow what nobody here waits for
	}
}

// passCandidates is the pass of a vCluster in which somebody waits.
func (s *Core) passCandidates(l *lane, now model.Time) {
	s.freeze(l)
	l.hold.reset()
	l.stamp++
	first := len(s.plan.Proposals)
	if l.policy.AsCoded {
		s.passAsCoded(l, now)
	} else if l.timeline != nil {
		s.passTimeline(l, now)
	} else {
		s.passQueue(l, now)
	}
	if !l.policy.AsCoded { // which gives each as much as there is at once
		s.grow(l, now, first)
	}
	s.lapse(l)
	if len(s.plan.Proposals) > first {
		l.quiet = now // what is free has changed, and f9 with it
	} else if (!l.behind || s.outlasts(l, now)) && s.still() && s.nextBoundary(now) == model.Never {
		// Nothing runs and nobody started, so nobody's reservation holds anybody
		// back: time alone changes nothing but what min_score does.
		l.quiet, l.tick = l.release, model.Never
	}
	if l.timeline != nil {
		l.quiet = min(l.quiet, l.plans.due) // or the plan is made anew
	}
}

// passQueue is the pass under none, first-fit and easy.
func (s *Core) passQueue(l *lane, now model.Time) {
	if len(s.growers) > 0 && l.timeline == nil {
		s.passServing(l, now)
		return
	}
	if !s.split(l, now) {
		l.known = l.blocked
		return
	}
	s.work.Passes++
	first := len(s.plan.Proposals)
	if l.swift = s.simple(l) && s.passBehind(l, now); !l.swift {
		s.passAll(l, now)
	}
	if len(s.plan.Proposals) == first { // else there is another pass soon
		s.quieten(l, now)
		l.known = l.swift && l.policy.Backfill == order.Easy && l.hold.known && !l.hold.detailed && l.quiet > now
	}
}

// passServing is the pass in which services may get nodes.
func (s *Core) passServing(l *lane, now model.Time) {
	s.work.Passes++
	s.work.Examined += uint64(len(l.queue) + len(s.growers))
	s.offers(l)
	l.swift = false
	s.passAll(l, now)
	if len(l.queue) > 0 || s.nextBoundary(now) < model.Never {
		l.quiet = now // who overtakes a service, or opens nodes to it, is not foreseen
	}
}

// passAll looks at everybody in the queue, in order.
func (s *Core) passAll(l *lane, now model.Time) {
	s.room, s.tight = s.room[:0], s.tight[:0]
	for i := range l.queue {
		q := &l.queue[i]
		c := order.Candidate{Tier: q.tier, Ref: q.ref, At: int32(i)}
		if s.mayFit(l, q) {
			s.room = append(s.room, c)
		} else {
			s.tight = append(s.tight, c)
		}
	}
	s.keys(l, s.room, now)
	s.keys(l, s.tight, now)
	if l.timeline == nil {
		s.room = s.addGrowers(l, s.room, now)
	}
	room, tight := s.heap(l, now, s.room), s.heap(l, now, s.tight)
	room.Lead()
	tight.Lead()
	// Whoever explains wants to know why the others wait, and min_score when.
	trimmed, thorough := false, s.cfg.Explain != nil || l.policy.MinScore > 0
	for len(room.List) > 0 || len(tight.List) > 0 {
		if len(room.List) == 0 || (len(tight.List) > 0 && room.Before(&tight.List[0], &room.List[0])) {
			s.meetTight(l, now, tight.List[0])
			tight.Pop()
		} else {
			s.meet(l, now, room.List[0])
			room.Pop()
		}
		if b := l.policy.Backfill; l.blocked && (b == order.None || b == order.Conservative) {
			l.behind = l.behind || len(room.List) > 0
		}
		if !l.blocked || thorough {
			continue
		}
		if b := l.policy.Backfill; b == order.None || b == order.Conservative || !s.anyRoom(l) {
			break
		}
		if !trimmed {
			tight.List, trimmed = tight.List[:0], true
			s.trim(l, now, &room)
		}
	}
}

// split finds the candidates who may have room; it says whether a pass is worth
// making: whether there are any, or the first blocked job may do something
// about it.
func (s *Core) split(l *lane, now model.Time) bool {
	s.work.Examined += uint64(len(l.queue))
	s.offers(l)
	s.findFits(l)
	if p := l.policy; len(s.fits) == 0 && !p.Preempts && s.cfg.Explain == nil && p.MinScore == 0 {
		// Nobody starts, whoever is first: the blocked one would only keep
		// its own vCluster from lending.
		for i := 0; i < len(l.queue) && !l.blocked; i++ {
			l.blocked = s.held(l, order.Candidate{Ref: l.queue[i].ref}, now) == model.ReasonNone
		}
		return false
	}
	return true
}

// keys works out what the candidates are ordered by.
func (s *Core) keys(l *lane, h []order.Candidate, now model.Time) {
	if len(s.claims) > 0 {
		for i := range h {
			h[i].Tier = s.rankTier(h[i].Ref)
		}
	}
	if l.policy.Ranking == ByScore && !l.policy.Expected {
		for i := range h {
			q := &l.queue[h[i].At]
			s.weigh(l, q, now)
			q.key = s.scoreOfQueued(l, q)
			h[i].Key = int64(q.key)
		}
		return
	}
	for i := range h {
		h[i].Key = s.keyOf(l, &s.jobs[h[i].Ref], now)
	}
}

// rankTier is the tier of ref in a pass: above all others once everybody has left
// who was to make room for it, for its victims may be before it in the queue.
func (s *Core) rankTier(ref model.Ref) int32 {
	for i := range s.claims {
		if c := &s.claims[i]; c.ref == ref && len(c.victims) == 0 {
			return math.MaxInt32
		}
	}
	return s.tier(&s.jobs[ref])
}

func (s *Core) tier(j *job) int32 {
	if j.Partition < 0 {
		return 0
	}
	return s.site.Partitions[j.Partition].Tier
}

// meet is the turn of a job that had room when the pass began.
func (s *Core) meet(l *lane, now model.Time, c order.Candidate) {
	j := &s.jobs[c.Ref]
	if j.phase == running {
		s.growService(l, now, c.Ref)
		return
	}
	if l.blocked && s.hopeless(l, &l.queue[j.pos], now) && s.cfg.Explain == nil && l.policy.MinScore == 0 {
		return
	}
	if r := s.held(l, c, now); r != model.ReasonNone {
		s.note(c.Ref, r)
		return
	}
	if r := s.choose(l, c.Ref, now); r != model.ReasonNone {
		s.block(l, now, c.Ref, r)
		return
	}
	if l.blocked && !s.mayPass(l, now, j) {
		s.note(c.Ref, model.ReasonPriority)
		return
	}
	s.propose(l, c.Ref, now)
}

// mayPass says whether a job about to start on s.chosen may do so although one
// before it is blocked. Between two plans of Conservative nobody may.
func (s *Core) mayPass(l *lane, now model.Time, j *job) bool {
	switch l.policy.Backfill {
	case order.FirstFit:
		return true
	case order.Easy:
		return s.harmless(l, now, j, &s.chosen)
	}
	return false
}

// meetTight is the turn of a job that had no room when the pass began.
func (s *Core) meetTight(l *lane, now model.Time, c order.Candidate) {
	if r := s.held(l, c, now); r != model.ReasonNone {
		s.note(c.Ref, r)
		return
	}
	s.block(l, now, c.Ref, s.choose(l, c.Ref, now))
}

// held says which limit keeps j from starting now, whatever is free.
func (s *Core) held(l *lane, c order.Candidate, now model.Time) model.Reason {
	p, j := l.policy, &s.jobs[c.Ref]
	if p.MinScore > 0 && p.Ranking == ByScore && model.Fixed(c.Key) < p.MinScore {
		l.short = true
		l.release = min(l.release, s.reaches(l, j, now))
		return model.ReasonMinScore
	}
	if r := s.limited(j); r != model.ReasonNone {
		return r
	}
	return s.graph.Gate(c.Ref)
}

// limited says which hard limit j would exceed on as many nodes as its claim names.
func (s *Core) limited(j *job) model.Reason {
	if r := s.book.Check(&j.claim); r != model.ReasonNone {
		return r
	}
	if s.overPool(j, j.claim.Nodes) {
		return model.ReasonSensitivePool
	}
	return model.ReasonNone
}

// reaches is the instant at which the wait alone has lifted j to min_score, to the
// microsecond, if that is before l.release; a pass is made then.
func (s *Core) reaches(l *lane, j *job, now model.Time) model.Time {
	const horizon = 1 << 50 * model.Microsecond
	least := l.policy.MinScore
	if l.policy.Weights[score.Wait] <= 0 || (l.release < model.Never && s.scoreOf(l, j, l.release) < least) {
		return model.Never
	}
	low, span := now, model.Millisecond
	for s.scoreOf(l, j, now.Add(span)) < least {
		if low, span = now.Add(span), 2*span; span > horizon {
			return model.Never
		}
	}
	for high := now.Add(span); ; {
		mid := low + (high-low)/2
		switch {
		case mid == low:
			return high
		case s.scoreOf(l, j, mid) < least:
			low = mid
		default:
			high = mid
		}
	}
}

// block makes ref the first blocked job of the pass, when there is none yet.
func (s *Core) block(l *lane, now model.Time, ref model.Ref, r model.Reason) {
	s.note(ref, r)
	if l.blocked {
		return
	}
	l.blocked = true
	l.hold.ref, l.hold.since = ref, s.seq
	if l.policy.Preempts {
		s.preempt(l, now, ref)
	}
}

// propose asks for the nodes in s.chosen for the job under ref.
func (s *Core) propose(l *lane, ref model.Ref, now model.Time) {
	s.occupy(l, ref, now)
	j := &s.jobs[ref]
	s.seq++
	j.seq = s.seq
	s.plan.Again = s.plan.Again || j.Kind == model.Reactive && !l.policy.AsCoded && j.wants() > j.NodesMin
	s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
		Kind: model.ProposeAssign, Borrowed: j.borrowed, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref,
		Request: j.key.Request, Placement: j.placement,
	})
}

// occupy takes the job under ref out of the queue and counts the nodes in s.chosen as
// taken by it, until the quorum's answer is observed.
func (s *Core) occupy(l *lane, ref model.Ref, now model.Time) {
	j := &s.jobs[ref]
	s.leave(ref)
	j.placement.Set(&s.chosen)
	j.borrowed = s.chosenBorrows
	j.phase = inFlight
	l.free.Take(&j.placement)
	l.stamp++
	l.flying = append(l.flying, ref)
	j.predicted = now.Add(s.span(j))
	l.ends.Insert(j.predicted, ref, sizeOf(&j.placement))
	s.book.Reserve(&j.claim)
	s.graph.Started(ref)
	s.use(j)
	s.lend(j, 1)
	s.rouse() // the caps of all have less room
	s.note(ref, model.ReasonNone)
}
