package record

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// Job implements Sink. Jobs must come in order of leaving; those that leave at
// one instant may come in any order and are stored by job.
func (w *Writer) Job(r *model.JobRecord) {
	if w.err != nil {
		return
	}
	if r.End != w.lastEnd {
		if r.End < w.lastEnd {
			w.err = fmt.Errorf("record: job %d left at %v, after a job that left at %v was recorded", r.Job, r.End, w.lastEnd)
			return
		}
		w.leave()
		w.lastEnd = r.End
	}
	if n := len(w.leaving); n > 0 && r.Job < w.leaving[n-1].Job {
		w.mixed = true
	}
	w.leaving = append(w.leaving, *r)
}

// leave stores the jobs of the instant that has passed.
func (w *Writer) leave() {
	if w.mixed {
		//detlint:total a job leaves once, so no two are equal
		slices.SortFunc(w.leaving, func(a, b model.JobRecord) int { return cmp.Compare(a.Job, b.Job) })
		w.mixed = false
	}
	for i := range w.leaving {
		w.storeJob(&w.leaving[i])
	}
	w.leaving = w.leaving[:0]
}

func (w *Writer) storeJob(r *model.JobRecord) {
	if w.meta.site() {
		w.storeSiteJob(r)
		return
	}
	i := len(w.jobs.rows)
	w.fillJob(w.jobs.next(), i, r)
	if w.jobs.full() {
		w.fillUsers()
		w.keep(w.jobs.spill())
	}
}

// fillJob fills row i of the batch, but for the name of the user.
func (w *Writer) fillJob(row *jobRow, i int, r *model.JobRecord) {
	epoch, opt := int64(w.meta.Epoch), &w.opt[i]
	w.users[i] = r.User
	row.Job = int32(r.Job)
	row.ID = r.ID
	row.Submit = int64(r.Submit) + epoch
	row.Eligible = int64(r.Eligible) + epoch
	row.Start, row.Wait = nil, nil
	if r.Start != model.AbsentTime {
		opt.start, opt.wait = int64(r.Start)+epoch, int64(r.Start-r.Submit)
		row.Start, row.Wait = &opt.start, &opt.wait
	}
	row.End = int64(r.End) + epoch
	row.Runtime = int64(r.Runtime)
	row.Walltime = nil
	if r.Walltime != model.Forever && r.Walltime != model.AbsentDuration {
		opt.walltime = int64(r.Walltime)
		row.Walltime = &opt.walltime
	}
	row.Procs = r.Procs
	row.Nodes = r.Nodes
	row.State = r.State.String()
	row.Attempts = r.Attempts
	row.Reason = r.Reason.String()
}

// fillUsers writes the names into the batch of jobs. They are looked up once
// per batch, since the trace learns them as it is read.
func (w *Writer) fillUsers() {
	var names []string
	if w.meta.Users != nil {
		names = w.meta.Users()
	}
	rows := 0
	if w.jobs != nil {
		rows = len(w.jobs.rows)
	} else {
		rows = len(w.siteJobs.rows)
	}
	for i := range rows {
		row := w.jobAt(i)
		row.User = ""
		if u := w.users[i]; int(u) < len(names) && u >= 0 {
			row.User = names[u]
		} else if u >= 0 {
			w.keep(fmt.Errorf("record: job %d has user %d, but only %d names are known", row.Job, u, len(names)))
		}
	}
}

// jobAt is row i of the batch of jobs.
func (w *Writer) jobAt(i int) *jobRow {
	if w.jobs != nil {
		return &w.jobs.rows[i]
	}
	return &w.siteJobs.rows[i].jobRow
}

// Attempt implements Sink.
func (w *Writer) Attempt(r *model.AttemptRecord) {
	switch {
	case w.err != nil:
	case w.meta.site():
		w.siteAttempt(r)
	default:
		w.fillAttempt(w.attempts.next(), r)
		if w.attempts.full() {
			w.fillAttemptTexts()
			w.keep(w.attempts.spill())
		}
	}
}

// fillAttempt fills a row, but for the node texts, which it gathers.
func (w *Writer) fillAttempt(row *attemptRow, r *model.AttemptRecord) {
	epoch := int64(w.meta.Epoch)
	row.Job = int32(r.Job)
	row.ID = r.ID
	row.Attempt = r.Attempt
	row.Start = int64(r.Start) + epoch
	row.End = int64(r.End) + epoch
	row.Outcome = r.Outcome.String()
	row.Procs = r.Procs
	w.aText.add(&r.Placement)
}

// texts gathers the node texts of a batch in one buffer, which becomes one
// string when the batch is written: one allocation per batch, not per row.
type texts struct {
	buf  []byte
	ends []int // of the nodes and the shares of each row, alternating
}

func (t *texts) add(p *model.Placement) {
	t.buf = AppendNodes(t.buf, p)
	t.ends = append(t.ends, len(t.buf))
	t.buf = AppendShares(t.buf, p)
	t.ends = append(t.ends, len(t.buf))
}

// take hands each row its texts and empties t.
func (t *texts) take(give func(row int, nodes, shares string)) {
	all, at := string(t.buf), 0
	for i := 0; i < len(t.ends); i += 2 {
		n, s := t.ends[i], t.ends[i+1]
		give(i/2, all[at:n], all[n:s])
		at = s
	}
	t.buf, t.ends = t.buf[:0], t.ends[:0]
}

func (w *Writer) fillAttemptTexts() {
	w.aText.take(func(i int, nodes, shares string) {
		row := (*attemptRow)(nil)
		if w.attempts != nil {
			row = &w.attempts.rows[i]
		} else {
			row = &w.siteAttempts.rows[i].attemptRow
		}
		row.Nodes, row.Shares = nodes, shares
	})
}
