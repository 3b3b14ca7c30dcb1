package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/importer"
)

// speed is what the engine takes from decoded columns and a spec that was prepared to
// the closed recorder: what each task of a study takes, but for its metrics.
type speed struct {
	jobs   int64
	cpu    time.Duration
	allocs float64 // per job, of everything but the recorder and the start
	// schedule is the beginning of the fingerprint.
	schedule string
}

// engine replays a bundle from memory into memory.
func engine(l load, o options) (speed, error) {
	src, _, err := importer.OpenAny([]string{l.bundle}, importer.Options{})
	if err != nil {
		return speed{}, err
	}
	defer src.Close()
	m, err := decode(src, l.site != nil)
	if err != nil {
		return speed{}, err
	}
	s := speed{cpu: 1 << 62}
	spec := plan.DefaultSpec()
	if l.site != nil {
		if spec, err = l.site.spec(); err != nil {
			return speed{}, err
		}
	} else {
		spec.Order, spec.Backfill, spec.Cluster.Procs = o.policy.order, o.policy.backfill, l.procs
	}
	prep, err := plan.Prepare(spec)
	if err != nil {
		return speed{}, err
	}
	sink := record.NewMemory()
	for range o.reps + 1 { // the first fills the columns and never counts as the best
		sink.Reset()
		runtime.GC()
		begun := cpu()
		res, err := replay(prep, m, sink)
		if err != nil {
			return speed{}, err
		}
		s.cpu = min(s.cpu, cpu()-begun)
		s.jobs, s.schedule = res.State.Submitted, res.Fingerprint[:8]
	}
	s.allocs, err = allocations(prep, m)
	s.allocs /= float64(s.jobs)
	return s, err
}

// allocations are those of a replay, but for those of its start, which depend on the cluster file
// and the nodes of the trace alone.
func allocations(prep *plan.Prepared, m *memory) (float64, error) {
	var begun, started, over runtime.MemStats
	runtime.ReadMemStats(&begun)
	if _, err := prep.Resolve(m); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&started)
	_, err := replay(prep, m, record.Null{})
	runtime.ReadMemStats(&over)
	return float64(over.Mallocs-started.Mallocs) - float64(started.Mallocs-begun.Mallocs), err
}

// profile writes a CPU profile to path, if one is given, until stop is called.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

func replay(p *plan.Prepared, m *memory, sink record.Sink) (*sim.Result, error) {
	open := func() (traces.Source, error) { return &memory{Source: m.Source, all: m.all}, nil }
	return sim.RunPrepared(context.Background(), p, open, sim.Options{Sink: sink})
}

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only a wrong argument makes it fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// memory is a trace as one batch, read once.
type memory struct {
	traces.Source
	all  traces.Batch
	done bool
}

// Next returns everything at once.
func (m *memory) Next(b *traces.Batch) error {
	if m.done {
		return io.EOF
	}
	m.done = true
	*b = m.all
	return nil
}

// Close keeps the trace open for the next reader.
func (m *memory) Close() error { return nil }

func decode(src traces.Source, attributes bool) (*memory, error) {
	m := &memory{Source: src}
	var b traces.Batch
	if attributes {
		b.Attr, m.all.Attr = &traces.Attributes{}, &traces.Attributes{}
	}
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		m.all.Append(&b)
	}
}
