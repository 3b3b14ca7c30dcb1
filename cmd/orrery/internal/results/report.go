package results

import (
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/internal/doc"
	"orrery/reports"
	"orrery/reports/page"
	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim/record"
)

func reportCommand(app *cli.App) *cobra.Command {
	var (
		print *cli.Printer
		o     reports.Options
		quiet bool
		force bool
	)
	cmd := &cobra.Command{
		Use:   "report DIR | report STUDY.json",
		Short: "Draw the report of a run or a study: one HTML page and figures",
		Long: `Draw the run in DIR: report.html (one page that opens without a network),
summary.md and figures as SVG and PNG, all written into DIR. The bytes depend on
the run alone. Times on figures carry their units: s, min, h, d.

With a file, or a DIR that holds report.json and no run, draw that study of a
sweep, a search or a tuning: report.html with a table, parallel coordinates and
trade-offs to look into, and figures, written beside the file.

Exit codes: 0 drawn, 1 failed, 2 usage, 3 bad input (DIR is no run, or damaged).`,
		Example: `  orrery report run
  orrery report run --title "Before the change" -o json --force
  orrery report study/report.json --force`,
		Annotations:       map[string]string{cli.WritesKey: "the report is " + page.FileHTML + " in the directory that is drawn"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, study := args[0], study.In(args[0])
			var err error
			if study != "" {
				dir = filepath.Dir(study)
			}
			if err := cli.MayHold("", dir, page.FileHTML, force); err != nil {
				return err
			}
			if study != "" {
				err = drawStudy(app, study, o.Title)
			} else if err = formats.MayRead(app, quiet, dir); err == nil {
				err = reports.Write(dir, o)
			}
			if err != nil {
				return formats.ReadError(err)
			}
			if quiet && !print.ForPrograms() {
				return nil
			}
			t := doc.New("file", "what")
			t.Row(filepath.Join(dir, page.FileHTML), "the report, for a browser")
			if study == "" {
				t.Row(filepath.Join(dir, reports.FileMarkdown), "the same in short, as Markdown")
			}
			t.Row(filepath.Join(dir, page.DirFigures), "its figures as SVG and PNG")
			return print.Table(t)
		},
	}
	cmd.Flags().StringVar(&o.Title, "title", "", "heading `TEXT` of the report; without it the name of the trace or study")
	cmd.Flags().IntVar(&o.MostJobs, "most-jobs", 0, "`N` allocations to embed one by one, more are summed by pixel; 0 is 100,000")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	cli.ForceFlag(cmd, &force)
	print = app.PrintFlag(cmd)
	return cmd
}

// drawStudy draws the study in a file beside it.
func drawStudy(app *cli.App, path, title string) error {
	if v, known := formats.SchemaOf(path); known {
		anew := "orrery study table " + cli.Quoted(filepath.Dir(path)) + " --report, or the tune that made it"
		if err := formats.PageFormat.Refusal(path, v, anew); err != nil {
			return err
		}
		if text := formats.PageFormat.Warning(path, v, anew); text != "" {
			app.Say("%s", text)
		}
	}
	s, err := study.Read(path)
	if err != nil {
		return err
	}
	if title != "" {
		s.Name = title
	}
	made, err := study.ReadMade(filepath.Dir(path))
	if err != nil {
		return err
	}
	return study.Write(filepath.Dir(path), s, made)
}

func exportCommand(app *cli.App) *cobra.Command {
	var (
		out    string
		format string
		force  bool
		safe   bool
		which  = record.TableJobs
	)
	tables := record.Tables()
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a table of a run as Arrow or CSV",
		Long: `Write a table of the run directory RUN as an uncompressed Arrow IPC file, which
pandas, Polars and DuckDB map without copying, or as CSV, to standard output or
to --out FILE. The tables are those of the directory: 'orrery help formats' lists
them, and which of them only runs of a site have. Times are in UTC, spans in
microseconds, nodes by name where the run has names, as n[1-4,7], else by number
from 0.

Exit codes: 0 written, 1 failed, 2 usage, 3 bad input (RUN is no run, damaged, or
has no such table).`,
		Example: `  orrery export run -o csv
  orrery export run -o arrow --table attempts --out attempts.arrow
  orrery export run --table series`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			write := func(dir, which string, w io.Writer) error {
				if safe {
					return record.ExportCSV(dir, which, table.SafeCell, w)
				}
				return record.ExportCSV(dir, which, nil, w)
			}
			if format == "arrow" {
				write = record.ExportArrow
				if (out == "" || out == "-") && app.Screen(app.Stdout).Terminal {
					return cli.Usagef("Arrow is not for a terminal: name a file with --out, or redirect standard output")
				}
			}
			if err := cli.MayWrite("--out", out, force); err != nil {
				return err
			}
			if err := formats.MayRead(app, false, args[0]); err != nil {
				return err
			}
			return app.Create(out, func(w io.Writer) error { return formats.ReadError(write(args[0], which, w)) })
		},
	}
	f := cmd.Flags()
	cli.FormatFlag(cmd, &format, "csv", "arrow")
	f.Var(cli.Choice{Word: &which, Of: tables, What: "table"}, "table", "table to write")
	f.BoolVar(&safe, "csv-safe", false, "with -o csv: an apostrophe before text that a spreadsheet would take for a formula")
	cli.ForceFlag(cmd, &force)
	f.StringVar(&out, "out", "", "`FILE` to write; standard output without it")
	cli.CompleteWith(cmd, "table", tables...)
	return cmd
}
