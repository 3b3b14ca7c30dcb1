// Package queue is waiting jobs in an order: what a pass asks of each of them, with an
// index that finds the next one that may start by its size and its requested time. It
// knows neither what the order is, nor policies, nor running jobs.
package queue

import (
	"math"
	"slices"

	"orrery/scheduler/model"
)

// Job is what a pass asks of a waiting job. Need is at least 0, and so is Wall.
type Job struct {
	Wall model.Duration // requested
	Key  int64          // jobs of higher keys come first; those of one key are in an order that the caller knows
	Need int32          // of the capacity
	Ref  model.Ref
}

// Room is what jobs may take: Free of the capacity for at most Limit, and Extra of it for
// any time.
type Room struct {
	Free, Extra int32
	Limit       model.Duration
}

// Holds says whether a job may take of r what it needs for so long.
func (r *Room) Holds(need int32, wall model.Duration) bool {
	return need <= r.Free && (wall <= r.Limit || need <= r.Extra)
}

const (
	perBlock = 128
	perGroup = 64
	few      = 4 // so many blocks are searched without digests
)

// block is a run of consecutive jobs.
type block struct {
	digest
	known   bool  // there is a digest; its need there always is
	needing int32 // jobs of digest.need
	n       int
	jobs    [perBlock]Job
}

// list are the jobs of b.
func (b *block) list() []Job { return b.jobs[:b.n] }

// seek is the index of the first job from i on that r holds, b.n when there is none.
func (b *block) seek(i int, r *Room) int {
	for ; i < b.n; i++ {
		if j := &b.jobs[i]; r.Holds(j.Need, j.Wall) {
			return i
		}
	}
	return b.n
}

// Queue holds the waiting jobs in the order in which they were put. They stand in blocks, so
// that none but those of a block move when one joins or leaves; for blocks, and groups of
// them, a digest says whether a job may start, so that a search skips the others. The digests
// are worked out when a search comes to them, and again when one was misled by them: a short queue
// has none. Steady state allocates nothing.
type Queue struct {
	blocks []*block
	head   int // all blocks before this one are empty, and so may be later ones but for the last
	n      int
	groups []digest
	// known is how many of the groups, from the first on, have a digest; their blocks all have one.
	known    int
	classes  int
	spare    []*block
	examined uint64
}

// At is a place in a queue. It holds until a job joins, until one leaves before it, and until Tidy.
type At struct{ block, i int }

// New is an empty queue of jobs that need at most total.
func New(total int32) Queue { return Queue{classes: Class(total) + 1} }

// Len is the number of jobs.
func (q *Queue) Len() int { return q.n }

// Examined counts the jobs that Seek has looked at one by one.
func (q *Queue) Examined() uint64 { return q.examined }

// First is the place of the first job.
func (q *Queue) First() At { return At{q.head, 0} }

// End is the place behind the last job.
func (q *Queue) End() At {
	last := len(q.blocks) - 1
	if last < 0 {
		return At{}
	}
	return At{last, q.blocks[last].n}
}

// Job is the job at a place, nil behind the last. It holds as long as the place.
func (q *Queue) Job(at At) *Job {
	if at.block >= len(q.blocks) || at.i >= q.blocks[at.block].n {
		return nil
	}
	return &q.blocks[at.block].jobs[at.i]
}

// Before is the job before a place, nil where there is none. It holds as long as the place.
func (q *Queue) Before(at At) *Job {
	for at.i == 0 {
		if at.block <= q.head {
			return nil
		}
		at.block--
		at.i = q.blocks[at.block].n
	}
	return &q.blocks[at.block].jobs[at.i-1]
}

// Behind is the place from which Seek goes on behind the job at a place.
func (at At) Behind() At { return At{at.block, at.i + 1} }

// Blocks are the jobs in order: all of Block(0), and so on to Block(Blocks()-1).
func (q *Queue) Blocks() int { return len(q.blocks) - q.head }

// Block is a run of jobs, see Blocks. It may be empty. The keys of the jobs may be changed; while they are not in
// order, Find and Lower are not to be asked.
func (q *Queue) Block(i int) []Job { return q.blocks[q.head+i].list() }

// Refs appends the first n jobs to dst, or all.
func (q *Queue) Refs(dst []model.Ref, n int) []model.Ref {
	n = min(n, q.n)
	for i := q.head; n > 0; i++ {
		list := q.blocks[i].list()
		list = list[:min(n, len(list))]
		n -= len(list)
		for k := range list {
			dst = append(dst, list[k].Ref)
		}
	}
	return dst
}

// Find is the place behind all jobs of higher keys and those of this key for which before holds, which must be the
// first of them.
func (q *Queue) Find(key int64, before func(model.Ref) bool) At {
	if q.n == 0 {
		return At{}
	}
	hi := len(q.blocks) - 1
	if last := q.blocks[hi]; last.jobs[last.n-1].comesBefore(key, before) {
		return At{hi, last.n} // the usual arrival
	}
	return q.findIn(q.head, hi, key, before)
}

// comesBefore says whether j is before the place that Find looks for.
func (j *Job) comesBefore(key int64, before func(model.Ref) bool) bool {
	return j.Key > key || j.Key == key && before(j.Ref)
}

// findIn is Find where the place is in the blocks from lo to hi, and not behind the last job of these.
func (q *Queue) findIn(lo, hi int, key int64, before func(model.Ref) bool) At {
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		k := q.lastOf(lo, m)
		if b := q.blocks[k]; b.n == 0 || b.jobs[b.n-1].comesBefore(key, before) {
			lo = m + 1
		} else {
			hi = k
		}
	}
	list := q.blocks[lo].list()
	return At{lo, firstNot(list, 0, len(list), key, before)}
}

// lastOf is the last of the blocks from lo to hi that has jobs, lo where none has.
func (q *Queue) lastOf(lo, hi int) int {
	for hi > lo && q.blocks[hi].n == 0 {
		hi--
	}
	return hi
}

// firstNot is the index of the first job of list from i to j that does not come before the place that Find looks for, j
// where all do.
func firstNot(list []Job, i, j int, key int64, before func(model.Ref) bool) int {
	for i < j {
		if m := int(uint(i+j) >> 1); list[m].comesBefore(key, before) {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

// all is what Find asks where none of a key is to stand behind the place.
func all(model.Ref) bool { return true }

// Lower is the place of the first job of a lower key, End where there is none; at is behind a job, and none before it
// has one. Its cost grows with the logarithm of how far from there the place is.
func (q *Queue) Lower(at At, key int64) At {
	list := q.blocks[at.block].list()
	for i, step := at.i, 1; i < len(list); step *= 2 {
		next := min(i+step, len(list))
		if list[next-1].Key < key {
			return At{at.block, firstNot(list, i, next-1, key, all)}
		}
		i = next
	}
	lo := at.block + 1
	for step := 1; lo < len(q.blocks); step *= 2 {
		next := min(lo+step, len(q.blocks))
		k := q.lastOf(lo, next-1)
		if b := q.blocks[k]; b.n > 0 && b.jobs[b.n-1].Key < key {
			return q.findIn(lo, k, key, all)
		}
		lo = next
	}
	return q.End()
}

// Insert puts a job at a place that Find has given; the job that was there is behind it.
func (q *Queue) Insert(at At, j Job) {
	if len(q.blocks) == 0 {
		q.blocks = append(q.blocks, q.take())
	}
	if q.blocks[at.block].n == perBlock {
		at = q.split(at)
	}
	b := q.blocks[at.block]
	b.n++
	list := b.list()
	copy(list[at.i+1:], list[at.i:])
	list[at.i] = j
	q.n++
	b.countNeed(j.Need)
	if b.known {
		b.admit(q.class(j.Need), &j)
	}
	if g := at.block / perGroup; g < q.known {
		q.groups[g].admit(q.class(j.Need), &j)
	}
}

// Remove takes out the job at a place, which is then that of the job behind it.
func (q *Queue) Remove(at At) {
	b := q.blocks[at.block]
	j := b.jobs[at.i]
	copy(b.jobs[at.i:], b.jobs[at.i+1:b.n])
	b.n--
	q.n--
	q.forget(at.block, &j)
	if b.n == 0 {
		q.dropEmpty()
	}
}

// dropEmpty gives up the empty blocks behind the last job, and passes those before the first.
func (q *Queue) dropEmpty() {
	n := len(q.blocks)
	for n > 0 && (q.n == 0 || q.blocks[n-1].n == 0) {
		n--
	}
	q.shorten(n)
	for q.head < n && q.blocks[q.head].n == 0 {
		q.head++
	}
}

// shorten gives up all blocks but the first n; they are empty.
func (q *Queue) shorten(n int) {
	q.spare = append(q.spare, q.blocks[n:]...)
	q.blocks = q.blocks[:n]
	q.head = min(q.head, n)
	q.known = min(q.known, (n+perGroup-1)/perGroup)
	if n == 0 {
		q.head = 0
	}
}

// Clear takes all jobs out.
func (q *Queue) Clear() {
	q.n = 0
	q.shorten(0)
}

// Tidy packs the jobs where three quarters of the blocks' places are vacant, which is when so
// many jobs have left that the cost does not count.
func (q *Queue) Tidy() {
	if len(q.blocks) <= 8+4*q.n/perBlock {
		return
	}
	w, k := 0, 0 // never behind where the jobs are read
	for _, b := range q.blocks {
		for _, j := range b.list() {
			q.blocks[w].jobs[k] = j
			if k++; k == perBlock {
				w, k = w+1, 0
			}
		}
	}
	for i, b := range q.blocks {
		b.n = min(max(q.n-i*perBlock, 0), perBlock)
		b.known = false
		b.findNeed()
	}
	q.head, q.known = 0, 0
	q.dropEmpty()
}

// split makes room in the block of a place, which is full, and says where the place is then. A job
// behind the last one gets a block of its own, for others will follow it.
func (q *Queue) split(at At) At {
	b, c := q.blocks[at.block], q.take()
	behind := At{at.block + 1, 0}
	q.blocks = slices.Insert(q.blocks, behind.block, c)
	q.known = min(q.known, at.block/perGroup)
	if at.i == perBlock && behind.block == len(q.blocks)-1 {
		return behind
	}
	const half = perBlock / 2
	c.n = copy(c.jobs[:], b.jobs[half:])
	b.n = half
	b.known = false
	b.findNeed()
	c.findNeed()
	if at.i > half {
		return At{behind.block, at.i - half}
	}
	return at
}

func (q *Queue) take() *block {
	var b *block
	if n := len(q.spare); n > 0 {
		b = q.spare[n-1]
		q.spare = q.spare[:n-1]
	} else {
		b = &block{digest: digest{least: make([]model.Duration, q.classes)}}
	}
	b.n, b.need, b.needing, b.known = 0, math.MaxInt32, 0, false
	return b
}

// Least is the smallest need of a job, math.MaxInt32 of none. Cost: a look at each group.
func (q *Queue) Least() int32 {
	least := int32(math.MaxInt32)
	for _, g := range q.groups[:q.known] {
		least = min(least, g.need)
	}
	for _, b := range q.blocks[min(q.known*perGroup, len(q.blocks)):] {
		least = min(least, b.need)
	}
	return least
}

// Seek is the place of the first job from at on that r holds.
func (q *Queue) Seek(at At, r Room) (At, bool) {
	if at.block >= len(q.blocks) {
		return at, false
	}
	found, ok, next := at, false, at.block
	if at.i > 0 {
		found, ok = q.look(at, &r)
		next++
	}
	if len(q.blocks)-q.head <= few {
		for i := next; i < len(q.blocks) && !ok; i++ {
			if q.blocks[i].need <= r.Free {
				found, ok = q.look(At{i, 0}, &r)
			}
		}
		return found, ok
	}
	c := q.class(r.Free)
	for i := next; i < len(q.blocks) && !ok; {
		g := i / perGroup
		end := min((g+1)*perGroup, len(q.blocks))
		if q.group(g).may(c, &r) {
			found, ok = q.seekIn(i, end, c, &r)
		}
		i = end
	}
	return found, ok
}

// May says whether r may hold one of the jobs, and from where on to seek it. It errs as digests do, and never says no in
// error. Cost: a look at each group, or at the jobs where these are few.
func (q *Queue) May(r Room) (from At, may bool) {
	if len(q.blocks)-q.head <= few {
		return q.Seek(q.First(), r)
	}
	c := q.class(r.Free)
	for g := q.head / perGroup; g*perGroup < len(q.blocks); g++ {
		if q.group(g).may(c, &r) {
			return q.First(), true
		}
	}
	return q.End(), false
}

// seekIn searches the blocks from i to end, which are all of one group, or its last ones.
func (q *Queue) seekIn(i, end, c int, r *Room) (found At, ok bool) {
	all := i%perGroup == 0
	for ; i < end; i++ {
		b := q.blocks[i]
		if !b.may(c, r) {
			continue
		}
		if found, ok = q.look(At{i, 0}, r); ok {
			return found, true
		}
		if b.stale {
			q.survey(b)
		}
	}
	if g := (end - 1) / perGroup; all && q.groups[g].stale {
		q.combine(g)
	}
	return found, false
}

// look searches the rest of one block.
func (q *Queue) look(at At, r *Room) (At, bool) {
	b := q.blocks[at.block]
	i := b.seek(at.i, r)
	q.examined += uint64(max(min(i+1, b.n)-at.i, 0))
	return At{at.block, i}, i < b.n
}
