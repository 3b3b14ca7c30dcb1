package data

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/reports/workload"
	"orrery/scheduler/model"
	"orrery/traces"
)

// tableOf is the table that a verb shows: the one asked for, jobs where there are any,
// else the first that there is.
func tableOf(t *logfile.Trace, asked string) (string, error) {
	var there []string
	for _, r := range t.About.Tables {
		there = append(there, r.Table)
	}
	switch {
	case asked == "" && len(there) > 0:
		return there[0], nil
	case asked == "":
		return "jobs", nil
	case !slices.Contains(traces.TableNames(), asked):
		return "", cli.Usagef("--table %s: no table of a trace, want one of %s", asked, strings.Join(traces.TableNames(), ", "))
	case !slices.Contains(there, asked):
		return "", cli.BadInput(&traces.DataError{File: t.Label, Found: "no table " + asked, Expected: "one of " + strings.Join(there, ", "), Mend: "name another with --table"})
	}
	return asked, nil
}

// header are the columns of any table, with the unit where there is one.
func header(columns []traces.Column) *doc.Table {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	t := doc.New(names...)
	for _, c := range columns {
		if c.Type == traces.Timestamp || spanColumn(&c) {
			t.Key(c.Name, c.Name+"_us")
		}
	}
	return t
}

// spanColumn says whether a column holds spans, in µs.
func spanColumn(c *traces.Column) bool { return c.Type == traces.Int64 && c.Unit == "µs" }

// cells are the values of a row for a screen.
func cells(columns []traces.Column, row []traces.Value) []any {
	out := make([]any, len(row))
	for i, v := range row {
		c := &columns[i]
		switch {
		case v.Null:
		case c.Type == traces.String:
			out[i] = v.Text
		case c.Type == traces.Double:
			out[i] = v.Real()
		case c.Type == traces.Bool:
			out[i] = v.Number != 0
		case c.Type == traces.Timestamp:
			out[i] = doc.Quantity(model.Time(v.Number).String(), v.Number)
		case spanColumn(c):
			out[i] = doc.Quantity(model.Duration(v.Number).String(), v.Number)
		default:
			out[i] = v.Number
		}
	}
	return out
}

// exportTable writes a table as CSV: instants in UTC, spans in µs, nothing for a null.
func exportTable(w io.Writer, b *traces.Bundle, name string, watch func() error) (rows int64, err error) {
	columns := traces.Columns(name)
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.Name
		if spanColumn(&c) {
			record[i] += "_us"
		}
	}
	if err := out.Write(record); err != nil {
		return 0, err
	}
	epoch := b.Meta().Epoch
	for row, err := range b.Values(name) {
		if err == nil && rows%4096 == 0 {
			err = watch()
		}
		if err != nil {
			return rows, err
		}
		for i, v := range row {
			record[i] = cellText(&columns[i], v, epoch)
		}
		if err := out.Write(record); err != nil {
			return rows, err
		}
		rows++
	}
	out.Flush()
	return rows, out.Error()
}

// cellText is one value as text.
func cellText(c *traces.Column, v traces.Value, epoch model.Time) string {
	switch {
	case v.Null:
		return ""
	case c.Type == traces.String:
		return v.Text
	case c.Type == traces.Double:
		return strconv.FormatFloat(v.Real(), 'g', -1, 64)
	case c.Type == traces.Bool:
		return strconv.FormatBool(v.Number != 0)
	case c.Type == traces.Timestamp:
		return time.UnixMicro(v.Number + int64(epoch)).UTC().Format("2006-01-02T15:04:05.999999Z")
	}
	return strconv.FormatInt(v.Number, 10)
}

func traceStatsCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	var out string
	var force, quiet bool
	cmd := &cobra.Command{
		Use:   "stats TRACE",
		Short: "Say what a trace holds, before it is replayed",
		Long: `Sum up the jobs of a trace as they were recorded: load over time, arrivals by hour
and weekday, sizes, runtimes, how much of the requested time was used, who held the
machine, what stood idle while jobs waited, and how far idle GPUs were scattered.
--out writes a page of figures, DIR/report.html, and the figures as SVG and PNG.

-o json prints all of it; docs/TRACE-FORMAT.md says how each figure is defined.

Exit codes: 0 printed, 1 failed, 2 usage, 3 bad input or a trace without jobs.`,
		Example: `  orrery trace stats log.swf.gz
  orrery trace stats month.trace --out month -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE: opened(app, &quiet, func(_ *cobra.Command, t *logfile.Trace, b *traces.Bundle) error {
			if t.About.Rows == 0 {
				return cli.BadInput(&traces.DataError{File: t.Label, Found: "a trace without jobs", Expected: "jobs to sum up", Mend: "see what it holds: orrery trace info"})
			}
			if out != "" {
				if err := cli.MayWrite("--out", out, force); err != nil {
					return err
				}
			}
			s, err := workload.Measure(b, zoneOfTrace(b))
			if err != nil {
				return cli.BadInput(err)
			}
			s.Trace = t.About.Name
			if out != "" {
				if err := workload.Write(out, s, app.Made()); err != nil {
					return err
				}
			}
			switch {
			case print.JSON():
				return print.Document(s)
			case quiet && print.Format == "table":
				return nil
			}
			if err := print.Table(workload.Table(s)); err != nil {
				return err
			}
			if s.Tenants.By != "" {
				if err := print.Section("By "+s.Tenants.By, workload.TenantTable(s)); err != nil {
					return err
				}
			}
			if out != "" && !quiet {
				app.Say("Wrote %s", cli.Quoted(out))
			}
			return nil
		}),
	}
	app.LogFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "write a page of figures into `DIR`")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors (and -o json, csv or markdown)")
	cli.ForceFlag(cmd, &force)
	print = app.PrintFlag(cmd)
	return cmd
}

// zoneOfTrace is the zone that a trace names, UTC where it names none or one that is not known: it is not worth an error.
func zoneOfTrace(b *traces.Bundle) *time.Location {
	if zone, err := time.LoadLocation(b.Meta().TimeZone); err == nil { // UTC for ""
		return zone
	}
	return time.UTC
}
