package multifactor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// TestExtendIsNewTree: a tree that users join while others use it has the same
// factors as one that had them from the begin.
func TestExtendIsNewTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []Association{{Parent: -1, Shares: 3}, {Parent: -1, Shares: 1}, {Parent: 0, Shares: 2}}
		for range rapid.IntRange(0, 8).Draw(t, "users") {
			list = append(list, Association{Parent: rapid.SampledFrom([]int32{-1, 0, 1, 2}).Draw(t, "parent"), Shares: 1, User: true})
		}
		s := Sharing{FairTree: rapid.Bool().Draw(t, "fair tree"), HalfLife: model.Hour, Period: model.Minute}
		whole, err := NewTree(list, &s)
		require.NoError(t, err)
		grown, err := NewTree(list[:3], &s)
		require.NoError(t, err)
		now := model.Time(0)
		for i := 3; i < len(list); i++ {
			now = now.Add(model.Duration(rapid.IntRange(0, 500).Draw(t, "later")) * model.Second)
			require.NoError(t, grown.Extend(list[i:i+1]))
			more := int64(rapid.IntRange(0, 9).Draw(t, "units"))
			whole.Use(int32(i), more, now)
			grown.Use(int32(i), more, now)
			if rapid.Bool().Draw(t, "freeze") {
				whole.Freeze(now)
				grown.Freeze(now)
			}
		}
		whole.Freeze(now.Add(model.Hour))
		grown.Freeze(now.Add(model.Hour))
		for i := range list {
			require.Equal(t, whole.Used(int32(i)), grown.Used(int32(i)))
			require.Equal(t, whole.Factor(int32(i)), grown.Factor(int32(i)), "association %d", i)
		}
		before := len(list)
		require.Error(t, grown.Extend([]Association{{Parent: int32(before + 5)}}))
		require.Len(t, grown.of, before)
	})
}
