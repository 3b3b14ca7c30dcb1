// Package storage is what the transfers of a site share: file systems, which slow all that moves data to or from them
// by one factor while more is asked of them than they have.
package storage

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/sim/world/work"
)

// Config is how jobs move data between their nodes and storage. A transfer takes its size ÷ the rate of its job while
// all that is asked of the storage is at most Bandwidth, and longer by one factor for all transfers while it is more.
type Config struct {
	Bandwidth int64 // B/s that all transfers share; 0 is no bound
	// FileSystems are what is shared instead where there are several: each transfer is to or from one, and slows
	// those of that one alone. hwmodel.Bytes says which, by its place here.
	FileSystems []FileSystem
	// Stage is at what a job stages its input before its work begins, in B/s; 0 stages nothing.
	Stage int64
	// Stop is at what a job copies a checkpoint into the memory of its nodes, in B/s. That stops the job; it writes
	// the copy to storage while it works on, and the checkpoint is safe when that is done. With 0 the job stands
	// still for the whole writing.
	Stop int64
}

// FileSystem is one of several.
type FileSystem struct {
	Name      string
	Bandwidth int64 // B/s that its transfers share; 0 is no bound
}

// Validate says what is wrong with c and how to mend it, or nil.
func (c *Config) Validate() error {
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

// Kind is a reason for which a job moves data.
type Kind uint8

// The kinds of transfers. A job stands still in all of them but Drain.
const (
	None  Kind = iota
	Stage      // of the input, before its work begins
	Read       // of a checkpoint, before its work goes on
	Write      // of a checkpoint, to storage
	Copy       // of a checkpoint, into the memory of its nodes
	Drain      // of that copy to storage, while the job works
	Leave      // of the checkpoint with which a preempted job leaves, to storage
)

// Kinds is how many there are.
const Kinds = int(Leave)

var kindNames = [Kinds + 1]string{"", "stage", "read", "write", "copy", "drain", "leave"}

// String is the spelling in results.
func (k Kind) String() string { return kindNames[k] }

// Counts is what came to pass with the transfers of one kind.
type Counts struct {
	Kind string `json:"kind"`
	// FileSystem is that to or from which they are, where there are several; of a copy, that to which it is written
	// then.
	FileSystem string `json:"file_system,omitempty"`
	Begun      int64  `json:"begun"`
	Done       int64  `json:"done"` // the others were cut short, or were under way at the end
	Asked      int64  `json:"asked_bytes"`
	Moved      int64  `json:"moved_bytes"`
	// Time is from begin to end, over all transfers; Alone is what the same bytes take at the rates of the jobs.
	Time  int64 `json:"job_us"`
	Alone int64 `json:"alone_us"`
}

// Storage is the file systems of a site.
type Storage struct {
	Systems []System
	Counts  []Counts    // by file system, and by kind
	done    []model.Ref // memory for transfers that are done
}

// System is a file system, which is a pool of its own.
type System struct {
	Pool *work.Pool
	set  model.Time // of the last event that was set for the pool; Never for none
}

// Transfer is that of an attempt, which has one at a time.
type Transfer struct {
	Kind  Kind
	Waits bool // until the requested time of the attempt begins
	Bytes int64
	On    int32          // the file system
	alone model.Duration // that they take at the rate of the job
	since model.Time
}

// New is idle storage, nil where each transfer takes size ÷ rate whatever others do.
func New(c *Config) *Storage {
	if c == nil {
		return nil
	}
	list := c.FileSystems
	if len(list) == 0 {
		list = []FileSystem{{"", c.Bandwidth}}
	}
	s := &Storage{}
	for _, f := range list {
		for k := Stage; k <= Leave; k++ {
			s.Counts = append(s.Counts, Counts{Kind: k.String(), FileSystem: f.Name})
		}
		capacity := f.Bandwidth
		if capacity == 0 {
			capacity = math.MaxInt64
		}
		s.Systems = append(s.Systems, System{work.NewPool(capacity), model.Never})
	}
	return s
}

// Takes is the time that size bytes take at rate B/s, rounded up; a rate of 0 takes none.
func Takes(size, rate int64) model.Duration {
	if rate <= 0 || size <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(size), uint64(model.Second))
	lo, carry := bits.Add64(lo, uint64(rate-1), 0)
	if hi += carry; hi >= uint64(rate) {
		return model.Forever
	}
	d, _ := bits.Div64(hi, lo, uint64(rate))
	return model.Duration(min(d, uint64(model.Forever)))
}

// Slower is d times by, at most Forever.
func Slower(d model.Duration, by int64) model.Duration {
	return model.Duration(min(int64(d), int64(model.Forever)/by) * by)
}

// begin is a transfer that begins, and is counted.
func (s *Storage) begin(now model.Time, kind Kind, on int32, size int64, alone model.Duration) Transfer {
	t := Transfer{Kind: kind, On: on, Bytes: size, alone: alone, since: now}
	c := s.counts(&t)
	c.Begun++
	c.Asked = model.Plus(c.Asked, size)
	return t
}

// Move begins a transfer of the attempt under ref to or from a file system, that alone takes size bytes ÷ rate, by
// times as long. A rate of 0 takes no time.
func (s *Storage) Move(now model.Time, ref model.Ref, kind Kind, on int32, size, rate, by int64) Transfer {
	t := s.begin(now, kind, on, size, Slower(Takes(size, rate), by))
	s.Systems[on].Pool.Join(now, ref, t.alone, min(rate, max(1, rate/by)))
	return t
}

// CopyOut begins to copy a checkpoint, which is for a file system, into the memory of nodes, and says when that is
// done. No other job slows it.
func (s *Storage) CopyOut(now model.Time, on int32, size, rate, by int64) (Transfer, model.Time) {
	t := s.begin(now, Copy, on, size, Slower(Takes(size, rate), by))
	return t, now.Add(t.alone)
}

// Next is when the next transfer of a file system is done, Never for none. anew says that it is not what it was when
// that was last asked.
func (s *Storage) Next(on int32) (at model.Time, anew bool) {
	f := &s.Systems[on]
	at = f.Pool.Next()
	anew, f.set = at != f.set, at
	return at, anew
}

// Take are the attempts whose transfers of a file system are done now, valid until it is asked again.
func (s *Storage) Take(now model.Time, on int32) []model.Ref {
	f := &s.Systems[on]
	if f.Pool.Next() != now {
		return nil
	}
	s.done = f.Pool.Take(now, s.done[:0])
	f.set = model.Never
	return s.done
}

// Done counts a transfer that is.
func (s *Storage) Done(now model.Time, t *Transfer) {
	s.counts(t).Done++
	s.end(now, t, t.Bytes, t.alone)
}

// Stop ends the transfer of the attempt under ref before it is done, and says how much it has moved. It is to be
// under way.
func (s *Storage) Stop(now model.Time, ref model.Ref, t *Transfer) (moved int64) {
	left := t.since.Add(t.alone).Sub(now)
	if t.Kind != Copy {
		left = min(s.Systems[t.On].Pool.Leave(now, ref), t.alone)
	}
	moved = part(t.Bytes, t.alone-left, t.alone)
	s.end(now, t, moved, t.alone-left)
	return moved
}

// counts are those of a transfer.
func (s *Storage) counts(t *Transfer) *Counts {
	return &s.Counts[int(t.On)*Kinds+int(t.Kind)-1]
}

// end counts bytes of a transfer that has ended, and what they take alone.
func (s *Storage) end(now model.Time, t *Transfer, moved int64, alone model.Duration) {
	c := s.counts(t)
	c.Moved = model.Plus(c.Moved, moved)
	c.Time, c.Alone = model.Plus(c.Time, int64(now.Sub(t.since))), model.Plus(c.Alone, int64(alone))
}

// part is size·num ÷ den rounded down, 0 where den is. num is at most den.
func part(size int64, num, den model.Duration) int64 {
	if den <= 0 || num <= 0 {
		return 0
	}
	return model.MulDiv(size, int64(num), int64(den))
}
