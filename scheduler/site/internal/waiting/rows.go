package waiting

import (
	"math"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// A short queue is looked through row by row, which takes less than to keep lists and to search them. What
// is asked of lists has an answer here as well.

// Few is for how many jobs that pays: a queue gets lists when it has more, and keeps them until one joins
// that has less than half as many.
const Few = 128

// brief is what a look at all rows asks of one, side by side in memory. A gated job has one that
// asks for too much and comes last.
type brief struct {
	bound  model.Fixed // on the own terms of the job, all but f9, as long as all bounds hold
	left   model.Duration
	need   int32
	tenant int32
	tier   int32
	kind   int32 // twice its size, and one more where it may borrow
}

var gatedBrief = brief{bound: math.MinInt64 / 2, need: math.MaxInt32, tier: math.MinInt32}

func (r *brief) gated() bool   { return r.need == math.MaxInt32 }
func (r *brief) size() int32   { return r.kind >> 1 }
func (r *brief) borrows() bool { return r.kind&1 != 0 }

// briefOf is that of a job, with a bound that holds until q.until.
func (q *Queue) briefOf(j *Job) brief {
	if j.Gated {
		return gatedBrief
	}
	r := brief{left: max(j.Left, 0), need: j.Need, tenant: j.Tenant, tier: j.Tier, kind: 2 * j.Size}
	if j.Borrows {
		r.kind++
	}
	if q.cfg.Bounded {
		r.bound = j.Static + q.known.of(q, j.Submit, q.until)
	}
	return r
}

// arrange gives the queue lists where it becomes long as one more job joins, and takes them away where it has become short.
func (q *Queue) arrange(now model.Time) {
	switch n := int32(len(q.Jobs)) + 1; {
	case !q.listed && n > q.cfg.Few:
		q.listed, q.briefs = true, q.briefs[:0]
		for i := range q.Jobs {
			if j := &q.Jobs[i]; !j.Gated {
				q.join(j, now)
			}
		}
	case q.listed && n < q.cfg.Few/2:
		q.listed = false
		q.clearLists()
		q.renewRows(now)
	}
}

// renewRows makes the upper bounds of all rows anew. Its cost is that of a look at each, and of a logarithm for each
// instant of submission.
func (q *Queue) renewRows(now model.Time) {
	q.until, q.briefs = now.Add(lifetime), q.briefs[:0]
	for i := range q.Jobs {
		q.briefs = append(q.briefs, q.briefOf(&q.Jobs[i]))
	}
}

// leastOf is the fewest nodes that a job of a request size asks for, but for the gated ones, of which not all are.
// Its cost is a look at each row when one that asked for so few has left.
func (q *Queue) leastOf(size int32) int32 {
	z := &q.sizes[size]
	if z.least == 0 {
		z.least = math.MaxInt32
		for i := range q.briefs {
			if r := &q.briefs[i]; r.size() == size {
				z.least = min(z.least, r.need)
			}
		}
	}
	return z.least
}

// anyRowFits is AnyFits. Its cost is a look at each request size that a job asks for, and at each row where that does not tell.
func (q *Queue) anyRowFits(borrowed int32, fits func(*Job) bool) bool {
	may := false
	for _, size := range q.used.live {
		least, free := q.leastOf(size), q.Free(size)
		if least <= free && fits == nil {
			return true
		}
		may = may || least <= free+borrowed
	}
	for i := 0; may && i < len(q.briefs); i++ {
		r := &q.briefs[i]
		most := q.sizes[r.size()].free // counted above
		if r.borrows() {
			most += borrowed
		}
		if r.need <= most && (fits == nil || fits(&q.Jobs[i])) {
			return true
		}
	}
	return false
}

// leastRowLacking is LeastLacking.
func (q *Queue) leastRowLacking() int32 {
	lacking := int32(math.MaxInt32)
	for i := range q.briefs {
		if r := &q.briefs[i]; r.borrows() {
			if free := q.Free(r.size()); r.need > free {
				lacking = min(lacking, r.need-free)
			}
		}
	}
	return lacking
}

// highestRow is Promising. It leaves f9 out, and goes by bounds that hold for longer. Its cost is a look at each row.
func (b *Bounds) highestRow() model.Ref {
	q, at, tier, most := b.q, int32(-1), int32(math.MinInt32), model.Fixed(-1)
	for i := range q.briefs {
		r := &q.briefs[i]
		if r.tier < tier || r.gated() {
			continue
		}
		if r.tier > tier {
			tier, most = r.tier, -1
		}
		if r.bound+b.fairShare[r.tenant]+b.common <= most {
			continue // and a penalty does not raise it
		}
		if x := b.score(r.tenant, r.bound); x > most {
			at, most = int32(i), x
		}
	}
	if at < 0 {
		return -1
	}
	return q.Jobs[at].Ref
}

// scan says which rows are to be looked at closely: those of a higher tier, and those of the tier
// whose bound reaches the floor of their tenant.
type scan struct {
	floors []model.Fixed
	tier   int32
}

// next is the first such row from one on, the number of rows where there is none. It stands
// apart from what is done with the row, so that the loop keeps what it reads in registers.
//
//go:noinline
func (s *scan) next(briefs []brief, from int) int {
	floors, tier := s.floors, s.tier
	for i := from; i < len(briefs); i++ {
		r := &briefs[i]
		if r.tier == tier {
			if r.bound >= floors[r.tenant] {
				return i
			}
		} else if r.tier > tier {
			return i
		}
	}
	return len(briefs)
}

// scanFor is the scan for rows that may reach a key. Its cost is a multiplication for each tenant with rows.
func (b *Bounds) scanFor(tier int32, key model.Fixed) scan {
	for _, t := range b.q.tenants.live {
		b.floors[t] = b.floor(t, key) - b.most
	}
	return scan{b.floors, tier}
}

// searchRows is search. Its cost is a look at each brief, and at the rows of those that may come first.
func (b *Bounds) searchRows(lead *Leader, margin model.Fixed, at model.Time, look func(at int32) (held bool)) {
	q, key := b.q, lead.Key-margin
	s := b.scanFor(lead.Tier, key)
	for i := s.next(q.briefs, 0); i < len(q.briefs); i = s.next(q.briefs, i+1) {
		if j := &q.Jobs[i]; j.Tier == s.tier && b.scoreAt(j, at) < key {
			continue
		}
		look(int32(i))
		if lead.Tier != s.tier || lead.Key-margin != key {
			key = lead.Key - margin
			s = b.scanFor(lead.Tier, key)
		}
	}
}

// startRows is Start: it finds all jobs that there is room for at once. Next asks again, for others may have taken it.
func (s *Seeker) startRows() {
	q := s.bounds.q
	for len(s.rooms) < 2*len(q.sizes) {
		s.rooms = append(s.rooms, queue.Room{})
	}
	for _, size := range q.used.live {
		s.rooms[2*size].Limit, s.rooms[2*size+1].Limit = unasked, unasked
	}
	for i := range q.briefs {
		b := &q.briefs[i]
		r := &s.rooms[b.kind]
		if r.Limit == unasked {
			*r = s.test.Room(b.size(), b.borrows())
		}
		if at := int32(i); r.Holds(b.need, b.left) && s.test.MayStart(at) {
			s.heap.List = append(s.heap.List, order.Candidate{Key: int64(s.test.Key(at)), Tier: b.tier, Ref: q.Jobs[at].Ref, At: at})
		}
	}
	s.heap.Init()
}

// unasked is the limit of a room that was not asked for yet.
const unasked = model.Duration(-1)

// nextRow is Next.
func (s *Seeker) nextRow() (c order.Candidate, ok bool) {
	q := s.bounds.q
	for len(s.heap.List) > 0 {
		c = s.heap.List[0]
		s.heap.Pop()
		c.At = q.at[c.Ref]
		b := &q.briefs[c.At]
		if r := s.test.Room(b.size(), b.borrows()); r.Holds(b.need, b.left) {
			return c, true
		}
	}
	return c, false
}
