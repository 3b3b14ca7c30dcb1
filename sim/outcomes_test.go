package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
)

// altered changes a column of a row in any way: it may be missing, or be what no policy made.
func altered(rng *rand.Rand, f traces.JobField, j *traces.Job) {
	switch c := f.Column(); {
	case c.Type == traces.String:
		f.SetText(j, []string{"", "n[1-2]", "g1-1", "COMPLETED", "{}"}[rng.IntN(5)])
	case c.Type == traces.Timestamp:
		f.SetNumber(j, int64(j.Submit)+rng.Int64N(1e9))
	case c.Type != traces.Double:
		f.SetNumber(j, rng.Int64N(1000))
	}
}

// scrambled is the jobs with each column of the classes altered in most rows. What is kept: ids,
// to which others refer, and the end of work that has no end of its own and states no run time,
// which is the only truth about it.
func scrambled(rng *rand.Rand, jobs []traces.Job, classes ...traces.Class) []traces.Job {
	out := slices.Clone(jobs)
	for i := range out {
		j := &out[i]
		for _, f := range traces.JobFields() {
			name := f.Column().Name
			class, _ := traces.ClassOf("jobs", name)
			if name == "id" || !slices.Contains(classes, class) || name == "end" && !j.Runtime.OK || rng.IntN(4) == 0 {
				continue
			}
			altered(rng, f, j)
		}
	}
	return out
}

// replayed is the fingerprint of a replay of jobs.
func replayed(t *testing.T, spec plan.Spec, jobs []traces.Job, deps []traces.Dep, events []traces.Event) string {
	t.Helper()
	m, err := traces.NewMemory("world", traces.Meta{MaxProcs: 16}, traces.Tables{Jobs: jobs, Deps: deps, Events: events})
	require.NoError(t, err)
	res, err := Run(context.Background(), spec, m.Open, Options{Sink: &siteTimes{lines: map[model.JobID][]string{}, ratio: 1}})
	require.NoError(t, err)
	return res.Fingerprint
}

// TestOutcomesDoNotMatter: whatever the recorded policy decided, a replay that begins empty is
// the same. The sites have every feature, the machines every kind of order.
func TestOutcomesDoNotMatter(t *testing.T) {
	worlds := uint64(400)
	if testing.Short() {
		worlds = 60
	}
	matters := 0 // in how many worlds it makes a difference to alter what jobs do by themselves
	for seed := range worlds {
		rng := rand.New(rand.NewPCG(48, seed))
		w := drawSite(longBytes(seed))
		var deps []traces.Dep
		for _, e := range w.edges {
			deps = append(deps, traces.Dep{Job: w.jobs[e.Job].ID, On: w.jobs[e.On].ID, Condition: e.Condition.String()})
		}
		plain := plan.DefaultSpec()
		plain.AllowUnheeded = true // rows ask for what only a site has
		plain.Order, plain.Cluster.Procs = []string{"fcfs", "sjf", "wfp3", "unicef"}[seed%4], 16
		specs := map[string]plan.Spec{"site": w.spec(t), "machine": plain}
		for _, name := range []string{"site", "machine"} {
			spec := specs[name]
			events := w.demands
			if name == "machine" {
				events, deps = nil, nil
				for i := range w.jobs { // else the size held is that of the job, which is counted
					w.jobs[i].ProcsRequested = w.jobs[i].NodesMin
				}
			}
			want := replayed(t, spec, w.jobs, deps, events)
			require.Equal(t, want, replayed(t, spec, scrambled(rng, w.jobs, traces.Outcome, traces.History), deps, events), "%s of world %d:\n%v", name, seed, w)
			changed := slices.Clone(w.jobs)
			for i := range changed {
				changed[i].Runtime.V += model.Duration(i+1) * model.Second
			}
			if replayed(t, spec, changed, deps, events) != want {
				matters++
			}
		}
	}
	require.Greater(t, matters, int(worlds), "worlds in which nothing matters show nothing")
}

// TestRecordedPriorityIsNoRequest: the priority that Slurm recorded, which has the wait in it
// and all else, does not order the queue of a replay; the site factor does.
func TestRecordedPriorityIsNoRequest(t *testing.T) {
	site := loneNode + multi("age: 1")
	in := func(priority, factor int64) traces.Job {
		j := traces.Job{Priority: traces.Some(priority)}
		if factor != 0 {
			j.SiteFactor = traces.Some(factor)
		}
		return j
	}
	require.Equal(t, []int64{0, 100, 150}, starts(t, site, []submittedJob{long(1), {1, 50, 1, 1, 0, in(1, 0)}, {2, 50, 1, 2, 0, in(4_000_000, 0)}}))
	require.Equal(t, []int64{0, 150, 100}, starts(t, site, []submittedJob{long(1), {1, 50, 1, 1, 0, in(1, 0)}, {2, 50, 1, 2, 0, in(1, 4000)}}))
}
