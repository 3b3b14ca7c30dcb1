package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
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
	if p.core.holds.ready(ref) {
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

// ties orders candidates of one vCluster whose tiers and keys are equal.
type ties struct {
	s   *Core
	qs  *queueState
	now model.Time
}

// Before implements order.Ties.
func (t *ties) Before(a, b model.Ref) bool {
	x, y := &t.s.jobs[a], &t.s.jobs[b]
	if t.qs.policy.Ranking == ByOrder {
		a, b := x.asked(), y.asked()
		return t.qs.policy.Order.Before(&a, x.key, &b, y.key, t.now)
	}
	return x.Job < y.Job
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
