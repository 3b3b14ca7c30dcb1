package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/plan"
	"orrery/tools/refdata"
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
		want, err := Run(context.Background(), spec, m.open, Options{EveryCycle: true})
		require.NoError(t, err)
		got, err := Run(context.Background(), spec, m.open, Options{})
		require.NoError(t, err)
		require.Equal(t, want.Fingerprint, got.Fingerprint, profile)
		t.Logf("%s: %d and %d passes", profile, want.Work.Passes, got.Work.Passes)
	}
}
