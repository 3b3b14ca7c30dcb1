package traces

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"orrery/scheduler/model"
)

// Value is one value of any column. Whole numbers, spans, instants (relative to
// the epoch), booleans (0 and 1) and, as their IEEE 754 bits, doubles are in
// Number, text is in Text.
type Value struct {
	Null   bool
	Number int64
	Text   string
}

// Real is the value of a column of doubles.
func (v Value) Real() float64 { return math.Float64frombits(uint64(v.Number)) }

// RealValue is a value for a column of doubles.
func RealValue(x float64) Value { return Value{Number: int64(math.Float64bits(x))} }

// Columns lists the columns of a table of TableNames.
func Columns(table string) []Column {
	switch table {
	case "jobs":
		return JobColumns()
	case "deps":
		return columnsOf(depFields)
	case "nodes":
		return columnsOf(nodeFields)
	case "tenants":
		return columnsOf(tenantFields)
	case "events":
		return columnsOf(eventFields)
	case "prices":
		return columnsOf(priceFields)
	case "load":
		return columnsOf(loadFields)
	case "telemetry":
		return columnsOf(telemetryFields)
	case "mig":
		return columnsOf(instanceFields)
	}
	return nil
}

// Values iterates over the rows of a table of TableNames, in the order of its
// columns, for tools that show any table; there are none when the bundle lacks it.
// A row is valid until the next.
func (b *Bundle) Values(table string) iter.Seq2[[]Value, error] {
	epoch := b.meta.Epoch
	switch table {
	case "jobs":
		return valuesOf(b.jobs, epoch)
	case "deps":
		return valuesOf(b.deps, epoch)
	case "nodes":
		return valuesOf(b.nodes.table, epoch)
	case "tenants":
		return valuesOf(b.tenants.table, epoch)
	case "events":
		return valuesOf(b.events.table, epoch)
	case "prices":
		return valuesOf(b.prices.table, epoch)
	case "load":
		return valuesOf(b.load, epoch)
	case "mig":
		return valuesOf(b.parts, epoch)
	}
	return valuesOf(b.gauges, epoch)
}

func valuesOf[R any](t *tableReader[R], epoch model.Time) iter.Seq2[[]Value, error] {
	return func(yield func([]Value, error) bool) {
		if t == nil {
			return
		}
		row := make([]Value, len(t.fields))
		for r, err := range t.rows(epoch) {
			if err == nil {
				for i := range t.fields {
					c := t.fields[i].load(r)
					row[i] = Value{c.null, c.n, c.s}
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Record is a row of any table that is set by its columns, for importers that
// learn from people which column holds what. A column that is not set is null, or
// zero where there are no nulls.
type Record struct {
	columns []Column
	set     func(column int, c cell)
	clear   func()
	write   func(*Writer) error
	rule    func(*Rules) string
	at      func() model.Time
	series  func() (string, bool)
	measure measured // nil in tables without measurements
}

// measured is a row of measurements, some of which may be none.
type measured interface {
	LeaveOut(tell func(column, why string, v float64))
}

// NewRecord makes an empty row of a table of TableNames; false for others, and for
// deps, whose rows mean nothing without the jobs.
func NewRecord(table string) (*Record, bool) {
	switch table {
	case "jobs":
		return recordOf(jobFields, (*Writer).WriteJob, (*Rules).Job, func(j *Job) model.Time { return j.Submit }), true
	case "nodes":
		return recordOf(nodeFields, func(w *Writer, n *Node) error { return w.WriteNode(*n) }, (*Rules).Node, nil), true
	case "tenants":
		return recordOf(tenantFields, func(w *Writer, t *Tenant) error { return w.WriteTenant(*t) }, (*Rules).tenant, nil), true
	case "events":
		return recordOf(eventFields, func(w *Writer, e *Event) error { return w.WriteEvent(*e) }, (*Rules).Event, func(e *Event) model.Time { return e.Time }), true
	case "prices":
		return recordOf(priceFields, func(w *Writer, p *Price) error { return w.WritePrice(*p) }, (*Rules).Price, func(p *Price) model.Time { return p.Time }), true
	case "load":
		return recordOf(loadFields, (*Writer).WriteLoad, (*Rules).Load, func(l *Load) model.Time { return l.Time }), true
	case "telemetry":
		return recordOf(telemetryFields, (*Writer).WriteTelemetry, (*Rules).telemetry, func(t *Telemetry) model.Time { return t.Time }), true
	case "mig":
		return recordOf(instanceFields, (*Writer).WriteInstance, (*Rules).instance, func(i *Instance) model.Time { return i.Time }), true
	}
	return nil, false
}

func recordOf[R any](fields []field[R], write func(*Writer, *R) error, rule func(*Rules, *R) string, at func(*R) model.Time) *Record {
	var row R
	r := &Record{
		columns: columnsOf(fields),
		set:     func(i int, c cell) { fields[i].store(&row, c) },
		write:   func(w *Writer) error { return write(w, &row) },
		rule:    func(rules *Rules) string { return rule(rules, &row) },
		at:      func() model.Time { return model.AbsentTime },
		series:  func() (string, bool) { return seriesOf(&row) },
	}
	r.measure, _ = any(&row).(measured)
	if at != nil {
		r.at = func() model.Time { return at(&row) }
	}
	r.clear = func() {
		var zero R
		row = zero
		for i := range fields {
			if f := fields[i].fallback; f != nil {
				fields[i].store(&row, *f)
			}
		}
	}
	r.clear()
	return r
}

// Column is the place of a column of that name, -1 when there is none.
func (r *Record) Column(name string) int {
	return slices.IndexFunc(r.columns, func(c Column) bool { return c.Name == name })
}

// Clear makes the row empty.
func (r *Record) Clear() { r.clear() }

// Set sets a column; the value must fit its type.
func (r *Record) Set(column int, v Value) {
	r.set(column, cell{null: v.Null || r.columns[column].Type == String && v.Text == "", n: v.Number, s: v.Text})
}

// LeaveOut takes out of a row of telemetry or mig the values that are no measurements of their columns, as Telemetry.LeaveOut does.
func (r *Record) LeaveOut(tell func(column, why string, v float64)) {
	if r.measure != nil {
		r.measure.LeaveOut(tell)
	}
}

// Broken is the rule that the row breaks behind those that rules have seen, ""
// when it breaks none.
func (r *Record) Broken(rules *Rules) string { return r.rule(rules) }

// At is when the row is: its submission or time, AbsentTime in tables without one.
func (r *Record) At() model.Time { return r.at() }

// Series names what has one row for an instant in the table of the row; false where several rows may be of one.
func (r *Record) Series() (string, bool) { return r.series() }

// seriesOf is the service of load, the GPU of telemetry, the instance of mig, and nothing of prices, of which there is one at a time.
func seriesOf(row any) (string, bool) {
	switch r := row.(type) {
	case *Price:
		return "", true
	case *Load:
		return r.Service, true
	case *Telemetry:
		gpu := "node"
		if r.GPU.OK {
			gpu = strconv.Itoa(int(r.GPU.V))
		}
		return r.Node + "\x00" + gpu + "\x00" + r.Stat, true
	case *Instance:
		return fmt.Sprintf("%s\x00%d\x00%d\x00%s\x00%s", r.Node, r.GPU, r.GPUInstance, r.UUID, r.Stat), true
	}
	return "", false
}

// Write appends the row to its table.
func (r *Record) Write(w *Writer) error { return r.write(w) }
