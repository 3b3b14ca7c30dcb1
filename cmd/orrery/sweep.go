package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/studypage"
	"orrery/profiles"
	"orrery/reports/table"
	"orrery/sim/experiment"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/sweep"
	"orrery/sim/task"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

// sweepVerb holds the flags of sweep.
type sweepVerb struct {
	m           *Main
	print       *printer
	out         string
	report      bool
	dryRun      bool
	printConfig bool
	quiet       bool
	by          executorFlags
	axes        axisFlags
}

func (m *Main) sweepCommand() *cobra.Command {
	v := &sweepVerb{m: m}
	cmd := &cobra.Command{
		Use:   "sweep EXPERIMENT --out STUDY | sweep LOG -P PATH=VALUES --out STUDY",
		Short: "Replay many profiles and settings, and compare them",
		Long: `Replay all points of an experiment on all its scenarios, into the study directory
STUDY, and print a table of what came of each point. EXPERIMENT is a file that
names traces, windows of them, profiles and settings to vary; see
docs/EXPERIMENT-FORMAT.md.

With -P the points are those of flags, on LOG (the word sample is the log of the
program): all combinations of the values, or with --points a sample of the ranges. A
combination in which a setting has no effect, as depth beside easy, is tried once.
--print-config prints the experiment file that the flags amount to.

The same command goes on with a study that was interrupted or killed, or that
the experiment has grown since: no task is computed twice. Workers are this
process (--executor local), jobs of Slurm (slurm), or what a command of your own
starts on machines that share the directory (template).

` + executorHelp + `

Exit codes: 0 all tasks have results, 1 failed, 2 usage or a wrong experiment, 3
bad input, 4 two runs of a task differ, 5 an objective or a constraint has no value at any
point, 6 some tasks failed, 130 interrupted.`,
		Example: `  orrery sweep experiment.yaml --out study
  orrery sweep sample -P order=fcfs,sjf,wfp3 -P backfill=easy,conservative --out orders
  orrery sweep log.swf.gz -P weights.wait_time=1..5:2 -P cycle=event,30s --subject-to "wait_max <= 3d" --out weights
  orrery sweep experiment.yaml --out study --dry-run
  orrery sweep experiment.yaml --out study --executor slurm --workers 16 --sbatch=--partition=short --dry-run`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: firstWordOrFile(sampleLog),
		RunE:              v.run,
	}
	m.logFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "study directory `STUDY`, new or of an earlier sweep")
	f.BoolVar(&v.report, "report", false, "also draw report.html and figures into STUDY")
	f.BoolVar(&v.dryRun, "dry-run", false, "say what would be computed and print what would be submitted for it (but in JSON); make and compute nothing")
	f.BoolVar(&v.printConfig, "print-config", false, "print the experiment with every key that applies, and compute nothing")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks, no table: only -o json or markdown print")
	v.print = m.printFlag(cmd)
	v.by.register(m, cmd)
	v.axes.register(cmd)
	onlyOnce(f)
	return cmd
}

// experiment reads what is to be swept, and the folder that its paths are from.
func (v *sweepVerb) experiment(cmd *cobra.Command, path string) (e *profiles.Experiment, dir string, err error) {
	if len(v.axes.vary) > 0 {
		e, err = v.axes.experiment(path)
		return e, ".", err
	}
	dir = filepath.Dir(path)
	e, err = profiles.LoadExperiment(path)
	switch given := givenOf(cmd.Flags(), axisNames); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, dir, noFile(path, path, "an experiment file, or with -P PATH=VALUES a log")
	case len(given) > 0:
		return nil, dir, usagef("%s goes with -P PATH=VALUES: an experiment file says it itself", given[0])
	case err != nil && isLog(path) && contentOf(path) != contentRun:
		return nil, dir, usagef("%s is a log and no experiment file: say what is varied on it with -P PATH=VALUES", path)
	case err != nil:
		return nil, dir, otherContent(path, &codedError{exitUsage, allFaults(err, e, dir)}, "an experiment file", exitUsage, written...)
	}
	return e, dir, nil
}

// isLog says whether a file is a workload and not text that people write.
func isLog(path string) bool {
	_, err := importer.Detect(path, importer.Options{})
	return err == nil
}

// unjittered is what an experiment without seeds says of its jitter.
var unjittered = regexp.MustCompile(`(?m)^jitter:\n(?: +.*\n)+`)

// plainYAML is an experiment with every key that applies. Without seeds no arrival is
// jittered, and lint remarks on what is said about it.
func plainYAML(e *profiles.Experiment) []byte {
	if len(e.Jitter.Seeds) > 0 {
		return e.YAML()
	}
	return unjittered.ReplaceAll(e.YAML(), nil)
}

func (v *sweepVerb) run(cmd *cobra.Command, args []string) error {
	e, dir, err := v.experiment(cmd, args[0])
	if err != nil {
		return err
	}
	if v.printConfig {
		if v.print.json() {
			_, err = v.m.Stdout.Write(append(e.FullJSON(), '\n'))
		} else {
			_, err = v.m.Stdout.Write(plainYAML(e))
		}
		return err
	}
	if v.out == "" {
		return usagef("no study: name its directory with --out STUDY")
	}
	if err := v.by.check(cmd.Flags()); err != nil {
		return err
	}
	ctx := cmd.Context()
	runner := task.NewRunner(nil)
	plan, tasks, sets, err := v.m.expand(ctx, e, dir, runner, v.quiet)
	if err != nil {
		return err
	}
	if v.dryRun {
		return v.dry(plan, tasks)
	}
	s, err := v.enter(ctx, plan, tasks, sets)
	if err != nil {
		return err
	}
	if err := v.compute(ctx, s, runner); err != nil {
		return err
	}
	rows, err := v.m.studyTable(s, plan, v.print, v.quiet, v.report)
	if err = errors.Join(err, studyError(s.Verdict())); err != nil {
		return err
	}
	return unmeasured(plan, rows)
}

// unmeasured is an error where an objective or a constraint has no value at any point, so
// that the table says nothing by it.
func unmeasured(p *experiment.Plan, rows []experiment.Row) error {
	for j, c := range p.Columns() {
		if len(rows) == 0 || slices.ContainsFunc(rows, func(r experiment.Row) bool { return r.Have[j] }) {
			continue
		}
		why := ""
		for _, d := range slices.Concat(metric.Definitions(), metric.SiteDefinitions(), metric.SupplyDefinitions()) {
			if d.Name == c.Metric && d.Edge != "" {
				why = " (" + d.Edge + ")"
			}
		}
		return &codedError{exitEvidence, fmt.Errorf("not enough evidence: %s has no value at any point%s: name another metric, or give the cluster file or the log what it takes", c.Metric, why)}
	}
	return nil
}

// held is a trace of an experiment in memory.
type held struct {
	hash string
	set  *transform.Set
}

// allFaults adds to what is wrong with an experiment file by itself what is wrong
// with what it names, as far as that shows without reading a trace.
func allFaults(err error, e *profiles.Experiment, dir string) error {
	if e == nil { // not even YAML
		return err
	}
	looks := []error{err}
	for i, name := range e.Traces {
		if name == sampleLog {
			continue
		}
		if _, missing := os.Stat(beside(dir, name)); errors.Is(missing, fs.ErrNotExist) {
			looks = append(looks, e.Wrong(fmt.Sprintf("traces[%d]", i), "%s: there is no such file%s: check the path", beside(dir, name), meant(beside(dir, name), sampleLog)))
		}
	}
	return profiles.Joined(append(looks, experiment.Check(e, dir))...)
}

// expand reads the traces of an experiment into runner, and works it out.
func (m *Main) expand(ctx context.Context, e *profiles.Experiment, dir string, runner *task.Runner, quiet bool) (*experiment.Plan, []experiment.Task, []held, error) {
	list, sets, err := m.tracesOf(ctx, e, dir, runner, quiet)
	if err != nil {
		return nil, nil, nil, err
	}
	study, tasks, err := experiment.Expand(ctx, e, dir, list)
	var wrong *profiles.Error
	var usage *plan.UsageError
	if errors.As(err, &wrong) && !errors.As(err, &usage) {
		err = &codedError{exitUsage, err}
	}
	return study, tasks, sets, err
}

// mostFaults is how many traces that cannot be read are said.
const mostFaults = 20

// tracesOf reads the traces of an experiment. Where one cannot be read, the error
// tells of the first of them, and of what else is wrong.
func (m *Main) tracesOf(ctx context.Context, e *profiles.Experiment, dir string, runner *task.Runner, quiet bool) (list []experiment.Trace, sets []held, err error) {
	var faults []error
	code := exitOK
	for i, name := range e.Traces {
		var args []string
		if name != sampleLog {
			args = []string{beside(dir, name)}
		}
		set, err := m.holdTrace(ctx, args, quiet)
		if errors.Is(err, context.Canceled) {
			return nil, nil, err
		}
		if err != nil {
			faults, code = append(faults, e.Wrong(fmt.Sprintf("traces[%d]", i), "%v", err)), max(code, exitCode(err))
			if len(faults) == mostFaults { // each takes a look at the whole file
				break
			}
			continue
		}
		mem, err := runner.Add(set)
		if err != nil {
			return nil, nil, input(err)
		}
		src, err := mem.Open()
		if err != nil {
			return nil, nil, input(err)
		}
		info := mem.Info()
		list = append(list, experiment.Trace{Name: set.Name, Hash: info.Hash, Jobs: info.Rows, Set: set, Tab: src})
		sets = append(sets, held{info.Hash, set})
	}
	if len(faults) == 0 {
		return list, sets, nil
	}
	return nil, nil, &codedError{code, profiles.Joined(append(faults, experiment.Check(e, dir))...)}
}

// enter opens or makes the study and puts traces, plan and tasks into it.
func (v *sweepVerb) enter(ctx context.Context, plan *experiment.Plan, tasks []experiment.Task, sets []held) (*sweep.Study, error) {
	binary, err := sweep.BinaryDigest()
	if err != nil {
		return nil, err
	}
	s, err := sweep.Create(v.out, sweep.Options{Binary: binary, About: studyAbout(), Lease: v.by.lease})
	if errors.Is(err, fs.ErrExist) {
		s, err = sweep.Open(v.out, binary, v.m.trust...)
	} else if other := (*sweep.DataError)(nil); errors.As(err, &other) { // the directory of something else
		return nil, usagef("--out %v", err)
	}
	if err != nil {
		return nil, mixed(err, v.m.otherOut(v.out))
	}
	if err := ours(s); err != nil {
		return nil, err
	}
	for _, h := range sets {
		if err := keepTrace(ctx, s.Dir(), h); err != nil {
			return nil, err
		}
	}
	if err := v.m.create(filepath.Join(s.Dir(), planFile), writing(plan.JSON())); err != nil {
		return nil, err
	}
	_, added, err := s.Add(specsOf(tasks))
	if err != nil {
		return nil, studyError(err)
	}
	if !v.quiet {
		v.m.say("%s on %s: %s, of which %d are new%s", table.Counted(len(plan.Points), "point"), table.Counted(len(plan.Scenarios), "scenario"), table.Counted(plan.Size(), "task"), added, studypage.Merged(plan))
	}
	return s, nil
}

func specsOf[T interface{ JSON() []byte }](tasks []T) [][]byte {
	specs := make([][]byte, len(tasks))
	for i := range tasks {
		specs[i] = tasks[i].JSON()
	}
	return specs
}

// compute runs the study to its end.
func (v *sweepVerb) compute(ctx context.Context, s *sweep.Study, runner *task.Runner) error {
	x, err := v.by.made(v.m, s, func() sweep.Run { return sweep.Run(runner.Worker()) })
	if err != nil {
		return err
	}
	if err := v.m.sayLeft(s, v.quiet); err != nil {
		return err
	}
	began := time.Now()
	err = v.m.watch(s, "sweeping", v.quiet, func() error { return sweep.Complete(ctx, x, s) })
	if errors.Is(err, context.Canceled) {
		return &codedError{exitInterrupted, fmt.Errorf("interrupted; what was computed is in %s, and the same command goes on with it", s.Dir())}
	}
	if err == nil && !v.quiet {
		v.m.say("done in %v", time.Since(began).Round(10*time.Millisecond))
	}
	return studyError(err)
}

// dry says what there is to compute and, but in JSON, what would be submitted for it.
func (v *sweepVerb) dry(plan *experiment.Plan, tasks []experiment.Task) error {
	there := 0
	s, err := sweep.Open(v.out, "", v.m.trust...)
	if err == nil {
		for i := range tasks {
			if _, _, err := s.Outcome(sweep.DigestOf(tasks[i].JSON())); err == nil {
				there++
			}
		}
	} else if _, missing := os.Stat(filepath.Join(v.out, "study.json")); !errors.Is(missing, fs.ErrNotExist) {
		return studyError(err)
	}
	script, err := v.by.script(v.m, v.out)
	if err != nil {
		return err
	}
	if err := v.print.table(studypage.Plan(plan, there)); err != nil || script == "" || v.print.forPrograms() {
		return err
	}
	fence := ""
	if v.print.format == string(table.Markdown) {
		fence = "```\n"
	}
	_, err = fmt.Fprintf(v.m.Stdout, "\n%s%s%s", fence, script, fence)
	return err
}
