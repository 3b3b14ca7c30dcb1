package waiting

import (
	"math"

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
	waits   int32 // cursor that goes on when the next job is asked for, -1 for none
	parked  bool  // some cursors are
}

// cursor is how far a list has been searched.
type cursor struct {
	list    int32
	at      queue.At // where the search goes on, as long as the list does not change
	changes uint64   // of the list
	begun   bool
	last    rank // of the job found last
	waits   bool // until that job was the next: the others of the list come after it
	parked  bool // see Park
	late    bool // was parked until the turn of passed
	passed  rank // by its score
}

// Start begins a search under the bounds of this pass.
func (s *Seeker) Start(b *Bounds, t Test) {
	s.bounds, s.test = *b, t
	s.cursors, s.waits, s.parked = s.cursors[:0], -1, false
	s.heap = order.Heap{List: s.heap.List[:0], Ties: s}
	q := b.q
	var r queue.Room
	size, borrows := int32(-1), false // what r is for
	for _, id := range q.lists.live {
		l := &q.lists.all[id]
		if l.size != size || l.borrows != borrows {
			size, borrows = l.size, l.borrows
			r = t.Room(size, borrows)
		}
		if l.least > r.Free {
			continue
		}
		from, may := l.jobs.May(r)
		if !may {
			continue
		}
		l.cursor = int32(len(s.cursors))
		s.cursors = append(s.cursors, cursor{list: id, at: from, changes: l.changes})
		s.push(l, &l.top)
	}
}

// push makes the cursor of a list a candidate where all its further jobs come after one of the rank, or are that.
func (s *Seeker) push(l *list, r *rank) {
	b := &s.bounds
	own := l.rise + r.bound
	if l.oldest == l.youngest { // the bound is of the same wait for all
		own += b.q.waited.of(b.q, l.oldest, b.now) - b.q.known.of(b.q, l.oldest, l.until)
	}
	s.heap.Push(order.Candidate{Key: int64(b.score(l.tenant, own+b.f9(l))), Tier: l.tier, Ref: model.Ref(^l.cursor)})
}

// Next is the next job, with its key; ok is false behind the last.
func (s *Seeker) Next() (c order.Candidate, ok bool) {
	if s.waits >= 0 {
		s.advance(s.waits)
		s.waits = -1
	}
	for len(s.heap.List) > 0 {
		c = s.heap.List[0]
		s.heap.Pop()
		if c.Ref >= 0 {
			s.waits = s.waiting(c.Ref)
			return c, true
		}
		s.advance(int32(^c.Ref))
	}
	return c, false
}

// waiting is the cursor behind a job in whose list all others come after it, -1 where it is a candidate already.
func (s *Seeker) waiting(ref model.Ref) int32 {
	if l := s.listOf(ref); s.cursors[l.cursor].waits {
		return l.cursor
	}
	return -1
}

func (s *Seeker) listOf(ref model.Ref) *list {
	q := s.bounds.q
	return &q.lists.all[q.Row(ref).list]
}

// Park passes over the jobs of the list of ref, which was the last found and stays, until Release: none of those that ask
// for the same, and for longer than so long, is to start until then. It does nothing where others are among them.
func (s *Seeker) Park(ref model.Ref, limit model.Duration) {
	l := s.listOf(ref)
	if l.alike < 0 {
		return
	}
	c := &s.cursors[l.cursor]
	s.find(c, l)
	if _, some := l.jobs.Seek(c.at, queue.Room{Free: math.MaxInt32, Limit: limit}); !some {
		c.parked, s.parked = true, true
	}
}

// Release ends what Park began. Those whose turn was before that of a job of this tier, key and id are passed over for good.
func (s *Seeker) Release(tier int32, key model.Fixed, job model.JobID) {
	if !s.parked {
		return
	}
	s.parked = false
	for i := range s.cursors {
		c := &s.cursors[i]
		if !c.parked {
			continue
		}
		c.parked = false
		if l := &s.bounds.q.lists.all[c.list]; l.tier <= tier { // else all had their turn
			c.late, c.passed = l.tier == tier, rank{bound: key, job: job}
			s.push(l, &c.last) // also where it stands there still
		}
	}
}

// find brings a cursor to where its search goes on, when the list has changed.
func (s *Seeker) find(c *cursor, l *list) {
	if c.changes == l.changes {
		return
	}
	c.changes = l.changes
	c.at = l.jobs.First()
	if c.begun {
		next := c.last
		next.job++ // the least behind it
		c.at = s.bounds.q.place(l, next)
	}
}

// advance searches a list for the next job.
func (s *Seeker) advance(i int32) {
	c, q := &s.cursors[i], s.bounds.q
	c.waits = false
	if c.parked {
		return
	}
	l := &q.lists.all[c.list]
	s.find(c, l)
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
		key := s.test.Key(at)
		if c.late {
			if r := (rank{bound: key, job: j.Job}); r.before(&c.passed) {
				continue
			}
		}
		c.begun, c.last = true, rankOf(j)
		s.heap.Push(order.Candidate{Key: int64(key), Tier: j.Tier, Ref: j.Ref, At: at})
		if l.even() {
			_, c.waits = l.standsFor(found, s.bounds.penalty[l.tenant] == model.One)
		}
		if !c.waits {
			s.push(l, &c.last)
		}
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
