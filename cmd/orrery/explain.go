package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"orrery/reports/table"
	"orrery/scheduler"
)

func (m *Main) explainCommand() *cobra.Command {
	var print *printer
	var modes bool
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Explain how the scheduler decides",
		Long: `Print in what the two modes of a profile differ: 'mode: documented' does what the
documents of Lattice mean, 'mode: as-coded' what its public sources do. The
source is where this program has the rule of the sources; both marks rules of the
sources that neither mode follows.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery explain --mode-differences
  orrery explain --mode-differences -o markdown`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if !modes {
				return usagef("nothing to explain: add --mode-differences")
			}
			return print.differences()
		},
	}
	cmd.Flags().BoolVar(&modes, "mode-differences", false, "list in what the documented and the as-coded mode differ")
	print = m.printFlag(cmd, "o")
	return cmd
}

// differences prints in what the modes differ, as text a paragraph each: a table
// of sentences fits no terminal.
func (p *printer) differences() error {
	rows := table.New("topic", "documented", "as-coded", "source")
	for _, d := range scheduler.Differences() {
		if p.format == string(table.Text) {
			fmt.Fprintf(p.m.Stdout, "%s\n  documented  %s\n  as-coded    %s\n  source      %s\n\n", d.Topic, d.Documented, d.AsCoded, d.Source)
		}
		rows.Row(d.Topic, d.Documented, d.AsCoded, d.Source)
	}
	if p.format == string(table.Text) {
		return nil
	}
	return p.table(rows)
}
