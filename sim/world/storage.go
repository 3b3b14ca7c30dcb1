package world

import (
	"errors"
	"fmt"
	"math"

	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/world/work"
	"orrery/traces"
)

// StorageConfig is how jobs move data between their nodes and storage. A transfer takes its
// size ÷ the rate of its job while all that is asked of the storage is at most Bandwidth, and
// longer by one factor for all transfers while it is more.
type StorageConfig struct {
	Bandwidth int64 // B/s that all transfers share; 0 is no bound
	// FileSystems are what is shared instead where there are several: each transfer is to or
	// from one, and slows those of that one alone. hwmodel.Bytes says which, by its place here.
	FileSystems []FileSystem
	// Stage is at what a job stages its input before its work begins, in B/s; 0 stages
	// nothing.
	Stage int64
	// Stop is at what a job copies a checkpoint into the memory of its nodes, in B/s. That
	// stops the job; it writes the copy to storage while it works on, and the checkpoint is
	// safe when that is done. With 0 the job stands still for the whole writing.
	Stop int64
}

// FileSystem is one of several.
type FileSystem struct {
	Name      string
	Bandwidth int64 // B/s that its transfers share; 0 is no bound
}

// Transfer is a reason for which a job moves data.
type Transfer uint8

// The kinds of transfers. A job stands still in all of them but Drain.
const (
	noTransfer   Transfer = iota
	Stage                 // of the input, before its work begins
	Read                  // of a checkpoint, before its work goes on
	Write                 // of a checkpoint, to storage
	Copy                  // of a checkpoint, into the memory of its nodes
	Drain                 // of that copy to storage, while the job works
	Leave                 // of the checkpoint with which a preempted job leaves, to storage
	numTransfers = iota
)

var transferNames = [numTransfers]string{"", "stage", "read", "write", "copy", "drain", "leave"}

// String is the spelling in results.
func (k Transfer) String() string { return transferNames[k] }

// TransferCounts is what came to pass with the transfers of one kind.
type TransferCounts struct {
	Kind string `json:"kind"`
	// FileSystem is that to or from which they are, where there are several; of a copy, that
	// to which it is written then.
	FileSystem string `json:"file_system,omitempty"`
	Begun      int64  `json:"begun"`
	Done       int64  `json:"done"` // the others were cut short, or were under way at the end
	Asked      int64  `json:"asked_bytes"`
	Moved      int64  `json:"moved_bytes"`
	// Time is from begin to end, over all transfers; Alone is what the same bytes take at the
	// rates of the jobs.
	Time  int64 `json:"job_us"`
	Alone int64 `json:"alone_us"`
}

// storage is what the transfers of a site share.
type storage struct {
	systems []fileSystem
	done    []model.Ref // memory for transfers that are done
}

// fileSystem is a pool of its own.
type fileSystem struct {
	pool *work.Pool
	set  model.Time // of the last event that was set for the pool; Never for none
}

// byStorage is the job of the event at which a transfer is done. Its ref is the file system.
const byStorage model.JobID = -1

// moving is the transfer of an attempt, which has one at a time.
type moving struct {
	kind  Transfer
	on    int32 // the file system
	waits bool  // until the requested time of the attempt begins
	bytes int64
	alone model.Duration // that they take at the rate of the job
	since model.Time
}

// newStorage is idle storage, nil where each transfer takes size ÷ rate whatever others do.
func newStorage(c *StorageConfig, m *Meter) *storage {
	if c == nil {
		return nil
	}
	list := c.FileSystems
	if len(list) == 0 {
		list = []FileSystem{{"", c.Bandwidth}}
	}
	st := &storage{}
	for _, f := range list {
		for k := Stage; k < numTransfers; k++ {
			m.Transfers = append(m.Transfers, TransferCounts{Kind: k.String(), FileSystem: f.Name})
		}
		capacity := f.Bandwidth
		if capacity == 0 {
			capacity = math.MaxInt64
		}
		st.systems = append(st.systems, fileSystem{work.NewPool(capacity), model.Never})
	}
	return st
}

// Validate says what is wrong with c and how to mend it, or nil.
func (c *StorageConfig) Validate() error {
	for _, x := range []struct {
		name string
		rate int64
	}{{"bandwidth", c.Bandwidth}, {"rate of staging", c.Stage}, {"rate of copies of checkpoints", c.Stop}} {
		if x.rate < 0 {
			return fmt.Errorf("world: the %s is %d B/s: give 0 or more", x.name, x.rate)
		}
	}
	for i, f := range c.FileSystems {
		if f.Bandwidth < 0 {
			return fmt.Errorf("world: the bandwidth of file system %d is %d B/s: give 0 or more", i, f.Bandwidth)
		}
	}
	switch {
	case len(c.FileSystems) > 0 && c.Bandwidth > 0:
		return errors.New("world: storage with a bandwidth and with file systems, which have one each: give one of them")
	case len(c.FileSystems) == 0 && c.Bandwidth == 0 && c.Stage == 0 && c.Stop == 0:
		return errors.New("world: storage without any rate: leave it out")
	}
	return nil
}

// stop is at what the checkpoints of running jobs are copied into memory, 0 where they are not.
func (c *SiteConfig) stop() int64 {
	if c.Storage == nil {
		return 0
	}
	return c.Storage.Stop
}

// toStage is how much a job stages before its work begins: what its row says is not on the
// tier hot, else what its class of work says. What ran before a warm start has its input.
func (s *Site) toStage(l *siteJob, row traces.Opt[int64]) int64 {
	switch class := s.hardware.Bytes(&l.hw).Input; {
	case s.storage == nil || s.cfg.Storage.Stage == 0 || l.truth.Ran > 0:
		return 0
	case row.OK:
		return row.V
	case class.Known:
		return class.Size
	}
	return 0
}

// on is the file system of what l moves.
func (s *Site) on(l *siteJob, kind Transfer) int32 {
	if len(s.storage.systems) == 1 {
		return 0
	}
	class := s.hardware.Bytes(&l.hw)
	if kind == Stage {
		return class.InputOn
	}
	return class.CheckpointOn
}

// counts are those of a transfer.
func (s *Site) counts(m *moving) *TransferCounts {
	return &s.Meter.Transfers[int(m.on)*(numTransfers-1)+int(m.kind)-1]
}

// first is what the attempt l moves before its work begins.
func (s *Site) first(l *siteJob) moving {
	switch {
	case s.storage == nil:
	case l.kept > 0 && transfer(l.saved, s.cfg.ReadBandwidth) > 0:
		return moving{kind: Read, waits: true, bytes: l.saved}
	case l.kept == 0 && l.input > 0:
		return moving{kind: Stage, waits: true, bytes: l.input}
	}
	return moving{}
}

// begins is when the work of the attempt l begins: Never while that is up to the storage.
func (s *Site) begins(l *siteJob) model.Time {
	switch {
	case l.moves.waits:
		return model.Never
	case s.storage == nil && l.kept > 0:
		return l.opens.Add(transfer(l.saved, s.cfg.ReadBandwidth))
	}
	return l.opens
}

// open begins what the attempt under ref moves before its work, once its time has begun.
func (s *Site) open(ref model.Ref) {
	l := s.jobs.At(ref)
	switch m := &l.moves; {
	case !m.waits:
	case l.opens > s.now:
		s.events.Push(des.NewEvent(l.opens, des.RankCheckpoint, l.rec.Job, ref))
	case m.kind == Read:
		s.move(ref, Read, m.bytes, s.cfg.ReadBandwidth, 1)
	default:
		s.move(ref, Stage, m.bytes, s.cfg.Storage.Stage, 1)
	}
}

// move begins a transfer of the attempt under ref, that alone takes size bytes ÷ rate, by
// times as long. A rate of 0 takes no time.
func (s *Site) move(ref model.Ref, kind Transfer, size, rate, by int64) {
	l := s.jobs.At(ref)
	alone := slower(transfer(size, rate), by)
	l.moves = moving{kind: kind, on: s.on(l, kind), bytes: size, alone: alone, since: s.now}
	c := s.counts(&l.moves)
	c.Begun++
	c.Asked = model.Plus(c.Asked, size)
	f := &s.storage.systems[l.moves.on]
	f.pool.Join(s.now, ref, alone, min(rate, max(1, rate/by)))
	s.planStorage(l.moves.on)
}

// planStorage sets the event at which the next transfer of a file system is done. It comes before
// the steps of jobs at its instant: a checkpoint that is whole at a deadline is in time.
func (s *Site) planStorage(on int32) {
	f := &s.storage.systems[on]
	next := f.pool.Next()
	if next == f.set {
		return
	}
	if f.set = next; next != model.Never {
		s.events.Push(des.NewEvent(next, des.RankExpiry, byStorage, model.Ref(on)))
	}
}

// moved lets the transfers of a file system happen that are done now. An event that was overtaken
// finds none.
func (s *Site) moved(on int32) {
	f := &s.storage.systems[on]
	if f.pool.Next() != s.now {
		return
	}
	s.storage.done = f.pool.Take(s.now, s.storage.done[:0])
	f.set = model.Never
	for _, ref := range s.storage.done {
		s.endTransfer(ref)
	}
	s.planStorage(on)
}

// endTransfer goes on with the attempt under ref when its transfer is done.
func (s *Site) endTransfer(ref model.Ref) {
	l := s.jobs.At(ref)
	m := l.moves
	l.moves = moving{}
	s.counts(&m).Done++
	s.countTransfer(&m, m.bytes, m.alone)
	switch m.kind {
	case Stage:
		l.input = 0
		s.goOn(ref)
	case Read:
		s.goOn(ref)
	case Write:
		if l.exit.writes { // it leaves with that
			s.written(ref)
			return
		}
		l.work.Pause(s.now, s.now)
		s.endWrite(ref)
		s.retime(ref)
	case Drain:
		s.drained(ref)
	case Leave:
		s.written(ref)
	}
}

// goOn begins the work of the attempt under ref, which has what it needs for it.
func (s *Site) goOn(ref model.Ref) {
	l := s.jobs.At(ref)
	l.work.Pause(s.now, s.now)
	l.ckpt.since, l.ckpt.tried = s.now, s.now
	s.setWorks(l, true)
	s.retime(ref)
}

// stopTransfer ends the transfer of the attempt under ref before it is done, if it has one.
// What has been staged stays.
func (s *Site) stopTransfer(ref model.Ref) {
	l := s.jobs.At(ref)
	m := l.moves
	l.moves = moving{}
	if m.kind == noTransfer || m.waits {
		return
	}
	left := m.since.Add(m.alone).Sub(s.now)
	if m.kind != Copy {
		left = min(s.storage.systems[m.on].pool.Leave(s.now, ref), m.alone)
		s.planStorage(m.on)
	}
	moved := part(m.bytes, m.alone-left, m.alone)
	s.countTransfer(&m, moved, m.alone-left)
	if m.kind == Stage {
		l.input -= moved
	}
}

// part is size·num ÷ den rounded down, 0 where den is. num is at most den.
func part(size int64, num, den model.Duration) int64 {
	if den <= 0 || num <= 0 {
		return 0
	}
	return model.MulDiv(size, int64(num), int64(den))
}

// countTransfer counts bytes of a transfer that has ended, and what they take alone.
func (s *Site) countTransfer(m *moving, moved int64, alone model.Duration) {
	c := s.counts(m)
	c.Moved = model.Plus(c.Moved, moved)
	c.Time, c.Alone = model.Plus(c.Time, int64(s.now.Sub(m.since))), model.Plus(c.Alone, int64(alone))
}

// copyOut begins to copy a checkpoint of the attempt under ref into the memory of its nodes, and
// says when that is done. No other job slows it.
func (s *Site) copyOut(ref model.Ref, size, by int64) model.Time {
	alone := slower(transfer(size, s.cfg.Storage.Stop), by)
	l := s.jobs.At(ref)
	l.moves = moving{kind: Copy, on: s.on(l, Copy), bytes: size, alone: alone, since: s.now}
	c := s.counts(&l.moves)
	c.Begun++
	c.Asked = model.Plus(c.Asked, size)
	return s.now.Add(alone)
}

// copied ends that, and begins to write the copy to storage.
func (s *Site) copied(ref model.Ref, then Transfer, by int64) {
	m := s.jobs.At(ref).moves
	s.counts(&m).Done++
	s.countTransfer(&m, m.bytes, m.alone)
	s.move(ref, then, m.bytes, s.cfg.Exit.Bandwidth, by)
}

// drained ends the writing of a copy of a checkpoint: it is safe from now on.
func (s *Site) drained(ref model.Ref) {
	l := s.jobs.At(ref)
	k := &l.ckpt
	k.drains = false
	s.keep(ref, &k.copied)
	switch {
	case l.exit.writes: // the checkpoint with which it leaves has waited for this one
		s.writeExit(ref)
		s.planExitStep(ref)
	case l.rec.State == model.Running:
		s.planCheckpoint(ref)
	}
}
