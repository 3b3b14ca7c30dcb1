package site

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// TestLots: whoever joins and leaves, each tenant's lot is those who wait, the highest
// tier first and in it the highest ceiling, and those who have any are the live ones.
func TestLots(t *testing.T) {
	const tenants = 4
	rapid.Check(t, func(t *rapid.T) {
		l := newBoundIndex(tenants)
		var naive [tenants][]upperBound
		for ref := range model.Ref(rapid.IntRange(1, 80).Draw(t, "steps")) {
			tenant := rapid.Int32Range(0, tenants-1).Draw(t, "tenant")
			if lot := naive[tenant]; len(lot) > 0 && rapid.Bool().Draw(t, "leaves") {
				i := rapid.IntRange(0, len(lot)-1).Draw(t, "who")
				l.remove(tenant, upperBound{own: lot[i].own, tier: lot[i].tier, ref: lot[i].ref})
				naive[tenant] = slices.Delete(lot, i, i+1)
			} else {
				c := upperBound{own: model.Fixed(rapid.IntRange(0, 5).Draw(t, "own")), tier: rapid.Int32Range(-1, 1).Draw(t, "tier"), ref: ref}
				l.add(tenant, c)
				naive[tenant] = append(lot, c)
			}
			var live []int32
			for i, lot := range naive {
				want := slices.Clone(lot)
				slices.SortFunc(want, func(a, b upperBound) int {
					return cmp.Or(int(b.tier-a.tier), int(b.own-a.own), int(a.ref-b.ref))
				})
				require.True(t, slices.Equal(want, l.byTenant[i]), "%v, not %v", l.byTenant[i], want)
				if len(lot) > 0 {
					live = append(live, int32(i))
				}
			}
			require.ElementsMatch(t, live, l.live)
		}
	})
}
