// Package archive works on bundles of telemetry that agents have written: it finds them, reads them as
// one series by time, merges and anonymises them. It must not know how they were measured.
package archive

import (
	"cmp"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Set is several bundles, by the time of their first sample.
type Set struct {
	parts []part
	Nodes []traces.Node
	// Events of all bundles with absolute instants, ascending.
	Events []traces.Event
	// LeftOut counts the values that their columns cannot have, of the last time that the rows were read to the end.
	LeftOut traces.Counts
	// WithJobs are the bundles that hold jobs.
	WithJobs []string
	// Changed counts nodes of which bundles say different things; the last one stands.
	Changed int
}

type part struct {
	path  string
	first model.Time
	rows  int64
}

// Find lists the bundles that paths name: bundles themselves, and those in folders. Hidden ones, which are being
// written, are passed over.
func Find(paths ...string) (bundles []string, err error) {
	for _, path := range paths {
		if traces.IsBundle(path) {
			bundles = append(bundles, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, d := range entries {
			if d.IsDir() && strings.HasSuffix(d.Name(), ".trace") && !strings.HasPrefix(d.Name(), ".") {
				bundles = append(bundles, filepath.Join(path, d.Name()))
			}
		}
	}
	return bundles, nil
}

// Open reads the small tables of the bundles and where their samples begin.
func Open(bundles []string) (*Set, error) {
	s := &Set{}
	for _, path := range bundles {
		if err := s.add(path); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.parts, func(a, b part) int { return cmp.Compare(a.first, b.first) })
	slices.SortStableFunc(s.Events, func(a, b traces.Event) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(s.Nodes, func(a, b traces.Node) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

func (s *Set) add(path string) (err error) {
	b, err := traces.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	epoch := b.Meta().Epoch
	for _, e := range b.Events() {
		e.Time = epoch.Add(model.Duration(e.Time))
		s.Events = append(s.Events, e)
	}
	for _, n := range b.Nodes() {
		at := slices.IndexFunc(s.Nodes, func(o traces.Node) bool { return o.Name == n.Name })
		switch {
		case at < 0:
			s.Nodes = append(s.Nodes, n)
		case s.Nodes[at] != n:
			s.Nodes[at] = n
			s.Changed++
		}
	}
	info := b.Info()
	if info.Of("jobs") > 0 {
		s.WithJobs = append(s.WithJobs, path)
	}
	for t, err := range b.Telemetry() {
		if err != nil {
			return err
		}
		s.parts = append(s.parts, part{path, epoch.Add(model.Duration(t.Time)), info.Of("telemetry")})
		break
	}
	return nil
}

// Bundles counts those that hold samples.
func (s *Set) Bundles() int { return len(s.parts) }

// Rows counts samples and summaries.
func (s *Set) Rows() (n int64) {
	for _, p := range s.parts {
		n += p.rows
	}
	return n
}

// reader is an open bundle with its next row.
type reader struct {
	next func() (*traces.Telemetry, error, bool)
	stop func()
	b    *traces.Bundle
	row  traces.Telemetry
	ok   bool
}

func (r *reader) advance(epoch model.Time) error {
	t, err, ok := r.next()
	if err != nil {
		return err
	}
	if r.ok = ok; ok {
		r.row = *t
		r.row.Time = epoch.Add(model.Duration(t.Time))
	}
	return nil
}

// Telemetry iterates over the rows of all bundles by time, with absolute instants. A bundle is open only
// while its rows are due, so that memory does not grow with their number. A row is valid until the next. Values that are no
// measurements of their columns are left out, and counted.
func (s *Set) Telemetry() iter.Seq2[*traces.Telemetry, error] {
	return func(yield func(*traces.Telemetry, error) bool) {
		s.LeftOut = nil
		var open []*reader
		defer func() {
			for _, r := range open {
				r.stop()
				_ = r.b.Close() // read only
			}
		}()
		for next := 0; next < len(s.parts) || len(open) > 0; {
			first := earliest(open)
			if next < len(s.parts) && (first < 0 || s.parts[next].first <= open[first].row.Time) {
				r, err := begin(s.parts[next].path)
				if err != nil {
					yield(nil, err)
					return
				}
				if r.ok {
					open = append(open, r)
				}
				next++
				continue
			}
			r := open[first]
			r.row.LeaveOut(s.LeftOut.Values)
			if !yield(&r.row, nil) {
				return
			}
			if err := r.advance(r.b.Meta().Epoch); err != nil {
				yield(nil, err)
				return
			}
			if !r.ok {
				r.stop()
				_ = r.b.Close() // read only
				open = slices.Delete(open, first, first+1)
			}
		}
	}
}

func begin(path string) (*reader, error) {
	b, err := traces.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reader{b: b}
	r.next, r.stop = iter.Pull2(b.Telemetry())
	if err := r.advance(b.Meta().Epoch); err != nil {
		r.stop()
		return nil, errors.Join(err, b.Close())
	}
	if !r.ok {
		r.stop()
		return r, b.Close()
	}
	return r, nil
}

// earliest is the reader with the earliest row, the first opened of several; -1 without any.
func earliest(open []*reader) int {
	best := -1
	for i, r := range open {
		if best < 0 || r.row.Time < open[best].row.Time {
			best = i
		}
	}
	return best
}

// Written says what became of the rows.
type Written struct {
	Rows, Doubled int64
	Hash          string
}

// Write puts the set into one bundle. The functions, which may be nil, change rows and events, or refuse one with false. Of two rows of one
// GPU at one instant the first stays, and the other is counted.
func (s *Set) Write(path string, meta traces.Meta, row func(*traces.Telemetry) bool, event func(*traces.Event) bool) (out Written, err error) {
	meta.EpochKnown, meta.TimeZone = true, "UTC"
	meta.Epoch = s.begin()
	w, err := traces.NewWriter(path, meta)
	if err != nil {
		return out, err
	}
	defer w.Abort()
	for _, n := range s.Nodes {
		if err := w.WriteNode(n); err != nil {
			return out, err
		}
	}
	for _, e := range s.Events {
		if event != nil && !event(&e) {
			continue
		}
		e.Time = model.Time(e.Time.Sub(meta.Epoch))
		if err := w.WriteEvent(e); err != nil {
			return out, err
		}
	}
	last := map[series]model.Time{}
	for t, err := range s.Telemetry() {
		if err != nil {
			return out, err
		}
		of := series{t.Node, t.GPU, t.Stat}
		if was, known := last[of]; known && was == t.Time {
			out.Doubled++
			continue
		}
		last[of] = t.Time
		if row != nil && !row(t) {
			continue
		}
		t.Time = model.Time(t.Time.Sub(meta.Epoch))
		if err := w.WriteTelemetry(t); err != nil {
			return out, err
		}
		out.Rows++
	}
	out.Hash, err = w.Close()
	return out, err
}

type series struct {
	node string
	gpu  traces.Opt[int32]
	stat string
}

// begin is the first instant, on a whole second.
func (s *Set) begin() model.Time {
	var first model.Time
	if len(s.parts) > 0 {
		first = s.parts[0].first
	}
	if len(s.Events) > 0 && (len(s.parts) == 0 || s.Events[0].Time < first) {
		first = s.Events[0].Time
	}
	return first - first%model.Time(model.Second)
}
