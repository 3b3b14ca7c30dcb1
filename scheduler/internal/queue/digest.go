package queue

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// digest says of a run of jobs what a search must know to pass it by.
type digest struct {
	need int32 // the least, math.MaxInt32 of no job
	// least is, for each class of needs, the shortest requested time of a job of that class
	// or a lower one; model.Forever of no job. So it never grows from class to class.
	least []model.Duration
	// stale says that jobs have left since: least may be too short then.
	stale bool
}

// may says whether r may hold one of the jobs; c is the class of r.Free. It errs where a job needs
// more than r.Free and is of that class, and where the digest is stale, and never says no in error.
func (d *digest) may(c int, r *Room) bool {
	return d.need <= r.Free && (d.least[c] <= r.Limit || d.need <= r.Extra)
}

// admit takes in a job of class c.
func (d *digest) admit(c int, j *Job) {
	d.need = min(d.need, j.Need)
	for ; c < len(d.least) && j.Wall < d.least[c]; c++ {
		d.least[c] = j.Wall
	}
}

// Class numbers needs: each alone up to eight, and then four to a doubling.
func Class(need int32) int {
	n := uint32(need)
	if n < 8 {
		return int(n)
	}
	l := bits.Len32(n)
	return 8 + (l-4)*4 + int(n>>(l-3)&3)
}

// class is that of a need in q.
func (q *Queue) class(need int32) int { return min(Class(need), q.classes-1) }

// findNeed finds the least need anew, and how many have it.
func (b *block) findNeed() {
	b.need, b.needing = math.MaxInt32, 0
	for i := range b.list() {
		b.countNeed(b.jobs[i].Need)
	}
}

// countNeed takes in the need of a job that has joined.
func (b *block) countNeed(need int32) {
	if need < b.need {
		b.need, b.needing = need, 0
	}
	if need == b.need {
		b.needing++
	}
}

// survey works out the digest of b.
func (q *Queue) survey(b *block) {
	b.known, b.stale = true, false
	for i := range b.least {
		b.least[i] = model.Forever
	}
	for i := range b.list() {
		j := &b.jobs[i]
		c := q.class(j.Need)
		b.least[c] = min(b.least[c], j.Wall)
	}
	for i := 1; i < len(b.least); i++ {
		b.least[i] = min(b.least[i], b.least[i-1])
	}
}

// members are the blocks of group g.
func (q *Queue) members(g int) []*block {
	return q.blocks[g*perGroup : min((g+1)*perGroup, len(q.blocks))]
}

// group is the digest of group g, with those of all before it and of their blocks.
func (q *Queue) group(g int) *digest {
	for ; q.known <= g; q.known++ {
		if q.known == len(q.groups) {
			q.groups = append(q.groups, digest{least: make([]model.Duration, q.classes)})
		}
		for _, b := range q.members(q.known) {
			if !b.known {
				q.survey(b)
			}
		}
		q.groups[q.known].need = q.leastOf(q.known)
		q.combine(q.known)
	}
	return &q.groups[g]
}

// combine works out the digest of group g, but for its least need, from those of its blocks.
func (q *Queue) combine(g int) {
	d := &q.groups[g]
	d.stale = false
	for i := range d.least {
		d.least[i] = model.Forever
	}
	for _, b := range q.members(g) {
		for i, w := range b.least {
			d.least[i] = min(d.least[i], w)
		}
	}
}

// forget brings the least needs up to date when j has left block i. The rest of the digests stays
// as it is, a lower bound, until a search is misled by it.
func (q *Queue) forget(i int, j *Job) {
	b := q.blocks[i]
	b.stale = true
	g := i / perGroup
	if g < q.known {
		q.groups[g].stale = true
	}
	if j.Need != b.need {
		return
	}
	if b.needing--; b.needing > 0 {
		return
	}
	b.findNeed()
	if g < q.known && q.groups[g].need == j.Need {
		q.groups[g].need = q.leastOf(g)
	}
}

// leastOf is the least need in group g.
func (q *Queue) leastOf(g int) int32 {
	need := int32(math.MaxInt32)
	for _, b := range q.members(g) {
		need = min(need, b.need)
	}
	return need
}
