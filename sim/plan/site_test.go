package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Every key of a profile that preempts reaches the core, and what agents take to end a job.
func TestPreemptionIsTakenOver(t *testing.T) {
	p, err := profiles.Parse("p", []byte(`preemption: {enabled: true, rule: banded, max_victims: 7, max_tries: 5, near_completion: 1m, timeout: 2m, extension: 0.25,
  deferral: 3m, deferrals_auto: 1, deferrals_manual: 2}`))
	require.NoError(t, err)
	require.Equal(t, preempt.Config{
		Rule: preempt.Banded, MaxVictims: 7, MaxTries: 5, NearCompletion: model.Minute, Timeout: 2 * model.Minute, Extension: model.One / 4,
		Deferral: 3 * model.Minute, DeferralsAuto: 1, DeferralsManual: 2, KillGrace: 4 * model.Second, Bandwidth: 5,
	}, preemptionOf(&p.Preemption, &profiles.Agents{KillGrace: 4 * model.Second, CheckpointBandwidth: 5}))
}

// TestTransfersAreTakenOver: each key of transfers reaches the world, and without any nothing
// is shared.
func TestTransfersAreTakenOver(t *testing.T) {
	of := func(text string) world.SiteConfig {
		return planned(t, siteSpec(t, "groups: [{name: a, nodes: 1}]\n"+text), traces.Meta{}, traces.Tables{}).Site.World
	}
	require.Nil(t, of("").Storage)
	require.Equal(t, &world.StorageConfig{Bandwidth: 1e9, Stage: 2e6, Stop: 1e12}, of("storage: {bandwidth: 1GB/s, stage_bandwidth: 2MB/s}\nagents: {checkpoint_stop: 1TB/s}\n").Storage)
}

// Prices of a trace are put on the scale from its lowest to its highest.
func TestPricesOfTheTraceAreScaled(t *testing.T) {
	m, err := traces.NewMemory("log", traces.Meta{}, traces.Tables{Prices: []traces.Price{{Time: 1, Price: 0.1}, {Time: 2, Price: 0.3}, {Time: 3, Price: 0.2}}})
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	got, err := happenings(&model.Site{}, src)
	require.NoError(t, err)
	require.Equal(t, []translate.Change{
		{At: 1, Kind: translate.PriceChange, Value: 0},
		{At: 2, Kind: translate.PriceChange, Value: int64(model.One)},
		{At: 3, Kind: translate.PriceChange, Value: int64(model.One / 2)},
	}, got.Changes)
}
