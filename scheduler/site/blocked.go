package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/waiting"
)

// roomFound is what one look for blocked jobs has found out about the room for each request
// size, for most jobs ask for one of few sizes. It holds while no node changes hands.
type roomFound struct {
	p     *view
	sizes []sizeRoom
	look  uint64
	below int8 // jobs may preempt those of classes below this, whatever their own class
	// bySize says that the number of nodes decides for work that is not sensitive: those
	// kept from one waiting job are kept from all of its size.
	bySize bool
}

// sizeRoom is the room for one request size in one look, unknown (-1) until it is asked for.
type sizeRoom struct {
	look uint64
	free int32                           // nodes with room, but for those kept for other jobs
	most [model.SensitiveClass + 1]int32 // by class, nodes with room or held by lower ones that may be preempted
}

func (p victims) newRoomFound() roomFound {
	r := roomFound{p: p.view, sizes: p.core.buf.sizes, bySize: len(p.core.site.Reservations) == 0 && len(p.core.promises.List) == 0 && !p.qs.mode.conformanceFirst}
	for len(r.sizes) < p.qs.waiting.Sizes() {
		r.sizes = append(r.sizes, sizeRoom{})
	}
	if p.core.lent[p.qs.id] > 0 {
		r.below = model.SensitiveClass // they reclaim nodes
	}
	p.core.looks++
	p.core.buf.sizes, r.look = r.sizes, p.core.looks
	return r
}

// of is the room for a request size.
func (r *roomFound) of(size int32) *sizeRoom {
	z := &r.sizes[size]
	if z.look != r.look {
		z.begin(r.look)
	}
	return z
}

// begin forgets what earlier looks have found out.
func (z *sizeRoom) begin(look uint64) {
	z.look, z.free = look, -1
	for c := range z.most {
		z.most[c] = -1
	}
}

// most is how many nodes a job of such a size, class and quality of service would have if all running jobs
// left that it may preempt. It errs on the side of many: it heeds neither which nodes are
// kept for others, nor that a node counts for each job that shares it.
func (r *roomFound) most(q *waiting.QueueEntry) int32 {
	below := max(q.Below, r.below)
	n := &r.of(q.Size).most[below]
	if *n < 0 {
		*n = r.p.qs.waiting.Free(q.Size) + r.p.core.jobs[q.Ref].kind.heldBelow(int32(below), r.p.core.active, r.p.core.jobs)
	}
	return *n
}

// lacking says whether a job that no nodes are held for has no room now.
func (r *roomFound) lacking(q *waiting.QueueEntry) bool {
	j := &r.p.core.jobs[q.Ref]
	if r.bySize && !j.IsSensitive() {
		z := r.of(q.Size)
		if z.free < 0 {
			z.free = r.p.room().own(j, r.p.core.avoids(q.Ref, r.p.now, r.p.now.Add(j.left)))
		}
		switch {
		case z.free < q.Need && (!q.Borrows || z.free+r.p.borrowable < q.Need):
			return true
		case z.free >= q.Need && r.p.core.caps.Fits(j.needs) && !r.p.core.confines(j):
			return false
		}
	}
	return r.p.room().choose(q.Ref, &r.p.core.buf.choice) != model.ReasonNone
}
