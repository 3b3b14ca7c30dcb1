package sweep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Local computes tasks in this process. It is also what a worker process on
// another machine runs.
type Local struct {
	// Workers is how many tasks are computed at once; 0 is one per processor.
	Workers int
	// NewWorker makes what one worker computes all its tasks with, so that it may
	// keep state from task to task. It is called in the worker's own goroutine.
	NewWorker func() Run
	// Timeout bounds one try of a task; 0 is no bound. A Run that is cut off
	// by it is tried again.
	Timeout time.Duration
}

// localWorkers are the workers of one Start.
type localWorkers struct {
	Local
	study      *Study
	journal    *journal
	claims     *claimer
	cancel     context.CancelFunc
	workers    sync.WaitGroup
	heartbeats sync.WaitGroup

	mu    sync.Mutex
	fatal error
}

// Start brings the workers up in goroutines.
func (l Local) Start(ctx context.Context, s *Study) (Workers, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	if l.Workers < 0 {
		return nil, fmt.Errorf("starting workers: found %d of them, want 0 (one per processor) or more", l.Workers)
	}
	if l.Workers == 0 {
		l.Workers = runtime.GOMAXPROCS(0)
	}
	o := here()
	journal, err := s.openJournal(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &localWorkers{Local: l, study: s, journal: journal, cancel: cancel}
	c.claims = newClaimer(s, journal, o)
	c.heartbeats.Go(func() { c.claims.heartbeats(ctx) })
	for w := range l.Workers {
		c.workers.Go(func() {
			if err := c.work(ctx, w); err != nil {
				c.fail(err)
			}
		})
	}
	return c, nil
}

// fail ends the workers: the disk is full, or the study is gone.
func (c *localWorkers) fail(err error) {
	c.mu.Lock()
	if c.fatal == nil {
		c.fatal = err
	}
	c.mu.Unlock()
	c.cancel()
	c.claims.changed.announce()
}

func (c *localWorkers) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatal
}

// Wait returns when all tasks have outcomes, wherever they were computed.
func (c *localWorkers) Wait(ctx context.Context) error {
	for pause := newPause(c.study.Lease()); ; {
		changed := c.claims.changed.next()
		if err := c.failure(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.claims.refresh(); err != nil {
			return err
		}
		if c.claims.complete() {
			return nil
		}
		pause.wait(ctx, changed)
	}
}

// Stop gives up what is under way and gives back the claims.
func (c *localWorkers) Stop() error {
	c.cancel()
	c.workers.Wait()
	c.heartbeats.Wait()
	var err error
	if c.failure() == nil {
		err = c.study.settle()
	}
	return errors.Join(err, c.journal.close())
}

// work is one worker: it takes chunks until it is told to stop.
func (c *localWorkers) work(ctx context.Context, w int) error {
	line := newCommitLine(c)
	defer line.close()
	run := c.NewWorker()
	for {
		h, err := c.claims.next(ctx, w)
		if err != nil || h == nil {
			return err
		}
		again, err := c.chunk(ctx, h, run, line)
		if err != nil {
			return err
		}
		if again { // a Run that panicked may have left its state in pieces
			run = c.NewWorker()
		}
		if err := line.failure(); err != nil {
			return err
		}
	}
}

// chunk computes the tasks of a claim. remake says that the Run must be made
// anew.
func (c *localWorkers) chunk(ctx context.Context, h *held, run Run, line *commitLine) (remake bool, err error) {
	open, err := c.open(h)
	if err != nil {
		return false, err
	}
	for _, n := range open {
		if stopped(ctx) {
			break
		}
		lost, err := c.study.fenced(h)
		if err != nil {
			return remake, err
		}
		if lost {
			line.fenced(h)
			return remake, nil
		}
		panicked, err := c.task(ctx, h, n, run, line)
		if err != nil {
			line.end(h, true)
			return remake, err
		}
		if panicked {
			remake, run = true, c.NewWorker()
		}
	}
	line.end(h, stopped(ctx))
	return remake, nil
}

// stopped says that the workers were told to stop.
func stopped(ctx context.Context) bool { return ctx.Err() != nil }

// task makes one try and passes its outcome to the line. What the Run returned
// for a reason of the worker's own is not held against the task.
func (c *localWorkers) task(ctx context.Context, h *held, n int, run Run, line *commitLine) (panicked bool, err error) {
	spec, err := c.study.Spec(n)
	if err != nil {
		return false, err
	}
	if err := c.journal.of(noteStart, h, n, ""); err != nil {
		return false, err
	}
	result, panicked, failed := c.try(ctx, run, spec)
	var unusable *UnusableError
	switch {
	case failed == nil:
		line.put(h, n, func(writer string) (landing, error) { return c.study.commitResult(c.study.Digest(n), result, writer) }, noteCommit, "")
	case stopped(ctx):
		return panicked, c.journal.of(noteQuit, h, n, "")
	case errors.As(failed, &unusable):
		return panicked, errors.Join(failed, c.journal.of(noteQuit, h, n, failed.Error()))
	case transient(failed):
		return panicked, line.retry(h, n, failed)
	default:
		f := Failure{Number: n, Error: failed.Error(), digest: c.study.Digest(n)}
		line.put(h, n, func(writer string) (landing, error) { return c.study.commitFailure(f, writer) }, noteFail, f.Error)
	}
	return panicked, nil
}

// try calls the Run, and turns a panic into an error.
func (c *localWorkers) try(ctx context.Context, run Run, spec []byte) (result []byte, panicked bool, err error) {
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if p := recover(); p != nil {
			result, panicked, err = nil, true, fmt.Errorf("panic: %v", p)
		}
	}()
	result, err = run(ctx, spec)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		if !errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
		}
		err = fmt.Errorf("not done after %v: %w", c.Timeout, err)
	}
	return result, false, err
}

// open are the tasks of a claim without an outcome, after those that were tried
// too often have been given up. The first claim of a chunk need not look.
func (c *localWorkers) open(h *held) ([]int, error) {
	var open []int
	for n := h.first; n < h.first+h.n; n++ {
		if h.generation > 1 {
			resolved, err := c.study.resolved(c.study.Digest(n))
			if err != nil {
				return nil, err
			}
			if resolved {
				if err := c.journal.of(noteFound, h, n, ""); err != nil {
					return nil, err
				}
				continue
			}
		}
		open = append(open, n)
	}
	if h.generation == 1 || len(open) == 0 {
		return open, nil
	}
	losses, err := c.study.losses(h.chunk, h.generation, open)
	if err != nil {
		return nil, err
	}
	return c.quarantine(h, open, losses)
}

// givenUp gives the last error of the tries of a task; without any, all workers were
// lost.
func givenUp(tries []Attempt) string {
	for _, t := range slices.Backward(tries) {
		if t.Error != "" {
			return fmt.Sprintf("given up after %d tries, the last error: %s", len(tries), t.Error)
		}
	}
	return fmt.Sprintf("given up after %d tries: every worker that tried it was lost", len(tries))
}

// maxAttempts is how often a task is tried: once, and three times again.
const maxAttempts = 4

// quarantine gives up the open tasks that were tried too often and returns the
// others. Only the claim right after a loss writes it down, so that each is
// counted once.
func (c *localWorkers) quarantine(h *held, open []int, losses []loss) ([]int, error) {
	tries := map[int][]Attempt{}
	for _, l := range losses {
		tries[l.task] = append(tries[l.task], l.Attempt)
		if l.lost && l.generation == h.generation-1 {
			task := l.task
			if err := c.journal.write(note{Kind: noteLost, Task: &task, Chunk: &h.first, Generation: l.generation, Worker: h.worker, Writer: l.Writer}); err != nil {
				return nil, err
			}
		}
	}
	var left []int
	for _, n := range open {
		if len(tries[n]) < maxAttempts {
			left = append(left, n)
			continue
		}
		f := Failure{Number: n, Error: givenUp(tries[n]), Quarantined: true,
			Attempts: tries[n], digest: c.study.Digest(n)}
		if _, err := c.study.commitFailure(f, c.journal.writer); err != nil {
			return nil, err
		}
		if err := c.journal.of(noteQuarantine, h, n, f.Error); err != nil {
			return nil, err
		}
	}
	return left, nil
}
