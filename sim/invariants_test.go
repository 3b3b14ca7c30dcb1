package sim

import (
	"context"
	"testing"

	"orrery/sim/plan"

	"github.com/stretchr/testify/require"
)

// watchRun replays m under the eyes of a watcher.
func watchRun(t testing.TB, m *memory, spec plan.Spec) {
	t.Helper()
	res, err := Run(context.Background(), spec, m.open, Options{Watch: true})
	require.NoError(t, err)
	for _, b := range res.Watch.Breaches {
		t.Errorf("%s", b)
	}
}

// TestConservativeKeepsItsWord checks invariant 11 on the naive implementation, whose log is the
// core's: where ends are as predicted or earlier, no reservation moves to a
// later instant.
func TestConservativeKeepsItsWord(t *testing.T) {
	t.Parallel()
	tried := 0
	for i := uint64(0); tried < 300; i++ {
		m, spec := decodeWorld(randomBytes(i))
		if spec.Backfill != "conservative" || spec.Cycle > 0 || spec.QuorumLatency > 0 || spec.Overrun == "extend" || spec.Depth > 0 {
			continue
		}
		tried++
		requireNaive(t, m, spec, Options{})
		if slips := runNaive(m, spec).slips; slips > 0 {
			t.Fatalf("invariant 11 broken: %d reservations were put off\n%s\n%s", slips, spec.JSON(), m)
		}
	}
}

// TestInvariants watches replays of random small worlds.
func TestInvariants(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(1000, 1600, 4000)
	for i := range worlds {
		m, spec := decodeWorld(randomBytes(uint64(i)))
		if i%4 == 0 { // those in which reservations are checked
			spec.Order, spec.Cluster = "", plan.ClusterSpec{Procs: int32(1 + i%12)}
			m.nodes = nil
		}
		if watchRun(t, m, spec); t.Failed() {
			t.Fatalf("world %d: %s\n%s", i, spec.JSON(), m)
		}
	}
}
