// Package verify holds the directories of two runs of one spec against each other: byte by
// byte, and by the first event at which their logs differ. It replays nothing.
package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/record"
	"orrery/sim/rundir"
)

// Recorded is a finished run to be held against another one.
type Recorded struct {
	Files fs.FS                              // its directory
	Epoch model.Time                         // zero of its times, in µs since 1970
	Jobs  record.Scanner                     // its table of jobs, for their ids
	Log   iter.Seq2[*commitlog.Entry, error] // as record.ReadLog reads it
}

// Verification is the outcome of holding two runs of one spec against each
// other.
type Verification struct {
	Fingerprints [2]string      `json:"fingerprints"`
	Files        []VerifiedFile `json:"files"`
	Divergence   *Divergence    `json:"divergence,omitempty"` // nil when the logs are equal
}

// VerifiedFile is one file that must be the same in both runs.
type VerifiedFile struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // that are equal, from the beginning
	Equal bool   `json:"equal"`
}

// Equal says that all is the same.
func (v *Verification) Equal() bool {
	return v.Divergence == nil && v.Fingerprints[0] == v.Fingerprints[1] &&
		!slices.ContainsFunc(v.Files, func(f VerifiedFile) bool { return !f.Equal })
}

// Divergence is the first event at which two logs differ. A side is nil when
// its log has ended.
type Divergence struct {
	Index int64     `json:"index"` // in the log, from 0
	Sides [2]*Event `json:"events"`
}

// Event is an entry of the log in the words of a person; nodes have their names where the
// run has any.
type Event struct {
	Time   model.Time `json:"time_us"` // since the epoch of the trace
	Kind   string     `json:"kind"`
	Job    int32      `json:"job"` // row of the trace
	ID     int64      `json:"id"`  // of the job, by the log's own numbering
	Seq    uint64     `json:"seq,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Units  int32      `json:"procs,omitempty"`
	Count  int32      `json:"count,omitempty"`
	Nodes  string     `json:"nodes,omitempty"`
	OfJob  bool       `json:"-"`
}

// eventOf describes an entry.
func eventOf(e *commitlog.Entry) *Event {
	x := &Event{Time: e.Now, Kind: e.What.String(), Count: e.Count}
	place := func(p *model.Placement) { x.Nodes = string(record.AppendNodes(nil, p)) }
	switch e.What {
	case commitlog.Round:
		x.Kind += " " + e.Round.String()
	case commitlog.Fact:
		f := &e.Fact
		x.Kind, x.OfJob = f.Kind.String(), f.Kind != model.FactNode && f.Kind != model.FactLimits
		x.Job, x.Seq, x.Reason, x.Units = int32(f.Job), f.Seq, f.Reason.String(), f.Request.Units
		if f.Placement != nil {
			place(f.Placement)
		}
	case commitlog.Promise:
		p := &e.Promise
		x.OfJob, x.Job, x.Seq = true, int32(p.Job), p.After
		place(&p.Nodes)
	case commitlog.Proposal:
		p := &e.Proposal
		x.Kind, x.OfJob = "proposal to "+p.Kind.String(), true
		x.Job, x.Seq, x.Reason, x.Units = int32(p.Job), p.Seq, p.Reason.String(), p.Request.Units
		place(&p.Placement)
	}
	return x
}

// String says in a line what happened.
func (e *Event) String() string {
	if e == nil {
		return "nothing: its log has ended"
	}
	if !e.OfJob {
		return fmt.Sprintf("at %s a %s of %d", e.Time, e.Kind, e.Count)
	}
	s := fmt.Sprintf("at %s job %d %s", e.Time, e.ID, e.Kind)
	if e.Nodes != "" {
		s += " on nodes " + e.Nodes
	}
	if e.Reason != "" {
		s += ", " + e.Reason
	}
	if e.Seq == 0 {
		return s + fmt.Sprintf(" (row %d)", e.Job)
	}
	return s + fmt.Sprintf(" (row %d, proposal %d)", e.Job, e.Seq)
}

// Compare compares every byte of the reproducible files of two runs, that is of
// all but host.json, their fingerprints and, when anything differs, their logs.
// anyVersion leaves out of run.json the version of the program that wrote it, and its digest.
// Memory does not grow with the runs.
func Compare(a, b Recorded, anyVersion bool) (*Verification, error) {
	v := &Verification{}
	names, err := reproducible(a.Files, b.Files)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f := VerifiedFile{Name: name}
		if name == record.FileRun && anyVersion {
			f.Bytes, f.Equal, err = sameButVersion(a.Files, b.Files, name)
		} else {
			f.Bytes, f.Equal, err = sameBytes(a.Files, b.Files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("comparing %s: %w", name, err)
		}
		v.Files = append(v.Files, f)
	}
	var nodes [2]*record.NodeNames
	for i, r := range []Recorded{a, b} {
		var d rundir.Document
		text, err := fs.ReadFile(r.Files, record.FileRun)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err == nil {
			nodes[i], err = record.ReadNodeNames(text, record.FileRun)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the fingerprint in %s: %w", record.FileRun, err)
		}
		v.Fingerprints[i] = d.Fingerprint
	}
	if !v.Equal() {
		v.Divergence, err = firstDivergence(a, b)
	}
	if v.Divergence != nil {
		for i, e := range v.Divergence.Sides {
			if e != nil {
				e.Nodes = nodes[i].Of(e.Nodes)
			}
		}
	}
	return v, err
}

// reproducible lists the files of either run that must be equal.
func reproducible(a, b fs.FS) ([]string, error) {
	var names []string
	for _, files := range []fs.FS{a, b} {
		entries, err := fs.ReadDir(files, ".")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && e.Name() != record.FileHost {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// sameBytes counts the bytes up to the first difference. A file that only one
// run has is different from its beginning.
func sameBytes(a, b fs.FS, name string) (n int64, equal bool, err error) {
	x, err := a.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	defer x.Close()
	y, err := b.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	defer y.Close()
	const chunk = 1 << 16
	var p, q [chunk]byte
	for {
		i, errX := io.ReadFull(x, p[:])
		j, errY := io.ReadFull(y, q[:])
		for k := range min(i, j) {
			if p[k] != q[k] {
				return n + int64(k), false, nil
			}
		}
		n += int64(min(i, j))
		if i != j || i < chunk {
			return n, i == j, errors.Join(notEnd(errX), notEnd(errY))
		}
	}
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// sameButVersion compares two run.json without the version of the program, and without their digests, which cover it.
func sameButVersion(a, b fs.FS, name string) (n int64, equal bool, err error) {
	var texts [2][]byte
	for i, files := range []fs.FS{a, b} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return 0, false, err
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return 0, false, err
		}
		delete(object, "version")
		delete(object, record.KeyDigest)
		if texts[i], err = record.AppendJSON(nil, object); err != nil {
			return 0, false, err
		}
	}
	n = int64(len(texts[0]))
	return n, bytes.Equal(texts[0], texts[1]), nil
}

// firstDivergence reads both logs side by side. nil says that they are equal,
// so that what differs is not an event.
func firstDivergence(a, b Recorded) (*Divergence, error) {
	var next [2]func() (*commitlog.Entry, error, bool)
	for i, r := range []Recorded{a, b} {
		pull, stop := iter.Pull2(r.Log)
		defer stop()
		next[i] = pull
	}
	for index := int64(0); ; index++ {
		var sides [2]*commitlog.Entry
		for i := range sides {
			e, err, more := next[i]()
			if err != nil {
				return nil, fmt.Errorf("reading entry %d of a log: %w", index, err)
			}
			if more {
				sides[i] = e
			}
		}
		x, y := sides[0], sides[1]
		if x == nil && y == nil {
			return nil, nil
		}
		if x != nil && y != nil && commitlog.Same(x, y) {
			continue
		}
		d := &Divergence{Index: index}
		for i, r := range []Recorded{a, b} {
			if sides[i] == nil {
				continue
			}
			d.Sides[i] = eventOf(sides[i])
			if err := d.Sides[i].name(r.Jobs); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
}

// name finds the id of the event's job.
func (e *Event) name(jobs record.Scanner) error {
	if e == nil {
		return nil
	}
	return jobs.Scan(func(c *record.Columns) error {
		if i := slices.Index(c.Job, e.Job); i >= 0 {
			e.ID = c.ID[i]
		}
		return nil
	})
}
