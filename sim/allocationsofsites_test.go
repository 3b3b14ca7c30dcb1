package sim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/plan"
	"orrery/traces"
)

// crowd is a busy trace of n jobs of several tenants on 100 nodes.
func crowd(n int) *memory {
	m := &memory{info: traces.Info{Name: "crowd", MaxProcs: 100, Sorted: true, Rows: int64(n)}, size: 1000}
	plain := synthetic(n)
	m.all = plain.all
	m.all.Attr = &traces.Attributes{}
	for i := range n {
		m.all.Attr.AppendJob(&traces.Job{
			Tenant: fmt.Sprint("t", i%5), Class: traces.Some(int32(i % 10)), Topology: []string{"tight", "spread", "any"}[i%3],
			Checkpoint: []string{"auto", "manual", "none"}[i%7%3], CkptBytes: traces.Some(int64(i%4) << 36),
			Mounts: fmt.Sprintf(`{"hot":%d,"cold":1}`, i%3),
		})
	}
	return m
}

const nineFactors = `weights: {priority: 3, wait_time: 4, fair_share: 5, topology: 2, data_readiness: 1, backlog: 2, energy: 1, checkpoint: 1, conformance: 2}`

// TestAllocationsPerJobOfASite: what 20,000 jobs allocate on a site beyond what
// 10,000 do is the steady state, as on a plain cluster.
func TestAllocationsPerJobOfASite(t *testing.T) {
	if testing.Short() {
		t.Skip("replays 20,000 jobs under several profiles")
	}
	half, full := crowd(10_000), crowd(20_000)
	for _, profile := range []string{
		"cycle: 30s, " + nineFactors,
		"cycle: 1s, " + nineFactors,
		nineFactors,
		"order: wfp3",
		"backfill: conservative, depth: 5, cycle: 30s, " + nineFactors,
	} {
		c, err := profiles.ParseCluster("test", []byte(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 16, fingerprint: x}, {name: b, nodes: 16, fingerprint: y}, {name: c, nodes: 32, fingerprint: x}]
tenants: [{name: t0, fair_share: 0.1, node_hours: 900}, {name: t1, fair_share: 0.2, gpu_hours: 2000}, {name: t2}, {name: t3, fair_share: 0.3, burst: 2}, {name: t4, max_nodes: 30}]
vclusters: [{name: all, home: all, profile: {`+profile+`}}]
`))
		require.NoError(t, err)
		spec := plan.DefaultSpec()
		spec.Site = c.JSON()
		per := (allocations(t, full, spec) - allocations(t, half, spec)) / 10_000
		t.Logf("%s: %.5f allocations per job", profile, per)
		if per > 0.01 {
			t.Errorf("%s: %.4f allocations per job in steady state", profile, per)
		}
	}
}
