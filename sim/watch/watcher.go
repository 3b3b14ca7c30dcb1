package watch

import (
	"fmt"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// Watcher checks the log of a site. It implements the recorder port and the sink of records. Cost: each fact what it
// names; a start behind a blocked job the running jobs. Memory: the jobs in the system, and 12 bytes for each that
// left.
//
// Each law stands in a part of its own, which knows of those before it alone. The watcher hands them what the log
// has, in order.
type Watcher struct {
	base
	system       system
	ledger       ledger
	flights      flights
	accounts     accounts
	states       states
	ranking      ranking
	promises     promises
	grants       grants
	preempting   preempting
	capping      capping
	reservations reservations
	slip         slip
	resizing     resizing
	releases     releases
	left, open   int64 // jobs recorded, and of these as unfinished
}

// New returns the watcher of an idle site.
func New(cfg Config) *Watcher {
	w := &Watcher{base: base{cfg: cfg, site: cfg.Site, now: model.AbsentTime}}
	b := &w.base
	w.system = system{
		base: b, jobs: map[model.JobID]*job{}, leavers: map[model.JobID]*job{}, refs: map[model.Ref]model.JobID{},
		waiting: make([][]*job, len(cfg.Site.VClusters)),
	}
	w.ledger = newLedger(b)
	w.flights = flights{b, &w.ledger, map[uint64]*flight{}}
	w.accounts = accounts{base: b, ledger: &w.ledger}
	w.states = states{base: b, ledger: &w.ledger}
	w.ranking = ranking{b}
	w.promises = promises{base: b, system: &w.system, ledger: &w.ledger, ranking: &w.ranking}
	w.grants = grants{b, &w.system, &w.flights, &w.ledger, &w.accounts, &w.promises}
	w.preempting = preempting{base: b, system: &w.system, flights: &w.flights, ledger: &w.ledger}
	w.capping = capping{base: b, system: &w.system, flights: &w.flights, ledger: &w.ledger, accounts: &w.accounts}
	w.reservations = reservations{b}
	w.slip = slip{base: b, system: &w.system, ledger: &w.ledger, promises: &w.promises, ranking: &w.ranking, vcluster: -1}
	w.resizing = resizing{b, &w.ledger, &w.reservations, &w.promises, &w.slip}
	w.releases = releases{base: b, system: &w.system, flights: &w.flights}
	return w
}

// clock checks invariant 1, and 16 when an instant is over.
func (w *Watcher) clock(now model.Time) {
	if now < w.now {
		w.fail(1, nil, "an entry at "+now.String(), "none before "+w.now.String())
	}
	if now > w.now {
		w.states.vacated()
		w.capping.keepsCap()
	}
	w.now = now
}

// Round implements drive.Recorder. The first one after the restoring began finds in the scheduler's ledger what was
// used before the log begins.
func (w *Watcher) Round(now model.Time, _ drive.Round, _ int) {
	w.promises.hear(^uint64(0))
	if w.accounts.restoring {
		w.accounts.restoring = false
		w.accounts.opening(now)
	}
}

// Fact implements drive.Recorder.
func (w *Watcher) Fact(now model.Time, f *model.Fact) {
	w.Facts++
	w.clock(now)
	w.promises.hear(^uint64(0))
	w.slip.reset()
	w.preempting.reset()
	switch f.Kind {
	case model.FactNode, model.FactPower, model.FactBandwidth, model.FactSensitivePool, model.FactDemand, model.FactResized, model.FactPreempted, model.FactRestored, model.FactRefused,
		model.FactRequeued:
		w.promises.disturbed()
	}
	switch f.Kind {
	case model.FactSubmitted:
		w.system.submitted(f)
		return
	case model.FactGone:
		w.system.neverComes(f)
		return
	case model.FactNode:
		w.states.nodeChanges(f)
		return
	case model.FactLimits:
		w.ledger.tenants[f.Tenant].limits = *f.Limits
		return
	case model.FactPower:
		w.ledger.power.cap = f.Value
		return
	case model.FactBandwidth:
		w.ledger.bandwidth.cap = f.Value
		return
	case model.FactSensitivePool:
		w.ledger.pool = int32(f.Value)
		return
	case model.FactPrice, model.FactUsageBegan, model.FactUsageEnded, model.FactRestoringEnded:
		return
	case model.FactRestoringBegan:
		w.accounts.restoring = true
		return
	case model.FactRefused:
		w.capping.refusals = true
		if w.flights.flight(f) == nil {
			w.unknownJob(6, f.Job, fmt.Sprintf("a refusal of proposal %d", f.Seq), "an answer to a proposal that waits for one")
		}
		return
	}
	j := w.system.jobs[f.Job]
	if j == nil && f.Kind == model.FactDemand {
		w.unknownJob(31, f.Job, "a demand", "a job in the system")
		return
	}
	if j == nil {
		w.unknownJob(2, f.Job, "the fact "+f.Kind.String(), "a job in the system")
		return
	}
	w.jobFact(j, f)
	w.accounts.audit(j)
}

func (w *Watcher) jobFact(j *job, f *model.Fact) {
	switch f.Kind {
	case model.FactAssigned, model.FactRestored:
		w.grants.assigned(j, f)
	case model.FactResized:
		w.grants.resized(j, f)
	case model.FactPreempted:
		w.preempting.preempted(j, f)
	case model.FactReleased:
		j.Hold = false
	case model.FactDemand:
		j.demand = f.Value
	case model.FactCancelled:
		w.flights.flight(f)
		w.leaves(j, model.Withdrawn(f.Reason))
	case model.FactEnded:
		w.grants.stops(j)
		w.leaves(j, f.Outcome)
	case model.FactSuspended:
		w.grants.stops(j)
		w.system.become(j, model.Suspended)
		w.system.become(j, model.Pending)
		j.left, j.last = model.Duration(f.Value), 0
		w.system.enqueue(j)
	case model.FactRequeued:
		w.flights.flight(f)
		w.grants.stops(j)
		w.system.become(j, model.Failed)
		w.system.become(j, model.Pending)
		if j.requeues++; j.requeues > j.MaxRequeue || j.IsSensitive() || j.Kind == model.Session {
			w.fail(3, j, fmt.Sprintf("requeue %d", j.requeues), fmt.Sprintf("at most %d, and none of sensitive work or of a session", j.MaxRequeue))
		}
		j.left, j.last = j.whole, 0
		w.system.enqueue(j)
	}
}

// leaves takes in that j is over.
func (w *Watcher) leaves(j *job, outcome model.JobState) {
	w.system.become(j, outcome)
	w.system.leave(j)
	w.promises.unpromise(j)
}

// Proposed implements drive.Recorder. It checks invariants 6, 27, 28, 31 and 32.
func (w *Watcher) Proposed(now model.Time, p *model.Proposal) {
	w.Proposals++
	w.clock(now)
	w.promises.hear(p.Seq)
	j := w.system.jobs[p.Job]
	if j == nil {
		w.unknownJob(6, p.Job, "a proposal to "+p.Kind.String(), "a job in the system")
		return
	}
	if w.flights.underWay[p.Seq] != nil {
		w.fail(6, j, fmt.Sprintf("a second proposal of number %d", p.Seq), "one")
	}
	x := &flight{seq: p.Seq, kind: p.Kind, job: j, borrowed: p.Borrowed, made: now}
	w.flights.underWay[p.Seq] = x
	switch p.Kind {
	case model.ProposeAssign, model.ProposeRestore:
		if j.state != model.Pending || j.flying != nil {
			w.fail(6, j, "a proposal to start it while it is "+j.state.String(), "that it waits, and that no such proposal is under way")
			return
		}
		x.placement = copied(&p.Placement)
		t := w.starting(j, &x.placement)
		w.reservations.setAside(j, t)
		if p.Kind == model.ProposeAssign {
			w.promises.comesFirst(j)
			w.promises.keepsPromises(j, t)
			w.promises.flies(j, &x.placement)
		}
		w.slip.behind(j, t, p.Seq)
		j.flying = x
		w.ledger.reserve(x, 1)
	case model.ProposeResize:
		w.promises.disturbed() // what the pass promises next knows of it
		x.placement = copied(&p.Placement)
		w.resizing.resizes(j, x, p)
	case model.ProposePreempt:
		w.preempting.preemption(x, p)
	}
}

// Passed implements drive.Recorder.
func (w *Watcher) Passed(now model.Time, p *scheduler.Plan) {
	w.promises.hear(^uint64(0))
	w.clock(now) // a pass without facts
	w.promises.tell(p.Promises)
}
