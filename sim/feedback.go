package sim

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/plan"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// feedback holds back the rows that follow others, and lets each come think_time
// after the job that it follows has left, whenever the log says that it came: a user
// whose job waits longer submits later. Memory is that of the rows that follow, and while they
// are looked for 40 bytes for each job of the trace. A nil feedback holds no row.
type feedback struct {
	rows  traces.Batch  // that follow, one behind the other
	of    []model.JobID // their rows of the trace, ascending
	links []link        // ascending by on, then row
	queue des.Queue     // those that come at a known instant
	next  int           // of these, the first that the stream of the trace has not passed
	came  int
	seen  int // jobs that left at this instant and were looked at
}

// link says that row k of feedback follows on.
type link struct {
	on    model.JobID
	k     int32
	think model.Duration
}

// follow reads which rows follow others: those with after_job and think_time whose
// job stands in an earlier row. Those of before a warm start came in the log and are
// not held back.
func follow(ctx context.Context, p plan.Resolved, open func() (traces.Source, error)) (*feedback, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f, rows := &feedback{}, map[int64]model.JobID{}
	b := traces.Batch{Attr: &traces.Attributes{}}
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		for i := range b.Len() {
			job := b.First + model.JobID(i)
			if p.LeavesOut(job) { // those that follow it come when the log says
				continue
			}
			on, ok := rows[b.Attr.AfterJob[i]]
			ok = ok && b.Attr.AfterJob[i] != traces.Absent64 && b.Attr.ThinkTime[i] >= 0
			rows[b.ID[i]] = job
			if !ok || p.Warm.OK && b.Submit[i] < p.Warm.V {
				continue
			}
			one := b.Slice(i, i+1)
			f.rows.Append(&one)
			f.links = append(f.links, link{on, int32(len(f.of)), b.Attr.ThinkTime[i]})
			f.of = append(f.of, job)
		}
	}
	slices.SortStableFunc(f.links, func(a, b link) int { return cmp.Compare(a.on, b.on) })
	return f, nil
}

// holds says whether a row of the stream is held back. Rows are asked in order.
func (f *feedback) holds(job model.JobID) bool {
	if f == nil {
		return false
	}
	for f.next < len(f.of) && f.of[f.next] < job {
		f.next++
	}
	return f.next < len(f.of) && f.of[f.next] == job
}

// due is when the next row comes, model.Never when none is known to.
func (f *feedback) due() model.Time {
	if f == nil {
		return model.Never
	}
	return f.queue.Next()
}

// take gives the rows that come now, ascending.
func (f *feedback) take(now model.Time, dst []des.Event) []des.Event {
	if f.due() != now {
		return dst
	}
	return f.queue.Take(now, des.RankSubmission, dst)
}

// row is a row that comes, as a batch of its own.
func (f *feedback) row(e des.Event) *traces.Batch {
	k := int(e.Ref())
	one := f.rows.Slice(k, k+1)
	one.First = f.of[k]
	return &one
}

// left lets those rows come that follow a job that left at now.
func (f *feedback) left(jobs []model.JobRecord, now model.Time) {
	if f == nil {
		return
	}
	for ; f.seen < len(jobs); f.seen++ {
		for _, l := range f.after(jobs[f.seen].Job) {
			f.release(l, now.Add(l.think))
		}
	}
}

// pass ends an instant.
func (f *feedback) pass() {
	if f != nil {
		f.seen = 0
	}
}

// dropped lets those rows come that follow one that never was a job: when the log says or,
// where it had ended before the replay, think_time after that.
func (f *feedback) dropped(job model.JobID, ended, now model.Time) {
	if f == nil {
		return
	}
	for _, l := range f.after(job) {
		at := f.rows.Submit[l.k]
		if ended != model.AbsentTime {
			at = ended.Add(l.think)
		}
		f.release(l, max(now, at))
	}
}

// after lists the rows that follow a job.
func (f *feedback) after(job model.JobID) []link {
	find := func(job model.JobID) int {
		i, _ := slices.BinarySearchFunc(f.links, job, func(l link, job model.JobID) int { return cmp.Compare(l.on, job) })
		return i
	}
	i := find(job)
	return f.links[i : i+find(job+1)-find(job)]
}

// release lets a row come at an instant. Its other instants move with it.
func (f *feedback) release(l link, at model.Time) {
	by := at.Sub(f.rows.Submit[l.k])
	move := func(instants []model.Time) {
		if t := &instants[l.k]; *t != model.AbsentTime {
			*t = max(0, t.Add(by))
		}
	}
	f.rows.Submit[l.k] = at
	for _, column := range [...][]model.Time{f.rows.CancelledAt, f.rows.Attr.Eligible, f.rows.Attr.Released, f.rows.Attr.End} {
		move(column)
	}
	f.came++
	f.queue.Push(des.NewEvent(at, des.RankSubmission, f.of[l.k], model.Ref(l.k)))
}

// account counts the rows that came, and those that never did because no job they
// follow left.
func (f *feedback) account(a *translate.SpecialRows) {
	if f == nil {
		return
	}
	a.Count[translate.RuleFollows] = int64(f.came - f.queue.Len())
	a.Count[translate.RuleNeverCame] = int64(len(f.of)-f.came) + int64(f.queue.Len())
}
