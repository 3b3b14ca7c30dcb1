package transform

import (
	"cmp"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Events of the kind demand name a job by its id, and so go where the job goes when
// it is copied or numbered anew.

const demandKind = "demand"

// demands are such events by the id of their job.
type demands map[int64][]traces.Event

// demandsOf takes them out of the others.
func demandsOf(events []traces.Event) (others []traces.Event, of demands) {
	of = demands{}
	for _, e := range events {
		id, err := strconv.ParseInt(e.Subject, 10, 64)
		if e.Kind != demandKind || err != nil {
			others = append(others, e)
			continue
		}
		of[id] = append(of[id], e)
	}
	return others, of
}

// follow appends the demands of the job with the number id to events, for the job with
// the number as, which is the same one moved in time.
func (d demands) follow(events []traces.Event, id, as int64, by model.Duration) []traces.Event {
	for _, e := range d[id] {
		e.Subject, e.Time = strconv.FormatInt(as, 10), e.Time.Add(by)
		events = append(events, e)
	}
	return events
}

// present leaves out the demands of jobs that were not met.
func (n named) present(events []traces.Event) (kept []traces.Event, a *Account) {
	a = &Account{Step: "demands"}
	for _, e := range events {
		id, err := strconv.ParseInt(e.Subject, 10, 64)
		if e.Kind == demandKind && err == nil && !n[id] {
			a.read()
			count(&a.Dropped, "demand of a service that is not there", func() string { return e.Subject })
			continue
		}
		kept = append(kept, e)
	}
	return kept, a
}

// inOrder sorts events by their time.
func inOrder(events []traces.Event) []traces.Event {
	slices.SortStableFunc(events, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
	return events
}
