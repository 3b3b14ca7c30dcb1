package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/quorum"
	"orrery/sim/des"
	"orrery/traces"
)

// Site is the simulated world of a site whose nodes differ and fail, whose jobs
// lose their nodes and come back, and whose limits change. It implements
// drive.Quorum and drive.NodeAgents, makes no scheduling decision and allocates
// nothing once its tables have grown.
type Site struct {
	cfg      SiteConfig
	site     *model.Site
	makes    *model.NodeClasses
	rows     *Translator
	sink     Sink
	events   des.Queue
	quorum   *quorum.Site
	now      model.Time
	lives    []life // by Ref
	allocs   [][]model.Allocation
	nodes    []node
	whole    model.NodeSet // held by one job
	draining model.NodeSet
	drains   int // of them
	unused   []model.Ref
	vacated  []model.Ref // become unused when the instant is over
	flights  []flight
	landed   []model.Ref // rows of flights that are unused
	flown    uint32      // flights so far: answers of one instant come in the order of the proposals
	batch    []des.Event
	facts    []model.Fact      // of the Take under way
	left     []model.JobRecord // at this instant
	attempt  model.AttemptRecord
	ahead    int  // events that are not of jobs
	begun    bool // now is an instant of the replay
	pressure pressure

	warming     bool                    // proposals are answered at once
	resumptions []Resumption            // not read yet
	adopted     []uint64                // GPUs of each node that they hold
	named       map[string]model.NodeID // all nodes, until the warm start

	services map[int64]model.Ref // reactive ones in the system, by the log's number
	demands  map[int64]int32     // last change about a service that is not, by the log's number

	freed     []model.NodeID
	hit       []model.Ref
	inspected model.Allocation

	// Recall is told what was held before a warm start, by whom, on how many nodes and
	// when; nil when nobody wants to know. It may keep nothing of the allocation.
	Recall func(a *model.Allocation, nodes int32, from, to model.Time)

	Awkward Awkward
	State   SiteState
}

// flight is a proposal that waits for its answer.
type flight struct {
	model.Proposal
	// Its job and its victim keep their refs until the answer, if they were in
	// the system when it was made.
	keepsJob, keepsVictim bool
}

// life is the truth about a job in the system.
type life struct {
	rec     model.JobRecord
	alloc   *model.Allocation
	holds   holding
	runtime model.Duration // truth; AbsentDuration when it never ran in the log
	outcome model.JobState // with which it ends by itself
	cancel  model.Time     // AbsentTime when it is not withdrawn
	release model.Time     // from its hold, AbsentTime when that is not lifted
	seq     uint64         // of the granted proposal

	kept    model.Duration // work saved by checkpoints
	saved   int64          // bytes of the last one
	limit   model.Duration // requested time from the next start on
	began   model.Time     // of the running attempt
	opens   model.Time     // when its requested time begins
	works   model.Time     // when its work begins, or goes on
	ends    model.Time     // the end that counts; AbsentTime when it is called off
	ending  model.JobState // with which the running attempt ends
	exit    exit           // how it gives its nodes up
	keep    keeping        // how it saves its work meanwhile
	tries   uint32         // proposals so far
	flying  int32          // proposals that wait for an answer
	since   model.Time     // when what it holds last changed
	present bool           // in the system
	resumes bool           // ran before the replay began, and has not started in it
}

// NewSite returns a world with an idle site that reports to sink. cfg must be
// valid.
func NewSite(cfg SiteConfig, sink Sink) *Site {
	s := &Site{cfg: cfg, site: cfg.Site, sink: sink, quorum: quorum.NewSite(cfg.Site)}
	s.makes = s.quorum.NodeClasses()
	s.rows = NewTranslator(cfg.Site, cfg.Rows, &s.Awkward)
	s.State.shared(len(cfg.Site.VClusters), len(cfg.Site.Tenants))
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
			s.State.Power += n.IdlePower
		}
		s.nodes[i].back = model.AbsentTime
		s.breaks(model.NodeID(i))
	}
	for i := range cfg.Changes {
		c := &cfg.Changes[i]
		s.push(des.NewEvent(c.At, c.rank(), model.JobID(i), byChange))
	}
	return s
}

// Held is what the running job under ref holds; valid until it ends.
func (s *Site) Held(ref model.Ref) *model.Placement { return s.quorum.Held(ref) }

// Next is the instant of the next event, model.Never when nothing is under way.
func (s *Site) Next() model.Time {
	s.forget()
	return s.events.Next()
}

// forget drops the events that are left when no job is in the system and
// nothing else is ahead: they were overtaken, and must not prolong the replay.
func (s *Site) forget() {
	if s.State.Waiting == 0 && s.State.Running == 0 && s.ahead == 0 && s.events.Len() > 0 {
		s.events.Clear()
	}
}

// push sets an event that is not of a job and is not overtaken.
func (s *Site) push(e des.Event) {
	s.ahead++
	s.events.Push(e)
}

// Inspect counts row i of b as too large if never says why it could never run;
// it submits nothing.
func (s *Site) Inspect(b *traces.Batch, i int, never func(*model.Allocation) model.Reason) error {
	if s.cfg.Warm.left(b, i) {
		return nil
	}
	ok, err := s.rows.Allocation(b, i, &s.inspected)
	if ok && never(&s.inspected) != model.ReasonNone {
		s.Awkward.note(RuleTooLarge, b.ID[i])
	}
	return err
}

// Submission turns row i of b into a fact, which it puts into f. ok is false when the
// row is dropped by a rule or rejected because never says why it could never run. The
// error is a traces.DataError: the row names what the site does not have.
func (s *Site) Submission(b *traces.Batch, i int, never func(*model.Allocation) model.Reason, f *model.Fact) (ok bool, err error) {
	if s.cfg.Warm.left(b, i) && !impossible(b, i) {
		return false, s.history(b, i)
	}
	s.forget()
	s.advance(s.cfg.Warm.From(b.Submit[i]))
	ref := s.ref()
	l := &s.lives[ref]
	a := s.alloc(ref)
	*l = life{}
	l.alloc, l.runtime = a, b.Runtime[i]
	l.ends, l.exit.at, l.keep.at, l.cancel, l.release = model.AbsentTime, model.AbsentTime, model.AbsentTime, model.AbsentTime, model.AbsentTime
	if ok, err = s.admit(b, i, l); !ok {
		s.unused = append(s.unused, ref)
		return false, err
	}
	s.State.Submitted++
	if why := never(a); why != model.ReasonNone {
		s.Awkward.note(RuleTooLarge, a.ID)
		l.rec.State, l.rec.Reason = model.Rejected, why
		s.leave(l)
		s.unused = append(s.unused, ref)
		return false, nil
	}
	if s.cfg.Warm.OK {
		if err := s.resume(ref, b, i); err != nil {
			return false, err
		}
	}
	s.enter(ref, f)
	return true, nil
}

// admit fills in l from row i of b. ok is false when a rule drops the row.
func (s *Site) admit(b *traces.Batch, i int, l *life) (ok bool, err error) {
	a, id := l.alloc, b.ID[i]
	rule := s.leaves(b, i)
	if rule == RuleImpossible || rule == RuleNeverRan {
		s.Awkward.note(rule, id)
		return false, nil
	}
	if ok, err = s.rows.Allocation(b, i, a); !ok {
		return false, err
	}
	if a.Hold && b.Attr.Released[i] != model.AbsentTime {
		l.release = s.cfg.Warm.From(b.Attr.Released[i])
	}
	l.outcome = s.rows.outcome
	if l.runtime == model.AbsentDuration {
		s.Awkward.note(rule, id)
		s.untimed(b, i, l)
	}
	if l.runtime == 0 {
		s.Awkward.note(RuleZeroRuntime, id)
	}
	if l.runtime > a.Walltime {
		s.Awkward.note(RuleOverrun, id)
	}
	l.limit = a.Walltime
	r := &l.rec // as it was made
	r.Job, r.ID, r.User, r.Submit, r.Eligible, r.Start = a.Job, id, a.User, a.Submit, a.Eligible, model.AbsentTime
	r.Procs, r.Walltime, r.GPUs = s.rows.Units(a), a.Walltime, a.GPUs
	r.VCluster, r.Tenant, r.Class, r.Kind = a.VCluster, a.Tenant, a.Class, a.Kind
	return true, nil
}

// leaves is the rule that row i meets if it says no runtime or what cannot be,
// numRules else.
func (s *Site) leaves(b *traces.Batch, i int) Rule {
	switch {
	case impossible(b, i):
		return RuleImpossible
	case b.Runtime[i] != model.AbsentDuration:
		return numRules
	case s.rows.unbounded(b, i):
		return RuleUntimed
	case b.CancelledAt[i] != model.AbsentTime:
		return RuleWithdrawn
	}
	return RuleNeverRan
}

// untimed settles how a job without a runtime ends: when it was withdrawn or, if
// its kind has no end of its own, when it ended in the log, else with the trace.
func (s *Site) untimed(b *traces.Batch, i int, l *life) {
	switch cancel := b.CancelledAt[i]; {
	case cancel != model.AbsentTime:
		l.cancel, l.outcome = cancel, model.Cancelled
	case b.Attr.End[i] != model.AbsentTime:
		l.cancel = b.Attr.End[i]
	default:
		l.cancel, l.outcome = s.cfg.Horizon, model.Completed
	}
	l.cancel = max(l.cancel, s.cfg.Warm.From(l.alloc.Submit))
}

// allocChunk is the number of allocations in one piece of Site.allocs, which
// stay where they are as long as their refs are in use.
const allocChunk = 256

func (s *Site) alloc(ref model.Ref) *model.Allocation {
	return &s.allocs[ref/allocChunk][ref%allocChunk]
}

// ref takes a ref that nobody uses.
func (s *Site) ref() model.Ref {
	if n := len(s.unused); n > 0 {
		ref := s.unused[n-1]
		s.unused = s.unused[:n-1]
		return ref
	}
	ref := model.Ref(len(s.lives))
	s.lives = append(s.lives, life{})
	if ref%allocChunk == 0 {
		s.allocs = append(s.allocs, make([]model.Allocation, allocChunk))
	}
	return ref
}

// enter commits the submission of a job, which it puts into f.
func (s *Site) enter(ref model.Ref, f *model.Fact) {
	l := &s.lives[ref]
	l.present = true
	if l.cancel != model.AbsentTime {
		s.events.Push(des.NewEvent(l.cancel, des.RankCancel, l.rec.Job, ref))
	}
	if l.release != model.AbsentTime {
		s.events.Push(des.NewEvent(l.release, des.RankCancel, l.rec.Job, ref))
	}
	s.queue(l, 1)
	if l.alloc.Kind == model.Reactive {
		s.serves(ref)
	}
	*f = model.Fact{
		Kind: model.FactSubmitted, Job: l.rec.Job, Ref: ref, Submit: l.rec.Submit, Walltime: l.rec.Walltime, Alloc: l.alloc,
		Request: model.Request{Shape: model.PerNode, Nodes: l.alloc.NodesMin, PerNode: max(l.alloc.GPUs, 1), Units: l.rec.Procs},
	}
	s.quorum.Apply(f)
}

// Take appends the facts of the instant t to dst in order of the ranks of package des.
// What they point at is valid until the site is asked to do anything.
func (s *Site) Take(t model.Time, dst []model.Fact) []model.Fact {
	s.advance(t)
	s.batch = s.events.Take(t, s.batch[:0])
	s.facts = dst
	for _, e := range s.batch {
		switch e.Rank() {
		case des.RankNodeUp, des.RankNodeDown, des.RankChange:
			s.ahead--
			s.nodeEvent(e)
		case des.RankQuorum:
			s.ahead--
			s.answer(e.Ref())
		default:
			s.jobEvent(e)
		}
	}
	return s.facts
}

// jobEvent handles an event of a job that may have been overtaken: the job was
// preempted or failed, or left and its ref was used again.
func (s *Site) jobEvent(e des.Event) {
	ref := e.Ref()
	l := &s.lives[ref]
	if !l.present || l.rec.Job != e.Job() {
		return
	}
	switch e.Rank() {
	case des.RankEnd, des.RankExpiry:
		if l.ends == e.At {
			s.end(ref)
		}
	case des.RankCheckpoint:
		switch e.At {
		case l.keep.at:
			s.keepStep(ref)
		case l.exit.at:
			s.exitStep(ref)
		}
	case des.RankCancel:
		switch {
		case l.rec.State == model.Pending && l.cancel == e.At:
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
	l := &s.lives[ref]
	s.queue(l, -1)
	l.rec.State, l.rec.Reason, l.rec.Runtime = model.Cancelled, why, l.kept
	s.emit(&model.Fact{Kind: model.FactCancelled, Job: l.rec.Job, Ref: ref, Seq: l.seq, Reason: why})
	s.gone(ref)
}

// gone hands in the record of a job that left, and vacates its ref once no
// proposal names it any more.
func (s *Site) gone(ref model.Ref) {
	l := &s.lives[ref]
	s.leave(l)
	l.present = false
	if l.alloc.Kind == model.Reactive {
		delete(s.services, l.rec.ID)
	}
	if l.flying == 0 {
		s.vacated = append(s.vacated, ref)
	}
}

func (s *Site) leave(l *life) {
	l.rec.End = s.now
	s.State.Left++
	s.left = append(s.left, l.rec)
}

// Abandon hands the jobs that are still in the system to the recorder, as they
// are, because nothing can happen any more. It returns their number.
func (s *Site) Abandon(now model.Time) int64 {
	s.advance(now)
	n := int64(0)
	for ref := range s.lives {
		l := &s.lives[ref]
		if !l.present {
			continue
		}
		n++
		l.rec.Reason = model.ReasonEndOfRun
		if l.rec.State == model.Running || l.rec.State == model.Checkpointing {
			l.charge(now)
			l.rec.Runtime = l.kept + l.gained(l.worked(now))
		}
		if s.cfg.Expected && l.runtime != model.AbsentDuration && l.rec.Kind == model.Bounded {
			l.rec.Runtime = expected(l.runtime, l.rec.Walltime, s.cfg.Rows.Policy.Overrun)
		}
		s.leave(l)
	}
	s.settle()
	s.Close()
	return n
}

// Leavers are the jobs that have left at this instant so far, in the order in which
// they did; valid until the site is asked to do anything.
func (s *Site) Leavers() []model.JobRecord { return s.left }

// Close ends an instant: it hands the jobs that left at it to the recorder, by
// id, and lets their refs be used again.
func (s *Site) Close() {
	if len(s.left) == 0 && len(s.vacated) == 0 {
		return
	}
	if len(s.left) > 1 {
		//detlint:total a job leaves once
		slices.SortFunc(s.left, func(a, b model.JobRecord) int { return int(a.Job) - int(b.Job) })
	}
	for i := range s.left {
		s.sink.Job(&s.left[i])
	}
	s.left = s.left[:0]
	s.unused = append(s.unused, s.vacated...)
	s.vacated = s.vacated[:0]
}
