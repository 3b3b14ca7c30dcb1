package traces_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
)

// attributesOf drains a source that is asked for attributes.
func attributesOf(t testingT, path string) (all traces.Batch) {
	t.Helper()
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	src, err := b.Jobs()
	require.NoError(t, err)
	defer src.Close()
	all.Attr = &traces.Attributes{}
	for batch := (traces.Batch{Attr: &traces.Attributes{}}); ; {
		err := src.Next(&batch)
		if errors.Is(err, io.EOF) {
			require.Zero(t, batch.Attr.Len())
			return all
		}
		require.NoError(t, err)
		require.Equal(t, batch.Len(), batch.Attr.Len())
		all.Append(&batch)
	}
}

// requireAttributes compares what a source streams with the rows it came from.
func requireAttributes(t testingT, want []traces.Job, got *traces.Attributes) {
	t.Helper()
	naive := &traces.Attributes{}
	for i := range want {
		naive.AppendJob(&want[i])
	}
	if len(want) == 0 {
		require.Zero(t, got.Len())
		return
	}
	for c := range traces.TextColumns {
		require.Equal(t, naive.Texts.Of(c), got.Texts.Of(c), c)
		require.Equal(t, naive.Text[c], got.Text[c], c)
	}
	a, b := *naive, *got
	a.Texts, b.Texts = nil, nil
	require.Equal(t, a, b)
}

// busy is a row with every attribute, some of which repeat.
func busy(i int) traces.Job {
	n, few := int64(i), "x"+strconv.Itoa(i%7)
	return traces.Job{
		ID: n, Submit: model.Time(i), Kind: []string{"bounded", "service", "session"}[i%3],
		Tenant: few, VCluster: few, Partition: few, QOS: few, Account: few, Group: "group" + strconv.Itoa(i/10), DAG: "dag" + strconv.Itoa(i/50),
		GPUType: "H100", Features: few, Topology: "tight", Checkpoint: "auto", Requeue: "always", Reservation: few,
		NodeInclude: few, NodeExclude: few, ExitState: "COMPLETED", Mounts: fmt.Sprintf(`{"hot":%d}`, i%11),
		NodesMax: traces.Some(int32(i % 9)), Class: traces.Some(int32(i % 11)), RequeueMax: traces.Some(int32(i)), Index: traces.Some(int32(i % 10)),
		MaxConcurrent: traces.Some(int32(4)), ExitCode: traces.Some(int32(-i)),
		GPUMem: traces.Some(n << 30), MemPerNode: traces.Some(n << 20), CkptBytes: traces.Some(n), IODemand: traces.Some(-n),
		Power: traces.Some(int64(700)), SiteFactor: traces.Some(n * n), AfterJob: traces.Some(n - 1),
		Eligible: traces.Some(model.Time(i + 5)), ThinkTime: traces.Some(model.Duration(i)), CommFraction: traces.Some(float64(i%101) / 100),
		Sensitive: traces.Some(i%3 == 0), Exclusive: traces.Some(i%2 == 0), Hold: traces.Some(i%5 == 0),
		End: traces.Some(model.Time(i + 9)), Released: traces.Some(model.Time(i + 7)), Nice: traces.Some(int32(i%13 - 6)),
	}
}

func TestAttributes(t *testing.T) {
	for name, jobs := range map[string][]traces.Job{
		"none":   nil,
		"all":    {busy(1), busy(2), busy(3)},
		"absent": {{ID: 1, Kind: "bounded"}, {ID: 2, Kind: "bounded"}},
		"mixed":  {{ID: 1, Kind: "service"}, busy(2), {ID: 3, Kind: "bounded"}, busy(4)},
	} {
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, &content{jobs: jobs})
		requireAttributes(t, jobs, attributesOf(t, path).Attr)
		if name == "absent" {
			a := attributesOf(t, path).Attr
			require.Equal(t, []int32{-1, -1}, a.Text[traces.TextTenant])
			require.Equal(t, []string{"bounded"}, a.Texts.Of(traces.TextKind))
			require.Equal(t, []int32{traces.Absent, traces.Absent}, a.Class)
			require.Equal(t, []int64{traces.Absent64, traces.Absent64}, a.Power)
			require.Equal(t, []model.Time{model.AbsentTime, model.AbsentTime}, a.Eligible)
			require.Equal(t, []model.Fixed{math.MinInt64, math.MinInt64}, a.CommFraction)
			require.Equal(t, []model.Time{model.AbsentTime, model.AbsentTime}, a.Released)
			require.Equal(t, []int8{-1, -1}, a.Sensitive)
			require.Equal(t, []int8{-1, -1}, a.Hold)
		}
	}
}

// Pages, batches and row groups end at different rows; half of the rows are
// sparse.
func TestAttributesOfALongTrace(t *testing.T) {
	jobs := make([]traces.Job, 70_001)
	for i := range jobs {
		jobs[i] = busy(i)
		if i%2 > 0 {
			jobs[i] = traces.Job{ID: int64(i), Submit: model.Time(i), Kind: "bounded"}
		}
	}
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, &content{jobs: jobs})
	all := attributesOf(t, path)
	requireAttributes(t, jobs, all.Attr)
	part := all.Slice(9000, 9010)
	require.Equal(t, all.Attr.Power[9000:9010], part.Attr.Power)
	require.Equal(t, all.Attr.Text[traces.TextDAG][9000:9010], part.Attr.Text[traces.TextDAG])
	require.Equal(t, 10, part.Attr.Len())
	compareSource(t, path)
}

func TestAttributesOfAnyRows(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		c := &content{meta: traces.Meta{Epoch: anyTime.Draw(t, "epoch")}, jobs: rapid.SliceOfN(rapid.Custom(anyJob), 0, 30).Draw(t, "jobs")}
		for i := range c.jobs {
			c.jobs[i].CommFraction = opt(t, "share", rapid.Float64Range(0, 1))
		}
		n++
		path := filepath.Join(dir, strconv.Itoa(n)+".trace")
		write(t, path, c)
		requireAttributes(t, c.jobs, attributesOf(t, path).Attr)
		require.NoError(t, os.RemoveAll(path))
	})
}

// Files of other writers: dictionaries of doubles, 64-bit counts, 32-bit
// reals, a column of kinds with nulls, most columns not there at all.
func TestAttributesOfForeignFiles(t *testing.T) {
	type job struct {
		ID     int64    `parquet:"id"`
		Submit int64    `parquet:"submit"`
		Kind   *string  `parquet:"kind"`
		Class  *int64   `parquet:"class,dict"`
		Comm   *float32 `parquet:"comm_fraction,dict"`
		Alone  *bool    `parquet:"exclusive"`
		Secret bool     `parquet:"sensitive"`
		GPUMem *uint32  `parquet:"gpu_mem"`
	}
	rows := []job{
		{ID: 1, Kind: p("service"), Class: p(int64(3)), Comm: p(float32(0.5)), Alone: p(true), GPUMem: p(uint32(1 << 31))},
		{ID: 2, Secret: true},
		{ID: 3, Kind: p(""), Class: p(int64(3)), Comm: p(float32(0.25)), Alone: p(false)},
	}
	requireAttributes(t, []traces.Job{
		{Kind: "service", Class: traces.Some(int32(3)), CommFraction: traces.Some(0.5), Exclusive: traces.Some(true),
			Sensitive: traces.Some(false), GPUMem: traces.Some(int64(1) << 31)},
		{Sensitive: traces.Some(true)},
		{Class: traces.Some(int32(3)), CommFraction: traces.Some(0.25), Exclusive: traces.Some(false), Sensitive: traces.Some(false)},
	}, attributesOf(t, writeForeign(t, rows)).Attr)
}

func TestAttributesRefuseImpossibleShares(t *testing.T) {
	for _, x := range []float64{-0.1, 1.5, math.NaN(), math.Inf(1)} {
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, &content{jobs: []traces.Job{{ID: 1}, {ID: 2, CommFraction: traces.Some(x)}}})
		b, err := traces.Open(path)
		require.NoError(t, err)
		src, err := b.Jobs()
		require.NoError(t, err)
		err = src.Next(&traces.Batch{Attr: &traces.Attributes{}})
		require.ErrorContains(t, err, "row 2, column comm_fraction: found ")
		require.ErrorContains(t, err, "expected a share from 0 to 1")
		require.NoError(t, src.Close())
		require.NoError(t, b.Close())
	}
}

func TestAttributesAreAskedForAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	writeMany(t, path, 20_000)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	late, err := b.Jobs()
	require.NoError(t, err)
	var batch traces.Batch
	require.NoError(t, late.Next(&batch))
	batch.Attr = &traces.Attributes{}
	require.ErrorContains(t, late.Next(&batch), "asked for before its first batch")
	early, err := b.Jobs()
	require.NoError(t, err)
	require.NoError(t, early.Next(&batch))
	batch.Attr = nil
	require.ErrorContains(t, early.Next(&batch), "asked for before its first batch")
}

// A source with attributes allocates by page and by new text, not by row.
func TestAttributeAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.trace")
	const rows = 131_072
	writeMany(t, path, rows)
	read := func() {
		b, err := traces.Open(path)
		require.NoError(t, err)
		defer b.Close()
		src, err := b.Jobs()
		require.NoError(t, err)
		defer src.Close()
		batch := traces.Batch{Attr: &traces.Attributes{}}
		for err == nil {
			err = src.Next(&batch)
		}
		require.ErrorIs(t, err, io.EOF)
	}
	read()
	require.Less(t, testing.AllocsPerRun(3, read)/rows, 0.15)
}
