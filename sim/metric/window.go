package metric

import (
	"math/big"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// hasSteady says whether the run reached its steady window and did not leave
// it before it began. A window may be a single instant.
func (s *Series) hasSteady() bool {
	return s.warmed && s.cool != model.AbsentTime && s.warm <= s.cool && (!s.coolKnown() || s.cooled)
}

// Steady is the steady window, both ends included; ok is false when the run has
// none. A job belongs to it by its submission.
func (s *Series) Steady() (from, to model.Time, ok bool) {
	if s.catchUp(); !s.hasSteady() {
		return model.AbsentTime, model.AbsentTime, false
	}
	return s.warm, s.lastOfSteady(), true
}

// lastOfSteady is the last instant at which a submission belongs to the steady
// window.
func (s *Series) lastOfSteady() model.Time {
	if s.cfg.Measured != nil {
		return s.cool - 1
	}
	return s.cool
}

// minus subtracts what had been summed up at an earlier instant.
func (a integrals) minus(b *integrals) integrals {
	a.busy = a.busy.minus(b.busy)
	a.queuedJobs = a.queuedJobs.minus(b.queuedJobs)
	a.lost = a.lost.minus(b.lost)
	a.drawn = a.drawn.minus(&b.drawn)
	return a
}

// allIntegrals are the sums from the first submission to the last end of a
// job that ran, and that window; a run in which nothing ran has an empty one.
// Jobs that still ran when the replay stopped end with the series.
func (s *Series) allIntegrals(lastEnd int64) (integrals, int64, int64) {
	switch {
	case s.first == model.AbsentTime || lastEnd == column.Absent:
		return integrals{}, 0, 0
	case lastEnd > int64(s.lastEnd):
		return s.total.minus(&s.atFirst), int64(s.first), int64(s.now)
	}
	return s.atLastEnd.minus(&s.atFirst), int64(s.first), int64(s.lastEnd)
}

func (s *Series) steadyIntegrals() (integrals, int64, int64) {
	return s.atCool.minus(&s.atWarm), int64(s.warm), int64(s.cool)
}

// queuedUntil is the integral of the queued units up to t, from the bins. It is
// exact at the edges of bins; within one the queue is taken as level.
func (s *Series) queuedUntil(t model.Time) *big.Rat {
	b, total, part := &s.bins, sum{}, new(big.Rat)
	for i := range b.n {
		begin := b.begin(i)
		end := min(begin.Add(b.width), s.now)
		switch q := b.bin[i].QueuedUnitUS; {
		case end <= t:
			total.add(uint64(q))
		case begin < t:
			part.SetFrac(product(big.NewInt(q), big.NewInt(int64(t.Sub(begin)))), big.NewInt(int64(end.Sub(begin))))
		}
	}
	return part.Add(part, new(big.Rat).SetInt(total.big()))
}

// quarters are those of the steady window; false when there is none.
func (s *Series) quarters() (q [4]*big.Rat, ok bool) {
	if !s.hasSteady() {
		return q, false
	}
	return s.quartersOf(s.warm, s.cool)
}

// quartersOf are the mean numbers of queued units in the four quarters of a part
// of the run; false when it is shorter than 4 µs.
func (s *Series) quartersOf(from, to model.Time) (q [4]*big.Rat, ok bool) {
	length := int64(to.Sub(from))
	if length < 4 {
		return q, false
	}
	at := from
	before := s.queuedUntil(at)
	for i := range q {
		next := from + model.Time(length/4*int64(i+1)+length%4*int64(i+1)/4)
		until := s.queuedUntil(next)
		q[i] = new(big.Rat).Sub(until, before)
		q[i].Quo(q[i], big.NewRat(int64(next-at), 1))
		at, before = next, until
	}
	return q, true
}
