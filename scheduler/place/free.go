package place

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Free is which nodes and GPUs of a Space no job holds. Nodes held whole,
// GPUs held and nodes out of service are three marks of a node that do not touch
// each other: a node is idle when it has none of them.
//
// Changes cost their words, questions the words changed since the class was last
// asked for. Nothing allocates but the first question for a class.
type Free struct {
	sp     *Space
	unheld model.NodeSet   // not held whole
	up     model.NodeSet   // in service
	part   model.NodeSet   // some GPU is held
	intact model.NodeSet   // up and not part
	idle   model.NodeSet   // unheld and intact
	taken  []uint64        // held GPUs of each node
	least  []model.NodeSet // least[g]: nodes with at least g GPUs that are not held
	shared bool            // part is not empty, or was not
	held   *amounts        // nil before the first share that names amounts

	fragments *fragments // nil before the first query with a mix

	changes uint64   // so far
	tallies []*tally // by class, nil before the first question
	log     []span   // of words of idle that may have changed since base, in order
	base    int64

	// Of one question.
	used, adjacent, pool, ends groupSet
	cellOf                     []int32 // of the groups in one of these, their cells of the row
	perRow                     []int32
	gathered                   model.NodeSet
	ranks                      []nodeRank
}

// NewFree has all nodes and GPUs free; nodes that the site says are Ready are in
// service.
func (sp *Space) NewFree() *Free {
	f := &Free{
		sp: sp, unheld: slices.Clone(sp.every), up: slices.Clone(sp.ready), part: model.NewNodeSet(sp.nodes),
		intact: slices.Clone(sp.ready), idle: slices.Clone(sp.ready), log: make([]span, 0, max(64, 2*len(sp.every))),
		used: newGroupSet(sp.groups), adjacent: newGroupSet(sp.groups),
		pool: newGroupSet(sp.groups), ends: newGroupSet(sp.groups),
		cellOf: make([]int32, sp.groups), perRow: make([]int32, len(sp.layout.rows)), gathered: model.NewNodeSet(sp.nodes),
	}
	if len(sp.least) > 1 || sp.site.Amounts {
		f.taken = make([]uint64, sp.nodes)
		for _, s := range sp.least {
			f.least = append(f.least, slices.Clone(s))
		}
	}
	return f
}

// CopyFrom makes f equal to o, which must be of the same Space. Cost: the words
// of the node sets, and the nodes of which GPUs are held.
func (f *Free) CopyFrom(o *Free) {
	f.changes++
	copy(f.unheld, o.unheld)
	copy(f.up, o.up)
	if f.shared || o.shared {
		f.copyAmounts(o)
		f.copyGPUs(o)
	}
	copy(f.intact, o.intact)
	for w, m := range o.idle {
		if f.idle[w] != m {
			f.idle[w] = m
			f.touch(int32(w))
		}
	}
}

func (f *Free) copyGPUs(o *Free) {
	for w := range f.part {
		for m := f.part[w] | o.part[w]; m != 0; m &= m - 1 {
			n := w<<6 + bits.TrailingZeros64(m)
			f.taken[n] = o.taken[n]
			f.changed(model.NodeID(n))
		}
	}
	copy(f.part, o.part)
	for g := range f.least {
		copy(f.least[g], o.least[g])
	}
	f.shared = o.shared
}

// Take marks what p names as held; what is held already stays so.
func (f *Free) Take(p *model.Placement) {
	f.takeWords(p)
	if len(p.Shares) > 0 {
		f.takeShares(p, 1)
	}
}

// Retake marks again what p names and has taken, after another gave the same nodes: the
// amounts of shares were never given back and are not counted twice.
func (f *Free) Retake(p *model.Placement) {
	f.takeWords(p)
	f.takeShares(p, 0)
}

func (f *Free) takeShares(p *model.Placement, times int32) {
	for i := range p.Shares {
		s := &p.Shares[i]
		f.hold(s, f.taken[s.Node]|whole(s)&f.sp.gpus[s.Node], times)
	}
}

func (f *Free) takeWords(p *model.Placement) {
	f.touchWords(p.Words)
	idle := f.idle
	unheld := f.unheld[:len(idle)] // so that a word is checked once
	for _, w := range p.Words {
		i := int(w.Word)
		idle[i] &^= w.Mask
		unheld[i] &^= w.Mask
	}
}

// Give marks what p names as free; what is free already stays so.
func (f *Free) Give(p *model.Placement) {
	f.touchWords(p.Words)
	idle := f.idle
	unheld, intact := f.unheld[:len(idle)], f.intact[:len(idle)]
	for _, w := range p.Words {
		i := int(w.Word)
		free := unheld[i] | w.Mask
		unheld[i] = free
		idle[i] = free & intact[i]
	}
	for i := range p.Shares {
		s := &p.Shares[i]
		f.hold(s, f.taken[s.Node]&^whole(s), -1)
	}
}

// GiveWhere marks as free what p names and committed does not hold.
func (f *Free) GiveWhere(p *model.Placement, committed *Free) {
	for _, w := range p.Words {
		f.unheld[w.Word] |= w.Mask & committed.unheld[w.Word]
		f.refresh(w.Word)
	}
	for i := range p.Shares {
		s := &p.Shares[i]
		f.hold(s, f.taken[s.Node]&^(whole(s)&^committed.taken[s.Node]), -1)
	}
}

// Holds says whether anything that p names, but for parts of a GPU and other amounts, is held or
// out of service.
func (f *Free) Holds(p *model.Placement) bool {
	for _, w := range p.Words {
		if w.Mask&^f.idle[w.Word] != 0 {
			return true
		}
	}
	for i := range p.Shares {
		if s := &p.Shares[i]; !f.unheld.Has(s.Node) || f.taken[s.Node]&whole(s) != 0 {
			return true
		}
	}
	return false
}

// SetAvailable takes node n out of service or back. What holds it is not changed
// by that.
func (f *Free) SetAvailable(n model.NodeID, up bool) {
	if up {
		f.up.Add(n)
	} else {
		f.up.Remove(n)
	}
	f.refresh(int32(n >> 6))
}

// SetAllAvailable takes all nodes back into service.
func (f *Free) SetAllAvailable() {
	copy(f.up, f.sp.every)
	for w := range f.up {
		f.refresh(int32(w))
	}
}

// Changes is a number that grows with each change of what is free.
func (f *Free) Changes() uint64 { return f.changes }

// Idle is the set of idle nodes, for reading until the next change.
func (f *Free) Idle() model.NodeSet { return f.idle }

// Count is the number of idle nodes of the class.
func (f *Free) Count(class ClassID) int32 { return f.tally(class).rows[f.sp.layout.all()] }

// CountShares is the number of nodes of the class that have room for a share. Cost:
// the words of a node set, and for a share with amounts its nodes.
func (f *Free) CountShares(class ClassID, share Share) int32 {
	q := Query{Class: class, Share: share}
	_, n := f.gather(&q, math.MaxInt32)
	return n
}

// Usable is the number of nodes that have room for the share of q. Cost: that of
// CountShares.
func (f *Free) Usable(q *Query) int32 {
	_, n := f.gather(q, math.MaxInt32)
	return n
}

// Room writes into set the nodes that Count counts, or CountShares with a share. Cost:
// that of these.
func (f *Free) Room(class ClassID, share Share, set model.NodeSet) {
	if share != (Share{}) {
		room, _ := f.gather(&Query{Class: class, Share: share}, math.MaxInt32)
		copy(set, room)
		return
	}
	copy(set, f.idle)
	set.And(f.sp.classes[class].nodes)
}

// Largest is the number of idle nodes in the largest conformance group of the
// class, where a node of unknown fingerprint is a group of its own.
func (f *Free) Largest(class ClassID) int32 {
	t := f.tally(class)
	best := min(1, t.rows[f.sp.layout.unknown()])
	for _, n := range t.rows[:f.sp.layout.known()] {
		best = max(best, n)
	}
	return best
}

// LargestOrUnknown is Largest where all nodes of unknown fingerprint are one group.
func (f *Free) LargestOrUnknown(class ClassID) int32 {
	t := f.tally(class)
	return t.rows[f.largestRow(t)]
}

// refresh works out the idle nodes of word w.
func (f *Free) refresh(w int32) {
	f.changes++
	f.intact[w] = f.up[w] &^ f.part[w]
	now := f.unheld[w] & f.intact[w]
	if now != f.idle[w] {
		f.idle[w] = now
		f.touch(w)
	}
}

// touch notes a change for the tallies.
func (f *Free) touch(w int32) { f.log = append(f.logFor(1), span{w, w + 1}) }

// touchWords notes changes for the tallies, if there are any.
func (f *Free) touchWords(words []model.NodeWord) {
	if f.changes++; len(f.tallies) == 0 {
		return
	}
	log, s := f.logFor(len(words)), span{}
	for i := range words {
		if w := words[i].Word; w != s.end {
			if s.end > s.first {
				log = append(log, s)
			}
			s = span{w, w}
		}
		s.end++
	}
	if s.end > s.first {
		log = append(log, s)
	}
	f.log = log
}

// logFor is the log with room for so many changes, no more than there are words. A log
// without is dropped.
func (f *Free) logFor(changes int) []span {
	if len(f.log)+changes > cap(f.log) {
		f.base += int64(len(f.log))
		f.log = f.log[:0]
	}
	return f.log
}

// hold makes taken the GPUs of the node of s that are held whole, and counts its amounts
// so many times.
func (f *Free) hold(s *model.NodeShare, taken uint64, times int32) {
	n := s.Node
	was := bits.OnesCount64(f.open(n))
	f.taken[n] = taken
	f.addAmounts(s, times)
	f.changed(n)
	now := bits.OnesCount64(f.open(n))
	for g := now + 1; g <= was; g++ {
		f.least[g].Remove(n)
	}
	for g := was + 1; g <= now; g++ {
		f.least[g].Add(n)
	}
	if taken != 0 || f.held != nil && f.held.nodes[n].jobs != 0 {
		f.part.Add(n)
		f.shared = true
	} else {
		f.part.Remove(n)
	}
	f.refresh(int32(n >> 6))
}

// tally is the counts of the class as of now.
func (f *Free) tally(class ClassID) *tally {
	for int(class) >= len(f.tallies) {
		f.tallies = append(f.tallies, nil)
	}
	t := f.tallies[class]
	if t == nil {
		t = newTally(&f.sp.layout, f.sp.classes[class].nodes)
		f.tallies[class] = t
	}
	if end := f.base + int64(len(f.log)); t.at != end {
		f.follow(t)
		t.at = end
	}
	return t
}

// follow makes t true. It reads the log, or looks at all words where that is gone or
// has more to read.
func (f *Free) follow(t *tally) {
	if t.at >= f.base && f.base+int64(len(f.log))-t.at <= int64(len(f.idle)) {
		t.follow(&f.sp.layout, f.log[t.at-f.base:], f.idle)
		return
	}
	every := [...]span{{0, int32(len(f.idle))}}
	t.follow(&f.sp.layout, every[:], f.idle)
}
