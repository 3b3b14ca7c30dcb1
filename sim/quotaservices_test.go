package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// A service at the limit of its tenant knows it: it asks for nothing, is not rejected and does not
// back off, and grows at the evaluation behind the one that finds room.
func TestQuotaInsideACluster(t *testing.T) {
	site := "groups: [{name: a, nodes: 12}]\nvclusters: [{name: batch, home: 4}, {name: serving, home: 8}]\ntenants: [{name: x, max_nodes: 6}]\n" +
		strings.Replace(stepped, "  min: 2\n", "  tenant: x\n  min: 2\n", 1)
	// The job of the same tenant holds three nodes until just before 18 min: with two of the service one is left.
	job := submittedJob{0, 1075, 3, 9, 0, traces.Job{VCluster: "batch", Tenant: "x"}}
	seen, results, _ := hostedReplay(t, site, nil, job)
	r := &results[0]
	require.Zero(t, r.Lacking, "a limit that is known is no demand that is not met")
	require.Zero(t, r.Outcome.Rejected)
	require.Equal(t, []sized{{0, 2, ""}, {720, 3, ""}, {1080, 4, ""}, {1260, 5, ""}}, seen[:4], "at the evaluation of 18 min, and a cooldown later")
	quota := false
	for _, x := range r.Outcome.Rules {
		quota = quota || x.Guard == "quota" && x.N > 0
		require.NotEqual(t, "rejection_backoff", string(x.Guard))
	}
	require.True(t, quota, "the guard says why")
}

// A limit of 0 in the table of tenants is no missing limit: it is refused with its row.
func TestZeroLimitOfATenant(t *testing.T) {
	m := &memory{size: 2, info: traces.Info{Name: "site", Hash: "site", Sorted: true}}
	m.tenants = []traces.Tenant{{Name: "ada"}, {Name: "bob", MaxConcurrent: traces.Some[int32](0)}}
	m.add(row{submit: 0, runtime: 10, walltime: 10, procs: 1, nodes: 1})
	_, err := Run(context.Background(), siteOf(t, "groups: [{name: a, nodes: 2}]\n"), m.open, Options{})
	require.ErrorContains(t, err, "site, table tenants: row 2, column max_concurrent: found 0, expected more than 0, or null for no limit")
}
