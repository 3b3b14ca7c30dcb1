package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/profiles"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/importer/columns"
)

// importVerb holds the flags of import.
type importVerb struct {
	importFlags
	app    *cli.App
	print  *cli.Printer
	out    string
	strict bool
	force  bool
	quiet  bool
}

func importCommand(app *cli.App) *cobra.Command {
	v := &importVerb{app: app}
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
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	cmd.Flags().StringVar(&v.out, "out", "", "trace `OUT` to write: NAME.trace or NAME.parquet (required)")
	cmd.Flags().BoolVar(&v.strict, "strict", false, "refuse the log if any row would be dropped")
	cli.Grouped(cmd.Flags(), cli.GroupLogs, "strict")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	cli.ForceFlag(cmd, &v.force)
	v.register(cmd)
	v.print = app.PrintFlag(cmd)
	return cmd
}

func (v *importVerb) run(cmd *cobra.Command, args []string) error {
	if err := logfile.CheckTraceName(v.out); err != nil {
		return err
	}
	for _, path := range args {
		if err := cli.Apart(path, v.out); err != nil {
			return err
		}
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	options, err := v.options()
	if err != nil {
		return err
	}
	t := logfile.NewTrace(args)
	defer t.Close()
	if err := logfile.SpoolInput(cmd.Context(), v.app, t); err != nil {
		return cli.BadInput(err)
	}
	if options.Columns == nil {
		format, err := importer.Detect(t.Path, importer.Options{XZDictionary: options.XZDictionary})
		switch {
		case err != nil:
			return importError(t, err)
		case !format.Raw():
			return alreadyTrace(t, string(format))
		}
	}
	watch, done := logfile.WatchImport(cmd.Context(), v.app, v.quiet)
	options.Strict, options.Watch = v.strict, watch
	report, err := importer.Import(t.Paths(), v.out, options)
	done()
	var option *importer.OptionError
	switch {
	case errors.As(err, &option):
		return cli.Usagef("%w", err)
	case err != nil:
		return importError(t, err)
	}
	report.File = t.Label
	if v.quiet && !v.print.ForPrograms() {
		return nil
	}
	if err := logfile.Account(v.print, report, "dropped", "kept"); err != nil || v.print.JSON() {
		return err
	}
	next := "replay"
	if !slices.ContainsFunc(report.Tables, func(t traces.TableReport) bool { return t.Table == "jobs" }) && len(report.Tables) > 0 {
		next = "trace info"
	}
	v.app.Say("Wrote %s\nNext: orrery %s %s", v.out, next, cli.Quoted(v.out))
	return nil
}

// alreadyTrace refuses what needs no import; a table of something else is bad input.
func alreadyTrace(t *logfile.Trace, format string) error {
	b, err := traces.Open(t.Path)
	if err != nil {
		return cli.BadInput(err)
	}
	if err := b.Close(); err != nil {
		return cli.BadInput(err)
	}
	return cli.Usagef("%s is a %s already: name it where a trace is asked for", t.Label, format)
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

// importError tells a log that cannot be read, which is bad input, from a trace
// that cannot be written.
func importError(t *logfile.Trace, err error) error {
	for i, path := range t.Paths() {
		f, opening := os.Open(path)
		if opening != nil {
			return cli.BadInput(logfile.Missing(t.Names[i], opening))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}

// importFlags say what raw files do not say themselves.
type importFlags struct {
	cli.LogFlags
	service string
	table   string
	columns []string
	list    string // FILE of columns
	set     []string
	null    []string
}

func (i *importFlags) register(cmd *cobra.Command) {
	i.LogFlags.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&i.service, "service", "", "`NAME` of the service whose load is read, where the file has none")
	f.StringVar(&i.table, "table", "", "read separated values into `TABLE` by --column: jobs, nodes, tenants, events, prices, load, telemetry or mig")
	f.StringArrayVar(&i.columns, "column", nil, "`NAME=SOURCE:UNIT`: the column SOURCE of the file, in UNIT, is NAME of the table; may be given several times")
	f.StringVar(&i.list, "columns", "", "`FILE` in YAML that says the same, with time_zone and service; --column and --set add to it")
	f.StringArrayVar(&i.set, "set", nil, "`NAME=VALUE:UNIT`: the same value in every row; may be given several times")
	f.StringArrayVar(&i.null, "null", nil, "`WORD` that means there is no value, beside the empty one, NaN, NULL, None, N/A; may be given several times")
	cli.Grouped(f, cli.GroupLogs, "service", "table", "column", "columns", "set", "null")
	cli.CompleteFlag(cmd, "table", cobra.FixedCompletions([]string{"jobs", "nodes", "tenants", "events", "prices", "load", "telemetry", "mig"}, cobra.ShellCompDirectiveNoFileComp))
}

// options are those of the importer.
func (i *importFlags) options() (o importer.Options, err error) {
	var file *profiles.Mapping
	if i.list != "" {
		file, err = profiles.LoadMapping(i.list)
		if errors.Is(err, fs.ErrNotExist) {
			return o, cli.NoFile(i.list, i.list, "a file of columns")
		}
		if err != nil {
			return o, cli.WrongFile(err)
		}
		i.table, i.Zone, i.service = cmp.Or(i.table, file.Table), cmp.Or(i.Zone, file.TimeZone), cmp.Or(i.service, file.Service)
	}
	if o, err = i.LogFlags.Options(); err != nil {
		return o, err
	}
	o.Service = i.service
	if i.table == "" {
		if len(i.columns)+len(i.set)+len(i.null) > 0 {
			return o, cli.Usagef("--column, --set and --null are of separated values: say with --table TABLE what a row is")
		}
		return o, nil
	}
	o.Columns, err = i.mapping(file)
	return o, err
}

// mapping is what the file, nil for none, and the flags say of the columns.
func (i *importFlags) mapping(file *profiles.Mapping) (*columns.Mapping, error) {
	var all []columns.Column
	var flags []string // of each that is not of the file
	null := i.null
	if file != nil {
		for k, c := range file.Columns {
			all = append(all, columns.Column{Name: c.Name, From: c.From, Constant: file.Constant(k), Value: c.Value, Unit: c.Unit})
		}
		null = append(slices.Clone(file.Nulls), null...)
	}
	ofFile := len(all)
	for _, given := range []struct {
		flag     string
		texts    []string
		constant bool
	}{{"--column", i.columns, false}, {"--set", i.set, true}} {
		for _, text := range given.texts {
			c, err := columns.Parse(i.table, text, given.constant)
			if err != nil {
				return nil, cli.Usagef("%s %s: %w", given.flag, text, err)
			}
			all, flags = append(all, c), append(flags, given.flag+" "+text)
		}
	}
	m, err := columns.New(i.table, all, null)
	var wrong *columns.ColumnError
	switch {
	case err == nil:
		return m, nil
	case errors.As(err, &wrong) && wrong.Index < ofFile:
		return nil, cli.WrongFile(file.Wrong(fmt.Sprintf("columns[%d].%s", wrong.Index, wrong.Key), "%v", err))
	case errors.As(err, &wrong) && wrong.Key == "unit":
		return nil, cli.Usagef("%s: %w, written behind a colon", flags[wrong.Index-ofFile], err)
	case errors.As(err, &wrong):
		return nil, cli.Usagef("%s: %w", flags[wrong.Index-ofFile], err)
	case file != nil && len(flags) == 0:
		return nil, cli.WrongFile(file.Wrong("columns", "%v", err))
	}
	return nil, cli.Usagef("%w; --column NAME=SOURCE:UNIT and --set NAME=VALUE:UNIT say it", err)
}
