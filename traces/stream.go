package traces

import (
	"errors"
	"io"
	"iter"
	"slices"

	"orrery/internal/pagecheck"
	"orrery/scheduler/model"
)

const sourceRows = 8192 // rows in a Batch

// jobSource implements Source over the typed pages of a bundle. Memory is
// bounded by a page of each column it reads plus the distinct user names.
type jobSource struct {
	b       *Bundle
	columns map[string]*cursor
	opened  []*cursor // the same in the order of opening
	check   *pagecheck.Checker
	texts   *Texts // nil when attributes were not asked for
	users   interner
	row     int64
	last    model.Time
	wide    []int64
	err     error // sticky
}

// batchColumns are the columns of a Batch.
var batchColumns = []string{"id", "submit", "start", "runtime", "walltime", "cancelled_at", "procs_requested",
	"procs_allocated", "nodes_min", "cpus_per_node", "gpus_per_node", "user"}

func newJobSource(b *Bundle) *jobSource {
	s := &jobSource{b: b, columns: map[string]*cursor{}, last: model.AbsentTime,
		users: interner{ids: map[string]int32{}}, wide: make([]int64, sourceRows)}
	if b.jobs == nil {
		return s // there is nothing to read
	}
	s.check = b.jobs.checker()
	for _, name := range batchColumns {
		s.open(name)
	}
	return s
}

// open puts a cursor before the first row of a column.
func (s *jobSource) open(name string) {
	c := s.b.cursor(name, s.check)
	s.columns[name] = c
	s.opened = append(s.opened, c)
}

// cursor is one before the first row of a column of the jobs table.
func (b *Bundle) cursor(name string, check *pagecheck.Checker) *cursor {
	i := slices.IndexFunc(jobFields, func(f field[Job]) bool { return f.Name == name })
	c := &cursor{file: b.jobs.parquet, path: b.jobs.path, column: jobFields[i].Column, lay: b.jobs.lays[i], check: check}
	if c.column.Type == Timestamp {
		c.base = int64(b.info.Epoch)
	}
	return c
}

func (s *jobSource) Info() Info      { return s.b.info }
func (s *jobSource) Users() []string { return s.users.names }
func (s *jobSource) Nodes() []Node   { return s.b.nodes.rows }

// Tenants implements Source.
func (s *jobSource) Tenants() []Tenant { return s.b.Tenants() }

// Events implements Source.
func (s *jobSource) Events() []Event { return s.b.Events() }

// Prices implements Source.
func (s *jobSource) Prices() []Price { return s.b.Prices() }

// Load implements Source.
func (s *jobSource) Load() iter.Seq2[*Load, error] { return s.b.Load() }

// Dependencies implements Source.
func (s *jobSource) Dependencies(afterJob bool) (*Dependencies, error) {
	return s.b.Dependencies(afterJob)
}

// Close implements Source; the bundle stays open.
func (s *jobSource) Close() error {
	for _, c := range s.opened {
		c.closePages()
	}
	if s.err == nil {
		s.err = errClosed
	}
	return nil
}

var (
	errClosed = errors.New("the trace source is closed")
	errAttr   = errors.New("attributes of a trace are asked for before its first batch, and then for every batch")
)

// Next implements Source. An error is final.
func (s *jobSource) Next(b *Batch) error {
	if s.err == nil {
		s.err = s.next(b)
	}
	return s.err
}

func (s *jobSource) next(b *Batch) error {
	if s.b.jobs == nil {
		b.resize(0)
		return io.EOF
	}
	if s.row == 0 && b.Attr != nil && s.texts == nil {
		s.openAttributes()
	}
	if (b.Attr != nil) != (s.texts != nil) {
		return errAttr
	}
	n := int(min(s.b.info.Rows-s.row, sourceRows))
	if n == 0 {
		b.resize(0)
		return io.EOF
	}
	b.resize(n)
	b.First = model.JobID(s.row)
	if err := s.times(b); err != nil {
		return err
	}
	if err := s.counts(b); err != nil {
		return err
	}
	if b.Attr != nil {
		if err := s.attributes(b); err != nil {
			return err
		}
	}
	if b.wants(columnRanOn) {
		if err := s.ran(b); err != nil {
			return err
		}
	}
	if b.Past != nil {
		if err := s.past(b); err != nil {
			return err
		}
	}
	if s.b.info.Sorted && b.wants("submit") {
		if err := s.ascending(b); err != nil {
			return err
		}
	}
	s.row += int64(n)
	return nil
}

// openAttributes opens the columns of Attributes.
func (s *jobSource) openAttributes() {
	s.texts = newTexts()
	for _, names := range [][]string{textColumns[:], countColumns[:], sizeColumns[:], instantColumns[:], flagColumns[:],
		{"think_time", "comm_fraction"}} {
		for _, name := range names {
			s.open(name)
		}
	}
}

// attributes fills those columns of the attributes of b that are wanted.
func (s *jobSource) attributes(b *Batch) error {
	a := b.Attr
	a.Texts = s.texts
	for i, name := range textColumns {
		if !b.wants(name) {
			continue
		}
		if err := s.columns[name].ids(a.Text[i], &s.texts.tables[i]); err != nil {
			return err
		}
	}
	for i, id := range a.Text[TextKind] {
		if id < 0 { // in a file that others wrote
			a.Text[TextKind][i] = s.texts.tables[TextKind].id([]byte(kindBounded))
		}
	}
	for i, c := range a.counts() {
		if !b.wants(countColumns[i]) {
			continue
		}
		if err := s.columns[countColumns[i]].int32s(*c, s.wide); err != nil {
			return err
		}
	}
	for i, c := range a.sizes() {
		if err := numbers(s, b, sizeColumns[i], *c); err != nil {
			return err
		}
	}
	for i, c := range a.instants() {
		if err := numbers(s, b, instantColumns[i], *c); err != nil {
			return err
		}
	}
	for i, c := range a.flags() {
		if !b.wants(flagColumns[i]) {
			continue
		}
		if err := s.columns[flagColumns[i]].bools(*c); err != nil {
			return err
		}
	}
	if err := numbers(s, b, "think_time", a.ThinkTime); err != nil {
		return err
	}
	if !b.wants("comm_fraction") {
		return nil
	}
	return s.columns["comm_fraction"].shares(a.CommFraction)
}

// numbers fills a column of 64-bit numbers, if it is wanted.
func numbers[T ~int64](s *jobSource, b *Batch, name string, dst []T) error {
	if !b.wants(name) {
		return nil
	}
	return int64s(s.columns[name], dst)
}

// ran fills RanOn while the rows are of before the warm start. Behind it the column is not
// read, unless Past is asked for.
func (s *jobSource) ran(b *Batch) error {
	warm := s.b.info.WarmStart
	before := warm.OK && b.Submit[0] < warm.V
	if b.RanOn = nil; !before && b.Past == nil {
		return nil
	}
	texts, err := s.strings(columnRanOn, b.Len())
	if before {
		b.RanOn = texts
	}
	if b.Past != nil {
		b.Past.RanOn = texts
	}
	return err
}

// past fills Batch.Past.
func (s *jobSource) past(b *Batch) (err error) {
	r := b.Past
	if r.Name, err = s.strings("name", b.Len()); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		dst  *[]int32
	}{{"nodes_allocated", &r.Nodes}, {"gpus_allocated", &r.GPUs}} {
		if s.row == 0 {
			s.open(c.name)
		}
		*c.dst = slices.Grow((*c.dst)[:0], b.Len())[:b.Len()]
		if err := s.columns[c.name].int32s(*c.dst, s.wide); err != nil {
			return err
		}
	}
	return nil
}

// strings are the texts of a column in the next n rows, "" for nulls. Unlike other texts they are kept for the batch alone: most are distinct. The column is
// read from the first row on, or never.
func (s *jobSource) strings(column string, n int) ([]string, error) {
	if s.row == 0 {
		s.open(column)
	}
	in, ids := interner{ids: map[string]int32{}}, make([]int32, n)
	fill(ids, -1)
	if c := s.columns[column]; c != nil {
		if err := c.ids(ids, &in); err != nil {
			return nil, err
		}
		c.view.text.unassign(len(c.view.text.ids)) // the next batch has an interner of its own
	}
	out := make([]string, n)
	for i, id := range ids {
		if id >= 0 {
			out[i] = in.names[id]
		}
	}
	return out, nil
}

func (s *jobSource) times(b *Batch) error {
	if err := numbers(s, b, "id", b.ID); err != nil {
		return err
	}
	if err := numbers(s, b, "submit", b.Submit); err != nil {
		return err
	}
	if err := numbers(s, b, "start", b.Start); err != nil {
		return err
	}
	if err := numbers(s, b, "cancelled_at", b.CancelledAt); err != nil {
		return err
	}
	if err := numbers(s, b, "runtime", b.Runtime); err != nil {
		return err
	}
	return numbers(s, b, "walltime", b.Walltime)
}

func (s *jobSource) counts(b *Batch) error {
	for _, c := range []struct {
		name string
		dst  []int32
	}{
		{"procs_requested", b.ProcsRequested}, {"procs_allocated", b.ProcsAllocated}, {"nodes_min", b.NodesMin},
		{"cpus_per_node", b.CPUsPerNode}, {"gpus_per_node", b.GPUsPerNode},
	} {
		if !b.wants(c.name) {
			continue
		}
		if err := s.columns[c.name].int32s(c.dst, s.wide); err != nil {
			return err
		}
	}
	if !b.wants("user") {
		return nil
	}
	return s.columns["user"].ids(b.User, &s.users)
}

// ascending holds the trace to its claim.
func (s *jobSource) ascending(b *Batch) error {
	for i, t := range b.Submit {
		if t < s.last {
			return orderError(s.b.jobs.path, s.row+int64(i)+1, t, s.last)
		}
		s.last = t
	}
	return nil
}

func orderError(path string, row int64, t, before model.Time) error {
	return &DataError{File: path, Row: row, Column: "submit", Found: t.String() + " after the epoch",
		Expected: "no earlier than the row before, " + before.String() + ", since the trace claims to be sorted",
		Mend:     "sort the jobs by submission and import them again"}
}

// resize makes every column n long, keeping memory.
func (b *Batch) resize(n int) {
	resizeTo(&b.ID, n)
	resizeTo(&b.Submit, n)
	resizeTo(&b.Start, n)
	resizeTo(&b.Runtime, n)
	resizeTo(&b.Walltime, n)
	resizeTo(&b.CancelledAt, n)
	resizeTo(&b.ProcsRequested, n)
	resizeTo(&b.ProcsAllocated, n)
	resizeTo(&b.NodesMin, n)
	resizeTo(&b.CPUsPerNode, n)
	resizeTo(&b.GPUsPerNode, n)
	resizeTo(&b.User, n)
	if b.Attr != nil {
		b.Attr.resize(n, b.wants)
	}
}

func resizeTo[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n, sourceRows)
	}
	*s = (*s)[:n]
}
