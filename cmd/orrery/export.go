package main

import (
	"io"

	"github.com/spf13/cobra"

	"orrery/reports/table"
	"orrery/sim/record"
)

func (m *Main) exportCommand() *cobra.Command {
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
		ValidArgsFunction: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			write := func(dir, which string, w io.Writer) error {
				if safe {
					return record.ExportCSV(dir, which, table.SafeCell, w)
				}
				return record.ExportCSV(dir, which, nil, w)
			}
			if format == "arrow" {
				write = record.ExportArrow
				if (out == "" || out == "-") && m.screen(m.Stdout).terminal {
					return usagef("Arrow is not for a terminal: name a file with --out, or redirect standard output")
				}
			}
			if err := mayWrite("--out", out, force); err != nil {
				return err
			}
			if err := m.mayRead(false, args[0]); err != nil {
				return err
			}
			return m.create(out, func(w io.Writer) error { return readError(write(args[0], which, w)) })
		},
	}
	f := cmd.Flags()
	formatFlag(cmd, &format, "csv", "arrow")
	f.Var(choice{word: &which, of: tables, what: "table"}, "table", "table to write")
	f.BoolVar(&safe, "csv-safe", false, "with -o csv: an apostrophe before text that a spreadsheet would take for a formula")
	forceFlag(cmd, &force)
	f.StringVar(&out, "out", "", "`FILE` to write; standard output without it")
	completeWith(cmd, "table", tables...)
	return cmd
}
