package main

import (
	"time"

	"github.com/spf13/cobra"

	"orrery/reports/workload"
	"orrery/traces"
)

func (m *Main) traceStatsCommand() *cobra.Command {
	var print *printer
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
		ValidArgsFunction: oneFile,
		RunE: m.opened(&quiet, func(_ *cobra.Command, t *trace, b *traces.Bundle) error {
			if t.info.Rows == 0 {
				return input(&traces.DataError{File: t.label, Found: "a trace without jobs", Expected: "jobs to sum up", Mend: "see what it holds: orrery trace info"})
			}
			if out != "" {
				if err := mayWrite("--out", out, force); err != nil {
					return err
				}
			}
			s, err := workload.Measure(b, zoneOfTrace(b))
			if err != nil {
				return input(err)
			}
			s.Trace = t.info.Name
			if out != "" {
				if err := workload.Write(out, s, m.made()); err != nil {
					return err
				}
			}
			switch {
			case print.json():
				return print.document(s)
			case quiet && print.format == "table":
				return nil
			}
			if err := print.table(workload.Table(s)); err != nil {
				return err
			}
			if s.Tenants.By != "" {
				if err := print.section("By "+s.Tenants.By, workload.TenantTable(s)); err != nil {
					return err
				}
			}
			if out != "" && !quiet {
				m.say("Wrote %s", quoted(out))
			}
			return nil
		}),
	}
	m.logFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "write a page of figures into `DIR`")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors (and -o json, csv or markdown)")
	forceFlag(cmd, &force)
	print = m.printFlag(cmd)
	return cmd
}

// zoneOfTrace is the zone that a trace names, UTC where it names none or one that is not known: it is not worth an error.
func zoneOfTrace(b *traces.Bundle) *time.Location {
	if zone, err := time.LoadLocation(b.Meta().TimeZone); err == nil { // UTC for ""
		return zone
	}
	return time.UTC
}
