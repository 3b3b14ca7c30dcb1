// Package reporttest has small runs made by hand, and a browser, for tests of reports.
package reporttest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// Fixture is a run made by hand: jobs that ran as said, on a cluster of
// one-unit nodes.
type Fixture struct {
	Nodes   int
	Trace   string // hash
	Order   string
	Users   []string
	epoch   model.Time
	known   bool
	awkward []map[string]any
	Jobs    []model.JobRecord
	Placed  [][]model.NodeShare // of each job, empty when it never ran
}

// Second is the unit of the instants of a Fixture.
const Second = model.Time(model.Second)

// Write makes the run directory.
func (f *Fixture) Write(t testing.TB, dir string) string {
	t.Helper()
	w, err := record.Create(dir, record.Meta{Epoch: f.epoch, SpecID: "spec-" + f.Order, Users: func() []string { return f.Users }})
	require.NoError(t, err)
	defer w.Abort()
	order := make([]int, len(f.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Jobs[a].End, f.Jobs[b].End) })
	for _, i := range order {
		j := &f.Jobs[i]
		if j.Attempts > 0 {
			w.Attempt(&model.AttemptRecord{
				Job: j.Job, ID: j.ID, Attempt: 1, Start: j.Start, End: j.End, Outcome: j.State, Procs: j.Procs,
				Placement: model.Placement{Shares: f.Placed[i]},
			})
		}
		w.Job(j)
	}
	series := f.series(t)
	jobs, err := w.Seal()
	require.NoError(t, err)
	table, err := metric.Compute(jobs, series)
	require.NoError(t, err)
	require.NoError(t, w.WriteSeries(series.Bins()))
	require.NoError(t, w.WriteJSON(record.FileMetrics, table))
	require.NoError(t, w.WriteJSON(record.FileRun, map[string]any{
		"schema": 1, "version": "test", "spec_id": "spec-" + f.Order, "fingerprint": "0123456789abcdef", "verdict": table.Verdict,
		"spec":    map[string]any{"semantics": 1, "trace": f.Trace, "order": f.Order},
		"trace":   map[string]any{"name": "tiny", "hash": f.Trace, "rows": len(f.Jobs) + 1, "epoch_us": f.epoch, "epoch_known": f.known},
		"cluster": map[string]any{"nodes": f.Nodes, "units": f.Nodes},
		"jobs":    map[string]any{"dropped": 1},
		"awkward": f.awkward,
	}))
	require.NoError(t, w.Close())
	return dir
}

// series replays the states of the system.
func (f *Fixture) series(t testing.TB) *metric.Series {
	s, err := metric.NewSeries(metric.Config{Units: int64(f.Nodes), WarmupJobs: int64(len(f.Jobs) / 100)})
	require.NoError(t, err)
	type step struct {
		at                      model.Time
		busy, queued            int64
		waiting, running        int32
		submits, starts, finish int32
	}
	var steps []step
	for _, j := range f.Jobs {
		if j.State == model.Rejected {
			steps = append(steps, step{at: j.Submit, submits: 1})
			continue
		}
		n := int64(j.Procs)
		steps = append(steps, step{at: j.Submit, queued: n, waiting: 1, submits: 1})
		if j.Attempts == 0 {
			steps = append(steps, step{at: j.End, queued: -n, waiting: -1})
			continue
		}
		steps = append(steps, step{at: j.Start, queued: -n, waiting: -1, busy: n, running: 1, starts: 1},
			step{at: j.End, busy: -n, running: -1, finish: 1})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var st metric.State
	for i, p := range steps {
		st.BusyUnits += p.busy
		st.QueuedUnits += p.queued
		st.QueuedJobs += p.waiting
		st.RunningJobs += p.running
		st.MinQueuedUnits = min(st.QueuedJobs, 1)
		s.CountSubmit(p.at, p.submits)
		s.CountStart(p.at, p.starts)
		s.CountEnd(p.at, p.finish)
		if i+1 == len(steps) || steps[i+1].at != p.at {
			s.Observe(p.at, st)
		}
	}
	return s
}

// Ran adds a job that ran on the nodes from first on.
func (f *Fixture) Ran(id int64, user int32, submit, start, end model.Time, first, procs int32) {
	var shares []model.NodeShare
	for n := first; n < first+procs; n++ {
		shares = append(shares, model.NodeShare{Node: model.NodeID(n), Units: 1})
	}
	f.add(model.JobRecord{
		ID: id, User: user, Submit: submit * Second, Eligible: submit * Second, Start: start * Second, End: end * Second,
		Runtime: model.Duration((end - start) * Second), Walltime: model.Forever, Procs: procs, Nodes: procs, Attempts: 1, State: model.Completed,
	}, shares)
}

// Idle adds a job that left without running.
func (f *Fixture) Idle(id int64, submit, end model.Time, procs int32, state model.JobState) {
	f.add(model.JobRecord{
		ID: id, User: -1, Submit: submit * Second, Eligible: submit * Second, Start: model.AbsentTime, End: end * Second,
		Walltime: model.Forever, Procs: procs, State: state,
	}, nil)
}

func (f *Fixture) add(j model.JobRecord, shares []model.NodeShare) {
	j.Job = model.JobID(len(f.Jobs))
	f.Jobs = append(f.Jobs, j)
	f.Placed = append(f.Placed, shares)
}

// Tiny is five jobs on four nodes.
func Tiny(order string) *Fixture {
	f := &Fixture{Nodes: 4, Trace: "cafe0001", Order: order, Users: []string{"ada", "bob"}, epoch: 1_704_067_200 * Second, known: true}
	f.Ran(11, 0, 0, 0, 100, 0, 2)
	f.Ran(12, 1, 10, 10, 400, 2, 2)
	f.Ran(13, 0, 20, 100, 160, 0, 2)
	f.Idle(14, 30, 90, 1, model.Cancelled)
	f.Idle(15, 40, 40, 9, model.Rejected)
	f.awkward = []map[string]any{
		{"rule": "too-large", "doc": "rejected at submission: it could never fit the cluster", "count": 1, "examples": []int{15}},
		{"rule": "never-ran", "doc": "dropped: the job never ran", "count": 1, "examples": []int{16}},
	}
	return f
}

// Synthetic is n jobs scheduled first come, first served, on nodes that are
// kept busy for about load of the time.
func Synthetic(n, nodes int, load float64, seed uint64) *Fixture {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &Fixture{Nodes: nodes, Trace: fmt.Sprintf("beef%d", seed), Order: "fcfs", epoch: 1_704_067_200 * Second, known: true}
	for u := range 60 {
		f.Users = append(f.Users, fmt.Sprintf("user%02d", u))
	}
	free := make([]model.Time, nodes) // when each node is free
	rank := make([]int, nodes)
	clock, last := model.Time(0), model.Time(0)
	const meanRun, meanProcs = 3000.0, 5.0
	gap := meanRun * meanProcs / float64(nodes) / load
	for i := range n {
		day := 1 + 0.8*math.Sin(float64(clock/Second)/86400*2*math.Pi)
		clock += model.Time(rng.ExpFloat64()*gap/day) * Second
		procs := min(int32(1)<<rng.IntN(5), int32(nodes))
		for k := range rank {
			rank[k] = k
		}
		slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(max(free[a], clock), max(free[b], clock)) })
		start := max(clock, last, free[rank[procs-1]])
		last = start
		end := start + model.Time(1+rng.ExpFloat64()*meanRun)*Second
		held := slices.Clone(rank[:procs])
		slices.Sort(held)
		var shares []model.NodeShare
		for _, k := range held {
			free[k] = end
			shares = append(shares, model.NodeShare{Node: model.NodeID(k), Units: 1})
		}
		f.add(model.JobRecord{
			ID: int64(i + 1), User: rng.Int32N(60), Submit: clock, Eligible: clock, Start: start, End: end, Runtime: model.Duration(end - start),
			Walltime: model.Forever, Procs: procs, Nodes: procs, Attempts: 1, State: model.Completed,
		}, shares)
	}
	return f
}

// TempRun writes a run into a folder of the test.
func TempRun(t testing.TB, f *Fixture) string {
	return f.Write(t, filepath.Join(t.TempDir(), "run"))
}
