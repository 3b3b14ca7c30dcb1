package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

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
func (p *pass) heap(list []order.Candidate) order.Heap {
	p.qs.scratch.ties = ties{p.core, p.qs, p.now}
	h := order.Heap{List: list, Ties: &p.qs.scratch.ties}
	if p.qs.policy.Ranking == ByOrder {
		h.Tolerance = order.RankNear
	}
	return h
}
