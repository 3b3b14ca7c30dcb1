package sweep

import (
	"sync"
)

// commitLine puts outcomes into place behind the back of a worker, in order, so
// that the disk is waited for while the next task is computed. It also ends
// claims, since a claim is done when its last outcome is in place.
type commitLine struct {
	crew  *localCrew
	queue chan func() error
	ended sync.WaitGroup
	again bool // a task of the current chunk has to be tried again

	mu    sync.Mutex
	fatal error
}

// lineLength bounds the results in memory of a worker. A worker that is killed
// loses these at most, beside the task that it was at.
const lineLength = 2

func newCommitLine(c *localCrew) *commitLine {
	l := &commitLine{crew: c, queue: make(chan func() error, lineLength)}
	l.ended.Go(func() {
		for step := range l.queue {
			if l.failure() != nil {
				continue // nothing more is ended: the claims run out or are given back
			}
			if err := step(); err != nil {
				l.mu.Lock()
				l.fatal = err
				l.mu.Unlock()
			}
		}
	})
	return l
}

func (l *commitLine) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// put commits an outcome and notes how it landed.
func (l *commitLine) put(h *held, n int, commit func(writer string) (landing, error), kind, text string) {
	l.queue <- func() error {
		landed, err := commit(l.crew.journal.writer)
		if err != nil {
			return err
		}
		switch landed {
		case landedEqual:
			kind = noteSame
		case landedDiffers:
			kind, text = noteFault, "another outcome of this task is in faults/"
		}
		return l.crew.journal.of(kind, h, n, text)
	}
}

// retry notes that a try failed by its place.
func (l *commitLine) retry(h *held, n int, failed error) {
	l.again = true
	l.queue <- func() error { return l.crew.journal.of(noteRetry, h, n, failed.Error()) }
}

// overtaken lets go of a claim that is another worker's by now.
func (l *commitLine) overtaken(h *held) error {
	l.again = false
	l.queue <- func() error {
		l.crew.claims.drop(h)
		return l.crew.journal.claim(noteOvertaken, h)
	}
	return l.failure()
}

// end closes a claim: done, or given back when a task is left.
func (l *commitLine) end(h *held, stopped bool) {
	again := l.again
	l.again = false
	l.queue <- func() error {
		if stopped || again {
			return l.crew.claims.giveBack(h, again)
		}
		return l.crew.claims.finish(h)
	}
}

// close waits until everything handed in is in place.
func (l *commitLine) close() {
	close(l.queue)
	l.ended.Wait()
	if err := l.failure(); err != nil {
		l.crew.fail(err)
	}
}
