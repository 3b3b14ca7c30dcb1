package naive_test

import (
	"slices"
	"strings"
	"testing"

	"orrery/scheduler/site"

	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// TestSiteAsksForItsPasses holds both implementations together when each is stepped by
// itself: it asks for every pass at which anything is decided.
func TestSiteAsksForItsPasses(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"whole nodes", everyFeature &^ (withGPUs | withAmounts)},
		{"shared nodes", everyFeature &^ withAmounts},
		{"amounts", everyFeature},
		{"calm, with services", withEasy | withServices | withCycles | withRankings | withReservations | withBorrowing | withVClusters},
		{"calm", withEasy | withConservative | withCycles | withVClusters | withRankings | withReservations | withCaps},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawNaive(t, c.with)
				got, want := w.proposals(site.New(w.cfg)), w.proposals(w.naive())
				if !slices.Equal(got, want) {
					t.Fatalf("core proposes\n  %s\ntwin proposes\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
				}
			})
		})
	}
}
