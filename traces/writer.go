package traces

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// Names of the tables inside a bundle.
const (
	jobsFile    = "jobs.parquet"
	depsFile    = "deps.parquet"
	nodesFile   = "nodes.parquet"
	tenantsFile = "tenants.parquet"
	eventsFile  = "events.parquet"
	pricesFile  = "prices.parquet"
	loadFile    = "load.parquet"
	gaugesFile  = "telemetry.parquet"
	partsFile   = "mig.parquet"
)

// Writer writes a bundle beside its destination and renames it when it is
// whole, so a reader never meets half a bundle. The same rows and the same
// metadata give the same bytes. Memory does not grow with the number of rows.
// A Writer is used by one goroutine; after an error only Abort is useful.
type Writer struct {
	path    string     // destination
	root    *disk.Root // the folder of path, through which all is written
	tmp     string     // directory the tables are written in
	bare    bool       // destination is one jobs.parquet file
	meta    Meta
	jobs    *tableWriter[Job]
	deps    *tableWriter[Dep] // this and the next: nil without rows
	nodes   *tableWriter[Node]
	tenants *tableWriter[Tenant]
	events  *tableWriter[Event]
	prices  *tableWriter[Price]
	load    *tableWriter[Load]
	gauges  *tableWriter[Telemetry]
	parts   *tableWriter[Instance]
	last    model.Time // submit of the last job
	sorted  bool
	measure *measure // nil unless it was asked for
	err     error
	done    bool
}

// NewWriter starts a bundle at path, which ends in .trace (a directory of
// tables) or .parquet (the jobs table alone). An existing bundle or file there
// is replaced by Close, not before; a directory that holds anything else is
// refused.
func NewWriter(path string, meta Meta) (*Writer, error) { return NewWriterWithin(nil, path, meta) }

// NewWriterWithin starts a bundle below the folder that within has open, or anywhere where
// that is nil: no symbolic link below that folder is followed.
func NewWriterWithin(within *disk.Root, path string, meta Meta) (*Writer, error) {
	path = filepath.Clean(path)
	bare := strings.HasSuffix(path, ".parquet")
	if !bare && !strings.HasSuffix(path, ".trace") {
		return nil, fmt.Errorf("writing a trace to %s: the name must end in .trace (a directory) or .parquet (one file)", path)
	}
	if err := replaceable(path, bare); err != nil {
		return nil, err
	}
	if err := checkEpoch(meta); err != nil {
		return nil, fmt.Errorf("writing the trace %s: %w", path, err)
	}
	w := &Writer{path: path, bare: bare, meta: meta, sorted: true, last: model.AbsentTime}
	if err := w.begin(within); err != nil {
		w.Abort()
		return nil, fmt.Errorf("writing the trace %s: %w", path, err)
	}
	return w, nil
}

// begin opens the folder of the bundle, and in it a new one with the table of jobs.
func (w *Writer) begin(within *disk.Root) (err error) {
	above := filepath.Dir(w.path)
	if within == nil {
		w.root, err = disk.OpenRoot(above, disk.Anyone)
	} else {
		w.root, err = within.Below(above)
	}
	if err != nil {
		return err
	}
	if w.tmp, err = w.root.Scratch(above, "."+filepath.Base(w.path)+".partial-"); err != nil {
		return err
	}
	disk.Tidy(filepath.Join(above, "."+filepath.Base(w.path)+".partial-"), w.tmp, w.root.Delete)
	w.jobs, err = newTableWriter(w.root, "jobs", w.path, filepath.Join(w.tmp, jobsFile), jobFields)
	return err
}

func checkEpoch(m Meta) error {
	if !finite(int64(m.Epoch)) {
		return fmt.Errorf("the epoch %d µs lies more than 73,000 years from 1970", int64(m.Epoch))
	}
	return nil
}

// replaceable says whether Close may put something at path.
func replaceable(path string, bare bool) error {
	st, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if bare {
		if st.IsDir() {
			return fmt.Errorf("writing a trace to %s: this is a directory; choose another name", path)
		}
		return nil
	}
	if !st.IsDir() {
		return fmt.Errorf("writing a trace to %s: this is a file; choose another name or remove it", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".parquet") {
			return fmt.Errorf("writing a trace to %s: the directory holds %s, which is no table of a bundle; choose another name", path, e.Name())
		}
	}
	return nil
}

// SetMeta replaces the metadata, for importers that learn it while they read.
// The epoch is fixed once a row with an instant is written.
func (w *Writer) SetMeta(m Meta) error {
	if m.Epoch != w.meta.Epoch && (w.jobs.hash.rows > 0 || w.events != nil || w.prices != nil || w.load != nil || w.gauges != nil || w.parts != nil) {
		return w.fail(errors.New("the epoch cannot change once a row with an instant is written"))
	}
	if err := checkEpoch(m); err != nil {
		return w.fail(err)
	}
	w.meta = m
	return nil
}

// Jobs is the number of jobs written.
func (w *Writer) Jobs() int64 { return hashOf(w.jobs).rows }

// WriteJob appends a job. Rows keep their order; when Meta.Sorted is set, a
// job submitted before its predecessor is refused with a DataError.
func (w *Writer) WriteJob(j *Job) error {
	if w.err != nil {
		return w.err
	}
	if j.Submit < w.last {
		w.sorted = false
		if w.meta.Sorted {
			return w.fail(&DataError{File: w.path, Row: w.jobs.hash.rows + 1, Column: "submit",
				Found: j.Submit.String(), Expected: "no earlier than the row before, " + w.last.String(),
				Mend: "sort the jobs by submission first"})
		}
	}
	w.last = j.Submit
	w.jobs.epoch = w.meta.Epoch
	if w.measure != nil {
		w.measure.job(j)
	}
	row := *j
	if row.Kind == "" {
		row.Kind = kindBounded
	}
	return w.fail(w.jobs.write(&row))
}

// WriteDep appends an edge between two jobs of the bundle.
func (w *Writer) WriteDep(d Dep) error {
	return addRow(w, &w.deps, "deps", depsFile, depFields, &d)
}

// WriteNode appends a node; its place in the table is its dense id.
func (w *Writer) WriteNode(n Node) error {
	if w.measure != nil {
		w.measure.node(&n)
	}
	return addRow(w, &w.nodes, "nodes", nodesFile, nodeFields, &n)
}

// WriteTenant appends a tenant.
func (w *Writer) WriteTenant(t Tenant) error {
	return addRow(w, &w.tenants, "tenants", tenantsFile, tenantFields, &t)
}

// WriteEvent appends a change of the site, no earlier than the one before.
func (w *Writer) WriteEvent(e Event) error {
	w.state(ofEvents, e.Time, e.Time)
	return addRow(w, &w.events, "events", eventsFile, eventFields, &e)
}

// WritePrice appends a price, later than the one before.
func (w *Writer) WritePrice(p Price) error {
	w.state(ofPrices, p.Time, p.Time)
	return addRow(w, &w.prices, "prices", pricesFile, priceFields, &p)
}

// WriteLoad appends a sample of the demand of a service, which begins no earlier
// than the one before.
func (w *Writer) WriteLoad(l *Load) error {
	w.state(ofLoad, l.Time, l.Time.Add(l.Width))
	return addRow(w, &w.load, "load", loadFile, loadFields, l)
}

// WriteTelemetry appends a sample of a GPU or a node, no earlier than the one
// before.
func (w *Writer) WriteTelemetry(t *Telemetry) error {
	w.state(ofTelemetry, t.Time, t.Time)
	return addRow(w, &w.gauges, "telemetry", gaugesFile, telemetryFields, t)
}

// WriteInstance appends a sample of a GPU instance of MIG, no earlier than the one before.
func (w *Writer) WriteInstance(i *Instance) error {
	w.state(ofInstances, i.Time, i.Time)
	return addRow(w, &w.parts, "mig", partsFile, instanceFields, i)
}

// state notes the instants of a row.
func (w *Writer) state(table int, from, to model.Time) {
	if w.measure != nil {
		w.measure.extents[table].add(from)
		w.measure.extents[table].add(to)
	}
}

// Rows is the number of rows written to each table so far, by its name.
func (w *Writer) Rows() map[string]int64 {
	return map[string]int64{
		"jobs": hashOf(w.jobs).rows, "deps": hashOf(w.deps).rows, "nodes": hashOf(w.nodes).rows, "tenants": hashOf(w.tenants).rows,
		"events": hashOf(w.events).rows, "prices": hashOf(w.prices).rows, "load": hashOf(w.load).rows, "telemetry": hashOf(w.gauges).rows,
		"mig": hashOf(w.parts).rows,
	}
}

func addRow[R any](w *Writer, t **tableWriter[R], name, file string, fields []field[R], r *R) error {
	if w.err != nil {
		return w.err
	}
	if w.bare {
		return w.fail(fmt.Errorf("writing the trace %s: one file holds jobs only; name the output *.trace to keep its %s", w.path, name))
	}
	if *t == nil {
		var err error
		if *t, err = newTableWriter(w.root, name, w.path, filepath.Join(w.tmp, file), fields); err != nil {
			return w.fail(fmt.Errorf("writing the trace %s: %w", w.path, err))
		}
	}
	(*t).epoch = w.meta.Epoch
	return w.fail((*t).write(r))
}

// fail remembers the first error: what follows it would be incomplete.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return err
}

// Close finishes the bundle, puts it in its place and returns its content
// hash, 64 hex digits. After an error nothing new stands at the destination.
func (w *Writer) Close() (hash string, err error) {
	if w.done {
		return "", errWriterClosed
	}
	defer w.Abort()
	if w.err != nil {
		return "", w.err
	}
	w.meta.Sorted = w.sorted
	hash, err = w.finish()
	if err == nil {
		err = w.publish()
	}
	if err != nil {
		return "", fmt.Errorf("writing the trace %s: %w", w.path, err)
	}
	return hash, nil
}

// finish writes the end of every table.
func (w *Writer) finish() (hash string, err error) {
	h := tableHashes{
		jobs: w.jobs.hash, deps: hashOf(w.deps), nodes: hashOf(w.nodes),
		tenants: hashOf(w.tenants), events: hashOf(w.events), prices: hashOf(w.prices),
		load: hashOf(w.load), telemetry: hashOf(w.gauges), instances: hashOf(w.parts),
	}
	tables := nameOf(w.deps) + nameOf(w.nodes) + nameOf(w.tenants) + nameOf(w.events) + nameOf(w.prices) + nameOf(w.load) + nameOf(w.gauges) + nameOf(w.parts)
	if w.jobs.hash.rows == 0 && tables != "" {
		if err := w.withoutJobs(); err != nil {
			return "", err
		}
	}
	tables = strings.TrimPrefix(nameOf(w.jobs)+tables, " ")
	hash = h.content(&w.meta)
	for _, finish := range []func() error{
		func() error { return w.jobs.close(&w.meta, hash, tables) },
		func() error { return w.deps.close(&w.meta, hash, tables) },
		func() error { return w.nodes.close(&w.meta, hash, tables) },
		func() error { return w.tenants.close(&w.meta, hash, tables) },
		func() error { return w.events.close(&w.meta, hash, tables) },
		func() error { return w.prices.close(&w.meta, hash, tables) },
		func() error { return w.load.close(&w.meta, hash, tables) },
		func() error { return w.gauges.close(&w.meta, hash, tables) },
		func() error { return w.parts.close(&w.meta, hash, tables) },
	} {
		if err := finish(); err != nil {
			return "", err
		}
	}
	return hash, nil
}

// withoutJobs removes the table of jobs: a bundle that has other tables and no job
// lacks it.
func (w *Writer) withoutJobs() error {
	name := w.jobs.file.Name()
	err := w.jobs.file.Close()
	w.jobs = nil
	return errors.Join(err, w.root.Remove(name))
}

// hashOf is the digest of a table that may have no rows.
func hashOf[R any](t *tableWriter[R]) tableHash {
	if t == nil {
		return tableHash{}
	}
	return t.hash
}

// nameOf is the name of a table with a space before it, "" without rows.
func nameOf[R any](t *tableWriter[R]) string {
	if t == nil {
		return ""
	}
	return " " + t.name
}

// publish renames what was written into place, and returns once that is on the disk.
func (w *Writer) publish() error {
	above := filepath.Dir(w.path)
	if w.bare {
		if err := w.root.Move(filepath.Join(w.tmp, jobsFile), w.path); err != nil {
			return err
		}
		return w.root.SyncFolder(above)
	}
	if err := w.root.SyncFolder(w.tmp); err != nil {
		return err
	}
	old := w.tmp + "-old"
	_, err := w.root.Lstat(w.path)
	replaced := !errors.Is(err, os.ErrNotExist) // a link is, too
	if replaced {
		if err := w.root.Move(w.path, old); err != nil {
			return err
		}
	}
	if err := w.root.Move(w.tmp, w.path); err != nil {
		if replaced {
			return errors.Join(err, w.root.Move(old, w.path))
		}
		return err
	}
	if err := w.root.SyncFolder(above); err != nil || !replaced {
		return err
	}
	return w.root.Delete(old)
}

// Abort throws away what was written. After Close it does nothing.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	if w.err == nil {
		w.err = errWriterClosed
	}
	closeTable(w.jobs)
	closeTable(w.deps)
	closeTable(w.nodes)
	closeTable(w.tenants)
	closeTable(w.events)
	closeTable(w.prices)
	closeTable(w.load)
	closeTable(w.gauges)
	closeTable(w.parts)
	if w.tmp != "" {
		_ = w.root.Delete(w.tmp) // what cannot be removed is named .partial and hidden
	}
	if w.root != nil {
		_ = w.root.Close() // all names in it were synced
	}
}

var errWriterClosed = errors.New("the trace writer is closed")

func closeTable[R any](t *tableWriter[R]) {
	if t != nil {
		_ = t.file.Close() // closed already after a success
	}
}
