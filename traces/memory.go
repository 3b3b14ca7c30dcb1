package traces

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// Tables are the rows of a whole trace.
type Tables struct {
	Jobs    []Job
	Deps    []Dep
	Nodes   []Node
	Tenants []Tenant
	Events  []Event
	Prices  []Price
	Load    []Load

	Telemetry []Telemetry
	Instances []Instance
}

// Memory is a trace in memory, as columns. It does not change, so any number of
// sources may read it at once. A job takes about 400 bytes.
type Memory struct {
	info    Info
	all     Batch
	users   []string
	deps    []Dep
	nodes   []Node
	tenants []Tenant
	events  []Event
	prices  []Price
	load    []Load
}

// NewMemory makes a trace of rows, under a name for messages. It keeps the small
// tables and that of load, and copies the jobs; of telemetry and mig it keeps the digests. Its content hash is that of the same rows in a
// bundle. A value that has no place on disk is a DataError. It costs about 2 µs
// for each job.
func NewMemory(name string, meta Meta, t Tables) (*Memory, error) {
	if int64(len(t.Jobs)) > math.MaxInt32 {
		return nil, fmt.Errorf("the trace %s: %d jobs, at most %d", name, len(t.Jobs), math.MaxInt32)
	}
	if err := checkEpoch(meta); err != nil {
		return nil, fmt.Errorf("the trace %s: %w", name, err)
	}
	m := &Memory{deps: t.Deps, nodes: t.Nodes, tenants: t.Tenants, events: t.Events, prices: t.Prices, load: t.Load}
	m.info = Info{
		Name: name, Rows: int64(len(t.Jobs)), Epoch: meta.Epoch, EpochKnown: meta.EpochKnown, TimeZone: meta.TimeZone,
		MaxProcs: meta.MaxProcs, MaxNodes: meta.MaxNodes, WarmStart: meta.WarmStart, History: meta.History, Sorted: true, Deps: int64(len(t.Deps)),
	}
	for i, n := range []int{len(t.Jobs), len(t.Deps), len(t.Nodes), len(t.Tenants), len(t.Events), len(t.Prices), len(t.Load), len(t.Telemetry), len(t.Instances)} {
		if n > 0 {
			m.info.Tables = append(m.info.Tables, TableRows{tableNames[i], int64(n)})
		}
	}
	var err error
	if m.info.Hash, m.info.Filled, err = t.survey(name, &meta); err != nil {
		return nil, err
	}
	m.columns(t.Jobs)
	return m, nil
}

// survey digests the rows, and counts what the optional columns of the jobs hold.
func (t *Tables) survey(name string, meta *Meta) (hash string, filled []Filled, err error) {
	var h tableHashes
	counts := make([]Filled, len(jobFields))
	first := make([]cell, len(jobFields))
	look := func(i int, c cell) {
		if c.null {
			return
		}
		if counts[i].Rows++; counts[i].Rows == 1 {
			first[i] = c
		}
		counts[i].Varies = counts[i].Varies || c != first[i]
	}
	h.jobs, err = digestRows(name, "jobs", t.Jobs, jobFields, meta.Epoch, look)
	for _, next := range []func() error{
		func() (err error) {
			h.deps, err = digestRows(name, "deps", t.Deps, depFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.nodes, err = digestRows(name, "nodes", t.Nodes, nodeFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.tenants, err = digestRows(name, "tenants", t.Tenants, tenantFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.events, err = digestRows(name, "events", t.Events, eventFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.prices, err = digestRows(name, "prices", t.Prices, priceFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.load, err = digestRows(name, "load", t.Load, loadFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.telemetry, err = digestRows(name, "telemetry", t.Telemetry, telemetryFields, meta.Epoch, nil)
			return err
		},
		func() (err error) {
			h.instances, err = digestRows(name, "mig", t.Instances, instanceFields, meta.Epoch, nil)
			return err
		},
	} {
		if err != nil {
			return "", nil, err
		}
		err = next()
	}
	if err != nil {
		return "", nil, err
	}
	for i, c := range counts {
		if c.Column = jobFields[i].Name; c.Column == columnKind {
			c = kindsOf(t.Jobs)
		} else if !jobFields[i].Optional {
			continue
		}
		if c.Rows > 0 {
			filled = append(filled, c)
		}
	}
	return h.content(meta), filled, nil
}

// kindsOf counts, as the statistics of a file do, the rows in those groups that
// hold other kinds than bounded.
func kindsOf(jobs []Job) Filled {
	out, first := Filled{Column: columnKind}, ""
	for group := range slices.Chunk(jobs, groupRows) {
		low := kindOf(&group[0])
		same := true
		for i := range group {
			same = same && kindOf(&group[i]) == low
		}
		if same && low == kindBounded {
			continue
		}
		if out.Rows == 0 {
			first = low
		}
		out.Rows += int64(len(group))
		out.Varies = out.Varies || !same || low != first
	}
	return out
}

// digestRows feeds the digest of a table, and look, unless it is nil, with each
// value.
func digestRows[R any](name, table string, rows []R, fields []field[R], epoch model.Time, look func(int, cell)) (tableHash, error) {
	h := tableHash{columns: make([]columnHash, len(fields)), rows: int64(len(rows))}
	for r := range rows {
		for i := range fields {
			f := &fields[i]
			c := f.load(&rows[r])
			if f.fallback != nil && c.s == "" {
				c = *f.fallback
			}
			if _, err := f.value(c, epoch, &h.columns[i]); err != nil {
				return h, &DataError{File: name + " (" + table + ")", Row: int64(r) + 1, Column: f.Name, Found: err.Error(), Expected: f.values()}
			}
			if look != nil {
				look(i, c)
			}
		}
	}
	return h, nil
}

// columns fills the batch of all rows.
func (m *Memory) columns(jobs []Job) {
	in := interner{ids: map[string]int32{}}
	b := &m.all
	b.Attr = &Attributes{}
	warm, last := m.info.WarmStart, model.AbsentTime
	for i := range jobs {
		j := &jobs[i]
		if j.Submit < last {
			m.info.Sorted = false
		}
		last = j.Submit
		b.ID = append(b.ID, j.ID)
		b.Submit = append(b.Submit, j.Submit)
		b.Start = append(b.Start, j.Start.or(model.AbsentTime))
		b.Runtime = append(b.Runtime, j.Runtime.or(model.AbsentDuration))
		b.Walltime = append(b.Walltime, j.Walltime.or(model.AbsentDuration))
		b.CancelledAt = append(b.CancelledAt, j.CancelledAt.or(model.AbsentTime))
		b.ProcsRequested = append(b.ProcsRequested, j.ProcsRequested.or(Absent))
		b.ProcsAllocated = append(b.ProcsAllocated, j.ProcsAllocated.or(Absent))
		b.NodesMin = append(b.NodesMin, j.NodesMin.or(Absent))
		b.CPUsPerNode = append(b.CPUsPerNode, j.CPUsPerNode.or(Absent))
		b.GPUsPerNode = append(b.GPUsPerNode, j.GPUsPerNode.or(Absent))
		b.User = append(b.User, in.id([]byte(j.User)))
		if warm.OK && j.Submit < warm.V {
			b.RanOn = append(b.RanOn, j.RecordedNodes)
		}
		b.Attr.AppendJob(j)
	}
	m.users = in.names
	m.pastColumns(jobs)
}

// pastColumns sets what the rows say of how jobs ran, if any says something.
func (m *Memory) pastColumns(jobs []Job) {
	if !slices.ContainsFunc(jobs, func(j Job) bool {
		return j.Name != "" || j.RecordedNodes != "" || j.NodesAllocated.OK || j.GPUsAllocated.OK
	}) {
		return
	}
	r := &Past{}
	for i := range jobs {
		j := &jobs[i]
		r.Name, r.RanOn = append(r.Name, j.Name), append(r.RanOn, j.RecordedNodes)
		r.Nodes, r.GPUs = append(r.Nodes, j.NodesAllocated.or(Absent)), append(r.GPUs, j.GPUsAllocated.or(Absent))
	}
	m.all.Past = r
}

// Info describes the trace.
func (m *Memory) Info() Info { return m.info }

// Open returns a source of its own, in the form in which a replay asks for it.
func (m *Memory) Open() (Source, error) { return &memorySource{Memory: m}, nil }

// Load iterates over the load table, as that of a Bundle.
func (m *Memory) Load() iter.Seq2[*Load, error] { return sequence(m.load) }

// sequence iterates over rows in memory.
func sequence[R any](rows []R) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}

type memorySource struct {
	*Memory
	row int
}

// Users implements Source.
func (s *memorySource) Users() []string { return s.users }

// Nodes implements Source.
func (s *memorySource) Nodes() []Node { return s.nodes }

// Tenants implements Source.
func (s *memorySource) Tenants() []Tenant { return s.tenants }

// Events implements Source.
func (s *memorySource) Events() []Event { return s.events }

// Prices implements Source.
func (s *memorySource) Prices() []Price { return s.prices }

// Close implements Source.
func (s *memorySource) Close() error { return nil }

// Next implements Source. The rows are not copied.
func (s *memorySource) Next(b *Batch) error {
	n := min(s.all.Len()-s.row, sourceRows)
	attributes, past := b.Attr != nil, b.Past != nil
	*b = Batch{Attr: b.Attr, Past: b.Past}
	if n == 0 {
		b.resize(0)
		return io.EOF
	}
	*b = s.all.Slice(s.row, s.row+n)
	if !attributes {
		b.Attr = nil
	}
	switch {
	case !past:
		b.Past = nil
	case b.Past == nil: // no row says anything
		b.Past = &Past{Name: make([]string, n), RanOn: make([]string, n), Nodes: make([]int32, n), GPUs: make([]int32, n)}
		fill(b.Past.Nodes, Absent)
		fill(b.Past.GPUs, Absent)
	}
	s.row += n
	return nil
}

// Dependencies implements Source.
func (s *memorySource) Dependencies(afterJob bool) (*Dependencies, error) {
	afterJob = afterJob && s.info.Fills(columnAfterJob)
	return resolveDependencies(s.info.Name, sequence(s.deps), afterJob, func(_ bool, visit func(model.JobID, int64, int64, model.Duration)) error {
		for i, id := range s.all.ID {
			visit(model.JobID(i), id, s.all.Attr.AfterJob[i], s.all.Attr.ThinkTime[i])
		}
		return nil
	})
}
