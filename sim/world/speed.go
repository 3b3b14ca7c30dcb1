package world

import (
	"orrery/scheduler/model"
)

// SetSpeed says at what speed the job under ref works from now on, until it leaves its
// nodes: here is that of the hardware and the placement that it has, and recorded that of
// those on which its runtime was recorded, both in one unit; 0 where that is not known. An
// attempt begins at the speed of the record. The job must be on nodes.
//
// The rate of its work is here ÷ recorded, rounded to 2^-32. Where recorded is not known
// it stays 1, and the job is counted. What was done so far is settled, and the end moves;
// the walltime does not. A job whose row ended at its walltime has done what it could by
// then and not what it had to do: once its rate is not 1, it runs until its walltime, if
// that is still ahead.
//
// A job that stands still, because a node of its own is broken, stays so.
//
// The work of a job that writes the checkpoint with which it leaves is over; there is
// nothing to set.
func (s *Site) SetSpeed(now model.Time, ref model.Ref, here, recorded model.Fixed) {
	s.advance(now)
	l := s.jobs.At(ref)
	if !l.present || l.rec.State != model.Running && l.rec.State != model.Checkpointing {
		panic("world: a speed for a job that is on no nodes")
	}
	rate := model.One
	if recorded > 0 {
		rate = model.Ratio(int64(here), int64(recorded))
	} else {
		s.countUnrated(l)
	}
	if s.standsStill(ref) {
		s.stall(ref)
		return
	}
	if l.exit.writes || !l.work.SetRate(now, rate) {
		return
	}
	expiry := s.expiry(l)
	if l.outcome == model.Timeout && !l.endless && l.truth.Runtime != model.AbsentDuration && expiry != model.Never && now <= expiry {
		l.endless = true
		l.work.SetEndless()
	}
	s.retime(ref)
}

// countUnrated counts a job of which it is not known at what speed it was recorded.
func (s *Site) countUnrated(l *siteJob) {
	if !l.unrated {
		l.unrated = true
		s.Meter.Unrated++
	}
}

// retime sets anew what lies ahead of the attempt under ref as far as that has moved with
// its rate: its end, the next step of its way out, the next look at whether to write a
// checkpoint.
func (s *Site) retime(ref model.Ref) {
	l := s.jobs.At(ref)
	if l.rec.State == model.Checkpointing {
		if at := s.nextExitStep(l); at != l.exit.at {
			s.planExitStep(ref)
		}
		return
	}
	s.scheduleEnd(ref)
	if k := &l.ckpt; !k.writes && k.at != s.now { // else it is looked at in any case
		if at := s.nextLook(l); at != k.at {
			s.planCheckpoint(ref)
		}
	}
}
