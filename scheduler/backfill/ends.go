// Package backfill knows the future that the scheduler counts on: when running
// jobs are predicted to give their nodes back, when a blocked job can
// therefore start, and what may run in front of it without delaying it. It
// decides nothing about order; it answers questions about time and capacity.
package backfill

import "orrery/scheduler/model"

// blockSize bounds the entries moved by an insertion.
const blockSize = 128

type end struct {
	at   model.Time
	ref  model.Ref
	need int32
}

// block is a run of consecutive ends with the sum of their capacity, so that
// the search for a shadow time skips it whole.
type block struct {
	sum int32
	n   int // at most blockSize
	e   [blockSize]end
}

// ends are those of b.
func (b *block) ends() []end { return b.e[:b.n] }

// Ends holds the predicted ends of the running jobs in ascending order, equal
// instants in any order (nothing depends on it). Insertion and removal cost a
// binary search and a move of at most blockSize entries; Shadow costs a step
// per block. Steady state allocates nothing.
type Ends struct {
	blocks []*block
	spare  []*block
	n      int
}

// First is the earliest predicted end, Never when nothing runs.
func (s *Ends) First() model.Time {
	if s.n == 0 {
		return model.Never
	}
	return s.blocks[0].e[0].at
}

// FirstOf is no later than the earliest predicted end of a job that counts: that itself where few are before
// it. Never when nothing runs.
func (s *Ends) FirstOf(counts func(model.Ref) bool) model.Time {
	const few = 64
	looked := 0
	for _, b := range s.blocks {
		for _, e := range b.ends() {
			if looked++; looked > few || counts(e.ref) {
				return e.at
			}
		}
	}
	return model.Never
}

// Insert adds a running job that will give back need at the instant at.
func (s *Ends) Insert(at model.Time, ref model.Ref, need int32) {
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, s.take())
	}
	i := s.blockFor(at)
	b := s.blocks[i]
	if b.n == blockSize {
		s.split(i)
		if at > s.blocks[i].last() {
			i++
		}
		b = s.blocks[i]
	}
	j := b.search(at)
	b.n++
	e := b.ends()
	copy(e[j+1:], e[j:])
	e[j] = end{at, ref, need}
	b.sum += need
	s.n++
}

// Remove takes out the job that was inserted with the same at and ref.
func (s *Ends) Remove(at model.Time, ref model.Ref) {
	for i := s.blockFor(at); i < len(s.blocks); i++ {
		b := s.blocks[i]
		e := b.ends()
		for j := b.search(at); j < len(e); j++ {
			if e[j].ref != ref {
				continue
			}
			b.sum -= e[j].need
			copy(e[j:], e[j+1:])
			b.n--
			s.n--
			if b.n == 0 {
				s.drop(i)
			}
			return
		}
	}
	panic("backfill: removal of an end that is not there")
}

// Shadow returns the earliest instant at which need is free, given that free
// is free now, and what is left over at that instant once need is taken (jobs
// that end at the same instant all count). A job overdue at now is predicted
// to end one second later. When even the last end does not suffice, the
// instant is Never.
func (s *Ends) Shadow(now model.Time, need, free int32) (model.Time, int32) {
	if s.First() <= now {
		return s.shadowLate(now, need, free)
	}
	i := 0
	for ; i < len(s.blocks); i++ {
		if free+s.blocks[i].sum >= need {
			break
		}
		free += s.blocks[i].sum
	}
	at := model.Never
	for _, b := range s.blocks[i:] {
		for _, e := range b.ends() {
			if free >= need && e.at != at {
				return at, free - need
			}
			at = e.at
			free += e.need
		}
	}
	if free < need {
		return model.Never, 0
	}
	return at, free - need
}

// overdue counts the entries at or before now.
func (s *Ends) overdue(now model.Time) (count int) {
	for _, b := range s.blocks {
		for _, e := range b.ends() {
			if e.at > now {
				return count
			}
			count++
		}
	}
	return count
}

// shadowLate is Shadow while a job is overdue, which is rare enough to walk
// the ends one by one.
func (s *Ends) shadowLate(now model.Time, need, free int32) (model.Time, int32) {
	at := model.Never
	s.Ascend(now, func(t model.Time, _ model.Ref, n int32) bool {
		if free >= need && t != at {
			return false
		}
		at = t
		free += n
		return true
	})
	if free < need {
		return model.Never, 0
	}
	return at, free - need
}

// Ascend calls f for the running jobs, with what they give back, in ascending
// order of predicted end until it returns false. Jobs overdue at now come at
// one second from now.
func (s *Ends) Ascend(now model.Time, f func(at model.Time, ref model.Ref, need int32) bool) {
	late := s.overdue(now)
	lateAt := now.Add(model.Second)
	seen := 0
	for _, b := range s.blocks {
		for _, e := range b.ends() {
			seen++
			if seen <= late {
				continue
			}
			if late > 0 && e.at >= lateAt {
				if !s.ascendLate(late, lateAt, f) {
					return
				}
				late = 0
			}
			if !f(e.at, e.ref, e.need) {
				return
			}
		}
	}
	s.ascendLate(late, lateAt, f)
}

// ascendLate calls f for the first n ends, as if they were at the given instant.
func (s *Ends) ascendLate(n int, at model.Time, f func(model.Time, model.Ref, int32) bool) bool {
	for _, b := range s.blocks {
		for _, e := range b.ends() {
			if n == 0 {
				return true
			}
			n--
			if !f(at, e.ref, e.need) {
				return false
			}
		}
	}
	return true
}

// Overdue appends to dst the jobs whose predicted end is not after now.
func (s *Ends) Overdue(now model.Time, dst []model.Ref) []model.Ref {
	for _, b := range s.blocks {
		for _, e := range b.ends() {
			if e.at > now {
				return dst
			}
			dst = append(dst, e.ref)
		}
	}
	return dst
}

// blockFor is the block into which an entry at the given instant belongs.
func (s *Ends) blockFor(at model.Time) int {
	lo, hi := 0, len(s.blocks)-1
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if s.blocks[m].last() < at {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

func (s *Ends) split(i int) {
	b, c := s.blocks[i], s.take()
	half := b.n / 2
	c.n = copy(c.e[:], b.ends()[half:])
	b.n = half
	for _, e := range c.ends() {
		c.sum += e.need
	}
	b.sum -= c.sum
	s.blocks = append(s.blocks, nil)
	copy(s.blocks[i+2:], s.blocks[i+1:])
	s.blocks[i+1] = c
}

func (s *Ends) take() *block {
	if n := len(s.spare); n > 0 {
		b := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return b
	}
	return new(block)
}

func (s *Ends) drop(i int) {
	b := s.blocks[i]
	b.sum, b.n = 0, 0
	s.spare = append(s.spare, b)
	copy(s.blocks[i:], s.blocks[i+1:])
	s.blocks = s.blocks[:len(s.blocks)-1]
}

func (b *block) last() model.Time { return b.e[b.n-1].at }

// search is the position of the first entry at or after the given instant. It goes on in
// half of what is left wherever that lies, so that the machine has nothing to guess.
func (b *block) search(at model.Time) int {
	e, lo := b.ends(), 0
	for n := len(e); n > 0; n /= 2 {
		if half := n - n/2; e[lo+half-1].at < at {
			lo += half
		}
	}
	return lo
}
