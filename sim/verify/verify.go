// Package verify holds the directories of two runs of one spec against each other: byte by
// byte, and by the first event at which their logs differ. It replays nothing.
package verify

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"orrery/scheduler/model"
	"orrery/sim/record"
	"orrery/sim/rundir"
)

// Recorded is a finished run to be held against another one.
type Recorded struct {
	Files fs.FS                         // its directory
	Epoch model.Time                    // zero of its times, in µs since 1970
	Jobs  record.Scanner                // its table of jobs, for their ids
	Facts func() (io.ReadCloser, error) // its committed log, as record.ExportCSV writes it
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

// Event is an entry of the committed log, as facts.parquet has it but for nodes, which
// have their names where the run has any.
type Event struct {
	Time   model.Time `json:"time_us"` // since the epoch of the trace
	Kind   string     `json:"kind"`
	Job    int32      `json:"job"` // row of the trace
	ID     int64      `json:"id"`  // of the job, by the log's own numbering
	Seq    string     `json:"seq,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Procs  string     `json:"procs,omitempty"`
	Nodes  string     `json:"nodes,omitempty"`
}

// String says in a line what happened.
func (e *Event) String() string {
	if e == nil {
		return "nothing: its log has ended"
	}
	s := fmt.Sprintf("at %s job %d %s", e.Time, e.ID, e.Kind)
	if e.Nodes != "" {
		s += " on nodes " + e.Nodes
	}
	if e.Reason != "" {
		s += ", " + e.Reason
	}
	return s + fmt.Sprintf(" (row %d, proposal %s)", e.Job, cmp.Or(e.Seq, "none"))
}

// Verify compares every byte of the reproducible files of two runs, that is of
// all but host.json, their fingerprints and, when anything differs, their logs.
// anyVersion leaves out of run.json the version of the program that wrote it.
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

// sameButVersion compares two JSON objects without the key version.
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
	var logs [2]*factLog
	for i, r := range []Recorded{a, b} {
		f, err := r.Facts()
		if err != nil {
			return nil, fmt.Errorf("reading the log of a run: %w", err)
		}
		defer f.Close()
		if logs[i], err = newFactLog(f, r.Epoch); err != nil {
			return nil, fmt.Errorf("reading the log of a run: %w", err)
		}
	}
	for index := int64(0); ; index++ {
		var sides [2]*Event
		for i, l := range logs {
			var err error
			if sides[i], err = l.next(); err != nil {
				return nil, fmt.Errorf("reading event %d of a log: %w", index, err)
			}
		}
		x, y := sides[0], sides[1]
		if x == nil && y == nil {
			return nil, nil
		}
		if x == nil || y == nil || *x != *y {
			for i, r := range []Recorded{a, b} {
				if err := sides[i].name(r.Jobs); err != nil {
					return nil, err
				}
			}
			return &Divergence{index, sides}, nil
		}
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

// factLog reads a committed log in CSV.
type factLog struct {
	r     *csv.Reader
	at    map[string]int // column by name
	epoch model.Time
}

func newFactLog(r io.Reader, epoch model.Time) (*factLog, error) {
	l := &factLog{csv.NewReader(r), map[string]int{}, epoch}
	l.r.ReuseRecord = true
	head, err := l.r.Read()
	if err != nil {
		return nil, err
	}
	for i, name := range head {
		l.at[name] = i
	}
	for _, name := range []string{"time", "kind", "job", "seq", "reason", "procs", "nodes"} {
		if _, ok := l.at[name]; !ok {
			return nil, fmt.Errorf("no column %s", name)
		}
	}
	return l, nil
}

// next is the next event, nil at the end of the log.
func (l *factLog) next() (*Event, error) {
	row, err := l.r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cell := func(name string) string { return row[l.at[name]] }
	at, err := time.Parse(time.RFC3339Nano, cell("time"))
	if err != nil {
		return nil, err
	}
	job, err := strconv.ParseInt(cell("job"), 10, 32)
	if err != nil {
		return nil, err
	}
	return &Event{
		Time: model.Time(at.UnixMicro()) - l.epoch, Kind: cell("kind"), Job: int32(job),
		Seq: cell("seq"), Reason: cell("reason"), Procs: cell("procs"), Nodes: cell("nodes"),
	}, nil
}
