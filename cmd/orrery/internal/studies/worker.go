package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/sim/sweep"
)

// workerVerb holds the flags of worker.
type workerVerb struct {
	app     *cli.App
	workers int
	linger  time.Duration
	timeout time.Duration
	quiet   bool
}

func workerCommand(app *cli.App) *cobra.Command {
	v := &workerVerb{app: app}
	cmd := &cobra.Command{
		Use:   "worker STUDY",
		Short: "Compute tasks of a study until it is complete",
		Long: `Compute tasks of the study in the directory STUDY, together with all other
workers on it, on this machine and on others, until every task has an outcome.
Batch systems start this verb; it needs nothing but the directory, and the same
build of the program that made the study.

A worker may be killed at any moment: what it has committed stays, and other
workers claim its tasks once its lease has expired. When it is interrupted or
terminated, it releases its claims at once.

Exit codes: 0 the study is complete, whatever its outcomes; 1 failed, 2 usage or
another build made the study, 3 no study or a damaged one; 130 interrupted.`,
		Example: `  orrery worker study
  orrery worker study --workers 2 --quiet`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: v.run,
	}
	f := cmd.Flags()
	f.IntVarP(&v.workers, "workers", "j", 0, "tasks `N` to compute at once; 0 is one per processor")
	f.DurationVar(&v.linger, "linger", 0, "wait this long for further tasks once all are done")
	f.DurationVar(&v.timeout, "timeout", 0, "time limit of one try of a task, which is then tried again; 0 is none")
	trustFlag(app, f)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "print nothing when all is well")
	return cmd
}

func (v *workerVerb) run(cmd *cobra.Command, args []string) error {
	if v.workers < 0 || v.linger < 0 || v.timeout < 0 {
		return cli.Usagef("found --workers %d, --linger %v and --timeout %v, want none below 0", v.workers, v.linger, v.timeout)
	}
	binary, err := sweep.BinaryDigest()
	if err != nil {
		return err
	}
	s, err := formats.OpenStudy(v.app, args[0], binary)
	if err != nil {
		return err
	}
	newWorker, err := taskRunner(s)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := s.Mend(); err != nil { // what is marked as done and is gone is computed again
		return formats.StudyError(err)
	}
	if err := sayLeft(v.app, s, v.quiet); err != nil {
		return err
	}
	workers, err := sweep.Local{Workers: v.workers, NewWorker: newWorker, Timeout: v.timeout}.Start(ctx, s)
	if err != nil {
		return formats.StudyError(err)
	}
	err = Watch(v.app, s, "computing", v.quiet, func() error { return v.serve(ctx, s, workers) })
	if err = errors.Join(err, workers.Stop()); err != nil {
		return formats.StudyError(err)
	}
	if !v.quiet {
		v.app.Say("all %d tasks of %s have outcomes", s.Len(), s.Dir())
	}
	return nil
}

// serve returns when all tasks are done and none came for a while.
func (v *workerVerb) serve(ctx context.Context, s *sweep.Study, workers sweep.Workers) error {
	for {
		if err := workers.Wait(ctx); err != nil {
			return err
		}
		done := s.Len()
		for began := time.Now(); s.Len() == done; {
			left := v.linger - time.Since(began)
			if left <= 0 {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(left, time.Second)):
			}
			if err := s.Reload(); err != nil {
				return err
			}
		}
	}
}

// sayLeft says of a study that was begun earlier how much of it is left.
func sayLeft(app *cli.App, s *sweep.Study, quiet bool) error {
	if quiet {
		return nil
	}
	st, err := s.Status()
	if err != nil {
		return formats.StudyError(err)
	}
	if done := st.Tasks - st.Remaining; done > 0 {
		app.Say("orrery: %s: %d of %d tasks are done, %d are left", s.Dir(), done, st.Tasks, st.Remaining)
	}
	return nil
}

// Watch shows how far a study is while do runs.
func Watch(app *cli.App, s *sweep.Study, verb string, quiet bool, do func() error) error {
	p := app.Progress(verb, "tasks", quiet)
	if p == nil {
		return do()
	}
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	follow := s.Follow()
	first, _ := follow.Poll() // the rate counts from here; the work says what is wrong, if it matters to it
	for tick := time.NewTicker(min(5*p.Every, 5*time.Second)); ; {
		select {
		case done := <-ended:
			tick.Stop()
			p.Done()
			return done
		case <-tick.C:
		}
		t, err := follow.Poll()
		if err != nil {
			continue
		}
		where := ""
		if trouble := t.Failed + t.Quarantined; trouble > 0 {
			where = fmt.Sprintf("%d failed", trouble)
		}
		if first.Finished > 0 {
			where += fmt.Sprintf("  %d were there", first.Finished)
		}
		p.Draw(int64(t.Finished-first.Finished), int64(t.Tasks-first.Finished), where)
	}
}

// ExecutorFlags say what computes the tasks of a study.
type ExecutorFlags struct {
	executor string
	workers  int
	timeout  time.Duration
	Lease    time.Duration
	sbatch   []string
	command  string
	cancel   string
}

const ExecutorHelp = `With slurm, --workers are elements of a job array, and --sbatch gives options of
sbatch. With template, --command is run once for each worker when it names
{index}, else once; {command} in it is the command line of a worker, {study} and
{workers} what they say. Commands that hand their words to another shell, as ssh does,
take {command:sh}: --command 'ssh node{index} {command:sh}'.`

// trustFlag adds the owners whose files in a study are read beside those of this user.
func trustFlag(app *cli.App, f *pflag.FlagSet) {
	f.IntSliceVar(&app.Trust, "trust-owner", nil, "read files in a study that belong to the user with this `UID` too; may be given several times")
}

// Register adds the flags to a verb that computes a study.
func (e *ExecutorFlags) Register(app *cli.App, cmd *cobra.Command) {
	f := cmd.Flags()
	trustFlag(app, f)
	e.executor = "local"
	names := []string{"local", "slurm", "template"}
	f.Var(cli.Choice{Word: &e.executor, Of: names, What: "executor"}, "executor", "what computes the tasks")
	cli.CompleteWith(cmd, "executor", names...)
	f.IntVarP(&e.workers, "workers", "j", 0, "`N` workers; 0 is one per processor with local, and must be given with the others")
	f.DurationVar(&e.timeout, "timeout", 0, "time limit of one try of a task, which is then tried again; 0 is none")
	f.DurationVar(&e.Lease, "lease", 0, "of a new study: how long a worker may be silent before others take over; 0 is one minute")
	f.StringArrayVar(&e.sbatch, "sbatch", nil, "further `OPTION` of sbatch; may be given several times")
	f.StringVar(&e.command, "command", "", "with template: the `COMMAND` that starts workers")
	f.StringVar(&e.cancel, "cancel", "", "with template: the `COMMAND` that ends workers before the study is complete")
	cli.Grouped(f, cli.GroupWorkers, "executor", "workers", "timeout", "lease", "sbatch", "command", "cancel", "trust-owner")
}

// Check refuses flags that do not apply.
func (e *ExecutorFlags) Check(f *pflag.FlagSet) error {
	switch {
	case e.workers < 0 || e.timeout < 0 || e.Lease < 0:
		return cli.Usagef("found --workers %d, --timeout %v and --lease %v, want none below 0", e.workers, e.timeout, e.Lease)
	case e.Lease != 0 && (e.Lease < sweep.MinLease || e.Lease > sweep.MaxLease):
		return cli.Usagef("found --lease %v, want %v to %v, or 0 for one minute", e.Lease, sweep.MinLease, sweep.MaxLease)
	case e.executor != "local" && e.workers == 0:
		return cli.Usagef("--executor %s: say how many workers there are to be, with --workers", e.executor)
	case e.executor != "slurm" && f.Changed("sbatch"):
		return cli.Usagef("--sbatch goes with --executor slurm")
	case e.executor != "template" && (f.Changed("command") || f.Changed("cancel")):
		return cli.Usagef("--command and --cancel go with --executor template")
	case e.executor == "template" && e.command == "":
		return cli.Usagef("--executor template: give the command that starts workers, with --command, for example 'ssh node{index} {command:sh}'")
	}
	return nil
}

// Made is the executor that the flags ask for; newWorker makes those of this process.
func (e *ExecutorFlags) Made(app *cli.App, s *sweep.Study, newWorker func() sweep.Run) (sweep.Executor, error) {
	switch e.executor {
	case "slurm":
		return e.slurm(app, s.Dir())
	case "template":
		return e.template(app, s.Dir())
	}
	return sweep.Local{Workers: e.workers, NewWorker: newWorker, Timeout: e.timeout}, nil
}

func (e *ExecutorFlags) slurm(app *cli.App, study string) (sweep.Slurm, error) {
	worker, err := e.worker(app, study)
	return sweep.Slurm{Workers: e.workers, Command: worker, Options: e.sbatch, Log: app.Stderr}, err
}

func (e *ExecutorFlags) template(app *cli.App, study string) (sweep.Template, error) {
	worker, err := e.worker(app, study)
	return sweep.Template{Command: e.command, Cancel: e.cancel, Workers: e.workers, Worker: worker, Log: app.Stderr}, err
}

// worker is the command line of a worker elsewhere: one task at a time, so that
// --workers counts processors.
func (e *ExecutorFlags) worker(app *cli.App, study string) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	path, err := filepath.Abs(study)
	if err != nil {
		return nil, err
	}
	line := []string{program, "worker", path, "--quiet", "--workers", strconv.Itoa(1)}
	if e.timeout > 0 {
		line = append(line, "--timeout", e.timeout.String())
	}
	for _, uid := range app.Trust {
		line = append(line, "--trust-owner", strconv.Itoa(uid))
	}
	return line, nil
}

// script is what would be submitted for a study, which need not be there: a script
// of sbatch, or the lines of a template; "" where this process computes.
func (e *ExecutorFlags) script(app *cli.App, study string) (string, error) {
	switch e.executor {
	case "slurm":
		x, err := e.slurm(app, study)
		if err != nil {
			return "", err
		}
		return x.Script(study, e.workers)
	case "template":
		x, err := e.template(app, study)
		if err != nil {
			return "", err
		}
		lines, err := x.Lines(study)
		return strings.Join(append(lines, ""), "\n"), err
	}
	return "", nil
}
