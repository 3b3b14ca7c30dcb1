package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/backfill"
	"orrery/scheduler/drive"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
	"orrery/scheduler/site/sitetest"
)

// TestSiteNeverSpins bounds how often a core asks to be stepped, on worlds with
// everything at once and with what the naive implementation lacks: windows of conservative
// backfilling and scores of the expected price. Passes at every tick decide the same.
func TestSiteNeverSpins(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"whole nodes", everyFeature &^ (withGPUs | withAmounts)},
		{"shared nodes", everyFeature &^ withAmounts},
		{"amounts", everyFeature},
		{"without cycles", everyFeature &^ (withGPUs | withCycles | withAmounts)},
		{"conservative under caps", withConservative | withCaps | withReservations | withOverdue | withNodeStates},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawNaive(t, c.with)
				d := naiveDraw{t: t, with: c.with, w: w}
				for i := range w.cfg.Policies {
					p := &w.cfg.Policies[i]
					p.Expected = d.chance("expected", 20)
					if p.Backfill != order.Conservative || d.chance("no window", 30) {
						continue
					}
					p.Window = backfill.Window{
						Length: d.span("window", 0, 40), Resolution: d.span("resolution", 0, 20), Interval: d.span("interval", 0, 20), Tests: d.n("tests", 0, 6),
					}
					p.MaxUserTests = d.n("user tests", 0, 2)
				}
				if err := w.cfg.Validate(); err != nil {
					t.Fatal(err)
				}
				said := w.unspun(t, site.New(w.cfg))
				require.Equal(t, w.unspun(t, sitetest.NewEveryTick(w.cfg)), said)
			})
		})
	}
}

// unspun is what a core proposes, which must not spin.
func (w *naiveWorld) unspun(t *rapid.T, of drive.Scheduler) []string {
	core := &alone{Scheduler: of}
	st := &naiveStage{w: w, pair: &both{}}
	st.play(core)
	require.Empty(t, st.pair.diff)
	return core.said
}
