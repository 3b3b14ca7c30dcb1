package sim

import (
	"errors"
	"io"

	"orrery/scheduler/model"
	"orrery/traces"
)

// arrival is the submission of the next row that follows no other,
// model.Never after the last.
func (r *run) arrival() (model.Time, error) {
	if r.follow == nil && len(r.plan.Left) == 0 && r.pos < len(r.batch.Submit) {
		return r.plan.Warm.From(r.batch.Submit[r.pos]), nil
	}
	return r.fetch()
}

// fetch is arrival, which may have to read on, or to pass over rows.
func (r *run) fetch() (model.Time, error) {
	for r.pos == r.batch.Len() || r.follow.holds(r.batch.First+model.JobID(r.pos)) || r.plan.LeavesOut(r.batch.First+model.JobID(r.pos)) {
		if r.pos < r.batch.Len() {
			r.pos++
			continue
		}
		if r.drained {
			return model.Never, nil
		}
		r.pos = 0
		err := r.src.Next(&r.batch)
		if errors.Is(err, io.EOF) {
			r.drained, r.batch = true, traces.Batch{}
			return model.Never, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return r.plan.Warm.From(r.batch.Submit[r.pos]), nil
}

// rowsRead is how many rows of the trace were replayed, or dropped: all of them
// unless the run stopped before.
func (r *run) rowsRead() int64 {
	if r.drained {
		return r.src.Info().Rows
	}
	return int64(r.batch.First) + int64(r.pos)
}

// manyFacts is of how many facts of a round the memory is not kept for the next one.
const manyFacts = 1 << 16

// collect gathers the facts of the next round at now.
func (r *run) collect(now model.Time) error {
	if cap(r.facts) > manyFacts {
		r.facts = nil // as many may not come again
	}
	r.facts = r.facts[:0]
	if r.event == now {
		r.facts = r.world.Take(now, r.facts)
	}
	if r.follow != nil {
		r.follow.left(r.world.leavers(), now)
	}
	if !r.warms(now) {
		err := r.arrivals(now)
		if r.services != nil && err == nil {
			r.serve(now)
		}
		return err
	}
	r.loop.Observe(now, r.facts) // so that no job is placed on nodes that are down
	r.facts = r.facts[:0]
	if err := r.arrivals(now); err != nil {
		return err
	}
	r.resume(now)
	return nil
}

// arrivals gathers the submissions of now, in the order of the rows.
func (r *run) arrivals(now model.Time) error {
	if r.follow != nil {
		r.due = r.follow.take(now, r.due[:0])
	}
	for {
		at, err := r.arrival()
		switch {
		case err != nil:
			return err
		case len(r.due) > 0 && (at > now || r.due[0].Job() < r.batch.First+model.JobID(r.pos)):
			if err := r.submit(now, r.follow.row(r.due[0]), 0); err != nil {
				return err
			}
			r.due = r.due[1:]
			continue
		case at > now:
			return nil
		case at < now:
			return &traces.DataError{
				File: r.src.Info().Name, Row: int64(r.batch.First) + int64(r.pos) + 1, Column: "submit",
				Found: "a submission at " + at.String() + " after one at " + now.String(), Expected: "rows in order of submission", Mend: "sort the table by submit, then by id",
			}
		}
		if err := r.submit(now, &r.batch, r.pos); err != nil {
			return err
		}
		r.pos++
	}
}

// submit gathers the submission of row i of b, or that it is over and never comes.
func (r *run) submit(now model.Time, b *traces.Batch, i int) error {
	before, n := len(r.world.leavers()), len(r.facts)
	r.facts = append(r.facts, model.Fact{})
	f := &r.facts[n]
	ok, err := r.world.submission(b, i, f)
	if ok && !(r.warms(now) && r.world.Resumes(f.Ref)) {
		return nil
	}
	told := *f
	r.facts = r.facts[:n]
	switch {
	case err != nil:
		return err
	case ok:
		r.running = append(r.running, told)
	default:
		if len(r.world.leavers()) == before {
			r.follow.dropped(b.First+model.JobID(i), r.plan.Warm.Ended(b, i), now)
		}
		if told.Kind == model.FactGone {
			r.facts = append(r.facts, told)
		}
	}
	return nil
}
