package traces

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// survey is what one pass over all rows of a bundle finds out.
type survey struct {
	jobs, deps, nodes tableHash
	sorted            bool
}

// survey reads everything once.
func (b *Bundle) survey() (*survey, error) {
	s := &survey{}
	return s, s.read(b, func(int64, *Job) {}, func(int64, *Dep) {}, func(int64, *Node) {})
}

// read feeds the digests and hands every row, numbered from 1, to its visitor.
func (s *survey) read(b *Bundle, job func(int64, *Job), dep func(int64, *Dep), node func(int64, *Node)) error {
	last := model.AbsentTime
	s.sorted = true
	err := digest(b.jobs, b.meta.Epoch, &s.jobs, func(row int64, j *Job) error {
		if j.Submit < last {
			if b.meta.Sorted {
				return orderError(b.jobs.path, row, j.Submit, last)
			}
			s.sorted = false
		}
		last = j.Submit
		job(row, j)
		return nil
	})
	if err == nil && b.nodeTable != nil {
		err = digest(b.nodeTable, b.meta.Epoch, &s.nodes, func(row int64, n *Node) error { node(row, n); return nil })
	}
	if err == nil && b.deps != nil {
		err = digest(b.deps, b.meta.Epoch, &s.deps, func(row int64, d *Dep) error { dep(row, d); return nil })
	}
	return err
}

// content is the hash of what was read.
func (s *survey) content(m *Meta) string { return contentHash(m, &s.jobs, &s.deps, &s.nodes) }

func digest[R any](t *tableReader[R], epoch model.Time, h *tableHash, visit func(int64, *R) error) error {
	h.columns = make([]columnHash, len(t.fields))
	for r, err := range t.rows(epoch) {
		if err != nil {
			return err
		}
		h.rows++
		for i := range t.fields {
			f := &t.fields[i]
			if _, err := f.value(f.load(r), epoch, &h.columns[i]); err != nil {
				return rangeError(t.path, &f.Column, h.rows, err.Error())
			}
		}
		if err := visit(h.rows, r); err != nil {
			return err
		}
	}
	return nil
}

// Validate reads the whole trace at path and checks what Open takes on trust:
// that submissions ascend when the trace claims so, that
// no row is impossible, that dependencies name jobs of the trace, and that the
// content has the hash that the metadata states. Report.Dropped counts the
// faulty rows under the first rule that each one breaks, with an example; a
// valid trace has none. Report.Repaired notes ids that are used twice, which is
// no fault. The error is nil only for a valid trace. Memory does not
// grow with the jobs when their ids ascend and there are no dependencies; else
// it is 8 bytes for each job.
func Validate(path string) (Report, error) {
	r := Report{File: path, Format: "trace bundle", Importer: fmt.Sprintf("orrery trace validate, schema %d", SchemaVersion)}
	b, err := Open(path)
	if err != nil {
		return r, err
	}
	defer b.Close() // read only
	v := validator{bundle: b, report: &r, names: map[string]bool{}, ascending: true, last: math.MinInt64}
	var s survey
	err = s.read(b, v.job, v.dep, v.node)
	if err == nil {
		err = v.uniqueIDs()
	}
	if err != nil {
		return r, err
	}
	if !b.info.Sorted {
		r.Repair("not sorted by submission", "a replay needs the rows in order")
	}
	if got := s.content(&b.meta); got != b.info.Hash {
		return r, &DataError{File: path, Found: "content with the hash " + got, Expected: b.info.Hash + ", as the metadata states",
			Mend: "the rows were altered after the trace was written: import the log again"}
	}
	if len(r.Dropped) > 0 {
		n := r.Read - r.Kept
		return r, &DataError{File: path, Found: fmt.Sprintf("%d faulty rows, the first by the rule %q: %s", n, r.Dropped[0].Rule, r.Dropped[0].Example),
			Expected: "none", Mend: "correct the rows, or import the log again, which drops and counts them"}
	}
	return r, nil
}

// validator applies the rules to each row.
type validator struct {
	bundle    *Bundle
	report    *Report
	ascending bool  // so far every job has a higher id than the one before
	last      int64 // id
	ids       []int64
	names     map[string]bool // of nodes
	err       error
}

// verdict counts a row that breaks rule; "" is none.
func (v *validator) verdict(rule, example string) {
	v.report.Read++
	if rule == "" {
		v.report.Kept++
		return
	}
	v.report.Drop(rule, example)
}

func (v *validator) job(row int64, j *Job) {
	v.ascending = v.ascending && j.ID > v.last
	v.last = j.ID
	for i := range jobRules {
		if jobRules[i].broken(j) {
			v.verdict(jobRules[i].name, fmt.Sprintf("jobs row %d, id %d", row, j.ID))
			return
		}
	}
	v.verdict("", "")
}

func (v *validator) node(row int64, n *Node) {
	rule := ""
	switch {
	case n.Name == "":
		rule = "node without a name"
	case v.names[n.Name]:
		rule = "node name used twice"
	case n.GPUs < 0 || n.CPUs < 0 || n.Memory < 0:
		rule = "negative size of a node"
	}
	v.names[n.Name] = true
	v.verdict(rule, fmt.Sprintf("nodes row %d, %s", row, n.Name))
}

func (v *validator) dep(row int64, d *Dep) {
	v.loadIDs()
	rule := ""
	switch {
	case v.err != nil:
	case !v.known(d.Job) || !v.known(d.On):
		rule = "dependency on a job that is not in the trace"
	case v.twice(d.Job) || v.twice(d.On):
		rule = "dependency on a job id that is used twice"
	case d.Job == d.On:
		rule = "dependency of a job on itself"
	case !slices.Contains(conditions, d.Condition):
		rule = "unknown condition of a dependency"
	}
	v.verdict(rule, fmt.Sprintf("deps row %d, %d on %d", row, d.Job, d.On))
}

// loadIDs reads the ids of all jobs, which have been seen once, and sorts them.
func (v *validator) loadIDs() {
	if v.ids != nil || v.err != nil {
		return
	}
	src := newJobSource(v.bundle)
	defer src.Close() // never fails
	v.ids = make([]int64, 0, v.bundle.info.Rows)
	for b := (Batch{}); ; {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			v.err = err
			return
		}
		v.ids = append(v.ids, b.ID...)
	}
	slices.Sort(v.ids)
}

func (v *validator) known(id int64) bool {
	_, ok := slices.BinarySearch(v.ids, id)
	return ok
}

// twice says whether two jobs have the id; somebody must.
func (v *validator) twice(id int64) bool {
	i, _ := slices.BinarySearch(v.ids, id)
	return i+1 < len(v.ids) && v.ids[i+1] == id
}

// uniqueIDs notes repeated ids: real logs have them (jobs that were requeued,
// numbers that wrapped), and rows are told apart by their position.
func (v *validator) uniqueIDs() error {
	if !v.ascending {
		v.loadIDs()
	}
	for i := 1; i < len(v.ids); i++ {
		if v.ids[i] == v.ids[i-1] {
			v.report.Repair("job id used twice", fmt.Sprintf("id %d", v.ids[i]))
		}
	}
	return v.err
}
