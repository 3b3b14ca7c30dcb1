package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quorum"
	"orrery/sim/des"
	"orrery/sim/world/translate"
	"orrery/sim/world/work"
	"orrery/traces"
)

// Site is the simulated world of a site whose nodes differ and fail, whose jobs
// lose their nodes and come back, and whose limits change. It implements
// drive.Quorum and drive.NodeAgents, makes no scheduling decision and allocates
// nothing once its tables have grown.
type Site struct {
	lifecycle
	failing
	cfg      SiteConfig
	site     *model.Site
	classes  *model.NodeClasses
	rows     *translate.Site
	quorum   *quorum.Site
	now      model.Time
	jobs     model.RefTable[siteJob]
	storage  *storage // nil where transfers share nothing
	spare    model.FreeList[attempt]
	allocs   model.RefTable[model.Allocation]
	nodes    []node
	whole    model.NodeSet // held by one job
	draining model.NodeSet
	drains   int            // of them
	split    map[card]int32 // shares of each GPU of which thousandths are held
	sent     uint32         // proposals so far: answers of one instant come in the order of the proposals
	ahead    int            // events that are not of jobs
	begun    bool           // now is an instant of the replay
	load     load
	decides  preempt.CheckpointConfig // of cfg, by what a checkpoint stops a job for

	restores []model.Proposal        // not read yet
	past     []attemptBefore         // likewise
	restored []taken                 // what of each node they hold
	named    map[string]model.NodeID // all nodes, until the warm start

	hardware Hardware
	throttle model.Fixed // to what part of what they draw GPUs are held, see holdCap
	cap      int64       // W that the site may draw, 0 for none
	uneven   bool        // what is drawn has changed since throttle was found
	flexible []model.Ref // attempts that a cap by the site is about
	held     heldBack    // of them
	prices   *prices     // of energy; nil where nothing tells what it costs and emits
	bills    model.FreeList[bill]
	network  *network // nil where contention is not modelled

	services map[int64]model.Ref // reactive ones in the system, by the log's number
	demands  map[int64]int32     // last change about a service that is not, by the log's number

	nodesBuf  []model.NodeID   // space of lists of nodes
	refsBuf   []model.Ref      // space of lists of jobs
	inspected model.Allocation // space of rows that are not submitted

	Meter Meter
}

// siteJob is a job in the system.
type siteJob struct {
	job
	*attempt // nil while it is on no nodes
	alloc    *model.Allocation
	hw       hwmodel.Job
	release  model.Time // from its hold, AbsentTime when that is not lifted

	kept    model.Duration // work saved by checkpoints, at speed 1
	used    model.Duration // how long that was worked on
	saved   int64          // bytes of the last one
	limit   model.Duration // requested time from the next start on
	outcome model.JobState // with which it ends by itself
	input   int64          // bytes that it has still to stage
	resumes bool           // ran before the replay began, and has not started in it
	endless bool           // its row ended at its walltime and it has not run at the rate of then, see SetSpeed
	unrated bool           // is counted in SiteCounts.Unrated
	bill    *bill          // of its energy, nil before its first attempt and where nothing has a price
}

// attempt is a run of a job, from when the quorum grants its nodes until it has left them.
type attempt struct {
	holds   holding
	began   model.Time
	opens   model.Time // when its requested time begins
	work    work.Work
	ends    model.Time     // the end that counts, others are overtaken; AbsentTime when it is called off
	endRank des.Rank       // of that end
	ending  model.JobState // with which it ends by itself
	why     model.Reason   // for which it does
	exit    exit           // how it gives its nodes up
	ckpt    checkpointing  // how it saves its work meanwhile
	moves   moving         // what it reads from storage, or writes to it
	since   model.Time     // when what it holds last changed
	// noPrologue says that it ends when it opens, for its prologue fails on a node.
	noPrologue bool
	network    sending
	powered
}

// newAttempt is an attempt that has not begun.
func (s *Site) newAttempt() *attempt {
	a := s.spare.Take()
	a.ends, a.exit.at, a.ckpt.at = model.AbsentTime, model.AbsentTime, model.AbsentTime
	return a
}

// NewSite returns a world with an idle site that reports to sink. cfg must be
// valid.
func NewSite(cfg SiteConfig, sink Sink) *Site {
	s := &Site{lifecycle: lifecycle{sink: sink}, cfg: cfg, site: cfg.Site, quorum: quorum.NewSite(cfg.Site)}
	s.classes = s.quorum.NodeClasses()
	s.rows = translate.NewSite(cfg.Site, &s.cfg.Rows)
	s.Meter.shared(len(cfg.Site.VClusters), len(cfg.Site.Tenants))
	s.hardware, s.throttle, s.cap = cfg.Hardware, model.One, cfg.Power.Cap
	if s.hardware == nil {
		s.hardware = hwmodel.Recorded{}
	}
	if m, ok := s.hardware.(*hwmodel.Model); ok {
		s.Meter.Consequences.Terms = m.Terms
		if m.Terms.Has(hwmodel.ByContention) {
			s.network = &network{}
		}
	}
	s.prices = newPrices(&cfg.Power)
	s.storage = newStorage(cfg.Storage, &s.Meter)
	if cfg.Checkpoints != nil {
		s.decides = *cfg.Checkpoints
		if stop := cfg.stop(); stop > 0 {
			s.decides.Bandwidth = stop
		}
	}
	s.services, s.demands = map[int64]model.Ref{}, map[int64]int32{}
	s.nodes = make([]node, len(cfg.Site.Nodes))
	s.whole, s.draining = model.NewNodeSet(len(s.nodes)), model.NewNodeSet(len(s.nodes))
	for i := range s.nodes {
		n := &cfg.Site.Nodes[i]
		if s.nodes[i].state = n.State; n.State == model.Draining {
			s.draining.Add(model.NodeID(i))
			s.drains++
		}
		if n.State != model.Down {
			s.Meter.Draw = s.Meter.Draw.Plus(s.band(n.IdlePower, cfg.Power.IdleBand))
		}
		s.nodes[i].back, s.nodes[i].mended = model.AbsentTime, model.AbsentTime
	}
	s.lost = model.NewNodeSet(len(s.nodes))
	s.planFailures()
	s.planDrifts()
	s.planSilences()
	for i := range cfg.Changes {
		c := &cfg.Changes[i]
		s.push(des.NewEvent(c.At, rankOf(c), model.JobID(i), byChange))
	}
	return s
}

// Next is the instant of the next event, model.Never when nothing is under way. When that is
// ahead the present one is over, and jobs take the speed that their links leave them.
func (s *Site) Next() model.Time {
	s.dropStale()
	if s.network != nil && s.events.Next() > s.now {
		s.settleNetwork()
	}
	return s.events.Next()
}

// dropStale drops the events that are left when no job is in the system and
// nothing else is ahead: they are out of date, and must not prolong the replay.
func (s *Site) dropStale() {
	if s.State.Waiting == 0 && s.State.Running == 0 && s.ahead == 0 && s.events.Len() > 0 {
		s.events.Clear()
	}
}

// push sets an event that is not of a job and is never out of date.
func (s *Site) push(e des.Event) {
	s.ahead++
	s.events.Push(e)
}

// Inspect says whether row i of b could never run, for a reason that unsatisfiable gives;
// it submits nothing.
func (s *Site) Inspect(b *traces.Batch, i int, unsatisfiable func(*model.Allocation) model.Reason) (tooLarge bool, err error) {
	if s.cfg.Rows.Warm.Left(b, i) {
		return false, nil
	}
	_, ok, err := s.rows.Allocation(b, i, &s.inspected)
	return ok && unsatisfiable(&s.inspected) != model.ReasonNone, err
}

// Lacking is what the rows so far name and the site does not have.
func (s *Site) Lacking() []translate.Lack { return s.rows.Lacking() }

// Submission turns row i of b into a fact, which it puts into f. ok is false when the
// row had left before the replay, is dropped by a rule, or is rejected because unsatisfiable says
// why it could never run: f is then FactGone where other rows wait for it, else empty. The
// error is a traces.DataError: the row names what the site does not have.
func (s *Site) Submission(b *traces.Batch, i int, unsatisfiable func(*model.Allocation) model.Reason, f *model.Fact) (ok bool, err error) {
	*f = model.Fact{}
	if s.cfg.Rows.Warm.Left(b, i) {
		return false, s.history(b, i, f)
	}
	s.dropStale()
	s.advance(s.cfg.Rows.Warm.From(b.Submit[i]))
	ref := s.ref()
	l := s.jobs.At(ref)
	a := s.allocs.At(ref)
	truth, met, ok, err := s.rows.Submission(b, i, a)
	if !ok {
		s.Special.Note(met, b.ID[i])
		s.unused = append(s.unused, ref)
		s.gone(b.First+model.JobID(i), model.Rejected, model.ReasonNone, f)
		return false, err
	}
	*l = siteJob{} // and field by field, for what is made elsewhere has to be copied
	l.truth, l.alloc, l.outcome, l.release, l.limit, l.hw = truth.Truth, a, truth.Outcome, truth.Release, a.Walltime, truth.Hardware
	r := &l.rec // as it was made; a warm start changes what the allocation says of some of it
	r.Job, r.ID, r.Eligible, r.Start, r.Procs, r.Walltime = a.Job, a.ID, a.Eligible, model.AbsentTime, s.rows.Units(a), a.Walltime
	l.input = s.toStage(l, truth.Input)
	s.State.Submitted++
	if why := unsatisfiable(a); why != model.ReasonNone {
		s.Special.Note(met.Rejected(), a.ID)
		l.rec.State, l.rec.Reason = model.Rejected, why
		s.leave(s.complete(l), s.now)
		s.unused = append(s.unused, ref)
		s.gone(l.rec.Job, model.Rejected, why, f)
		return false, nil
	}
	s.Special.Note(met, a.ID)
	if l.truth.Ran > 0 {
		if err := s.resume(ref, b, i); err != nil {
			return false, err
		}
	}
	s.enter(ref, f)
	return true, nil
}

// gone puts into f that a job is over which is never submitted, if others wait for it.
func (s *Site) gone(job model.JobID, outcome model.JobState, why model.Reason, f *model.Fact) {
	if s.rows.Awaited(job) {
		*f = model.Fact{Kind: model.FactGone, Job: job, Outcome: outcome, Reason: why}
		s.quorum.Apply(f)
	}
}

// complete enters what the allocation says into the record of a job that leaves.
func (s *Site) complete(l *siteJob) *job {
	r, a := &l.rec, l.alloc
	s.closeBill(l)
	r.User, r.Submit, r.GPUs, r.VCluster, r.Tenant, r.Class, r.Kind = a.User, a.Submit, a.Cards(), a.VCluster, a.Tenant, a.Class, a.Kind
	return &l.job
}

// ref takes a ref that no job has.
func (s *Site) ref() model.Ref {
	ref, ok := s.unusedRef()
	if !ok {
		ref = model.Ref(s.jobs.Len())
		s.jobs.Reach(ref)
		s.allocs.Reach(ref)
	}
	return ref
}

// enter commits the submission of a job, which it puts into f.
func (s *Site) enter(ref model.Ref, f *model.Fact) {
	l := s.jobs.At(ref)
	l.present = true
	if l.truth.Cancel != model.AbsentTime {
		s.events.Push(des.NewEvent(l.truth.Cancel, des.RankCancel, l.rec.Job, ref))
	}
	if l.release != model.AbsentTime {
		s.events.Push(des.NewEvent(l.release, des.RankCancel, l.rec.Job, ref))
	}
	s.setWaiting(l, 1)
	if l.alloc.Kind == model.Reactive {
		s.addService(ref)
	}
	*f = model.Fact{
		Kind: model.FactSubmitted, Job: l.rec.Job, Ref: ref, Submit: l.alloc.Submit, Walltime: l.rec.Walltime, Alloc: l.alloc,
		Constraint: &s.site.Constraints[l.alloc.Constraint],
		Request:    model.Request{Layout: model.PerNode, Nodes: l.alloc.NodesMin, PerNode: max(l.alloc.Cards(), 1), Units: l.rec.Procs},
	}
	s.quorum.Apply(f)
}

// Take appends the facts of the instant t to dst in order of the ranks of package des.
// What they point at is valid until the site is asked to do anything.
func (s *Site) Take(t model.Time, dst []model.Fact) []model.Fact {
	s.advance(t)
	s.batch = s.events.Take(t, des.RankChange, s.batch[:0])
	s.facts = dst
	for _, e := range s.batch {
		switch e.Rank() {
		case des.RankNodeUp, des.RankNodeDown, des.RankChange:
			s.ahead--
			s.nodeEvent(e)
		case des.RankQuorum:
			s.ahead--
			s.answer(e.Ref())
		case des.RankExpiry:
			if e.Job() == byStorage {
				s.moved(int32(e.Ref()))
				continue
			}
			s.jobEvent(e)
		default:
			s.jobEvent(e)
		}
	}
	s.holdCap()
	return s.facts
}

// jobEvent handles an event of a job that may be out of date: the job was
// preempted or failed, or left and its ref was used again.
func (s *Site) jobEvent(e des.Event) {
	ref := e.Ref()
	l := s.jobs.At(ref)
	if !l.present || l.rec.Job != e.Job() {
		return
	}
	switch e.Rank() {
	case des.RankEnd, des.RankExpiry:
		if l.attempt != nil && l.ends == e.At && l.endRank == e.Rank() {
			s.end(ref)
		}
	case des.RankCheckpoint:
		if l.attempt == nil {
			return
		}
		if l.noPrologue && l.opens == e.At {
			s.failPrologues(ref)
			return
		}
		switch e.At {
		case l.ckpt.at:
			s.checkpointStep(ref)
		case l.exit.at:
			s.exitStep(ref)
		}
		if l.attempt != nil && l.begins == e.At {
			l.begins = model.AbsentTime
			if !l.exit.writes && !l.ckpt.writes {
				s.setWorks(l, true)
			}
		}
		if l.attempt != nil && l.moves.waits && l.opens == e.At {
			s.open(ref)
		}
	case des.RankCancel:
		switch {
		case l.rec.State == model.Pending && l.truth.Cancel == e.At:
			s.withdraw(ref, model.ReasonCancelled)
		case l.alloc.Hold && l.release == e.At:
			l.alloc.Hold = false
			s.emit(&model.Fact{Kind: model.FactReleased, Job: l.rec.Job, Ref: ref})
		}
	}
}

// emit commits a fact that did not come from a proposal.
func (s *Site) emit(f *model.Fact) {
	s.quorum.Apply(f)
	s.facts = append(s.facts, *f)
}

// withdraw takes out a job that waits.
func (s *Site) withdraw(ref model.Ref, why model.Reason) {
	l := s.jobs.At(ref)
	s.setWaiting(l, -1)
	l.rec.State, l.rec.Reason, l.rec.Runtime = model.Cancelled, why, l.kept
	s.emit(&model.Fact{Kind: model.FactCancelled, Job: l.rec.Job, Ref: ref, Seq: l.seq, Reason: why})
	s.depart(ref)
}

// depart hands in the record of a job that left, and vacates its ref once no
// proposal names it any more.
func (s *Site) depart(ref model.Ref) {
	l := s.jobs.At(ref)
	s.leave(s.complete(l), s.now)
	if l.alloc.Kind == model.Reactive {
		delete(s.services, l.rec.ID)
	}
	s.vacate(ref, &l.job)
}

// Abandon hands the jobs that are still in the system to the recorder, as they
// are, because nothing can happen any more. It returns their number.
func (s *Site) Abandon(now model.Time) int64 {
	s.advance(now)
	n := int64(0)
	for ref := range model.Ref(s.jobs.Len()) {
		l := s.jobs.At(ref)
		if !l.present {
			continue
		}
		n++
		ran := l.rec.Runtime
		if l.rec.State == model.Running || l.rec.State == model.Checkpointing {
			l.charge(now)
			s.stopTransfer(ref)
			s.bill(l)
			s.splitLoss(l, l.worked(now))
			ran = l.kept + l.gained(l.worked(now))
		}
		s.abandon(s.complete(l), now, ran, s.cfg.Expected && l.alloc.Kind == model.Bounded, s.cfg.Rows.Policy.Overrun)
	}
	s.Close()
	return n
}
