package site

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
)

// Most jobs cannot come first for quite a while. Ceilings tell that at little cost: they
// leave out what tenants and the whole site bring into a score, which changes all the
// time, and hold for longer than a pass asks for. So in each tenant's lot of a queue, they
// say who may come first before whom.

// ceiling bounds the terms of a score that are the job's own, for as long as those of its
// lane hold. All but f9 come in own, which gives the order: how much f9 may add changes
// with what is free.
type ceiling struct {
	own   model.Fixed
	nine  model.Fixed // as queued has it
	tier  int32
	shape int32 // index into lane.shapes
	ref   model.Ref
}

// above says whether c is before o in a lot.
func (c *ceiling) above(o *ceiling) bool {
	if c.tier != o.tier {
		return c.tier > o.tier
	}
	return c.own > o.own || (c.own == o.own && c.ref < o.ref)
}

// lots of a queue, none where no pass of the policy would look at them.
type lots struct {
	of    [][]ceiling // by tenant, the highest first
	live  []int32     // tenants who have any, in no order
	at    []int32     // by tenant, in live
	until model.Time
}

// lifetime of ceilings: the longer, the higher they are.
const lifetime = 2 * model.Hour

// ceilings says whether jobs under p go by their scores, that of any job can be bounded,
// and only who starts matters.
func (p *Policy) ceilings() bool {
	return p.Ranking == ByScore && !p.Expected && p.MinScore == 0 && !p.AsCoded && (p.Backfill == order.None || p.Backfill == order.Easy)
}

// newLots makes lots of so many tenants.
func newLots(tenants int) lots {
	return lots{of: make([][]ceiling, tenants), at: make([]int32, tenants)}
}

// search is where c is in a lot, or belongs.
func (c *ceiling) search(lot []ceiling) int {
	from, to := 0, len(lot)
	for from < to {
		if mid := int(uint(from+to) >> 1); lot[mid].above(c) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// add puts a job in. Cost: a search by halves, and moving those who are lower.
func (l *lots) add(tenant int32, c ceiling) {
	lot := l.of[tenant]
	if len(lot) == 0 {
		l.at[tenant] = int32(len(l.live))
		l.live = append(l.live, tenant)
	}
	l.of[tenant] = slices.Insert(lot, c.search(lot), c)
}

// remove takes a job out that is there.
func (l *lots) remove(tenant int32, c ceiling) {
	lot := l.of[tenant]
	k := c.search(lot)
	lot = append(lot[:k], lot[k+1:]...)
	if l.of[tenant] = lot; len(lot) > 0 {
		return
	}
	at, last := l.at[tenant], l.live[len(l.live)-1]
	l.live[at], l.at[last] = last, at
	l.live = l.live[:len(l.live)-1]
}

// ceilingOf is the ceiling of a job in the queue of l.
func (l *lane) ceilingOf(q *queued) model.Fixed {
	return q.static + l.policy.Weights[score.Wait].Mul(l.curve.Of(l.lots.until.Sub(q.submit)))
}

// allot puts a job that joins the queue of l into its lot, and unlot takes it out.
func (l *lane) allot(q *queued) {
	if l.lots.of != nil {
		q.own = l.ceilingOf(q)
		l.lots.add(q.tenant, ceiling{q.own, q.nine, q.tier, q.shape, q.ref})
	}
}

func (l *lane) unlot(q *queued) {
	if l.lots.of != nil {
		l.lots.remove(q.tenant, ceiling{own: q.own, tier: q.tier, ref: q.ref})
	}
}

// refresh makes ceilings that hold for the foresight and longer, if they do not. Cost: a
// logarithm for each job in the queue, and bringing them into order.
func (s *Core) refresh(l *lane, now model.Time) {
	if now.Add(foresight) <= l.lots.until {
		return
	}
	l.lots.until = now.Add(lifetime)
	for _, t := range l.lots.live {
		lot := l.lots.of[t]
		for i := range lot {
			q := &l.queue[s.jobs[lot[i].ref].pos]
			q.own = l.ceilingOf(q)
			lot[i].own = q.own
		}
		//detlint:total no two are of one job, and the ref decides last
		slices.SortFunc(lot, func(a, b ceiling) int {
			if a.above(&b) {
				return -1
			}
			return 1
		})
	}
}

// blur is more than what scores are rounded by, seen through the least penalty.
const blur = 1 << 6

// reach is the most that a ceiling and f9 come to.
func (b *bounds) reach(c *ceiling) model.Fixed {
	return c.own + min(b.most, model.Fixed(b.shapes[c.shape].nodes)*c.nine)
}

// floor is what these must come to for the score of a job of a tenant to reach a key.
func (l *lane) floor(tenant int32, key model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(max(key, 0)), uint64(l.inverse[tenant]))
	return model.Fixed(hi<<32|lo>>32) - blur - l.tenant[tenant] - l.global
}

// promising is the job of the highest tier whose score may be the highest by its ceiling,
// -1 for none. Cost: a multiplication for each tenant who waits.
func (l *lane) promising(b *bounds) model.Ref {
	best, tier, most := model.Ref(-1), int32(math.MinInt32), model.Fixed(-1)
	for _, t := range l.lots.live {
		c := &l.lots.of[t][0]
		if sum := l.penalty[t].Mul(b.reach(c) + l.tenant[t] + l.global); c.tier > tier || (c.tier == tier && sum > most) {
			best, tier, most = c.ref, c.tier, sum
		}
	}
	return best
}
