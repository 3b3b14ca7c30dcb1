package sweep

import (
	"errors"
	"sync"
)

// commitLine puts the outcomes of one worker into place behind its back, so that
// the disk is waited for while the next task is computed. It also ends claims,
// since a claim is done when its last outcome is in place.
type commitLine struct {
	pool  *localWorkers
	slots chan struct{}
	all   sync.WaitGroup
	chunk *sync.WaitGroup // what is under way of the current claim
	again bool            // a task of it has to be tried again

	mu    sync.Mutex
	fatal error
}

// lineLength bounds the results of a worker that are under way to the disk. A
// worker that is killed loses these at most, beside the task that it was at.
// Several syncs at once cost hardly more than one.
const lineLength = 4

func newCommitLine(c *localWorkers) *commitLine {
	return &commitLine{pool: c, slots: make(chan struct{}, lineLength), chunk: new(sync.WaitGroup)}
}

func (l *commitLine) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// fail ends the workers, which may be waiting for the claim that cannot be ended now.
func (l *commitLine) fail(err error) {
	l.mu.Lock()
	l.fatal = errors.Join(l.fatal, err)
	l.mu.Unlock()
	l.pool.fail(err)
}

// put commits an outcome and notes how it landed. It waits while too many are
// under way.
func (l *commitLine) put(h *held, n int, commit func(writer string) (landing, error), kind, text string) {
	l.slots <- struct{}{}
	chunk := l.chunk
	chunk.Add(1)
	l.all.Go(func() {
		defer func() { chunk.Done(); <-l.slots }()
		landed, err := commit(l.pool.journal.writer)
		if err != nil {
			l.fail(err)
			return
		}
		switch landed {
		case landedEqual:
			kind = noteSame
		case landedDiffers:
			kind, text = noteFault, "another outcome of this task is in faults/"
		}
		if err := l.pool.journal.of(kind, h, n, text); err != nil {
			l.fail(err)
		}
	})
}

// retry notes that a try failed for a transient reason.
func (l *commitLine) retry(h *held, n int, failed error) error {
	l.again = true
	return l.pool.journal.of(noteRetry, h, n, failed.Error())
}

// fenced drops a claim of which another worker holds a later generation.
func (l *commitLine) fenced(h *held) {
	l.ending(func(bool) error {
		l.pool.claims.drop(h)
		return l.pool.journal.claim(noteFenced, h)
	})
}

// end closes a claim: done, or released when a task is left.
func (l *commitLine) end(h *held, stopped bool) {
	l.ending(func(again bool) error {
		if stopped || again {
			return l.pool.claims.release(h, again)
		}
		return l.pool.claims.finish(h)
	})
}

// ending runs step once all outcomes of the claim are in place, and not at all
// when one could not be put there: then the lease runs out.
func (l *commitLine) ending(step func(again bool) error) {
	chunk, again := l.chunk, l.again
	l.chunk, l.again = new(sync.WaitGroup), false
	l.all.Go(func() {
		chunk.Wait()
		if l.failure() != nil {
			return
		}
		if err := step(again); err != nil {
			l.fail(err)
		}
	})
}

// close waits until all outcomes are in place.
func (l *commitLine) close() {
	l.all.Wait()
	if err := l.failure(); err != nil {
		l.pool.fail(err)
	}
}
