package reports

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/sim/metric"
)

// What is drawn in the bins comes to the energy of the run, and all steps of GPU time to what
// jobs held.
func TestPowerOfASite(t *testing.T) {
	r, err := load(reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run")), 10)
	require.NoError(t, err)
	defer r.close()
	joules, capped := 0.0, int64(0)
	for _, d := range r.power.drawn {
		require.LessOrEqual(t, d.Low, d.Value)
		require.LessOrEqual(t, d.Value, d.High)
		require.True(t, d.Priced)
		require.InDelta(t, 0.2, d.Price, 1e-12)
		joules += d.Value * float64(d.WidthUS) / 1e6
		if d.Capped {
			capped += d.WidthUS
			require.InDelta(t, 55, d.Cap, 0)
		}
	}
	energy, known := r.Table.Value("energy", metric.All)
	require.True(t, known)
	last := r.power.drawn[len(r.power.drawn)-1]
	require.InDelta(t, float64(energy)*3.6e6, joules, 50*float64(last.WidthUS)/1e6, "but for the rest of the last bin")
	require.InDelta(t, 86_400e6, capped, float64(last.WidthUS))

	steps := r.timeSteps()
	sum := 0.0
	for _, s := range steps[:len(steps)-1] {
		sum += s.Hours
	}
	require.InEpsilon(t, steps[len(steps)-1].Hours, sum, 1e-12)
	require.Equal(t, "+0.3 % (0.5 h; not known of 25.0 %)", steps[1].Says)
	require.Equal(t, "not known", steps[2].Says)

	vclusters, cost := 0.0, 0.0
	for _, e := range r.energyRows() {
		if e.of == metric.ByVCluster {
			require.InEpsilon(t, 48*3333e-6, *e.cost, 1e-12, "of its own jobs")
		}
		if e.of != metric.ByTenant {
			vclusters += e.value
			cost += *e.cost
		}
	}
	require.InEpsilon(t, float64(energy), vclusters, 1e-9, "with nodes without a job")
	whole, priced := r.Table.Value("energy_cost", metric.All)
	require.True(t, priced)
	require.InEpsilon(t, float64(whole), cost, 1e-9)
}

// A run that knows nothing of power draws none, rather than one of 0.
func TestNoPowerIsNotDrawn(t *testing.T) {
	r, err := load(reporttest.TempRun(t, reporttest.Tiny("fcfs")), 10)
	require.NoError(t, err)
	defer r.close()
	require.Empty(t, r.powerFigures())
	require.Zero(t, r.energyTable().Len())
	require.NotContains(t, r.pageSeries(), "power")
}
