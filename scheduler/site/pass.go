package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
)

// Plan makes the passes that are due at now, in the order of the vClusters, and returns
// what they decided; it is valid until the next Plan. Of several vClusters it stops behind the
// first that proposes anything. The others follow in the next plan of the instant, when
// the answers that are known at once have been observed: so vClusters that have their turn at
// one instant do not take each other's nodes.
func (s *Core) Plan(now model.Time) *scheduler.Plan {
	s.advance(now)
	s.updateBacklog(now)
	s.plan.Proposals, s.plan.Promises, s.plan.Unmet, s.plan.Passed = s.plan.Proposals[:0], s.plan.Promises[:0], s.plan.Unmet[:0], s.plan.Passed[:0]
	s.plan.Due, s.plan.QuietUntil, s.plan.Again, s.plan.More = model.Never, model.Never, false, false
	if s.nextDue <= now {
		s.admitDue()
	}
	if len(s.unwanted) > 0 {
		withdraw(s)
	}
	shed(s)
	from := s.next
	s.next = 0
	for i := from; i < len(s.vclusters); i++ {
		if s.vclusters[i].awaitsTick(now) && !s.restoring {
			continue
		}
		first := len(s.plan.Proposals)
		p := s.begin(&s.vclusters[i], now)
		switch {
		case s.restoring:
			p.run()
		case p.turn():
			p.qs.lastPass = now
			p.run()
		}
		if len(s.plan.Proposals) > first && len(s.vclusters) > 1 {
			s.next, s.plan.More = i+1, true
			break
		}
	}
	for i := range s.vclusters {
		s.plan.Due = min(s.plan.Due, s.due(&s.vclusters[i], now))
	}
	s.plan.Due = min(s.plan.Due, s.nextDue)
	return &s.plan
}

// withdraw proposes to cancel the jobs that can never start, or are not to wait.
func withdraw(s *Core) {
	for _, u := range s.unwanted {
		j := &s.jobs[u.ref]
		s.seq++
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
			Kind: model.ProposeCancel, Reason: u.why, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: u.ref,
		})
	}
	s.unwanted = s.unwanted[:0]
}

// pass is one look of a vCluster at its queue. What it holds does not change until it is
// over.
type pass struct {
	core       *Core
	qs         *queueState
	now        model.Time
	borrowable int32 // nodes that the other vClusters would lend at most
	bounded    bool  // the upper bounds on its scores are set
	contended  bool  // the contenders of the best job were found with it
	fast       bool  // the first blocked job was found without bringing the queue into order
	triesLeft  bool  // there are blocked jobs for which no victims were sought
	heeding    bool  // others have promised nodes to their jobs
	minScored  bool  // a job is held by min_score
	orderHolds bool  // a job that may have room is held back by the order alone
	failing    bool  // no victims were found for a job
	found      finding
}

// begin is the pass that a vCluster makes at now, if it makes one; it is valid until the
// next call for that vCluster.
func (s *Core) begin(qs *queueState, now model.Time) *pass {
	p := &qs.scratch.pass
	if p.core == nil {
		p.core, p.qs = s, qs
	}
	*p = pass{core: p.core, qs: p.qs, now: now, heeding: s.promises.toOthers(qs)}
	return p
}

// run looks through the queue of one vCluster, best job first. Jobs that have
// room now and jobs that have none wait in two heaps: of the latter only the
// best is of interest, for it is the one that holds a reservation.
func (p *pass) run() {
	p.core.plan.Passed = append(p.core.plan.Passed, p.qs.id)
	p.beginLook()
	kept := p.qs.keepsNodes()
	p.qs.blocked, p.qs.standing = false, -1
	p.core.caps.Met = false
	p.qs.scratch.refused.reset(p.core.seq)
	bringBackGated(p)
	var scalingUp []model.Ref
	if len(p.qs.services) > 0 {
		p.shrink()
		scalingUp = p.findScalingUp()
	}
	if len(p.qs.waiting.Jobs) > 0 || len(scalingUp) > 0 {
		p.borrowable = p.lendable()
		p.passCandidates(scalingUp)
	} else {
		p.qs.plan.Due = model.Never // no job is planned for
		p.qs.tolerance = anyTolerance
		p.noteHeld()
	}
	takeOutGated(p)
	p.qs.underProvisioned = len(p.qs.services) > 0 && p.lacksNodes()
	if p.qs.promises() {
		p.publish()
	}
	if len(p.qs.services) > 0 {
		preemptForServices(p)
	}
	if len(p.core.holds) > 0 {
		p.dropIdleHolds() // what is promised was found beside them
	}
	if len(p.qs.services) > 0 {
		tellUnmet(p)
	}
	if p.minScored {
		// The accounts may lift a job to min_score as well.
		if at, may := p.core.ledger.NextChange(p.now); may {
			p.qs.minScoreAt = min(p.qs.minScoreAt, at)
			p.qs.look.Bring(max(at, p.now))
		}
	}
	if keeps := p.qs.keepsNodes(); kept != keeps {
		lendsMore(p.core, p.qs, kept)
	}
	p.depend()
}

// passCandidates is the pass of a vCluster in which a job waits.
func (p *pass) passCandidates(scalingUp []model.Ref) {
	p.qs.reservation.Reset()
	first := len(p.core.plan.Proposals)
	p.qs.by.pass(p, scalingUp)
	if len(p.core.plan.Proposals) > first {
		p.core.plan.Again = p.core.plan.Again || startsWanted(p, p.core.plan.Proposals[first:])
		p.qs.look.Until = p.now // what is free has changed, and f9 with it
		if p.fillsUp() {
			p.qs.look.Until = model.Never // there are no promises
		}
	} else if ((!p.orderHolds && !p.heeding && !p.triesLeft) || p.beyondPatience()) && p.core.still() && p.core.nextBoundary(p.now) == model.Never {
		// Nothing runs and no job started, so no reservation holds a job
		// back: time alone changes nothing but what min_score does.
		p.qs.look.Until, p.qs.accountsAt = p.qs.minScoreAt, model.Never
		p.found, p.fast = unclear, false // anything that happens on the site has it look again
	} else if p.triesLeft || (p.heeding && p.qs.policy.Preempts) {
		p.qs.look.Until = p.now // a job may lose its room by time alone, and then preempt others
	} else {
		p.qs.look.Bring(max(p.core.promises.quietUntil(p.qs), p.now))
	}
	if at := p.core.nextBoundary(p.now); at < model.Never && p.qs.blocked {
		p.qs.look.Until = p.now // it may come to be held, where it would run past the end of an advance reservation
	} else {
		p.qs.look.Bring(at) // jobs that name one may start
	}
	if p.qs.policy.plans() {
		p.qs.look.Bring(p.qs.plan.Due) // or the plan is made anew
	}
}

// passQueue is the pass under none, first-fit and easy.
func (p *pass) passQueue(scalingUp []model.Ref) {
	if len(scalingUp) > 0 && !p.qs.policy.plans() {
		p.passServing(scalingUp)
		return
	}
	p.core.work.Examined += uint64(len(p.qs.waiting.Jobs))
	anyFits := p.anyFits()
	if !anyFits && p.orderless() && !(p.qs.policy.Preempts && len(p.hunters()) > 0) {
		p.qs.standing = anyUnheld(p)
		p.qs.blocked = p.qs.standing >= 0
		p.noteFull()
		return
	}
	p.core.freeze(p.qs)
	p.core.work.Passes++
	first := len(p.core.plan.Proposals)
	if p.onFastPath() {
		p.fast = p.passFast(anyFits)
	}
	if !p.fast {
		p.passAll(nil)
	}
	if len(p.core.plan.Proposals) > first {
		return // there is another pass soon
	}
	if !anyFits && !p.triesLeft && p.orderless() {
		p.noteFull()
		return
	}
	p.boundNextChange(anyFits)
	switch {
	case !p.qs.blocked:
		p.noteHeld()
	case p.fast && p.qs.policy.Backfill == order.Easy && p.qs.reservation.ByCount() && p.qs.look.Until > p.now:
		p.qs.judged = byTurn
	}
}

// passServing is the pass in which services may get nodes.
func (p *pass) passServing(scalingUp []model.Ref) {
	p.core.freeze(p.qs)
	p.core.work.Passes++
	p.core.work.Examined += uint64(len(p.qs.waiting.Jobs) + len(scalingUp))
	p.passAll(scalingUp)
	if len(p.qs.waiting.Jobs) > 0 || p.core.nextBoundary(p.now) < model.Never {
		p.qs.look.Until = p.now // what overtakes a service, or opens nodes to it, is not foreseen
	}
}

// sorted is the candidates of a pass in two heaps, not in order yet: those that may have
// room, the services that may get nodes among them, and those that have none.
func (p *pass) sorted(scalingUp []model.Ref) (room, tight order.Heap) {
	with, without := p.core.buf.room[:0], p.core.buf.tight[:0]
	for i := range p.qs.waiting.Jobs {
		q := &p.qs.waiting.Jobs[i]
		if q.Gated {
			continue
		}
		c := order.Candidate{Tier: q.Tier, Ref: q.Ref, At: int32(i)}
		if p.mayFit(q) {
			with = append(with, c)
		} else {
			without = append(without, c)
		}
	}
	p.keys(with)
	p.keys(without)
	with = p.addScalingUp(with, scalingUp)
	p.core.buf.room, p.core.buf.tight = with, without
	return p.heap(with), p.heap(without)
}

// passAll examines each job in the queue, in order.
func (p *pass) passAll(scalingUp []model.Ref) {
	room, tight := p.sorted(scalingUp)
	room.Lead()
	tight.Lead()
	trimmed, thorough := false, p.qs.policy.MinScore > 0 // which asks when the others are released
	for len(room.List) > 0 || len(tight.List) > 0 {
		if len(room.List) == 0 || (len(tight.List) > 0 && room.Before(&tight.List[0], &room.List[0])) {
			p.tryTight(tight.List[0])
			tight.Pop()
		} else {
			p.tryStart(room.List[0])
			room.Pop()
		}
		if b := p.qs.policy.Backfill; p.qs.blocked && (b == order.None || b == order.Conservative) {
			p.orderHolds = p.orderHolds || len(room.List) > 0
		}
		if !p.qs.blocked || thorough {
			continue
		}
		if b := p.qs.policy.Backfill; b == order.None || b == order.Conservative || !p.anyRoom() {
			break
		}
		if !trimmed {
			tight.List, trimmed = tight.List[:0], true
			p.prune(&room)
		}
	}
}

// keys works out what the candidates are ordered by.
func (p *pass) keys(h []order.Candidate) {
	if len(p.core.holds) > 0 {
		for i := range h {
			h[i].Tier = p.rankTier(h[i].Ref)
		}
	}
	if p.qs.policy.Ranking == ByScore && !p.qs.policy.Expected {
		for i := range h {
			q := &p.qs.waiting.Jobs[h[i].At]
			weigh(p, q)
			h[i].Key = int64(q.Key)
		}
		return
	}
	for i := range h {
		h[i].Key = p.keyOf(&p.core.jobs[h[i].Ref])
	}
}

// rankTier is the tier of ref in a pass: above all others once all jobs have left
// that were to make room for it, for its victims may be before it in the queue.
func (p *pass) rankTier(ref model.Ref) int32 {
	tier := p.core.tier(&p.core.jobs[ref])
	if p.core.holds.ready(ref) {
		tier += aboveTiers
	}
	return tier
}

// aboveTiers is more than any tier of a partition, and so is preferredTier, that of Config.Prefer.
const (
	aboveTiers    = 1 << 30
	preferredTier = 1 << 29
)

func (s *nodeState) tier(j *job) int32 {
	if j.Job == s.prefer {
		return preferredTier
	}
	if j.Partition < 0 {
		return 0
	}
	return s.site.Partitions[j.Partition].Tier
}

// tryStart is the turn of a job that had room when the pass began.
func (p *pass) tryStart(c order.Candidate) {
	j := &p.core.jobs[c.Ref]
	if j.phase == running {
		p.growService(c.Ref)
		return
	}
	if p.qs.blocked && p.qs.policy.MinScore == 0 && (p.cannotStart(p.qs.waiting.Row(c.Ref)) || refusedAlike(p, c.Ref)) {
		return
	}
	if hadTurn(p, j) {
		return
	}
	if p.screen(c) != model.ReasonNone {
		return
	}
	found := &p.core.buf.choice
	if r := p.choose(c.Ref, found); r != model.ReasonNone {
		addNoRoom(p, c.Ref, r)
		p.block(c.Ref)
		return
	}
	if p.core.overLimits(j, &found.nodes, 0) != model.ReasonNone { // which are known now
		return
	}
	if p.qs.blocked && !p.mayPass(j, &found.nodes) {
		addDelay(p, c.Ref, found)
		return
	}
	p.propose(c.Ref, found)
}

// mayPass says whether a job about to start on the nodes may do so although one
// before it is blocked. Between two plans of Conservative none may.
func (p *pass) mayPass(j *job, nodes *model.Placement) bool {
	switch p.qs.policy.Backfill {
	case order.FirstFit:
		return true
	case order.Easy:
		return p.harmless(j, nodes)
	}
	return false
}

// tryTight is the turn of a job that had no room when the pass began.
func (p *pass) tryTight(c order.Candidate) {
	if hadTurn(p, &p.core.jobs[c.Ref]) {
		return
	}
	if p.screen(c) == model.ReasonNone {
		p.block(c.Ref)
	}
}

// screen is held for a job whose turn it is: of one held by min_score, the next look is
// told when it may reach that.
func (p *pass) screen(c order.Candidate) model.Reason {
	r, j := p.held(c), &p.core.jobs[c.Ref]
	if r == model.ReasonMinScore {
		p.minScored = true
		p.qs.minScoreAt = min(p.qs.minScoreAt, p.reaches(j))
	}
	if r != model.ReasonNone {
		j.heldIn = p.core.work.Passes
	}
	return r
}

// hadTurn says whether a limit held j in this pass when it was its turn, which is not
// its turn again when a start has given that way: one of shares leaves more nodes to others that
// take shares.
func hadTurn(p *pass, j *job) bool { return j.usage.Divides && j.heldIn == p.core.work.Passes }

// held says which limit keeps j from starting now, whatever is free.
func (p *pass) held(c order.Candidate) model.Reason {
	policy, j := p.qs.policy, &p.core.jobs[c.Ref]
	if policy.MinScore > 0 && policy.Ranking == ByScore && model.Fixed(c.Key) < policy.MinScore {
		return model.ReasonMinScore
	}
	if j.Reservation >= 0 && p.core.site.Reservations[j.Reservation].Outside(p.now, p.now.Add(j.left)) {
		return model.ReasonReserved
	}
	if r := p.core.limited(j, &j.usage); r != model.ReasonNone {
		return r
	}
	r := p.core.graph.Gate(c.Ref)
	if r != model.ReasonNone && !p.qs.waiting.Row(c.Ref).Gated {
		p.qs.scratch.gated = append(p.qs.scratch.gated, c.Ref)
	}
	return r
}

// limited says which hard limit j would exceed if it claimed u.
func (s *Core) limited(j *job, u *quota.ResourceUsage) model.Reason {
	r := s.ledger.Check(u)
	if r == model.ReasonNone && u.Divides {
		r = s.confined(j, u)
	}
	if r == model.ReasonNone && s.overPool(j, u.Nodes) {
		r = model.ReasonSensitivePool
	}
	if r != model.ReasonNone {
		metLimit(s, j, r, u.Divides)
	}
	return r
}

// confined says which limit on nodes keeps j, which takes shares, from starting: it leaves
// no room for other nodes than those with shares that it counts already, and these have none.
func (s *Core) confined(j *job, u *quota.ResourceUsage) model.Reason {
	avoid := s.buf.confined
	r := s.ledger.Confines(u, avoid)
	if r == model.ReasonNone {
		return r
	}
	q := j.queue.query(j, u.Nodes, avoid)
	if j.queue.free.Fits(&q) {
		return model.ReasonNone
	}
	return r
}

// block makes ref the first blocked job of the pass, when there is none yet.
func (p *pass) block(ref model.Ref) {
	if p.qs.blocked {
		return
	}
	p.qs.blocked, p.qs.standing = true, ref
	p.qs.reservation.Ref, p.qs.reservation.Since = ref, p.core.seq
	if p.qs.policy.Preempts {
		p.preemptForBlocked()
	}
}

// propose asks for the nodes chosen for the job under ref.
func (p *pass) propose(ref model.Ref, c *choice) {
	p.occupy(ref, c)
	j := &p.core.jobs[ref]
	p.core.seq++
	j.seq = p.core.seq
	p.core.plan.Again = p.core.plan.Again || j.Kind == model.Reactive && !p.qs.mode.fixedServiceSize && j.wants() > j.NodesMin
	p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
		Kind: model.ProposeAssign, Borrowed: j.borrowed, VCluster: j.VCluster, Seq: p.core.seq, Job: j.Job, Ref: ref,
		Request: j.request, Placement: j.placement,
	})
}

// occupy takes the job under ref out of the queue and counts the nodes chosen as taken by
// it, until the quorum's answer is observed.
func (p *pass) occupy(ref model.Ref, c *choice) {
	j := &p.core.jobs[ref]
	p.core.leave(ref)
	beginStint(&p.core.jobTable, j)
	p.core.memory.Set(&j.placement, &c.nodes)
	j.borrowed = c.borrowed
	j.phase = proposed
	p.qs.free.Take(&j.placement)
	p.qs.inFlight = append(p.qs.inFlight, ref)
	j.predicted = p.now.Add(j.left)
	p.qs.ends.Insert(j.predicted, ref, j.usage.Nodes)
	p.core.setTaken(j)
	p.core.ledger.Reserve(&j.usage)
	p.core.graph.Started(ref)
	p.core.setNeeds(j)
	p.core.lend(j, 1)
	p.promiseProposed(ref)
	takes(p.core, j) // the caps of all have less room
}
