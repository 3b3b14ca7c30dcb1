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
}

// may says whether r may hold one of the jobs; c is the class of r.Free. It errs only where
// a job needs more than r.Free and is of that class.
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

// class numbers needs: each alone up to eight, and then four to a doubling.
func class(need int32) int {
	n := uint32(need)
	if n < 8 {
		return int(n)
	}
	l := bits.Len32(n)
	return 8 + (l-4)*4 + int(n>>(l-3)&3)
}

// class is that of a need in q.
func (q *Queue) class(need int32) int { return min(class(need), q.classes-1) }

// findNeed finds the least need anew.
func (b *block) findNeed() {
	b.need = math.MaxInt32
	for i := range b.list() {
		b.need = min(b.need, b.jobs[i].Need)
	}
}

// needs says whether a job needs so much.
func (b *block) needs(need int32) bool {
	for i := range b.list() {
		if b.jobs[i].Need == need {
			return true
		}
	}
	return false
}

// survey works out the digest of b.
func (q *Queue) survey(b *block) {
	b.known = true
	b.findNeed()
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
		d := &q.groups[q.known]
		d.need = math.MaxInt32
		for i := range d.least {
			d.least[i] = model.Forever
		}
		for _, b := range q.members(q.known) {
			if !b.known {
				q.survey(b)
			}
			d.need = min(d.need, b.need)
			for i, w := range b.least {
				d.least[i] = min(d.least[i], w)
			}
		}
	}
	return &q.groups[g]
}

// forget brings the digests up to date when j has left block i. Most jobs are not those that
// their digests tell of.
func (q *Queue) forget(i int, j *Job) {
	b := q.blocks[i]
	if j.Need == b.need && !b.needs(j.Need) {
		b.findNeed()
	}
	c := q.class(j.Need)
	lost := b.known && b.least[c] == j.Wall
	if lost {
		q.survey(b)
	}
	g := i / perGroup
	if g >= q.known {
		return
	}
	d := &q.groups[g]
	if d.need == j.Need && b.need > j.Need {
		d.need = math.MaxInt32
		for _, b := range q.members(g) {
			d.need = min(d.need, b.need)
		}
	}
	if !lost {
		return
	}
	for ; c < len(d.least) && d.least[c] == j.Wall; c++ {
		d.least[c] = model.Forever
		for _, b := range q.members(g) {
			d.least[c] = min(d.least[c], b.least[c])
		}
	}
}
