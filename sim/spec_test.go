package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// A spec is named by what it means: defaults and aliases do not matter, and
// everything else does.
func TestSpecID(t *testing.T) {
	base := DefaultSpec()
	spelled := base
	spelled.Order, spelled.Backfill, spelled.EventOrder = "FCFS", "easy", "batch"
	spelled.Overrun, spelled.MissingRequest, spelled.Infeasible = "kill", "infinite", "reject"
	require.Equal(t, base.ID(), spelled.ID())
	require.JSONEq(t, `{"semantics":4,"trace":"","cluster":{}}`, string(spelled.JSON()))

	alias, name := base, base
	alias.Order, name.Order = "f1", "dirlab-f1"
	require.Equal(t, alias.ID(), name.ID())

	seen := map[string]bool{base.ID(): true}
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Trace = "x" }, func(s *Spec) { s.Cluster.Procs = 5 }, func(s *Spec) { s.Order = "sjf" },
		func(s *Spec) { s.Backfill = "none" }, func(s *Spec) { s.Depth = 3 }, func(s *Spec) { s.EventOrder = "sequential" },
		func(s *Spec) { s.Cycle = 1 }, func(s *Spec) { s.Phase = 1 }, func(s *Spec) { s.Overrun = "extend" },
		func(s *Spec) { s.MissingRequest = "recorded" }, func(s *Spec) { s.DefaultRequest = 1 }, func(s *Spec) { s.Infeasible = "error" },
		func(s *Spec) { s.QuorumLatency = 1 }, func(s *Spec) { s.QuorumJitter = 1 }, func(s *Spec) { s.Seed = 1 },
		func(s *Spec) { s.WarmupJobs = NoWarmup }, func(s *Spec) { s.Warmup = 1 }, func(s *Spec) { s.Cooldown = 1 },
	} {
		s := base
		change(&s)
		require.False(t, seen[s.ID()], "%s has the id of another spec", s.JSON())
		seen[s.ID()] = true
	}
}

// A setting that is wrong or does not apply is an error that says so.
func TestSpecRefusals(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"semantics 7":                   func(s *Spec) { s.Semantics = 7 },
		"unknown order":                 func(s *Spec) { s.Order = "lifo" },
		"unknown backfill":              func(s *Spec) { s.Backfill = "tetris" },
		"unknown event order":           func(s *Spec) { s.EventOrder = "random" },
		"depth applies to conservative": func(s *Spec) { s.Depth = 3 },
		"depth is -1":                   func(s *Spec) { s.Backfill, s.Depth = "conservative", -1 },
		"batch event order only":        func(s *Spec) { s.Backfill, s.Depth, s.EventOrder = "conservative", 3, "sequential" },
		"negative duration":             func(s *Spec) { s.Cycle = -1 },
		"phase needs a cycle":           func(s *Spec) { s.Phase = 1 },
		"not below the cycle":           func(s *Spec) { s.Cycle, s.Phase = 5, 5 },
		"has no cycle":                  func(s *Spec) { s.Cycle, s.EventOrder = 5, "sequential" },
		"answers at once":               func(s *Spec) { s.QuorumJitter, s.EventOrder = 5, "sequential" },
		"drawn from by nothing":         func(s *Spec) { s.Seed = 5 },
		"warm-up is -2":                 func(s *Spec) { s.WarmupJobs = -2 },
		"both as jobs and as":           func(s *Spec) { s.WarmupJobs, s.Warmup = 5, 5 },
		"unknown overrun":               func(s *Spec) { s.Overrun = "ignore" },
		"unknown policy for missing":    func(s *Spec) { s.MissingRequest = "guess" },
		"must be positive":              func(s *Spec) { s.MissingRequest = "default" },
		"policy default only":           func(s *Spec) { s.DefaultRequest = 5 },
		"unknown policy for infeasible": func(s *Spec) { s.Infeasible = "shrink" },
		"negative size":                 func(s *Spec) { s.Cluster.Procs = -5 },
		"leave out --nodes":             func(s *Spec) { s.Cluster.Nodes, s.Cluster.CoresPerNode = 5, 5 },
		"go together":                   func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 5} },
		"--exclusive needs nodes":       func(s *Spec) { s.Cluster = ClusterSpec{Exclusive: true} },
		"at most 2147483647 processors": func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 1 << 20, CoresPerNode: 1 << 12} },
		"on a node, at most 16384":      func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 1, CoresPerNode: 1<<31 - 1} },
		"nodes, at most 4194304":        func(s *Spec) { s.Cluster.Procs = 1<<31 - 1 },
		"which has none":                func(s *Spec) { s.Cluster = ClusterSpec{Table: true} },
		"how large the cluster was":     func(s *Spec) { s.Cluster = ClusterSpec{} },
	} {
		s := DefaultSpec()
		s.Cluster.Procs = 4
		change(&s)
		_, err := s.Bind(&memorySource{memory: &memory{info: traces.Info{Name: "log"}}})
		require.ErrorContains(t, err, want)
		var usage *UsageError
		require.ErrorAs(t, err, &usage)
	}
	s := DefaultSpec()
	s.Trace = "abc"
	_, err := s.Bind(&memorySource{memory: &memory{info: traces.Info{Hash: "def"}}})
	require.ErrorContains(t, err, "the spec is for the trace abc")
	s.Trace, s.Backfill = "", "conservative"
	_, err = s.Bind(&memorySource{memory: &memory{nodes: []traces.Node{{Name: "n", CPUs: 4}}}})
	require.ErrorContains(t, err, "cannot reserve shares")
}

// Under the policy error nothing is replayed when a job can never run.
func TestInfeasibleJobsRefuseTheRun(t *testing.T) {
	m := &memory{size: 2, info: traces.Info{Name: "log"}}
	m.add(row{submit: 1, runtime: 5, walltime: 5, procs: 2})
	m.add(row{submit: 2, runtime: 5, walltime: 5, procs: 9})
	s := DefaultSpec()
	s.Cluster.Procs, s.Infeasible = 4, "error"
	_, err := Run(context.Background(), s, m.open, Options{})
	var infeasible *InfeasibleError
	require.ErrorAs(t, err, &infeasible)
	require.EqualValues(t, 1, infeasible.Count)
	require.Equal(t, []int64{2}, infeasible.IDs)

	s.Infeasible = ""
	res, err := Run(context.Background(), s, m.open, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.State.Started)
	require.EqualValues(t, 2, res.State.Left)
}

// A trace that goes back in time is refused with the row.
func TestSubmissionsMustAscend(t *testing.T) {
	m := &memory{size: 2, info: traces.Info{Name: "log"}}
	m.add(row{submit: 5, runtime: 5, walltime: 5, procs: 2})
	m.add(row{submit: 4, runtime: 5, walltime: 5, procs: 2})
	s := DefaultSpec()
	s.Cluster.Procs = 4
	_, err := Run(context.Background(), s, m.open, Options{})
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.EqualValues(t, 2, data.Row)
}

// A cancelled context ends a long run.
func TestRunIsCancelled(t *testing.T) {
	m := &memory{size: 4096, info: traces.Info{Name: "log"}}
	for i := range int64(2 * progressEvery) {
		m.add(row{submit: i, runtime: 1, walltime: 1, procs: 1})
	}
	s := DefaultSpec()
	s.Cluster.Procs = 4
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := Run(ctx, s, m.open, Options{Progress: func(p Progress) {
		calls++
		require.Greater(t, p.Now, model.Time(0))
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, calls)
}

// impatient is a context that ends at its fourth look.
type impatient struct {
	context.Context
	looks int
}

func (c *impatient) Err() error {
	if c.looks++; c.looks > 3 {
		return context.DeadlineExceeded
	}
	return nil
}

// A bound on the time of a task holds of short replays too.
func TestShortRunIsCancelled(t *testing.T) {
	m := &memory{size: 4096, info: traces.Info{Name: "log"}}
	for i := range int64(200) {
		m.add(row{submit: i, runtime: 1, walltime: 1, procs: 1})
	}
	s := DefaultSpec()
	s.Cluster.Procs = 4
	ctx := &impatient{Context: context.Background()}
	_, err := Run(ctx, s, m.open, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 4, ctx.looks)
}

// Jobs that can never end, for want of time itself, are not lost: they are
// recorded as unfinished, and every row is accounted for.
func TestUnfinishedJobsAreRecorded(t *testing.T) {
	m := &memory{size: 8, info: traces.Info{Name: "log"}}
	for i := range int64(4) {
		m.add(row{submit: i, runtime: 5, walltime: 5, procs: 1})
	}
	for i := range m.all.Runtime {
		m.all.Runtime[i], m.all.Walltime[i] = 1<<62, 1<<62
	}
	s := DefaultSpec()
	s.Cluster.Procs = 1
	sink := record.NewMemory()
	res, err := Run(context.Background(), s, m.open, Options{Sink: sink})
	require.NoError(t, err)
	require.EqualValues(t, 4, sink.Jobs.Len())
	require.EqualValues(t, 3, res.Unfinished, "the second would end after the end of time")
	states := map[model.JobState]int{}
	for i, state := range sink.Jobs.State {
		states[model.JobState(state)]++
		require.Equal(t, model.JobState(state).Terminal(), model.Reason(sink.Jobs.Reason[i]) != model.ReasonEndOfRun)
	}
	require.Equal(t, map[model.JobState]int{model.Completed: 1, model.Running: 1, model.Pending: 2}, states)
	table, err := metric.Compute(sink, res.Series)
	require.NoError(t, err)
	unfinished, _ := table.Get("jobs_unfinished", metric.All)
	require.EqualValues(t, 3, *unfinished.Value)
}

// A row that states what cannot be is dropped under a rule and counted.
func TestImpossibleRowsAreDropped(t *testing.T) {
	m := &memory{size: 8, info: traces.Info{Name: "log"}}
	for i := range int64(4) {
		m.add(row{submit: i, runtime: 5, walltime: 5, procs: 1})
	}
	m.all.Submit[0], m.all.Runtime[1], m.all.Walltime[2] = -1, -2, -3
	s := DefaultSpec()
	s.Cluster.Procs = 1
	res, err := Run(context.Background(), s, m.open, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Awkward.Count[translate.RuleImpossible])
	require.EqualValues(t, 1, res.State.Left)
}
