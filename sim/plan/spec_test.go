package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// on is a trace of these tables.
func on(t *testing.T, tables traces.Tables) Tables {
	t.Helper()
	m, err := traces.NewMemory("log", traces.Meta{}, tables)
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	return src
}

// A spec is named by what it means: defaults and aliases do not matter, and
// everything else does.
func TestSpecID(t *testing.T) {
	base := DefaultSpec()
	spelled := base
	spelled.Order, spelled.Backfill, spelled.EventOrder = "FCFS", "easy", "batch"
	spelled.Overrun, spelled.MissingRequest, spelled.Infeasible = "kill", "infinite", "reject"
	require.Equal(t, base.ID(), spelled.ID())
	require.JSONEq(t, fmt.Sprintf(`{"semantics":%d,"trace":"","cluster":{}}`, Semantics), string(spelled.JSON()))

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
		fmt.Sprintf("semantics %d", Semantics+1): func(s *Spec) { s.Semantics = Semantics + 1 },
		"unknown order":                          func(s *Spec) { s.Order = "lifo" },
		"unknown backfill":                       func(s *Spec) { s.Backfill = "tetris" },
		"unknown event order":                    func(s *Spec) { s.EventOrder = "random" },
		"depth applies to conservative":          func(s *Spec) { s.Depth = 3 },
		"depth is -1":                            func(s *Spec) { s.Backfill, s.Depth = "conservative", -1 },
		"batch event order only":                 func(s *Spec) { s.Backfill, s.Depth, s.EventOrder = "conservative", 3, "sequential" },
		"negative duration":                      func(s *Spec) { s.Cycle = -1 },
		"phase needs a cycle":                    func(s *Spec) { s.Phase = 1 },
		"not below the cycle":                    func(s *Spec) { s.Cycle, s.Phase = 5, 5 },
		"has no cycle":                           func(s *Spec) { s.Cycle, s.EventOrder = 5, "sequential" },
		"answers at once":                        func(s *Spec) { s.QuorumJitter, s.EventOrder = 5, "sequential" },
		"drawn from by nothing":                  func(s *Spec) { s.Seed = 5 },
		"warm-up is -2":                          func(s *Spec) { s.WarmupJobs = -2 },
		"both as jobs and as":                    func(s *Spec) { s.WarmupJobs, s.Warmup = 5, 5 },
		"unknown overrun":                        func(s *Spec) { s.Overrun = "ignore" },
		"unknown policy for missing":             func(s *Spec) { s.MissingRequest = "guess" },
		"must be positive":                       func(s *Spec) { s.MissingRequest = "default" },
		"policy default only":                    func(s *Spec) { s.DefaultRequest = 5 },
		"unknown policy for infeasible":          func(s *Spec) { s.Infeasible = "shrink" },
		"negative size":                          func(s *Spec) { s.Cluster.Procs = -5 },
		"leave out --nodes":                      func(s *Spec) { s.Cluster.Nodes, s.Cluster.CoresPerNode = 5, 5 },
		"go together":                            func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 5} },
		"--exclusive needs nodes":                func(s *Spec) { s.Cluster = ClusterSpec{Exclusive: true} },
		"at most 2147483647 processors":          func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 1 << 20, CoresPerNode: 1 << 12} },
		"on a node, at most 16384":               func(s *Spec) { s.Cluster = ClusterSpec{Nodes: 1, CoresPerNode: 1<<31 - 1} },
		"nodes, at most 4194304":                 func(s *Spec) { s.Cluster.Procs = 1<<31 - 1 },
		"which has none":                         func(s *Spec) { s.Cluster = ClusterSpec{Table: true} },
		"how large the cluster was":              func(s *Spec) { s.Cluster = ClusterSpec{} },
	} {
		s := DefaultSpec()
		s.Cluster.Procs = 4
		change(&s)
		_, err := s.Bind(on(t, traces.Tables{}))
		require.ErrorContains(t, err, want)
		var usage *UsageError
		require.ErrorAs(t, err, &usage)
	}
	s := DefaultSpec()
	s.Trace = "abc"
	_, err := s.Bind(on(t, traces.Tables{}))
	require.ErrorContains(t, err, "the spec is for the trace abc")
	s.Trace, s.Backfill = "", "conservative"
	_, err = s.Bind(on(t, traces.Tables{Nodes: []traces.Node{{Name: "n", CPUs: 4}}}))
	require.ErrorContains(t, err, "cannot reserve shares")
}

// TestMeasureIsChecked: what does not apply is refused.
func TestMeasureIsChecked(t *testing.T) {
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Measure.To = s.Measure.From }, "ends after it begins"},
		{func(s *Spec) { s.Measure.Follow = -1 }, "0 or more to follow"},
		{func(s *Spec) { s.Warmup = model.Hour }, "the part is the steady window"},
		{func(s *Spec) { s.WarmupJobs = NoWarmup }, "the part is the steady window"},
	} {
		spec := DefaultSpec()
		spec.Cluster.Procs, spec.Measure = 4, &Measure{From: 0, To: 10}
		c.change(&spec)
		_, err := spec.Bind(on(t, traces.Tables{}))
		var usage *UsageError
		require.ErrorAs(t, err, &usage)
		require.ErrorContains(t, err, c.want)
	}
}
