package traces

import (
	"math"
	"slices"
)

// JobField reads and changes one column of rows of the jobs table by its name,
// for tools that take the name from people.
type JobField struct{ f *field[Job] }

// JobFieldOf is the field of a column; false when there is none of that name.
func JobFieldOf(name string) (JobField, bool) {
	i := slices.IndexFunc(jobFields, func(f field[Job]) bool { return f.Name == name })
	if i < 0 {
		return JobField{}, false
	}
	return JobField{&jobFields[i]}, true
}

// JobFields lists the fields in the order of the columns.
func JobFields() []JobField {
	out := make([]JobField, len(jobFields))
	for i := range jobFields {
		out[i] = JobField{&jobFields[i]}
	}
	return out
}

// Column describes the column.
func (c JobField) Column() Column { return c.f.Column }

// Span says whether the column holds spans of time, in µs.
func (c JobField) Span() bool { return c.f.span() }

// Text is the value of a column of text, "" for a null.
func (c JobField) Text(j *Job) string { return c.f.load(j).s }

// SetText sets a column of text; "" is a null.
func (c JobField) SetText(j *Job, s string) { c.f.store(j, cell{null: s == "", s: s}) }

// Number is the value of a column of whole numbers, spans, booleans (0 and 1)
// or instants (relative to the epoch); false for a null.
func (c JobField) Number(j *Job) (n int64, ok bool) {
	v := c.f.load(j)
	return v.n, !v.null
}

// SetNumber sets such a column. n must fit its type.
func (c JobField) SetNumber(j *Job, n int64) { c.f.store(j, cell{n: n}) }

// Real is the value of a column of doubles; false for a null.
func (c JobField) Real(j *Job) (x float64, ok bool) {
	v := c.f.load(j)
	return math.Float64frombits(uint64(v.n)), !v.null
}
