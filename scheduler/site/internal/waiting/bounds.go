package waiting

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// Most jobs cannot come first for quite a while. Upper bounds tell that at little cost:
// they leave out what tenants and the whole site bring into a score, which changes all
// the time, and hold for longer than a pass asks for. So the index of each tenant says
// which of its jobs may come first before which.

// upperBound bounds the terms of a score that are the job's own until the index's
// instant. All but f9 are in own, which gives the order: how much f9 may add changes
// with what is free.
type upperBound struct {
	own     model.Fixed
	perNode model.Fixed // as Job has it
	tier    int32
	size    int32
	ref     model.Ref
}

// before says whether b comes before o in the index of a tenant.
func (b *upperBound) before(o *upperBound) bool {
	if b.tier != o.tier {
		return b.tier > o.tier
	}
	return b.own > o.own || (b.own == o.own && b.ref < o.ref)
}

// boundIndex holds the upper bounds of a queue. Those of a tenant are in order, and a
// tenant is in live while it has any.
type boundIndex struct {
	byTenant [][]upperBound
	live     []int32 // tenants with jobs, in no order
	at       []int32 // by tenant, in live
	until    model.Time
}

// lifetime of upper bounds: the longer, the higher they are.
const lifetime = 2 * model.Hour

func newBoundIndex(tenants int) boundIndex {
	return boundIndex{byTenant: make([][]upperBound, tenants), at: make([]int32, tenants)}
}

// search is where b is in list, or belongs.
func (b *upperBound) search(list []upperBound) int {
	from, to := 0, len(list)
	for from < to {
		if mid := int(uint(from+to) >> 1); list[mid].before(b) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// add puts a job in.
func (x *boundIndex) add(tenant int32, b upperBound) {
	list := x.byTenant[tenant]
	if len(list) == 0 {
		x.at[tenant] = int32(len(x.live))
		x.live = append(x.live, tenant)
	}
	x.byTenant[tenant] = slices.Insert(list, b.search(list), b)
}

// remove takes a job out that is there.
func (x *boundIndex) remove(tenant int32, b upperBound) {
	list := x.byTenant[tenant]
	k := b.search(list)
	list = append(list[:k], list[k+1:]...)
	if x.byTenant[tenant] = list; len(list) > 0 {
		return
	}
	at, last := x.at[tenant], x.live[len(x.live)-1]
	x.live[at], x.at[last] = last, at
	x.live = x.live[:len(x.live)-1]
}

// boundOf is the upper bound on the own terms of a waiting job.
func (q *Queue) boundOf(j *Job) model.Fixed { return j.Static + q.Term(j.Submit, q.bounds.until) }

func (q *Queue) addBound(j *Job) {
	if q.cfg.Bounded {
		j.bound = q.boundOf(j)
		q.bounds.add(j.Tenant, upperBound{j.bound, j.perNode, j.Tier, j.Size, j.Ref})
	}
}

func (q *Queue) removeBound(j *Job) {
	if q.cfg.Bounded {
		q.bounds.remove(j.Tenant, upperBound{own: j.bound, tier: j.Tier, ref: j.Ref})
	}
}

// renew makes upper bounds that hold at the instant and longer, if they do not. Its
// cost is a logarithm for each job in the queue, and bringing them into order.
func (q *Queue) renew(now, until model.Time) {
	if until <= q.bounds.until {
		return
	}
	q.bounds.until = now.Add(lifetime)
	for _, t := range q.bounds.live {
		list := q.bounds.byTenant[t]
		for i := range list {
			j := q.Row(list[i].ref)
			j.bound = q.boundOf(j)
			list[i].own = j.bound
		}
		//detlint:total no two are of one job, and the ref decides last
		slices.SortFunc(list, func(a, b upperBound) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
	}
}

const (
	// slack is more than what the rounding of two waits and of their terms can add up
	// to, for weights of at most 1.
	slack = 5
	// blur is more than what scores are rounded by, divided by the least penalty.
	blur = 1 << 6
)

// Bounds are upper bounds on the scores of the jobs of a queue up to an instant, under
// the terms and free groups of one pass.
type Bounds struct {
	q         *Queue
	sizes     []size
	fairShare []model.Fixed // of terms, as is penalty: Of reads them for each job
	penalty   []model.Fixed
	terms     *Terms

	until  model.Time
	common model.Fixed // Terms.Common and the slack
	most   model.Fixed // weighted f9
}

// Set makes b the upper bounds of a queue that hold from now until the instant, which is
// less than two hours away; group is the largest free conformance group of a class of
// nodes.
func (b *Bounds) Set(q *Queue, now, until model.Time, terms *Terms, group func(place.ClassID) int32) {
	for i := range q.sizes {
		if z := &q.sizes[i]; len(z.waiting) > 0 {
			z.group = group(z.class)
		}
	}
	q.renew(now, until)
	b.q, b.sizes, b.terms, b.fairShare, b.penalty = q, q.sizes, terms, terms.FairShare, terms.Penalty
	b.until, b.common, b.most = until, terms.Common+slack, q.cfg.Weights[score.Conformance]
}

// Of is at least the score of a job in the queue: from when it was weighed its wait has
// grown along the tangent. Its cost is three multiplications.
func (b *Bounds) Of(j *Job) model.Fixed {
	hi, lo := bits.Mul64(j.rate, uint64(b.until-j.seen))
	if hi >= 1<<30 {
		return math.MaxInt64
	}
	sum := j.Static + j.wait + model.Fixed(hi<<32|lo>>32) + b.fairShare[j.Tenant] + b.common + min(b.most, model.Fixed(b.sizes[j.Size].group)*j.perNode)
	if p := b.penalty[j.Tenant]; p != model.One {
		hi, lo = bits.Mul64(uint64(p), uint64(sum))
		return model.Fixed(hi<<32|lo>>32) + 1
	}
	return sum
}

// reach is the most that an upper bound and f9 come to.
func (b *Bounds) reach(u *upperBound) model.Fixed {
	return u.own + min(b.most, model.Fixed(b.sizes[u.size].group)*u.perNode)
}

// floor is what these must come to for the score of a job of a tenant to reach a key.
func (b *Bounds) floor(tenant int32, key model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(max(key, 0)), uint64(b.terms.Inverse[tenant]))
	return model.Fixed(hi<<32|lo>>32) - blur - b.fairShare[tenant] - b.terms.Common
}

// Promising is the job of the highest tier whose score may be the highest by its upper
// bound, -1 for none. Its cost is a multiplication for each tenant with waiting jobs.
func (b *Bounds) Promising() model.Ref {
	best, tier, most := model.Ref(-1), int32(math.MinInt32), model.Fixed(-1)
	for _, t := range b.q.bounds.live {
		u := &b.q.bounds.byTenant[t][0]
		if sum := b.penalty[t].Mul(b.reach(u) + b.fairShare[t] + b.terms.Common); u.tier > tier || (u.tier == tier && sum > most) {
			best, tier, most = u.ref, u.tier, sum
		}
	}
	return best
}

// Leader is the best job so far of a search.
type Leader struct {
	At   int32 // in Jobs, -1 for none
	Tier int32
	Key  model.Fixed
}

// NoLeader is the beginning of a search.
var NoLeader = Leader{At: -1, Tier: math.MinInt32, Key: -1}

// Examine calls better with every job that may come before the leader within the time
// of the bounds, except those of known, which have been examined already. better takes
// the score of the job at an index, and makes it the leader if it is.
func (b *Bounds) Examine(lead *Leader, known []model.Ref, better func(at int32) bool) {
	for _, t := range b.q.bounds.live {
		b.examineTenant(t, lead, known, better)
	}
}

func (b *Bounds) examineTenant(tenant int32, lead *Leader, known []model.Ref, better func(int32) bool) {
	floor := b.floor(tenant, lead.Key)
	list := b.q.bounds.byTenant[tenant]
	for i := range list {
		u := &list[i]
		if u.tier < lead.Tier || (u.tier == lead.Tier && u.own+b.most < floor) {
			return // and so are all below
		}
		if u.tier == lead.Tier && b.reach(u) < floor {
			continue
		}
		at := b.q.at[u.ref]
		if (u.tier > lead.Tier || b.Of(&b.q.Jobs[at]) >= lead.Key) && !slices.Contains(known, u.ref) && better(at) {
			floor = b.floor(tenant, lead.Key)
		}
	}
}
