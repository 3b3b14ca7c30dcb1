// Package concurrency lets the runtime choose an order.
package concurrency

import "sync" // want concurrency

type box struct {
	mu sync.Mutex
	in chan int // want concurrency
}

func wrong(b *box) int {
	go b.mu.Lock() // want concurrency
	b.in <- 1      // want concurrency
	select {       // want concurrency
	case v := <-b.in: // want concurrency
		return v
	default:
	}
	for v := range b.in { // want concurrency
		return v
	}
	return 0
}

func right(work []func()) {
	for _, f := range work {
		f()
	}
}
