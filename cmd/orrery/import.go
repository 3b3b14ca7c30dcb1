package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orrery/reports/table"
	"orrery/traces"
	"orrery/traces/importer"
)

// importVerb holds the flags of import.
type importVerb struct {
	m      *Main
	print  *printer
	out    string
	strict bool
	force  bool
	quiet  bool
}

func (m *Main) importCommand() *cobra.Command {
	v := &importVerb{m: m}
	cmd := &cobra.Command{
		Use:   "import FILE --out OUT",
		Short: "Turn a workload log into a trace",
		Long: `Read a workload log in the Standard Workload Format (every dialect, plain or
compressed by gzip or xz; the name does not matter) and write it as a trace:
OUT is NAME.trace, a directory of tables, or NAME.parquet, the table of jobs
alone. "-" reads standard input. OUT appears whole or not at all, and replaces an
earlier trace with --force.

What becomes of each row is printed: rows read = kept + dropped. A token that is
not a number of its field's type refuses the file; a readable row that cannot be
is dropped under a named rule. Times in logs are seconds, in traces microseconds.

Exit codes: 0 imported, 1 failed, 2 usage, 3 bad input (with --strict also rows
that would be dropped), 130 interrupted.`,
		Example: `  orrery import log.swf.gz --out log.trace
  orrery import log.swf.gz --strict -o json --out log.parquet`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: oneFile,
		RunE:              v.run,
	}
	cmd.Flags().StringVar(&v.out, "out", "", "trace `OUT` to write: NAME.trace or NAME.parquet (required)")
	cmd.Flags().BoolVar(&v.strict, "strict", false, "refuse the log if any row would be dropped")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	forceFlag(cmd, &v.force)
	v.print = m.printFlag(cmd)
	return cmd
}

func (v *importVerb) run(cmd *cobra.Command, args []string) error {
	if err := checkTraceName(v.out); err != nil {
		return err
	}
	if err := apart(args[0], v.out); err != nil {
		return err
	}
	if err := mayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	t := &trace{path: args[0], label: args[0]}
	defer t.close()
	if t.path == "-" {
		t.label = "standard input"
		if err := v.m.spool(cmd.Context(), t); err != nil {
			return input(err)
		}
	}
	format, err := importer.Detect(t.path)
	switch {
	case err != nil:
		return importError(t, err)
	case format != importer.SWF:
		return usagef("%s is a %s already: name it where a trace is asked for", t.label, format)
	}
	watch, done := v.m.watchImport(cmd.Context(), v.quiet)
	report, err := importer.Import(t.path, v.out, importer.Options{Strict: v.strict, Watch: watch})
	done()
	if err != nil {
		return importError(t, err)
	}
	report.File = t.label
	if v.quiet && !v.print.forPrograms() {
		return nil
	}
	if err := v.print.account(report, "dropped", "kept"); err != nil || v.print.json() {
		return err
	}
	v.m.say("Wrote %s\nNext: orrery replay %s", v.out, quoted(v.out))
	return nil
}

// importError tells a log that cannot be read, which is bad input, from a trace
// that cannot be written.
func importError(t *trace, err error) error {
	f, opening := os.Open(t.path)
	if opening != nil {
		return input(missing(t.label, opening))
	}
	return errors.Join(err, f.Close())
}

// checkTraceName refuses a path that no trace can have, before anything is read.
func checkTraceName(out string) error {
	switch {
	case out == "":
		return usagef("no output named: give --out NAME.trace or --out NAME.parquet")
	case out == "json" || out == "table" || out == "markdown":
		return usagef("--out %s: --out is the trace to write; the format of the results is -o %s", out, out)
	case !strings.HasSuffix(strings.TrimRight(out, "/"), ".trace") && !strings.HasSuffix(out, ".parquet"):
		return usagef("--out %s: expected a name that ends in .trace (a directory of tables) or .parquet (the jobs alone)", out)
	}
	return nil
}

// apart refuses an output that is the input, or holds it.
func apart(in, out string) error {
	for _, path := range []string{in, filepath.Dir(filepath.Clean(in))} {
		if same(path, out) {
			return usagef("found %s as input and %s as output, which are the same: what is read would be lost; write to another name", in, out)
		}
	}
	return nil
}

// same says whether both paths are of one file; of what is not there, or cannot be
// looked at, reading and writing say what is wrong.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// account prints what became of the rows of a log: dropped and kept are the
// words for those that did not pass and those that did.
func (p *printer) account(r traces.Report, dropped, kept string) error {
	if p.json() {
		return p.document(r)
	}
	t := table.New("rows", "rule", "count", "first")
	t.Row("read", "", r.Read, r.File)
	for _, d := range r.Repaired {
		t.Row("repaired", d.Rule, d.Count, d.Example)
	}
	for _, d := range r.Dropped {
		t.Row(dropped, d.Rule, d.Count, d.Example)
	}
	t.Row(kept, "", r.Kept, "")
	return p.table(t)
}
