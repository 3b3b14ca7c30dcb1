package sim

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/order"
	"orrery/sim/plan"
	"orrery/traces"
)

// synthetic is a busy trace of n jobs on 64 processors.
func synthetic(n int) *memory {
	rng := rand.New(rand.NewPCG(1, 1))
	// Its optional columns are known to be empty, as of a file, so that no attributes are made for them.
	m := &memory{info: traces.Info{Name: "synthetic", MaxProcs: 64, Sorted: true, Filled: []traces.Filled{}}, size: 1000}
	at := int64(0)
	for range n {
		at += rng.Int64N(40)
		run := rng.Int64N(300)
		m.add(row{submit: at, runtime: run, walltime: run + rng.Int64N(200), procs: 1 + rng.Int32N(8)})
	}
	return m
}

// allocations of a replay of m.
func allocations(t *testing.T, m *memory, spec plan.Spec) float64 {
	return testing.AllocsPerRun(1, func() {
		_, err := Run(context.Background(), spec, m.open, Options{})
		require.NoError(t, err)
	})
}

// TestAllocationsPerJob: what 20,000 jobs allocate beyond what 10,000 do is the
// steady state. A hundredth of an allocation per job is room for tables that
// still grow with the queue.
func TestAllocationsPerJob(t *testing.T) {
	if testing.Short() {
		t.Skip("replays 20,000 jobs under every policy")
	}
	half, full := synthetic(10_000), synthetic(20_000)
	for _, b := range order.BackfillNames() {
		for _, o := range []string{"fcfs", "wfp3", "saf"} {
			spec := plan.Spec{Semantics: plan.Semantics, Order: o, Backfill: b}
			per := (allocations(t, full, spec) - allocations(t, half, spec)) / 10_000
			t.Logf("%s %s: %.5f allocations per job", o, b, per)
			if per > 0.01 {
				t.Errorf("%s %s: %.4f allocations per job in steady state", o, b, per)
			}
		}
	}
}
