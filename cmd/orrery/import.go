package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/traces"
	"orrery/traces/importer"
)

// importVerb holds the flags of import.
type importVerb struct {
	importFlags
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
		Use:   "import FILE... --out OUT",
		Short: "Turn workload logs and other raw files into a trace",
		Long: `Read raw files, plain, compressed by gzip, bzip2 or xz, or in a tar archive, and write them as a trace: OUT
is NAME.trace, a directory of tables, or NAME.parquet, the table of jobs alone. "-"
reads standard input. OUT appears whole or not at all, and replaces an earlier trace
with --force.

The format is found by content; names of files do not matter:

` + formatList() + `
Files that belong together, as a list of pods and a list of nodes, are given together.
Any other table of values between commas, semicolons, tabs or bars is read with
--table, which says what a row is, and --column, which says what its columns are and
in which unit:

  time      text (with --time-zone where the text names no zone), unix-s, unix-ms,
            unix-us, unix-ns, or s, ms, us, min, h, d from an arbitrary zero
  span      us, ms, s, min, h, d, or text (90s, 1h30m, 1-02:03:04)
  size      B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, and the same with /s
  share     1 or %
  price     EUR/kWh, EUR/MWh, ct/kWh; carbon g/kWh, kg/MWh, kg/kWh
  arrivals  none for a count, or /s, /min, /h for a rate
  other     as the message about a missing unit says

--columns FILE reads table, columns, constants, time zone and service from a YAML file
(docs/IMPORT.md). Columns of jobs that are not named are kept in extra.

What becomes of each row is printed: rows read = kept + dropped, in each table, from
when to when they are and by which time zone, how much jobs held at once, how many ran
longer than requested, and what was assumed. The trace keeps it, for trace info. A row that cannot be is dropped under a named rule, and so is one that
cannot be read, as unreadable-row; more of those than --bad-rows allows refuse the file. Times in traces are microseconds.

Exit codes: 0 imported, 1 failed, 2 usage, 3 bad input (too many rows that cannot be
read; with --strict also rows that would be dropped), 130 interrupted.`,
		Example: `  orrery import log.swf.gz --out log.trace
  orrery import log.swf.gz --strict -o json --out log.parquet
  orrery import pods.csv nodes.csv --out openb.trace
  orrery import requests.csv --table load --column time=when:text --time-zone UTC --column arrivals=n --set width=60:s --service web --out web.trace`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: anyFiles,
		RunE:              v.run,
	}
	cmd.Flags().StringVar(&v.out, "out", "", "trace `OUT` to write: NAME.trace or NAME.parquet (required)")
	cmd.Flags().BoolVar(&v.strict, "strict", false, "refuse the log if any row would be dropped")
	grouped(cmd.Flags(), groupLogs, "strict")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	forceFlag(cmd, &v.force)
	v.register(cmd)
	v.print = m.printFlag(cmd)
	return cmd
}

func (v *importVerb) run(cmd *cobra.Command, args []string) error {
	if err := checkTraceName(v.out); err != nil {
		return err
	}
	for _, path := range args {
		if err := apart(path, v.out); err != nil {
			return err
		}
	}
	if err := mayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	options, err := v.options()
	if err != nil {
		return err
	}
	t := newTrace(args)
	defer t.close()
	if err := v.m.spoolInput(cmd.Context(), t); err != nil {
		return input(err)
	}
	if options.Columns == nil {
		format, err := importer.Detect(t.path, importer.Options{XZDictionary: options.XZDictionary})
		switch {
		case err != nil:
			return importError(t, err)
		case !format.Raw():
			return alreadyTrace(t, string(format))
		}
	}
	watch, done := v.m.watchImport(cmd.Context(), v.quiet)
	options.Strict, options.Watch = v.strict, watch
	report, err := importer.Import(t.paths(), v.out, options)
	done()
	var option *importer.OptionError
	switch {
	case errors.As(err, &option):
		return usagef("%w", err)
	case err != nil:
		return importError(t, err)
	}
	report.File = t.label
	if v.quiet && !v.print.forPrograms() {
		return nil
	}
	if err := v.print.account(report, "dropped", "kept"); err != nil || v.print.json() {
		return err
	}
	next := "replay"
	if !slices.ContainsFunc(report.Tables, func(t traces.TableReport) bool { return t.Table == "jobs" }) && len(report.Tables) > 0 {
		next = "trace info"
	}
	v.m.say("Wrote %s\nNext: orrery %s %s", v.out, next, quoted(v.out))
	return nil
}

// alreadyTrace refuses what needs no import; a table of something else is bad input.
func alreadyTrace(t *trace, format string) error {
	b, err := traces.Open(t.path)
	if err != nil {
		return input(err)
	}
	if err := b.Close(); err != nil {
		return input(err)
	}
	return usagef("%s is a %s already: name it where a trace is asked for", t.label, format)
}

// formatList lists the formats that files are told by, one a line.
func formatList() string {
	var b strings.Builder
	for _, f := range importer.Formats() {
		untested := ""
		if f.Untested {
			untested = ", untested on real rows"
		}
		fmt.Fprintf(&b, "  %-21s %s%s\n", f.Name, f.What, untested)
	}
	return b.String()
}

// anyFiles completes every argument with files.
func anyFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// importError tells a log that cannot be read, which is bad input, from a trace
// that cannot be written.
func importError(t *trace, err error) error {
	for i, path := range t.paths() {
		f, opening := os.Open(path)
		if opening != nil {
			return input(missing(t.names[i], opening))
		}
		err = errors.Join(err, f.Close())
	}
	return err
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
