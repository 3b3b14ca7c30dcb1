// Package sweep computes many independent tasks once each, on one machine or on
// many, and loses none of them to a kill, a lost node or a full disk.
//
// A task is an immutable spec named by its SHA-256, and its result a pure
// function of it. Specs, claims, journals and results live in a study directory
// (docs/STUDY-FORMAT.md), which is the same on a laptop and on a shared file
// system; workers know each other through it alone. Execution is at least once,
// its effect exactly once: the first result that is linked into place stays, and
// one that differs from it is a determinism fault.
//
// The package must not know what a task computes: a Run takes bytes and returns
// bytes.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Run computes the result of one spec. It must be a pure function of spec: two
// calls anywhere give the same bytes. It returns soon once ctx is done, with any
// error. The result is kept as it is; spec must not be changed or kept.
//
// An error of the operating system counts as a failure of the place: the task is
// tried again. An *UnusableError ends the worker. Any other error is the task's own, and so is a panic, after which the
// worker is made anew.
type Run func(ctx context.Context, spec []byte) (result []byte, err error)

// transient says whether a failure is of the place or the moment, so that the task is
// tried again, by another worker where there is one: an error of the operating system,
// or a deadline that has passed. Every other error is of the task, for a Run is a pure
// function: each try would fail alike, and the failure is the task's outcome.
func transient(err error) bool {
	var (
		system syscall.Errno
		path   *fs.PathError
	)
	return errors.As(err, &system) || errors.As(err, &path) || errors.Is(err, context.DeadlineExceeded)
}

// UnusableError is returned by a Run where what tasks need is not what it should be: it says
// nothing of the task, which stays open, and the worker ends.
type UnusableError struct{ Err error }

// Error says what is wrong.
func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap gives the error inside.
func (e *UnusableError) Unwrap() error { return e.Err }

// Executor brings workers to a study.
type Executor interface {
	// Start brings the workers up and returns at once. They take tasks until
	// ctx is done or Stop is called, also tasks that are added later.
	Start(ctx context.Context, s *Study) (Workers, error)
}

// Workers are the workers that one Start brought up. Its methods are called from
// one goroutine.
type Workers interface {
	// Wait returns nil when every task that the study holds has an outcome, a
	// result or a recorded failure. It may be called again after more specs
	// were added. An error means that the workers cannot go on; the study can
	// be resumed. When ctx is done its error is returned, and the workers go on.
	Wait(ctx context.Context) error
	// Stop ends the workers and returns when they have given back their claims
	// or, where they run elsewhere, have been told to. Tasks under way are
	// given up, not failed.
	Stop() error
}

// Complete runs a study to its end: it repairs what a crash of the machine may
// have left, starts the executor, waits and stops it. nil means that every task
// has an outcome; Study.Verdict says what they are.
func Complete(ctx context.Context, e Executor, s *Study) error {
	if err := s.Mend(); err != nil {
		return err
	}
	pool, err := e.Start(ctx, s)
	if err != nil {
		return err
	}
	err = pool.Wait(ctx)
	return errors.Join(err, pool.Stop())
}

// DataError says that a file of a study is not what it should be.
type DataError struct {
	Path  string
	Found string // what is wrong, and what would mend it
}

// Error names the file and what is wrong with it.
func (e *DataError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Found) }

// MixedError says that another binary began the study.
type MixedError struct {
	Dir          string
	Study, Yours string // SHA-256 of the binaries, in hexadecimal
}

// Error names both binaries and the ways out.
func (e *MixedError) Error() string {
	return fmt.Sprintf("%s was begun by another build of this program (SHA-256 %.12s…, this one is %.12s…), and a study does not mix builds: "+
		"go on with the build that began it, or start a new study in another directory", e.Dir, e.Study, e.Yours)
}

// FaultError says that tasks had more than one outcome: they are not functions
// of their specs.
type FaultError struct {
	Dir   string
	Tasks []string // digests, ascending
}

// Error names the first task and where the outcomes are.
func (e *FaultError) Error() string {
	return fmt.Sprintf("determinism fault: %d of the tasks in %s came out differently when they were computed twice, the first being %s; "+
		"compare its files in results/ and faults/", len(e.Tasks), e.Dir, e.Tasks[0])
}

// PartialError says that a study is complete but for tasks that failed.
type PartialError struct {
	Dir                        string
	Tasks, Failed, Quarantined int
	First                      Failure
	Remedy                     string // what to do about the first, "" where another try would fail alike
}

// Error counts the failures and quotes the first.
func (e *PartialError) Error() string {
	text := fmt.Sprintf("%d of %d tasks in %s failed and %d more were given up after %d tries; task %d: %s",
		e.Failed, e.Tasks, e.Dir, e.Quarantined, maxAttempts, e.First.Number, e.First.Error)
	if e.Remedy != "" {
		text += "; mend what kept it from being done (a longer --timeout, or none), then " + e.Remedy
	}
	return text
}
