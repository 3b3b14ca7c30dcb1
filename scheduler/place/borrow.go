package place

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// IdleOf counts the idle nodes of a set. Cost: its words.
func (f *Free) IdleOf(set model.NodeSet) int32 {
	n := 0
	for w, m := range set {
		n += bits.OnesCount64(m & f.idle[w])
	}
	return int32(n)
}

// Lowest adds the lowest idle nodes of among that are not in avoid (nil for none)
// to into, at most that many, and says how many. It is for putting together what
// lenders offer, one lender after the other. Cost: the words of among up to the
// last node added.
func (f *Free) Lowest(among, avoid, into model.NodeSet, most int32) int32 {
	n := int32(0)
	for w := 0; w < len(among) && n < most; w++ {
		m := among[w] & f.idle[w] &^ into[w]
		if avoid != nil {
			m &^= avoid[w]
		}
		if m == 0 {
			continue
		}
		k := int32(bits.OnesCount64(m))
		if k > most-n {
			m, k = lowestBits(m, most-n), most-n
		}
		into[w] |= m
		n += k
	}
	return n
}

// Roomy takes the nodes out of set that have no room for the share of q, if it asks for
// one. Cost: the nodes of set.
func (f *Free) Roomy(q *Query, set model.NodeSet) {
	if !q.divides() {
		return
	}
	if int(q.GPUs) >= len(f.least) {
		clear(set)
		return
	}
	for w, m := range set {
		set[w] = f.withAmounts(w, m&f.least[q.GPUs][w], q)
	}
}

// SelectExtra is Select for a job that may borrow: if its own nodes do not hold
// it, all of them that qualify are used, and the rest are the lowest idle nodes
// of extra. Nodes of extra must meet the job's constraint; those of its class
// count as its own. Sensitive work borrows nothing.
func (f *Free) SelectExtra(q *Query, extra model.NodeSet, p *model.Placement) bool {
	if f.Select(q, p) || q.Sensitive || q.Nodes < 1 {
		return len(p.Words)+len(p.Shares) > 0
	}
	room, own := f.own(q)
	lent := int32(0)
	for w := range room {
		lent += int32(bits.OnesCount64(f.offered(q, extra, w)))
	}
	rest := q.Nodes - own
	if rest <= 0 || lent < rest {
		return false
	}
	for w, m := range room {
		o := f.offered(q, extra, w)
		if k := int32(bits.OnesCount64(o)); k > rest {
			o = lowestBits(o, rest)
		}
		rest -= int32(bits.OnesCount64(o))
		if q.divides() {
			f.addShares(p, w, m|o, q, q.Nodes)
		} else {
			addWord(p, int32(w), m|o, q.Nodes)
		}
	}
	return true
}

// own returns the nodes that q may use and that hold its part of a node, or are
// idle where it asks for whole nodes, valid until the next call, and their number.
func (f *Free) own(q *Query) (room model.NodeSet, n int32) {
	if q.divides() {
		return f.gather(q, math.MaxInt32)
	}
	class := f.sp.classes[q.Class].nodes
	room = f.gathered
	for w := range room {
		room[w] = f.idle[w] & class[w]
	}
	if q.Avoid != nil {
		room.AndNot(q.Avoid)
	}
	return room, room.Len()
}

// offered is the nodes of word w that q may borrow.
func (f *Free) offered(q *Query, extra model.NodeSet, w int) uint64 {
	m := extra[w] & f.idle[w] &^ f.sp.classes[q.Class].nodes[w]
	if q.Avoid != nil {
		m &^= q.Avoid[w]
	}
	if q.divides() {
		if int(q.GPUs) >= len(f.least) {
			return 0
		}
		m = f.withAmounts(w, m&f.least[q.GPUs][w], q)
	}
	return m
}
