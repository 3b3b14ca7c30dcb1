// Package data has the verbs that make and show traces: import, trace and synth.
package data

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/swf"
	"orrery/traces/transform"
)

// Verbs are the verbs that make and show traces.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{importCommand(app), traceCommand(app), synthCommand(app)}
}

func traceCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Look into traces, check them, export them",
		Long: `Look into a trace: a bundle, a Parquet table of jobs, or a raw log, which is
imported first and kept in the cache. Times are microseconds since the epoch of
the trace in files, D d HH:MM:SS on the screen.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input or a trace that is not valid.`,
		Example: `  orrery trace info log.swf.gz
  orrery trace head month.trace -n 3`,
	}
	cmd.AddCommand(traceInfoCommand(app), traceValidateCommand(app), traceHeadCommand(app), traceStatsCommand(app), traceExportCommand(app), traceTransformCommand(app))
	return cmd
}

// opened runs a verb on one trace, opened; quiet is nil or says whether to make no remarks.
func opened(app *cli.App, quiet *bool, run func(cmd *cobra.Command, t *logfile.Trace, b *traces.Bundle) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		silent := quiet != nil && *quiet
		t, err := logfile.OpenTrace(cmd.Context(), app, args, silent)
		if err != nil {
			return err
		}
		defer t.Close()
		logfile.Remark(app, t, silent)
		b, err := traces.Open(t.Table)
		if err != nil {
			return cli.BadInput(err)
		}
		defer b.Close()
		return run(cmd, t, b)
	}
}

func traceInfoCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "info TRACE",
		Short: "Say what a trace is: size, epoch, cluster, origin",
		Long: `Print what a trace says about itself: its content hash, the number of jobs and of
rows in its other tables, its epoch (the zero of all its times, UTC), the cluster it
was recorded on, where it comes from, and what its import dropped and repaired (rows)
and assumed.

Exit codes: 0 printed, 2 usage, 3 bad input.`,
		Example: `  orrery trace info log.swf.gz
  orrery trace info month.trace -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE: opened(app, nil, func(_ *cobra.Command, t *logfile.Trace, b *traces.Bundle) error {
			if print.JSON() {
				return print.Document(aboutTrace(t, b.Meta()))
			}
			rows := doc.New("what", "value")
			describe(rows, t, b.Meta())
			return print.Table(rows)
		}),
	}
	app.LogFlags(cmd)
	print = app.PrintFlag(cmd)
	return cmd
}

// traceInfo is what trace info -o json prints.
type traceInfo struct {
	Name           string             `json:"name"`
	Hash           string             `json:"hash"`
	Jobs           int64              `json:"jobs"`
	Epoch          *time.Time         `json:"epoch"` // null when it is not known
	TimeZone       string             `json:"time_zone,omitempty"`
	Processors     int32              `json:"processors,omitempty"`
	Nodes          int32              `json:"nodes,omitempty"`
	NodesTableRows int                `json:"nodes_table_rows"`
	Tables         []traces.TableRows `json:"tables"`
	Sorted         bool               `json:"sorted"`
	WarmStartUS    *int64             `json:"warm_start_us,omitempty"`
	HistoryUS      int64              `json:"history_us,omitempty"`
	Source         string             `json:"source,omitempty"`
	Recipe         string             `json:"recipe,omitempty"`
	Steps          []string           `json:"steps,omitempty"` // of the recipe
	Import         *traces.Report     `json:"import,omitempty"`
}

func aboutTrace(t *logfile.Trace, meta traces.Meta) traceInfo {
	i := t.About
	out := traceInfo{
		Name: i.Name, Hash: i.Hash, Jobs: i.Rows, TimeZone: i.TimeZone, Processors: i.MaxProcs, Nodes: i.MaxNodes, NodesTableRows: len(t.Nodes()), Tables: i.Tables,
		Sorted: i.Sorted, Source: meta.Source, Recipe: meta.Recipe,
	}
	if i.EpochKnown {
		at := time.UnixMicro(int64(i.Epoch)).UTC()
		out.Epoch = &at
	}
	if i.WarmStart.OK {
		at := int64(i.WarmStart.V)
		out.WarmStartUS, out.HistoryUS = &at, int64(i.History)
	}
	if d, ok := transform.Made(meta); ok {
		out.Recipe, out.Steps = d.Hash, d.History()
	}
	var r traces.Report
	if json.Unmarshal([]byte(meta.Import), &r) == nil { // a trace that was not imported has none
		out.Import = &r
	}
	return out
}

func describe(rows *doc.Table, t *logfile.Trace, meta traces.Meta) {
	i := t.About
	known := func(n int32) doc.Cell {
		if n == 0 {
			return doc.Cell{}
		}
		return doc.Int(int64(n))
	}
	text := func(s string) doc.Cell {
		if s == "" {
			return doc.Cell{}
		}
		return doc.Cell{Text: s, JSON: s}
	}
	rows.Row("name", i.Name)
	rows.Row("hash", i.Hash)
	rows.Row("jobs", i.Rows)
	epoch := text("")
	if i.EpochKnown {
		epoch = text(time.UnixMicro(int64(i.Epoch)).UTC().Format(time.RFC3339Nano))
	}
	rows.Row("epoch", epoch)
	rows.Row("time zone", text(i.TimeZone))
	rows.Row("processors", known(i.MaxProcs))
	rows.Row("nodes", known(i.MaxNodes))
	rows.Row("rows in nodes table", len(t.Nodes()))
	for _, of := range i.Tables {
		if of.Table != "jobs" && of.Table != "nodes" {
			rows.Row("rows in "+of.Table+" table", of.Rows)
		}
	}
	rows.Row("sorted", i.Sorted)
	if i.WarmStart.OK {
		rows.Row("warm start", doc.Quantity(i.WarmStart.V.String(), int64(i.WarmStart.V)))
		if i.History > 0 {
			rows.Row("history before it", doc.Quantity(model.Time(i.History).String(), int64(i.History)))
		}
	}
	rows.Row("source", text(meta.Source))
	if d, ok := transform.Made(meta); ok {
		rows.Row("recipe", d.Hash)
		for n, step := range d.History() {
			rows.Row(fmt.Sprintf("recipe, step %d", n+1), step)
		}
	} else {
		rows.Row("recipe", text(meta.Recipe))
	}
	var r traces.Report
	if json.Unmarshal([]byte(meta.Import), &r) != nil {
		return // a trace that was not imported has no report
	}
	rows.Row("imported by", text(r.Importer))
	rows.Row("rows read", r.Read)
	rows.Row("rows kept", r.Kept)
	for _, d := range r.Dropped {
		rows.Row("dropped: "+d.Rule, d.Count)
	}
	for _, d := range r.Repaired {
		rows.Row("repaired: "+d.Rule, d.Count)
	}
	for _, figure := range logfile.AsRecorded(r.Tables).Rows {
		rows.Row(figure[0].Text+": "+figure[1].Text, figure[2])
	}
	for _, a := range r.Assumed {
		rows.Row("assumed: "+a.What, a.Value+" ("+a.Why+")")
	}
}

func traceValidateCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "validate TRACE",
		Short: "Check every row of a trace",
		Long: `Read a whole trace and check what is otherwise taken on trust: that submissions
ascend, that ids are unique, that no row is impossible, and that the content has
the hash that the trace states. A raw log is imported and the import is checked.
Rows are counts; examples name the first row that breaks a rule.

Exit codes: 0 valid, 2 usage, 3 not valid.`,
		Example: `  orrery trace validate month.trace
  orrery trace validate log.swf.gz -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := logfile.OpenTrace(cmd.Context(), app, args, false)
			if err != nil {
				return err
			}
			defer t.Close()
			logfile.Remark(app, t, false)
			report, err := traces.Validate(t.Table)
			report.File = t.Label
			if err != nil && report.Read == 0 {
				return cli.BadInput(err)
			}
			if printing := logfile.Account(print, report, "faulty", "valid"); printing != nil {
				return printing
			}
			return cli.BadInput(err)
		},
	}
	app.LogFlags(cmd)
	print = app.PrintFlag(cmd)
	return cmd
}

func traceHeadCommand(app *cli.App) *cobra.Command {
	var (
		print *cli.Printer
		n     int
		of    string
	)
	cmd := &cobra.Command{
		Use:   "head TRACE",
		Short: "Print the first rows of a trace",
		Long: `Print the first jobs of a trace in the order of submission, or the first rows of
another table, with all its columns: that of --table, or in a trace without jobs the
first that it has. Times are written D d HH:MM:SS since the epoch of the trace, in JSON
microseconds; a dash (null in JSON) is a value that the trace does not have.

Exit codes: 0 printed, 2 usage, 3 bad input.`,
		Example: `  orrery trace head log.swf.gz
  orrery trace head month.trace -n 3 -o markdown`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE: opened(app, nil, func(_ *cobra.Command, t *logfile.Trace, b *traces.Bundle) error {
			if n < 1 {
				return cli.Usagef("-n %d: want 1 row or more", n)
			}
			name, err := tableOf(t, of)
			if err != nil {
				return err
			}
			if name != "jobs" {
				return headTable(print, b, name, n)
			}
			rows, left := newHead(), n
			for job, err := range b.Rows() {
				if err != nil {
					return cli.BadInput(err)
				}
				headRow(rows, job)
				if left--; left == 0 {
					break
				}
			}
			return print.Table(rows)
		}),
	}
	app.LogFlags(cmd)
	cmd.Flags().IntVarP(&n, "jobs", "n", 10, "`N` rows")
	tableFlag(cmd, &of)
	print = app.PrintFlag(cmd)
	return cmd
}

// tableFlag adds the flag that names a table of a trace.
func tableFlag(cmd *cobra.Command, of *string) {
	cmd.Flags().StringVar(of, "table", "", "`TABLE` of the trace: "+strings.Join(traces.TableNames(), ", "))
	cli.CompleteWith(cmd, "table", traces.TableNames()...)
}

// headTable prints the first rows of a table that is not jobs.
func headTable(print *cli.Printer, b *traces.Bundle, name string, left int) error {
	columns := traces.Columns(name)
	rows := header(columns)
	for row, err := range b.Values(name) {
		if err != nil {
			return cli.BadInput(err)
		}
		rows.Row(cells(columns, row)...)
		if left--; left == 0 {
			break
		}
	}
	return print.Table(rows)
}

func newHead() *doc.Table {
	t := doc.New("id", "user", "submit", "start", "runtime", "walltime", "procs", "allocated", "nodes", "gpus per node", "kind", "state")
	for _, name := range []string{"submit", "start", "runtime", "walltime"} {
		t.Key(name, name+"_us")
	}
	return t
}

func headRow(t *doc.Table, j *traces.Job) {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	instant := func(o traces.Opt[model.Time]) any {
		if !o.OK {
			return nil
		}
		return doc.Quantity(o.V.String(), int64(o.V))
	}
	span := func(o traces.Opt[model.Duration]) any {
		if !o.OK {
			return nil
		}
		return doc.Quantity(o.V.String(), int64(o.V))
	}
	count := func(o traces.Opt[int32]) any {
		if !o.OK {
			return nil
		}
		return o.V
	}
	t.Row(j.ID, text(j.User), instant(traces.Some(j.Submit)), instant(j.Start), span(j.Runtime), span(j.Walltime),
		count(j.ProcsRequested), count(j.ProcsAllocated), count(j.NodesMin), count(j.GPUsPerNode), text(j.Kind), text(j.ExitState))
}

func traceExportCommand(app *cli.App) *cobra.Command {
	var (
		out    string
		format string
		of     string
		quiet  bool
		force  bool
	)
	cmd := &cobra.Command{
		Use:   "export TRACE",
		Short: "Write a trace as a Standard Workload Format log, or a table as CSV",
		Long: `Write a trace as a log in the Standard Workload Format (SWF, 18 fields, times in
seconds), to standard output or to --out FILE, compressed when FILE ends in .gz.
What SWF has no field for is left out; what had to be changed is counted.

-o csv writes one table with all its columns: that of --table, or in a trace without
jobs the first that it has. Times are in UTC, spans in microseconds, and a null is
empty. Tables other than jobs are written as CSV only.

Exit codes: 0 exported, 1 failed, 2 usage, 3 bad input, 130 interrupted.`,
		Example: `  orrery trace export month.trace --out month.swf.gz
  orrery trace export log.swf.gz`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE: opened(app, nil, func(cmd *cobra.Command, t *logfile.Trace, b *traces.Bundle) error {
			if err := cli.Apart(t.Path, out); err != nil {
				return err
			}
			if err := cli.MayWrite("--out", out, force); err != nil {
				return err
			}
			name, err := tableOf(t, of)
			if err != nil {
				return err
			}
			if format == "swf" && name != "jobs" {
				return cli.Usagef("the table %s has no place in SWF, which holds jobs alone: give -o csv", name)
			}
			if format == "csv" {
				return exportCSV(app, cmd, b, name, out, quiet)
			}
			rows := func() iter.Seq2[*traces.Job, error] { return logfile.Until(cmd.Context(), b.Rows()) }
			var report traces.Report
			err = app.CreatePacked(out, func(w io.Writer) (err error) {
				report, err = swf.Export(w, t.About, rows)
				return err
			})
			if err != nil || quiet {
				return err
			}
			app.Say("%s", exported(report))
			return nil
		}),
	}
	app.LogFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; standard output without it")
	cli.FormatFlag(cmd, &format, "swf", "csv")
	tableFlag(cmd, &of)
	cli.ForceFlag(cmd, &force)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "do not say what was changed")
	return cmd
}

// exportCSV writes a table of a trace as CSV.
func exportCSV(app *cli.App, cmd *cobra.Command, b *traces.Bundle, name, out string, quiet bool) error {
	var rows int64
	err := app.CreatePacked(out, func(w io.Writer) (err error) {
		rows, err = exportTable(w, b, name, cmd.Context().Err)
		return err
	})
	if err != nil || quiet {
		return err
	}
	app.Say("orrery: exported %d rows of %s", rows, name)
	return nil
}

// exported says in one sentence what an export did.
func exported(r traces.Report) string {
	var parts []string
	for _, c := range append(r.Repaired, r.Dropped...) {
		parts = append(parts, fmt.Sprintf("%s: %d", c.Rule, c.Count))
	}
	text := fmt.Sprintf("orrery: exported %d of %d jobs", r.Kept, r.Read)
	if len(parts) > 0 {
		text += "; " + strings.Join(parts, ", ")
	}
	return text
}
