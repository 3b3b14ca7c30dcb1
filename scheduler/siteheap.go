package scheduler

import "orrery/scheduler/model"

// candidate is a waiting job in the order of one pass.
type candidate struct {
	key  int64
	tier int32
	ref  model.Ref
	at   int32 // in the queue, when the pass began
}

// candidates is a binary heap, best job first. After lead only the best is in
// its place, until it is taken out.
type candidates struct {
	s       *Site
	l       *lane
	now     model.Time
	h       []candidate
	leading bool
}

// lead brings the best to the front, and orders nothing else.
func (q *candidates) lead() {
	q.leading = true
	for i := 1; i < len(q.h); i++ {
		if q.before(q.h[i], q.h[0]) {
			q.h[0], q.h[i] = q.h[i], q.h[0]
		}
	}
}

func (q *candidates) before(a, b candidate) bool {
	switch {
	case a.tier != b.tier:
		return a.tier > b.tier
	case q.l.policy.Ranking == ByOrder:
		return q.l.policy.Order.before(&q.s.jobs[a.ref].job, &q.s.jobs[b.ref].job, q.now)
	case a.key != b.key:
		return a.key > b.key
	}
	return q.s.jobs[a.ref].id < q.s.jobs[b.ref].id
}

func (q *candidates) init() {
	for i := len(q.h)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *candidates) pop() {
	n := len(q.h) - 1
	q.h[0] = q.h[n]
	q.h = q.h[:n]
	if q.leading {
		q.leading = false
		q.init()
		return
	}
	q.down(0)
}

func (q *candidates) down(i int) {
	for {
		l := 2*i + 1
		if l >= len(q.h) {
			return
		}
		if r := l + 1; r < len(q.h) && q.before(q.h[r], q.h[l]) {
			l = r
		}
		if !q.before(q.h[l], q.h[i]) {
			return
		}
		q.h[i], q.h[l] = q.h[l], q.h[i]
		i = l
	}
}
