// Package importer turns any file that holds a workload into a trace: it finds
// the format by content, decompresses, calls the format's parser, and keeps
// what it made in a cache. It knows files and formats; what the fields of a
// format mean is known to the package of that format alone.
package importer

import (
	"fmt"
	"io"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/swf"
)

// Options say how to import. The zero value is the default.
type Options struct {
	// Strict refuses a log of which any row would be dropped.
	Strict bool
	// CacheDir holds the imports of OpenAny; "" means orrery in the user's
	// cache directory.
	CacheDir string
	// Watch, if not nil, is called every few megabytes of an import with how
	// much of the work is done, in bytes of the raw log; an import reads it
	// twice. An error stops the import, which leaves nothing behind and
	// answers that error.
	Watch func(done, total int64) error
	// NoCache makes OpenAny import to a temporary file that Close removes.
	NoCache bool
}

// Import reads the log at path, plain or compressed by gzip or xz, and writes
// it to out, which ends in .trace or .parquet. It says what became of the
// rows. When the log is refused, with a DataError, nothing is written. A log
// of 300,000 rows takes about a second; memory does not grow with the rows of
// a log sorted by submission.
func Import(path, out string, opts Options) (traces.Report, error) {
	f, err := open(path)
	if err != nil {
		return traces.Report{}, err
	}
	defer f.close()
	if f.format != SWF {
		return traces.Report{}, fmt.Errorf("importing %s: it is a %s already; name it where a trace is asked for", path, f.format)
	}
	return f.importTo(out, opts)
}

// parsed is a log that a format's parser has read through and judged.
type parsed interface {
	Report() traces.Report
	Meta() (traces.Meta, error)
	Write(swf.JobWriter) error
}

// importTo writes the bundle out of a raw log. It reads the whole log before
// it writes anything.
func (f *file) importTo(out string, opts Options) (traces.Report, error) {
	f.watch = opts.Watch
	log, err := swf.Scan(f.name, func() (io.ReadCloser, error) { return f.content() })
	if err != nil {
		return traces.Report{}, err
	}
	if err := opts.check(log.Report()); err != nil {
		return log.Report(), err
	}
	return log.Report(), write(log, out)
}

func write(log parsed, out string) error {
	meta, err := log.Meta()
	if err != nil {
		return err
	}
	w, err := traces.NewWriter(out, meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := log.Write(w); err != nil {
		return err
	}
	_, err = w.Close()
	return err
}

// check refuses dropped rows under Strict.
func (o Options) check(r traces.Report) error {
	if !o.Strict || len(r.Dropped) == 0 {
		return nil
	}
	var found []string
	for _, d := range r.Dropped {
		found = append(found, fmt.Sprintf("%s: %d (first on %s)", d.Rule, d.Count, d.Example))
	}
	return &traces.DataError{File: r.File, Found: "rows that cannot be kept: " + strings.Join(found, "; "),
		Expected: "every row to be kept, as --strict asks", Mend: "correct the rows, or import without --strict to drop them"}
}
