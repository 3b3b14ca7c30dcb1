package transform

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// The tables load, telemetry and mig may be long: they are sequences, like the jobs, and
// nil in a trace that has none. docs/TRANSFORMS.md says what each step does to them.

// loads, gauges and instances are such sequences.
type (
	loads     = func() iter.Seq2[*traces.Load, error]
	gauges    = func() iter.Seq2[*traces.Telemetry, error]
	instances = func() iter.Seq2[*traces.Instance, error]
)

// has says which tables beside jobs the trace has rows of.
func (s *Set) has() (names []string) {
	for _, t := range []struct {
		name  string
		there bool
	}{
		{"deps", len(s.Deps) > 0}, {"nodes", len(s.Nodes) > 0}, {"tenants", len(s.Tenants) > 0}, {"events", len(s.Events) > 0},
		{"prices", len(s.Prices) > 0}, {"load", s.LoadRows != nil}, {"telemetry", s.TelemetryRows != nil},
		{"mig", s.InstanceRows != nil},
	} {
		if t.there {
			names = append(names, t.name)
		}
	}
	return names
}

// samples says which of the long tables there are.
func (s *Set) samples() []string {
	return slices.DeleteFunc(s.has(), func(name string) bool { return name != "load" && name != "telemetry" && name != "mig" })
}

// needsJobs refuses a step that is of jobs where there are none.
func (s *Set) needsJobs(what string) error {
	if !s.jobless {
		return nil
	}
	return &traces.DataError{File: s.Name, Found: "no jobs, but " + strings.Join(s.has(), ", "), Expected: "a trace with jobs, for " + what,
		Mend: "window, stretch by=, merge, anonymise and drop apply to every table"}
}

// sub is the account of one of the long tables in the step of a.
func (s *Set) sub(a *Account, table string) *Account {
	t := &Account{Step: a.Step, Table: table}
	s.pending = append(s.pending, t)
	return t
}

// editTable makes the rows of a table that a step looks at one by one: what change
// says is kept, and changed rows are copies.
func editTable[R any](before func() iter.Seq2[*R, error], a *Account, change func(*R) (keep bool)) func() iter.Seq2[*R, error] {
	return func() iter.Seq2[*R, error] {
		return func(yield func(*R, error) bool) {
			a.reset()
			var row R
			for r, err := range before() {
				if err != nil {
					yield(nil, err)
					return
				}
				a.read()
				row = *r
				if !change(&row) {
					continue
				}
				a.keep()
				if !yield(&row, nil) {
					return
				}
			}
		}
	}
}

// held reads a table once, nil when there is none.
func held[R any](rows func() iter.Seq2[*R, error]) (out []R, err error) {
	if rows == nil {
		return nil, nil
	}
	for r, err := range rows() {
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// again goes through rows in memory, nil when there are none.
func again[R any](rows []R) func() iter.Seq2[*R, error] {
	if len(rows) == 0 {
		return nil
	}
	return func() iter.Seq2[*R, error] {
		return func(yield func(*R, error) bool) {
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
	}
}

// Rules of the long tables.
const (
	ruleOutside = "outside the window"
	ruleCut     = "cut at the edge of the window"
)

// samples cuts the long tables.
func (w window) samples(out *Set, a *Account) {
	if out.LoadRows != nil {
		of := out.sub(a, "load")
		out.LoadRows = editTable(out.LoadRows, of, func(l *traces.Load) bool { return w.load(l, of) })
	}
	if out.TelemetryRows != nil {
		of := out.sub(a, "telemetry")
		out.TelemetryRows = editTable(out.TelemetryRows, of, func(t *traces.Telemetry) bool {
			if t.Time >= w.begin && t.Time < w.end {
				return true
			}
			count(&of.Dropped, ruleOutside, func() string { return t.Node + " at " + t.Time.String() })
			return false
		})
	}
	if out.InstanceRows != nil {
		of := out.sub(a, "mig")
		out.InstanceRows = editTable(out.InstanceRows, of, func(i *traces.Instance) bool {
			if i.Time >= w.begin && i.Time < w.end {
				return true
			}
			count(&of.Dropped, ruleOutside, func() string { return i.Node + " at " + i.Time.String() })
			return false
		})
	}
}

// load cuts a sample: one that lasts over an edge keeps the part of its arrivals
// that its part in the window has of its width.
func (w window) load(l *traces.Load, a *Account) (keep bool) {
	from, to := max(l.Time, w.begin), min(l.Time.Add(l.Width), w.end)
	if l.Width == 0 && l.Time >= w.begin && l.Time < w.end {
		return true
	}
	example := func() string { return l.Service + " at " + l.Time.String() }
	if from >= to {
		count(&a.Dropped, ruleOutside, example)
		return false
	}
	if part := to.Sub(from); part < l.Width {
		count(&a.Changed, ruleCut, example)
		if l.Arrivals.OK {
			l.Arrivals.V = l.Arrivals.V * float64(part) / float64(l.Width)
		}
		l.Time, l.Width = from, part
	}
	return true
}

// stretchTables multiplies the times of the long tables. The power of a GPU stays, so
// the energy that it counted grows with the time; bytes and errors stay.
func (s *Set) stretchTables(by ratio, a *Account) {
	if s.LoadRows != nil {
		of := s.sub(a, "load")
		s.LoadRows = editTable(s.LoadRows, of, func(l *traces.Load) bool {
			end := by.of(int64(l.Time.Add(l.Width)))
			l.Time = model.Time(by.of(int64(l.Time)))
			l.Width = model.Time(end).Sub(l.Time) // so that neighbours stay neighbours
			if l.Work.OK {
				l.Work.V = model.Duration(by.span(int64(l.Work.V)))
			}
			count(&of.Changed, "times multiplied", func() string { return l.Service })
			return true
		})
		s.LoadRows = checked("the load table", s.LoadRows, func(l *traces.Load) (column, of string) {
			return tooLarge([]string{"time", "width", "work"}, int64(l.Time), int64(l.Width), int64(l.Work.V)), l.Service
		})
	}
	if s.TelemetryRows != nil {
		of := s.sub(a, "telemetry")
		s.TelemetryRows = editTable(s.TelemetryRows, of, func(t *traces.Telemetry) bool {
			t.Time = model.Time(by.of(int64(t.Time)))
			if t.Energy.OK {
				t.Energy.V = by.of(t.Energy.V)
			}
			count(&of.Changed, "times multiplied", func() string { return t.Node })
			return true
		})
		s.TelemetryRows = checked("the telemetry table", s.TelemetryRows, func(t *traces.Telemetry) (column, of string) {
			return tooLarge([]string{"time", "energy"}, int64(t.Time), t.Energy.V), t.Node
		})
	}
	if s.InstanceRows != nil {
		of := s.sub(a, "mig")
		s.InstanceRows = editTable(s.InstanceRows, of, func(i *traces.Instance) bool {
			i.Time = model.Time(by.of(int64(i.Time)))
			count(&of.Changed, "times multiplied", func() string { return i.Node })
			return true
		})
		s.InstanceRows = checked("the table mig", s.InstanceRows, func(i *traces.Instance) (column, of string) {
			return tooLarge([]string{"time"}, int64(i.Time)), i.Node
		})
	}
}

// tooLarge is the first column whose number a trace cannot hold as a time, "" for none.
func tooLarge(columns []string, numbers ...int64) string {
	for i, n := range numbers {
		if !traces.Finite(n) {
			return columns[i]
		}
	}
	return ""
}

// concealTables gives services other names and removes what processes are called.
func (s *Set) concealTables(service func(string) string, a *Account) {
	if s.LoadRows != nil && service != nil {
		of := s.sub(a, "load")
		s.LoadRows = editTable(s.LoadRows, of, func(l *traces.Load) bool {
			l.Service = service(l.Service)
			count(&of.Changed, "service changed", func() string { return l.Service })
			return true
		})
	}
	if s.TelemetryRows != nil {
		of := s.sub(a, "telemetry")
		s.TelemetryRows = editTable(s.TelemetryRows, of, func(t *traces.Telemetry) bool {
			if t.Processes != "" {
				t.Processes = ""
				count(&of.Changed, "processes removed", func() string { return t.Node })
			}
			return true
		})
	}
	if s.InstanceRows != nil {
		of := s.sub(a, "mig")
		s.InstanceRows = editTable(s.InstanceRows, of, func(i *traces.Instance) bool {
			if i.Processes != "" {
				i.Processes = ""
				count(&of.Changed, "processes removed", func() string { return i.Node })
			}
			return true
		})
	}
}

// mergeTables merges the long tables by time. Of two traces that tell of the same
// service at once, or of one GPU at one instant, the earlier sample stays.
func (s *Set) mergeTables(parts []part, a *Account) {
	var loadParts []loads
	var gaugeParts []gauges
	var instanceParts []instances
	for i := range parts {
		loadParts = append(loadParts, parts[i].set.LoadRows)
		gaugeParts = append(gaugeParts, parts[i].set.TelemetryRows)
		instanceParts = append(instanceParts, parts[i].set.InstanceRows)
	}
	s.LoadRows, s.TelemetryRows, s.InstanceRows = nil, nil, nil
	if slices.ContainsFunc(loadParts, func(f loads) bool { return f != nil }) {
		of := s.sub(a, "load")
		s.LoadRows = func() iter.Seq2[*traces.Load, error] {
			type use struct {
				until model.Time
				part  int
			}
			busy := map[string]use{}
			return mergeSamples(loadParts, of, func(l *traces.Load) *model.Time { return &l.Time }, parts, func(i int, l *traces.Load) bool {
				had, known := busy[l.Service]
				if known && had.part != i && l.Time < had.until {
					count(&of.Dropped, "another trace has load of the service then", func() string { return l.Service + " at " + l.Time.String() })
					return false
				}
				busy[l.Service] = use{l.Time.Add(l.Width), i}
				return true
			})
		}
	}
	if slices.ContainsFunc(gaugeParts, func(f gauges) bool { return f != nil }) {
		of := s.sub(a, "telemetry")
		s.TelemetryRows = func() iter.Seq2[*traces.Telemetry, error] {
			type gpu struct {
				node  string
				index traces.Opt[int32]
				stat  string
			}
			last := map[gpu]model.Time{}
			return mergeSamples(gaugeParts, of, func(t *traces.Telemetry) *model.Time { return &t.Time }, parts, func(_ int, t *traces.Telemetry) bool {
				was, known := last[gpu{t.Node, t.GPU, t.Stat}]
				if known && was == t.Time {
					count(&of.Dropped, "another trace has a sample of the GPU then", func() string { return t.Node + " at " + t.Time.String() })
					return false
				}
				last[gpu{t.Node, t.GPU, t.Stat}] = t.Time
				return true
			})
		}
	}
	if slices.ContainsFunc(instanceParts, func(f instances) bool { return f != nil }) {
		of := s.sub(a, "mig")
		s.InstanceRows = func() iter.Seq2[*traces.Instance, error] {
			type instance struct {
				node       string
				gpu, id    int32
				uuid, stat string
			}
			last := map[instance]model.Time{}
			return mergeSamples(instanceParts, of, func(i *traces.Instance) *model.Time { return &i.Time }, parts, func(_ int, i *traces.Instance) bool {
				k := instance{i.Node, i.GPU, i.GPUInstance, i.UUID, i.Stat}
				if was, known := last[k]; known && was == i.Time {
					count(&of.Dropped, "another trace has a sample of the GPU instance then", func() string { return i.Node + " at " + i.Time.String() })
					return false
				}
				last[k] = i.Time
				return true
			})
		}
	}
}

// mergeSamples goes through a table of all parts by time, then by part.
func mergeSamples[R any](tables []func() iter.Seq2[*R, error], a *Account, at func(*R) *model.Time, parts []part, take func(int, *R) bool) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		a.reset()
		type head struct {
			next  func() (*R, error, bool)
			row   R
			there bool
		}
		heads := make([]head, len(tables))
		advance := func(i int) error {
			h := &heads[i]
			r, err, ok := h.next()
			if h.there = ok; !ok || err != nil {
				return err
			}
			h.row = *r
			*at(&h.row) = at(&h.row).Add(parts[i].shift)
			return nil
		}
		for i, rows := range tables {
			if rows == nil {
				continue
			}
			next, stop := iter.Pull2(rows())
			defer stop()
			heads[i].next = next
			if err := advance(i); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			least := -1
			for i := range heads {
				if heads[i].there && (least < 0 || *at(&heads[i].row) < *at(&heads[least].row)) {
					least = i
				}
			}
			if least < 0 {
				return
			}
			if least == 0 {
				a.read()
			} else {
				a.Added++
			}
			if take(least, &heads[least].row) {
				a.keep()
				if !yield(&heads[least].row, nil) {
					return
				}
			}
			if err := advance(least); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// drop leaves whole tables out.
type drop struct{ tables []string }

func newDrop(p *params) step {
	d := drop{tables: p.list("tables")}
	if len(d.tables) == 0 {
		p.fail("tables is missing: name those to leave out, tables=telemetry,prices")
	}
	for _, t := range d.tables {
		if !slices.Contains(traces.TableNames(), t) {
			p.fail("tables=%s: no table of a trace, want some of %s", t, strings.Join(traces.TableNames(), ", "))
		}
	}
	return d
}

func (d drop) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	out := *in
	for _, t := range d.tables {
		if t != "jobs" && !slices.Contains(in.has(), t) || t == "jobs" && in.jobless {
			return nil, fmt.Errorf("the trace has no table %s: it has %s", t, strings.Join(in.has(), ", "))
		}
		switch t {
		case "jobs":
			out.jobless, out.Deps = true, nil
			out.Meta.WarmStart, out.Meta.History = traces.Opt[model.Time]{}, 0
		case "deps":
			out.Deps = nil
		case "nodes":
			out.Nodes = nil
		case "tenants":
			out.Tenants = nil
		case "events":
			out.Events = nil
		case "prices":
			out.Prices = nil
		case "load":
			out.LoadRows = nil
		case "telemetry":
			out.TelemetryRows = nil
		case "mig":
			out.InstanceRows = nil
		}
	}
	left := out.has()
	if out.jobless && len(left) == 0 {
		return nil, &traces.DataError{File: in.Name, Found: "no table left", Expected: "one or more", Mend: "leave fewer tables out"}
	}
	out.Rows = in.edit(a, func(j *traces.Job) bool {
		if out.jobless {
			a.drop("jobs left out", j.ID)
		}
		return !out.jobless
	})
	a.note("left out: " + strings.Join(d.tables, ", "))
	return &out, nil
}

// byTime restores the order of prices that were shifted.
func byTime(prices []traces.Price) {
	slices.SortStableFunc(prices, func(a, b traces.Price) int { return cmp.Compare(a.Time, b.Time) })
}
