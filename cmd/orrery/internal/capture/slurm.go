package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/capture/slurm"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/scheduler/model"
)

// captureSlurm holds the flags of capture slurm.
type captureSlurm struct {
	app      *cli.App
	print    *cli.Printer
	out      string
	interval time.Duration
	bundle   time.Duration
	length   time.Duration
	since    time.Duration
	once     bool
	only     bool
}

const (
	leastInterval = time.Second
	mostInterval  = time.Hour
)

func captureSlurmCommand(app *cli.App) *cobra.Command {
	v := &captureSlurm{app: app}
	cmd := &cobra.Command{
		Use:   "slurm --out DIR",
		Short: "Capture the workload of a running Slurm until it is stopped",
		Long: `Ask squeue, sacct, scontrol, sacctmgr and sdiag every --interval what is new, keep
it below DIR/polls, and make DIR/slurm.trace of it: jobs, dependencies, nodes,
tenants (accounts with their shares and limits), and as events when nodes were down
or drained, reservations and changed limits. Any user that Slurm lets see all jobs
may do this; nothing is changed in Slurm. sacct needs slurmdbd.

It can be killed and started again at any time: it goes on from what is
acknowledged. Jobs that ended while it did not run are fetched at the next start;
of the queue (dependencies, holds) only polls tell. One capture at a time writes to
DIR. slurm.trace is made anew every --bundle-every and when the capture ends, and is
whole at all times.

docs/CAPTURE.md says what is asked, what has no table, and what is lost when.

Exit codes: 0 ended, 1 failed, 2 usage, 6 the last poll was not complete,
130 interrupted.`,
		Example: `  orrery capture slurm --out captured --interval 1m
  orrery capture slurm --out captured --once --since 720h
  orrery capture slurm --out captured --bundle-only`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "`DIR` to capture into, made where it is missing (required)")
	f.DurationVar(&v.interval, "interval", 30*time.Second, "ask so often, 1s to 1h")
	f.DurationVar(&v.bundle, "bundle-every", time.Hour, "make slurm.trace so often, 0 for at the end alone")
	f.DurationVar(&v.length, "for", 0, "end after this; 0 for never")
	f.DurationVar(&v.since, "since", 0, "at the first start: fetch also jobs that ended within this before it")
	f.BoolVar(&v.once, "once", false, "ask once, make slurm.trace, and end")
	f.BoolVar(&v.only, "bundle-only", false, "ask nothing: make slurm.trace of what was captured")
	v.print = app.PrintFlag(cmd)
	return cmd
}

func (v *captureSlurm) run(cmd *cobra.Command, _ []string) error {
	switch {
	case v.out == "":
		return cli.Usagef("no folder named: give --out DIR")
	case v.interval < leastInterval || v.interval > mostInterval:
		return cli.Usagef("--interval %v: want 1s to 1h", v.interval)
	case v.bundle < 0 || v.length < 0 || v.since < 0:
		return cli.Usagef("--bundle-every, --for and --since are times from 0 on")
	case v.once && v.only:
		return cli.Usagef("--once asks and --bundle-only does not: give one of them")
	}
	if v.only {
		if _, err := os.Stat(filepath.Join(v.out, "polls")); err != nil {
			return cli.BadInput(fmt.Errorf("%s: found no capture there: %w", cli.Quoted(v.out), err))
		}
	} else if _, err := exec.LookPath("squeue"); err != nil {
		return fmt.Errorf("there is no squeue in PATH: run this where the client commands of Slurm are: %w", err)
	}
	start := time.Now()
	r, err := slurm.Open(v.out, askSlurm, model.Time(start.Add(-v.since).UnixMicro()))
	if err != nil {
		return err
	}
	defer r.Close()
	complete, err := true, error(nil)
	if !v.only {
		complete, err = v.poll(cmd.Context(), r, start)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	report, bundling := r.Bundle(v.trace())
	if bundling != nil || err != nil {
		return errors.Join(err, bundling)
	}
	if err := logfile.Account(v.print, report, "dropped", "kept"); err != nil {
		return err
	}
	if !v.print.ForPrograms() {
		v.app.Say("Wrote %s\nNext: orrery trace stats %s", v.trace(), cli.Quoted(v.trace()))
	}
	if !complete {
		return cli.Coded(cli.ExitPartial, errors.New("the last poll was not complete"))
	}
	return nil
}

func (v *captureSlurm) trace() string { return filepath.Join(v.out, "slurm.trace") }

// poll asks until it is time to end, and says whether all that the last poll asked was answered.
func (v *captureSlurm) poll(ctx context.Context, r *slurm.Recorder, start time.Time) (complete bool, err error) {
	said := ""
	bundled := start
	for {
		now := time.Now()
		told, err := r.Poll(ctx, model.Time(now.UnixMicro()))
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		failed := strings.Join(told.Failed, "; ")
		if failed == "" && told.Behind {
			failed = "slurmctld has records that the database has not: the next poll asks for the same time again"
		}
		if failed != said {
			if said = failed; failed == "" {
				failed = "all commands answer again"
			}
			fmt.Fprintf(v.app.Stderr, "%s %s\n", now.UTC().Format(time.RFC3339), failed)
		}
		if err != nil && len(told.Failed) == 0 {
			return false, err // the disk
		}
		if complete = len(told.Failed) == 0; v.once || v.length > 0 && time.Since(start) >= v.length {
			return complete, err
		}
		if v.bundle > 0 && time.Since(bundled) >= v.bundle {
			bundled = time.Now()
			if _, err := r.Bundle(v.trace()); err != nil {
				fmt.Fprintf(v.app.Stderr, "%s %v\n", bundled.UTC().Format(time.RFC3339), err)
			}
		}
		select {
		case <-ctx.Done():
			return complete, ctx.Err()
		case <-time.After(v.interval - time.Since(now)):
		}
	}
}

// askSlurm runs a client command. One that hangs is ended.
func askSlurm(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SLURM_TIME_FORMAT=%s", "TZ=UTC", "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%w %.200q", err, line)
	}
	return out, nil
}
