package commitlog

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// What is the sort of an entry.
type What uint8

const (
	Round    What = iota // facts are handed to the loop at once, or a pass is asked for
	Fact                 // a fact is observed
	Pass                 // a plan is made
	Proposal             // a proposal is submitted
	Promise              // a promise to a blocked job has changed
)

var whats = [...]string{"round", "fact", "pass", "proposal", "promise"}

// String is the spelling in facts.parquet.
func (w What) String() string { return whats[w] }

// Entry is one entry of a log, in the order in which drive.Loop tells a Recorder of them.
type Entry struct {
	What What
	Now  model.Time
	// Of a round: how it came about, and how many facts of it follow. Of a pass: how many
	// proposals it made.
	Round drive.Round
	Count int32
	// Of a pass: to what it commits the core, see scheduler.Plan.
	Due, QuietUntil model.Time
	Again           bool
	More            bool

	Promise  scheduler.Promise
	Fact     model.Fact
	Proposal model.Proposal
}

// Clone is an entry with copies of what it points at, which outlive the call of Recorder.Entry.
func (e *Entry) Clone() Entry {
	c, f := *e, &e.Fact
	c.Proposal.Placement.Words, c.Proposal.Placement.Shares = slices.Clone(e.Proposal.Placement.Words), slices.Clone(e.Proposal.Placement.Shares)
	c.Promise.Nodes.Words = slices.Clone(e.Promise.Nodes.Words)
	if f.Alloc != nil {
		a := *f.Alloc
		a.Deps = slices.Clone(a.Deps)
		c.Fact.Alloc = &a
	}
	if f.Constraint != nil {
		x := *f.Constraint
		c.Fact.Constraint = &x
	}
	if f.Limits != nil {
		x := *f.Limits
		c.Fact.Limits = &x
	}
	if f.Placement != nil {
		var p model.Placement
		p.Set(f.Placement)
		c.Fact.Placement = &p
	}
	return c
}

// Recorder turns what a loop tells into entries.
type Recorder struct {
	// Entry takes one; what it points at is valid during the call.
	Entry func(*Entry)
	e     Entry
}

// Round implements drive.Recorder.
func (r *Recorder) Round(now model.Time, round drive.Round, n int) {
	r.e = Entry{What: Round, Now: now, Round: round, Count: int32(n)}
	r.Entry(&r.e)
}

// Fact implements drive.Recorder.
func (r *Recorder) Fact(now model.Time, f *model.Fact) {
	r.e = Entry{What: Fact, Now: now, Fact: *f}
	r.Entry(&r.e)
}

// Passed implements drive.Recorder. The promises follow the pass in which they changed.
func (r *Recorder) Passed(now model.Time, p *scheduler.Plan) {
	r.e = PassOf(now, p)
	r.Entry(&r.e)
	for i := range p.Promises {
		r.e = Entry{What: Promise, Now: now, Promise: p.Promises[i]}
		r.Entry(&r.e)
	}
}

// PassOf is the entry of a pass that made the plan.
func PassOf(now model.Time, p *scheduler.Plan) Entry {
	return Entry{What: Pass, Now: now, Count: int32(len(p.Proposals)), Due: p.Due, QuietUntil: p.QuietUntil, Again: p.Again, More: p.More}
}

// Proposed implements drive.Recorder.
func (r *Recorder) Proposed(now model.Time, p *model.Proposal) {
	r.e = Entry{What: Proposal, Now: now, Proposal: *p}
	r.Entry(&r.e)
}

// Same says whether two entries agree in every field. The Due of a pass is only compared where both
// are known.
func Same(a, b *Entry) bool {
	return a.What == b.What && a.Now == b.Now && a.Round == b.Round && a.Count == b.Count &&
		(a.Due == b.Due || a.Due == model.AbsentTime || b.Due == model.AbsentTime) && a.QuietUntil == b.QuietUntil && a.Again == b.Again && a.More == b.More &&
		sameFact(&a.Fact, &b.Fact) && sameProposal(&a.Proposal, &b.Proposal) && samePromise(&a.Promise, &b.Promise)
}

// samePromise says whether two promises agree in every field.
func samePromise(a, b *scheduler.Promise) bool {
	var x, y Digest
	x.Promise(a)
	y.Promise(b)
	return x.print == y.print
}

// sameFact says whether two facts agree in every field, and in what they point at.
func sameFact(a, b *model.Fact) bool {
	var x, y Digest
	x.Fact(a)
	y.Fact(b)
	return x.print == y.print
}

// SameProposals is how many proposals at the beginning of two lists agree in every field.
func SameProposals(a, b []model.Proposal) (n int) {
	for n < min(len(a), len(b)) && sameProposal(&a[n], &b[n]) {
		n++
	}
	return n
}

// sameProposal says whether two proposals ask for the same in every field.
func sameProposal(a, b *model.Proposal) bool {
	var x, y Digest
	x.Proposal(a)
	y.Proposal(b)
	return x.print == y.print
}
