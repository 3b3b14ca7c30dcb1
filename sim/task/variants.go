package task

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/transform"
)

// variants are the traces that tasks replay, each read or made once and shared by
// all workers. Those that no task has asked for lately are released, to be made
// again when one does.
type variants struct {
	load func(hash string) (*transform.Set, error)

	mu   sync.Mutex
	sets map[string]*base
	made map[variant]*made
	line []variant // that are in made, the latest last
	rows int64     // of these
	// memory is how much history the sites met so far call for.
	memory map[string]model.Duration
}

// keepRows is how many jobs of variants are kept, at about 400 bytes each.
const keepRows = 4 << 20

// variant names a trace that a task replays. The zero window is the whole trace;
// without a jitter By is 0, without another load that is 0.
type variant struct {
	hash string
	load int
	cut  cut
	// history of before a warm window that is of consequence for the ledgers.
	history model.Duration
	jitter  Jitter
}

// cut is the part of a trace that is replayed.
type cut struct {
	from, to model.Time
	warm     bool
}

// cutOf is what the replay of a window takes.
func cutOf(w *Window) cut {
	if w == nil || w.Lead == nil {
		return cut{}
	}
	return cut{max(0, w.Begin.Add(-*w.Lead)), w.End.Add(w.Follow), w.Warm}
}

// base is a trace that variants are made of. A Set is used by one goroutine.
type base struct {
	mu  sync.Mutex
	set *transform.Set // nil until it was loaded
}

// made is a variant that is there, or being made. done is closed once it is.
type made struct {
	done chan struct{}
	m    *traces.Memory
	err  error
}

// variantOf names the trace of a task.
func (c *variants) variantOf(t *Task) (variant, error) {
	v := variant{hash: t.Spec.Trace, load: t.Load, cut: cutOf(t.Window)}
	if t.Jitter != nil {
		v.jitter = *t.Jitter
	}
	if !v.cut.warm {
		return v, nil
	}
	site := digest(t.Spec.Site)
	c.mu.Lock()
	history, known := c.memory[site]
	c.mu.Unlock()
	if known {
		v.history = history
		return v, nil
	}
	memory, err := t.Spec.Memory()
	if err != nil {
		return v, err
	}
	v.history = coarse(memory)
	c.mu.Lock()
	c.memory[site] = v.history
	c.mu.Unlock()
	return v, nil
}

// coarse rounds up to a day times a power of two. A search over half-lives would cut each
// window anew for every point otherwise; more history than counts changes little.
func coarse(d model.Duration) model.Duration {
	days := (d + model.Day - 1) / model.Day
	if days <= 0 {
		return 0
	}
	return model.Day << bits.Len64(uint64(days-1))
}

// get is the trace of a variant. Several workers that ask at once wait for the one that
// makes it.
func (c *variants) get(ctx context.Context, v variant) (*traces.Memory, error) {
	c.mu.Lock()
	e := c.made[v]
	mine := e == nil
	if mine {
		e = &made{done: make(chan struct{})}
		c.made[v] = e
	}
	c.touch(v)
	c.mu.Unlock()
	if mine {
		e.m, e.err = c.make(v)
		close(e.done)
		c.settle(v, e)
	}
	select {
	case <-e.done:
		return e.m, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// touch makes v the latest.
func (c *variants) touch(v variant) {
	if i := slices.Index(c.line, v); i >= 0 {
		c.line = slices.Delete(c.line, i, i+1)
	}
	c.line = append(c.line, v)
}

// settle counts a variant that was made, and lets the oldest go where there are
// too many. One that failed is forgotten: the next try may find its file.
func (c *variants) settle(v variant, e *made) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil {
		c.drop(v)
		return
	}
	c.rows += e.m.Info().Rows
	for i := 0; c.rows > keepRows && i < len(c.line)-1; {
		old := c.line[i]
		if x := c.made[old]; old == v || x.m == nil { // it is being made
			i++
			continue
		}
		c.rows -= c.made[old].m.Info().Rows
		c.drop(old)
	}
}

func (c *variants) drop(v variant) {
	delete(c.made, v)
	c.line = slices.DeleteFunc(c.line, func(x variant) bool { return x == v })
}

// make reads or derives a variant.
func (c *variants) make(v variant) (*traces.Memory, error) {
	b := c.base(v.hash)
	b.mu.Lock()
	defer b.mu.Unlock()
	s, whole, err := c.read(b, v.hash)
	if err != nil || whole != nil && v == (variant{hash: v.hash}) {
		return whole, err
	}
	if v.load != 0 {
		if s, err = s.Scale(v.load); err != nil {
			return nil, err
		}
	}
	if v.cut != (cut{}) {
		if s, err = s.Window(v.cut.from, v.cut.to, v.cut.warm, v.history); err != nil {
			return nil, err
		}
	}
	if v.jitter != (Jitter{}) {
		if s, err = s.Jitter(v.jitter.By, v.jitter.Seed); err != nil {
			return nil, err
		}
	}
	return s.Collect()
}

func (c *variants) base(hash string) *base {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.sets[hash]
	if b == nil {
		b = &base{}
		c.sets[hash] = b
	}
	return b
}

// read loads the trace of b, whose lock is held, and compares its content with the hash
// that it is named by, whatever is to be made of it. whole is the trace where it was read
// just now.
func (c *variants) read(b *base, hash string) (s *transform.Set, whole *traces.Memory, err error) {
	if b.set != nil {
		return b.set, nil, nil
	}
	if c.load == nil {
		return nil, nil, fmt.Errorf("the task is about the trace %s, which is not among those at hand", hash)
	}
	if s, err = c.load(hash); err != nil {
		return nil, nil, unusable(err)
	}
	if s == nil {
		return nil, nil, errors.New("no trace was loaded")
	}
	if whole, err = s.Collect(); err != nil {
		return nil, nil, unusable(err)
	}
	if found := whole.Info().Hash; found != hash {
		return nil, nil, &TraceError{fmt.Errorf("the trace %s has the content hash %s, and the task is about %s: the file was changed", s.Name, found, hash)}
	}
	b.set = s
	return s, whole, nil
}

// TraceError says that the trace of a task is damaged, or is another one. It says nothing
// of the task, which is not to be computed on it.
type TraceError struct{ Err error }

// Error is that of the trace.
func (e *TraceError) Error() string { return e.Err.Error() }

// Unwrap gives the error inside.
func (e *TraceError) Unwrap() error { return e.Err }

// unusable is err, as a TraceError where it is about the content.
func unusable(err error) error {
	if data := (*traces.DataError)(nil); errors.As(err, &data) {
		return &TraceError{err}
	}
	return err
}

// add puts a Set under its content hash, and the trace that it is.
func (c *variants) add(s *transform.Set) (*traces.Memory, error) {
	m, err := s.Collect()
	if err != nil {
		return nil, err
	}
	hash := m.Info().Hash
	b := c.base(hash)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = s
	v, e := variant{hash: hash}, &made{done: make(chan struct{}), m: m}
	close(e.done)
	c.mu.Lock()
	if c.made[v] == nil {
		c.made[v] = e
		c.touch(v)
		c.rows += m.Info().Rows
	}
	c.mu.Unlock()
	return m, nil
}
