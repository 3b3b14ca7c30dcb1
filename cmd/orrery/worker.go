package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"orrery/sim/sweep"
)

// workerVerb holds the flags of worker.
type workerVerb struct {
	m       *Main
	workers int
	linger  time.Duration
	timeout time.Duration
	quiet   bool
}

func (m *Main) workerCommand() *cobra.Command {
	v := &workerVerb{m: m}
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
	m.trustFlag(f)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "print nothing when all is well")
	return cmd
}

func (v *workerVerb) run(cmd *cobra.Command, args []string) error {
	if v.workers < 0 || v.linger < 0 || v.timeout < 0 {
		return usagef("found --workers %d, --linger %v and --timeout %v, want none below 0", v.workers, v.linger, v.timeout)
	}
	binary, err := sweep.BinaryDigest()
	if err != nil {
		return err
	}
	s, err := v.m.openStudy(args[0], binary)
	if err != nil {
		return err
	}
	newWorker, err := taskRunner(s)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := s.Mend(); err != nil { // what is marked as done and is gone is computed again
		return studyError(err)
	}
	if err := v.m.sayLeft(s, v.quiet); err != nil {
		return err
	}
	workers, err := sweep.Local{Workers: v.workers, NewWorker: newWorker, Timeout: v.timeout}.Start(ctx, s)
	if err != nil {
		return studyError(err)
	}
	err = v.m.watch(s, "computing", v.quiet, func() error { return v.serve(ctx, s, workers) })
	if err = errors.Join(err, workers.Stop()); err != nil {
		return studyError(err)
	}
	if !v.quiet {
		v.m.say("all %d tasks of %s have outcomes", s.Len(), s.Dir())
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
func (m *Main) sayLeft(s *sweep.Study, quiet bool) error {
	if quiet {
		return nil
	}
	st, err := s.Status()
	if err != nil {
		return studyError(err)
	}
	if done := st.Tasks - st.Remaining; done > 0 {
		m.say("orrery: %s: %d of %d tasks are done, %d are left", s.Dir(), done, st.Tasks, st.Remaining)
	}
	return nil
}

// watch shows how far a study is while do runs.
func (m *Main) watch(s *sweep.Study, verb string, quiet bool, do func() error) error {
	p := m.progress(verb, "tasks", quiet)
	if p == nil {
		return do()
	}
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	follow := s.Follow()
	first, _ := follow.Poll() // the rate counts from here; the work says what is wrong, if it matters to it
	for tick := time.NewTicker(min(5*p.every, 5*time.Second)); ; {
		select {
		case done := <-ended:
			tick.Stop()
			p.done()
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
		p.draw(int64(t.Finished-first.Finished), int64(t.Tasks-first.Finished), where)
	}
}

// studyError gives an error of a study the exit code that it calls for.
func studyError(err error) error {
	var (
		data    *sweep.DataError
		mixed   *sweep.MixedError
		fault   *sweep.FaultError
		partial *sweep.PartialError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		return coded(exitMismatch, err)
	case errors.As(err, &partial):
		return coded(exitPartial, err)
	case errors.As(err, &mixed):
		return coded(exitUsage, err)
	case errors.As(err, &data):
		return coded(exitInput, err)
	}
	return err
}
