package waiting

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// TestBoundIndex: whatever joins and leaves, the index of each tenant has its waiting
// jobs, the highest tier first and in it the highest bound, and the tenants with jobs
// are the live ones.
func TestBoundIndex(t *testing.T) {
	const tenants = 4
	rapid.Check(t, func(t *rapid.T) {
		x := newBoundIndex(tenants)
		var naive [tenants][]upperBound
		for ref := range model.Ref(rapid.IntRange(1, 80).Draw(t, "steps")) {
			tenant := rapid.Int32Range(0, tenants-1).Draw(t, "tenant")
			if list := naive[tenant]; len(list) > 0 && rapid.Bool().Draw(t, "leaves") {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				x.remove(tenant, upperBound{own: list[i].own, tier: list[i].tier, ref: list[i].ref})
				naive[tenant] = slices.Delete(list, i, i+1)
			} else {
				b := upperBound{own: model.Fixed(rapid.IntRange(0, 5).Draw(t, "own")), tier: rapid.Int32Range(-1, 1).Draw(t, "tier"), ref: ref}
				x.add(tenant, b)
				naive[tenant] = append(list, b)
			}
			var live []int32
			for i, list := range naive {
				want := slices.Clone(list)
				slices.SortFunc(want, func(a, b upperBound) int {
					return cmp.Or(int(b.tier-a.tier), int(b.own-a.own), int(a.ref-b.ref))
				})
				require.True(t, slices.Equal(want, x.byTenant[i]), "%v, not %v", x.byTenant[i], want)
				if len(list) > 0 {
					live = append(live, int32(i))
				}
			}
			require.ElementsMatch(t, live, x.live)
		}
	})
}
