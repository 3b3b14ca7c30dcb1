// Package importer turns files that hold a workload into a trace: it finds the format
// by content in its registry, decompresses, calls the format's importer, holds the
// account of rows to what was written, and keeps what it made in a cache. It knows files
// and formats; what the fields of a format mean is known to the package of that format
// alone.
package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orrery/traces"
	"orrery/traces/importer/columns"
	"orrery/traces/importer/format"
)

// Options say how to import. The zero value is the default.
type Options struct {
	// Strict refuses a log of which any row would be dropped.
	Strict bool
	// BadRows is how many rows that cannot be read are left out; none under Strict.
	BadRows traces.BadRows
	// CacheDir holds the imports of OpenAny; "" means orrery in the user's
	// cache directory.
	CacheDir string
	// Watch, if not nil, is called every few megabytes of an import with how
	// much of the work is done, in bytes of the raw files; an import reads them
	// twice. An error stops the import, which leaves nothing behind and
	// answers that error.
	Watch func(done, total int64) error
	// NoCache makes OpenAny import to a temporary file that Close removes.
	NoCache bool
	// Zone is that of times that name none, nil when it is not given; Service is the
	// name of the service whose load is read. A format that has no use for one that is
	// given refuses it with an OptionError.
	Zone    *time.Location
	Service string
	// Sequence says that jobs of a list without times come one after another.
	Sequence bool
	// XZDictionary is the largest dictionary of xz data, in bytes, that is unpacked; 0
	// means 64 MiB, which is what xz -9 uses.
	XZDictionary int64
	// Columns makes the files tables of comma-separated values of which it says what
	// the columns are; nil for a format that is told by the content.
	Columns *columns.Mapping
}

// OptionError says that an option does not go with the files.
type OptionError struct{ Text string }

// Error says which option, and why.
func (e *OptionError) Error() string { return e.Text }

// Import reads files of one format, plain or compressed by gzip or xz, and writes them
// to out, which ends in .trace or .parquet (one table of jobs). It says what became of
// the rows. When a file is refused, with a DataError, nothing is written. A log of
// 300,000 rows takes about a second; memory does not grow with the rows of
// a file that is sorted by time.
func Import(paths []string, out string, opts Options) (traces.Report, error) {
	in, err := open(paths, opts)
	if err != nil {
		return traces.Report{}, err
	}
	defer in.close()
	if in.raw == nil {
		if b, err := traces.Open(paths[0]); err != nil { // damaged, or a table of something else
			return traces.Report{}, err
		} else if err := b.Close(); err != nil {
			return traces.Report{}, err
		}
		return traces.Report{}, fmt.Errorf("importing %s: it is a %s already; name it where a trace is asked for", paths[0], in.format)
	}
	return in.importTo(out, opts)
}

// importTo writes the bundle out of raw files. It reads them whole before it writes
// anything.
func (in *inputs) importTo(out string, opts Options) (traces.Report, error) {
	in.watch, in.total = opts.Watch, in.work()
	log, err := in.raw.Scan(in.raw, in.files(opts.limit()), format.Options{Zone: opts.Zone, Service: opts.Service, Sequence: opts.Sequence})
	if err != nil {
		return traces.Report{}, err
	}
	meta, err := log.Meta(log.Report())
	if err != nil {
		return log.Report(), err
	}
	w, err := traces.NewWriter(out, meta)
	if err != nil {
		return log.Report(), err
	}
	defer w.Abort()
	w.Measure()
	if err := log.Write(w); err != nil {
		return log.Report(), err
	}
	report := log.Report()
	report.Tables = slices.Clone(report.Tables)
	if meta, err = log.Meta(report); err == nil { // with what the second reading found
		err = w.SetMeta(meta)
	}
	if err != nil {
		return report, err
	}
	w.Measured(&report, in.times(&meta))
	if err := in.judge(report, w.Rows(), opts); err != nil {
		return report, err
	}
	if meta, err = log.Meta(report); err == nil {
		err = w.SetMeta(meta)
	}
	if err == nil {
		_, err = w.Close()
	}
	return report, err
}

// times says where the instants of a bundle come from.
func (in *inputs) times(m *traces.Meta) string {
	switch {
	case !m.EpochKnown:
		return traces.TimesRelative
	case in.raw.Zoned && m.TimeZone != "":
		return "local times of " + m.TimeZone + ", where they name no zone themselves"
	}
	return traces.TimesUTC
}

// judge holds a report to what was written and to what was asked for.
func (in *inputs) judge(r traces.Report, rows map[string]int64, opts Options) error {
	kept := int64(0)
	for i := range r.Tables {
		t := &r.Tables[i]
		if rows[t.Table] != t.Kept {
			return fmt.Errorf("importing %s: the account of %s has %d rows and the table %d: this is an error of the importer %s", r.File, t.Table, t.Kept, rows[t.Table], r.Importer)
		}
		kept += t.Kept
	}
	if kept != r.Kept || !r.Balanced() {
		return fmt.Errorf("importing %s: the account of rows does not add up (%d read, %d kept): this is an error of the importer %s", r.File, r.Read, r.Kept, r.Importer)
	}
	if r.Kept == 0 {
		return &traces.DataError{File: in.names(), Found: fmt.Sprintf("%d rows, all dropped%s", r.Read, dropped("; ", r)),
			Expected: "at least one row that can be kept", Mend: "fetch the file again, or name another"}
	}
	return opts.check(r)
}

// dropped lists the rules that dropped rows, with sep before each.
func dropped(sep string, r traces.Report) string {
	var b strings.Builder
	for _, d := range r.Dropped {
		fmt.Fprintf(&b, "%s%s: %d (first on %s)", sep, d.Rule, d.Count, d.Example)
	}
	return b.String()
}

// limit is how many rows may be unreadable.
func (o Options) limit() traces.BadRows {
	if o.Strict {
		return traces.NoBadRows
	}
	return o.BadRows
}

// check refuses unreadable rows beyond the limit, and dropped rows under Strict. Imports in the cache may be of another limit.
func (o Options) check(r traces.Report) error {
	if !o.Strict {
		return o.BadRows.CheckReport(&r)
	}
	if len(r.Dropped) == 0 {
		return nil
	}
	return &traces.DataError{File: r.File, Found: "rows that cannot be kept: " + strings.TrimPrefix(dropped("; ", r), "; "),
		Expected: "every row to be kept, as --strict asks", Mend: "correct the rows, or import without --strict to drop them"}
}
