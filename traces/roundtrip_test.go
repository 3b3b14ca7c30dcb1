package traces_test

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/traces"
)

// testingT is what both *testing.T and *rapid.T offer to require.
type testingT interface {
	require.TestingT
	Helper()
}

type content struct {
	meta  traces.Meta
	jobs  []traces.Job
	deps  []traces.Dep
	nodes []traces.Node

	tenants []traces.Tenant
	events  []traces.Event
	prices  []traces.Price
	load    []traces.Load
	gauges  []traces.Telemetry
	parts   []traces.Instance
}

func write(t testingT, path string, c *content) string {
	t.Helper()
	w, err := traces.NewWriter(path, c.meta)
	require.NoError(t, err)
	defer w.Abort()
	for i := range c.jobs {
		require.NoError(t, w.WriteJob(&c.jobs[i]))
	}
	for _, d := range c.deps {
		require.NoError(t, w.WriteDep(d))
	}
	for _, n := range c.nodes {
		require.NoError(t, w.WriteNode(n))
	}
	for _, r := range c.tenants {
		require.NoError(t, w.WriteTenant(r))
	}
	for _, r := range c.events {
		require.NoError(t, w.WriteEvent(r))
	}
	for _, r := range c.prices {
		require.NoError(t, w.WritePrice(r))
	}
	for i := range c.load {
		require.NoError(t, w.WriteLoad(&c.load[i]))
	}
	for i := range c.gauges {
		require.NoError(t, w.WriteTelemetry(&c.gauges[i]))
	}
	for i := range c.parts {
		require.NoError(t, w.WriteInstance(&c.parts[i]))
	}
	hash, err := w.Close()
	require.NoError(t, err)
	return hash
}

func read(t testingT, path string) *content {
	t.Helper()
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	c := &content{meta: b.Meta(), nodes: b.Nodes(), tenants: b.Tenants(), events: b.Events(), prices: b.Prices()}
	for j, err := range b.Rows() {
		require.NoError(t, err)
		c.jobs = append(c.jobs, *j)
	}
	for d, err := range b.Deps() {
		require.NoError(t, err)
		c.deps = append(c.deps, *d)
	}
	for l, err := range b.Load() {
		require.NoError(t, err)
		c.load = append(c.load, *l)
	}
	for g, err := range b.Telemetry() {
		require.NoError(t, err)
		c.gauges = append(c.gauges, *g)
	}
	for p, err := range b.Instances() {
		require.NoError(t, err)
		c.parts = append(c.parts, *p)
	}
	return c
}

// compareSource holds the column path against the whole rows.
func compareSource(t testingT, path string) {
	t.Helper()
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	src, err := b.Jobs()
	require.NoError(t, err)
	defer src.Close()
	naive := reader{ids: map[string]int32{}}
	var want, got traces.Batch
	check := func() {
		if want.Len() == 0 {
			return
		}
		require.NoError(t, src.Next(&got))
		require.Equal(t, want, got)
		want = traces.Batch{First: want.First + model.JobID(want.Len())}
	}
	for j, err := range b.Rows() {
		require.NoError(t, err)
		naive.add(&want, j)
		if want.Len() == 8192 {
			check()
		}
	}
	check()
	require.ErrorIs(t, src.Next(&got), io.EOF)
	require.Equal(t, naive.users, src.Users())
}

// Whatever the writer accepts, the reader returns: every column, every null,
// in order, through both paths.
func TestRoundTripIsLossless(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		c := &content{
			meta: traces.Meta{Source: text(t, "source"), Epoch: anyTime.Draw(t, "epoch"), EpochKnown: rapid.Bool().Draw(t, "known"),
				TimeZone: text(t, "zone"), MaxProcs: any32.Draw(t, "procs"), MaxNodes: any32.Draw(t, "nodes"),
				Recipe: text(t, "recipe"), Import: text(t, "import")},
			jobs:  rapid.SliceOfN(rapid.Custom(anyJob), 0, 40).Draw(t, "jobs"),
			nodes: rapid.SliceOfN(rapid.Custom(anyNode), 0, 3).Draw(t, "node rows"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "site rows") {
			c.tenants = append(c.tenants, anyTenant(t))
			c.events = append(c.events, anyEvent(t))
			c.prices = append(c.prices, anyPrice(t))
			c.load = append(c.load, anyLoad(t))
			c.gauges = append(c.gauges, anyTelemetry(t))
			c.parts = append(c.parts, anyInstance(t))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "deps") {
			c.deps = append(c.deps, traces.Dep{Job: any64.Draw(t, "job"), On: int64(i), Condition: text(t, "condition")})
		}
		n++
		path := filepath.Join(dir, strconv.Itoa(n)+".trace")
		hash := write(t, path, c)
		got := read(t, path)
		c.meta.Sorted = got.meta.Sorted // found by the writer
		requireSame(t, c, got)
		compareSource(t, path)
		require.Equal(t, hash, write(t, filepath.Join(dir, strconv.Itoa(n)+"-again.trace"), got))
		require.NoError(t, os.RemoveAll(path))
	})
}

// requireSame compares contents; NaN equals NaN of the same bits.
func requireSame(t testingT, want, got *content) {
	t.Helper()
	bits := func(c *content) []uint64 {
		out := make([]uint64, len(c.jobs))
		for i := range c.jobs {
			out[i] = math.Float64bits(c.jobs[i].CommFraction.V)
			if c.jobs[i].CommFraction.V != c.jobs[i].CommFraction.V {
				c.jobs[i].CommFraction.V = 0
			}
		}
		return out
	}
	require.Equal(t, bits(want), bits(got))
	require.Equal(t, len(want.jobs), len(got.jobs))
	for i := range want.jobs {
		if want.jobs[i] != got.jobs[i] {
			require.Equal(t, want.jobs[i], got.jobs[i])
		}
	}
	require.Equal(t, want.deps, got.deps)
	require.Equal(t, len(want.nodes), len(got.nodes))
	for i := range want.nodes {
		require.Equal(t, want.nodes[i], got.nodes[i])
	}
	require.Equal(t, want.tenants, got.tenants)
	require.Equal(t, want.events, got.events)
	require.Equal(t, want.prices, got.prices)
	require.Equal(t, want.load, got.load)
	require.Equal(t, want.gauges, got.gauges)
	require.Equal(t, want.meta, got.meta)
}

// Rows that span pages, batches and row groups.
func TestLongTraceBothPathsAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.trace")
	hash := writeMany(t, path, 150_001)
	compareSource(t, path)
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.Equal(t, int64(150_001), r.Kept)
	require.True(t, r.Balanced())
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	require.Equal(t, hash, b.Info().Hash)
	require.True(t, b.Info().Sorted)
}

// More names than a dictionary may hold: the writer falls back to plain text
// in the middle of a row group.
func TestManyUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.trace")
	c := &content{}
	for i := range 70_000 {
		c.jobs = append(c.jobs, traces.Job{ID: int64(i), User: "a user with a long name, number " + strconv.Itoa(i*7919%100_000), Kind: "bounded"})
	}
	write(t, path, c)
	compareSource(t, path)
	requireSame(t, c, func() *content { got := read(t, path); c.meta = got.meta; return got }())
}

func TestEmptyTrace(t *testing.T) {
	for _, name := range []string{"empty.trace", "empty.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, &content{})
		compareSource(t, path)
		r, err := traces.Validate(path)
		require.NoError(t, err)
		require.Zero(t, r.Read)
	}
}

// A source allocates by page and by new user, not by row.
func TestSourceAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.trace")
	const rows = 131_072
	writeMany(t, path, rows)
	drain(t, path) // fills the library's pools
	perRow := testing.AllocsPerRun(3, func() { drain(t, path) }) / rows
	require.Less(t, perRow, 0.05)
}

func TestSourceAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.trace")
	writeMany(t, path, 20_000)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	src, err := b.Jobs()
	require.NoError(t, err)
	var batch traces.Batch
	require.NoError(t, src.Next(&batch))
	require.NoError(t, src.Close())
	err = src.Next(&batch)
	require.Error(t, err)
	require.False(t, errors.Is(err, io.EOF))
}
