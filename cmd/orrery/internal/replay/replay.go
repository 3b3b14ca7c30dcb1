// Package replay is the verb replay, and what it tells of a finished replay.
package replay

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports"
	"orrery/reports/plot"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world/translate"
)

// replayVerb holds the flags of replay.
type replayVerb struct {
	settings.Flags
	app         *cli.App
	print       *cli.Printer
	out         string
	facts       bool
	decisions   bool
	report      bool
	quiet       bool
	force       bool
	printConfig bool
}

// Command is the verb replay.
func Command(app *cli.App) *cobra.Command {
	v := &replayVerb{app: app}
	cmd := &cobra.Command{
		Use:   "replay [LOG...]",
		Short: "Replay a workload log and measure the schedule",
		Long: `Replay a workload log through the production scheduler core, with simulated time,
and print what came out. With --out the results become a run directory, which is
there as a whole or not at all; an earlier run in it is replaced with --force.

` + settings.Help + `

Where the log records when jobs started, the mean wait of the record stands beside
that of the replay; orrery fidelity says how near the two are.

-o json prints the metrics as in metrics.json, and the recorded wait; -o csv as one table: times in
seconds, shares from 0 to 1; see 'orrery help metrics'. Times in the tables are written D d HH:MM:SS.

Exit codes: 0 replayed, 1 failed, 2 usage, 3 bad input (with --infeasible error
also jobs that can never run), 130 interrupted.`,
		Example: `  orrery replay
  orrery replay log.swf.gz --procs 100 --order fcfs --backfill easy --out easy
  orrery replay log.swf.gz --nodes 25 --cores-per-node 4 --order sjf --backfill conservative:50 -o json
  orrery replay month.trace --procs 100 --cycle 30s --phase 10s --overrun extend --print-config`,
		Args: cobra.ArbitraryArgs,
		RunE: v.run,
	}
	v.Register(cmd)
	v.print = app.PrintFlag(cmd)
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "run directory `DIR` to write; without it nothing is written")
	f.BoolVar(&v.facts, "facts", false, "also write facts.parquet, every event of the committed log (with --out)")
	f.BoolVar(&v.decisions, "decisions", false, "also write decisions.parquet, why each job waits and starts, for orrery explain (with --out, of a site)")
	f.BoolVar(&v.report, "report", false, "also draw report.html, summary.md and figures (with --out)")
	cli.ForceFlag(cmd, &v.force)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks, no table: only -o json or markdown print")
	f.BoolVar(&v.printConfig, "print-config", false, "print the settings with their origins, and run nothing")
	cli.OnlyOnce(f)
	return cmd
}

// Replays of manyRows and more collect garbage when the heap has grown by a quarter
// instead of doubled: their memory is buffers that do not grow with the rows,
// and that saves a third of it for a tenth of the time. GOGC overrides it.
const (
	manyRows  = 1 << 18
	largeSite = 1 << 18 // bytes of a cluster file, likewise: the text of one takes much memory for a moment
	gcPercent = 25
	// fewGCs is for all others: it saves half of the collections. A month of a site takes as much memory as before, since its
	// heap is largest at the end; a hundred thousand jobs submitted at one instant take a fifth more.
	fewGCs = 200
)

func (v *replayVerb) run(cmd *cobra.Command, args []string) error {
	if err := v.check(cmd.Flags().Changed("out")); err != nil {
		return err
	}
	own := v.app.Getenv("GOGC") == ""
	if st, err := os.Stat(v.Flags.Site.File); own && err == nil && st.Size() >= largeSite {
		debug.SetGCPercent(gcPercent)
	} else if own {
		debug.SetGCPercent(fewGCs)
	}
	t, err := logfile.OpenLog(cmd.Context(), v.app, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.Close()
	spec, err := v.Bound(t)
	if err != nil {
		return err
	}
	if v.decisions && len(spec.Site) == 0 {
		return cli.Usagef("--decisions is for sites, with --cluster or --profile: on a plain cluster orrery explain needs no more than the tables that there are")
	}
	if v.printConfig {
		return v.Flags.PrintConfig(v.print, spec, t)
	}
	logfile.Remark(v.app, t, v.quiet)
	if t.About.Rows >= manyRows && own {
		debug.SetGCPercent(gcPercent)
	}
	bar := v.app.Progress("replaying", "jobs", v.quiet)
	o := sim.ReplayOptions{Dir: v.out, Facts: v.facts, Decisions: v.decisions, Version: cli.Version(), Host: v.app.Host(time.Now(), t.About.Name)}
	if bar != nil {
		o.Progress = bar.Replay
	}
	out, err := sim.Replay(cmd.Context(), spec, sim.Input{Open: t.Open}, o)
	bar.Done()
	if err != nil {
		return err
	}
	if v.report {
		if err := reports.Write(v.out, reports.Options{}); err != nil {
			return fmt.Errorf("drawing the report: %w", err)
		}
	}
	return v.show(t, out)
}

// check refuses flags that do not apply to each other, before anything is read.
func (v *replayVerb) check(outGiven bool) error {
	switch {
	case v.out == "" && outGiven:
		return cli.Usagef("--out is empty: name a run directory")
	case v.out == "" && v.report:
		return cli.Usagef("--report draws into the run directory: name one with --out")
	case v.out == "" && v.facts:
		return cli.Usagef("--facts writes into the run directory: name one with --out")
	case v.out == "" && v.decisions:
		return cli.Usagef("--decisions writes into the run directory: name one with --out")
	}
	return cli.MayHold("--out", v.out, record.FileRun, v.force)
}

// show prints the outcome in the form that was asked for.
func (v *replayVerb) show(t *logfile.Trace, out *sim.Outcome) error {
	recorded, err := recordedOf(t.Open, &out.Table)
	if err != nil {
		return err
	}
	switch {
	case v.print.JSON():
		return v.print.Document(replayed{out.Table, recorded})
	case v.quiet && v.print.Format == "table":
		return nil
	}
	if v.print.ForPrograms() {
		return v.print.Table(metricTable(&out.Table))
	}
	v.routed(out)
	s := summary{trace: t, out: out, dir: v.out, report: v.report, recorded: recorded}
	if err := v.print.Table(s.table()); err != nil {
		return err
	}
	if err := v.print.Section("rows that needed special handling", s.awkward()); err != nil {
		return err
	}
	if v.print.Format == "table" {
		s.next(cli.Escaped(v.app.Stdout))
	}
	return nil
}

// routed says on standard error how many rows named no vCluster, for that decides in
// whose queue their jobs waited.
func (v *replayVerb) routed(out *sim.Outcome) {
	for _, r := range out.Document.Awkward {
		switch r.Rule {
		case translate.RuleRouted.String(), translate.RuleRoutedRest.String(), translate.RuleFirstVCluster.String():
			if !v.quiet {
				rows := " rows name"
				if r.Count == 1 {
					rows = " row names"
				}
				v.app.Say("orrery: %s: %s no vCluster: %s", r.Rule, plot.Count(r.Count)+rows, routedText(v.Site.Read, r.Rule))
			}
		}
	}
}

// routedText says where jobs went whose rows name no vCluster: by which column, and to
// which vClusters.
func routedText(c *profiles.Cluster, rule string) string {
	r := &c.Routing
	switch rule {
	case translate.RuleFirstVCluster.String():
		if len(c.VClusters) == 0 {
			return "they went to the one of the site"
		}
		return "they went to the first of the site, " + c.VClusters[0].Name
	case translate.RuleRoutedRest.String():
		return "they went to " + r.Otherwise + ", where all others go"
	}
	values, vclusters := r.Routes()
	if len(values) == 0 {
		return "the column " + r.Column + " said it"
	}
	const most = 8
	var routes []string
	for i := range min(len(values), most) {
		routes = append(routes, values[i]+" to "+vclusters[i])
	}
	if more := len(values) - most; more > 0 {
		routes = append(routes, fmt.Sprintf("and %d more", more))
	}
	return "the column " + r.Column + " said it (" + strings.Join(routes, ", ") + ")"
}

// metricTable lists the metrics of a run, with all their digits.
func metricTable(m *metric.Table) *doc.Table {
	t := doc.New("metric", "window", "unit", "value", "count", "note")
	for _, x := range m.Metrics {
		value := doc.Cell{}
		if x.Value != nil {
			value = doc.Float(*x.Value, -1)
		}
		t.Row(x.Name, x.Window, x.Unit, value, x.Count, x.Note)
	}
	return t
}
