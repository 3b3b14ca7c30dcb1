package waiting

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// A short queue keeps its rows in two orders and has no lists: those of each tenant by the upper bounds on their scores, and those
// of each request size by the nodes that they ask for. To keep and to search these takes less than lists do, as long as the rows
// are few. What is asked of lists has an answer here as well.

// Few is for how many jobs that pays: a queue gets lists when it has more, and keeps them until one joins
// that has less than half as many.
const Few = 512

// rows are a short queue in the order of the bounds; that of the needs is size.asked. Gated jobs stand in neither.
type rows struct {
	byBound [][]bounded // by tenant, in a bounded queue: those of the highest tier first, and of these that of the highest bound
	until   model.Time  // bounds hold
}

// bounded is a row in the order of its upper bound.
type bounded struct {
	bound model.Fixed // as Job has it
	tier  int32
	ref   model.Ref
}

// before says whether r comes before o. Of two rows of a tenant one does.
func (r *bounded) before(o *bounded) bool {
	if r.tier != o.tier {
		return r.tier > o.tier
	}
	return r.bound > o.bound || r.bound == o.bound && r.ref < o.ref
}

// placeIn is where r is in a list, or belongs.
func (r *bounded) placeIn(list []bounded) int {
	from, to := 0, len(list)
	for from < to {
		if m := int(uint(from+to) >> 1); list[m].before(r) {
			from = m + 1
		} else {
			to = m
		}
	}
	return from
}

func boundedOf(j *Job) bounded { return bounded{j.bound, j.Tier, j.Ref} }

// kind is 1 for a job that may borrow, else 0.
func (j *Job) kind() int {
	if j.Borrows {
		return 1
	}
	return 0
}

// enter puts a job into the orders.
func (x *rows) enter(q *Queue, j *Job) {
	q.sizes[j.Size].asked[j.kind()].add(requestOf(j.Need, j.Ref))
	if !q.cfg.Bounded {
		return
	}
	j.bound = q.boundOf(j, x.until)
	for int(j.Tenant) >= len(x.byBound) {
		x.byBound = append(x.byBound, nil)
	}
	b := boundedOf(j)
	at := b.placeIn(x.byBound[j.Tenant])
	list := append(x.byBound[j.Tenant], b) // by hand, for slices.Insert takes longer than the move
	copy(list[at+1:], list[at:])
	list[at] = b
	x.byBound[j.Tenant] = list
}

// quit takes a job out of the orders.
func (x *rows) quit(q *Queue, j *Job) {
	q.sizes[j.Size].asked[j.kind()].remove(requestOf(j.Need, j.Ref))
	if !q.cfg.Bounded {
		return
	}
	b, list := boundedOf(j), x.byBound[j.Tenant]
	at := b.placeIn(list)
	copy(list[at:], list[at+1:])
	x.byBound[j.Tenant] = list[:len(list)-1]
}

// clear makes the orders empty.
func (x *rows) clear(q *Queue) {
	for _, size := range q.used.live {
		for kind := range q.sizes[size].asked {
			asked := &q.sizes[size].asked[kind]
			*asked = (*asked)[:0]
		}
	}
	if q.cfg.Bounded {
		for _, t := range q.tenants.live {
			x.byBound[t] = x.byBound[t][:0]
		}
	}
}

// renew makes the upper bounds of all rows of a bounded queue anew. Its cost is a logarithm for each instant of submission, a look at each row and, where
// their order has changed, bringing them into it.
func (x *rows) renew(q *Queue, now model.Time) {
	x.until = now.Add(lifetime)
	for _, t := range q.tenants.live {
		list, inOrder := x.byBound[t], true
		for i := range list {
			j := q.Row(list[i].ref)
			j.bound = q.boundOf(j, x.until)
			list[i].bound = j.bound
			inOrder = inOrder && (i == 0 || list[i-1].before(&list[i]))
		}
		if !inOrder {
			//detlint:total no two are of one job, and the ref decides last
			slices.SortFunc(list, func(a, b bounded) int {
				if a.before(&b) {
					return -1
				}
				return 1
			})
		}
	}
}

// arrange gives the queue lists where it becomes long as one more job joins, and takes them away where it has become short.
func (q *Queue) arrange(now model.Time) {
	switch n := int32(len(q.Jobs)) + 1; {
	case !q.listed && n > q.cfg.Few:
		q.listed = true
		q.rows.clear(q)
		for i := range q.Jobs {
			if j := &q.Jobs[i]; !j.Gated {
				q.join(j, now)
			}
		}
	case q.listed && n < q.cfg.Few/2:
		q.listed = false
		q.clearLists()
		q.rows.until = now.Add(lifetime)
		for i := range q.Jobs {
			if j := &q.Jobs[i]; !j.Gated {
				q.rows.enter(q, j)
			}
		}
	}
}

// leastAsked is the fewest nodes that a job of a short queue asks for, but for the gated ones, MaxInt32 where there is none.
func (z *size) leastAsked() int32 { return min(z.asked[0].least(), z.asked[1].least()) }

// anyRowFits is AnyFits. Its cost is a look at each request size that a job asks for, and fits for each job that asks for no more.
func (q *Queue) anyRowFits(borrowed int32, fits func(*Job) bool) bool {
	for _, size := range q.used.live {
		most := q.Free(size)
		for kind := range q.sizes[size].asked {
			asked := q.sizes[size].asked[kind]
			for i := len(asked) - 1; i >= 0 && asked[i].need() <= most; i-- {
				if fits == nil || fits(q.Row(asked[i].ref())) {
					return true
				}
			}
			most += borrowed // by the other kind
		}
	}
	return false
}

// leastRowLacking is LeastLacking. Its cost is a binary search for each request size that a job asks for.
func (q *Queue) leastRowLacking() int32 {
	lacking := int32(math.MaxInt32)
	for _, size := range q.used.live {
		asked := q.sizes[size].asked[1]
		if len(asked) == 0 {
			continue
		}
		free := q.Free(size)
		if i, _ := slices.BinarySearch(asked, requestOf(free, -1)); i > 0 { // the first that lacks none
			lacking = min(lacking, asked[i-1].need()-free)
		}
	}
	return lacking
}

// highestRow is Promising. It leaves f9 out. Its cost is a multiplication for each tenant with rows.
func (b *Bounds) highestRow() model.Ref {
	best, tier, most := model.Ref(-1), int32(math.MinInt32), model.Fixed(-1)
	for _, t := range b.q.tenants.live {
		r := &b.q.rows.byBound[t][0]
		if sum := b.score(t, r.bound); r.tier > tier || r.tier == tier && sum > most {
			best, tier, most = r.ref, r.tier, sum
		}
	}
	return best
}

// searchRows is search. Its cost is a look at those rows of each tenant that reach its floor by their bounds, and at one more.
func (b *Bounds) searchRows(lead *Leader, margin model.Fixed, at model.Time, look func(at int32) (held bool)) {
	for _, t := range b.q.tenants.live {
		b.searchTenant(t, lead, margin, at, look)
	}
}

// searchTenant is searchRows for the rows of a tenant.
func (b *Bounds) searchTenant(tenant int32, lead *Leader, margin model.Fixed, at model.Time, look func(at int32) (held bool)) {
	q, key := b.q, lead.Key-margin
	floor, list := b.floor(tenant, key), q.rows.byBound[tenant]
	for i := range list {
		r := &list[i]
		if r.tier < lead.Tier || r.tier == lead.Tier && r.bound+b.most < floor {
			return // and so are all below
		}
		row := q.at[r.ref]
		if j := &q.Jobs[row]; r.tier == lead.Tier && (r.bound+b.f9Of(j) < floor || b.scoreAt(j, at) < key) {
			continue
		}
		look(row)
		if lead.Key-margin != key {
			key = lead.Key - margin
			floor = b.floor(tenant, key)
		}
	}
}

// startRows is Start: it finds all jobs that there is room for at once. Next asks again, for others may have taken it. Its cost is
// a look at each job that asks for no more nodes than there is room for, and the score of those that may start.
func (s *Seeker) startRows() {
	q := s.bounds.q
	for _, size := range q.used.live {
		for kind, asked := range q.sizes[size].asked {
			if len(asked) == 0 {
				continue
			}
			r := s.test.Room(size, kind == 1)
			for i := len(asked) - 1; i >= 0 && asked[i].need() <= r.Free; i-- {
				at := q.at[asked[i].ref()]
				if j := &q.Jobs[at]; r.Holds(j.Need, max(j.Left, 0)) && s.test.MayStart(at) {
					s.heap.List = append(s.heap.List, order.Candidate{Key: int64(s.test.Key(at)), Tier: j.Tier, Ref: j.Ref, At: at})
				}
			}
		}
	}
	s.heap.Init()
}

// nextRow is Next.
func (s *Seeker) nextRow() (c order.Candidate, ok bool) {
	q := s.bounds.q
	for len(s.heap.List) > 0 {
		c = s.heap.List[0]
		s.heap.Pop()
		c.At = q.at[c.Ref]
		j := &q.Jobs[c.At]
		if r := s.test.Room(j.Size, j.Borrows); r.Holds(j.Need, max(j.Left, 0)) {
			return c, true
		}
	}
	return c, false
}
