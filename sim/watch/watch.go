// Package watch checks the invariants of docs/INVARIANTS.md on a log as it is
// written: facts, proposals and records come in, breaches come out. It keeps
// a ledger of its own from the log alone and believes neither the core, but for
// which job is first where only scores tell, nor the quorum, so it must not know them; nor
// does it know how a schedule is made. It never stops a replay.
package watch

import (
	"fmt"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// most is the number of breaches that are kept; the rest is counted.
const most = 100

// Breach is an invariant that did not hold.
type Breach struct {
	Invariant int         `json:"invariant"` // its number in docs/INVARIANTS.md
	At        model.Time  `json:"time_us"`   // since the epoch of the trace
	Job       model.JobID `json:"job"`       // row of the trace, -1 where it is about no job
	ID        int64       `json:"id"`        // of the job, by the log's own numbering; 0 where it is not known
	Found     string      `json:"found"`
	Expected  string      `json:"expected"`
}

// String says in a line what is wrong.
func (b Breach) String() string {
	subject := ""
	switch {
	case b.ID != 0:
		subject = fmt.Sprintf(" job %d (row %d):", b.ID, b.Job)
	case b.Job >= 0:
		subject = fmt.Sprintf(" row %d:", b.Job)
	}
	return fmt.Sprintf("invariant %d at %s:%s found %s, expected %s", b.Invariant, b.At, subject, b.Found, b.Expected)
}

// Report is what a watcher has seen.
type Report struct {
	Facts     int64    `json:"facts"`
	Proposals int64    `json:"proposals"`
	Records   int64    `json:"records"` // of jobs and attempts
	Slips     int64    `json:"reservations_checked"`
	Count     int64    `json:"breaches"`
	Breaches  []Breach `json:"first_breaches,omitempty"` // the first hundred
}

// Seen is the report itself.
func (r *Report) Seen() *Report { return r }

// fail notes a breach.
func (r *Report) fail(b Breach) {
	if r.Count++; len(r.Breaches) < most {
		r.Breaches = append(r.Breaches, b)
	}
}

// Policy is what the invariants need to know of the profile of a vCluster.
type Policy struct {
	Order      Order
	Easy       bool // the first blocked job has a reservation
	Punctual   bool // its own plan does not miss the instant of a promise: easy, or conservative without bounds
	Preempts   bool
	MaxVictims int32 // of one pass, for one job
	// NearCompletion is what is left of the requested time of jobs that are not made to leave.
	NearCompletion model.Duration
}

// Config of the watcher of a site.
type Config struct {
	// Site as it is at the beginning. Constraints may be added to it meanwhile.
	Site     *model.Site
	Policies []Policy // by vCluster
	Shared   bool     // nodes may be divided by GPU
	// Overrun says that jobs may outlive their request; else they are gone Slack
	// after it: what agents take to start a job, to end it, and to notice.
	Overrun bool
	Slack   model.Duration
	// Begin is a warm start: submissions of before are observed then.
	Begin model.Time
	// Records says that the records of jobs and attempts come as well.
	Records bool
	// Aside are the jobs that wait in no queue of the scheduler, by its own word; nil to have
	// invariant 34 checked by the log alone.
	Aside func() map[model.JobID]bool
	// First is the first blocked job of the last pass of a vCluster and the number of
	// the last proposal before its turn, by the scheduler's own word, for orders that
	// cannot be told from the log; nil to have these unchecked.
	First func(v model.VClusterID) (ref model.Ref, since uint64, ok bool)
	// Ledger is what the scheduler has booked for a tenant up to an instant, in
	// node and GPU time; nil to have it unchecked.
	Ledger func(t model.TenantID, now model.Time) (node, gpu model.Duration)
}

// Watcher checks the log of a site. It implements the recorder port and the sink
// of records. Cost: each fact what it names; a start behind a blocked job the
// running jobs. Memory: the jobs in the system, and 12 bytes for each
// that left.
type Watcher struct {
	Report
	cfg  Config
	site *model.Site
	now  model.Time
	// restoring says that the ledger is to be read when the next round begins.
	restoring bool

	jobs    map[model.JobID]*job // in the system, looked up and never walked
	leavers map[model.JobID]*job // left, not recorded yet
	refs    map[model.Ref]model.JobID
	flights map[uint64]*flight
	past    []past               // by job
	left    int64                // jobs recorded
	open    int64                // jobs recorded as unfinished
	aside   map[model.JobID]bool // as Config.Aside says, once asked for
	causes  int                  // jobs for which others were asked to leave, while these wait

	ledger
	pass pass
	promises
}

// New returns the watcher of an idle site.
func New(cfg Config) *Watcher {
	w := &Watcher{
		cfg: cfg, site: cfg.Site, now: model.AbsentTime, jobs: map[model.JobID]*job{}, leavers: map[model.JobID]*job{},
		refs: map[model.Ref]model.JobID{}, flights: map[uint64]*flight{},
	}
	w.ledger = newLedger(cfg.Site)
	for n := range cfg.Site.Nodes {
		w.idle += w.idleOf(model.NodeID(n))
	}
	w.pass.waiting = make([][]*job, len(cfg.Site.VClusters))
	w.pass.reset()
	return w
}

func (w *Watcher) fail(invariant int, j *job, found, expected string) {
	b := Breach{Invariant: invariant, At: w.now, Job: -1, Found: found, Expected: expected}
	if j != nil {
		b.Job, b.ID = j.Job, j.ID
	}
	w.Report.fail(b)
}

// unknownJob notes a breach about a job that is not in the system.
func (w *Watcher) unknownJob(invariant int, id model.JobID, found, expected string) {
	w.Report.fail(Breach{Invariant: invariant, At: w.now, Job: id, Found: found, Expected: expected})
}

// clock checks invariant 1, and 16 when an instant is over.
func (w *Watcher) clock(now model.Time) {
	if now < w.now {
		w.fail(1, nil, "an entry at "+now.String(), "none before "+w.now.String())
	}
	if now > w.now {
		w.vacated()
		w.keepsCap()
	}
	w.now = now
}

// Round implements drive.Recorder. The first one after the restoring began finds in the
// scheduler's ledger what was used before the log begins.
func (w *Watcher) Round(now model.Time, _ drive.Round, _ int) {
	w.hear(^uint64(0))
	if w.restoring {
		w.restoring = false
		w.opening(now)
	}
}

// Fact implements drive.Recorder.
func (w *Watcher) Fact(now model.Time, f *model.Fact) {
	w.Facts++
	w.clock(now)
	w.hear(^uint64(0))
	w.pass.reset()
	switch f.Kind {
	case model.FactNode, model.FactPower, model.FactBandwidth, model.FactSensitivePool, model.FactDemand, model.FactResized, model.FactPreempted, model.FactRestored, model.FactRefused,
		model.FactRequeued:
		w.disturbed()
	}
	switch f.Kind {
	case model.FactSubmitted:
		w.submitted(f)
		return
	case model.FactGone:
		w.neverComes(f)
		return
	case model.FactNode:
		w.nodeChanges(f)
		return
	case model.FactLimits:
		w.tenants[f.Tenant].limits = *f.Limits
		return
	case model.FactPower:
		w.power.cap = f.Value
		return
	case model.FactBandwidth:
		w.bandwidth.cap = f.Value
		return
	case model.FactSensitivePool:
		w.pool = int32(f.Value)
		return
	case model.FactPrice, model.FactUsageBegan, model.FactUsageEnded, model.FactRestoringEnded:
		return
	case model.FactRestoringBegan:
		w.restoring = true
		return
	case model.FactRefused:
		w.refusals = true
		if w.flight(f) == nil {
			w.unknownJob(6, f.Job, fmt.Sprintf("a refusal of proposal %d", f.Seq), "an answer to a proposal that waits for one")
		}
		return
	}
	j := w.jobs[f.Job]
	if j == nil && f.Kind == model.FactDemand {
		w.unknownJob(31, f.Job, "a demand", "a job in the system")
		return
	}
	if j == nil {
		w.unknownJob(2, f.Job, "the fact "+f.Kind.String(), "a job in the system")
		return
	}
	w.jobFact(j, f)
	w.audit(j)
}

func (w *Watcher) jobFact(j *job, f *model.Fact) {
	switch f.Kind {
	case model.FactAssigned, model.FactRestored:
		w.assigned(j, f)
	case model.FactResized:
		w.resized(j, f)
	case model.FactPreempted:
		w.preempted(j, f)
	case model.FactReleased:
		j.Hold = false
	case model.FactDemand:
		j.demand = f.Value
	case model.FactCancelled:
		w.flight(f)
		w.become(j, model.Withdrawn(f.Reason))
		w.leave(j)
	case model.FactEnded:
		w.stops(j)
		w.become(j, f.Outcome)
		w.leave(j)
	case model.FactSuspended:
		w.stops(j)
		w.become(j, model.Suspended)
		w.become(j, model.Pending)
		j.left, j.last = model.Duration(f.Value), 0
		w.pass.enter(j)
	case model.FactRequeued:
		w.flight(f)
		w.stops(j)
		w.become(j, model.Failed)
		w.become(j, model.Pending)
		if j.requeues++; j.requeues > j.MaxRequeue || j.IsSensitive() || j.Kind == model.Session {
			w.fail(3, j, fmt.Sprintf("requeue %d", j.requeues), fmt.Sprintf("at most %d, and none of sensitive work or of a session", j.MaxRequeue))
		}
		j.left, j.last = j.whole, 0
		w.pass.enter(j)
	}
}

// become checks invariant 3.
func (w *Watcher) become(j *job, next model.JobState) {
	if !j.state.CanBecome(next) {
		w.fail(3, j, "it goes from "+j.state.String()+" to "+next.String(), "a legal transition")
	}
	j.state = next
}

// submitted checks invariants 2 and 4.
func (w *Watcher) submitted(f *model.Fact) {
	j := &job{Allocation: *f.Alloc, left: f.Alloc.Walltime, whole: f.Walltime, ended: model.AbsentTime}
	j.Deps = append([]model.Dependency(nil), f.Alloc.Deps...)
	if w.jobs[j.Job] != nil || w.outcome(j.Job) != model.Pending {
		w.fail(2, j, "a second submission", "one")
		return
	}
	if max(j.Submit, w.cfg.Begin) != w.now {
		w.fail(4, j, "it is observed at "+w.now.String(), "its submission, "+j.Submit.String())
	}
	w.jobs[j.Job], w.refs[f.Ref], j.ref = j, j.Job, f.Ref
	w.pass.enter(j)
}

// causing notes whether others leave for j.
func (w *Watcher) causing(j *job, yes bool) {
	if j.caused != yes {
		if j.caused = yes; yes {
			w.causes++
		} else {
			w.causes--
		}
	}
}

// outcome is the state with which a job left, Pending where it did not.
func (w *Watcher) outcome(id model.JobID) model.JobState {
	return w.gone(id).state
}

// past is what is kept of a job that left.
type past struct {
	state        model.JobState // Pending before it left
	group, index int32
	never        bool // it was never submitted
}

func (w *Watcher) gone(id model.JobID) past {
	if id < 0 || int(id) >= len(w.past) {
		return past{}
	}
	return w.past[id]
}

func (w *Watcher) leave(j *job) {
	w.reach(j.Job)
	w.past[j.Job] = past{state: j.state, group: j.TaskGroup, index: j.Index}
	w.pass.leave(j)
	w.causing(j, false)
	w.unpromise(j)
	delete(w.jobs, j.Job)
	if w.refs[j.ref] == j.Job {
		delete(w.refs, j.ref)
	}
	if w.cfg.Records {
		w.leavers[j.Job] = j
	}
}

// Proposed implements drive.Recorder. It checks invariants 6, 27, 28, 31 and 32.
func (w *Watcher) Proposed(now model.Time, p *model.Proposal) {
	w.Proposals++
	w.clock(now)
	w.hear(p.Seq)
	j := w.jobs[p.Job]
	if j == nil {
		w.unknownJob(6, p.Job, "a proposal to "+p.Kind.String(), "a job in the system")
		return
	}
	if w.flights[p.Seq] != nil {
		w.fail(6, j, fmt.Sprintf("a second proposal of number %d", p.Seq), "one")
	}
	x := &flight{kind: p.Kind, job: j, borrowed: p.Borrowed, made: now}
	w.flights[p.Seq] = x
	switch p.Kind {
	case model.ProposeAssign, model.ProposeRestore:
		if j.state != model.Pending || j.flying != nil {
			w.fail(6, j, "a proposal to start it while it is "+j.state.String(), "that it waits, and that no such proposal is under way")
			return
		}
		x.placement = copied(&p.Placement)
		t := w.starting(j, &x.placement)
		w.setAside(j, t)
		if p.Kind == model.ProposeAssign {
			w.comesFirst(j)
			w.keepsPromises(j, t)
			w.flies(j, &x.placement)
		}
		w.behind(j, t, p.Seq)
		j.flying = x
		w.reserve(x, 1)
	case model.ProposeResize:
		w.disturbed() // what the pass promises next knows of it
		x.placement = copied(&p.Placement)
		w.resizes(j, x, p)
	case model.ProposePreempt:
		w.preemption(x, p)
	}
}

// flight takes the proposal that f answers off the ledger, nil when there is none.
func (w *Watcher) flight(f *model.Fact) *flight {
	x := w.flights[f.Seq]
	if f.Seq == 0 || x == nil {
		return nil
	}
	delete(w.flights, f.Seq)
	if x.job.flying == x {
		x.job.flying = nil
		w.reserve(x, -1)
	}
	w.lands(x)
	return x
}
