package traces

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Bundle is an open trace: a .trace directory or one Parquet file of jobs. It
// holds the schema and the small tables (nodes, tenants, events, prices) in
// memory and reads jobs, dependencies, load, telemetry and mig when asked. A bundle may
// lack any table, jobs among them, but not all. It is used by one goroutine; its
// sources are independent of each other.
type Bundle struct {
	path string
	meta Meta
	info Info
	// The tables that are there, in the order of tableFiles.
	tables []openedTable
	jobs   *tableReader[Job]       // this and the next ones: nil when there is none
	deps   *tableReader[Dep]       // of the same bundle
	load   *tableReader[Load]      // of the same bundle
	gauges *tableReader[Telemetry] // of the same bundle
	parts  *tableReader[Instance]  // of the same bundle

	nodes   side[Node]
	tenants side[Tenant]
	events  side[Event]
	prices  side[Price]
}

// openedTable is a tableReader, whatever its rows are.
type openedTable interface {
	table() string
	file() string
	lookup(key string) (string, bool)
	rowCount() int64
	meta() (Meta, error)
	close() error
	badMeta(key, found, expected string) error
}

// side is a small table, whole in memory.
type side[R any] struct {
	table *tableReader[R] // nil when there is none
	rows  []R
}

// Open opens the trace at path and checks the schema of every table before any
// row is read: a required column that is missing, or a column of another type,
// is a DataError that says how to mend it.
//
// A Parquet file that does not carry our metadata is accepted when its columns
// fit: id and submit at least. Its epoch is 1970 and not known, and since it
// claims nothing, Open reads it once to find its content hash and whether it
// is sorted. A bundle of ours opens without decoding a row: all bytes of its files
// are compared with the digest in them. One that an older version wrote has none, and
// is read once to compare its content hash.
func Open(path string) (*Bundle, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() && isTable(filepath.Base(path)) && strings.HasSuffix(filepath.Dir(path), ".trace") {
		path, st = filepath.Dir(path), nil // the whole bundle is meant
	}
	dir, jobs := "", path
	if st == nil || st.IsDir() {
		dir, jobs = path, filepath.Join(path, jobsFile)
	}
	b := &Bundle{path: path}
	if err := b.open(dir, jobs); err != nil {
		_ = b.Close() // the first error says more
		return nil, err
	}
	return b, nil
}

// tableNames lists the tables of a bundle, in the order in which hashes and
// metadata have them.
var tableNames = []string{"jobs", "deps", "nodes", "tenants", "events", "prices", "load", "telemetry", "mig"}

// TableNames lists the tables that a bundle may have.
func TableNames() []string { return slices.Clone(tableNames) }

// isTable says whether a file name is that of a table in a bundle.
func isTable(name string) bool {
	table, ok := strings.CutSuffix(name, ".parquet")
	return ok && slices.Contains(tableNames, table)
}

// IsBundle says whether the directory at path holds a table of a bundle.
func IsBundle(path string) bool {
	for _, name := range tableNames {
		if _, err := os.Stat(filepath.Join(path, name+".parquet")); err == nil {
			return true
		}
	}
	return false
}

func (b *Bundle) open(dir, jobs string) (err error) {
	if b.jobs, err = openTable("jobs", jobs, jobFields); err != nil {
		if dir == "" || !errors.Is(err, os.ErrNotExist) {
			return err
		}
		b.jobs = nil
	}
	if b.jobs != nil {
		b.tables = append(b.tables, b.jobs)
		if b.meta, err = b.jobs.meta(); err != nil {
			return err
		}
	}
	if dir != "" {
		if err := b.openSides(dir); err != nil {
			return err
		}
	}
	if len(b.tables) == 0 {
		return &DataError{File: b.path, Found: "a directory without " + jobsFile + " or another table", Expected: "a trace bundle",
			Mend: "name a bundle, a Parquet file of jobs or a log"}
	}
	if err := b.missesTable(); err != nil {
		return err
	}
	return b.describe()
}

// describe fills the Info.
func (b *Bundle) describe() error {
	name := filepath.Base(b.path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".parquet"), ".trace")
	lead := b.tables[0]
	hash, _ := lead.lookup(keyContent)
	b.info = Info{
		Name: name, Hash: hash, Epoch: b.meta.Epoch,
		EpochKnown: b.meta.EpochKnown, TimeZone: b.meta.TimeZone,
		MaxProcs: b.meta.MaxProcs, MaxNodes: b.meta.MaxNodes, Sorted: b.meta.Sorted,
		WarmStart: b.meta.WarmStart, History: b.meta.History,
	}
	for _, t := range b.tables {
		if n := t.rowCount(); n > 0 {
			b.info.Tables = append(b.info.Tables, TableRows{t.table(), n})
		}
	}
	b.info.Rows, b.info.Deps = b.info.Of("jobs"), b.info.Of("deps")
	_, ours := lead.lookup(keySchema)
	if ours {
		if b.jobs != nil {
			b.info.Filled = b.jobs.filled()
		}
		if len(b.info.Hash) != 64 {
			return lead.badMeta(keyContent, b.info.Hash, "64 hex digits")
		}
		if b.sealed() {
			return nil
		}
	}
	s, err := b.survey()
	if err != nil {
		return err
	}
	if ours {
		if got := s.content(&b.meta); got != b.info.Hash {
			return b.altered(got)
		}
		return nil
	}
	b.info.Hash, b.info.Sorted, b.meta.Sorted = s.content(&b.meta), s.sorted, s.sorted
	return nil
}

// sealed says whether each table has a digest of its bytes, which was compared when it was
// opened.
func (b *Bundle) sealed() bool {
	return !slices.ContainsFunc(b.tables, func(t openedTable) bool {
		_, sealed := t.lookup(keySeal)
		return !sealed
	})
}

// altered says that the rows are not those of the metadata.
func (b *Bundle) altered(found string) error {
	return &DataError{File: b.path, Found: "content with the hash " + found, Expected: b.info.Hash + ", as the metadata states",
		Mend: "the rows were altered after the trace was written: import the log again"}
}

// openSides opens the tables beside jobs and reads the small ones.
func (b *Bundle) openSides(dir string) (err error) {
	if b.deps, err = openOptional(b, "deps", dir, depFields); err != nil {
		return err
	}
	if err := b.nodes.open(b, "nodes", dir, nodeFields); err != nil {
		return err
	}
	if err := b.tenants.open(b, "tenants", dir, tenantFields); err != nil {
		return err
	}
	if err := b.events.open(b, "events", dir, eventFields); err != nil {
		return err
	}
	if err := b.prices.open(b, "prices", dir, priceFields); err != nil {
		return err
	}
	if b.load, err = openOptional(b, "load", dir, loadFields); err != nil {
		return err
	}
	if b.gauges, err = openOptional(b, "telemetry", dir, telemetryFields); err != nil {
		return err
	}
	b.parts, err = openOptional(b, "mig", dir, instanceFields)
	return err
}

// open reads the table if there is one.
func (s *side[R]) open(b *Bundle, name, dir string, fields []field[R]) (err error) {
	if s.table, err = openOptional(b, name, dir, fields); err != nil || s.table == nil {
		return err
	}
	for r, err := range s.table.rows(b.meta.Epoch) {
		if err != nil {
			return err
		}
		s.rows = append(s.rows, *r)
	}
	return nil
}

// openOptional opens a table that may not be there, and holds it to the content
// hash of those before it. The first table that is there says what the bundle is.
func openOptional[R any](b *Bundle, name, dir string, fields []field[R]) (*tableReader[R], error) {
	t, err := openTable(name, filepath.Join(dir, name+".parquet"), fields)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b.tables) == 0 {
		if b.meta, err = t.meta(); err != nil {
			return nil, errors.Join(err, t.close())
		}
	} else {
		first, _ := b.tables[0].lookup(keyContent)
		if own, _ := t.lookup(keyContent); own != first {
			return nil, errors.Join(mixed(t.path, b.tables[0].file()), t.close())
		}
	}
	b.tables = append(b.tables, t)
	return t, nil
}

// missesTable complains when the metadata speak of a table that is not there.
func (b *Bundle) missesTable() error {
	list, _ := b.tables[0].lookup(keyTables)
	for _, name := range strings.Fields(list) {
		there := slices.ContainsFunc(b.tables, func(t openedTable) bool { return t.table() == name })
		if slices.Contains(tableNames, name) && !there {
			return &DataError{File: b.path, Found: "no " + name + ".parquet", Expected: "the bundle's tables " + list,
				Mend: "keep the tables of a bundle together, or import the log again"}
		}
	}
	return nil
}

func mixed(path, first string) error {
	return &DataError{File: path, Found: "a table of another bundle", Expected: "the content hash of " + filepath.Base(first) + " beside it",
		Mend: "keep the tables of a bundle together, or import the log again"}
}

// Info describes the trace.
func (b *Bundle) Info() Info { return b.info }

// Meta is the metadata as the file has it.
func (b *Bundle) Meta() Meta { return b.meta }

// Nodes is the nodes table, nil when there is none.
func (b *Bundle) Nodes() []Node { return b.nodes.rows }

// Tenants is the tenants table, nil when there is none.
func (b *Bundle) Tenants() []Tenant { return b.tenants.rows }

// Events is the events table, ascending by time, nil when there is none.
func (b *Bundle) Events() []Event { return b.events.rows }

// Prices is the prices table, ascending by time, nil when there is none.
func (b *Bundle) Prices() []Price { return b.prices.rows }

// Rows iterates over the whole rows of the jobs table in file order, none when
// there is no such table. The iteration ends after the first error. A row is valid
// until the next one. It costs about ten times what a Source costs for each row.
func (b *Bundle) Rows() iter.Seq2[*Job, error] { return rowsOf(b.jobs, b.meta.Epoch) }

// Deps iterates over the deps table; it yields nothing when there is none.
func (b *Bundle) Deps() iter.Seq2[*Dep, error] { return rowsOf(b.deps, b.meta.Epoch) }

// Load iterates over the load table as Rows does over jobs.
func (b *Bundle) Load() iter.Seq2[*Load, error] { return rowsOf(b.load, b.meta.Epoch) }

// Telemetry iterates over the telemetry table as Rows does over jobs.
func (b *Bundle) Telemetry() iter.Seq2[*Telemetry, error] { return rowsOf(b.gauges, b.meta.Epoch) }

// Instances iterates over the table mig as Rows does over jobs.
func (b *Bundle) Instances() iter.Seq2[*Instance, error] { return rowsOf(b.parts, b.meta.Epoch) }

// rowsOf are the rows of a table that may not be there.
func rowsOf[R any](t *tableReader[R], epoch model.Time) iter.Seq2[*R, error] {
	if t == nil {
		return func(func(*R, error) bool) {}
	}
	return t.rows(epoch)
}

// Close closes the files. Sources of the bundle cannot be read afterwards.
func (b *Bundle) Close() error {
	var errs []error
	for _, t := range b.tables {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// Jobs starts a stream over the jobs table, an empty one when there is none. The
// source does not own the bundle: closing the one leaves the other open.
func (b *Bundle) Jobs() (Source, error) {
	return newJobSource(b), nil
}
