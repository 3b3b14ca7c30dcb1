// Package fork is the verb fork: a run is replayed again to an instant, and goes on from there under what is
// changed. It knows of any run which log it was of.
package fork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/compare"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/rundir"
	"orrery/sim/whatif"
)

// forkVerb holds the flags of fork.
type forkVerb struct {
	scenarioFlags
	app       *cli.App
	print     *cli.Printer
	at, out   string
	file      string
	facts     bool
	decisions bool
	quiet     bool
	force     bool
}

// Command is the verb fork.
func Command(app *cli.App) *cobra.Command {
	v := &forkVerb{app: app}
	cmd := &cobra.Command{
		Use:   "fork RUN [LOG...] --out RUN2",
		Short: "Replay a run again with something changed from an instant on",
		Long: `Replay the run in directory RUN again, with something changed from the instant TIME
on, and report what differs from there. RUN2 becomes a run directory like any other:
compare, report, explain and verify read it, and it can be forked again. Before TIME
it is RUN, which is checked: by every fact where RUN has facts.parquet, else by every
start. Without a change it is RUN to the byte.

TIME is a span since the epoch of the trace, as trace head shows it (36h, 3d), or a
date where the trace knows any. LOG is needed where RUN does not say where its log is.

--profile gives the vClusters of a site another profile at TIME, --order and
--backfill change the policy of a plain cluster. The new scheduler has followed the
old one: it goes on from the jobs that wait, run and are in flight then, and from no
reservation of the old one.

--event changes the site, as the events of a cluster file do: keys of an event as
KEY=VALUE, at TIME or at a key time of their own.

  kind=down subject=n001-n004        nodes fail (up, drain, undrain, degraded)
  kind=power_cap value=40kW          also storage_bandwidth, sensitive_pool, price
  kind=quota subject=physics limit=max_nodes value=32
  kind=outage value=2h               the quorum answers nothing
  kind=add subject=rack9 type=h100 value=8      eight nodes more, of a known type

--scenario reads all of that from a file. docs/WHATIF.md describes it.

--without leaves work out from the beginning, and reports what the others gain.
--counterfactual puts a job at the head of its queue from its submission on, and
reports its regret: what it would gain, less what all others would lose.

Exit codes: 0 forked, 1 failed, 2 usage (also a time outside the run, and a name that
there is not), 3 bad input, 4 RUN2 is not RUN before TIME, 130 interrupted.`,
		Example: `  orrery fork before log.swf.gz --at 10m --order sjf --out sjf-from-then
  orrery fork before --without user=1 --out without-user-1
  orrery fork before --counterfactual 20 --out job-20-first
  orrery replay log.swf.gz --profile default --quiet --out whole
  orrery fork whole --at 10m --profile service --out served
  orrery fork whole --at 10m --event "kind=down subject=n-1" --event "kind=outage value=2m" --out broken`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	v.print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown)
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&v.at, "at", "", "`TIME` from which something is changed")
	f.StringVar(&v.out, "out", "", "run directory `RUN2` to write (required)")
	f.StringArrayVar(&v.profiles, "profile", nil, "profile `P` of every vCluster from TIME on, or V=P of vCluster V; may be given several times")
	f.StringVar(&v.order, "order", "", "`ORDER` of the queue of a plain cluster from TIME on")
	f.StringVar(&v.backfill, "backfill", "", "`RULE` of backfilling on a plain cluster from TIME on, as for replay")
	f.StringArrayVar(&v.events, "event", nil, "`EVENT` at TIME, as \"kind=down subject=n001\"; may be given several times")
	f.StringVar(&v.file, "scenario", "", "`FILE` of events, and of work that is left out")
	f.StringArrayVar(&v.without, "without", nil, "`WORK` to leave out from the beginning: job=ID, user=NAME or tenant=NAME; may be given several times")
	f.StringVar(&v.prefer, "counterfactual", "", "`JOB` to put at the head of its queue, and to report the regret of")
	f.BoolVar(&v.facts, "facts", false, "also write facts.parquet, as where RUN has it")
	f.BoolVar(&v.decisions, "decisions", false, "also write decisions.parquet, as where RUN has it (of a site)")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks, no table: only -o json or markdown print")
	cli.Grouped(f, cli.GroupChanges, "at", "profile", "order", "backfill", "event", "scenario", "without", "counterfactual")
	cli.ForceFlag(cmd, &v.force)
	cli.CompleteFlag(cmd, "profile", cli.CompleteProfile)
	cli.CompleteWith(cmd, "order", order.Names()...)
	cli.CompleteWith(cmd, "backfill", order.BackfillNames()...)
	cli.CompleteWith(cmd, "without", "job=", "user=", "tenant=")
	return cmd
}

// forked is what fork -o json prints.
type forked struct {
	Run    string `json:"run"`
	Fork   string `json:"fork"`
	SpecID string `json:"spec_id"`
	// Changed is false for a fork that asks for nothing: it is the run.
	Changed bool `json:"changed"`
	// Equal is what was held to be equal before the instant: entries of the log of facts, or jobs that
	// started.
	Equal   int64  `json:"equal_before"`
	EqualBy string `json:"equal_by"` // facts or starts
	*whatif.Report
	Metrics []compare.MetricDiff `json:"metrics"` // of the whole of both runs; times in seconds, shares from 0 to 1
}

func (v *forkVerb) run(cmd *cobra.Command, args []string) error {
	dir := args[0]
	if err := v.check(cmd.Flags().Changed, dir); err != nil {
		return err
	}
	if err := formats.MayRead(v.app, v.quiet, dir); err != nil {
		return err
	}
	if err := formats.SameSemantics(dir); err != nil {
		return err
	}
	run, err := record.Open(dir)
	if err != nil {
		return formats.ReadError(err)
	}
	defer run.Close()
	var was rundir.Document
	if err := json.Unmarshal(run.Info(), &was); err != nil {
		return cli.BadInput(fmt.Errorf("%s: %w; replay once more to write it anew", filepath.Join(dir, record.FileRun), err))
	}
	spec, err := formats.ReadSpec(dir)
	if err != nil {
		return err
	}
	at, asked, err := v.asked(run, &was, &spec)
	if err != nil {
		return err
	}
	changed := string(asked.JSON()) != string(spec.Scenario)
	spec.Scenario = asked.JSON()
	rows, err := v.replay(cmd.Context(), dir, &spec, asked, args[1:])
	if err != nil {
		return err
	}
	found := &forked{Run: dir, Fork: v.out, SpecID: spec.ID(), Changed: changed}
	if err := v.compare(found, run, rows, at, asked.Whole.Prefer); err != nil {
		return err
	}
	return v.show(found)
}

// check refuses flags that do not go together, before anything is read.
func (v *forkVerb) check(given func(string) bool, dir string) error {
	switch {
	case v.out == "":
		return cli.Usagef("--out is missing: name a run directory for the fork")
	case !formats.IsRun(dir):
		return cli.OtherContent(dir, cli.BadInput(fmt.Errorf("%s: found no %s, want the directory of a run, that orrery replay --out has written", dir, record.FileRun)), cli.WantRun, cli.ExitInput, "a directory")
	case cli.Same(dir, v.out):
		return cli.Usagef("--out %s is RUN itself, which would be lost: name another directory", v.out)
	case !given("at") && (len(v.profiles) > 0 || v.order != "" || v.backfill != ""):
		return cli.Usagef("--at is missing: say from when the scheduler goes by another policy")
	case !given("at") && v.file == "" && len(v.without) == 0 && v.prefer == "" && len(v.events) == 0:
		return cli.Usagef("nothing is asked: give --at TIME and what changes then, --without or --counterfactual")
	}
	return cli.MayHold("--out", v.out, record.FileRun, v.force)
}

// asked is the instant from which the fork may differ, and all that is asked: what the run was asked
// already, and what the flags add.
func (v *forkVerb) asked(run *record.Run, was *rundir.Document, spec *plan.Spec) (model.Time, *settings.AskedScenario, error) {
	at := was.FirstUS
	if v.at != "" {
		var err error
		if at, err = formats.InstantOf(run, v.at); err != nil {
			return 0, nil, err
		}
		if at < 0 || at > was.LastUS {
			return 0, nil, cli.Usagef("--at %s: the run goes from %s to %s: give a time within it", v.at, was.FirstUS, was.LastUS)
		}
	}
	asked := &settings.AskedScenario{}
	if len(spec.Scenario) > 0 {
		before, err := profiles.ParseScenario(profiles.SpecScenario, spec.Scenario)
		if err != nil {
			return 0, nil, cli.BadInput(fmt.Errorf("%s: %w", filepath.Join(run.Dir(), record.FileRun), err))
		}
		asked.Add(before)
	}
	n := len(asked.Whole.Events)
	if v.file != "" {
		s, err := settings.ReadScenarioFile(v.file)
		if err != nil {
			return 0, nil, err
		}
		asked.Add(s)
	}
	s, err := v.scenario(at)
	if err != nil {
		return 0, nil, err
	}
	asked.Add(s)
	for i := range asked.Whole.Events[n:] {
		e := &asked.Whole.Events[n+i]
		if v.at != "" && model.Time(e.Time) < at {
			return 0, nil, cli.Usagef("the event of kind %s is at %s, before --at %s: from then on the fork may differ; give an earlier --at", e.Kind, model.Time(e.Time), v.at)
		}
	}
	if v.at == "" && !selects(&asked.Whole) && len(asked.Whole.Events) > n {
		at = model.Time(asked.Whole.Events[n].Time)
		for _, e := range asked.Whole.Events[n:] {
			at = min(at, model.Time(e.Time))
		}
	}
	if selects(s) { // from the beginning
		at = min(at, was.FirstUS)
	}
	return at, asked, nil
}

// selects says whether a scenario leaves jobs out, or prefers one.
func selects(s *profiles.Scenario) bool {
	w := &s.Without
	return s.Prefer != nil || len(w.Jobs)+len(w.Users)+len(w.Tenants) > 0
}

// replay writes RUN2, and says how many rows the trace has.
func (v *forkVerb) replay(ctx context.Context, dir string, spec *plan.Spec, asked *settings.AskedScenario, log []string) (rows int64, err error) {
	if log, err = LogFor(dir, spec.Trace, log); err != nil {
		return 0, err
	}
	t, err := logfile.OpenLog(ctx, v.app, log, v.quiet)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	bound, err := spec.Bind(t)
	if told := asked.Located(err); told != nil {
		return 0, told
	}
	if err != nil {
		return 0, err
	}
	has := func(table string) bool { return cli.There(filepath.Join(dir, table+".parquet")) != nil }
	decisions := v.decisions || has(record.TableDecisions)
	if decisions && len(bound.Site) == 0 {
		return 0, cli.Usagef("--decisions is for sites: on a plain cluster orrery explain needs no more than the tables that there are")
	}
	bar := v.app.Progress("replaying", "jobs", v.quiet)
	o := sim.ReplayOptions{Dir: v.out, Facts: v.facts || has(record.TableFacts), Decisions: decisions, Version: cli.Version(), Host: v.app.Host(time.Now(), t.About.Name)}
	if bar != nil {
		o.Progress = bar.Replay
	}
	*spec = bound
	_, err = sim.Replay(ctx, bound, sim.Input{Open: t.Open}, o)
	bar.Done()
	return t.About.Rows, err
}

// compare holds the fork against the run: before the instant they are equal.
func (v *forkVerb) compare(found *forked, run *record.Run, rows int64, at model.Time, prefer *int64) error {
	fork, err := record.Open(v.out)
	if err != nil {
		return err
	}
	defer fork.Close()
	found.EqualBy = "starts"
	if cli.There(filepath.Join(found.Run, record.TableFacts+".parquet")) != nil {
		found.EqualBy = "facts"
		found.Equal, err = whatif.SameLog(record.ReadLog(found.Run), record.ReadLog(v.out), at)
	} else {
		found.Equal, err = whatif.SameJobs(run, fork, rows, at)
	}
	var differs *whatif.Differs
	if errors.As(err, &differs) {
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("%s is not %s before %s: %w; see whether the run comes about again with 'orrery verify %s LOG'", v.out, found.Run, at, differs, cli.Quoted(found.Run)))
	}
	if err != nil {
		return formats.ReadError(err)
	}
	if found.Report, err = whatif.Pairs(run, fork, rows, at, prefer); err != nil {
		return formats.ReadError(err)
	}
	found.Report.Name(fork.Users())
	c, err := compare.Runs(found.Run, v.out)
	if err != nil {
		return formats.ReadError(err)
	}
	found.Metrics = []compare.MetricDiff{}
	for _, m := range c.Metrics {
		if m.Window == "all" && (m.Name == "utilisation" || m.Name == "energy" || m.Name == "jobs_unfinished") && (m.A != nil || m.B != nil) {
			found.Metrics = append(found.Metrics, m)
		}
	}
	return nil
}

// show prints what differs from the fork on.
func (v *forkVerb) show(f *forked) error {
	if v.print.JSON() {
		return v.print.Document(f)
	}
	if v.quiet && v.print.Format == "table" {
		return nil
	}
	if err := v.print.Table(f.countTable()); err != nil {
		return err
	}
	if f.Preferred != nil {
		if err := v.print.Section(fmt.Sprintf("Job %d at the head of its queue", f.Preferred.ID), regretTable(f.Preferred)); err != nil {
			return err
		}
	}
	if len(f.Gained) > 0 {
		if err := v.print.Section("Jobs that gain most", movedTable(f.Gained)); err != nil {
			return err
		}
	}
	if len(f.Lost) > 0 {
		if err := v.print.Section("Jobs that lose most", movedTable(f.Lost)); err != nil {
			return err
		}
	}
	v.app.Say("orrery: before %s the fork is the run: %s", f.At, equalText(f))
	return nil
}

// equalText says what was held to be equal.
func equalText(f *forked) string {
	if f.EqualBy == "facts" {
		return plot.Count(f.Equal) + " entries of the log of facts are equal"
	}
	return plot.Count(f.Equal) + " starts are equal"
}

// countTable is how starts moved, and what jobs wait.
func (f *forked) countTable() *doc.Table {
	t := doc.New("from "+f.At.String()+" on", "run", "fork")
	count := func(name string, n int64) {
		if n > 0 {
			t.Row(name, "", doc.Quantity(plot.Count(n), n))
		}
	}
	n := &f.Jobs
	t.Row("jobs that start earlier", "", doc.Quantity(plot.Count(n.Earlier), n.Earlier))
	t.Row("jobs that start later", "", doc.Quantity(plot.Count(n.Later), n.Later))
	t.Row("jobs that start at the same time", "", doc.Quantity(plot.Count(n.Same), n.Same))
	count("jobs that start in the fork alone", n.OnlyFork)
	count("jobs that start in the run alone", n.OnlyFirst)
	count("jobs that start in neither", n.Never)
	count("jobs that are left out", f.LeftOut)
	if w := &f.Wait; w.Jobs > 0 {
		t.Row("mean wait", wait(*w.Mean), wait(*w.Fork))
		t.Row("p95 wait", wait(*w.P95), wait(*w.P95Fork))
		t.Row("hours gained in all", "", hoursCell(w.Gained))
		t.Row("hours lost in all", "", hoursCell(w.Lost))
	}
	for _, m := range f.Metrics {
		cell := func(x *float64) doc.Cell {
			if x == nil {
				return doc.Cell{}
			}
			return doc.Float(*x, 4)
		}
		t.Row(m.Name+" of the whole run ("+m.Unit+")", cell(m.A), cell(m.B))
	}
	return t
}

func regretTable(p *whatif.Preferred) *doc.Table {
	t := doc.New("", "hours")
	t.Row("it waits less by", hoursCell(p.Gain))
	t.Row("all others wait more by", hoursCell(p.Cost))
	t.Row("regret", hoursCell(p.Regret))
	return t
}

func movedTable(list []whatif.Moved) *doc.Table {
	t := doc.New("job", "user", "procs", "wait", "wait in the fork", "hours")
	for i := range list {
		m := &list[i]
		t.Row(fmt.Sprint(m.ID), m.User, fmt.Sprint(m.Procs), wait(m.Wait), wait(m.Fork), hoursCell(m.Wait-m.Fork))
	}
	return t
}

// wait is a span of seconds as the tables write it.
func wait(s float64) doc.Cell {
	d := model.Duration(s * float64(model.Second))
	return doc.Quantity(d.String(), s)
}

// hoursCell is a span of seconds in hours.
func hoursCell(s float64) doc.Cell { return doc.Float(s/3600, 2) }
