package sim

import (
	"bufio"
	"compress/gzip"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// memory is a trace held in memory, handed out in batches of a given size.
type memory struct {
	info  traces.Info
	all   traces.Batch
	nodes []traces.Node
	size  int

	tenants []traces.Tenant
	edges   []traces.Edge
	events  []traces.Event
	prices  []traces.Price
	load    []traces.Load
}

func (m *memory) open() (traces.Source, error) { return &memorySource{memory: m}, nil }

type memorySource struct {
	*memory
	pos int
}

func (s *memorySource) Info() traces.Info    { return s.info }
func (s *memorySource) Users() []string      { return nil }
func (s *memorySource) Nodes() []traces.Node { return s.nodes }
func (s *memorySource) Close() error         { return nil }

func (s *memorySource) Events() []traces.Event   { return s.events }
func (s *memorySource) Prices() []traces.Price   { return s.prices }
func (s *memorySource) Tenants() []traces.Tenant { return s.tenants }

func (s *memorySource) Load() iter.Seq2[*traces.Load, error] {
	return func(yield func(*traces.Load, error) bool) {
		for i := range s.load {
			if !yield(&s.load[i], nil) {
				return
			}
		}
	}
}

func (s *memorySource) Dependencies(bool) (*traces.Dependencies, error) {
	return &traces.Dependencies{Edges: s.edges}, nil
}

func (s *memorySource) Next(b *traces.Batch) error {
	lo, hi := s.pos, min(s.pos+s.size, s.all.Len())
	if lo == hi {
		return io.EOF
	}
	s.pos = hi
	wanted := b.Attr != nil
	*b = s.all.Slice(lo, hi)
	if wanted && b.Attr == nil { // rows that say nothing more
		b.Attr = &traces.Attributes{}
		for range hi - lo {
			b.Attr.AppendJob(&traces.Job{})
		}
	}
	return nil
}

// row is a job in seconds; -1 is missing.
type row struct {
	submit, runtime, walltime int64
	procs                     int32
	cancel                    int64
	nodes, cpus               int32
}

func (m *memory) add(r row) {
	b := &m.all
	sec := func(s int64) model.Duration {
		if s < 0 {
			return model.AbsentDuration
		}
		return model.Duration(s) * model.Second
	}
	count := func(n int32) int32 {
		if n <= 0 {
			return traces.Absent
		}
		return n
	}
	cancel := model.AbsentTime
	if r.cancel > 0 {
		cancel = model.Time(sec(r.cancel))
	}
	b.ID = append(b.ID, int64(b.Len()+1))
	b.Submit = append(b.Submit, model.Time(sec(r.submit)))
	b.Start = append(b.Start, model.AbsentTime)
	b.Runtime = append(b.Runtime, sec(r.runtime))
	b.Walltime = append(b.Walltime, sec(r.walltime))
	b.CancelledAt = append(b.CancelledAt, cancel)
	b.ProcsRequested = append(b.ProcsRequested, count(r.procs))
	b.ProcsAllocated = append(b.ProcsAllocated, traces.Absent)
	b.NodesMin = append(b.NodesMin, count(r.nodes))
	b.CPUsPerNode = append(b.CPUsPerNode, count(r.cpus))
	b.GPUsPerNode = append(b.GPUsPerNode, traces.Absent)
	b.User = append(b.User, -1)
	m.info.Rows++
}

// normalised reads a log of shared test data whose rows are known to be clean.
func normalised(t testing.TB, path string, procs int32) *memory {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	m := &memory{size: 1000, info: traces.Info{Name: path, Hash: path, MaxProcs: procs, Sorted: true}}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ";") {
			continue
		}
		var v [9]int64
		for i, w := range strings.Fields(lines.Text())[:9] {
			v[i], err = strconv.ParseInt(w, 10, 64)
			require.NoError(t, err)
		}
		m.add(row{submit: v[1], runtime: v[3], walltime: v[8], procs: int32(v[7])})
	}
	require.NoError(t, lines.Err())
	return m
}
