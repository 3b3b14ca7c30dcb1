package studies

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/studypage"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim"
	"orrery/sim/experiment"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/sim/task"
)

func studyCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Look into a study that orrery sweep made",
		Long: `Look into the study directory of orrery sweep: how far it is, what came of each
point, and the whole run of one task.

Exit codes: 0 done, else those of the verbs below.`,
		Example: `  orrery study status study
  orrery study table study -o markdown
  orrery study materialize study 2 --out second`,
	}
	trustFlag(app, cmd.PersistentFlags())
	cmd.AddCommand(studyStatusCommand(app), studyTableCommand(app), materializeCommand(app), studyClusterCommand(app), studyProfileCommand(app))
	return cmd
}

func studyStatusCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "status STUDY",
		Short: "Count tasks, results, failures and workers",
		Long: `Count the tasks of the study STUDY, their outcomes, and the workers that are at it,
from its files. It may be called at any time, on any machine that sees them.

Exit codes: 0 all tasks have results, 1 failed, 3 no study or a damaged one, 4
two runs of a task differ, 6 some tasks failed or are still to be computed.`,
		Example: `  orrery study status study
  orrery study status study -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := formats.OpenStudy(app, args[0], "")
			if err != nil {
				return err
			}
			formats.WarnOfStudy(app, s, false)
			return status(app, s, print)
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

func status(app *cli.App, s *sweep.Study, print *cli.Printer) error {
	st, err := s.Status()
	if err != nil {
		return formats.StudyError(err)
	}
	if print.JSON() {
		if err := print.Document(statusOf(s, &st)); err != nil {
			return err
		}
		return statusVerdict(s, &st)
	}
	t := doc.New("what", "count", "remark")
	for _, row := range []struct {
		what, remark string
		n            int
	}{
		{"tasks", "", st.Tasks}, {"results", "", st.Results}, {"failed", "by themselves; see failures/", st.Failed},
		{"quarantined", "given up after four tries", st.Quarantined}, {"remaining", "left to compute", st.Remaining},
		{"claimed", "chunks that workers hold", st.Claimed}, {"tries", "by the journals, as what follows", st.Started},
		{"retried", "failed by their place", st.Retried}, {"lost", "their worker vanished", st.Lost},
		{"duplicates", "came second, and were equal", st.Duplicates}, {"faults", "came second, and differ", st.FaultyTasks},
		{"workers", fmt.Sprintf("processes, %d at work or ended unexpectedly", st.Open), st.Writers},
	} {
		t.Row(row.what, row.n, row.remark)
	}
	if err := print.Table(t); err != nil {
		return err
	}
	if st.Damaged > 0 {
		app.Say("orrery: warning: %d lines in %s are not what was written, and are not counted; results do not depend on them", st.Damaged, filepath.Join(s.Dir(), "journal"))
	}
	return statusVerdict(s, &st)
}

// studyStatus is what study status -o json prints.
type studyStatus struct {
	Study       string `json:"study"`
	Tasks       int    `json:"tasks"`
	Results     int    `json:"results"`
	Failed      int    `json:"failed"`      // by themselves
	Quarantined int    `json:"quarantined"` // given up after four tries
	Remaining   int    `json:"remaining"`   // without an outcome
	Claimed     int    `json:"claimed_chunks"`
	Tries       int    `json:"tries"`
	Retried     int    `json:"retried"`
	Lost        int    `json:"lost"` // their worker vanished
	Duplicates  int    `json:"duplicates"`
	Faults      int    `json:"faults"`
	Workers     int    `json:"workers"`
	Unended     int    `json:"workers_ended_unexpectedly"` // or still at work
}

func statusOf(s *sweep.Study, st *sweep.Status) studyStatus {
	return studyStatus{s.Dir(), st.Tasks, st.Results, st.Failed, st.Quarantined, st.Remaining, st.Claimed, st.Started, st.Retried, st.Lost, st.Duplicates, st.FaultyTasks, st.Writers, st.Open}
}

// statusVerdict is the exit code of a status.
func statusVerdict(s *sweep.Study, st *sweep.Status) error {
	switch err := s.Verdict(); {
	case errors.Is(err, sweep.ErrNoOutcome):
		return cli.Coded(cli.ExitPartial, fmt.Errorf("%d of %d tasks are still to be computed", st.Remaining, st.Tasks))
	default:
		return formats.StudyError(err)
	}
}

func studyTableCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	var report bool
	cmd := &cobra.Command{
		Use:   "table STUDY",
		Short: "Print what came of each point",
		Long: `Print what came of each point of the last experiment that was swept into STUDY, the
best first: means over the scenarios, feasible points by the first objective,
then the others. Points that are overloaded in more windows than chance explains
are not ranked by their waits, and stand last by name. The study may still be
under way.

Exit codes: 0 printed, 1 failed, 3 no study or a damaged one.`,
		Example: `  orrery study table study -o markdown
  orrery study table study --report`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.OneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := formats.OpenStudy(app, args[0], "")
			if err != nil {
				return err
			}
			p, err := formats.ReadPlan(args[0])
			if err != nil {
				return err
			}
			formats.WarnOfStudy(app, s, false)
			_, err = studyTable(app, s, p, print, false, report)
			return err
		},
	}
	print = app.PrintFlag(cmd)
	cmd.Flags().BoolVar(&report, "report", false, "also draw report.html and figures into STUDY")
	return cmd
}

// materializeVerb holds the flags of study materialize.
type materializeVerb struct {
	app   *cli.App
	out   string
	facts bool
	quiet bool
	force bool
}

func materializeCommand(app *cli.App) *cobra.Command {
	v := &materializeVerb{app: app}
	cmd := &cobra.Command{
		Use:   "materialize STUDY TASK",
		Short: "Make the run directory of a task or a point",
		Long: `Replay one task of STUDY once more and write its run directory, as orrery replay
--out does, for orrery report, explain and compare. TASK is its number or the
beginning of its digest, as orrery study table -o json lists them, or the id or
name of a point: of several scenarios its first. The replay must come out as the
result that the study holds.

Exit codes: 0 written, 1 failed, 2 usage, 3 no study, no such task or a damaged
one, 4 it came out otherwise, 130 interrupted.`,
		Example: `  orrery study materialize study 0
  orrery study materialize study 1 --out again --facts`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cli.OneDirectory,
		RunE:              v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "run directory `DIR` to write; without it STUDY/runs/DIGEST")
	f.BoolVar(&v.facts, "facts", false, "also write facts.parquet, every event of the committed log")
	cli.ForceFlag(cmd, &v.force)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "print nothing when all is well")
	cli.OnlyOnce(f)
	return cmd
}

func (v *materializeVerb) run(cmd *cobra.Command, args []string) error {
	if err := cli.MayHold("--out", v.out, record.FileRun, v.force); err != nil {
		return err // a run within the study is that of the same task
	}
	s, err := formats.OpenStudy(v.app, args[0], "")
	if err != nil {
		return err
	}
	if err := formats.Replayable(s); err != nil {
		return err
	}
	n, t, err := taskOf(s, args[1])
	if err != nil {
		return err
	}
	out := v.out
	if out == "" {
		out = filepath.Join(s.Dir(), "runs", s.Digest(n).String()[:12])
	}
	ctx := cmd.Context()
	mem, err := studyRunner(s).Trace(ctx, &t)
	if err != nil {
		return withoutTrace(s, &t, err)
	}
	spec := t.Replay()
	spec.Trace = mem.Info().Hash // a part of a trace is a trace of its own
	create := record.Create
	if v.out == "" { // within the study: not where a link leads
		root, err := disk.OpenRoot(s.Dir(), disk.Anyone)
		if err != nil {
			return err
		}
		defer root.Close()
		create = func(dir string, meta record.Meta) (*record.Writer, error) {
			return record.CreateWithin(root, dir, meta)
		}
	}
	done, err := sim.Replay(ctx, spec, sim.Input{Open: mem.Open}, sim.ReplayOptions{Dir: out, Create: create, Facts: v.facts, Version: cli.Version(), Host: v.app.Host(time.Now(), mem.Info().Name)})
	if err != nil {
		return err
	}
	return v.hold(s, n, done, out)
}

// hold compares the replay with the result of the study.
func (v *materializeVerb) hold(s *sweep.Study, n int, done *sim.Outcome, out string) error {
	b, failed, err := s.Outcome(s.Digest(n))
	switch {
	case errors.Is(err, sweep.ErrNoOutcome):
		v.app.Say("the study has not computed this task yet: there is nothing to hold the run against")
	case err != nil:
		return formats.StudyError(err)
	case failed != nil:
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("the task has a run by now, in %s, and failed in the study: %s", out, failed.Error))
	default:
		r, err := task.ResultOf(s.Digest(n).String(), b)
		if err != nil {
			return cli.BadInput(fmt.Errorf("%s, task %d: %w; %s", s.Dir(), n, err, s.Remedy(s.Digest(n))))
		}
		if r.Fingerprint != done.Result.Fingerprint {
			return cli.Coded(cli.ExitMismatch, fmt.Errorf("the run in %s has the fingerprint %s, the study has %s: another build made the study, or it is damaged", out, done.Result.Fingerprint, r.Fingerprint))
		}
	}
	if !v.quiet {
		fmt.Fprintf(cli.Escaped(v.app.Stdout), "run: %s\nfingerprint: %s\n", out, done.Result.Fingerprint)
	}
	return nil
}

// taskOfPoint is the first task of a point that has the id or the name, "" where there is
// none.
func taskOfPoint(s *sweep.Study, word string) string {
	p, err := formats.ReadPlan(s.Dir())
	if err != nil || word == "" {
		return "" // a study of tasks alone, such as that of tune
	}
	for i := range p.Points {
		if q := &p.Points[i]; (q.ID == word || q.Name == word) && len(q.Tasks) > 0 {
			return q.Tasks[0]
		}
	}
	return ""
}

// taskOf is the task that a user means, and its number.
func taskOf(s *sweep.Study, word string) (n int, t task.Task, err error) {
	if n, err = findTask(s, word); err != nil {
		return n, t, err
	}
	spec, err := s.Spec(n)
	if err != nil {
		return n, t, formats.StudyError(err)
	}
	if t, err = task.Parse(spec); err != nil {
		return n, t, cli.BadInput(err)
	}
	return n, t, nil
}

// findTask is the number of the task that a user means. Digits are a number
// where there is such a task, and else the beginning of a digest.
func findTask(s *sweep.Study, word string) (int, error) {
	if n, err := strconv.Atoi(word); err == nil && n >= 0 && n < s.Len() {
		return n, nil
	}
	if id := taskOfPoint(s, word); id != "" {
		word = id
	}
	found := -1
	for n := range s.Len() {
		if !strings.HasPrefix(s.Digest(n).String(), strings.ToLower(word)) {
			continue
		}
		if found >= 0 {
			return 0, cli.Usagef("%s begins the digests of several tasks: give more digits", word)
		}
		found = n
	}
	if found < 0 {
		return 0, cli.BadInput(fmt.Errorf("the study %s has no task %s: want a number below %d, or the beginning of a digest (orrery study table -o json)", s.Dir(), word, s.Len()))
	}
	return found, nil
}

// studyTable prints what came of each point, and draws the report when asked.
func studyTable(app *cli.App, s *sweep.Study, p *experiment.Plan, print *cli.Printer, quiet, report bool) ([]experiment.Row, error) {
	rows, err := p.Rows(outcomes(s))
	if err != nil {
		return nil, err
	}
	if report {
		if err := study.Write(s.Dir(), studypage.Report(s.Dir(), p, rows, studyFiles(s, p)), app.Made()); err != nil {
			return nil, fmt.Errorf("drawing the report: %w", err)
		}
	}
	switch {
	case print.JSON():
		return rows, print.Document(studypage.Document(p, rows))
	case quiet && print.Format == string(table.Text):
		return rows, nil
	}
	for _, text := range experiment.Unheeded(rows) {
		app.Say("UNHEEDED: %s", text)
	}
	if err := print.Table(studypage.Rows(p, rows)); err != nil {
		return nil, err
	}
	if t := studypage.Under(p, rows); t != nil && print.Format != string(table.CSV) { // which is one table
		fmt.Fprintln(app.Stdout)
		if err := print.Table(t); err != nil {
			return nil, err
		}
	}
	if len(p.Aside) > 0 && !quiet {
		app.Say("%s set aside: %s", table.Counted(len(p.Aside), "window"), studypage.Aside(p))
	}
	for _, text := range p.Remarks {
		if !quiet {
			app.Say("%s", text)
		}
	}
	if len(rows) > 0 && rows[0].Aside > 0 && !quiet {
		app.Say("%s of %d left out of the means: every point is overloaded there", table.Counted(rows[0].Aside, "scenario"), len(p.Scenarios))
	}
	if report && print.Format == string(table.Text) {
		fmt.Fprintf(cli.Escaped(app.Stdout), "\nreport: %s\n", filepath.Join(s.Dir(), page.FileHTML))
	}
	return rows, nil
}
