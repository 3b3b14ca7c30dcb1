package traces

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

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
	v := validator{Rules: NewRules(), bundle: b, report: &r, ascending: true, last: math.MinInt64}
	v.nodesKnown, v.tenantsKnown = b.nodes.table != nil, b.tenants.table != nil
	var s survey
	err = s.read(b, &v)
	if err == nil {
		err = v.uniqueIDs()
	}
	if err == nil && len(r.Dropped) == 0 {
		err = b.noCircle()
	}
	if err != nil {
		return r, err
	}
	if !b.info.Sorted {
		r.Repair("not sorted by submission", "a replay needs the rows in order")
	}
	if got := s.content(&b.meta); got != b.info.Hash {
		return r, b.altered(got)
	}
	if len(r.Dropped) > 0 {
		n := r.Read - r.Kept
		return r, &DataError{File: path, Found: fmt.Sprintf("%d faulty rows, the first by the rule %q: %s", n, r.Dropped[0].Rule, r.Dropped[0].Example),
			Expected: "none", Mend: "correct the rows, or import the log again, which drops and counts them"}
	}
	return r, nil
}

// noCircle refuses dependencies under which some jobs never start.
func (b *Bundle) noCircle() error {
	d, err := b.Dependencies(false)
	if err != nil {
		return err
	}
	if c := d.Circle(); c != nil {
		return &DataError{File: b.deps.path, Found: fmt.Sprintf("%d jobs that wait for each other in a circle, one of them in row %d of the jobs", len(c), c[0]+1),
			Expected: "none", Mend: "take out one of their dependencies"}
	}
	return nil
}

// validator applies the rules to each row.
type validator struct {
	*Rules
	bundle    *Bundle
	report    *Report
	ascending bool  // so far every job has a higher id than the one before
	last      int64 // id
	ids       []int64
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
	v.verdict(v.Rules.Job(j), fmt.Sprintf("jobs row %d, id %d", row, j.ID))
}

func (v *validator) node(row int64, n *Node) {
	v.verdict(v.Rules.Node(n), fmt.Sprintf("nodes row %d, %s", row, n.Name))
}

func (v *validator) tenant(row int64, t *Tenant) {
	v.verdict(v.Rules.tenant(t), fmt.Sprintf("tenants row %d, %s", row, t.Name))
}

func (v *validator) event(row int64, e *Event) {
	v.verdict(v.Rules.Event(e), fmt.Sprintf("events row %d, %s", row, e.Kind))
}

func (v *validator) price(row int64, p *Price) {
	v.verdict(v.Rules.Price(p), fmt.Sprintf("prices row %d", row))
}

func (v *validator) load(row int64, l *Load) {
	v.verdict(v.Rules.Load(l), fmt.Sprintf("load row %d, %s", row, l.Service))
}

func (v *validator) telemetry(row int64, t *Telemetry) {
	v.verdict(v.Rules.telemetry(t), fmt.Sprintf("telemetry row %d, %s", row, t.Node))
}

func (v *validator) instance(row int64, i *Instance) {
	v.verdict(v.Rules.instance(i), fmt.Sprintf("mig row %d, %s", row, i.Node))
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

// twice says whether two jobs have the id; at least one must.
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
