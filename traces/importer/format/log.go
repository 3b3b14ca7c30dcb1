package format

import (
	"errors"
	"fmt"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Log imports files that one function reads into rows of any tables. It is read twice:
// first for the epoch, the order and what is wrong, then to write; and once more between where local times
// occurred twice, since their order says which they are, or never, since another row may show the same instant. A log of which a table is
// not in order of time is sorted outside memory.
type Log struct {
	Format  *Format
	Files   []File
	Account Account
	// Read hands the rows of the files to the sink, from their start and the same ones
	// each time. Instants are µs since 1970, or since the log's own zero if Relative.
	Read     func(*Sink) error
	Relative bool
	// Zone is that of the texts, nil where instants need none.
	Zone *time.Location
	// Clocks are those that Read uses. They learn in the first reading.
	Clocks []*Clock

	sink Sink
	gaps Gaps
	size struct{ nodes, cpus int64 }
}

// Scan reads the files through, and answers what is to be written.
func (l *Log) Scan() (Scanned, error) {
	bad := l.Files[0].Bad
	if err := l.scan(); err != nil {
		return nil, err
	}
	repeated := false
	for _, c := range l.Clocks {
		c.Decide()
		repeated = repeated || c.Repeated()
	}
	if repeated || l.gaps.Any() { // which instants they are, and so the order of the rows, is known now; which others show them is not
		if err := l.scan(); err != nil {
			return nil, err
		}
	}
	s := &l.sink
	if err := bad.End(s.rows); err != nil {
		return nil, err
	}
	if s.rows == 0 {
		return nil, &traces.DataError{File: l.Files[0].Name, Found: "a header without rows", Expected: "at least one row", Mend: "fetch the file again"}
	}
	if s.load.step > 0 && s.asked {
		l.Account.Assume("load.width", s.load.step.String(), "the smallest step between two rows")
	}
	return l, nil
}

// scan reads the files through once.
func (l *Log) scan() error {
	l.sink = Sink{log: l, jobs: jobStream, load: loadStream, events: eventStream, prices: priceStream, nodes: nodeStream, deps: depStream}
	if bad := l.Files[0].Bad; bad != nil {
		bad.Begin(nil)
		bad.left = l.Account.LeftOut
	}
	return l.Read(&l.sink)
}

// epoch is the whole second of the first row, 0 where the log's own zero is arbitrary.
func (l *Log) epoch() model.Time {
	first := l.sink.first()
	if l.Relative || first == model.AbsentTime {
		return 0
	}
	back := first % model.Time(model.Second)
	if back < 0 {
		back += model.Time(model.Second)
	}
	return first - back
}

// Write implements Scanned.
func (l *Log) Write(w *traces.Writer) error {
	l.Account.Again()
	l.size.nodes, l.size.cpus = 0, 0
	for _, c := range l.Clocks {
		c.Decide()
	}
	s := &l.sink
	s.w, s.rules, s.epoch, s.edges = w, traces.NewRules(), l.epoch(), edges{}
	if s.deps.seen {
		s.edges.kept = map[int64]bool{}
	}
	defer s.close()
	for _, name := range s.tables() {
		l.Account.Table(name) // in the same order, whichever file comes first
	}
	bad := l.Files[0].Bad
	bad.Begin(func(at *Place) { l.Account.Table(s.tableOf(bad)).Take(at, traces.RuleUnreadable) })
	if err := l.Read(s); err != nil {
		return err
	}
	if err := bad.End(s.rows); err != nil {
		return err
	}
	return s.flush()
}

// tableOf is the table that an unreadable row would have been of: that of the first row of the file, else the first table.
func (s *Sink) tableOf(b *Bad) string {
	if name := b.tables[b.file]; name != "" {
		return name
	}
	return append(s.tables(), "jobs")[0]
}

// Report implements Scanned.
func (l *Log) Report() traces.Report { return l.Account.Report(l.Files, l.Format) }

// Meta implements Scanned.
func (l *Log) Meta(r traces.Report) (traces.Meta, error) {
	m, err := Describe(l.Files, r)
	m.Epoch, m.EpochKnown, m.Sorted = l.epoch(), !l.Relative && l.sink.first() != model.AbsentTime, true
	if l.Zone != nil {
		m.TimeZone = l.Zone.String()
	}
	m.MaxNodes, m.MaxProcs = int32(min(l.size.nodes, 1<<31-1)), int32(min(l.size.cpus, 1<<31-1))
	return m, err
}

// Sink takes the rows of a log, each with its place.
type Sink struct {
	log    *Log
	jobs   stream[traces.Job]
	load   stream[traces.Load]
	events stream[traces.Event]
	prices stream[traces.Price]
	nodes  stream[traces.Node]
	deps   stream[traces.Dep]

	edges edges
	w     *traces.Writer // nil in the first reading
	rules *traces.Rules
	epoch model.Time
	rows  int64
	asked bool // for the step
}

// Job takes a job, a bounded one if its kind is empty. drop is why it cannot be kept, ""
// when it can.
func (s *Sink) Job(at *Place, j *traces.Job, drop string) error {
	if j.Kind == "" {
		j.Kind = "bounded"
	}
	return put(s, &s.jobs, at, j, drop)
}

// Load takes a sample of load.
func (s *Sink) Load(at *Place, l *traces.Load, drop string) error {
	return put(s, &s.load, at, l, drop)
}

// Event takes a change of the site.
func (s *Sink) Event(at *Place, e *traces.Event, drop string) error {
	return put(s, &s.events, at, e, drop)
}

// Price takes a price.
func (s *Sink) Price(at *Place, p *traces.Price, drop string) error {
	return put(s, &s.prices, at, p, drop)
}

// Node takes a node.
func (s *Sink) Node(at *Place, n *traces.Node, drop string) error {
	return put(s, &s.nodes, at, n, drop)
}

// Dep takes a dependency. It is held until the jobs are written: one on a job that was
// not kept is dropped, and so are those of a circle.
func (s *Sink) Dep(at *Place, d *traces.Dep, drop string) error {
	if s.w == nil || drop != "" {
		return put(s, &s.deps, at, d, drop)
	}
	s.edges.add(at, d)
	return nil
}

// Step is the smallest step between two samples of load, 0 in the first reading and where
// there are not two.
func (s *Sink) Step() model.Duration {
	s.asked = true
	if s.w == nil {
		return 0
	}
	return s.load.step
}

// Writing says that this is the second reading, in which rows are written.
func (s *Sink) Writing() bool { return s.w != nil }

// first is the earliest instant of any table.
func (s *Sink) first() model.Time {
	first := model.AbsentTime
	for _, t := range []model.Time{s.jobs.first, s.load.first, s.events.first, s.prices.first} {
		if t != model.AbsentTime && (first == model.AbsentTime || t < first) {
			first = t
		}
	}
	return first
}

// tables are those that have rows.
func (s *Sink) tables() (names []string) {
	for _, t := range []struct {
		name string
		seen bool
	}{{"jobs", s.jobs.seen}, {"deps", s.deps.seen}, {"nodes", s.nodes.seen}, {"load", s.load.seen}, {"events", s.events.seen}, {"prices", s.prices.seen}} {
		if t.seen {
			names = append(names, t.name)
		}
	}
	return names
}

// flush writes the rows that were held back for their order.
func (s *Sink) flush() error {
	for _, f := range []func() error{
		func() error { return flush(s, &s.nodes) }, func() error { return flush(s, &s.jobs) }, func() error { return s.edges.write(s) },
		func() error { return flush(s, &s.load) }, func() error { return flush(s, &s.events) }, func() error { return flush(s, &s.prices) },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) close() {
	s.jobs.held.Close()
	s.load.held.Close()
	s.events.held.Close()
	s.prices.held.Close()
}

// stream is what becomes of the rows of one table.
type stream[R any] struct {
	table string
	at    func(*R) model.Time // nil in a table without an order of time
	shift func(*R, model.Time)
	rule  func(*traces.Rules, *R) string // nil for none
	// series is what has one row for an instant, as a service; nil in a table that is no series.
	series func(*R) string
	write  func(*Sink, *R) error

	seen        bool
	rows        int64
	first, last model.Time
	step        model.Duration
	unsorted    *Place // the first row out of order
	held        Sorter[R]
}

// put looks at a row in the first reading, and writes or holds it in the second.
func put[R any](s *Sink, t *stream[R], at *Place, r *R, drop string) error {
	s.rows++
	t.seen = true
	s.log.Files[0].Bad.row(t.table)
	if drop == "" && t.series != nil {
		series := func() string { return t.table + " " + t.series(r) }
		if s.log.gaps.Yield(series, t.at(r), at.Repaired) {
			drop = RuleYields
		} else if s.w == nil {
			s.log.gaps.Look(series, t.at(r), at.Repaired)
		}
	}
	if s.w != nil {
		if t.unsorted == nil || drop != "" {
			return finish(s, t, at, r, drop)
		}
		return t.held.Add(*at, t.at(r), r)
	}
	if t.at == nil || drop != "" {
		return nil
	}
	now := t.at(r)
	switch {
	case t.rows == 0:
		t.first, t.last = now, now
	case now < t.last && t.unsorted == nil:
		place := *at
		place.Name, place.Repaired = "", nil
		t.unsorted = &place
	case now > t.last && (t.step == 0 || now.Sub(t.last) < t.step):
		t.step = now.Sub(t.last)
	}
	t.first, t.last = min(t.first, now), now
	t.rows++
	return nil
}

// finish counts a row, and writes it if it is kept.
func finish[R any](s *Sink, t *stream[R], at *Place, r *R, drop string) error {
	if drop == "" && t.shift != nil {
		t.shift(r, s.epoch)
	}
	if drop == "" && t.rule != nil {
		drop = t.rule(s.rules, r)
	}
	if !s.log.Account.Table(t.table).Take(at, drop) {
		return nil
	}
	return t.write(s, r)
}

// flush writes the rows of a table that were not in order.
func flush[R any](s *Sink, t *stream[R]) error {
	if t.unsorted == nil {
		return nil
	}
	last := model.AbsentTime
	err := t.held.Each(func(at *Place, now model.Time, r *R) error {
		if now < last {
			return fmt.Errorf("sorting %s: %w", t.table, errors.New("a row is earlier than the one before it"))
		}
		last = now
		return finish(s, t, at, r, "")
	})
	if err == nil {
		s.log.Account.Table(t.table).Repair("sorted", t.unsorted)
	}
	return err
}
