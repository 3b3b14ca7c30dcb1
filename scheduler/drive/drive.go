// Package drive holds the one loop around the scheduler core. The simulator
// and a live scheduler both step it; they differ in the ports they pass
// and in what says the time. Nothing else calls the core.
package drive

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// Quorum commits proposals.
type Quorum interface {
	// Submit passes proposals in the order in which they were decided and
	// appends to dst the answers that are known at once. Every proposal is
	// answered exactly once, here or later as a fact of a Step; a quorum that
	// cannot be reached answers late. The proposals are valid during the call.
	Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact
}

// NodeAgents run jobs on nodes.
type NodeAgents interface {
	// Start begins a job on the nodes granted to it. A start that fails is
	// reported by a later fact.
	Start(now model.Time, ref model.Ref)
}

// Recorder sees the log and the plans as they come, so that what it keeps can be fed to
// another core in the same way. It must not fail; what it cannot keep it reports when it
// is closed. What it is handed is valid during the call.
type Recorder interface {
	// Round comes before the n facts that the loop is handed at once, in one call; the
	// facts follow as the core observes them. An answering round is one of answers that
	// the quorum had at once.
	Round(now model.Time, r Round, n int)
	Fact(now model.Time, f *model.Fact)
	// Passed comes when the core has made a plan, empty or not. Its proposals follow when
	// they are submitted: at once, or under Sequential at the end of the instant.
	Passed(now model.Time, p *scheduler.Plan)
	Proposed(now model.Time, p *model.Proposal)
}

// Unrecorded is a Recorder that keeps nothing, to be embedded by those that keep a part.
type Unrecorded struct{}

// Round implements Recorder.
func (Unrecorded) Round(model.Time, Round, int) {}

// Fact implements Recorder.
func (Unrecorded) Fact(model.Time, *model.Fact) {}

// Passed implements Recorder.
func (Unrecorded) Passed(model.Time, *scheduler.Plan) {}

// Proposed implements Recorder.
func (Unrecorded) Proposed(model.Time, *model.Proposal) {}

// Round says how the loop came by facts, or was asked for a pass.
type Round uint8

const (
	Observed Round = iota // Loop.Observe
	Stepped               // Loop.Step
	Asked                 // Loop.Pass, without facts
	Answered              // the quorum, at once
	Restored              // Loop.Restore: the proposals that follow are not of the core
	Unmet                 // the core cannot meet demands
)

// LastRound is the one with the highest number.
const LastRound = Unmet

var rounds = [...]string{"observed", "stepped", "asked", "answered", "restored", "unmet"}

// String is the spelling in facts.parquet.
func (r Round) String() string { return rounds[r] }

// Scheduler is the core that the loop drives, plain.Core or site.Core, with the two of
// the scheduler.Questions that the loop asks under the sequential event order.
type Scheduler interface {
	scheduler.Core
	Predicted(ref model.Ref) model.Time
	Runs(ref model.Ref) bool
}

// EventOrder says how the facts of one instant meet the passes.
type EventOrder uint8

const (
	// Batch takes in all facts of the instant and then makes one pass.
	Batch EventOrder = iota
	// Sequential is the order of pyss: jobs whose predicted end is this
	// instant count as free at once; then a pass follows each submission and,
	// in the order in which the jobs started, each end. Conservative
	// backfilling works the facts off in that order too, and starts jobs at
	// the end of the instant. The quorum must answer at once.
	Sequential
)

// Loop is a core with its ports.
type Loop struct {
	Core   Scheduler
	Quorum Quorum
	Agents NodeAgents
	Record Recorder
	Order  EventOrder
	// PassPerFact is set for the policies that make a pass after every fact
	// under Sequential: all but conservative.
	PassPerFact bool

	due        model.Time
	quietUntil model.Time
	answers    []model.Fact
	pending    []model.Proposal
	words      []model.NodeWord
	shares     []model.NodeShare
	observed   bool
	goesOn     bool // the last answers call for another pass at once
	more       bool // so does the last plan itself
}

// Observe feeds facts without a pass, for a scheduler that runs in cycles.
func (l *Loop) Observe(now model.Time, facts []model.Fact) {
	l.Record.Round(now, Observed, len(facts))
	l.observe(now, facts)
}

func (l *Loop) observe(now model.Time, facts []model.Fact) {
	for i := range facts {
		l.record(now, &facts[i])
	}
	l.Core.Observe(now, facts)
	l.observed = l.observed || len(facts) > 0
}

// record tells the log a fact, and then the node agents when it starts a job.
func (l *Loop) record(now model.Time, f *model.Fact) {
	l.Record.Fact(now, f)
	if f.Kind == model.FactAssigned || f.Kind == model.FactRestored {
		l.Agents.Start(now, f.Ref)
	}
}

// Step feeds the facts of the instant now, makes the passes that the event
// order asks for, and submits what they propose. facts may be empty: a cycle,
// or an instant at which something is Due.
func (l *Loop) Step(now model.Time, facts []model.Fact) {
	l.Record.Round(now, Stepped, len(facts))
	if l.Order == Sequential && l.PassPerFact {
		l.stepSequential(now, facts)
		return
	}
	if l.Order == Sequential {
		slices.SortStableFunc(facts, submissionsFirst)
	}
	if len(facts) > 0 { // else Plan alone takes the core to now
		l.observe(now, facts)
	}
	l.pass(now)
}

// Pass makes one pass and submits what it proposes, and further ones as long as
// jobs are withdrawn at once, for others may have waited for them, or a plan is granted
// at once that calls for another. A refusal that is known at
// once triggers one later pass; if that is refused as well, the scheduler and
// the quorum disagree about something no pass can mend, and the next one waits
// for the next instant.
func (l *Loop) Pass(now model.Time) {
	l.Record.Round(now, Asked, 0)
	l.pass(now)
}

func (l *Loop) pass(now model.Time) {
	if l.proceed(now) {
		l.retry(now)
	}
}

// proceed makes a pass, and further ones as long as what the quorum granted calls for
// them. It says whether the quorum refused anything.
func (l *Loop) proceed(now model.Time) (refused bool) {
	refused = l.attempt(now)
	for l.goesOn || l.more { // each withdraws, starts or resizes a job, or others have their turn
		later := l.goesOn && l.more
		refused = l.attempt(now) || refused
		l.goesOn = l.goesOn || later
	}
	return refused
}

// attempt makes one pass and says whether the quorum refused any of it.
func (l *Loop) attempt(now model.Time) (refused bool) {
	plan := l.plan(now)
	l.goesOn = false
	if len(plan.Proposals) > 0 {
		refused = l.submit(now, plan.Proposals, plan.Again)
	}
	if len(plan.Unmet) > 0 {
		l.unmet(now, plan.Unmet)
	}
	return refused
}

// unmet commits that demands cannot be met, for those who asked.
func (l *Loop) unmet(now model.Time, list []scheduler.Unmet) {
	l.answers = l.answers[:0]
	for i := range list {
		u := &list[i]
		l.answers = append(l.answers, model.Fact{Kind: model.FactUnmet, Job: u.Job, Ref: u.Ref, Seq: u.Seq, Value: int64(u.Nodes), Reason: u.Reason})
	}
	l.Record.Round(now, Unmet, len(l.answers))
	for i := range l.answers {
		l.record(now, &l.answers[i])
	}
	l.Core.Observe(now, l.answers)
}

// plan asks the core for a plan.
func (l *Loop) plan(now model.Time) *scheduler.Plan {
	plan := l.Core.Plan(now)
	l.due, l.quietUntil, l.observed, l.more = plan.Due, plan.QuietUntil, false, plan.More
	l.Record.Passed(now, plan)
	return plan
}

// retry is the one pass more.
func (l *Loop) retry(now model.Time) {
	if l.proceed(now) {
		l.observed = true // the jobs that were refused wait again
	}
}

// Due is the instant to which the core is committed, model.Never when none.
func (l *Loop) Due() model.Time { return l.due }

// QuietUntil is a lower bound on the next instant at which a pass could answer
// anything new; facts observed since the last pass make it the past.
func (l *Loop) QuietUntil() model.Time {
	if l.observed {
		return 0
	}
	return l.quietUntil
}

// submit hands the proposals to the quorum, feeds back the answers that came
// at once, and says whether one of them was a refusal. again says that a grant calls
// for another plan.
func (l *Loop) submit(now model.Time, proposals []model.Proposal, again bool) bool {
	l.goesOn = false
	if len(proposals) == 0 {
		return false
	}
	for i := range proposals {
		l.Record.Proposed(now, &proposals[i])
	}
	l.answers = l.Quorum.Submit(now, proposals, l.answers[:0])
	if len(l.answers) > 0 {
		l.Record.Round(now, Answered, len(l.answers))
	}
	refused := false
	for i := range l.answers {
		f := &l.answers[i]
		l.record(now, f)
		refused = refused || f.Kind == model.FactRefused
		grants := f.Kind == model.FactResized || f.Kind == model.FactAssigned
		l.goesOn = l.goesOn || f.Kind == model.FactCancelled || again && grants
	}
	l.Core.Observe(now, l.answers)
	return refused
}

// stepSequential is Step in the order of pyss. The proposals of all passes are
// put to the quorum at the end of the instant, when every end is committed.
func (l *Loop) stepSequential(now model.Time, facts []model.Fact) {
	slices.SortStableFunc(facts, submissionsFirst)
	onTime := l.Core.Predicted
	for i := range facts {
		if f := &facts[i]; f.Kind == model.FactEnded && onTime(f.Ref) == now {
			l.observe(now, facts[i:i+1])
		}
	}
	l.pending, l.words, l.shares = l.pending[:0], l.words[:0], l.shares[:0]
	for i := range facts {
		f := &facts[i]
		if f.Kind != model.FactEnded || l.Core.Runs(f.Ref) {
			l.observe(now, facts[i:i+1])
		}
		l.keep(l.plan(now))
	}
	if len(facts) == 0 {
		l.keep(l.plan(now))
	}
	if l.submit(now, l.pending, false) {
		l.retry(now)
	}
}

// Restore submits proposals that no pass has made: to let jobs go on where they ran
// before the scheduler began.
func (l *Loop) Restore(now model.Time, proposals []model.Proposal) {
	l.Record.Round(now, Restored, 0)
	l.submit(now, proposals, false)
}

// keep copies the proposals of a plan, for they are not submitted before the
// next one is made.
func (l *Loop) keep(plan *scheduler.Plan) {
	for _, p := range plan.Proposals {
		w, s := len(l.words), len(l.shares)
		l.words = append(l.words, p.Placement.Words...)
		l.shares = append(l.shares, p.Placement.Shares...)
		p.Placement = model.Placement{Words: l.words[w:len(l.words):len(l.words)], Shares: l.shares[s:len(l.shares):len(l.shares)]}
		l.pending = append(l.pending, p)
	}
}

// submissionsFirst orders the facts of an instant as pyss meets them:
// submissions in input order, then ends in the order of the starts.
func submissionsFirst(a, b model.Fact) int {
	ea, eb := a.Kind == model.FactEnded, b.Kind == model.FactEnded
	switch {
	case ea != eb && eb:
		return -1
	case ea != eb:
		return 1
	case ea && a.Seq < b.Seq:
		return -1
	case ea && a.Seq > b.Seq:
		return 1
	}
	return 0
}
