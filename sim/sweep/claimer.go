package sweep

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
)

// claimer finds chunks for the workers of one process. It knows the claims by a
// listing that it renews when its own knowledge is used up.
type claimer struct {
	study   *Study
	journal *journal
	origin  origin
	observe *observer
	changed *broadcast

	mu     sync.Mutex
	chunks []chunk
	marks  claimMarks
	cursor int // chunks before it have been claimed at least once
	done   int // chunks that are
	held   map[int]*held
	mine   map[int]time.Time // chunks with a task that failed here: others go first until then
	listed time.Time
	took   time.Duration // by the last listing
}

func newClaimer(s *Study, j *journal, o origin) *claimer {
	return &claimer{study: s, journal: j, origin: o, observe: newObserver(s, j.writer, o), changed: newBroadcast(),
		marks: claimMarks{map[int]int{}, map[int]int{}, map[int]bool{}},
		held:  map[int]*held{}, mine: map[int]time.Time{}}
}

// next waits for a chunk; nil when ctx is done.
func (c *claimer) next(ctx context.Context, worker int) (*held, error) {
	for pause := newPause(c.study.Lease()); ctx.Err() == nil; {
		changed := c.changed.next()
		h, err := c.find(worker)
		if err != nil {
			return nil, err
		}
		if h != nil {
			return h, c.journal.claim(noteClaim, h)
		}
		pause.wait(ctx, changed)
	}
	return nil, nil
}

// find claims a chunk without a claim, or else one that was released or whose
// worker is gone; nil when there is none at this moment.
func (c *claimer) find(worker int) (*held, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, err := c.findNew(worker); h != nil || err != nil {
		return h, err
	}
	if err := c.list(); err != nil {
		return nil, err
	}
	if h, err := c.findNew(worker); h != nil || err != nil {
		return h, err
	}
	return c.findLost(worker)
}

// findNew tries the chunks without a claim, in order.
func (c *claimer) findNew(worker int) (*held, error) {
	for ; c.cursor < len(c.chunks); c.cursor++ {
		next := c.chunks[c.cursor]
		if c.marks.generation[next.first] > 0 || c.marks.done[next.first] {
			continue
		}
		if h, err := c.claim(next, 1, worker); h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

// findLost tries the chunks whose claims have expired, in order.
func (c *claimer) findLost(worker int) (*held, error) {
	if c.done == len(c.chunks) {
		return nil, nil
	}
	for _, next := range c.chunks {
		if c.marks.done[next.first] || c.held[next.first] != nil || time.Now().Before(c.mine[next.first]) {
			continue
		}
		generation := c.marks.generation[next.first]
		if generation == 0 { // the claim was removed
			c.cursor = 0
			continue
		}
		if c.marks.free[next.first] < generation {
			expired, err := c.observe.expired(next.first, generation)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if !expired {
				continue
			}
		}
		if h, err := c.claim(next, generation+1, worker); h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

func (c *claimer) claim(next chunk, generation, worker int) (*held, error) {
	h, err := c.study.newClaim(next, generation, worker, c.journal.writer, c.origin)
	if err != nil {
		return nil, err
	}
	c.marks.generation[next.first] = max(c.marks.generation[next.first], generation)
	if h != nil {
		c.held[next.first] = h
	}
	return h, nil
}

// refresh brings the listing up to date, and wakes the workers when there are
// new tasks.
func (c *claimer) refresh() error {
	c.mu.Lock()
	before := len(c.chunks)
	err := c.list()
	more := len(c.chunks) > before
	c.mu.Unlock()
	if more {
		c.changed.announce()
	}
	return err
}

// list reads the names of the claims, unless that was done a moment ago: it is
// not to take more than a twentieth of the time.
func (c *claimer) list() error {
	if time.Since(c.listed) < max(listEvery, 20*c.took) && c.done < len(c.chunks) {
		return nil
	}
	if err := c.study.Reload(); err != nil {
		return err
	}
	c.chunks = c.study.chunkList()
	if c.done == len(c.chunks) {
		return nil // there is nothing to know about
	}
	began := time.Now()
	marks, err := c.study.listClaims()
	if err != nil {
		return err
	}
	c.marks, c.listed, c.done = marks, time.Now(), 0
	c.took = c.listed.Sub(began)
	for _, each := range c.chunks {
		if marks.done[each.first] {
			c.done++
		}
	}
	return nil
}

// listEvery is the shortest time between two listings of one process.
const listEvery = 20 * time.Millisecond

// complete says whether all chunks were done at the last listing or are now.
func (c *claimer) complete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done == len(c.chunks)
}

// finish marks a claim done.
func (c *claimer) finish(h *held) error {
	if err := c.study.markDone(h); err != nil {
		return err
	}
	c.drop(h)
	c.mu.Lock()
	if !c.marks.done[h.first] {
		c.marks.done[h.first] = true
		c.done++
	}
	c.mu.Unlock()
	c.changed.announce()
	return c.journal.claim(noteDone, h)
}

// release makes what is left of a claim free for other workers. After a failure of
// this place others go first.
func (c *claimer) release(h *held, failed bool) error {
	if err := c.study.markFree(h.first, h.generation); err != nil {
		return err
	}
	c.drop(h)
	c.mu.Lock()
	c.marks.free[h.first] = max(c.marks.free[h.first], h.generation)
	if failed {
		c.mine[h.first] = time.Now().Add(min(c.study.Lease()/4, 2*time.Second))
	}
	c.mu.Unlock()
	return c.journal.claim(noteFree, h)
}

// drop forgets a claim.
func (c *claimer) drop(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[h.first] == h {
		delete(c.held, h.first)
	}
}

// heartbeats writes a heartbeat to all claims of the process, four times in a lease,
// until ctx is done. When a write fails the next one stands in, or the lease ends.
func (c *claimer) heartbeats(ctx context.Context) {
	tick := time.NewTicker(c.study.Lease() / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		all := make([]*held, 0, len(c.held))
		//detlint:ordered the order of heartbeats does not matter
		for _, h := range c.held {
			all = append(all, h)
		}
		c.mu.Unlock()
		for _, h := range all {
			_ = c.study.heartbeat(h)
		}
	}
}

// broadcast wakes the goroutines that wait for a change within the process.
type broadcast struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newBroadcast() *broadcast { return &broadcast{changed: make(chan struct{})} }

// next is closed at the next announcement.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *broadcast) announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// pause is the wait between two looks at the study: short at first, then up to
// an eighth of a lease, half a second at most.
type pause struct{ now, most time.Duration }

func newPause(lease time.Duration) *pause {
	return &pause{2 * time.Millisecond, min(lease/8, 500*time.Millisecond)}
}

// wait returns after the pause, when changed is closed, or when ctx is done.
func (p *pause) wait(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTimer(p.now)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
		p.now = min(2*p.now, p.most)
	}
}
