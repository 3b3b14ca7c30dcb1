package reports

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

// fixture is a run made by hand: jobs that ran as said, on a cluster of
// one-unit nodes.
type fixture struct {
	nodes   int
	trace   string // hash
	order   string
	users   []string
	epoch   model.Time
	known   bool
	awkward []map[string]any
	jobs    []model.JobRecord
	placed  [][]model.NodeShare // of each job, empty when it never ran
}

const second = model.Time(model.Second)

// write makes the run directory.
func (f *fixture) write(t testing.TB, dir string) string {
	t.Helper()
	w, err := record.Create(dir, record.Meta{Epoch: f.epoch, SpecID: "spec-" + f.order, Users: func() []string { return f.users }})
	require.NoError(t, err)
	defer w.Abort()
	order := make([]int, len(f.jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.jobs[a].End, f.jobs[b].End) })
	for _, i := range order {
		j := &f.jobs[i]
		if j.Attempts > 0 {
			w.Attempt(&model.AttemptRecord{
				Job: j.Job, ID: j.ID, Attempt: 1, Start: j.Start, End: j.End, Outcome: j.State, Procs: j.Procs,
				Placement: model.Placement{Shares: f.placed[i]},
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
		"schema": 1, "version": "test", "spec_id": "spec-" + f.order, "fingerprint": "0123456789abcdef", "verdict": table.Verdict,
		"spec":    map[string]any{"semantics": 1, "trace": f.trace, "order": f.order},
		"trace":   map[string]any{"name": "tiny", "hash": f.trace, "rows": len(f.jobs) + 1, "epoch_us": f.epoch, "epoch_known": f.known},
		"cluster": map[string]any{"nodes": f.nodes, "units": f.nodes},
		"jobs":    map[string]any{"dropped": 1},
		"awkward": f.awkward,
	}))
	require.NoError(t, w.Close())
	return dir
}

// series replays the states of the system.
func (f *fixture) series(t testing.TB) *metric.Series {
	s, err := metric.NewSeries(metric.Config{Units: int64(f.nodes), WarmupJobs: int64(len(f.jobs) / 100)})
	require.NoError(t, err)
	type step struct {
		at                      model.Time
		busy, queued            int64
		waiting, running        int32
		submits, starts, finish int32
	}
	var steps []step
	for _, j := range f.jobs {
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

// ran adds a job that ran on the nodes from first on.
func (f *fixture) ran(id int64, user int32, submit, start, end model.Time, first, procs int32) {
	var shares []model.NodeShare
	for n := first; n < first+procs; n++ {
		shares = append(shares, model.NodeShare{Node: model.NodeID(n), Units: 1})
	}
	f.add(model.JobRecord{
		ID: id, User: user, Submit: submit * second, Eligible: submit * second, Start: start * second, End: end * second,
		Runtime: model.Duration((end - start) * second), Walltime: model.Forever, Procs: procs, Nodes: procs, Attempts: 1, State: model.Completed,
	}, shares)
}

// idle adds a job that left without running.
func (f *fixture) idle(id int64, submit, end model.Time, procs int32, state model.JobState) {
	f.add(model.JobRecord{
		ID: id, User: -1, Submit: submit * second, Eligible: submit * second, Start: model.AbsentTime, End: end * second,
		Walltime: model.Forever, Procs: procs, State: state,
	}, nil)
}

func (f *fixture) add(j model.JobRecord, shares []model.NodeShare) {
	j.Job = model.JobID(len(f.jobs))
	f.jobs = append(f.jobs, j)
	f.placed = append(f.placed, shares)
}

// tiny is five jobs on four nodes.
func tiny(order string) *fixture {
	f := &fixture{nodes: 4, trace: "cafe0001", order: order, users: []string{"ada", "bob"}, epoch: 1_704_067_200 * second, known: true}
	f.ran(11, 0, 0, 0, 100, 0, 2)
	f.ran(12, 1, 10, 10, 400, 2, 2)
	f.ran(13, 0, 20, 100, 160, 0, 2)
	f.idle(14, 30, 90, 1, model.Cancelled)
	f.idle(15, 40, 40, 9, model.Rejected)
	f.awkward = []map[string]any{
		{"rule": "too-large", "doc": "rejected at submission: it could never fit the cluster", "count": 1, "examples": []int{15}},
		{"rule": "never-ran", "doc": "dropped: the job never ran", "count": 1, "examples": []int{16}},
	}
	return f
}

// synthetic is n jobs scheduled first come, first served, on nodes that are
// kept busy for about load of the time.
func synthetic(n, nodes int, load float64, seed uint64) *fixture {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &fixture{nodes: nodes, trace: fmt.Sprintf("beef%d", seed), order: "fcfs", epoch: 1_704_067_200 * second, known: true}
	for u := range 60 {
		f.users = append(f.users, fmt.Sprintf("user%02d", u))
	}
	free := make([]model.Time, nodes) // when each node is free
	rank := make([]int, nodes)
	clock, last := model.Time(0), model.Time(0)
	const meanRun, meanProcs = 3000.0, 5.0
	gap := meanRun * meanProcs / float64(nodes) / load
	for i := range n {
		day := 1 + 0.8*math.Sin(float64(clock/second)/86400*2*math.Pi)
		clock += model.Time(rng.ExpFloat64()*gap/day) * second
		procs := min(int32(1)<<rng.IntN(5), int32(nodes))
		for k := range rank {
			rank[k] = k
		}
		slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(max(free[a], clock), max(free[b], clock)) })
		start := max(clock, last, free[rank[procs-1]])
		last = start
		end := start + model.Time(1+rng.ExpFloat64()*meanRun)*second
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

func tempRun(t testing.TB, f *fixture) string {
	return f.write(t, filepath.Join(t.TempDir(), "run"))
}
