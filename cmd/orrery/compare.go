package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/reports"
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
	noise    noise
}

func (m *Main) compareCommand() *cobra.Command {
	v := &compareVerb{m: m}
	cmd := &cobra.Command{
		Use:   "compare A B | compare A B... --windows N | compare DIR --schedule FILE",
		Short: "Compare two runs, or a run with a schedule made elsewhere",
		Long: `Compare the runs in directories A and B of one trace: every metric with its
difference, of a site the waits and shares of each vCluster, tenant and class over
the whole run, how many jobs started earlier and later, and the jobs that moved
most, with what they waited for where both runs recorded decisions. Spans are in
seconds in the metrics and D d HH:MM:SS in the list of jobs. --out draws all of it
as one page, with the figures of both runs beside each other on the same axes.

With --windows, hold any number of runs against the first by N windows of
submission of equal length: jobs that started in both are joined, figures of one
window are paired, and the mean differences are given with 95 % intervals and
verdicts, corrected for their number (docs/STATISTICS.md). Nothing is called better
or worse that is not beyond the noise of the trace, and --noise LOG measures it: the
settings of A are replayed on the log with arrivals shaken by up to --shake, once for
each of --replicas, and on a plain machine with the events of an instant together and
one by one. Without it no difference gets a verdict.

With --schedule, compare the start of every job in DIR with a CSV file, plain or
gzipped, that has the columns job_id and start (seconds since the epoch of the
trace; submit, end and procs may be there too). The first line printed is

    jobs N differing M

Exit codes: 0 compared (with --schedule: M is 0), 1 failed, 2 usage (also runs of
different traces), 3 bad input, 4 some start differs from the schedule.`,
		Example: `  orrery compare before after
  orrery compare before after --out compared
  orrery compare before after -o markdown
  orrery compare before after --windows 20 --noise log.swf.gz
  orrery compare run --schedule schedule.csv`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: twoDirectories,
		RunE:              v.run,
	}
	cmd.Flags().StringVar(&v.schedule, "schedule", "", "CSV `FILE` of starts to hold one run against")
	cmd.Flags().StringVar(&v.out, "out", "", "directory `DIR` to draw both runs into: one page (report.html) and its figures")
	forceFlag(cmd, &v.force)
	cmd.Flags().IntVar(&v.windows, "windows", 0, "compare by `N` windows of submission, with intervals and verdicts; 20 or more say most")
	cmd.Flags().StringVar(&v.noise.log, "noise", "", "measure the noise on `LOG`, which the runs replayed; the word "+sampleLog+" is the sample")
	cmd.Flags().IntVar(&v.noise.replicas, "replicas", 10, "`N` runs with shaken arrivals that measure the noise")
	cmd.Flags().Var(span(&v.noise.by, "1m"), "shake", "how far an arrival is moved at most")
	v.noise.by = model.Minute
	v.print = m.printFlag(cmd)
	return cmd
}

func twoDirectories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func (v *compareVerb) run(cmd *cobra.Command, args []string) error {
	byWindows := cmd.Flags().Changed("windows")
	if err := v.noise.check(byWindows, cmd.Flags().Changed); err != nil {
		return err
	}
	switch bySchedule := cmd.Flags().Changed("schedule"); {
	case byWindows && (bySchedule || v.out != ""):
		return usagef("--windows goes without --schedule and --out")
	case bySchedule && len(args) > 1:
		return usagef("--schedule holds one run against a file: leave out %s", args[1])
	case bySchedule && v.out != "":
		return usagef("--out draws two runs: leave out --schedule, or name two runs")
	case bySchedule:
		return v.withSchedule(args[0])
	case len(args) == 1:
		return usagef("one run given: name a second one, or a schedule with --schedule FILE.csv")
	case byWindows:
		return v.byWindows(cmd.Context(), args)
	case len(args) > 2:
		return usagef("%d runs given: more than two are compared with --windows N alone", len(args))
	}
	if err := mayHold("--out", v.out, reports.FileHTML, v.force); err != nil {
		return err
	}
	c, err := reports.Compare(args[0], args[1])
	if err != nil {
		return readError(err)
	}
	if err := v.draw(c); err != nil {
		return readError(err)
	}
	if c.Unranked != "" {
		v.m.say("orrery: %s: %s", reports.NotRanked, c.Unranked)
	}
	if v.print.json() {
		return v.print.document(c)
	}
	if err := v.print.table(c.MetricTable()); err != nil {
		return err
	}
	if len(c.Groups) > 0 {
		if err := v.print.section("Groups", c.GroupTable()); err != nil {
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

// draw writes the page and its figures when they are asked for.
func (v *compareVerb) draw(c *reports.Comparison) error {
	if v.out == "" {
		return nil
	}
	if err := reports.WriteComparison(v.out, c); err != nil {
		return err
	}
	v.m.say("orrery: the page is %s", filepath.Join(v.out, reports.FileHTML))
	return nil
}

func (v *compareVerb) withSchedule(dir string) error {
	c, err := reports.CompareSchedule(dir, v.schedule)
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
	return &codedError{exitMismatch, fmt.Errorf("%d of %d starts in %s differ from %s%s",
		c.Differing, c.Jobs, filepath.Clean(dir), v.schedule, hint)}
}
