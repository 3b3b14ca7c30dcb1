package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/reports/compare"
	"orrery/reports/page"
	"orrery/scheduler/model"
)

// compareVerb holds the flags of compare.
type compareVerb struct {
	m        *Main
	print    *printer
	schedule string
	out      string
	force    bool
	windows  int
	all      bool // metrics, not only those that moved
	noise    noise
}

// resultsVerbs are the verbs that read finished runs.
func resultsVerbs(m *Main) []*cobra.Command {
	return []*cobra.Command{m.compareCommand(), m.reportCommand(), m.exportCommand()}
}

func (m *Main) compareCommand() *cobra.Command {
	v := &compareVerb{m: m}
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
	forceFlag(cmd, &v.force)
	cmd.Flags().IntVar(&v.windows, "windows", 0, "compare by `N` windows of submission; 20, or fewer in a short log, where it is left out")
	m.logFlags(cmd)
	cmd.Flags().StringVar(&v.noise.log, "noise", "", "measure the noise on `LOG`, which the runs replayed; the word "+sampleLog+" is the sample")
	cmd.Flags().IntVar(&v.noise.replicas, "replicas", 5, "`N` replays of each run with jittered arrivals")
	cmd.Flags().BoolVar(&v.all, "all", false, "every metric over every window, not only those of the whole run that moved (json, csv and markdown have all)")
	cmd.Flags().Var(span(&v.noise.by, "1m"), "jitter", "how far an arrival is moved at most")
	cmd.Flags().IntVar(&v.noise.seed, "seed", 1, "seed `N` of the first replica")
	cmd.Flags().BoolVar(&v.noise.independent, "independent", false, "jitter each run with seeds of its own")
	v.noise.by = model.Minute
	v.print = m.printFlag(cmd)
	grouped(cmd.Flags(), groupEvidence, "windows", "noise", "replicas", "jitter", "seed", "independent")
	grouped(cmd.Flags(), groupResults, "schedule")
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
	if err := v.m.mayRead(false, args...); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("schedule"):
		return v.withSchedule(args[0])
	case len(args) > 2:
		return v.several(cmd.Context(), args)
	}
	if err := mayHold("--out", v.out, page.FileHTML, v.force); err != nil {
		return err
	}
	c, err := compare.Runs(args[0], args[1])
	if err != nil {
		return readError(err)
	}
	if c.Windows, err = v.byWindows(cmd.Context(), []*compare.Comparison{c}); err != nil {
		return err
	}
	if err := v.draw(c); err != nil {
		return readError(err)
	}
	if c.Unranked != "" {
		v.m.say("orrery: %s: %s", compare.NotRanked, c.Unranked)
	}
	if c.BeginsIdle != "" {
		v.m.say("orrery: %s", c.BeginsIdle)
	}
	if v.print.json() {
		return v.print.document(c)
	}
	if err := v.windowTable(c.Windows); err != nil {
		return err
	}
	if err := v.metricTable(c); err != nil {
		return err
	}
	if err := v.print.section("Energy, cost and carbon", c.PowerTable()); err != nil {
		return err
	}
	if len(c.Groups) > 0 {
		t := c.GroupTable().Optional("preemptions A", "preemptions B").Optional("change").Optional("share A", "share B").Optional("jobs A", "jobs B")
		if err := v.print.section("Groups", t); err != nil {
			return err
		}
	}
	if err := v.print.section("Starts", c.CountTable()); err != nil {
		return err
	}
	if err := v.print.section("Jobs that moved most", c.MovedTable()); err != nil {
		return err
	}
	why, err := c.WhyTable()
	if err != nil {
		return readError(err)
	}
	return v.print.section("For what they waited", why)
}

// check refuses flags that do not go together.
func (v *compareVerb) check(given func(flag string) bool, args []string) error {
	drawn := v.out != ""
	switch bySchedule := given("schedule"); {
	case bySchedule && len(args) > 1:
		return usagef("--schedule holds one run against a file: leave out %s", args[1])
	case bySchedule && drawn:
		return usagef("--out draws two runs: leave out --schedule, or name two runs")
	case bySchedule && (given("windows") || given("noise")):
		return usagef("--windows and --noise compare runs: leave out --schedule, or name two runs")
	case !bySchedule && len(args) == 1:
		return usagef("one run given: name a second one, or a schedule with --schedule FILE.csv")
	case len(args) > 2 && drawn:
		return usagef("%d runs given: --out draws two", len(args))
	case given("windows") && v.windows < 1:
		return usagef("--windows %d: want 1 or more, 20 as a rule", v.windows)
	}
	return v.noise.check(given)
}

// draw writes the page and its figures when they are asked for.
func (v *compareVerb) draw(c *compare.Comparison) error {
	if v.out == "" {
		return nil
	}
	if err := compare.Write(v.out, c, v.m.made()); err != nil {
		return err
	}
	v.m.say("orrery: the page is %s", filepath.Join(v.out, page.FileHTML))
	return nil
}

func (v *compareVerb) withSchedule(dir string) error {
	c, err := compare.Schedule(dir, v.schedule)
	if err != nil {
		return readError(err)
	}
	switch {
	case v.print.json():
		err = v.print.document(c)
	case v.print.forPrograms():
		err = v.print.table(c.Table())
	default:
		fmt.Fprintf(v.m.Stdout, "jobs %d differing %d\n", c.Jobs, c.Differing)
		err = v.print.section("First differing jobs", c.Table())
	}
	if err != nil || c.Differing == 0 {
		return err
	}
	hint := ""
	if c.Submits > 0 {
		hint = fmt.Sprintf("; %d of them were not even submitted at the same time: is it a schedule of another log?", c.Submits)
	}
	return coded(exitMismatch, fmt.Errorf("%d of %d starts in %s differ from %s%s",
		c.Differing, c.Jobs, filepath.Clean(dir), v.schedule, hint))

}
