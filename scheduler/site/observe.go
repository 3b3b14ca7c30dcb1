package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/waiting"
	"orrery/scheduler/site/internal/wake"
	"orrery/scheduler/workflow"
)

// Observe takes in facts in the order of the log; now must not decrease. A fact
// that contradicts the state is a fault of the caller and panics.
func (s *Core) Observe(now model.Time, facts []model.Fact) {
	s.advance(now)
	if len(facts) > 0 {
		s.ledger.Observed(now)
		s.lastFact = now
	}
	for i := range facts {
		f := &facts[i]
		if changesWhichRun(f.Kind) {
			runsOtherwise(s, f)
		}
		switch f.Kind {
		case model.FactSubmitted:
			if int(f.Ref) >= len(s.jobs) {
				makeRoom(s, facts[i:])
			}
			s.submitted(f)
		case model.FactCancelled:
			s.withdrawn(f.Ref, model.Withdrawn(f.Reason))
		case model.FactEnded:
			s.over(f.Ref, f.Outcome)
		case model.FactAssigned:
			s.granted(f)
		case model.FactRefused:
			s.refused(f)
		case model.FactRestored:
			s.restored(f)
		case model.FactUsageBegan, model.FactUsageEnded:
			s.usedBefore(f)
		case model.FactRestoringBegan:
			s.freezeUsage()
			s.restoring = true
		case model.FactRestoringEnded:
			s.restoring = false
		case model.FactPreempted:
			s.jobs[f.Ref].leaving = true
		case model.FactSuspended:
			s.returns(f.Ref, model.Duration(f.Value))
		case model.FactRequeued:
			s.returns(f.Ref, s.jobs[f.Ref].whole)
		case model.FactCheckpointed:
			s.jobs[f.Ref].saved = now
		case model.FactResized:
			s.resized(f)
		case model.FactDemand:
			s.demanded(f)
		case model.FactUnmet:
			s.jobs[f.Ref].unanswered = 0
		case model.FactGone:
			releaseFollowers(s, f.Job, neverSubmitted, f.Outcome)
		case model.FactReleased:
			if j := &s.jobs[f.Ref]; j.onHold {
				j.onHold = false
				if j.phase == early { // else it waits for other jobs, whose ends admit it
					s.admit(f.Ref)
				}
			}
		default:
			s.changed(f)
		}
	}
}

// changesWhichRun says whether a fact may let a preemption succeed that failed before.
func changesWhichRun(k model.FactKind) bool {
	switch k {
	case model.FactSubmitted, model.FactGone, model.FactCheckpointed, model.FactUnmet, model.FactUsageBegan, model.FactUsageEnded, model.FactRestoringBegan, model.FactRestoringEnded:
		return false
	}
	return true
}

// changed takes in a change of the site.
func (s *Core) changed(f *model.Fact) {
	switch f.Kind {
	case model.FactNode:
		up := f.State == model.Ready
		s.caps.SetUp(f.Node, f.State != model.Down)
		s.setReady(f.Node, up)
		for i := range s.vclusters {
			s.vclusters[i].free.SetAvailable(f.Node, up)
		}
	case model.FactLimits:
		s.ledger.SetLimits(f.Tenant, f.Limits)
	case model.FactPrice:
		s.price = model.Fixed(f.Value)
	case model.FactPower:
		s.caps.Cap.Power = f.Value
	case model.FactBandwidth:
		s.caps.Cap.Bandwidth = f.Value
	case model.FactSensitivePool:
		s.caps.Pool = int32(f.Value)
	}
	s.board.RaiseAll(wake.Site)
}

func (s *Core) submitted(f *model.Fact) {
	s.define(f.Alloc, f.Constraint)
	j, a := &s.jobs[f.Ref], f.Alloc
	if j.phase != gone {
		panic("scheduler: submission under a ref that is in use")
	}
	k := s.kindOf(a)
	key := j.key
	*j = job{} // and field by field, for what is made elsewhere has to be copied
	j.stint, j.key = s.noStint, key
	j.request, j.left, j.whole = f.Request, a.Walltime, f.Walltime
	j.Allocation, j.onHold = a, a.Hold
	j.queue, j.kind, j.usage = &s.vclusters[a.VCluster], k, usageOf(a, k, a.NodesMin)
	countRequest(s, j)
	j.assoc = s.ledger.Associate(a.Tenant, a.User)
	s.prepareOrder(j)
	s.backlog.setBacklog(j, j.gpuTime())
	status := s.graph.Submit(a, f.Ref)
	if s.cfg.RejectOverLimit && !s.restoring {
		if r := s.ledger.Check(&j.usage); r != model.ReasonNone {
			s.setUnwanted(f.Ref, r)
			return
		}
	}
	switch status {
	case workflow.Blocked:
		j.phase = dependent
	case workflow.Unsatisfiable:
		s.setUnwanted(f.Ref, model.ReasonDependencyNever)
	default:
		s.admit(f.Ref)
	}
}

// setUnwanted proposes to withdraw a job.
func (s *Core) setUnwanted(ref model.Ref, why model.Reason) {
	s.jobs[ref].phase, s.jobs[ref].why = unwanted, why
	s.unwanted = append(s.unwanted, unwantedJob{ref, why})
	s.board.Raise(s.jobs[ref].queue.id, wake.Queue)
}

// admit lets a job whose dependencies hold into the queue, or makes it wait
// for its eligible time or its release.
func (s *Core) admit(ref model.Ref) {
	j := &s.jobs[ref]
	if j.onHold || j.Eligible > s.now {
		waitOn(&s.jobTable, ref)
		return
	}
	if j.phase == early {
		waitNoMore(&s.jobTable, ref)
	}
	s.enter(ref)
}

// admitDue admits the jobs whose eligible time has come.
func (s *Core) admitDue() {
	for i := 0; i < len(s.later); {
		ref := s.later[i]
		if j := &s.jobs[ref]; j.onHold || j.Eligible > s.now {
			i++
			continue
		}
		s.admit(ref) // takes it out of s.later
	}
}

// enter puts a job into the queue of its vCluster.
func (s *Core) enter(ref model.Ref) {
	j := &s.jobs[ref]
	qs := j.queue
	j.phase, j.alike = queued, s.equivalences.of(nodeQuery{j.kind, place.ShareOf(j.Allocation), j.NodesMin, j.Topology, s.cfg.borrows(j.Allocation, j.kind)})
	first := qs.fair.Enter(j.Tenant)
	row := waiting.QueueEntry{
		Static: j.static, Submit: j.Submit, Left: j.left, Needs: caps.Usage{Power: j.Power, Bandwidth: j.Demand(j.NodesMin)}, Ref: ref, Job: j.Job,
		Need: j.NodesMin, Class: j.kind.class, Size: qs.waiting.SizeOf(j.kind.class, place.ShareOf(j.Allocation)), Tenant: int32(j.Tenant) + 1, Tier: s.tier(j), Borrows: s.cfg.borrows(j.Allocation, j.kind),
		Rank: int8(rankClass(j)), Below: int8(belowOf(s.site, j)), Alike: j.alike,
	}
	if s.caps.Idle.Counts() { // a start may draw less than its nodes did, and give others room in the same pass
		row.Needs.Power = 0
	}
	if j.IsSensitive() { // its nodes depend on what it is not known to ask for
		row.Alike = -1
	}
	row.Gated = s.graph.Gate(ref) != model.ReasonNone
	row.Plain = row.Needs == caps.Usage{} && !row.Borrows
	qs.waiting.Add(row, s.cfg.unitsOf(j), s.now)
	qs.waitingOf.add(rankClass(j), 1)
	if j.needsLent = needsLent(qs, &s.cfg, j); j.needsLent {
		qs.needLent++
	}
	qs.newcomers = append(qs.newcomers, ref)
	if first {
		accountsMove(s)
	}
}

// withdrawn takes out a job that its owner, the graph or a limit withdrew.
func (s *Core) withdrawn(ref model.Ref, outcome model.JobState) {
	j := &s.jobs[ref]
	switch j.phase {
	case proposed: // the refusal will follow
		j.phase = withdrawn
		return
	case queued:
		s.leave(ref)
		s.board.Raise(j.queue.id, wake.Queue)
	case early:
		waitNoMore(&s.jobTable, ref)
	case unwanted:
		s.unwanted = slices.DeleteFunc(s.unwanted, func(u unwantedJob) bool { return u.ref == ref })
	}
	s.depart(ref, outcome)
}

// depart forgets a job that has left and releases those that waited for it.
func (s *Core) depart(ref model.Ref, outcome model.JobState) {
	j := &s.jobs[ref]
	s.backlog.setBacklog(j, 0)
	s.dropHold(ref)
	if s.promises.End(ref) {
		s.promiseChanged(j.queue)
	}
	j.queue.plan.Forget(ref)
	j.phase = gone
	releaseFollowers(s, j.Job, ref, outcome)
}

// neverSubmitted is the ref of a job that is over and was never submitted.
const neverSubmitted = -1

// releaseFollowers lets those move that wait for a job which is over now: each is released, or can
// never run and is to be withdrawn.
func releaseFollowers(s *Core, of model.JobID, ref model.Ref, outcome model.JobState) {
	s.changes.Reset()
	s.graph.Ended(of, ref, outcome, false, &s.changes)
	for _, r := range s.changes.Released {
		if s.jobs[r].phase != unwanted {
			s.admit(r)
		}
	}
	for _, r := range s.changes.Unsatisfiable {
		if s.jobs[r].phase != unwanted {
			s.setUnwanted(r, model.ReasonDependencyNever)
		}
	}
}

// over takes in the end of a running job.
func (s *Core) over(ref model.Ref, outcome model.JobState) {
	s.vacate(ref)
	s.depart(ref, outcome)
}

// returns puts a job that was suspended or requeued back into the queue; left
// is the requested time it still has.
func (s *Core) returns(ref model.Ref, left model.Duration) {
	s.vacate(ref)
	j := &s.jobs[ref]
	j.left, j.leaving, j.borrowed, j.unanswered = left, false, false, 0
	j.usage = usageOf(j.Allocation, j.kind, j.NodesMin)
	s.prepareOrder(j)
	s.backlog.setBacklog(j, j.gpuTime())
	s.enter(ref)
}

// vacate gives the nodes of a running job back.
func (s *Core) vacate(ref model.Ref) {
	j := &s.jobs[ref]
	if j.phase != running {
		panic("scheduler: end of a job that does not run")
	}
	s.backlog.setRunning(j, 0)
	s.dropService(ref)
	s.ledger.End(&j.usage, j.assoc, s.now)
	s.graph.Stopped(ref)
	s.countNeeds(j, -1)
	s.lend(j, -1)
	s.free.Give(&j.placement)
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		qs.ends.Remove(j.predicted, ref)
		qs.free.Give(&j.placement)
		s.retakeInFlight(qs) // what was proposed before it knew of this job
	}
	releaseNodes(&s.nodeState, ref, j)
	s.deactivate(ref)
	s.holds.Left(ref)
	gives(s, j)
	endStint(&s.jobTable, j)
	accountsMove(s)
}

// granted takes in that the quorum granted a proposal.
func (s *Core) granted(f *model.Fact) {
	ref := f.Ref
	j := &s.jobs[ref]
	j.queue.inFlight = without(j.queue.inFlight, ref)
	end := s.now.Add(j.left)
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		if wants(qs, j, s.preemptsByQOS) && touches(s, qs, j) {
			s.board.Raise(qs.id, wake.Victim)
		}
		switch {
		case qs != j.queue:
			qs.free.Take(&j.placement)
		case end == j.predicted: // as of the proposal, where the answer came at once
			continue
		default:
			qs.ends.Remove(j.predicted, ref)
		}
		qs.ends.Insert(end, ref, j.usage.Nodes)
	}
	takes(s, j) // other nodes are selected, and other ends foreseen
	s.free.Take(&j.placement)
	j.predicted, j.started, j.saved, j.phase = end, s.now, model.AbsentTime, running
	s.activate(ref)
	holdNodes(&s.nodeState, ref, j)
	s.backlog.setBacklog(j, 0)
	s.backlog.setRunning(j, j.gpuTime())
	s.ledger.Unreserve(&j.usage)
	s.ledger.Begin(&j.usage, j.assoc, s.now)
	s.dropHold(ref)
	s.promises.End(ref)
	promisesTaken(s, j)
	s.addService(ref)
	accountsMove(s)
}

// restored takes in that a job goes on where it ran before this scheduler began. Until
// then it was queued.
func (s *Core) restored(f *model.Fact) {
	j := &s.jobs[f.Ref]
	if j.phase != queued {
		panic("scheduler: a job is restored that is not queued")
	}
	c := &s.buf.choice
	c.nodes.Set(f.Placement)
	c.borrowed = false
	j.usage = usageOf(j.Allocation, j.kind, f.Placement.Nodes())
	if j.Kind == model.Reactive && j.demand == 0 {
		j.demand = j.usage.Nodes // what it was to have, as far as it is known
	}
	for v := range s.home {
		c.borrowed = c.borrowed || model.VClusterID(v) != j.VCluster && f.Placement.Within(s.home[v]) > 0
	}
	p := s.viewOf(j.queue, s.now)
	p.proposals().occupy(f.Ref, c)
	s.granted(f)
}

// refused takes in that the quorum did not grant a proposal.
func (s *Core) refused(f *model.Fact) {
	j := &s.jobs[f.Ref]
	if j.seq != f.Seq || (j.phase != proposed && j.phase != withdrawn) { // it was to preempt another, to change its size, or to withdraw it
		if s.answered(f.Ref, f.Seq) {
			s.board.RaiseAll(wake.Site)
			s.passAgain(j.queue)
			return
		}
		if s.preemptionRefused(f.Seq) {
			s.passAgain(j.queue)
		}
		return
	}
	j.queue.inFlight = without(j.queue.inFlight, f.Ref)
	j.queue.ends.Remove(j.predicted, f.Ref)
	s.ledger.Unreserve(&j.usage)
	s.graph.Stopped(f.Ref)
	s.countNeeds(j, -1)
	s.lend(j, -1)
	j.borrowed = false
	j.queue.free.GiveWhere(&j.placement, s.free)
	s.retakeInFlight(j.queue)
	endStint(&s.jobTable, j)
	s.board.RaiseAll(wake.Site)
	if j.phase == withdrawn {
		s.depart(f.Ref, model.Cancelled)
		return
	}
	j.usage = usageOf(j.Allocation, j.kind, j.NodesMin)
	s.prepareOrder(j)
	s.enter(f.Ref)
	s.passAgain(j.queue)
}

// countRequest counts what a submitted job asks for. With another mix a pass may find other
// nodes than the last one did, for jobs that start and for those that are promised some.
func countRequest(s *Core, j *job) {
	qs := j.queue
	if qs.requests == nil {
		return
	}
	nodes := min(j.NodesMin, int32(s.space.Nodes())) // one that asks for more can never run
	if qs.requests.Add(j.kind.class, place.ShareOf(j.Allocation), nodes) {
		s.board.Raise(qs.id, wake.Queue)
	}
}

// demanded takes in how many nodes a service is to have.
func (s *Core) demanded(f *model.Fact) {
	if j := &s.jobs[f.Ref]; j.Kind == model.Reactive {
		j.demand = int32(min(f.Value, math.MaxInt32))
		j.unanswered = f.Seq
		s.board.Raise(j.queue.id, wake.Queue)
		if j.phase == running && j.usage.Nodes >= j.wants() {
			s.dropHold(f.Ref)
		}
	}
}

// makeRoom has a place in the table for each ref that the facts submit jobs under. Where the table has to grow, the queues
// get room for these jobs as well: all at once, so that many jobs are not moved again and again.
func makeRoom(s *Core, facts []model.Fact) {
	n := len(s.jobs)
	for i := range facts {
		if facts[i].Kind == model.FactSubmitted {
			n = max(n, int(facts[i].Ref)+1)
		}
	}
	if n > cap(s.jobs) {
		joining := make([]int, len(s.vclusters))
		for i := range facts {
			if facts[i].Kind == model.FactSubmitted {
				joining[facts[i].Alloc.VCluster]++
			}
		}
		for v, n := range joining {
			s.vclusters[v].waiting.Grow(n)
		}
	}
	s.jobs = slices.Grow(s.jobs, n-len(s.jobs))[:n]
}

// preemptionRefused takes in the refusal of a proposal to preempt: the victim is taken
// off its hold, which is given up when no other is on its way out. It says whether there was
// such a victim.
func (s *Core) preemptionRefused(seq uint64) (found bool) {
	for _, ref := range s.active {
		if s.jobs[ref].preemptSeq == seq {
			s.jobs[ref].leaving = false
		}
	}
	ref, idle := s.holds.Refused(seq)
	if idle {
		s.dropHold(ref)
	}
	return ref >= 0
}
