package waiting

import (
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Test is what a Seeker asks about jobs.
type Test interface {
	// Room is what the jobs of a request size may take now, those that may borrow or the others. It
	// does not grow while the Seeker is in use.
	Room(size int32, borrows bool) queue.Room
	// MayStart says whether a job that there is room for is to be found. It is asked before it is the
	// job's turn, and once: false holds as long as the Seeker is in use.
	MayStart(at int32) bool
	// Key is the score of the job at an index of Jobs, which does not change while the Seeker is in use.
	Key(at int32) model.Fixed
	// Before says which of two jobs of one tier and key comes first.
	order.Ties
}

// Seeker finds the jobs that may start one after another, in the order of their tiers and
// scores, without bringing the others into order: each list is searched as far as its bounds
// reach what was found, and passes over those that there is no room for. Jobs may leave
// the queue between two searches; none may join.
type Seeker struct {
	bounds  Bounds
	test    Test
	heap    order.Heap // of jobs by their scores, and, with negative refs, of cursors by their bounds
	cursors []cursor
}

// cursor is how far a list has been searched.
type cursor struct {
	list    int32
	at      queue.At // where the search goes on, as long as the list does not change
	changes uint64   // of the list
	begun   bool
	last    rank // of the job found last
}

// Start begins a search under the bounds of this pass.
func (s *Seeker) Start(b *Bounds, t Test) {
	s.bounds, s.test = *b, t
	s.cursors = s.cursors[:0]
	s.heap = order.Heap{List: s.heap.List[:0], Ties: s}
	q := b.q
	for _, id := range q.lists.live {
		l := &q.lists.all[id]
		if l.least > t.Room(l.size, l.borrows).Free {
			continue
		}
		s.cursors = append(s.cursors, cursor{list: id, at: l.jobs.First(), changes: l.changes})
		s.push(len(s.cursors)-1, l, q.first(l))
	}
}

// push makes a cursor a candidate at which all further jobs of its list come after j, or are j.
func (s *Seeker) push(i int, l *list, j *Job) {
	s.heap.Push(order.Candidate{Key: int64(s.bounds.score(j.Tenant, l.rise+j.bound+s.bounds.most)), Tier: j.Tier, Ref: model.Ref(^i)})
}

// Next is the next job, with its key; ok is false behind the last.
func (s *Seeker) Next() (c order.Candidate, ok bool) {
	for len(s.heap.List) > 0 {
		c = s.heap.List[0]
		s.heap.Pop()
		if c.Ref >= 0 {
			return c, true
		}
		s.advance(int(^c.Ref))
	}
	return c, false
}

// advance searches a list for the next job.
func (s *Seeker) advance(i int) {
	c, q := &s.cursors[i], s.bounds.q
	l := &q.lists.all[c.list]
	if c.changes != l.changes {
		c.changes = l.changes
		c.at = l.jobs.First()
		if c.begun {
			next := c.last
			next.ref++ // the least behind it
			c.at = q.place(l, next)
		}
	}
	for room := s.test.Room(l.size, l.borrows); ; {
		found, ok := l.jobs.Seek(c.at, room)
		if !ok {
			return
		}
		c.at = found.Behind()
		at := q.at[l.jobs.Job(found).Ref]
		if !s.test.MayStart(at) {
			continue
		}
		j := &q.Jobs[at]
		c.begun, c.last = true, rankOf(j)
		s.heap.Push(order.Candidate{Key: int64(s.test.Key(at)), Tier: j.Tier, Ref: j.Ref, At: at})
		s.push(i, l, j)
		return
	}
}

// Before implements order.Ties: cursors come first, for jobs with that key may be behind them.
func (s *Seeker) Before(a, b model.Ref) bool {
	if a < 0 || b < 0 {
		return a < b
	}
	return s.test.Before(a, b)
}
