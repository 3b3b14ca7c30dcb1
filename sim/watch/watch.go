// Package watch checks the invariants of docs/INVARIANTS.md on a log as it is written: facts, proposals and records
// come in, breaches come out. It keeps a ledger of its own from the log alone and believes neither the core, but for
// which job is first where only scores tell, nor the quorum, so it must not know them; nor does it know how a
// schedule is made. It never stops a replay.
package watch

import (
	"fmt"

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
	// Overrun says that jobs may outlive their request; else they are gone Slack after it: what agents take to start
	// a job, to end it, and to notice.
	Overrun bool
	Slack   model.Duration
	// Begin is a warm start: submissions of before are observed then.
	Begin model.Time
	// Records says that the records of jobs and attempts come as well.
	Records bool
	// Aside are the jobs that wait in no queue of the scheduler, by its own word; nil to have invariant 34 checked by
	// the log alone.
	Aside func() map[model.JobID]bool
	// First is the first blocked job of the last pass of a vCluster and the number of the last proposal before its
	// turn, by the scheduler's own word, for orders that cannot be told from the log; nil to have these unchecked.
	First func(v model.VClusterID) (ref model.Ref, since uint64, ok bool)
	// Ledger is what the scheduler has booked for a tenant up to an instant, in node and GPU time; nil to have it
	// unchecked.
	Ledger func(t model.TenantID, now model.Time) (node, gpu model.Duration)
}

// base is what the parts of a Watcher share: the report, the site as it is at the beginning, and the clock.
type base struct {
	Report
	cfg  Config
	site *model.Site
	now  model.Time
}

func (b *base) fail(invariant int, j *job, found, expected string) {
	x := Breach{Invariant: invariant, At: b.now, Job: -1, Found: found, Expected: expected}
	if j != nil {
		x.Job, x.ID = j.Job, j.ID
	}
	b.Report.fail(x)
}

// unknownJob notes a breach about a job that is not in the system.
func (b *base) unknownJob(invariant int, id model.JobID, found, expected string) {
	b.Report.fail(Breach{Invariant: invariant, At: b.now, Job: id, Found: found, Expected: expected})
}
