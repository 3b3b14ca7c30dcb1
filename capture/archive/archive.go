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
	parts     []part // with telemetry
	instances []part // with rows of GPU instances of MIG
	Nodes     []traces.Node
	// Events of all bundles with absolute instants, ascending.
	Events []traces.Event
	// LeftOut counts the values that their columns cannot have, of the last time that the rows were read to the end.
	LeftOut traces.Counts
	// LeftOutMIG is the same of the rows of GPU instances.
	LeftOutMIG traces.Counts
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
	for _, parts := range [][]part{s.parts, s.instances} {
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.first, b.first) })
	}
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
	if info.Of("mig") > 0 {
		for i, err := range b.Instances() {
			if err != nil {
				return err
			}
			s.instances = append(s.instances, part{path, epoch.Add(model.Duration(i.Time)), info.Of("mig")})
			break
		}
	}
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

// Bundles counts those that hold samples of GPUs and nodes.
func (s *Set) Bundles() int { return len(s.parts) }

// Sampled counts those that hold samples of GPUs and nodes, or of GPU instances of MIG.
func (s *Set) Sampled() (n int) {
	for _, p := range s.instances {
		if !slices.ContainsFunc(s.parts, func(q part) bool { return q.path == p.path }) {
			n++
		}
	}
	return n + len(s.parts)
}

// Rows counts samples and summaries.
func (s *Set) Rows() (n int64) {
	for _, p := range s.parts {
		n += p.rows
	}
	return n
}

// Written says what became of the rows.
type Written struct {
	Rows, Doubled int64 // of telemetry
	Instances     int64 // rows of GPU instances of MIG
	Hash          string
}

// Edit changes what is written, or refuses a row or an event with false. Functions may be nil.
type Edit struct {
	Row      func(*traces.Telemetry) bool
	Instance func(*traces.Instance) bool
	Event    func(*traces.Event) bool
}

// Write puts the set into one bundle. Of two rows of one GPU, or GPU instance, at one instant the first stays, and the other is counted.
func (s *Set) Write(path string, meta traces.Meta, edit Edit) (out Written, err error) {
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
		if edit.Event != nil && !edit.Event(&e) {
			continue
		}
		e.Time = model.Time(e.Time.Sub(meta.Epoch))
		if err := w.WriteEvent(e); err != nil {
			return out, err
		}
	}
	out.Rows, err = copied(s.Telemetry(), &out.Doubled, func(t *traces.Telemetry) (series, *model.Time) {
		return series{node: t.Node, gpu: t.GPU, stat: t.Stat}, &t.Time
	},
		edit.Row, meta.Epoch, w.WriteTelemetry)
	if err != nil {
		return out, err
	}
	out.Instances, err = copied(s.Instances(), &out.Doubled, func(i *traces.Instance) (series, *model.Time) {
		return series{i.Node, traces.Some(i.GPU), traces.Some(i.GPUInstance), i.UUID, i.Stat}, &i.Time
	}, edit.Instance, meta.Epoch, w.WriteInstance)
	if err != nil {
		return out, err
	}
	out.Hash, err = w.Close()
	return out, err
}

// copied writes rows with instants since an epoch.
func copied[R any](rows iter.Seq2[*R, error], doubled *int64, of func(*R) (series, *model.Time), edit func(*R) bool, epoch model.Time, write func(*R) error) (n int64, err error) {
	last := map[series]model.Time{}
	for r, err := range rows {
		if err != nil {
			return n, err
		}
		one, at := of(r)
		if was, known := last[one]; known && was == *at {
			*doubled++
			continue
		}
		last[one] = *at
		if edit != nil && !edit(r) {
			continue
		}
		*at = model.Time(at.Sub(epoch))
		if err := write(r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

type series struct {
	node     string
	gpu      traces.Opt[int32]
	instance traces.Opt[int32] // of MIG
	uuid     string            // of it
	stat     string
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
