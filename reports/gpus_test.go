package reports

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/plot"
)

// Two jobs on one node have GPUs of their own, and a GPU is taken again when it is free.
func TestRowsOfGPUs(t *testing.T) {
	d := newDetail(10, 3, true)
	add := func(job int32, start, end int64, ranges ...[3]int32) {
		d.rows = append(d.rows, allocation{job: job, id: int64(job), start: start, end: end, first: int32(len(d.lo))})
		for _, r := range ranges {
			d.addRange(r[0], r[1], r[2])
		}
	}
	add(1, 0, 100, [3]int32{0, 0, 2})
	add(2, 50, 150, [3]int32{0, 1, 2}) // the same node, and the next
	add(3, 100, 200, [3]int32{0, 0, 1}, [3]int32{2, 2, 1})
	d = d.finish([]int32{4, 4, 1})
	require.NotNil(t, d)
	require.Equal(t, []int32{0, 4, 8, 9}, d.first)
	var got [][3]int32 // job, first row, rows
	for _, a := range d.rows {
		for k := a.first; k < a.first+a.ranges; k++ {
			got = append(got, [3]int32{a.job, d.lo[k], d.len[k]})
		}
	}
	require.Equal(t, [][3]int32{{1, 0, 2}, {2, 2, 4}, {3, 0, 1}, {3, 8, 1}}, got)
	require.Equal(t, [][2]int32{{2, 4}, {1, 1}}, runsOf([]int32{4, 4, 1}))
}

// Jobs without GPUs share nodes: each has a row, the second over the first.
func TestRowsOfJobsWithoutGPUs(t *testing.T) {
	d := newDetail(10, 2, true)
	for job := range int32(2) {
		d.rows = append(d.rows, allocation{job: job, start: int64(job), end: 9, first: job})
		d.addRange(0, 0, 2)
	}
	d = d.finish([]int32{2})
	require.NotNil(t, d)
	require.Equal(t, []int32{0, 0}, d.lo)
	require.Equal(t, []int32{2, 1}, d.len)
}

// No GPU is held by two jobs at once, and each job has as many as it holds.
func TestRowsOfGPUsDoNotOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	units := []int32{8, 8, 4, 1}
	d := newDetail(1000, 500, true)
	busy := make([][]allocation, len(units)) // by node, procs being what is held
	for job := range int32(500) {
		node := rng.IntN(len(units))
		a := allocation{job: job, start: int64(job), end: int64(job) + 1 + rng.Int64N(30), procs: 1 + rng.Int32N(units[node]), first: int32(len(d.lo))}
		held := int32(0)
		for _, b := range busy[node] {
			if b.end > a.start {
				held += b.procs
			}
		}
		if held+a.procs > units[node] {
			continue
		}
		busy[node] = append(busy[node], a)
		d.rows = append(d.rows, a)
		d.addRange(int32(node), int32(node), a.procs)
	}
	d = d.finish(units)
	require.NotNil(t, d)
	until := make([]int64, slices.Max(d.first))
	for _, a := range d.rows {
		rows := int32(0)
		for k := a.first; k < a.first+a.ranges; k++ {
			for g := d.lo[k]; g < d.lo[k]+d.len[k]; g++ {
				require.LessOrEqual(t, until[g], a.start, "job %d on row %d", a.job, g)
				until[g] = a.end
			}
			rows += d.len[k]
		}
		require.Equal(t, a.procs, rows)
	}
}

// Nodes that are shared more finely than by GPUs are summed up, and so is a run whose
// attempts hold more than there is.
func TestNoRowsOfGPUs(t *testing.T) {
	for _, units := range [][]int32{{64, 64}, {1, 1}} {
		d := newDetail(10, 1, true)
		d.rows = []allocation{{job: 1, end: 5}}
		d.addRange(0, 1, 2)
		require.Nil(t, d.finish(units))
	}
}

// Where rows cannot be GPUs, a pixel is the number of jobs on a node.
func TestJobsOnSharedNodes(t *testing.T) {
	r, err := load(reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run")), 10)
	require.NoError(t, err)
	defer r.close()
	require.Equal(t, r.About.Shared, r.raster.Jobs)
	shared, err := plot.NewRaster(plot.Window{ToUS: 100}, []int32{1, 1}, 1, 1)
	require.NoError(t, err)
	shared.Jobs = true
	for range 3 {
		require.NoError(t, shared.Add(0, 100, 0, 1, 1))
	}
	shared.Finish()
	require.InDelta(t, 3, shared.Most(), 1e-12)
	require.Equal(t, []byte{255}, cells(shared))
	require.Contains(t, plot.Gantt(shared, nil, 3, plot.Clock{}).Note, "more jobs ran on a node, 3 at most")
}
