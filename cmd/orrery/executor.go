package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/sim/sweep"
)

// executorFlags say what computes the tasks of a study.
type executorFlags struct {
	executor string
	workers  int
	timeout  time.Duration
	lease    time.Duration
	sbatch   []string
	command  string
	cancel   string
}

const executorHelp = `With slurm, --workers are elements of a job array, and --sbatch gives options of
sbatch. With template, --command is run once for each worker when it names
{index}, else once; {command} in it is the command line of a worker, {study} and
{workers} what they say. Commands that hand their words to another shell, as ssh does,
take {command:sh}: --command 'ssh node{index} {command:sh}'.`

// trustFlag adds the owners whose files in a study are read beside those of this user.
func (m *Main) trustFlag(f *pflag.FlagSet) {
	f.IntSliceVar(&m.trust, "trust-owner", nil, "read files in a study that belong to the user with this `UID` too; may be given several times")
}

func (e *executorFlags) register(m *Main, cmd *cobra.Command) {
	f := cmd.Flags()
	m.trustFlag(f)
	e.executor = "local"
	names := []string{"local", "slurm", "template"}
	f.Var(choice{word: &e.executor, of: names, what: "executor"}, "executor", "what computes the tasks")
	completeWith(cmd, "executor", names...)
	f.IntVarP(&e.workers, "workers", "j", 0, "`N` workers; 0 is one per processor with local, and must be given with the others")
	f.DurationVar(&e.timeout, "timeout", 0, "time limit of one try of a task, which is then tried again; 0 is none")
	f.DurationVar(&e.lease, "lease", 0, "of a new study: how long a worker may be silent before others take over; 0 is one minute")
	f.StringArrayVar(&e.sbatch, "sbatch", nil, "further `OPTION` of sbatch; may be given several times")
	f.StringVar(&e.command, "command", "", "with template: the `COMMAND` that starts workers")
	f.StringVar(&e.cancel, "cancel", "", "with template: the `COMMAND` that ends workers before the study is complete")
	grouped(f, groupWorkers, "executor", "workers", "timeout", "lease", "sbatch", "command", "cancel", "trust-owner")
}

// check refuses flags that do not apply.
func (e *executorFlags) check(f *pflag.FlagSet) error {
	switch {
	case e.workers < 0 || e.timeout < 0 || e.lease < 0:
		return usagef("found --workers %d, --timeout %v and --lease %v, want none below 0", e.workers, e.timeout, e.lease)
	case e.lease != 0 && (e.lease < sweep.MinLease || e.lease > sweep.MaxLease):
		return usagef("found --lease %v, want %v to %v, or 0 for one minute", e.lease, sweep.MinLease, sweep.MaxLease)
	case e.executor != "local" && e.workers == 0:
		return usagef("--executor %s: say how many workers there are to be, with --workers", e.executor)
	case e.executor != "slurm" && f.Changed("sbatch"):
		return usagef("--sbatch goes with --executor slurm")
	case e.executor != "template" && (f.Changed("command") || f.Changed("cancel")):
		return usagef("--command and --cancel go with --executor template")
	case e.executor == "template" && e.command == "":
		return usagef("--executor template: give the command that starts workers, with --command, for example 'ssh node{index} {command:sh}'")
	}
	return nil
}

// made is the executor that the flags ask for; newWorker makes those of this process.
func (e *executorFlags) made(m *Main, s *sweep.Study, newWorker func() sweep.Run) (sweep.Executor, error) {
	switch e.executor {
	case "slurm":
		return e.slurm(m, s.Dir())
	case "template":
		return e.template(m, s.Dir())
	}
	return sweep.Local{Workers: e.workers, NewWorker: newWorker, Timeout: e.timeout}, nil
}

func (e *executorFlags) slurm(m *Main, study string) (sweep.Slurm, error) {
	worker, err := e.worker(m, study)
	return sweep.Slurm{Workers: e.workers, Command: worker, Options: e.sbatch, Log: m.Stderr}, err
}

func (e *executorFlags) template(m *Main, study string) (sweep.Template, error) {
	worker, err := e.worker(m, study)
	return sweep.Template{Command: e.command, Cancel: e.cancel, Workers: e.workers, Worker: worker, Log: m.Stderr}, err
}

// worker is the command line of a worker elsewhere: one task at a time, so that
// --workers counts processors.
func (e *executorFlags) worker(m *Main, study string) ([]string, error) {
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
	for _, uid := range m.trust {
		line = append(line, "--trust-owner", strconv.Itoa(uid))
	}
	return line, nil
}

// script is what would be submitted for a study, which need not be there: a script
// of sbatch, or the lines of a template; "" where this process computes.
func (e *executorFlags) script(m *Main, study string) (string, error) {
	switch e.executor {
	case "slurm":
		x, err := e.slurm(m, study)
		if err != nil {
			return "", err
		}
		return x.Script(study, e.workers)
	case "template":
		x, err := e.template(m, study)
		if err != nil {
			return "", err
		}
		lines, err := x.Lines(study)
		return strings.Join(append(lines, ""), "\n"), err
	}
	return "", nil
}
