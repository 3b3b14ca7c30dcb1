// Package transform makes traces out of traces: windows with a warm start,
// selections, other loads, other times, small perturbations, resampled weeks,
// mergers, names that say nothing. A recipe of steps is declared before anything
// is read, every row that a step drops, adds or changes is counted by rule, and
// both are kept in the trace that comes out. The same recipe on the same content
// gives the same rows: draws are keyed by seed, purpose and job. It does not know
// what a replay makes of a trace.
package transform

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Set is a trace as steps see it: its rows as a sequence in order of submission,
// and the small tables whole. Sets do not change; a step makes a new one, whose
// rows are made while they are read. A Set is used by one goroutine; the
// Memory that Collect makes of it by any number.
type Set struct {
	Name    string
	Meta    traces.Meta
	Deps    []traces.Dep
	Nodes   []traces.Node
	Tenants []traces.Tenant
	Events  []traces.Event // ascending by time
	Prices  []traces.Price // ascending by time
	// Rows begins at the first row with each call. A row is valid until the next
	// and is not to be changed.
	Rows func() iter.Seq2[*traces.Job, error]
	// LoadRows, TelemetryRows and InstanceRows are the tables load, telemetry and mig in the same way,
	// nil when there is none.
	LoadRows      func() iter.Seq2[*traces.Load, error]
	TelemetryRows func() iter.Seq2[*traces.Telemetry, error]
	InstanceRows  func() iter.Seq2[*traces.Instance, error]

	jobless  bool       // it has other tables and no jobs
	pending  []*Account // of the long tables, in the step under way
	inputs   []Input
	size     int64 // of the rows, as far as is known: space for copies
	steps    []string
	accounts []*Account
}

// Input is a trace from which another was made.
type Input struct {
	Name string `json:"name,omitempty"`
	Hash string `json:"hash"` // of its content
	// Recipe is its own: an object where that is JSON, else a string.
	Recipe json.RawMessage `json:"recipe,omitempty"`
}

// Open is the Set of a bundle, which must be sorted and stay open. Memory does
// not grow with its jobs.
func Open(b *traces.Bundle) (*Set, error) {
	info := b.Info()
	if !info.Sorted {
		return nil, &traces.DataError{File: info.Name, Found: "jobs that do not ascend by submission", Expected: "a sorted trace", Mend: "sort the jobs by submission and import them again"}
	}
	s := &Set{
		Name: info.Name, Meta: b.Meta(), Nodes: b.Nodes(), Tenants: b.Tenants(), Events: b.Events(), Prices: b.Prices(),
		Rows:   b.Rows,
		inputs: []Input{{Name: info.Name, Hash: info.Hash, Recipe: nested(b.Meta().Recipe)}}, size: info.Rows,
	}
	if info.Of("load") > 0 {
		s.LoadRows = b.Load
	}
	if info.Of("telemetry") > 0 {
		s.TelemetryRows = b.Telemetry
	}
	if info.Of("mig") > 0 {
		s.InstanceRows = b.Instances
	}
	s.jobless = info.Rows == 0 && len(info.Tables) > 0
	for d, err := range b.Deps() {
		if err != nil {
			return nil, err
		}
		s.Deps = append(s.Deps, *d)
	}
	return s, nil
}

// FromTables is the Set of rows in memory, in order of submission.
func FromTables(name string, meta traces.Meta, t traces.Tables) (*Set, error) {
	m, err := traces.NewMemory(name, meta, t)
	if err != nil {
		return nil, err
	}
	if !m.Info().Sorted {
		return nil, fmt.Errorf("the trace %s: the jobs do not ascend by submission: sort them first", name)
	}
	info := m.Info()
	return &Set{
		LoadRows: again(t.Load), TelemetryRows: again(t.Telemetry), InstanceRows: again(t.Instances), jobless: info.Rows == 0 && len(info.Tables) > 0,
		Name: name, Meta: meta, Deps: t.Deps, Nodes: t.Nodes, Tenants: t.Tenants, Events: t.Events, Prices: t.Prices,
		Rows: rowsOf(t.Jobs), size: int64(len(t.Jobs)), inputs: []Input{{Name: name, Hash: m.Info().Hash, Recipe: nested(meta.Recipe)}},
	}, nil
}

// Rename sets the name under which the trace is known to people and its recipe.
func (s *Set) Rename(name string) {
	s.Name = name
	s.inputs = slices.Clone(s.inputs)
	s.inputs[0].Name = name
}

func rowsOf(jobs []traces.Job) func() iter.Seq2[*traces.Job, error] {
	return func() iter.Seq2[*traces.Job, error] {
		return func(yield func(*traces.Job, error) bool) {
			for i := range jobs {
				if !yield(&jobs[i], nil) {
					return
				}
			}
		}
	}
}

// Hold reads the rows once and keeps them, about 900 bytes a job and 300 a sample of
// load or telemetry, so that what is
// made of the Set again and again need not read or make them anew.
func (s *Set) Hold() (*Set, error) {
	jobs, err := s.jobs()
	if err != nil {
		return nil, err
	}
	load, err := held(s.LoadRows)
	if err != nil {
		return nil, err
	}
	telemetry, err := held(s.TelemetryRows)
	if err != nil {
		return nil, err
	}
	instances, err := held(s.InstanceRows)
	if err != nil {
		return nil, err
	}
	out := *s
	out.Rows, out.accounts = rowsOf(jobs), nil
	out.LoadRows, out.TelemetryRows, out.InstanceRows = again(load), again(telemetry), again(instances)
	for _, a := range s.accounts {
		kept := *a // of this reading: the next reads no step
		out.accounts = append(out.accounts, &kept)
	}
	return &out, nil
}

// jobs are the rows, whole.
func (s *Set) jobs() (jobs []traces.Job, err error) {
	jobs = make([]traces.Job, 0, s.size)
	for j, err := range s.Rows() {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, *j)
	}
	return jobs, nil
}

// Collect makes a trace in memory, for replays without a file. Its recipe is not
// kept; its content hash is that of the trace that Write would make.
func (s *Set) Collect() (*traces.Memory, error) {
	jobs, err := s.jobs()
	if err != nil {
		return nil, err
	}
	known := s.named()
	for i := range jobs {
		known.meet(jobs[i].ID)
	}
	deps, _ := known.cut(s.Deps)
	events, _ := known.present(s.Events)
	load, err := held(s.LoadRows)
	if err != nil {
		return nil, err
	}
	telemetry, err := held(s.TelemetryRows)
	if err != nil {
		return nil, err
	}
	instances, err := held(s.InstanceRows)
	if err != nil {
		return nil, err
	}
	return traces.NewMemory(s.Name, s.Meta, traces.Tables{
		Jobs: jobs, Deps: deps, Nodes: s.Nodes, Tenants: s.Tenants, Events: events, Prices: s.Prices, Load: load, Telemetry: telemetry, Instances: instances,
	})
}

// Result says what became of a trace that was written.
type Result struct {
	Hash     string     // of the content
	Recipe   string     // of the steps and the inputs
	Jobs     int64      // written
	Accounts []*Account // of the steps in order, and of what was cut at the end
}

// Write writes the trace to path, which ends in .trace or .parquet. watch, if not
// nil, is called every few thousand rows with the number written; an error from
// it ends the writing, and nothing is left. A trace whose steps left no job, or no row
// where it had no jobs, is not written: the error, a *traces.DataError, says which.
func (s *Set) Write(path string, watch func(jobs int64) error) (res Result, err error) {
	return s.WriteBy(func(meta traces.Meta) (*traces.Writer, error) { return traces.NewWriter(path, meta) }, watch)
}

// WriteBy is Write with a writer that create starts.
func (s *Set) WriteBy(create func(traces.Meta) (*traces.Writer, error), watch func(jobs int64) error) (res Result, err error) {
	meta := s.Meta
	meta.Sorted, meta.Recipe = true, ""
	out, err := create(meta)
	if err != nil {
		return res, err
	}
	defer out.Abort()
	known := s.named()
	for j, err := range s.Rows() {
		if err == nil {
			err = out.WriteJob(j)
		}
		if err == nil && watch != nil && out.Jobs()%4096 == 0 {
			err = watch(out.Jobs())
		}
		if err != nil {
			return res, err
		}
		known.meet(j.ID)
	}
	if out.Jobs() == 0 && !s.jobless {
		return res, s.emptied()
	}
	deps, ends := known.cut(s.Deps)
	events, demands := known.present(s.Events)
	if err := s.writeTables(out, deps, events); err != nil {
		return res, err
	}
	if err := s.writeSamples(out, watch); err != nil {
		return res, err
	}
	if n := out.Rows(); s.jobless && n["load"]+n["telemetry"]+n["mig"]+n["prices"]+n["events"]+n["nodes"]+n["tenants"] == 0 {
		return res, s.emptied()
	}
	res.Jobs, res.Accounts = out.Jobs(), s.Accounts()
	for _, a := range []*Account{ends, demands} {
		if a.Read > 0 {
			res.Accounts = append(res.Accounts, a)
		}
	}
	doc := s.document(res.Accounts)
	if meta.Recipe, err = doc.text(); err != nil {
		return res, err
	}
	if err := out.SetMeta(meta); err != nil {
		return res, err
	}
	res.Recipe = doc.Hash
	res.Hash, err = out.Close()
	return res, err
}

// emptied says which step left no job.
func (s *Set) emptied() error {
	e := &traces.DataError{File: s.Name, Found: "no job in it", Expected: "one job or more", Mend: "choose another trace"}
	if s.jobless {
		e.Found, e.Expected = "no row left in any table", "one row or more"
	}
	for _, a := range s.accounts {
		if a.Kept > 0 || a.Read == 0 {
			continue
		}
		what := "job"
		if a.Table != "" {
			what = "row of " + a.Table
		}
		e.Found = fmt.Sprintf("no %s that the step %q keeps", what, a.Step)
		for i, d := range a.Dropped {
			sep := " ("
			if i > 0 {
				sep = "; "
			}
			e.Found += fmt.Sprintf("%s%s: %d", sep, d.Rule, d.Count)
		}
		if len(a.Dropped) > 0 {
			e.Found += ")"
		}
		e.Found += fmt.Sprintf(", of the %d it read", a.Read)
		e.Mend = "change the step; nothing was written"
		break
	}
	return e
}

// writeSamples writes the long tables.
func (s *Set) writeSamples(out *traces.Writer, watch func(int64) error) error {
	var n int64
	look := func() error {
		if n++; watch != nil && n%4096 == 0 {
			return watch(out.Jobs() + n)
		}
		return nil
	}
	if err := writeRows(s.LoadRows, look, out.WriteLoad); err != nil {
		return err
	}
	if err := writeRows(s.TelemetryRows, look, out.WriteTelemetry); err != nil {
		return err
	}
	return writeRows(s.InstanceRows, look, out.WriteInstance)
}

// writeRows writes the rows of a table, if there is one, and calls look before each.
func writeRows[R any](rows func() iter.Seq2[*R, error], look func() error, write func(*R) error) error {
	if rows == nil {
		return nil
	}
	for r, err := range rows() {
		if err = cmp.Or(err, look()); err != nil {
			return err
		}
		if err := write(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) writeTables(out *traces.Writer, deps []traces.Dep, events []traces.Event) error {
	var err error
	for i := range deps {
		err = cmp.Or(err, out.WriteDep(deps[i]))
	}
	for i := range s.Nodes {
		err = cmp.Or(err, out.WriteNode(s.Nodes[i]))
	}
	for i := range s.Tenants {
		err = cmp.Or(err, out.WriteTenant(s.Tenants[i]))
	}
	for i := range events {
		err = cmp.Or(err, out.WriteEvent(events[i]))
	}
	for i := range s.Prices {
		err = cmp.Or(err, out.WritePrice(s.Prices[i]))
	}
	return err
}

// named are the ids that dependencies and demands name, and whether they were met.
type named map[int64]bool

func (s *Set) named() named {
	n := named{}
	for _, d := range s.Deps {
		n[d.Job], n[d.On] = false, false
	}
	_, said := demandsOf(s.Events)
	for id := range said { //detlint:ordered a set is made of a set
		n[id] = false
	}
	return n
}

func (n named) meet(id int64) {
	if _, ok := n[id]; ok {
		n[id] = true
	}
}

// cut leaves out the dependencies of and on jobs that were not met.
func (n named) cut(deps []traces.Dep) ([]traces.Dep, *Account) {
	var kept []traces.Dep
	a := &Account{Step: "dependencies"}
	for _, d := range deps {
		a.read()
		if n[d.Job] && n[d.On] {
			a.keep()
			kept = append(kept, d)
			continue
		}
		count(&a.Dropped, "dependency of or on a job that is not there", func() string { return fmt.Sprintf("%d on %d", d.Job, d.On) })
	}
	return kept, a
}

// Bounds are the first and the last submission, warm jobs left out; ok is false
// when there are none. It costs a pass over the rows.
func (s *Set) Bounds() (first, last model.Time, ok bool, err error) {
	for j, err := range s.Rows() {
		if err != nil {
			return 0, 0, false, err
		}
		if s.warm(j) {
			continue
		}
		if !ok {
			first = j.Submit
		}
		last, ok = j.Submit, true
	}
	return first, last, ok, nil
}

// warm says whether a job was submitted before the warm start.
func (s *Set) warm(j *traces.Job) bool { return s.Meta.WarmStart.OK && j.Submit < s.Meta.WarmStart.V }

// Accounts says what the steps did to the rows when they were last read to the
// end.
func (s *Set) Accounts() []*Account { return slices.Clone(s.accounts) }

// edit is editTable for the jobs.
func (s *Set) edit(a *Account, change func(j *traces.Job) (keep bool)) func() iter.Seq2[*traces.Job, error] {
	return editTable(s.Rows, a, change)
}

// sorted makes rows that are in memory the rows of a set, by submission, then id.
func sorted(jobs []traces.Job) func() iter.Seq2[*traces.Job, error] {
	slices.SortStableFunc(jobs, func(a, b traces.Job) int { return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID)) })
	return rowsOf(jobs)
}

var errEmpty = errors.New("the trace has no jobs but those of its warm start")
