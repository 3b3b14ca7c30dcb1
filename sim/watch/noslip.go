package watch

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// Passed implements drive.Recorder. It checks invariant 11: the reservations of the waiting jobs,
// by the scheduler's own word, have room beside what runs, and none of them moves to a later
// instant. So no job starts after the first instant that it was given. Cost: the jobs in the system.
func (w *Plain) Passed(now model.Time, p *scheduler.Plan) {
	if w.cfg.Reserved == nil {
		return
	}
	w.steps = w.steps[:0]
	for _, o := range w.running {
		w.spans(o, now, o.start)
	}
	for _, o := range w.flying {
		w.spans(o, now, now)
	}
	var without *plainJob
	for _, o := range w.waiting {
		at := now
		if !slices.ContainsFunc(p.Proposals, func(x model.Proposal) bool { return x.Job == o.id }) {
			at = w.cfg.Reserved(o.ref)
		}
		w.Slips++
		if o.reserved && at > o.slot {
			w.fail(11, o.id, "its reservation moves to "+at.String(), "no later than "+o.slot.String())
		}
		if o.slot, o.reserved = at, true; at == model.Never {
			without = o
			continue
		}
		w.spans(o, now, at)
	}
	if without != nil && !slices.ContainsFunc(w.steps, func(s step) bool { return s.at == model.Never }) {
		w.fail(11, without.id, "it waits without a reservation", "one, for all that is before it has an end")
	}
	w.crowded()
}

// step is units that are taken at an instant, or given back where they are negative.
type step struct {
	at    model.Time
	units int64
}

// spans notes the units that j holds from an instant on, as long as it asks for. What is overdue is
// predicted to end a second from now; without a request that is from the start on.
func (w *Plain) spans(j *plainJob, now, from model.Time) {
	until := from.Add(max(j.walltime, 0))
	if until <= max(now, from) {
		until = max(now, from).Add(model.Second)
	}
	w.steps = append(w.steps, step{from, int64(j.request.Units)}, step{until, -int64(j.request.Units)})
}

// crowded checks that there is room for all at every instant.
func (w *Plain) crowded() {
	slices.SortFunc(w.steps, func(a, b step) int { //detlint:total equal steps are alike
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.units, b.units))
	})
	units := int64(0)
	for _, s := range w.steps {
		if units += s.units; units > int64(len(w.cfg.Units)) {
			w.fail(11, -1, fmt.Sprintf("%d units reserved at %s", units, s.at), fmt.Sprintf("at most the %d of the cluster", len(w.cfg.Units)))
			return
		}
	}
}
