package verify

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/commitlog"
	"orrery/sim/fork"
	"orrery/sim/plan"
)

// Parity is the outcome of feeding the log of a run to a fresh core: what a scheduler
// does that is started anew in production.
type Parity struct {
	Facts     int64 `json:"facts"`
	Passes    int64 `json:"passes"` // compared, empty ones too
	Proposals int64 `json:"proposals"`
	// Fingerprint of the log as far as it was fed: all of it where nothing differs, and
	// then that of the run.
	Fingerprint string      `json:"fingerprint"`
	Differs     *Difference `json:"differs,omitempty"` // nil when every plan is the same
}

// Difference is the first entry of a log that a fresh core does not make.
type Difference struct {
	Index int64  `json:"index"` // of the entry, from 0
	Plan  int64  `json:"plan"`  // passes before it
	Log   *Event `json:"log"`   // nil when the log has ended
	Core  *Event `json:"core"`  // nil when the fresh core makes no such entry
	// InLog and InCore are the two in words, with every field that is set.
	InLog  string `json:"in_log"`
	InCore string `json:"in_core"`
	// At is the instant that the core had reached.
	At model.Time `json:"time_us"`
}

// String says in a line what differs.
func (d *Difference) String() string {
	return fmt.Sprintf("entry %d, plan %d, at %s: the log has %q; a fresh core makes %q", d.Index, d.Plan, d.At, d.InLog, d.InCore)
}

// LogError is a log that no loop can have written.
type LogError struct {
	Index int64
	Text  string
}

// Error says what is wrong.
func (e *LogError) Error() string { return fmt.Sprintf("entry %d of the log: %s", e.Index, e.Text) }

// CoreError is a core that failed on a log: it panics when facts contradict what it was
// told, and where it is broken. Which of the two it is hangs on the log, see Digest.
type CoreError struct {
	Index int64
	Panic any
}

// Error says what the core said.
func (e *CoreError) Error() string {
	return fmt.Sprintf("the core fails at entry %d of the log: %v", e.Index, e.Panic)
}

// Digest is the fingerprint of a log.
func Digest(log iter.Seq2[*commitlog.Entry, error]) (string, error) {
	var d commitlog.Digest
	for e, err := range log {
		if err != nil {
			return "", err
		}
		switch e.What {
		case commitlog.Round:
			d.Round(e.Now, int(e.Count))
		case commitlog.Fact:
			d.Fact(&e.Fact)
		case commitlog.Pass:
			d.Passed(e.Now, &scheduler.Plan{Proposals: make([]model.Proposal, min(e.Count, 1))})
		case commitlog.Promise:
			d.Passed(e.Now, &scheduler.Plan{Promises: []scheduler.Promise{e.Promise}})
		case commitlog.Proposal:
			d.Proposal(&e.Proposal)
		}
	}
	return d.String(), nil
}

// Facts feeds a log, as record.ReadLog hands it out, to a fresh core of p through the loop
// of scheduler/drive, with a quorum that answers from the log, and compares every plan.
// It stops at the first difference. rows is the number of rows of the trace, beyond which
// there are no jobs. Memory is that of the core and of one round. A cancelled ctx ends it
// with its error.
func Facts(ctx context.Context, p *plan.Resolved, rows int64, log iter.Seq2[*commitlog.Entry, error]) (*Parity, error) {
	return FactsTo(ctx, coreOf(p), p, rows, log)
}

// FactsTo is Facts for a core that the caller has made.
func FactsTo(ctx context.Context, core drive.Scheduler, p *plan.Resolved, rows int64, log iter.Seq2[*commitlog.Entry, error]) (_ *Parity, err error) {
	pull, stop := iter.Pull2(log)
	defer stop()
	f := &follower{ctx: ctx, pull: pull, rows: rows}
	if p.Site != nil {
		f.rows += int64(len(p.Site.Services)) // their jobs come behind the rows
		f.names = commitlog.NamesOf(p.Site.World.Site)
	}
	loop := drive.Loop{Core: core, Quorum: f, Agents: f, Record: f, Order: p.Order, PassPerFact: p.Core.Backfill != order.Conservative}
	defer func() {
		if r := recover(); r != nil {
			err = &CoreError{f.index, r}
		}
	}()
	for f.goesOn() {
		if err := f.round(&loop); err != nil {
			return nil, err
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	f.found.Fingerprint = f.print.String()
	return &f.found, nil
}

func coreOf(p *plan.Resolved) drive.Scheduler { return fork.New(p, nil) }

// follower walks through a log beside a loop. As its recorder it holds each entry that the
// loop makes against the next of the log; as its quorum it answers what the log has.
type follower struct {
	ctx   context.Context
	names commitlog.Names
	pull  func() (*commitlog.Entry, error, bool)
	ahead []commitlog.Entry // read; those before head are passed
	head  int
	index int64 // of the entry at head
	rows  int64 // of the trace
	print commitlog.Digest
	found Parity
	err   error
}

// goesOn says whether there is more of the log to follow.
func (f *follower) goesOn() bool { return f.err == nil && f.found.Differs == nil && f.peek(0) != nil }

// peek is entry k from here on, nil behind the end of the log.
func (f *follower) peek(k int) *commitlog.Entry {
	for len(f.ahead)-f.head <= k && f.err == nil {
		if f.err = f.ctx.Err(); f.err != nil {
			return nil
		}
		e, err, more := f.pull()
		if !more {
			return nil
		}
		if err != nil {
			f.err = err
			return nil
		}
		if e.What == commitlog.Fact {
			if f.err = f.sound(&e.Fact); f.err != nil {
				return nil
			}
		}
		f.ahead = append(f.ahead, *e)
	}
	if f.err != nil {
		return nil
	}
	return &f.ahead[f.head+k]
}

// mostConstraints bounds the ids of constraints, so that none costs memory without bound.
const mostConstraints = 1 << 22

// sound refuses ids that would make a core's tables grow without bound.
func (f *follower) sound(x *model.Fact) error {
	at := f.index + int64(len(f.ahead)-f.head)
	switch {
	case x.Ref < 0 || int64(x.Ref) > f.rows:
		return &LogError{at, fmt.Sprintf("the handle %d of a job, of a trace of %d rows", x.Ref, f.rows)}
	case x.Alloc != nil && (x.Alloc.Constraint < 0 || x.Alloc.Constraint > mostConstraints):
		return &LogError{at, fmt.Sprintf("the constraint %d", x.Alloc.Constraint)}
	}
	return nil
}

// round lets the loop do what the log says that it was asked to do next.
func (f *follower) round(loop *drive.Loop) error {
	e := f.peek(0)
	if e.What != commitlog.Round || e.Round == drive.Answered || e.Round == drive.Unmet {
		f.differ(e, nil)
		return nil
	}
	now := e.Now
	switch e.Round {
	case drive.Asked:
		loop.Pass(now)
	case drive.Restored:
		var list []model.Proposal
		for k := 1; f.peek(k) != nil && f.peek(k).What == commitlog.Proposal; k++ {
			list = append(list, f.peek(k).Proposal)
		}
		loop.Restore(now, list)
	default:
		facts, err := f.facts(int(e.Count))
		if err != nil {
			return err
		}
		if e = f.peek(0); e.Round == drive.Observed {
			loop.Observe(now, facts)
		} else {
			loop.Step(now, facts)
		}
	}
	return nil
}

// facts are the n of the round that begins here. Passes may stand between them.
func (f *follower) facts(n int) ([]model.Fact, error) {
	var list []model.Fact
	for k := 1; len(list) < n; k++ {
		e := f.peek(k)
		switch {
		case f.err != nil:
			return nil, f.err
		case e == nil || e.What != commitlog.Fact && e.What != commitlog.Pass:
			return nil, &LogError{f.index + int64(k), fmt.Sprintf("%d facts in a round of %d", len(list), n)}
		case e.What == commitlog.Fact:
			list = append(list, e.Fact)
		}
	}
	return list, nil
}

// differ notes the first difference: what the log has, and what the loop made.
func (f *follower) differ(log, made *commitlog.Entry) {
	if f.found.Differs != nil || f.err != nil {
		return
	}
	d := &Difference{Index: f.index, Plan: f.found.Passes, InLog: "nothing: it has ended", InCore: "no such entry"}
	if log != nil {
		d.Log, d.At, d.InLog = eventOf(log), log.Now, f.words(log)
	}
	if made != nil {
		d.Core, d.At, d.InCore = eventOf(made), made.Now, f.words(made)
	}
	f.found.Differs = d
}

// words is an entry with every field that is set.
func (f *follower) words(e *commitlog.Entry) string {
	return strings.TrimSpace(string(commitlog.NewText(f.names).Append(nil, e)))
}

// meet holds an entry that the loop made against the log, and goes one further.
func (f *follower) meet(made *commitlog.Entry) {
	if f.found.Differs != nil || f.err != nil {
		return
	}
	e := f.peek(0)
	if e == nil || !commitlog.Same(e, made) {
		f.differ(e, made)
		return
	}
	f.index++
	if f.head++; f.head == len(f.ahead) {
		f.ahead, f.head = f.ahead[:0], 0
	}
}

// Round implements drive.Recorder.
func (f *follower) Round(now model.Time, r drive.Round, n int) {
	f.print.Round(now, n)
	f.meet(&commitlog.Entry{What: commitlog.Round, Now: now, Round: r, Count: int32(n)})
}

// Fact implements drive.Recorder.
func (f *follower) Fact(now model.Time, x *model.Fact) {
	f.print.Fact(x)
	f.meet(&commitlog.Entry{What: commitlog.Fact, Now: now, Fact: *x})
	f.found.Facts++
}

// Passed implements drive.Recorder.
func (f *follower) Passed(now model.Time, p *scheduler.Plan) {
	f.print.Passed(now, p)
	pass := commitlog.PassOf(now, p)
	f.meet(&pass)
	for i := range p.Promises {
		f.meet(&commitlog.Entry{What: commitlog.Promise, Now: now, Promise: p.Promises[i]})
	}
	f.found.Passes++
}

// Proposed implements drive.Recorder.
func (f *follower) Proposed(now model.Time, p *model.Proposal) {
	f.print.Proposal(p)
	f.meet(&commitlog.Entry{What: commitlog.Proposal, Now: now, Proposal: *p})
	f.found.Proposals++
}

// Start implements drive.NodeAgents: nothing runs.
func (f *follower) Start(model.Time, model.Ref) {}

// Submit implements drive.Quorum: what the log has as answered at once.
func (f *follower) Submit(_ model.Time, _ []model.Proposal, dst []model.Fact) []model.Fact {
	if !f.goesOn() {
		return dst
	}
	e := f.peek(0)
	if e.What != commitlog.Round || e.Round != drive.Answered {
		return dst
	}
	answers, err := f.facts(int(e.Count))
	if err != nil {
		f.err = err
		return dst
	}
	return append(dst, answers...)
}
