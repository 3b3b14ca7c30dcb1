package site

import (
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/waiting"
)

// behind looks at the jobs that may start although one before them is blocked, as
// waiting.Seeker asks for it.
type behind struct {
	p      *pass
	seeker waiting.Seeker
}

// passBehind lets jobs start behind the blocked one, in order, as far as they do not delay
// it. Those are not looked at that surely have no room or would delay it, by the number of nodes and the time
// that they ask for.
func passBehind(p *pass) {
	x := &p.qs.scratch.behind
	x.p = p
	x.seeker.Start(&p.qs.scratch.bounds, x)
	for p.anyRoom() {
		c, ok := x.seeker.Next()
		if !ok {
			return
		}
		p.tryStart(c)
	}
}

// Room implements waiting.Test.
func (x *behind) Room(size int32, borrows bool) queue.Room {
	borrowing := mayBorrow(x.p, borrows)
	free := x.p.qs.waiting.Free(size)
	if borrowing {
		free += x.p.borrowable
	}
	r := queue.Room{Free: free, Extra: free, Limit: model.Forever}
	if h := &x.p.qs.reservation; !borrowing && delays(x.p, x.p.qs.waiting.ClassOf(size)) {
		r.Extra, r.Limit = min(free, h.Spare), max(h.At.Sub(x.p.now), 0)
	}
	return r
}

// MayStart implements waiting.Test: it says what holds for the rest of the pass, for it is not
// the job's turn yet. Limits, and whether the blocked job is delayed, are looked at then.
func (x *behind) MayStart(at int32) bool {
	q := &x.p.qs.waiting.Jobs[at]
	return q.Ref != x.p.qs.reservation.Ref && !x.p.cannotStart(q) && !noRoomAlike(x.p, q.Ref)
}

// Before implements waiting.Test.
func (x *behind) Before(a, b model.Ref) bool {
	q := &x.p.qs.waiting
	return q.Row(a).Job < q.Row(b).Job
}

// Key implements waiting.Test.
func (x *behind) Key(at int32) model.Fixed {
	q := &x.p.qs.waiting.Jobs[at]
	q.Key = x.p.qs.score(q, x.p.qs.waiting.Wait(q, x.p.now))
	return q.Key
}
