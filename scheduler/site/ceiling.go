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
type upperBound struct {
	own     model.Fixed
	perNode model.Fixed // as queued has it
	tier    int32
	size    int32 // index into lane.shapes
	ref     model.Ref
}

// above says whether c is before o in a lot.
func (c *upperBound) before(o *upperBound) bool {
	if c.tier != o.tier {
		return c.tier > o.tier
	}
	return c.own > o.own || (c.own == o.own && c.ref < o.ref)
}

// lots of a queue, none where no pass of the policy would look at them.
type boundIndex struct {
	byTenant [][]upperBound // by tenant, the highest first
	live     []int32        // tenants who have any, in no order
	at       []int32        // by tenant, in live
	until    model.Time
}

// lifetime of ceilings: the longer, the higher they are.
const lifetime = 2 * model.Hour

// ceilings says whether jobs under p go by their scores, that of any job can be bounded,
// and only who starts matters.
func (p *Policy) fastPath() bool {
	return p.Ranking == ByScore && !p.Expected && p.MinScore == 0 && !p.AsCoded && (p.Backfill == order.None || p.Backfill == order.Easy)
}

// newLots makes lots of so many tenants.
func newBoundIndex(tenants int) boundIndex {
	return boundIndex{byTenant: make([][]upperBound, tenants), at: make([]int32, tenants)}
}

// search is where c is in a lot, or belongs.
func (c *upperBound) search(lot []upperBound) int {
	from, to := 0, len(lot)
	for from < to {
		if mid := int(uint(from+to) >> 1); lot[mid].before(c) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// add puts a job in. Cost: a search by halves, and moving those who are lower.
func (l *boundIndex) add(tenant int32, c upperBound) {
	lot := l.byTenant[tenant]
	if len(lot) == 0 {
		l.at[tenant] = int32(len(l.live))
		l.live = append(l.live, tenant)
	}
	l.byTenant[tenant] = slices.Insert(lot, c.search(lot), c)
}

// remove takes a job out that is there.
func (l *boundIndex) remove(tenant int32, c upperBound) {
	lot := l.byTenant[tenant]
	k := c.search(lot)
	lot = append(lot[:k], lot[k+1:]...)
	if l.byTenant[tenant] = lot; len(lot) > 0 {
		return
	}
	at, last := l.at[tenant], l.live[len(l.live)-1]
	l.live[at], l.at[last] = last, at
	l.live = l.live[:len(l.live)-1]
}

// ceilingOf is the ceiling of a job in the queue of l.
func (qs *queueState) boundOf(q *waitingJob) model.Fixed {
	return q.static + qs.policy.Weights[score.Wait].Mul(qs.curve.Of(qs.index.until.Sub(q.submit)))
}

// allot puts a job that joins the queue of l into its lot, and unlot takes it out.
func (qs *queueState) addBound(q *waitingJob) {
	if qs.index.byTenant != nil {
		q.bound = qs.boundOf(q)
		qs.index.add(q.tenant, upperBound{q.bound, q.perNode, q.tier, q.size, q.ref})
	}
}

func (qs *queueState) removeBound(q *waitingJob) {
	if qs.index.byTenant != nil {
		qs.index.remove(q.tenant, upperBound{own: q.bound, tier: q.tier, ref: q.ref})
	}
}

// refresh makes ceilings that hold for the foresight and longer, if they do not. Cost: a
// logarithm for each job in the queue, and bringing them into order.
func (s *Core) refresh(qs *queueState, now model.Time) {
	if now.Add(foresight) <= qs.index.until {
		return
	}
	qs.index.until = now.Add(lifetime)
	for _, t := range qs.index.live {
		lot := qs.index.byTenant[t]
		for i := range lot {
			q := &qs.waiting[s.jobs[lot[i].ref].pos]
			q.bound = qs.boundOf(q)
			lot[i].own = q.bound
		}
		//detlint:total no two are of one job, and the ref decides last
		slices.SortFunc(lot, func(a, b upperBound) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
	}
}

// blur is more than what scores are rounded by, seen through the least penalty.
const blur = 1 << 6

// reach is the most that a ceiling and f9 come to.
func (b *bounds) reach(c *upperBound) model.Fixed {
	return c.own + min(b.most, model.Fixed(b.sizes[c.size].group)*c.perNode)
}

// floor is what these must come to for the score of a job of a tenant to reach a key.
func (qs *queueState) floor(tenant int32, key model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(max(key, 0)), uint64(qs.inverse[tenant]))
	return model.Fixed(hi<<32|lo>>32) - blur - qs.tenant[tenant] - qs.global
}

// promising is the job of the highest tier whose score may be the highest by its ceiling,
// -1 for none. Cost: a multiplication for each tenant who waits.
func (qs *queueState) promising(b *bounds) model.Ref {
	best, tier, most := model.Ref(-1), int32(math.MinInt32), model.Fixed(-1)
	for _, t := range qs.index.live {
		c := &qs.index.byTenant[t][0]
		if sum := qs.penalty[t].Mul(b.reach(c) + qs.tenant[t] + qs.global); c.tier > tier || (c.tier == tier && sum > most) {
			best, tier, most = c.ref, c.tier, sum
		}
	}
	return best
}
