// Package future holds what a vCluster has promised its waiting jobs: the reservation of
// the first blocked job under EASY, and the plan of conservative backfilling. It knows
// when running jobs are predicted to leave and what they give back then, but not why a
// job waits, what its score is, or who commits a proposal.
package future

import (
	"math/bits"

	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
)

// Blocked is what the first blocked job of a pass asks for.
type Blocked struct {
	Nodes int32
	Left  model.Duration // requested time
	Needs caps.Usage
	Mask  model.NodeSet // nodes that it may use
}

// Reservation is the reservation of the first blocked job of a pass under EASY: the
// instant at which it is predicted to have room, and what is left over then. Where
// numbers of nodes decide, that is a number; where it matters which nodes, it is the
// forecast of the free nodes itself.
type Reservation struct {
	Ref   model.Ref // the first blocked job, -1 for none
	Since uint64    // number of the last proposal before it was found blocked

	known bool // of what follows
	// Detailed says that the forecast counts, and not Spare.
	Detailed bool
	At       model.Time // model.Never when it has no room after all predicted ends
	Spare    int32      // nodes left over
	blocked  Blocked
	caps     *caps.State
	Idle     caps.Idle  // the nodes that no job holds then, as far as it is known
	spare    caps.Usage // of the caps, where there are any
	forecast *place.Free
	query    place.Query
	avoid    model.NodeSet
}

// NewReservation is that of no job; forecast is memory for it alone.
func NewReservation(forecast *place.Free) Reservation {
	return Reservation{Ref: -1, forecast: forecast}
}

// Reset forgets the reservation.
func (r *Reservation) Reset() { r.Ref, r.known = -1, false }

// Restore makes known again what was found for the same job, where nothing was observed since.
func (r *Reservation) Restore() { r.known = true }

// Known says whether At and what is left over then have been found.
func (r *Reservation) Known() bool { return r.known }

// ByCount says that the reservation is known, and that numbers of nodes decide.
func (r *Reservation) ByCount() bool { return r.known && !r.Detailed }

// Outlook is what is predicted of a site, as one vCluster sees it.
type Outlook struct {
	Now  model.Time
	Ends *backfill.Ends
	Free *place.Free // now
	Caps *caps.State
}

// Shadow sets the reservation of a job that any node of the site will do for and that
// asks for nothing that is capped; free is the number of nodes free for it now. Its cost
// is a step for each block of predicted ends.
func (r *Reservation) Shadow(o *Outlook, b Blocked, free int32) {
	r.set(o, b, false)
	r.At, r.Spare = o.Ends.Shadow(o.Now, b.Nodes, free)
}

func (r *Reservation) set(o *Outlook, b Blocked, detailed bool) {
	r.known, r.Detailed, r.At, r.blocked, r.caps = true, detailed, model.Never, b, o.Caps
}

// Count walks the predicted ends with the number of nodes that the job may use. leaves
// is what the job under a ref gives back; nodes that are not ready are lost.
func (r *Reservation) Count(o *Outlook, b Blocked, free int32, ready model.NodeSet, leaves func(model.Ref) (*model.Placement, caps.Usage)) {
	r.set(o, b, false)
	used := o.Caps.Used
	room := func() bool { return free >= b.Nodes && o.Caps.Allow(b.Needs, used) }
	at := o.Now
	o.Ends.Ascend(o.Now, func(t model.Time, ref model.Ref, _ int32) bool {
		if t != at && room() {
			r.At = at
			return false
		}
		at = t
		nodes, needs := leaves(ref)
		free += returning(nodes, ready, b.Mask)
		used = used.Minus(needs)
		return true
	})
	if r.At == model.Never && room() {
		r.At = at
	}
	r.Spare = free - b.Nodes
	r.spare = r.caps.Cap.Minus(used).Minus(b.Needs)
}

// returning counts the nodes of a placement that are in the mask and will take work
// again.
func returning(nodes *model.Placement, ready, mask model.NodeSet) int32 {
	n := 0
	for _, w := range nodes.Words {
		n += bits.OnesCount64(w.Mask & ready[w.Word] & mask[w.Word])
	}
	return int32(n)
}

// Forecast walks the predicted ends with the free nodes themselves. Nodes that are set
// aside come back when their advance reservation ends, so these instants are tried as
// well: next is the first after an instant, nil where there are none. most is at least the number of nodes with room for
// the job in a forecast, at little cost. query is the search for the job's nodes if it
// started at an instant. leave gives the nodes of the job under ref back in the forecast, says whether
// these were any that matter, and returns what else it gives back.
func (r *Reservation) Forecast(o *Outlook, b Blocked, next func(model.Time) model.Time, most func(*place.Free) int32, query func(at model.Time) place.Query, leave func(forecast *place.Free, ref model.Ref) (caps.Usage, bool)) {
	r.set(o, b, true)
	r.forecast.CopyFrom(o.Free)
	used := o.Caps.Used
	same, capped := false, false // as when it was tried last, and then a cap had no room
	fits := func(at model.Time) bool {
		if same, capped = true, false; most(r.forecast) < b.Nodes {
			return false
		}
		if capped = !o.Caps.Allow(b.Needs, used); capped {
			return false
		}
		q := query(at)
		if !r.forecast.Fits(&q) {
			return false
		}
		r.At, r.query = at, q
		if q.Avoid != nil { // the next query may use the same memory
			r.avoid = append(r.avoid[:0], q.Avoid...)
			r.query.Avoid = r.avoid
		}
		return true
	}
	at, found := o.Now, false
	upTo := func(until model.Time) bool { // tries the instants before until
		for !found && at < until {
			switch {
			case next != nil:
				if found = fits(at); !found {
					at = min(next(at), until)
				}
			case same || !fits(at):
				at = until
			default:
				found = true
			}
		}
		return found
	}
	o.Ends.Ascend(o.Now, func(t model.Time, ref model.Ref, _ int32) bool {
		if next == nil && same {
			at = t
		} else if upTo(t) {
			return false
		}
		needs, matters := leave(r.forecast, ref)
		used = used.Minus(needs)
		same = same && !matters && !capped
		return true
	})
	upTo(model.Never)
	r.spare = r.caps.Cap.Minus(used).Minus(b.Needs)
}

// Select writes into p the nodes that the job gets at the instant of its reservation, beside
// what was taken since; it says whether it has room then. The reservation must be Detailed.
func (r *Reservation) Select(p *model.Placement) bool { return r.forecast.Select(&r.query, p) }

// OutOfTheWay says whether a job that is predicted to leave at the instant does so
// before the blocked job has room. The reservation must be known.
func (r *Reservation) OutOfTheWay(until model.Time) bool { return until <= r.At || r.At == model.Never }

// KeepsCaps says whether the blocked job has room at the instant of its reservation when so much of
// the caps is taken, as far as these go.
func (r *Reservation) KeepsCaps(more caps.Usage) bool {
	needs, limit := r.blocked.Needs, &r.caps.Cap
	keeps := !(limit.Power > 0 && needs.Power > 0 && more.Net() > r.spare.Net()) &&
		!(limit.Bandwidth > 0 && needs.Bandwidth > 0 && more.Bandwidth > r.spare.Bandwidth)
	r.caps.Met = r.caps.Met || !keeps
	return keeps
}

// LeavesRoom says whether the blocked job has room at the instant of its reservation when the
// nodes and so much of the caps are taken.
func (r *Reservation) LeavesRoom(nodes *model.Placement, more caps.Usage) bool {
	if !r.KeepsCaps(more) {
		return false
	}
	if !r.Detailed {
		return nodes.Within(r.blocked.Mask) <= r.Spare
	}
	r.forecast.Take(nodes)
	fits := r.forecast.Fits(&r.query)
	r.forecast.Give(nodes)
	return fits
}

// Take says whether that is so; if so they are taken.
func (r *Reservation) Take(nodes *model.Placement, more caps.Usage) bool {
	if !r.LeavesRoom(nodes, more) {
		return false
	}
	if r.Detailed {
		r.forecast.Take(nodes)
	} else {
		r.Spare -= nodes.Within(r.blocked.Mask)
	}
	r.spare = r.spare.Minus(more)
	r.Idle.Return(more, nodes)
	return true
}

// MostSpared bounds from above how many whole nodes of usable can be taken so that the
// blocked job has room at the instant of its reservation: those that are left over then,
// and all those that it does not count on. idle is the nodes free now.
func (r *Reservation) MostSpared(idle, usable, avoid model.NodeSet) int32 {
	counted, others := 0, 0
	for w, free := range idle {
		on := r.blocked.Mask[w]
		if r.Detailed {
			on &= r.forecast.Idle()[w]
			if r.query.Avoid != nil {
				on &^= r.query.Avoid[w]
			}
		}
		counted += bits.OnesCount64(on)
		more := free & usable[w] &^ on
		if avoid != nil {
			more &^= avoid[w]
		}
		others += bits.OnesCount64(more)
	}
	left := r.Spare
	if r.Detailed {
		left = int32(counted) - r.blocked.Nodes
	}
	return left + int32(others)
}
