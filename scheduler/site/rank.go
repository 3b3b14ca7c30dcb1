package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/waiting"
)

// ranking is the order of the queue.
type ranking struct{ *view }

func (v *view) ranking() ranking { return ranking{v} }

// keys works out what the candidates are ordered by.
func (p ranking) keys(h []order.Candidate) {
	if len(p.core.holds) > 0 {
		for i := range h {
			h[i].Tier = p.rankTier(h[i].Ref)
		}
	}
	if p.qs.policy.Ranking == ByScore && !p.qs.policy.Expected {
		for i := range h {
			q := &p.qs.waiting.Jobs[h[i].At]
			p.weigh(q)
			h[i].Key = int64(q.Key)
		}
		return
	}
	for i := range h {
		h[i].Key = p.keyOf(&p.core.jobs[h[i].Ref])
	}
}

// rankTier is the tier of ref in a pass: above all others once all jobs have left
// that were to make room for it, for its victims may be before it in the queue.
func (p ranking) rankTier(ref model.Ref) int32 {
	tier := p.core.tier(&p.core.jobs[ref])
	if p.core.holds.Ready(ref) {
		tier += aboveTiers
	}
	return tier
}

// aboveTiers is more than any tier of a partition, and so is preferredTier, that of Config.Prefer.
const (
	aboveTiers    = 1 << 30
	preferredTier = 1 << 29
)

func (s *nodeState) tier(j *job) int32 {
	if j.Job == s.prefer {
		return preferredTier
	}
	if j.Partition < 0 {
		return 0
	}
	return s.site.Partitions[j.Partition].Tier
}

// heap is a heap of candidates of the pass, not in order yet.
func (p ranking) heap(list []order.Candidate) order.Heap {
	p.scratch.ties = ties{p.core, p.qs, p.now}
	h := order.Heap{List: list, Ties: &p.scratch.ties}
	if p.qs.policy.Ranking == ByOrder {
		h.Tolerance = order.RankNear
	}
	return h
}

// scoreOf is the score of a waiting job in this pass, as of now.
func (p ranking) scoreOf(j *job, now model.Time) model.Fixed {
	qs := p.qs
	row := waiting.QueueEntry{Static: j.static, Tenant: int32(j.Tenant) + 1, Class: j.kind.class, Need: j.NodesMin}
	if qs.policy.Expected { // else it is among what all have in common
		row.Static += qs.policy.Weights[score.Energy].Mul(p.core.energy(qs, j, now))
	}
	return qs.score(&row, qs.waiting.Term(j.Submit, now))
}

// keyOf is what the vCluster orders by, largest first; under ByOrder it is a rank.
func (p ranking) keyOf(j *job) int64 {
	switch p.qs.policy.Ranking {
	case ByScore:
		return int64(p.scoreOf(j, p.now))
	case ByMultifactor:
		return p.core.priority(p.qs, j, p.now)
	}
	a := j.asked()
	p.qs.policy.Order.Refresh(&a, j.key, p.now)
	return j.key.Rank()
}

// weigh makes the score of a waiting job as of this pass its key.
func (p ranking) weigh(q *waiting.QueueEntry) { q.Key = p.qs.score(q, p.qs.waiting.Wait(q, p.now)) }

// reaches is the instant at which the wait alone has lifted j to min_score, to the
// microsecond, if that is before minScoreAt; a pass is made then.
func (p ranking) reaches(j *job) model.Time {
	const horizon = 1 << 50 * model.Microsecond
	least := p.qs.policy.MinScore
	if p.qs.policy.Weights[score.Wait] <= 0 || (p.qs.minScoreAt < model.Never && p.scoreOf(j, p.qs.minScoreAt) < least) {
		return model.Never
	}
	low, span := p.now, model.Millisecond
	for p.scoreOf(j, p.now.Add(span)) < least {
		if low, span = p.now.Add(span), 2*span; span > horizon {
			return model.Never
		}
	}
	for high := p.now.Add(span); ; {
		mid := low + (high-low)/2
		switch {
		case mid == low:
			return high
		case p.scoreOf(j, mid) < least:
			low = mid
		default:
			high = mid
		}
	}
}
