// Package crew does numbered pieces of work side by side, so that what comes out,
// an error included, is what one worker alone would have come to. It must not know
// what the work is. (errgroup of golang.org/x/sync gives the error that came first
// by the clock, and its goroutines keep nothing from piece to piece.)
package crew

import (
	"context"
	"sync"
)

// Each does the pieces 0 to n-1 with so many workers, at least one. worker makes what
// one of them does its pieces with, one after another; it is called on the
// goroutine of that worker. tell is told how many pieces are done after each, one
// call at a time; nil is told nothing.
//
// Pieces are begun in order. When one fails none behind it is begun, the context of
// those behind it ends, and those before it are done to their end: the error is that
// of the failing piece with the lowest number, and failed is that number. When ctx
// ends first, the error is that of ctx, and failed is -1, as it is without an error.
func Each(ctx context.Context, n, workers int, tell func(done int), worker func() func(ctx context.Context, piece int) error) (failed int, err error) {
	c := &crew{ctx: ctx, first: n, tell: tell, stop: map[int]context.CancelFunc{}}
	var all sync.WaitGroup
	for range min(max(workers, 1), n) {
		all.Go(func() { c.work(worker()) })
	}
	all.Wait()
	if c.err != nil {
		return c.first, c.err
	}
	return -1, ctx.Err()
}

type crew struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call of Each
	tell func(int)

	mu    sync.Mutex
	next  int
	done  int
	first int                        // that failed, or the number of pieces
	err   error                      // of it
	stop  map[int]context.CancelFunc // of the pieces under way
}

func (c *crew) work(do func(context.Context, int) error) {
	for {
		piece, ctx := c.take()
		if ctx == nil {
			return
		}
		c.settle(piece, do(ctx, piece))
	}
}

// take begins the next piece; its context is nil when there is none.
func (c *crew) take() (piece int, ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next >= c.first || c.ctx.Err() != nil {
		return 0, nil
	}
	piece = c.next
	c.next++
	ctx, c.stop[piece] = context.WithCancel(c.ctx)
	return piece, ctx
}

// settle ends a piece.
func (c *crew) settle(piece int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop[piece]()
	delete(c.stop, piece)
	switch {
	case err == nil:
		if c.done++; c.tell != nil {
			c.tell(c.done)
		}
	case piece < c.first && c.ctx.Err() == nil:
		c.first, c.err = piece, err
		for other, stop := range c.stop { //detlint:ordered all of them are stopped
			if other > piece {
				stop()
			}
		}
	}
}
