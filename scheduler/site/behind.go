package site

import (
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/waiting"
)

// behind looks at the jobs that may start although one before them is blocked, as
// waiting.Seeker asks for it.
type behind struct {
	p        *pass
	seeker   waiting.Seeker
	leftOver []int32 // by size, what spared answered in this pass, -1 for nothing yet
}

// Room implements waiting.Test.
func (x *behind) Room(size int32, borrows bool) queue.Room {
	borrowing := x.p.easy().mayBorrow(borrows)
	free := x.p.qs.waiting.Free(size)
	if borrowing {
		free += x.p.borrowable
	}
	r := queue.Room{Free: free, Extra: free, Limit: model.Forever}
	h := &x.p.qs.reservation
	switch {
	case borrowing || !h.Known() || h.At == model.Never || !x.p.rule.reserves():
	case x.p.easy().delays(x.p.qs.waiting.ClassOf(size)):
		r.Extra, r.Limit = min(free, h.Spare), max(h.At.Sub(x.p.now), 0)
	case h.Detailed && x.p.qs.waiting.ShareOf(size) == (place.Share{}) && !x.p.core.jobs[h.Ref].Divides():
		r.Extra, r.Limit = min(free, x.spared(size)), max(h.At.Sub(x.p.now), 0)
	}
	return r
}

// spared bounds from above how many whole nodes jobs of a size may take for longer than until the blocked job has room. It is
// found once in a pass, for it does not grow.
func (x *behind) spared(size int32) int32 {
	for int(size) >= len(x.leftOver) {
		x.leftOver = append(x.leftOver, -1)
	}
	if x.leftOver[size] < 0 {
		p := x.p
		x.leftOver[size] = max(p.qs.reservation.MostSpared(p.qs.free.Idle(), p.core.space.NodesOf(p.qs.waiting.ClassOf(size)), nil), 0)
	}
	return x.leftOver[size]
}

// MayStart implements waiting.Test: it says what holds for the rest of the pass, for it is not
// the job's turn yet. Limits, and whether the blocked job is delayed, are looked at then.
func (x *behind) MayStart(at int32) bool {
	q := &x.p.qs.waiting.Jobs[at]
	return q.Ref != x.p.qs.reservation.Ref && !x.p.easy().cannotStart(q) && !x.p.memo().noRoomAlike(q.Ref)
}

// Before implements waiting.Test.
func (x *behind) Before(a, b model.Ref) bool {
	q := &x.p.qs.waiting
	return q.Row(a).Job < q.Row(b).Job
}

// Key implements waiting.Test.
func (x *behind) Key(at int32) model.Fixed {
	q := &x.p.qs.waiting.Jobs[at]
	x.p.ranking().weigh(q)
	return q.Key
}
