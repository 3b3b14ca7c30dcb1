package naive_test

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order/ordertest"
	"orrery/scheduler/quota"
	"orrery/scheduler/site"
)

// naiveSite is the naive implementation of site.Core: written from docs/SCHEDULING.md, in
// the plainest way. Jobs are objects in a list, nodes are looked at one by one,
// the queue is sorted as a whole at every pass, and whatever is free, held,
// lent or predicted is computed anew from the list of jobs whenever it is asked.
// Of the production code it uses the vocabulary, the pure functions of scores
// and costs, and nothing else.
type naiveSite struct {
	cfg       site.Config
	st        *model.Site
	jobs      []*naiveJob // in the system
	holders   []*naiveJob // those that hold nodes, or are proposed for them
	claimants []*naiveJob // those for which nodes are kept
	ended     map[model.JobID]model.JobState
	keys      *ordertest.Keys
	vclusters []*naiveVCluster
	factSeq   int         // facts observed that may let a preemption succeed that failed before
	lastFact  model.Time  // when anything was observed last
	stableAt  model.Time  // nothing observed before moves the accounts after
	unwanted  []*naiveJob // to be withdrawn: what they wait for cannot happen, or they were over a limit when they came

	up     []model.NodeState
	limits []model.Limits
	price  model.Fixed
	tariff []naiveTariff // known beforehand, by time
	power  int64
	band   int64
	pool   int32

	now      model.Time
	seq      uint64
	tick     naiveTick
	held     []naiveHolding  // all that ever was
	promises []*naivePromise // oldest first
	next     int             // the vCluster that has its turn next in this instant
	plan     scheduler.Plan
	begun    model.Time // of the ledger
}

// naiveVCluster is a vCluster.
type naiveVCluster struct {
	id               int
	policy           *site.Policy
	changed          bool
	again            bool
	factSeq          int // of the facts of the site, those that concern it
	againAt, stuckAt model.Time
	passed           model.Time
	release          model.Time // a job held by min_score reaches it
	blocked          bool       // a job was, in the last pass, or a service was short
	idle             bool       // nothing but the order of its queue can change by itself
	plans            []naivePlan
	planned          model.Time // when conservative backfilling did so last
	early            bool       // a pass came within its interval since
}

type naivePhase int

const (
	naiveDependent naivePhase = iota // waits for others
	naiveEarly                       // on hold, or its eligible time has not come
	naiveWaiting
	naiveFlying
	naiveWithdrawn // while in flight
	naiveRunning
	naiveNever
)

// naiveJob is a job in the system.
type naiveJob struct {
	model.Allocation
	ref        model.Ref
	phase      naivePhase
	why        model.Reason   // to be withdrawn
	left       model.Duration // requested time from the next start on
	whole      model.Duration // likewise, after a requeue
	nodes      []int          // held, ascending
	gpus       map[int]uint64 // of shared nodes
	start      model.Time
	saved      model.Time // when its work was safe last, in this attempt
	predicted  model.Time
	borrowed   bool
	leaving    bool
	seq        uint64      // of the last proposal to start it
	asked      uint64      // of the last proposal to preempt it
	usage      *naiveClaim // nodes kept for this job
	demand     int64       // of a reactive service, 0 before any
	unanswered uint64      // the demand that is to be answered where it is not met
	flight     *naiveChoice
	resize     uint64           // the proposal to hold flight
	more       int              // nodes that victims are sought for, while it runs
	behind     bool             // a job that is blocked in this pass
	failed     naiveFailed      // when no victims for it were found
	holding    int              // index of its row in the ledger
	may        []int            // nodes that it may ever use, once asked for
	mayUse     []bool           // likewise, by node
	on         func(n int) bool // nodes that a limit keeps it to for now, nil for none
	groups     int32            // that it needs, once asked for
	drawn      int64            // the power that it draws on drawnOn
	drawnOn    []int
	score      int64
}

// newNaiveSite does what site.New does.
func newNaiveSite(cfg site.Config) *naiveSite {
	s := &naiveSite{
		cfg: cfg, st: cfg.Site, ended: map[model.JobID]model.JobState{}, keys: ordertest.New(), price: cfg.Price,
		power: cfg.Site.PowerCap, band: cfg.Site.Bandwidth, pool: cfg.Site.SensitivePool, begun: model.Never,
	}
	for i := range cfg.Site.Nodes {
		s.up = append(s.up, cfg.Site.Nodes[i].State)
	}
	for i := range cfg.Site.Tenants {
		s.limits = append(s.limits, cfg.Site.Tenants[i].Limits)
	}
	s.limits = append(s.limits, model.Limits{}) // of no tenant
	for i := range cfg.Policies {
		s.vclusters = append(s.vclusters, &naiveVCluster{
			id: i, policy: &cfg.Policies[i], passed: model.AbsentTime, againAt: model.AbsentTime, stuckAt: model.AbsentTime, planned: model.AbsentTime, release: model.Never,
		})
	}
	s.freezeBooks(0)
	return s
}

func (s *naiveSite) job(ref model.Ref) *naiveJob {
	for _, j := range s.jobs {
		if j.ref == ref {
			return j
		}
	}
	return nil
}

// Predicted implements drive.Scheduler.
func (s *naiveSite) Predicted(ref model.Ref) model.Time { return s.job(ref).predicted }

// Runs implements drive.Scheduler.
func (s *naiveSite) Runs(ref model.Ref) bool {
	j := s.job(ref)
	return j != nil && j.phase == naiveRunning
}

// Work counts nothing.
func (s *naiveSite) Work() scheduler.Work { return scheduler.Work{} }

// Least is the smallest request in the queues.
func (s *naiveSite) Least() int32 {
	least := int32(0)
	for _, j := range s.jobs {
		n := j.NodesMin
		if s.cfg.Shared {
			n = s.unitsAsked(j)
		}
		if j.phase == naiveWaiting && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Observe implements drive.Scheduler.
func (s *naiveSite) Observe(now model.Time, facts []model.Fact) {
	s.advance(now)
	if len(facts) > 0 {
		s.lastFact = now
		for _, l := range s.vclusters {
			l.idle = false
		}
		s.stableAt = now.Add(s.cfg.Quota.Window + quota.DefaultTick + s.cfg.Quota.Tick)
		if s.cfg.Quota.Window == 0 {
			s.stableAt = s.stableAt.Add(quota.DefaultWindow)
		}
	}
	for i := range facts {
		if k := facts[i].Kind; k != model.FactSubmitted && k != model.FactGone && k != model.FactCheckpointed && k != model.FactUnmet {
			s.happens(&facts[i])
		}
		s.fact(&facts[i])
	}
}

func (s *naiveSite) fact(f *model.Fact) {
	j := s.job(f.Ref)
	switch f.Kind {
	case model.FactSubmitted:
		s.submit(f)
	case model.FactCancelled:
		s.cancelled(j, model.Withdrawn(f.Reason))
	case model.FactEnded:
		s.giveBack(j)
		s.gone(j, f.Outcome)
	case model.FactAssigned:
		s.starts(j)
	case model.FactRefused:
		s.refused(j, f.Seq)
	case model.FactPreempted:
		j.leaving = true
	case model.FactSuspended:
		s.back(j, model.Duration(f.Value))
	case model.FactRequeued:
		s.back(j, j.whole)
	case model.FactCheckpointed:
		j.saved = s.now
	case model.FactReleased:
		if j.Hold = false; j.phase == naiveEarly && j.Eligible <= s.now {
			s.enter(j)
		}
	case model.FactDemand:
		s.demanded(j, f.Value, f.Seq)
	case model.FactUnmet:
		j.unanswered = 0
	case model.FactGone:
		s.ended[f.Job] = f.Outcome
		s.lookAgain()
	case model.FactResized:
		s.resized(j)
	default:
		s.changes(f)
	}
}

func (s *naiveSite) changes(f *model.Fact) {
	switch f.Kind {
	case model.FactNode:
		s.up[f.Node] = f.State
	case model.FactLimits:
		s.limits[f.Tenant] = *f.Limits
	case model.FactPrice:
		s.price = model.Fixed(f.Value)
	case model.FactPower:
		s.power = f.Value
	case model.FactBandwidth:
		s.band = f.Value
	case model.FactSensitivePool:
		s.pool = int32(f.Value)
	}
	s.changedForAll()
}

func (s *naiveSite) changedForAll() {
	for _, l := range s.vclusters {
		l.changed = true
	}
}

func (s *naiveSite) vclusterOf(j *naiveJob) *naiveVCluster { return s.vclusters[j.VCluster] }

func (s *naiveSite) submit(f *model.Fact) {
	j := &naiveJob{Allocation: *f.Alloc, ref: f.Ref, left: f.Alloc.Walltime, whole: f.Walltime, holding: -1}
	j.Deps = slices.Clone(j.Deps)
	s.jobs = append(s.jobs, j)
	if why := s.rejectedFor(j); why != model.ReasonNone {
		s.withdraw(j, why)
		return
	}
	s.look(j)
}

// admitDue lets the jobs into the queue whose eligible time has come.
func (s *naiveSite) admitDue() {
	for _, j := range s.jobs {
		if j.phase == naiveEarly && !j.Hold && j.Eligible <= s.now {
			s.enter(j)
		}
	}
}

func (s *naiveSite) enter(j *naiveJob) {
	j.phase = naiveWaiting
	s.vclusterOf(j).changed = true
}

func (s *naiveSite) cancelled(j *naiveJob, outcome model.JobState) {
	switch j.phase {
	case naiveFlying:
		j.phase = naiveWithdrawn
		return
	case naiveWaiting:
		s.vclusterOf(j).changed = true
	}
	s.gone(j, outcome)
}

// gone forgets j and looks at those that waited for it.
func (s *naiveSite) gone(j *naiveJob, outcome model.JobState) {
	s.ended[j.Job] = outcome
	s.jobs = slices.DeleteFunc(s.jobs, func(o *naiveJob) bool { return o == j })
	s.unwanted = slices.DeleteFunc(s.unwanted, func(o *naiveJob) bool { return o == j })
	s.unkeep(j)
	if s.endPromise(j) {
		s.promiseChanged(s.vclusterOf(j))
	}
	s.drop(s.vclusterOf(j), j)
	s.lookAgain()
}

// lookAgain looks at those that wait for others, in order of id.
func (s *naiveSite) lookAgain() {
	waiting := slices.Clone(s.jobs)
	slices.SortFunc(waiting, func(a, b *naiveJob) int { return int(a.Job - b.Job) })
	for _, o := range waiting {
		if o.phase == naiveDependent {
			s.look(o)
		}
	}
}

// leaves takes the nodes off j.
func (s *naiveSite) leaves(j *naiveJob) {
	j.nodes, j.gpus, j.borrowed = nil, nil, false
	s.holders = slices.DeleteFunc(s.holders, func(o *naiveJob) bool { return o == j })
}

// giveBack frees the nodes of a running job.
func (s *naiveSite) giveBack(j *naiveJob) {
	s.held[j.holding].until = s.now
	s.leaves(j)
	j.leaving, j.asked, j.holding = false, 0, -1
	j.flight, j.resize, j.unanswered = nil, 0, 0
	s.unkeep(j)
	s.hasLeft(j)
	s.changedForAll()
}

// back puts a job that lost its nodes into the queue again.
func (s *naiveSite) back(j *naiveJob, left model.Duration) {
	s.giveBack(j)
	j.left = left
	s.enter(j)
}

// starts takes in that a proposal was granted.
func (s *naiveSite) starts(j *naiveJob) {
	j.phase, j.start, j.saved, j.predicted = naiveRunning, s.now, model.AbsentTime, s.now.Add(j.left)
	s.begun = min(s.begun, s.now)
	s.holds(j)
	s.unkeep(j)
	s.endPromise(j)
	s.breaksPromises(j)
	for _, l := range s.vclusters {
		l.changed = l.changed || s.mayBePreempted(l, j)
	}
	if len(j.nodes) != j.wanted() {
		s.vclusterOf(j).changed = true
	}
}

// holds begins a row of the ledger.
func (s *naiveSite) holds(j *naiveJob) {
	j.holding = len(s.held)
	s.held = append(s.held, naiveHolding{int(j.Tenant), s.now, model.Never, int64(len(j.nodes)), int64(s.gpusHeld(j))})
}

// refused takes in that it was not, or that a job may not be preempted.
func (s *naiveSite) refused(j *naiveJob, seq uint64) {
	if j != nil && seq == j.resize {
		j.flight, j.resize = nil, 0
		s.changedForAll()
		s.passAgain(s.vclusterOf(j))
		return
	}
	if j == nil || j.seq != seq {
		s.spared(seq)
		return
	}
	s.leaves(j)
	s.changedForAll()
	if j.phase == naiveWithdrawn {
		s.gone(j, model.Cancelled)
		return
	}
	s.enter(j)
	s.passAgain(s.vclusterOf(j))
}

// Plan implements drive.Scheduler.
func (s *naiveSite) Plan(now model.Time) *scheduler.Plan {
	s.advance(now)
	s.plan = scheduler.Plan{Due: model.Never, QuietUntil: now}
	s.admitDue()
	for _, j := range s.unwanted {
		s.propose(model.Proposal{Kind: model.ProposeCancel, Reason: j.why, VCluster: j.VCluster, Job: j.Job, Ref: j.ref})
	}
	s.unwanted = nil
	s.shed()
	from := s.next
	s.next = 0
	for i, l := range s.vclusters {
		if i < from {
			continue
		}
		had := len(s.plan.Proposals)
		if s.turn(l) {
			l.passed, l.changed, l.again = now, false, false
			before := len(s.plan.Proposals)
			s.pass(l)
			s.tellUnmet(l)
			s.plan.Again = s.plan.Again || l.policy.Cycle == 0 && slices.ContainsFunc(s.plan.Proposals[before:], func(p model.Proposal) bool {
				return p.Kind == model.ProposeAssign && s.mayBePreempted(l, s.job(p.Ref))
			})
			l.idle = len(s.plan.Proposals) == before && s.nothingToCome()
		} else if s.ticks(l) {
			l.passed = now // there is one tick in an instant, also while it sleeps
		}
		if len(s.plan.Proposals) > had && len(s.vclusters) > 1 { // the others see what comes of it first
			s.next, s.plan.More = i+1, true
			break
		}
	}
	s.plan.Due = s.due()
	return &s.plan
}

func (s *naiveSite) propose(p model.Proposal) {
	s.seq++
	p.Seq = s.seq
	s.plan.Again = s.plan.Again || p.Kind == model.ProposeResize || p.Kind == model.ProposeAssign && s.job(p.Ref).wanted() > int(p.Placement.Nodes())
	s.plan.Proposals = append(s.plan.Proposals, p)
}

func naiveTickOf(p *site.Policy, t model.Time) bool {
	since := t - model.Time(p.Phase)
	return since >= 0 && since%model.Time(p.Cycle) == 0
}

// nothingToCome says whether nothing runs, and no advance reservation begins or
// ends any more.
func (s *naiveSite) nothingToCome() bool {
	return len(s.holders) == 0 &&
		!slices.ContainsFunc(s.st.Reservations, func(r model.Reservation) bool { return r.End > s.now })
}

// ticks says whether a tick of the cycle of l is now.
func (s *naiveSite) ticks(l *naiveVCluster) bool {
	return l.policy.Cycle > 0 && l.passed != s.now && naiveTickOf(l.policy, s.now)
}

// turn says whether l makes a pass now: on its cycle, or when something changed.
func (s *naiveSite) turn(l *naiveVCluster) bool {
	if l.stuckAt == s.now {
		return false
	}
	if l.again {
		l.againAt = s.now
		return true
	}
	if l.policy.Cycle > 0 {
		asleep := l.idle && s.now > s.lastFact.Add(model.Day)
		return s.ticks(l) && (!asleep || l.changed || l.release <= s.now || s.appointment(l) <= s.now)
	}
	edge := false
	for i := range s.st.Reservations {
		r := &s.st.Reservations[i]
		edge = edge || r.Start == s.now || r.End == s.now
	}
	return l.changed || l.release <= s.now || edge || s.appointment(l) <= s.now
}

// due is the next instant at which anything can happen by itself: ticks of
// cycles while jobs wait there, eligible times, edges of reservations, scores
// that reach min_score, and starts that were set.
func (s *naiveSite) due() model.Time {
	at := model.Never
	for _, l := range s.vclusters {
		if !l.blocked && !slices.ContainsFunc(s.jobs, func(j *naiveJob) bool { return s.vclusterOf(j) == l && (j.phase == naiveWaiting || j.astray()) }) {
			continue
		}
		if c := l.policy.Cycle; c > 0 {
			after := func(now model.Time) model.Time {
				t := model.Time(l.policy.Phase)
				for t <= now {
					t = t.Add(max(c, model.Duration(now-t)/c*c))
				}
				return t
			}
			next := after(s.now)
			if l.idle && !l.changed && next > s.lastFact.Add(model.Day) {
				if next = min(l.release, s.appointment(l)); next < model.Never {
					next = after(max(s.now, next-1))
				}
			}
			at = min(at, next)
			continue
		}
		if l.changed && l.stuckAt != s.now {
			at = min(at, s.now)
		}
		at = min(at, l.release, s.appointment(l))
		for i := range s.st.Reservations {
			for _, edge := range []model.Time{s.st.Reservations[i].Start, s.st.Reservations[i].End} {
				if edge > s.now {
					at = min(at, edge)
				}
			}
		}
	}
	for _, j := range s.jobs {
		if j.phase == naiveEarly && !j.Hold {
			at = min(at, j.Eligible)
		}
	}
	if len(s.unwanted) > 0 {
		at = s.now
	}
	return at
}
