package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
	settings
	m           *Main
	print       *printer
	out         string
	facts       bool
	decisions   bool
	report      bool
	quiet       bool
	force       bool
	printConfig bool
}

func (m *Main) replayCommand() *cobra.Command {
	v := &replayVerb{m: m}
	cmd := &cobra.Command{
		Use:   "replay [LOG...]",
		Short: "Replay a workload log and measure the schedule",
		Long: `Replay a workload log through the production scheduler core, with simulated time,
and print what came out. With --out the results become a run directory, which is
there as a whole or not at all; an earlier run in it is replaced with --force.

` + settingsHelp + `

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
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: anyFiles,
		RunE:              v.run,
	}
	v.register(cmd)
	v.print = m.printFlag(cmd)
	m.logFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "run directory `DIR` to write; without it nothing is written")
	f.BoolVar(&v.facts, "facts", false, "also write facts.parquet, every event of the committed log (with --out)")
	f.BoolVar(&v.decisions, "decisions", false, "also write decisions.parquet, why each job waits and starts, for orrery explain (with --out, of a site)")
	f.BoolVar(&v.report, "report", false, "also draw report.html, summary.md and figures (with --out)")
	forceFlag(cmd, &v.force)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks, no table: only -o json or markdown print")
	f.BoolVar(&v.printConfig, "print-config", false, "print the settings with their origins, and run nothing")
	onlyOnce(f)
	return cmd
}

// oneFile completes the first argument with files.
func oneFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
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
	own := v.m.Getenv("GOGC") == ""
	if st, err := os.Stat(v.settings.site.file); own && err == nil && st.Size() >= largeSite {
		debug.SetGCPercent(gcPercent)
	} else if own {
		debug.SetGCPercent(fewGCs)
	}
	t, err := v.m.openLog(cmd.Context(), args, v.quiet)
	if err != nil {
		return err
	}
	defer t.close()
	spec, err := v.bound(t)
	if err != nil {
		return err
	}
	if v.decisions && len(spec.Site) == 0 {
		return usagef("--decisions is for sites, with --cluster or --profile: on a plain cluster orrery explain needs no more than the tables that there are")
	}
	if v.printConfig {
		return v.settings.printConfig(v.print, spec, t)
	}
	v.m.remark(t, v.quiet)
	if t.info.Rows >= manyRows && own {
		debug.SetGCPercent(gcPercent)
	}
	bar := v.m.progress("replaying", "jobs", v.quiet)
	o := sim.ReplayOptions{Dir: v.out, Facts: v.facts, Decisions: v.decisions, Version: version(), Host: v.m.host(time.Now(), t.info.Name)}
	if bar != nil {
		o.Progress = bar.replay
	}
	out, err := sim.Replay(cmd.Context(), spec, sim.Input{Open: t.open}, o)
	bar.done()
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
		return usagef("--out is empty: name a run directory")
	case v.out == "" && v.report:
		return usagef("--report draws into the run directory: name one with --out")
	case v.out == "" && v.facts:
		return usagef("--facts writes into the run directory: name one with --out")
	case v.out == "" && v.decisions:
		return usagef("--decisions writes into the run directory: name one with --out")
	}
	return mayHold("--out", v.out, record.FileRun, v.force)
}

// show prints the outcome in the form that was asked for.
func (v *replayVerb) show(t *trace, out *sim.Outcome) error {
	recorded, err := recordedOf(t.open, &out.Table)
	if err != nil {
		return err
	}
	switch {
	case v.print.json():
		return v.print.document(replayed{out.Table, recorded})
	case v.quiet && v.print.format == "table":
		return nil
	}
	if v.print.forPrograms() {
		return v.print.table(metricTable(&out.Table))
	}
	v.routed(out)
	s := summary{trace: t, out: out, dir: v.out, report: v.report, recorded: recorded}
	if err := v.print.table(s.table()); err != nil {
		return err
	}
	if err := v.print.section("rows that needed special handling", s.awkward()); err != nil {
		return err
	}
	if v.print.format == "table" {
		s.next(escaped{v.m.Stdout})
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
				v.m.say("orrery: %s: %s no vCluster: %s", r.Rule, plot.Count(r.Count)+rows, routedText(v.site.read, r.Rule))
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

// host returns the content of host.json: what the trace was called, where the replay ran and how long it
// took. It stays out of everything that is compared.
func (m *Main) host(begin time.Time, trace string) func() any {
	return func() any {
		name, err := os.Hostname()
		if err != nil {
			name = ""
		}
		return map[string]any{
			"started":      begin.UTC().Format(time.RFC3339),
			"wall_seconds": time.Since(begin).Seconds(),
			"host":         name,
			"system":       runtime.GOOS + "/" + runtime.GOARCH,
			"cpus":         runtime.NumCPU(),
			"go":           runtime.Version(),
			"revision":     revision(),
			"arguments":    m.args,
			"trace":        trace,
		}
	}
}
