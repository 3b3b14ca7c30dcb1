package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
)

// Looks at running jobs, to see whether a checkpoint is worth its cost, come at
// the multiples of checkEvery; and no job writes sooner than that after its last
// attempt to.
const checkEvery = 30 * model.Second

var writeStream = draw.StreamOf("periodic checkpoint")

// checkpointing is what a running job does of its own accord so as not to lose its
// work: it stops, writes a checkpoint, and goes on, all on its nodes. With StorageConfig.Stop
// it stops for a copy in memory alone, which it writes while it works.
type checkpointing struct {
	at     model.Time // the next look, or the end of the writing or copying; AbsentTime for none
	writes bool       // or copies
	drains bool       // writes the copy
	breaks bool       // the writing will fail
	slow   bool       // it takes Faults.SlowBy times as long
	copied snapshot
	since  model.Time     // when its work began, or that which is safe was done
	tried  model.Time     // when its work began, or it wrote last, whether that failed or not
	writ   uint32         // how often it began to write, in this attempt
	image  int64          // bytes that it writes
	safe   model.Duration // work of the attempt that a checkpoint has, at speed 1
	took   model.Duration // how long that was worked on
}

// snapshot is the work that a checkpoint holds.
type snapshot struct {
	at   model.Time
	work model.Duration // of the attempt, at speed 1
	took model.Duration // how long that was worked on
}

// load is what waits and what runs, as far as it bears on the value of a
// checkpoint.
type load struct {
	classes         [model.SensitiveClass + 1]int32 // waiting jobs of each class
	queued, running int64                           // unit seconds asked for
}

// weight is the unit seconds that l asks for from its next start on, or since
// its last; without an end a day.
func (l *siteJob) weight() int64 {
	d := l.limit
	if d == model.Forever {
		d = model.Day
	}
	return int64(l.rec.Procs) * int64((d+model.Second-1)/model.Second)
}

// backlog is what waits by what runs, at most 1; 0 when nothing runs.
func (p *load) backlog() model.Fixed {
	switch {
	case p.running <= 0:
		return 0
	case p.queued >= p.running:
		return model.One
	}
	return model.Ratio(p.queued, p.running)
}

// above counts the waiting jobs of classes above class.
func (p *load) above(class int32) int32 {
	n := int32(0)
	for _, k := range p.classes[class+1:] {
		n += k
	}
	return n
}

// beginCheckpoints begins to look after the attempt under ref, whose work is still to
// begin.
func (s *Site) beginCheckpoints(ref model.Ref) {
	l := s.jobs.At(ref)
	begins := l.work.Resumes()
	l.ckpt = checkpointing{at: model.AbsentTime, since: begins, tried: begins}
	s.planCheckpoint(ref)
}

// planCheckpoint sets the next look at a running job, if there is to be one.
func (s *Site) planCheckpoint(ref model.Ref) {
	l := s.jobs.At(ref)
	if l.ckpt.at = s.nextLook(l); l.ckpt.at != model.AbsentTime {
		s.events.Push(des.NewEvent(l.ckpt.at, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// nextLook is the instant at which a checkpoint of l is due, or may be; AbsentTime for
// none. One that would not be whole before the walltime is over is not begun. Intervals
// between checkpoints are time, at whatever rate the job works: nodes fail in time. A job
// that stands still has nothing to save, and one that writes the copy of its last checkpoint
// begins no other.
func (s *Site) nextLook(l *siteJob) model.Time {
	c := s.cfg.Checkpoints
	if c == nil || l.work.Rate() == 0 || l.ckpt.drains {
		return model.AbsentTime
	}
	p := preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive())
	if p.Min == model.Forever {
		return model.AbsentTime
	}
	at := max(l.ckpt.since.Add(p.Min), l.ckpt.tried.Add(checkEvery), s.now)
	if c.Strategy == preempt.ValueOverCost {
		at = nextCheck(at)
		if at == s.now {
			at = at.Add(checkEvery) // this look has been
		}
	} else {
		at = max(at, l.ckpt.since.Add(min(p.Max, s.interval(l))))
	}
	if whole := at.Add(s.writing(l)).Add(s.behind(l)); at < s.finish(l) && whole < s.expiry(l) {
		return at
	}
	return model.AbsentTime
}

// nextCheck is the first look at t or later.
func nextCheck(t model.Time) model.Time {
	const every = model.Time(checkEvery)
	if t > model.Never-every {
		return model.Never
	}
	return (t + every - 1) / every * every
}

// interval is the work between checkpoints by the formulas of Young or Daly: a
// job meets a failure when any of its nodes does.
func (s *Site) interval(l *siteJob) model.Duration {
	mtbf := s.cfg.Checkpoints.MTBF
	if mtbf != model.Forever {
		mtbf = max(1, mtbf/model.Duration(max(l.holds.nodes, 1)))
	}
	if s.cfg.Checkpoints.Strategy == preempt.DalyInterval {
		return preempt.Daly(s.writing(l), mtbf)
	}
	return preempt.Young(s.writing(l), mtbf)
}

// writing is how long a checkpoint stops l, unless it is slow by a fault or storage is busy.
func (s *Site) writing(l *siteJob) model.Duration {
	if stop := s.cfg.stop(); stop > 0 {
		return transfer(l.holds.image, stop)
	}
	return transfer(l.holds.image, s.cfg.Exit.Bandwidth)
}

// behind is how long l then writes it while it works, likewise.
func (s *Site) behind(l *siteJob) model.Duration {
	if s.cfg.stop() == 0 {
		return 0
	}
	return transfer(l.holds.image, s.cfg.Exit.Bandwidth)
}

// worthCheckpoint says whether the value of a checkpoint of l exceeds its cost now.
func (s *Site) worthCheckpoint(l *siteJob) bool {
	d := preempt.Decision{
		Nodes: l.holds.nodes, GPUs: max(1, (l.holds.gpus+l.holds.nodes-1)/max(l.holds.nodes, 1)), Class: l.alloc.Class,
		Start: l.ckpt.since, LastCheckpoint: model.AbsentTime,
		Waiting: s.load.above(l.alloc.Class), Backlog: s.load.backlog(), PFail: -1,
	}
	gpus := int64(d.Nodes) * int64(d.GPUs)
	d.Bytes = (l.holds.image + gpus - 1) / max(gpus, 1)
	return s.decides.Due(&d, preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive()), s.now)
}

// checkpointStep looks at a running job, or ends its writing.
func (s *Site) checkpointStep(ref model.Ref) {
	l := s.jobs.At(ref)
	switch {
	case l.ckpt.writes:
		s.endWrite(ref)
	case s.cfg.Checkpoints.Strategy == preempt.ValueOverCost && !s.worthCheckpoint(l):
		s.planCheckpoint(ref)
	default:
		s.startWrite(ref)
	}
}

// startWrite stops the work of a running job while it writes a checkpoint, or copies it into
// memory. Its walltime runs on.
func (s *Site) startWrite(ref model.Ref) {
	l := s.jobs.At(ref)
	k := &l.ckpt
	k.breaks, k.slow = false, false
	if faults := &s.cfg.Faults; faults.Slow > 0 || faults.Partial > 0 {
		src := draw.New(s.cfg.Seed, writeStream, uint64(l.rec.Job), uint64(l.rec.Attempts)<<32|uint64(k.writ))
		k.slow = src.Bool(faults.Slow)
		k.breaks = src.Bool(faults.Partial)
	}
	k.writ++
	k.writes, k.image = true, l.holds.image
	switch by := s.slowBy(k.slow); {
	case s.storage == nil:
		k.at = s.now.Add(slower(s.writing(l), by))
	case s.cfg.stop() > 0:
		k.at = s.copyOut(ref, k.image, by)
	default: // the storage tells when it is written
		k.at = model.AbsentTime
		s.move(ref, Write, k.image, s.cfg.Exit.Bandwidth, by)
	}
	if k.at == model.AbsentTime {
		l.work.Pause(s.now, model.Never)
	} else {
		l.work.Pause(s.now, k.at)
		s.events.Push(des.NewEvent(k.at, des.RankCheckpoint, l.rec.Job, ref))
	}
	s.setWorks(l, false)
	s.scheduleEnd(ref)
}

// slowBy is how many times as long a checkpoint takes.
func (s *Site) slowBy(slow bool) int64 {
	if slow {
		return s.cfg.Faults.SlowBy
	}
	return 1
}

// slower is d times by, at most Forever.
func slower(d model.Duration, by int64) model.Duration {
	return model.Duration(min(int64(d), int64(model.Forever)/by) * by)
}

// endWrite ends the writing of a checkpoint, which has all the work done so far, or of its
// copy in memory. A job that is to leave its nodes writes no other of its own accord.
func (s *Site) endWrite(ref model.Ref) {
	l := s.jobs.At(ref)
	k := &l.ckpt
	k.writes, k.tried, k.at = false, s.now, model.AbsentTime
	s.setWorks(l, true)
	has := snapshot{s.now, l.gained(s.now), l.work.Took(s.now)}
	if s.cfg.stop() > 0 {
		k.drains, k.copied = true, has
		s.copied(ref, Drain, s.slowBy(k.slow))
		return
	}
	s.keep(ref, &has)
	if l.rec.State == model.Running {
		s.planCheckpoint(ref)
	}
}

// keep makes the work safe that a checkpoint holds which was written, unless that failed.
func (s *Site) keep(ref model.Ref, has *snapshot) {
	l := s.jobs.At(ref)
	k := &l.ckpt
	if k.breaks {
		return
	}
	k.since, k.safe, k.took, l.saved = has.at, has.work, has.took, k.image
	s.Meter.Written++
	// The quorum keeps no account of checkpoints.
	s.emit(&model.Fact{Kind: model.FactCheckpointed, Job: l.rec.Job, Ref: ref})
}
