package traces

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Bundle is an open trace: a .trace directory or one Parquet file of jobs. It
// holds the schema and the small tables (nodes, tenants, events, prices) in
// memory and reads jobs and dependencies when asked. It is used by one goroutine; its sources are independent of each
// other.
type Bundle struct {
	path string
	meta Meta
	info Info
	jobs *tableReader[Job]
	deps *tableReader[Dep] // nil when there is none

	nodes   side[Node]
	tenants side[Tenant]
	events  side[Event]
	prices  side[Price]
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
	if !st.IsDir() && filepath.Base(path) == jobsFile && strings.HasSuffix(filepath.Dir(path), ".trace") {
		path, st = filepath.Dir(path), nil // the whole bundle is meant
	}
	dir, jobs := "", path
	if st == nil || st.IsDir() {
		dir, jobs = path, filepath.Join(path, jobsFile)
	}
	b := &Bundle{path: path}
	if b.jobs, err = openTable("jobs", jobs, jobFields); err != nil {
		if dir != "" && errors.Is(err, os.ErrNotExist) {
			err = &DataError{File: path, Found: "a directory without " + jobsFile, Expected: "a trace bundle",
				Mend: "name a bundle, a Parquet file of jobs or a log"}
		}
		return nil, err
	}
	if err := b.open(dir); err != nil {
		_ = b.Close() // the first error says more
		return nil, err
	}
	return b, nil
}

func (b *Bundle) open(dir string) (err error) {
	if b.meta, err = b.jobs.meta(); err != nil {
		return err
	}
	if dir != "" {
		if err := b.openSides(dir); err != nil {
			return err
		}
	}
	if err := b.missesTable(); err != nil {
		return err
	}
	name := filepath.Base(b.path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".parquet"), ".trace")
	b.info = Info{
		Name: name, Hash: b.jobs.content(), Rows: b.jobs.file.NumRows(), Epoch: b.meta.Epoch,
		EpochKnown: b.meta.EpochKnown, TimeZone: b.meta.TimeZone,
		MaxProcs: b.meta.MaxProcs, MaxNodes: b.meta.MaxNodes, Sorted: b.meta.Sorted,
		WarmStart: b.meta.WarmStart, History: b.meta.History,
	}
	if b.deps != nil {
		b.info.Deps = b.deps.file.NumRows()
	}
	if b.jobs.ours {
		b.info.Filled = b.jobs.filled()
		if len(b.info.Hash) != 64 {
			return b.jobs.badMeta(keyContent, b.info.Hash, "64 hex digits")
		}
		if b.jobs.sealed() {
			return nil
		}
	}
	s, err := b.survey()
	if err != nil {
		return err
	}
	if got := s.content(&b.meta); b.jobs.ours && got != b.info.Hash {
		return b.altered(got)
	}
	if b.jobs.ours {
		return nil
	}
	b.info.Hash, b.info.Sorted, b.meta.Sorted = s.content(&b.meta), s.sorted, s.sorted
	return nil
}

// altered says that the rows are not those of the metadata.
func (b *Bundle) altered(found string) error {
	return &DataError{File: b.path, Found: "content with the hash " + found, Expected: b.info.Hash + ", as the metadata states",
		Mend: "the rows were altered after the trace was written: import the log again"}
}

// openSides opens the tables beside jobs and reads the small ones.
func (b *Bundle) openSides(dir string) (err error) {
	if b.deps, err = openOptional("deps", filepath.Join(dir, depsFile), depFields); err != nil {
		return err
	}
	if b.deps != nil && b.deps.content() != b.jobs.content() {
		return mixed(b.deps.path)
	}
	if err := b.nodes.open(b, "nodes", filepath.Join(dir, nodesFile), nodeFields); err != nil {
		return err
	}
	if err := b.tenants.open(b, "tenants", filepath.Join(dir, tenantsFile), tenantFields); err != nil {
		return err
	}
	if err := b.events.open(b, "events", filepath.Join(dir, eventsFile), eventFields); err != nil {
		return err
	}
	return b.prices.open(b, "prices", filepath.Join(dir, pricesFile), priceFields)
}

// open reads the table if there is one.
func (s *side[R]) open(b *Bundle, name, path string, fields []field[R]) (err error) {
	if s.table, err = openOptional(name, path, fields); err != nil || s.table == nil {
		return err
	}
	if s.table.content() != b.jobs.content() {
		return mixed(path)
	}
	for r, err := range s.table.rows(b.meta.Epoch) {
		if err != nil {
			return err
		}
		s.rows = append(s.rows, *r)
	}
	return nil
}

// missesTable complains when the metadata speak of a table that is not there.
func (b *Bundle) missesTable() error {
	list, _ := b.jobs.file.Lookup(keyTables)
	missing := map[string]bool{
		"deps": b.deps == nil, "nodes": b.nodes.table == nil, "tenants": b.tenants.table == nil,
		"events": b.events.table == nil, "prices": b.prices.table == nil,
	}
	for _, name := range strings.Fields(list) {
		if missing[name] {
			return &DataError{File: b.path, Found: "no " + name + ".parquet", Expected: "the bundle's tables " + list,
				Mend: "keep the tables of a bundle together, or import the log again"}
		}
	}
	return nil
}

func mixed(path string) error {
	return &DataError{File: path, Found: "a table of another bundle", Expected: "the content hash of " + jobsFile + " beside it",
		Mend: "keep the tables of a bundle together, or import the log again"}
}

func openOptional[R any](name, path string, fields []field[R]) (*tableReader[R], error) {
	t, err := openTable(name, path, fields)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return t, err
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

// Rows iterates over the whole rows of the jobs table in file order. The
// iteration ends after the first error. A row is valid until the next one.
// It costs about ten times what a Source costs for each row.
func (b *Bundle) Rows() iter.Seq2[*Job, error] { return b.jobs.rows(b.meta.Epoch) }

// Deps iterates over the deps table; it yields nothing when there is none.
func (b *Bundle) Deps() iter.Seq2[*Dep, error] {
	if b.deps == nil {
		return func(func(*Dep, error) bool) {}
	}
	return b.deps.rows(b.meta.Epoch)
}

// Close closes the files. Sources of the bundle cannot be read afterwards.
func (b *Bundle) Close() error {
	return errors.Join(b.jobs.close(), b.deps.close(), b.nodes.table.close(), b.tenants.table.close(),
		b.events.table.close(), b.prices.table.close())
}

// Jobs starts a stream over the jobs table. The source does not own the
// bundle: closing the one leaves the other open.
func (b *Bundle) Jobs() (Source, error) {
	return newJobSource(b), nil
}
