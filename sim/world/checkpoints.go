package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
	"orrery/sim/world/internal/storage"
)

// Looks at running jobs, to see whether a checkpoint is worth its cost, come at the multiples of checkEvery; and no
// job writes sooner than that after its last attempt to.
const checkEvery = 30 * model.Second

var writeStream = draw.StreamOf("periodic checkpoint")

// checkpointing is what a running job does of its own accord so as not to lose its work: it stops, writes a
// checkpoint, and goes on, all on its nodes. With StorageConfig.Stop it stops for a copy in memory alone, which it
// writes while it works.
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

// checkpoints is what running jobs save of their work of their own accord.
type checkpoints struct {
	*agenda
	transfers *transfers
	hardware  *effects
	load      *load
	decides   preempt.CheckpointConfig // of cfg, by what a checkpoint stops a job for
}

func newCheckpoints(a *agenda, t *transfers, s *effects, l *load) checkpoints {
	c := checkpoints{agenda: a, transfers: t, hardware: s, load: l}
	if a.cfg.Checkpoints != nil {
		c.decides = *a.cfg.Checkpoints
		if stop := a.cfg.stop(); stop > 0 {
			c.decides.Bandwidth = stop
		}
	}
	return c
}

// begin begins to look after the attempt under ref, whose work is still to begin.
func (c *checkpoints) begin(ref model.Ref) {
	l := c.jobs.At(ref)
	begins := l.work.Resumes()
	l.ckpt = checkpointing{at: model.AbsentTime, since: begins, tried: begins}
	c.planCheckpoint(ref)
}

// worth says whether the value of a checkpoint of l exceeds its cost now.
func (c *checkpoints) worth(l *siteJob) bool {
	d := preempt.Decision{
		Nodes: l.holds.nodes, GPUs: max(1, (l.holds.gpus+l.holds.nodes-1)/max(l.holds.nodes, 1)), Class: l.alloc.Class,
		Start: l.ckpt.since, LastCheckpoint: model.AbsentTime,
		Waiting: c.load.above(l.alloc.Class), Backlog: c.load.backlog(), PFail: -1,
	}
	gpus := int64(d.Nodes) * int64(d.GPUs)
	d.Bytes = (l.holds.image + gpus - 1) / max(gpus, 1)
	return c.decides.Due(&d, preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive()), c.now)
}

// step looks at a running job, or ends its writing.
func (c *checkpoints) step(ref model.Ref) {
	l := c.jobs.At(ref)
	switch {
	case l.ckpt.writes:
		c.endWrite(ref)
	case c.cfg.Checkpoints.Strategy == preempt.ValueOverCost && !c.worth(l):
		c.planCheckpoint(ref)
	default:
		c.startWrite(ref)
	}
}

// startWrite stops the work of a running job while it writes a checkpoint, or copies it into memory. Its walltime
// runs on.
func (c *checkpoints) startWrite(ref model.Ref) {
	l := c.jobs.At(ref)
	k := &l.ckpt
	k.breaks, k.slow = false, false
	if faults := &c.cfg.Faults; faults.Slow > 0 || faults.Partial > 0 {
		src := draw.New(c.cfg.Seed, writeStream, uint64(l.rec.Job), uint64(l.rec.Attempts)<<32|uint64(k.writ))
		k.slow = src.Bool(faults.Slow)
		k.breaks = src.Bool(faults.Partial)
	}
	k.writ++
	k.writes, k.image = true, l.holds.image
	switch by := c.cfg.slowBy(k.slow); {
	case c.cfg.Storage == nil:
		k.at = c.now.Add(storage.Slower(c.writing(l), by))
	case c.cfg.stop() > 0:
		k.at = c.transfers.copyOut(ref, k.image, by)
	default: // the storage tells when it is written
		k.at = model.AbsentTime
		c.transfers.move(ref, storage.Write, k.image, c.cfg.Exit.Bandwidth, by)
	}
	if k.at == model.AbsentTime {
		l.work.Pause(c.now, model.Never)
	} else {
		l.work.Pause(c.now, k.at)
		c.events.Push(des.NewEvent(k.at, des.RankCheckpoint, l.rec.Job, ref))
	}
	c.hardware.setWorks(l, false)
	c.scheduleEnd(ref)
}

// slowBy is how many times as long a checkpoint takes.
func (c *SiteConfig) slowBy(slow bool) int64 {
	if slow {
		return c.Faults.SlowBy
	}
	return 1
}

// endWrite ends the writing of a checkpoint, which has all the work done so far, or of its copy in memory. A job that
// is to leave its nodes writes no other of its own accord.
func (c *checkpoints) endWrite(ref model.Ref) {
	l := c.jobs.At(ref)
	k := &l.ckpt
	k.writes, k.tried, k.at = false, c.now, model.AbsentTime
	c.hardware.setWorks(l, true)
	has := snapshot{c.now, l.gained(c.now), l.work.Took(c.now)}
	if c.cfg.stop() > 0 {
		k.drains, k.copied = true, has
		c.transfers.copied(ref, storage.Drain, c.cfg.slowBy(k.slow))
		return
	}
	c.keep(ref, &has)
	if l.rec.State == model.Running {
		c.planCheckpoint(ref)
	}
}

// keep makes the work safe that a checkpoint holds which was written, unless that failed.
func (c *checkpoints) keep(ref model.Ref, has *snapshot) {
	l := c.jobs.At(ref)
	k := &l.ckpt
	if k.breaks {
		return
	}
	k.since, k.safe, k.took, l.saved = has.at, has.work, has.took, k.image
	c.Meter.Written++
	// The quorum keeps no account of checkpoints.
	c.emit(&model.Fact{Kind: model.FactCheckpointed, Job: l.rec.Job, Ref: ref})
}

// drained ends the writing of a copy of a checkpoint: it is safe from now on.
func (c *checkpoints) drained(ref model.Ref) {
	k := &c.jobs.At(ref).ckpt
	k.drains = false
	c.keep(ref, &k.copied)
}
