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
	s.updateBacklog(now)
	s.plan.Proposals = s.plan.Proposals[:0]
	s.forgetNotes()
	s.plan.Due, s.plan.QuietUntil, s.plan.Again = model.Never, model.Never, false
	s.admitDue()
	s.withdraw()
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		switch {
		case s.outOfTurn:
			qs.dirty = false
			s.pass(qs, now)
		case s.turn(qs, now):
			qs.lastPass, qs.dirty = now, false
			s.pass(qs, now)
		}
	}
	for i := range s.vclusters {
		s.plan.Due = min(s.plan.Due, s.due(&s.vclusters[i], now))
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
	for _, ref := range s.unsatisfiable {
		j := &s.jobs[ref]
		s.seq++
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
			Kind: model.ProposeCancel, Reason: model.ReasonDependencyNever, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref,
		})
	}
	s.unsatisfiable = s.unsatisfiable[:0]
}

// pass looks through the queue of one vCluster, best job first. Jobs that have
// room now and jobs that have none wait in two heaps: of the latter only the
// best is of interest, for it is the one that holds a reservation.
func (s *Core) pass(qs *queueState, now model.Time) {
	qs.quietUntil, qs.accountsAt, qs.minScoreAt, qs.belowMinScore, qs.orderHolds = model.Never, model.Never, model.Never, false, false
	qs.fresh, qs.settled = qs.fresh[:0], false
	kept := qs.keepsNodes()
	qs.blocked = false
	s.shrink(qs)
	scalingUp := s.findScalingUp(qs)
	if len(qs.waiting.Jobs) > 0 || len(scalingUp) > 0 {
		s.passCandidates(qs, now, scalingUp)
	} else {
		qs.plans.due = model.Never // nobody is planned for
	}
	qs.underProvisioned = s.lacksNodes(qs)
	if qs.belowMinScore {
		// The accounts may lift a job to min_score as well.
		if at := s.book.NextTick(now); at <= s.accountsStableAt {
			qs.minScoreAt = min(qs.minScoreAt, at)
			qs.quietUntil = min(qs.quietUntil, max(at, now))
		}
	}
	if kept && !qs.keepsNodes() {
		s.markOthersDirty(qs) // they may borrow what nobody here waits for
	}
}

// passCandidates is the pass of a vCluster in which somebody waits.
func (s *Core) passCandidates(qs *queueState, now model.Time, scalingUp []model.Ref) {
	s.freeze(qs)
	qs.reservation.reset()
	qs.waiting.FreeChanged()
	first := len(s.plan.Proposals)
	if qs.policy.AsCoded {
		s.passAsCoded(qs, now)
	} else if qs.timeline != nil {
		s.passTimeline(qs, now, scalingUp)
	} else {
		s.passQueue(qs, now, scalingUp)
	}
	if !qs.policy.AsCoded { // which gives each as much as there is at once
		s.grow(qs, now, first)
	}
	s.dropIdleHolds(qs)
	if len(s.plan.Proposals) > first {
		qs.quietUntil = now // what is free has changed, and f9 with it
	} else if (!qs.orderHolds || s.beyondPatience(qs, now)) && s.still() && s.nextBoundary(now) == model.Never {
		// Nothing runs and nobody started, so nobody's reservation holds anybody
		// back: time alone changes nothing but what min_score does.
		qs.quietUntil, qs.accountsAt = qs.minScoreAt, model.Never
	}
	if qs.timeline != nil {
		qs.quietUntil = min(qs.quietUntil, qs.plans.due) // or the plan is made anew
	}
}

// passQueue is the pass under none, first-fit and easy.
func (s *Core) passQueue(qs *queueState, now model.Time, scalingUp []model.Ref) {
	if len(scalingUp) > 0 && qs.timeline == nil {
		s.passServing(qs, now, scalingUp)
		return
	}
	fits, worth := s.split(qs, now)
	if !worth {
		qs.settled = qs.blocked
		return
	}
	s.work.Passes++
	first := len(s.plan.Proposals)
	var contenders []model.Ref
	fast := false
	if s.onFastPath(qs) {
		contenders, fast = s.passFast(qs, now, fits)
	}
	if !fast {
		s.passAll(qs, now, nil)
	}
	if len(s.plan.Proposals) > first {
		return // there is another pass soon
	}
	s.boundNextChange(qs, now, len(fits) > 0, contenders, !fast)
	qs.settled = fast && qs.policy.Backfill == order.Easy && qs.reservation.known && !qs.reservation.detailed && qs.quietUntil > now
}

// passServing is the pass in which services may get nodes.
func (s *Core) passServing(qs *queueState, now model.Time, scalingUp []model.Ref) {
	s.work.Passes++
	s.work.Examined += uint64(len(qs.waiting.Jobs) + len(scalingUp))
	s.offers(qs)
	s.passAll(qs, now, scalingUp)
	if len(qs.waiting.Jobs) > 0 || s.nextBoundary(now) < model.Never {
		qs.quietUntil = now // who overtakes a service, or opens nodes to it, is not foreseen
	}
}

// sorted is the candidates of a pass in two heaps, not in order yet: those that may have
// room, the services that may get nodes among them, and those that have none.
func (s *Core) sorted(qs *queueState, now model.Time, scalingUp []model.Ref) (room, tight order.Heap) {
	with, without := s.room[:0], s.tight[:0]
	for i := range qs.waiting.Jobs {
		q := &qs.waiting.Jobs[i]
		c := order.Candidate{Tier: q.Tier, Ref: q.Ref, At: int32(i)}
		if s.mayFit(qs, q) {
			with = append(with, c)
		} else {
			without = append(without, c)
		}
	}
	s.keys(qs, with, now)
	s.keys(qs, without, now)
	with = s.addScalingUp(qs, with, scalingUp, now)
	s.room, s.tight = with, without
	return s.heap(qs, now, with), s.heap(qs, now, without)
}

// passAll examines each job in the queue, in order.
func (s *Core) passAll(qs *queueState, now model.Time, scalingUp []model.Ref) {
	room, tight := s.sorted(qs, now, scalingUp)
	room.Lead()
	tight.Lead()
	// Whoever explains wants to know why the others wait, and min_score when.
	trimmed, thorough := false, s.cfg.Explain != nil || qs.policy.MinScore > 0
	for len(room.List) > 0 || len(tight.List) > 0 {
		if len(room.List) == 0 || (len(tight.List) > 0 && room.Before(&tight.List[0], &room.List[0])) {
			s.tryTight(qs, now, tight.List[0])
			tight.Pop()
		} else {
			s.tryStart(qs, now, room.List[0])
			room.Pop()
		}
		if b := qs.policy.Backfill; qs.blocked && (b == order.None || b == order.Conservative) {
			qs.orderHolds = qs.orderHolds || len(room.List) > 0
		}
		if !qs.blocked || thorough {
			continue
		}
		if b := qs.policy.Backfill; b == order.None || b == order.Conservative || !s.anyRoom(qs) {
			break
		}
		if !trimmed {
			tight.List, trimmed = tight.List[:0], true
			s.prune(qs, now, &room)
		}
	}
}

// split finds the jobs that may have room, valid until the next call, and says whether a
// pass is worth making: whether there are any, or the first blocked job may do something
// about it.
func (s *Core) split(qs *queueState, now model.Time) (fits []model.Ref, worth bool) {
	s.work.Examined += uint64(len(qs.waiting.Jobs))
	s.offers(qs)
	fits = s.findFits(qs)
	if p := qs.policy; len(fits) == 0 && !p.Preempts && s.cfg.Explain == nil && p.MinScore == 0 {
		// No job starts, whichever is first: the blocked one would only keep
		// its own vCluster from lending.
		for i := 0; i < len(qs.waiting.Jobs) && !qs.blocked; i++ {
			qs.blocked = s.held(qs, order.Candidate{Ref: qs.waiting.Jobs[i].Ref}, now) == model.ReasonNone
		}
		return nil, false
	}
	return fits, true
}

// keys works out what the candidates are ordered by.
func (s *Core) keys(qs *queueState, h []order.Candidate, now model.Time) {
	if len(s.holds) > 0 {
		for i := range h {
			h[i].Tier = s.rankTier(h[i].Ref)
		}
	}
	if qs.policy.Ranking == ByScore && !qs.policy.Expected {
		for i := range h {
			q := &qs.waiting.Jobs[h[i].At]
			q.Key = qs.score(q, now)
			h[i].Key = int64(q.Key)
		}
		return
	}
	for i := range h {
		h[i].Key = s.keyOf(qs, &s.jobs[h[i].Ref], now)
	}
}

// rankTier is the tier of ref in a pass: above all others once everybody has left
// who was to make room for it, for its victims may be before it in the queue.
func (s *Core) rankTier(ref model.Ref) int32 {
	for i := range s.holds {
		if c := &s.holds[i]; c.ref == ref && len(c.victims) == 0 {
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
func (s *Core) tryStart(qs *queueState, now model.Time, c order.Candidate) {
	j := &s.jobs[c.Ref]
	if j.phase == running {
		s.growService(qs, now, c.Ref)
		return
	}
	if qs.blocked && s.cannotStart(qs, qs.waiting.Row(c.Ref), now) && s.cfg.Explain == nil && qs.policy.MinScore == 0 {
		return
	}
	if r := s.held(qs, c, now); r != model.ReasonNone {
		s.note(c.Ref, r)
		return
	}
	if r := s.choose(qs, c.Ref, now); r != model.ReasonNone {
		s.block(qs, now, c.Ref, r)
		return
	}
	if qs.blocked && !s.mayPass(qs, now, j) {
		s.note(c.Ref, model.ReasonPriority)
		return
	}
	s.propose(qs, c.Ref, now)
}

// mayPass says whether a job about to start on s.chosen may do so although one
// before it is blocked. Between two plans of Conservative nobody may.
func (s *Core) mayPass(qs *queueState, now model.Time, j *job) bool {
	switch qs.policy.Backfill {
	case order.FirstFit:
		return true
	case order.Easy:
		return s.harmless(qs, now, j, &s.chosen)
	}
	return false
}

// meetTight is the turn of a job that had no room when the pass began.
func (s *Core) tryTight(qs *queueState, now model.Time, c order.Candidate) {
	if r := s.held(qs, c, now); r != model.ReasonNone {
		s.note(c.Ref, r)
		return
	}
	s.block(qs, now, c.Ref, s.choose(qs, c.Ref, now))
}

// held says which limit keeps j from starting now, whatever is free.
func (s *Core) held(qs *queueState, c order.Candidate, now model.Time) model.Reason {
	p, j := qs.policy, &s.jobs[c.Ref]
	if p.MinScore > 0 && p.Ranking == ByScore && model.Fixed(c.Key) < p.MinScore {
		qs.belowMinScore = true
		qs.minScoreAt = min(qs.minScoreAt, s.reaches(qs, j, now))
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
func (s *Core) reaches(qs *queueState, j *job, now model.Time) model.Time {
	const horizon = 1 << 50 * model.Microsecond
	least := qs.policy.MinScore
	if qs.policy.Weights[score.Wait] <= 0 || (qs.minScoreAt < model.Never && s.scoreOf(qs, j, qs.minScoreAt) < least) {
		return model.Never
	}
	low, span := now, model.Millisecond
	for s.scoreOf(qs, j, now.Add(span)) < least {
		if low, span = now.Add(span), 2*span; span > horizon {
			return model.Never
		}
	}
	for high := now.Add(span); ; {
		mid := low + (high-low)/2
		switch {
		case mid == low:
			return high
		case s.scoreOf(qs, j, mid) < least:
			low = mid
		default:
			high = mid
		}
	}
}

// block makes ref the first blocked job of the pass, when there is none yet.
func (s *Core) block(qs *queueState, now model.Time, ref model.Ref, r model.Reason) {
	s.note(ref, r)
	if qs.blocked {
		return
	}
	qs.blocked = true
	qs.reservation.ref, qs.reservation.since = ref, s.seq
	if qs.policy.Preempts {
		s.preempt(qs, now, ref)
	}
}

// propose asks for the nodes in s.chosen for the job under ref.
func (s *Core) propose(qs *queueState, ref model.Ref, now model.Time) {
	j := &s.jobs[ref]
	s.leave(ref)
	j.placement.Set(&s.chosen)
	j.borrowed = s.chosenBorrows
	j.phase = proposed
	qs.free.Take(&j.placement)
	qs.waiting.FreeChanged()
	qs.inFlight = append(qs.inFlight, ref)
	j.predicted = now.Add(s.span(j))
	qs.ends.Insert(j.predicted, ref, sizeOf(&j.placement))
	s.book.Reserve(&j.claim)
	s.graph.Started(ref)
	s.setNeeds(j)
	s.lend(j, 1)
	s.invalidateBounds() // the caps of all have less room
	s.seq++
	j.seq = s.seq
	s.plan.Again = s.plan.Again || j.Kind == model.Reactive && !qs.policy.AsCoded && j.wants() > j.NodesMin
	s.note(ref, model.ReasonNone)
	s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
		Kind: model.ProposeAssign, Borrowed: j.borrowed, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref,
		Request: j.key.Request, Placement: j.placement,
	})
}
