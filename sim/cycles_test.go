package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
	"orrery/scheduler/site/sitetest"
	"orrery/sim/fork"
	"orrery/sim/plan"
	"orrery/tools/refdata"
	"orrery/traces"
)

// siteOf is a site of n nodes with one vCluster under the given profile.
func siteOf(t *testing.T, text string) plan.Spec {
	t.Helper()
	c, err := profiles.ParseCluster("test", []byte(text))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec
}

const aSite = `
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 64, fingerprint: x}, {name: b, nodes: 36, fingerprint: y}]
vclusters: [{name: all, home: all, profile: {cycle: 30s, `

// everyTick makes a core that looks at every tick.
func everyTick(c site.Config) fork.Scheduler { return sitetest.NewEveryTick(c) }

// withAndWithoutSkipping are the results with a pass at every tick and with those that the core asks for, which are alike.
func withAndWithoutSkipping(t *testing.T, spec plan.Spec, open func() (traces.Source, error)) (every, skipping *Result) {
	t.Helper()
	every, err := Run(context.Background(), spec, open, Options{Core: everyTick})
	require.NoError(t, err)
	skipping, err = Run(context.Background(), spec, open, Options{})
	require.NoError(t, err)
	require.Equal(t, every.Fingerprint, skipping.Fingerprint, string(spec.Site))
	return every, skipping
}

// Skipping the cycles at which the core says that nothing can change changes
// nothing, against a pass at every tick.
func TestSkippedCyclesOfASite(t *testing.T) {
	t.Parallel()
	m := normalised(t, refdata.Path(t, "oracle/swf-norm/kth-sp2.swf.gz"), 100).first(3000)
	for _, profile := range []string{
		`backfill: easy, weights: {wait_time: 1, topology: 1, conformance: 1}`,
		`backfill: conservative, depth: 5, weights: {wait_time: 1, topology: 3}`,
		`backfill: conservative, order: sjf`,
		`backfill: easy, order: wfp3`,
	} {
		spec := siteOf(t, aSite+profile+"}}]")
		want, got := withAndWithoutSkipping(t, spec, m.open)
		t.Logf("%s: %d and %d passes", profile, want.Work.Passes, got.Work.Passes)
	}
}

const aSiteOfTenants = `
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
node_types: [{name: n, gpus: 1, gpu: g}]
groups: [{name: a, nodes: 32, fingerprint: x}, {name: a, nodes: 18, fingerprint: y}, {name: b, nodes: 50, fingerprint: y}]
tenants:
  - {name: t0, fair_share: 0.1, burst: 1.5, gpu_hours: 1500}
  - {name: t1, fair_share: 0.2, burst: 1.5, gpu_hours: 1500}
  - {name: t2, fair_share: 0.3, burst: 1.5, gpu_hours: 1500}
  - {name: t3, fair_share: 0.4}
vclusters: [{name: all, home: all, profile: {cycle: 30s, usage: {window: 4d}, `

// TestSkippedCyclesOfTenants: likewise on a year of four tenants, some of them beyond their budgets.
func TestSkippedCyclesOfTenants(t *testing.T) {
	t.Parallel()
	n := math.MaxInt
	if testing.Short() {
		n = 3000
	}
	open := jobsOfTenants(t, n, func(_ int, _, walltime model.Duration) model.Duration { return walltime })
	for _, profile := range []string{
		`backfill: easy, weights: {wait_time: 4, fair_share: 5, topology: 2, backlog: 2, conformance: 2}`,
		`backfill: easy, weights: {fair_share: 1}`,
		`backfill: first-fit, weights: {wait_time: 1, fair_share: 1, conformance: 1}`,
		`backfill: none, weights: {wait_time: 1, fair_share: 1, backlog: 1}`,
	} {
		spec := siteOf(t, aSiteOfTenants+profile+"}}]")
		want, got := withAndWithoutSkipping(t, spec, open)
		require.Less(t, got.Work.Instants, want.Work.Instants)
		t.Logf("%s: %d of %d instants, %d of %d passes", profile, got.Work.Instants, want.Work.Instants, got.Work.Passes, want.Work.Passes)
	}
}

// TestSkippedCyclesOfOverruns: likewise where each third job runs longer than predicted, so that what was found behind
// the blocked job ends without anything that is observed.
func TestSkippedCyclesOfOverruns(t *testing.T) {
	t.Parallel()
	open := jobsOfTenants(t, 4000, func(i int, runtime, walltime model.Duration) model.Duration {
		if i%3 == 0 {
			return max(runtime/2, model.Second)
		}
		return walltime
	})
	spec := siteOf(t, aSiteOfTenants+`backfill: easy, weights: {wait_time: 4, fair_share: 5, backlog: 2, conformance: 2}}}]`)
	spec.Overrun = "extend"
	want, got := withAndWithoutSkipping(t, spec, open)
	require.Less(t, got.Work.Instants, want.Work.Instants)
}

// jobsOfTenants opens the first n jobs of a log of a year, or all, as those of four tenants.
func jobsOfTenants(t *testing.T, n int, walltime func(i int, runtime, walltime model.Duration) model.Duration) func() (traces.Source, error) {
	t.Helper()
	rows := normalised(t, refdata.Path(t, "oracle/swf-norm/kth-sp2.swf.gz"), 100).all
	var tables traces.Tables
	for i := range min(n, rows.Len()) {
		tables.Jobs = append(tables.Jobs, traces.Job{
			ID: rows.ID[i], VCluster: "all", Submit: rows.Submit[i], Runtime: traces.Some(rows.Runtime[i]),
			Walltime: traces.Some(walltime(i, rows.Runtime[i], rows.Walltime[i])),
			NodesMin: traces.Some(rows.ProcsRequested[i]), Tenant: fmt.Sprint("t", i*7%11%4),
		})
	}
	m, err := traces.NewMemory("tenants", traces.Meta{}, tables)
	require.NoError(t, err)
	return m.Open
}
