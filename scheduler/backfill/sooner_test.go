package backfill

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// TestSoonerIsEarliestWithoutTheHold fills a profile with random holds and
// asks, for each of them, where it would go if it were taken out first.
func TestSoonerIsEarliestWithoutTheHold(t *testing.T) {
	const total = 8
	rapid.Check(t, func(t *rapid.T) {
		var p Profile
		p.Reset(0, total)
		type hold struct {
			slot model.Time
			need int32
			d    model.Duration
		}
		var holds []hold
		for range rapid.IntRange(1, 12).Draw(t, "holds") {
			h := hold{need: rapid.Int32Range(1, total).Draw(t, "need"), d: model.Duration(rapid.IntRange(1, 9).Draw(t, "d"))}
			h.slot = p.Earliest(model.Time(rapid.IntRange(0, 20).Draw(t, "from")), h.need, h.d)
			p.Add(h.slot, h.slot.Add(h.d), -h.need)
			holds = append(holds, h)
		}
		if n := len(holds) - 1; n > 0 { // capacity comes free
			gone := holds[rapid.IntRange(0, n-1).Draw(t, "gone")]
			p.Add(gone.slot, gone.slot.Add(gone.d), gone.need)
			holds = holds[n:]
		}
		for _, h := range holds {
			now := min(model.Time(rapid.IntRange(0, 10).Draw(t, "now")), h.slot)
			got := p.Sooner(now, h.slot, h.need, h.d)
			p.Add(h.slot, h.slot.Add(h.d), h.need)
			require.Equal(t, p.Earliest(now, h.need, h.d), got)
			p.Add(h.slot, h.slot.Add(h.d), -h.need)
		}
	})
}
