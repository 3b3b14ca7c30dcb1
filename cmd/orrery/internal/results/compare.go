// Package results has the verbs that read finished runs: compare, report and export. It replays nothing but the
// replicas that noise is measured by.
package results

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/reports/compare"
	"orrery/reports/page"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/paired"
	"orrery/sim/record"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// compareVerb holds the flags of compare.
type compareVerb struct {
	app      *cli.App
	print    *cli.Printer
	schedule string
	out      string
	force    bool
	windows  int
	all      bool // metrics, not only those that moved
	noise    noise
}

// Verbs are the verbs that read finished runs.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{compareCommand(app), reportCommand(app), exportCommand(app)}
}

func compareCommand(app *cli.App) *cobra.Command {
	v := &compareVerb{app: app}
	cmd := &cobra.Command{
		Use:   "compare A B... | compare DIR --schedule FILE",
		Short: "Compare two runs, or a run with a schedule made elsewhere",
		Long: `Compare the runs in directories A and B of one trace.

First come the mean wait, turnaround and bounded slowdown by windows of submission:
the jobs that started in both runs are divided into windows of equal length, and the
change of the means has a 95 % interval and a verdict, corrected for the number of
rows (docs/STATISTICS.md). There are 20 windows, fewer in a short log, or --windows N.

Verdicts need the noise of the trace. --noise LOG measures it: the settings of each
run are replayed on the log with arrivals jittered by up to --jitter, once for each of
--replicas, and the windows get the means over these runs. A change is then called
better, worse, no difference (within 1 %) or no evidence. Without --noise the interval
holds for the jobs exactly as submitted, and a change that it shows is called differs.
The replicas of the runs have the same seeds, from --seed on, so that a run is equal to
itself; --independent gives each run seeds of its own.

Then come the metrics of the whole run that moved (--all: every one, and those of the
steady part), of a site the waits and shares of each
vCluster, tenant and class over the whole run, how many jobs started earlier and later,
and the jobs that moved most, with what they waited for where both runs recorded
decisions. Spans are in seconds in the metrics and D d HH:MM:SS in the list of jobs.
--out draws all of it as one page, with the figures of both runs beside each other
on the same axes.

More than two runs are each compared with the first, by windows alone.

With --schedule, compare the start of every job in DIR with a CSV file, plain or
gzipped, that has the columns job_id and start (seconds since the epoch of the
trace; submit, end and procs may be there too). The first line printed is

    jobs N differing M

Exit codes: 0 compared (with --schedule: M is 0), 1 failed, 2 usage (also runs of
different traces), 3 bad input, 4 some start differs from the schedule.`,
		Example: `  orrery compare before after
  orrery compare before after --noise log.swf.gz --out compared
  orrery compare before after -o markdown
  orrery compare before after --windows 30 --noise log.swf.gz --replicas 10
  orrery compare run --schedule schedule.csv`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: twoDirectories,
		RunE:              v.run,
	}
	cmd.Flags().StringVar(&v.schedule, "schedule", "", "CSV `FILE` of starts to hold one run against")
	cmd.Flags().StringVar(&v.out, "out", "", "directory `DIR` to draw both runs into: one page (report.html) and its figures")
	cli.ForceFlag(cmd, &v.force)
	cmd.Flags().IntVar(&v.windows, "windows", 0, "compare by `N` windows of submission; 20, or fewer in a short log, where it is left out")
	app.LogFlags(cmd)
	cmd.Flags().StringVar(&v.noise.log, "noise", "", "measure the noise on `LOG`, which the runs replayed; the word "+cli.SampleLog+" is the sample")
	cmd.Flags().IntVar(&v.noise.replicas, "replicas", 5, "`N` replays of each run with jittered arrivals")
	cmd.Flags().BoolVar(&v.all, "all", false, "every metric over every window, not only those of the whole run that moved (json, csv and markdown have all)")
	cmd.Flags().Var(cli.Span(&v.noise.by, "1m"), "jitter", "how far an arrival is moved at most")
	cmd.Flags().IntVar(&v.noise.seed, "seed", 1, "seed `N` of the first replica")
	cmd.Flags().BoolVar(&v.noise.independent, "independent", false, "jitter each run with seeds of its own")
	v.noise.by = model.Minute
	v.print = app.PrintFlag(cmd)
	cli.Grouped(cmd.Flags(), cli.GroupEvidence, "windows", "noise", "replicas", "jitter", "seed", "independent")
	cli.Grouped(cmd.Flags(), cli.GroupResults, "schedule")
	return cmd
}

func twoDirectories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func (v *compareVerb) run(cmd *cobra.Command, args []string) error {
	if err := v.check(cmd.Flags().Changed, args); err != nil {
		return err
	}
	if err := formats.MayRead(v.app, false, args...); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("schedule"):
		return v.withSchedule(args[0])
	case len(args) > 2:
		return v.several(cmd.Context(), args)
	}
	if err := cli.MayHold("--out", v.out, page.FileHTML, v.force); err != nil {
		return err
	}
	c, err := compare.Runs(args[0], args[1])
	if err != nil {
		return formats.ReadError(err)
	}
	if c.Windows, err = v.byWindows(cmd.Context(), []*compare.Comparison{c}); err != nil {
		return err
	}
	if err := v.draw(c); err != nil {
		return formats.ReadError(err)
	}
	if c.Unranked != "" {
		v.app.Say("orrery: %s: %s", compare.NotRanked, c.Unranked)
	}
	if c.BeginsIdle != "" {
		v.app.Say("orrery: %s", c.BeginsIdle)
	}
	if v.print.JSON() {
		return v.print.Document(c)
	}
	if err := v.windowTable(c.Windows); err != nil {
		return err
	}
	if err := v.metricTable(c); err != nil {
		return err
	}
	if err := v.print.Section("Energy, cost and carbon", c.PowerTable()); err != nil {
		return err
	}
	if len(c.Groups) > 0 {
		t := c.GroupTable().Optional("preemptions A", "preemptions B").Optional("change").Optional("share A", "share B").Optional("jobs A", "jobs B")
		if err := v.print.Section("Groups", t); err != nil {
			return err
		}
	}
	if err := v.print.Section("Starts", c.CountTable()); err != nil {
		return err
	}
	if err := v.print.Section("Jobs that moved most", c.MovedTable()); err != nil {
		return err
	}
	why, err := c.WhyTable()
	if err != nil {
		return formats.ReadError(err)
	}
	return v.print.Section("For what they waited", why)
}

// check refuses flags that do not go together.
func (v *compareVerb) check(given func(flag string) bool, args []string) error {
	drawn := v.out != ""
	switch bySchedule := given("schedule"); {
	case bySchedule && len(args) > 1:
		return cli.Usagef("--schedule holds one run against a file: leave out %s", args[1])
	case bySchedule && drawn:
		return cli.Usagef("--out draws two runs: leave out --schedule, or name two runs")
	case bySchedule && (given("windows") || given("noise")):
		return cli.Usagef("--windows and --noise compare runs: leave out --schedule, or name two runs")
	case !bySchedule && len(args) == 1:
		return cli.Usagef("one run given: name a second one, or a schedule with --schedule FILE.csv")
	case len(args) > 2 && drawn:
		return cli.Usagef("%d runs given: --out draws two", len(args))
	case given("windows") && v.windows < 1:
		return cli.Usagef("--windows %d: want 1 or more, 20 as a rule", v.windows)
	}
	return v.noise.check(given)
}

// draw writes the page and its figures when they are asked for.
func (v *compareVerb) draw(c *compare.Comparison) error {
	if v.out == "" {
		return nil
	}
	if err := compare.Write(v.out, c, v.app.Made()); err != nil {
		return err
	}
	v.app.Say("orrery: the page is %s", filepath.Join(v.out, page.FileHTML))
	return nil
}

func (v *compareVerb) withSchedule(dir string) error {
	c, err := compare.Schedule(dir, v.schedule)
	if err != nil {
		return formats.ReadError(err)
	}
	switch {
	case v.print.JSON():
		err = v.print.Document(c)
	case v.print.ForPrograms():
		err = v.print.Table(c.Table())
	default:
		fmt.Fprintf(v.app.Stdout, "jobs %d differing %d\n", c.Jobs, c.Differing)
		err = v.print.Section("First differing jobs", c.Table())
	}
	if err != nil || c.Differing == 0 {
		return err
	}
	hint := ""
	if c.Submits > 0 {
		hint = fmt.Sprintf("; %d of them were not even submitted at the same time: is it a schedule of another log?", c.Submits)
	}
	return cli.Coded(cli.ExitMismatch, fmt.Errorf("%d of %d starts in %s differ from %s%s",
		c.Differing, c.Jobs, filepath.Clean(dir), v.schedule, hint))

}

// noise says how the noise of a trace is measured.
type noise struct {
	log         string // that the runs replayed; "" measures none
	by          model.Duration
	replicas    int
	seed        int // of the first replica
	independent bool
}

// check refuses flags that do not apply, or measure nothing.
func (n *noise) check(given func(flag string) bool) error {
	for _, flag := range []string{"replicas", "jitter", "seed", "independent", "time-zone", "bad-rows", "arrival", "xz-dictionary"} {
		if n.log == "" && given(flag) {
			return cli.Usagef("--%s goes with --noise LOG", flag)
		}
	}
	switch {
	case n.replicas < 1:
		return cli.Usagef("--replicas %d: want 1 or more, 5 as a rule", n.replicas)
	case n.by < 1:
		return cli.Usagef("--jitter %s: want a span above 0", n.by)
	case n.seed < 1:
		return cli.Usagef("--seed %d: want 1 or more", n.seed)
	}
	return nil
}

// seeding says which seeds the replicas of the two sides have.
func (n *noise) seeding() string {
	if n.independent {
		return "seeds of its own for each side"
	}
	return "the same seeds for each side"
}

// replicas adds replays of the settings of each side, with jittered arrivals.
func (v *compareVerb) replicas(ctx context.Context, sides []paired.Side) error {
	var args []string
	if v.noise.log != cli.SampleLog {
		args = []string{v.noise.log}
	}
	set, err := logfile.HoldTrace(ctx, v.app, args, true)
	if err != nil {
		return err
	}
	runner := task.NewRunner(nil)
	whole, err := runner.Add(set)
	if err != nil {
		return cli.BadInput(err)
	}
	var list []paired.Replica
	for i := range sides {
		if err := formats.SameSemantics(sides[i].Name); err != nil {
			return err
		}
		spec, err := formats.ReadSpec(sides[i].Name)
		if err != nil {
			return err
		}
		if found := whole.Info().Hash; found != spec.Trace {
			return cli.Usagef("--noise %s: its content is %.12s, and the runs replayed %.12s: name the log of the runs", v.noise.log, found, spec.Trace)
		}
		seed := v.noise.seed
		if v.noise.independent {
			seed += i * v.noise.replicas
		}
		for r := range v.noise.replicas {
			list = append(list, paired.Replica{Spec: spec, By: v.noise.by, Seed: seed + r})
		}
	}
	bar := v.app.Progress("measuring the noise", "runs", false)
	defer bar.Done()
	tell := func(done int) { bar.Draw(int64(done), int64(len(list)), "") }
	runs, err := paired.Replay(ctx, runner, list, runtime.GOMAXPROCS(0), tell)
	if err != nil {
		return err
	}
	for i := range sides {
		sides[i].Runs = append(sides[i].Runs, runs[i*v.noise.replicas:(i+1)*v.noise.replicas]...)
	}
	return nil
}

// sideOf is a run directory as one side of a comparison by windows.
func sideOf(dir string) (paired.Side, error) {
	f, err := record.Open(dir)
	if err != nil {
		return paired.Side{}, formats.ReadError(err)
	}
	defer f.Close()
	jobs, err := paired.Read(f)
	if err != nil {
		return paired.Side{}, formats.ReadError(err)
	}
	return paired.Side{Name: dir, Runs: []paired.Run{{Jobs: jobs}}}, nil
}

// byWindows compares runs of one trace with the first of them, by windows of
// submission, with the noise where it is to be measured.
func (v *compareVerb) byWindows(ctx context.Context, list []*compare.Comparison) (*paired.Result, error) {
	var sides []paired.Side
	for i, c := range list {
		if i == 0 {
			first, err := sideOf(c.A.Dir)
			if err != nil {
				return nil, err
			}
			sides = append(sides, first)
		}
		side, err := sideOf(c.B.Dir)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	if v.noise.log != "" {
		if err := v.replicas(ctx, sides); err != nil {
			return nil, err
		}
	}
	r, err := paired.Compare(sides[0], sides[1:], paired.Options{Windows: v.windows, Stat: stat.Defaults()})
	if err != nil {
		return nil, err
	}
	// An overloaded run is still as good as one that scheduled alike.
	unranked := map[string]bool{}
	for _, c := range list {
		overloaded := c.A.Verdict == metric.Overloaded || c.B.Verdict == metric.Overloaded
		unranked[c.B.Dir] = overloaded && !c.Alike()
	}
	r.Unrank(func(run string) bool { return unranked[run] })
	return r, nil
}

// several compares any number of runs with the first.
func (v *compareVerb) several(ctx context.Context, dirs []string) error {
	var list []*compare.Comparison
	for _, dir := range dirs[1:] {
		c, err := compare.Runs(dirs[0], dir) // also refuses runs of different traces
		if err != nil {
			return formats.ReadError(err)
		}
		list = append(list, c)
	}
	r, err := v.byWindows(ctx, list)
	if err != nil {
		return err
	}
	said := map[string]bool{}
	for _, c := range list {
		for _, side := range []compare.Side{c.A, c.B} {
			if side.Verdict == metric.Overloaded && !said[side.Dir] {
				said[side.Dir] = true
				v.app.Say("orrery: %s is overloaded: its waits say how long the log is, and it has no rank", side.Dir)
			}
		}
	}
	if v.print.JSON() {
		return v.print.Document(r)
	}
	return v.windowTable(r)
}

// windowTable prints a comparison by windows with what it rests on.
func (v *compareVerb) windowTable(r *paired.Result) error {
	t := compare.WindowTable(r)
	if !slices.ContainsFunc(r.Rows, func(row paired.Row) bool { return row.Run != r.Rows[0].Run }) {
		t.Optional("run")
	}
	t.Optional("unit")
	if !r.Measured() {
		t.Optional("noise")
	}
	if err := v.print.Table(t.Optional("reason").Optional("noise").Optional("p")); err != nil {
		return err
	}
	if !v.print.ForPrograms() {
		fmt.Fprintln(v.app.Stdout)
		v.print.Paragraph(v.about(r))
	}
	return nil
}

// about says what the intervals hold for.
func (v *compareVerb) about(r *paired.Result) string {
	says := compare.AboutWindows(r)
	if r.Measured() {
		return fmt.Sprintf("%s Arrivals were jittered by up to %s, with %s.", says, v.noise.by, v.noise.seeding())
	}
	return says + " To measure it, give --noise LOG, the log that was replayed."
}

// metricTable prints the metrics of two runs: to people those of the whole run that
// moved, unless all are asked for.
func (v *compareVerb) metricTable(c *compare.Comparison) error {
	shown := *c
	if v.print.Format == string(table.Text) && !v.all {
		shown.Metrics = slices.DeleteFunc(slices.Clone(c.Metrics), func(d compare.MetricDiff) bool {
			return d.Window != metric.All || d.Diff == nil || *d.Diff == 0
		})
	}
	t := shown.MetricTable().Optional("window").Optional("better").Optional("change").Optional("difference").Optional("unit")
	if err := v.print.Section("Metrics", t); err != nil || len(shown.Metrics) == len(c.Metrics) {
		return err
	}
	whole := 0
	for i := range c.Metrics {
		if c.Metrics[i].Window == metric.All {
			whole++
		}
	}
	fmt.Fprintln(v.app.Stdout)
	moved := fmt.Sprintf("%d of %s of the whole run moved.", len(shown.Metrics), table.Counted(whole, "metric"))
	if whole < len(c.Metrics) {
		moved += " Those of the other windows are left out."
	}
	v.print.Paragraph(moved + " --all shows every one.")
	return nil
}
