package traces

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Bundle is an open trace: a .trace directory or one Parquet file of jobs. It
// holds the schema and the nodes table in memory and reads everything else
// when asked. It is used by one goroutine; its sources are independent of each
// other.
type Bundle struct {
	path  string
	meta  Meta
	info  Info
	jobs  *tableReader[Job]
	deps  *tableReader[Dep]
	nodes []Node
}

// Open opens the trace at path and checks the schema of every table before any
// row is read: a required column that is missing, or a column of another type,
// is a DataError that says how to mend it.
func Open(path string) (*Bundle, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := ""
	jobs := path
	if st.IsDir() {
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
		if b.deps, err = openOptional("deps", filepath.Join(dir, depsFile), depFields); err != nil {
			return err
		}
		nodes, err := openOptional("nodes", filepath.Join(dir, nodesFile), nodeFields)
		if err != nil {
			return err
		}
		if nodes != nil {
			defer nodes.close()
			for n, err := range nodes.rows(0) {
				if err != nil {
					return err
				}
				b.nodes = append(b.nodes, *n)
			}
		}
	}
	name := filepath.Base(b.path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".parquet"), ".trace")
	b.info = Info{
		Name: name, Hash: b.jobs.content(), Rows: b.jobs.file.NumRows(), Epoch: b.meta.Epoch,
		EpochKnown: b.meta.EpochKnown, TimeZone: b.meta.TimeZone,
		MaxProcs: b.meta.MaxProcs, MaxNodes: b.meta.MaxNodes, Sorted: b.meta.Sorted,
	}
	return nil
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
func (b *Bundle) Nodes() []Node { return b.nodes }

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
	var errs []error
	if b.jobs != nil {
		errs = append(errs, b.jobs.close())
	}
	if b.deps != nil {
		errs = append(errs, b.deps.close())
	}
	return errors.Join(errs...)
}

// Jobs starts a stream over the jobs table. The source does not own the
// bundle: closing the one leaves the other open.
func (b *Bundle) Jobs() (Source, error) {
	return newJobSource(b), nil
}
