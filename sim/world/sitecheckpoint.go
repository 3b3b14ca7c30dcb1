package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
)

// Looks at running jobs, to see whether a checkpoint is worth its cost, come at
// the multiples of lookEvery; and no job writes sooner than that after its last
// attempt to.
const lookEvery = 30 * model.Second

var writeStream = draw.StreamOf("periodic checkpoint")

// keeping is what a running job does of its own accord so as not to lose its
// work: it stops, writes a checkpoint, and goes on, all on its nodes.
type keeping struct {
	at     model.Time // the next look, or the end of the writing; AbsentTime for none
	writes bool
	breaks bool           // the writing will fail
	since  model.Time     // when its work began, or was safe last
	tried  model.Time     // when its work began, or it wrote last, whether that failed or not
	writ   uint32         // how often it began to write, in this attempt
	image  int64          // bytes that it writes
	done   model.Duration // work of the attempt before life.works
	safe   model.Duration // of done, what a checkpoint has
}

// pressure is what waits and what runs, as far as it bears on the value of a
// checkpoint.
type pressure struct {
	classes         [model.SensitiveClass + 1]int32 // waiting jobs of each class
	queued, running int64                           // unit seconds asked for
}

// weight is the unit seconds that l asks for from its next start on, or since
// its last; without an end a day.
func (l *life) weight() int64 {
	d := l.limit
	if d == model.Forever {
		d = model.Day
	}
	return int64(l.rec.Procs) * int64((d+model.Second-1)/model.Second)
}

// backlog is what waits by what runs, at most 1; 0 when nothing runs.
func (p *pressure) backlog() model.Fixed {
	switch {
	case p.running <= 0:
		return 0
	case p.queued >= p.running:
		return model.One
	}
	return model.Ratio(p.queued, p.running)
}

// above counts the waiting jobs of classes above class.
func (p *pressure) above(class int32) int32 {
	n := int32(0)
	for _, k := range p.classes[class+1:] {
		n += k
	}
	return n
}

// watchOver begins to look after the attempt under ref, whose work begins at
// life.works.
func (s *Site) watchOver(ref model.Ref) {
	l := &s.lives[ref]
	l.keep = keeping{at: model.AbsentTime, since: l.works, tried: l.works}
	s.lookAgain(ref)
}

// lookAgain sets the next look at a running job: at the instant at which a
// checkpoint is due, or may be. One that would not be whole before the walltime is
// over is not begun.
func (s *Site) lookAgain(ref model.Ref) {
	l := &s.lives[ref]
	l.keep.at = model.AbsentTime
	c := s.cfg.Checkpoints
	if c == nil {
		return
	}
	p := preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive())
	if p.Min == model.Forever {
		return
	}
	at := max(l.keep.since.Add(p.Min), l.keep.tried.Add(lookEvery), s.now)
	if c.Strategy == preempt.ValueOverCost {
		at = onGrid(at)
		if at == s.now {
			at = at.Add(lookEvery) // this look has been
		}
	} else {
		at = max(at, l.keep.since.Add(min(p.Max, s.interval(l))))
	}
	if whole := at.Add(s.writing(l)); at < l.finish() && whole < s.expiry(l) {
		l.keep.at = at
		s.events.Push(des.NewEvent(at, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// onGrid is the first look at t or later.
func onGrid(t model.Time) model.Time {
	const every = model.Time(lookEvery)
	if t > model.Never-every {
		return model.Never
	}
	return (t + every - 1) / every * every
}

// interval is the work between checkpoints by the formulas of Young or Daly: a
// job meets a failure when any of its nodes does.
func (s *Site) interval(l *life) model.Duration {
	mtbf := s.cfg.Checkpoints.MTBF
	if mtbf != model.Forever {
		mtbf = max(1, mtbf/model.Duration(max(l.holds.nodes, 1)))
	}
	if s.cfg.Checkpoints.Strategy == preempt.DalyInterval {
		return preempt.Daly(s.writing(l), mtbf)
	}
	return preempt.Young(s.writing(l), mtbf)
}

// writing is how long l writes a checkpoint, unless it is slow by bad luck.
func (s *Site) writing(l *life) model.Duration { return transfer(l.holds.image, s.cfg.Exit.Bandwidth) }

// worthIt says whether the value of a checkpoint of l exceeds its cost now.
func (s *Site) worthIt(l *life) bool {
	d := preempt.Decision{
		Nodes: l.holds.nodes, GPUs: max(1, (l.holds.gpus+l.holds.nodes-1)/max(l.holds.nodes, 1)), Class: l.alloc.Class,
		Start: l.keep.since, LastCheckpoint: model.AbsentTime,
		Waiting: s.pressure.above(l.alloc.Class), Backlog: s.pressure.backlog(), PFail: -1,
	}
	gpus := int64(d.Nodes) * int64(d.GPUs)
	d.Bytes = (l.holds.image + gpus - 1) / max(gpus, 1)
	return s.cfg.Checkpoints.Due(&d, preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive()), s.now)
}

// keepStep looks at a running job, or ends its writing.
func (s *Site) keepStep(ref model.Ref) {
	l := &s.lives[ref]
	switch {
	case l.keep.writes:
		s.written(ref)
	case s.cfg.Checkpoints.Strategy == preempt.ValueOverCost && !s.worthIt(l):
		s.lookAgain(ref)
	default:
		s.write(ref)
	}
}

// write stops the work of a running job while it writes a checkpoint. Its
// walltime runs on.
func (s *Site) write(ref model.Ref) {
	l := &s.lives[ref]
	k := &l.keep
	d := s.writing(l)
	k.breaks = false
	if luck := &s.cfg.Luck; luck.Slow > 0 || luck.Partial > 0 {
		src := draw.New(s.cfg.Seed, writeStream, uint64(l.rec.Job), uint64(l.rec.Attempts)<<32|uint64(k.writ))
		if src.Bool(luck.Slow) {
			d = slower(d, luck.SlowBy)
		}
		k.breaks = src.Bool(luck.Partial)
	}
	k.writ++
	k.done, k.writes, k.image = l.gained(s.now), true, l.holds.image
	l.works = s.now.Add(d)
	k.at = l.works
	s.events.Push(des.NewEvent(k.at, des.RankCheckpoint, l.rec.Job, ref))
	s.awaitEnd(ref)
}

// slower is d times by, at most Forever.
func slower(d model.Duration, by int64) model.Duration {
	return model.Duration(min(int64(d), int64(model.Forever)/by) * by)
}

// written ends the writing of a checkpoint, which has all the work done so far.
// A job that is to leave its nodes writes no other of its own accord.
func (s *Site) written(ref model.Ref) {
	l := &s.lives[ref]
	k := &l.keep
	k.writes, k.tried, k.at = false, s.now, model.AbsentTime
	if !k.breaks {
		k.since, k.safe, l.saved = s.now, k.done, k.image
		s.State.Written++
		// The quorum keeps no account of checkpoints.
		s.emit(&model.Fact{Kind: model.FactCheckpointed, Job: l.rec.Job, Ref: ref})
	}
	if l.rec.State == model.Running {
		s.lookAgain(ref)
	}
}
