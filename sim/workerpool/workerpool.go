// Package workerpool runs numbered pieces of work on several goroutines. The result,
// an error included, is that of one worker doing them in order. It must not know what
// the work is. (errgroup of golang.org/x/sync returns the error that came first by
// the clock, and its goroutines keep nothing from piece to piece.)
package workerpool

import (
	"context"
	"sync"
)

// Each runs the pieces 0 to n-1 on so many workers, at least one. worker returns the
// function with which one worker runs its pieces, one after another; it is called on
// the goroutine of that worker. tell, unless nil, is called after each piece with the
// number of pieces done, one call at a time.
//
// Pieces start in order. When one fails, no later piece starts, the contexts of later
// pieces are cancelled, and earlier ones run to their end: the error is that of the
// failing piece with the lowest number, and failed is that number. When ctx ends
// first, the error is that of ctx and failed is -1. Without an error failed is -1.
func Each(ctx context.Context, n, workers int, tell func(done int), worker func() func(ctx context.Context, piece int) error) (failed int, err error) {
	p := &pool{ctx: ctx, first: n, tell: tell, stop: map[int]context.CancelFunc{}}
	var all sync.WaitGroup
	for range min(max(workers, 1), n) {
		all.Go(func() { p.work(worker()) })
	}
	all.Wait()
	if p.err != nil {
		return p.first, p.err
	}
	return -1, ctx.Err()
}

type pool struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call of Each
	tell func(int)

	mu    sync.Mutex
	next  int
	done  int
	first int                        // that failed, or the number of pieces
	err   error                      // of it
	stop  map[int]context.CancelFunc // of the pieces under way
}

func (p *pool) work(do func(context.Context, int) error) {
	for {
		piece, ctx := p.start()
		if ctx == nil {
			return
		}
		p.finish(piece, do(ctx, piece))
	}
}

// start begins the next piece; its context is nil when there is none.
func (p *pool) start() (piece int, ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= p.first || p.ctx.Err() != nil {
		return 0, nil
	}
	piece = p.next
	p.next++
	ctx, p.stop[piece] = context.WithCancel(p.ctx)
	return piece, ctx
}

// finish records the end of a piece.
func (p *pool) finish(piece int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop[piece]()
	delete(p.stop, piece)
	switch {
	case err == nil:
		if p.done++; p.tell != nil {
			p.tell(p.done)
		}
	case piece < p.first && p.ctx.Err() == nil:
		p.first, p.err = piece, err
		for other, stop := range p.stop { //detlint:ordered all of them are stopped
			if other > piece {
				stop()
			}
		}
	}
}
