package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/world/internal/storage"
	"orrery/traces"
)

// StorageConfig is how jobs move data between their nodes and storage.
type StorageConfig = storage.Config

// FileSystem is one of several.
type FileSystem = storage.FileSystem

// byStorage is the job of the event at which a transfer is done. Its ref is the file system.
const byStorage model.JobID = -1

// stop is at what the checkpoints of running jobs are copied into memory, 0 where they are not.
func (c *SiteConfig) stop() int64 {
	if c.Storage == nil {
		return 0
	}
	return c.Storage.Stop
}

// transfers is what attempts move to and from storage.
type transfers struct {
	*base
	storage *storage.Storage // nil where transfers share nothing
}

// toStage is how much a job stages before its work begins: what its row says is not on the tier hot, else what its
// class of work says. What ran before a warm start has its input.
func (t *transfers) toStage(l *siteJob, row traces.Opt[int64]) int64 {
	switch class := t.cfg.Hardware.Bytes(&l.hw).Input; {
	case t.storage == nil || t.cfg.Storage.Stage == 0 || l.truth.Ran > 0:
		return 0
	case row.OK:
		return row.V
	case class.Known:
		return class.Size
	}
	return 0
}

// on is the file system of what l moves.
func (t *transfers) on(l *siteJob, kind storage.Kind) int32 {
	if len(t.storage.Systems) == 1 {
		return 0
	}
	class := t.cfg.Hardware.Bytes(&l.hw)
	if kind == storage.Stage {
		return class.InputOn
	}
	return class.CheckpointOn
}

// first is what the attempt l moves before its work begins.
func (t *transfers) first(l *siteJob) storage.Transfer {
	switch {
	case t.storage == nil:
	case l.kept > 0 && storage.Takes(l.saved, t.cfg.ReadBandwidth) > 0:
		return storage.Transfer{Kind: storage.Read, Waits: true, Bytes: l.saved}
	case l.kept == 0 && l.input > 0:
		return storage.Transfer{Kind: storage.Stage, Waits: true, Bytes: l.input}
	}
	return storage.Transfer{}
}

// begins is when the work of the attempt l begins: Never while that is up to the storage.
func (t *transfers) begins(l *siteJob) model.Time {
	switch {
	case l.moves.Waits:
		return model.Never
	case t.storage == nil && l.kept > 0:
		return l.opens.Add(storage.Takes(l.saved, t.cfg.ReadBandwidth))
	}
	return l.opens
}

// open begins what the attempt under ref moves before its work, once its time has begun.
func (t *transfers) open(ref model.Ref) {
	l := t.jobs.At(ref)
	switch m := &l.moves; {
	case !m.Waits:
	case l.opens > t.now:
		t.events.Push(des.NewEvent(l.opens, des.RankCheckpoint, l.rec.Job, ref))
	case m.Kind == storage.Read:
		t.move(ref, storage.Read, m.Bytes, t.cfg.ReadBandwidth, 1)
	default:
		t.move(ref, storage.Stage, m.Bytes, t.cfg.Storage.Stage, 1)
	}
}

// move begins a transfer of the attempt under ref, that alone takes size bytes ÷ rate, by times as long. A rate of 0
// takes no time.
func (t *transfers) move(ref model.Ref, kind storage.Kind, size, rate, by int64) {
	l := t.jobs.At(ref)
	on := t.on(l, kind)
	l.moves = t.storage.Move(t.now, ref, kind, on, size, rate, by)
	t.plan(on)
}

// plan sets the event at which the next transfer of a file system is done. It comes before the steps of jobs at its
// instant: a checkpoint that is whole at a deadline is in time.
func (t *transfers) plan(on int32) {
	if next, anew := t.storage.Next(on); anew && next != model.Never {
		t.events.Push(des.NewEvent(next, des.RankExpiry, byStorage, model.Ref(on)))
	}
}

// end takes the transfer of the attempt under ref, which is done.
func (t *transfers) end(ref model.Ref) storage.Kind {
	l := t.jobs.At(ref)
	m := l.moves
	l.moves = storage.Transfer{}
	t.storage.Done(t.now, &m)
	if m.Kind == storage.Stage {
		l.input = 0
	}
	return m.Kind
}

// cut ends the transfer of the attempt under ref before it is done, if it has one. What has been staged stays.
func (t *transfers) cut(ref model.Ref) {
	l := t.jobs.At(ref)
	m := l.moves
	l.moves = storage.Transfer{}
	if m.Kind == storage.None || m.Waits {
		return
	}
	moved := t.storage.Stop(t.now, ref, &m)
	t.plan(m.On)
	if m.Kind == storage.Stage {
		l.input -= moved
	}
}

// copyOut begins to copy a checkpoint of the attempt under ref into the memory of its nodes, and says when that is
// done.
func (t *transfers) copyOut(ref model.Ref, size, by int64) (done model.Time) {
	l := t.jobs.At(ref)
	l.moves, done = t.storage.CopyOut(t.now, t.on(l, storage.Copy), size, t.cfg.Storage.Stop, by)
	return done
}

// copied ends that, and begins to write the copy to storage.
func (t *transfers) copied(ref model.Ref, then storage.Kind, by int64) {
	m := t.jobs.At(ref).moves
	t.storage.Done(t.now, &m)
	t.move(ref, then, m.Bytes, t.cfg.Exit.Bandwidth, by)
}
