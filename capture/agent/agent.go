package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"orrery/capture"
	"orrery/capture/host"
	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/traces"
)

// queued is how many ticks may wait for the disk. What comes after that is a gap.
const queued = 256

// Agent measures one node.
type Agent struct {
	o       Options
	src     capture.Source
	host    *host.Node
	log     *slog.Logger
	stats   *stats
	units   []*unit
	gpus    []int32 // by series
	free    chan *tick
	queue   chan *tick
	answers chan answer
	nodes   chan inventory
	modes   chan Mode
	clock   *clock
}

// unit is a worker that asks for the GPUs of a unit, one sample at a time.
type unit struct {
	requests chan model.Time
	series   []int
	gpus     []int32
	busy     bool       // a request has not been answered, or the unit has not left
	leaving  bool       // there are no more requests
	asked    model.Time // of that request
	said     string     // the error that was logged last; "" when the last sample came
}

// answer is what a unit has to say about an instant.
type answer struct {
	unit     int
	at       model.Time
	readings []capture.Reading
	err      error
	left     bool // no other follows
}

// clock gives the instants of samples: those of the monotonic clock, brought to the wall clock when the agent starts
// and when that is set.
type clock struct {
	start  time.Time
	anchor atomic.Int64 // µs since 1970 at start, as samples have it; the keeper reads it while the sampler sets it
}

func (c *clock) now() (at model.Time, t timings) {
	now := time.Now()
	t.monotonic = now.Sub(c.start).Microseconds()
	t.wall = now.UnixMicro()
	at = model.Time(c.anchor.Load() + t.monotonic)
	t.step = t.wall - int64(at)
	return at, t
}

// New prepares an agent. Options that are wrong and a source without GPUs are refused.
func New(src capture.Source, o Options, log *slog.Logger) (*Agent, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a := &Agent{o: o, src: src, host: host.New(o.Root), log: log,
		free: make(chan *tick, queued), queue: make(chan *tick, queued), nodes: make(chan inventory, 1), modes: make(chan Mode, 4)}
	for _, gpus := range src.Units() {
		u := &unit{requests: make(chan model.Time, 1), gpus: gpus}
		for _, gpu := range gpus {
			u.series = append(u.series, len(a.gpus))
			a.gpus = append(a.gpus, gpu)
		}
		a.units = append(a.units, u)
	}
	if len(a.gpus) == 0 {
		return nil, fmt.Errorf("the source names no GPU")
	}
	a.answers = make(chan answer, 2*len(a.units)) // those of a unit that hangs at the end are not taken
	for range queued {
		a.free <- &tick{}
	}
	a.stats = newStats(o.Node)
	return a, nil
}

// SetMode changes how much is written from the next sample on. Debug ends by itself.
func (a *Agent) SetMode(m Mode) {
	select {
	case a.modes <- m:
	default: // more of them wait than anything can have meant
	}
}

// Inventory asks the source and the node.
func Inventory(src capture.Source, root string) (*capture.Inventory, error) {
	v, err := src.Inventory()
	if err != nil {
		return nil, err
	}
	host.New(root).Inventory(v)
	v.Sort()
	return v, nil
}

// divided are the GPUs that MIG has divided into instances.
func divided(v *capture.Inventory) (gpus []int32) {
	on := map[string]bool{}
	for _, f := range v.Facts {
		if strings.HasSuffix(f.Name, ".mig") && f.Value == "on" {
			on[f.Name] = true
		}
	}
	for _, g := range v.GPUs {
		if len(on) > 0 && on[fmt.Sprintf("gpu.%d.mig", g.Index)] {
			gpus = append(gpus, g.Index)
		}
	}
	return gpus
}

// Run measures until ctx ends, the recording does, or --for is over. When it returns, everything that was
// measured is on the disk.
func (a *Agent) Run(ctx context.Context) error {
	go a.takeInventory()
	var over <-chan time.Time
	late := max(a.o.For, a.o.HungAfter)
	if a.o.For > 0 {
		over = time.After(late)
	}
	select {
	case v := <-a.nodes:
		if v.err != nil {
			return v.err
		}
		return a.measure(ctx, v.node)
	case <-ctx.Done():
		a.log.Warn("stopped before the inventory was taken")
		return nil // closing the source would wait for it
	case <-over:
		return fmt.Errorf("the source has not said within %s what GPUs there are: nothing was measured", late)
	}
}

// measure is Run on a node of which the inventory was taken.
func (a *Agent) measure(ctx context.Context, node *capture.Inventory) error {
	if err := disk.Folder(a.o.Out); err != nil {
		return err
	}
	j, last, ok, err := openJournal(a.o.journalPath())
	if err != nil {
		return err
	}
	defer j.close()
	l, err := a.o.resume(last, ok)
	if err != nil {
		return err
	}
	interval := model.Duration(a.o.Interval / time.Microsecond)
	shown, err := openLive(&a.o, a.gpus)
	if err != nil {
		return err
	}
	defer shown.close()
	now := time.Now()
	a.clock = &clock{start: now}
	a.clock.anchor.Store(now.UnixMicro())
	first := model.Time(now.UnixMicro()).Add(interval).Grid(interval, 0)
	k := &keeper{o: &a.o, store: &store{o: &a.o}, journal: j, host: a.host, log: a.log, stats: a.stats, interval: interval, gpus: a.gpus, node: node,
		mode: a.o.Mode, windows: make([]window, len(a.gpus)), parts: make([][]partWindow, len(a.gpus)), left: make([]traces.Counts, len(a.gpus)+1), gaps: newLedger(len(a.gpus), interval), watch: newWatcher(&a.o, a.gpus, node), live: shown}
	k.tell = func() timings { _, t := a.clock.now(); t.synced = synced(); return t }
	if a.o.Pods != "" {
		k.pods = &holders{socket: a.o.Pods}
		asking, stop := context.WithCancel(ctx)
		defer stop()
		go k.pods.follow(asking, a.log, func() { a.stats.failures.WithLabelValues("pod resources").Inc() })
	}
	k.restore(&l, first, max(last.Interval, 1))
	a.stats.mode(a.o.Mode)
	a.stats.fingerprint(capture.Fingerprint(node))
	a.log.Info("measuring", "node", a.o.Node, "gpus", gpusOf(a.gpus), "interval", a.o.Interval, "mode", a.o.Mode, "fingerprint", capture.Fingerprint(node), "out", a.o.Out)
	if split := divided(node); len(split) > 0 {
		a.log.Warn("MIG is on: power, clocks, temperatures and errors are of whole GPUs; GPU instances have memory, activity and processes of their own where the source tells them", "gpus", split)
	}
	for i, u := range a.units {
		go a.work(i, u)
	}
	s := &sampler{Agent: a, interval: interval, due: first, mode: a.o.Mode}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		for t := range a.queue {
			a.stats.queue(len(a.queue))
			k.take(t)
			t.clear()
			a.free <- t
		}
		k.leave(s.told)
	}()
	s.run(ctx)
	close(a.queue)
	<-kept
	hung := 0
	for _, u := range a.units {
		if u.busy {
			hung++
		}
	}
	a.log.Info("stopped", "hung", hung)
	if hung == 0 && !s.asking {
		return a.src.Close()
	}
	return nil // closing the source would wait for the calls that hang
}

// gpusOf is how many of the series are GPUs.
func gpusOf(series []int32) (n int) {
	for _, gpu := range series {
		if gpu != capture.NodeSeries {
			n++
		}
	}
	return n
}

// work asks a unit whenever the sampler says so, and for its last errors when it says no more.
func (a *Agent) work(i int, u *unit) {
	var out []capture.Reading
	for at := range u.requests {
		readings, err := a.src.Sample(i, out[:0])
		a.answers <- answer{unit: i, at: at, readings: readings, err: err}
		out = nil // the tick has it now
	}
	last := answer{unit: i, left: true}
	if src, ok := a.src.(capture.Teller); ok {
		last.readings = src.Errors(i)
	}
	a.answers <- last
}

// inventory is one that was taken, or why it was not.
type inventory struct {
	node *capture.Inventory
	err  error
}

// takeInventory takes the inventory in the background. A source that hangs holds one goroutine, not more.
func (a *Agent) takeInventory() {
	v, err := Inventory(a.src, a.o.Root)
	a.nodes <- inventory{v, err}
}

// Node is the name that the node has by itself, without its domain.
func Node() string {
	name, err := os.Hostname()
	if err != nil {
		return "node"
	}
	for i, c := range name {
		if c == '.' {
			return name[:i]
		}
	}
	return name
}
