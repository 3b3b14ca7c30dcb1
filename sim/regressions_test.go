package sim

import (
	"testing"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
)

// TestNaiveFoundThese replays the smallest worlds on which the core once
// differed from the naive implementation, each under the name of what was wrong.
func TestNaiveFoundThese(t *testing.T) {
	sec := model.Second
	procs := func(n int32) plan.ClusterSpec { return plan.ClusterSpec{Procs: n} }
	none := int64(-1)
	for _, c := range []struct {
		name string
		spec plan.Spec
		rows []row
	}{
		{"one node chosen twice", plan.Spec{Cluster: plan.ClusterSpec{Table: true}}, []row{{runtime: 2, walltime: 6, nodes: 3, cpus: 1}}},
		{"logarithm of the first second", plan.Spec{Cluster: procs(2), Order: "f1", Cycle: 5 * sec},
			[]row{{submit: 1, runtime: 3, walltime: 8, procs: 2}, {submit: 3, runtime: 1, walltime: 1, procs: 1}}},
		{"slots of jobs that ask for no time", plan.Spec{Cluster: procs(1), Backfill: "conservative"},
			[]row{{procs: 1}, {procs: 1}, {runtime: 5, walltime: 5, procs: 1}}},
		{"in flight beyond the walltime", plan.Spec{Cluster: procs(2), Backfill: "conservative", QuorumLatency: 5 * sec},
			[]row{{runtime: 2, walltime: 2, procs: 2}, {submit: 3, runtime: 4, walltime: 4, procs: 1}, {submit: 4, runtime: 1, walltime: 1, procs: 2}}},
		{"withdrawn at the instant of the grant", plan.Spec{Cluster: procs(1), QuorumLatency: 4 * sec},
			[]row{{submit: 1, runtime: none, cancel: 5, walltime: 9, procs: 1}, {submit: 5, runtime: 1, walltime: 1, procs: 1}}},
		{"missed slots hold each other up", plan.Spec{Cluster: procs(2), Backfill: "conservative", Cycle: 30 * sec},
			[]row{{submit: 1, runtime: 3, walltime: 40, procs: 1}, {submit: 1, runtime: 4, walltime: 33, procs: 2}, {submit: 2, runtime: 5, walltime: 70, procs: 1}, {submit: 2, runtime: 5, walltime: 45, procs: 2}}},
		{"an arrival at the front of the window", plan.Spec{Cluster: procs(2), Order: "sjf", Backfill: "conservative", Depth: 1},
			[]row{{runtime: 9, walltime: 9, procs: 1}, {submit: 1, runtime: 8, walltime: 8, procs: 2}, {submit: 2, runtime: 3, walltime: 3, procs: 1}}},
		{"withdrawal and submission of one instant", plan.Spec{Cluster: procs(2), Backfill: "conservative", EventOrder: "sequential"},
			[]row{{runtime: 9, walltime: 9, procs: 2}, {submit: 1, runtime: none, cancel: 3, walltime: 5, procs: 2}, {submit: 3, runtime: 4, walltime: 4, procs: 1}, {submit: 4, runtime: 4, walltime: 4, procs: 1}}},
		{"overdue in the sequential order", plan.Spec{Cluster: procs(1), Backfill: "conservative", EventOrder: "sequential", Overrun: "extend"},
			[]row{{runtime: 9, walltime: 2, procs: 1}, {submit: 1, runtime: 4, walltime: 4, procs: 1}}},
		{"a rejected row is no fact", plan.Spec{Cluster: procs(3), Order: "unicef", Backfill: "none"},
			[]row{{submit: 10, runtime: 10, walltime: 12, procs: 2}, {submit: 15, runtime: 1, walltime: 4, procs: 2}, {submit: 16, runtime: 8, walltime: 12, procs: 1}, {submit: 18, runtime: 1, walltime: 1, procs: 6}}},
		{"a reservation behind a job whose grant is overdue", plan.Spec{Cluster: procs(3), QuorumLatency: 5 * sec},
			[]row{{runtime: 1, walltime: 1, procs: 2}, {runtime: 9, walltime: 9, procs: 3}, {runtime: 5, walltime: 5, procs: 1}, {submit: 3, runtime: 1, walltime: 1, procs: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &memory{info: traces.Info{Name: c.name, Sorted: true}, size: 3}
			for _, units := range []int32{2, 1, 1, 2} {
				m.nodes = append(m.nodes, traces.Node{CPUs: units, Up: true})
			}
			for _, r := range c.rows {
				m.add(r)
			}
			c.spec.Semantics, c.spec.AllowUnheeded = plan.Semantics, true // the cluster of some is too small for all
			res := requireNaive(t, m, c.spec, Options{})
			if res.Unfinished != 0 {
				t.Errorf("%d jobs never left", res.Unfinished)
			}
		})
	}
}
