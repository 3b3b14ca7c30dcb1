package hwmodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// TestLinks: a job sends out of each of its groups what its GPUs there do, or its nodes where
// they have none.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		job    hwmodel.Job
		alter  func(*hwmodel.Model)
		p      model.Placement
		want   []hwmodel.Link
		linked bool
	}{
		{"in one group", hwmodel.Job{Class: 1}, nil, nodesOf(0b0011), nil, true},
		{"over two", hwmodel.Job{Class: 1}, nil, nodesOf(0b0111), []hwmodel.Link{{0, 40, 100}, {1, 20, 50}}, true},
		{"with one GPU of each node", hwmodel.Job{Class: 1, Cards: 1}, nil, nodesOf(0b0111), []hwmodel.Link{{0, 20, 100}, {1, 10, 50}}, true},
		{"in a class that does not say", hwmodel.Job{Class: 2}, nil, nodesOf(0b0110), nil, true},
		{"in no class", hwmodel.Job{}, nil, nodesOf(0b0110), nil, true},
		{"without the term", hwmodel.Job{Class: 1}, func(m *hwmodel.Model) { m.Terms &^= 1 << hwmodel.ByContention }, nodesOf(0b0110), nil, true},
		{"one uplink is not known", hwmodel.Job{Class: 1}, func(m *hwmodel.Model) { m.Uplinks[0] = 0 }, nodesOf(0b0110), []hwmodel.Link{{1, 20, 50}}, false},
		{"fewer are stated than there are groups", hwmodel.Job{Class: 1}, func(m *hwmodel.Model) { m.Uplinks = m.Uplinks[:1] }, nodesOf(0b0110), []hwmodel.Link{{0, 20, 100}}, false},
		{"groups that alternate", hwmodel.Job{Class: 1}, func(m *hwmodel.Model) { m.NodeGroup = []int32{1, 0, 1, 0} }, nodesOf(0b1111), []hwmodel.Link{{0, 40, 100}, {1, 40, 50}}, true},
		{"nodes without GPUs", hwmodel.Job{Class: 1}, func(m *hwmodel.Model) { m.NodeGPUs = make([]int32, 4) }, nodesOf(0b1110), []hwmodel.Link{{0, 10, 100}, {1, 20, 50}}, true},
		{"parts of GPUs", hwmodel.Job{Class: 1}, nil, model.Placement{Shares: []model.NodeShare{{Node: 1, Amounts: model.Amounts{GPUMilli: 500}}, {Node: 2, Units: 2}}}, []hwmodel.Link{{0, 5, 100}, {1, 20, 50}}, true},
		{"a part of a node without GPUs", hwmodel.Job{Class: 1}, nil, model.Placement{Shares: []model.NodeShare{{Node: 1, Amounts: model.Amounts{CPUs: 4}}, {Node: 2, Units: 2}}}, []hwmodel.Link{{1, 20, 50}}, false},
	} {
		m := site()
		if c.alter != nil {
			c.alter(m)
		}
		got := m.Links(&c.job, &c.p, []hwmodel.Link{{Group: 7}})
		require.Equal(t, hwmodel.Link{Group: 7}, got[0], "%s: what was there", c.name)
		require.ElementsMatch(t, c.want, got[1:], c.name)
		var w hwmodel.Where
		m.Place(&c.job, &c.p, &w)
		require.Equal(t, c.linked, w.Linked, c.name)
	}
	require.Empty(t, hwmodel.Recorded{}.Links(&hwmodel.Job{Class: 1}, &model.Placement{}, nil))
}

func nodesOf(mask uint64) model.Placement {
	return model.Placement{Words: []model.NodeWord{{Mask: mask}}}
}

// TestContention: the time of a step is 1 - share + share · times; what cannot be told is 1,
// and more than a million times slower is not.
func TestContention(t *testing.T) {
	m, one := site(), model.One
	j := hwmodel.Job{Class: 1, Cards: 1}
	w := on(m, &j, 0b0110)
	factor := func(share float64, times model.Fixed) model.Fixed {
		m.Classes[0].Network.Share = known(share)
		s := m.Speed(&j, &w, hwmodel.Limits{Cap: one, Network: times})
		require.Zero(t, s.Unknown&(1<<hwmodel.ByContention))
		return s.By[hwmodel.ByContention]
	}
	require.Equal(t, 5*one/8, factor(0.6, 2*one))
	require.Equal(t, one, factor(0, 9*one))
	require.Equal(t, one/9, factor(1, 9*one))
	require.Equal(t, one, factor(1, one))
	most := hwmodel.Oversubscribed(1<<62, 1)
	require.Equal(t, hwmodel.MostOversubscribed, most)
	require.Positive(t, factor(1, most))
	require.Equal(t, one, hwmodel.Oversubscribed(7, 10), "no faster on an idle link")
	require.Equal(t, 3*one/2, hwmodel.Oversubscribed(15, 10))

	m.Uplinks[0] = 0
	w = on(m, &j, 0b0110)
	s := m.Speed(&j, &w, hwmodel.Limits{Cap: one, Network: 2 * one})
	require.Equal(t, one, s.By[hwmodel.ByContention])
	require.True(t, s.Unknown.Has(hwmodel.ByContention))
}

// TestSharesAreDrawn: with spread: draw jobs of a class differ in their shares, and each has
// its own under any load.
func TestSharesAreDrawn(t *testing.T) {
	m, one := site(), model.One
	c := &m.Classes[0]
	c.Spread, c.Network.Share = true, hwmodel.Factor{Low: one / 4, Value: one / 2, High: one}
	seen := map[int64]bool{}
	for i := range 100 {
		j := hwmodel.Job{Key: model.JobID(i), Class: 1, Cards: 1}
		w := on(m, &j, 0b0110)
		share := func(times model.Fixed) int64 {
			s := m.Speed(&j, &w, hwmodel.Limits{Cap: one, Network: times})
			return int64(model.Ratio(int64(model.Ratio(int64(one), int64(s.By[hwmodel.ByContention]))-one), int64(times-one)))
		}
		require.InDelta(t, share(2*one), share(5*one), 16)
		require.GreaterOrEqual(t, share(2*one), int64(one/4)-16)
		require.LessOrEqual(t, share(2*one), int64(one)+16)
		seen[share(2*one)] = true
	}
	require.Greater(t, len(seen), 50)
}
