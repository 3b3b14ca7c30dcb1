package reserve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// threePromises is of a site of eight nodes: 0 and 1 are at home in vCluster 0, 2 in vCluster 1, none in vCluster 2. Job 10 of
// vCluster 0 is promised nodes 4 and 2 over [100, 150), the younger job 20 of vCluster 1 nodes 1 and 5
// over [50, 80), and the youngest, 21 of vCluster 1, node 6 over [120, 130).
func threePromises() Promises {
	s := NewPromises(8, []model.NodeSet{set(0, 1), set(2), set()})
	s.Add(Promise{Ref: 10, VCluster: 0, Left: 50, Since: 1, At: 100}, set(4, 2))
	s.Add(Promise{Ref: 20, VCluster: 1, Left: 30, Since: 2, At: 50}, set(1, 5))
	s.Add(Promise{Ref: 21, VCluster: 1, Left: 10, Since: 3, At: 120}, set(6))
	return s
}

// Each row is a job that would run over [from, until), and the promises that it heeds.
func TestHeeded(t *testing.T) {
	for _, c := range []struct {
		name        string
		ref         model.Ref
		v           model.VClusterID
		now         model.Time
		from, until model.Time
		want        []model.Ref
	}{
		{"none of its own vCluster", 30, 0, 0, 0, 1000, []model.Ref{20, 21}},
		{"none of its own vCluster, in the other", 30, 1, 0, 0, 1000, []model.Ref{10}},
		{"all, in a vCluster that has promised nothing", 30, 2, 0, 0, 1000, []model.Ref{10, 20, 21}},
		{"no younger ones than its own", 10, 0, 0, 0, 1000, nil},
		{"older ones than its own", 20, 1, 0, 0, 1000, []model.Ref{10}},
		{"it is over when the nodes are taken", 30, 1, 0, 0, 100, nil},
		{"it runs when the nodes are taken", 30, 1, 0, 0, 101, []model.Ref{10}},
		{"it begins when the nodes are left", 30, 1, 0, 150, 1000, nil},
		{"it begins before the nodes are left", 30, 1, 0, 149, 1000, []model.Ref{10}},
		{"the job promised did not start in time, and would from now on", 30, 1, 140, 180, 1000, []model.Ref{10}},
		{"the same, when it would be over", 30, 1, 140, 190, 1000, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePromises()
			var got []model.Ref
			s.Heeded(c.ref, c.v, c.now, c.from, c.until, func(x *Promise) { got = append(got, x.Ref) })
			require.Equal(t, c.want, got)
		})
	}
}

// Nodes promised are left alone, but for those at home in the vCluster of the job and those held for it.
func TestAvoid(t *testing.T) {
	for _, c := range []struct {
		name string
		v    model.VClusterID
		held model.NodeSet
		want model.NodeSet
	}{
		{"all that is promised, and what is avoided already", 2, nil, set(1, 2, 4, 5, 6, 7)},
		{"its vCluster's own may be promised to others", 0, nil, set(5, 6, 7)},
		{"the same in another", 1, nil, set(4, 7)},
		{"nodes are held for it", 0, set(5), set(6, 7)},
		{"what is held for it stays avoided for another reason", 0, set(5, 7), set(6, 7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, avoid := threePromises(), set(7)
			s.Avoid(30, c.v, 0, 0, 1000, c.held, avoid)
			require.Equal(t, c.want, avoid)
			require.Equal(t, threePromises().List, s.List, "what is promised stays")
		})
	}
}

// What a vCluster heeds of the promises of others, and when these move.
func TestByOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		v     model.VClusterID
		ended []model.Ref
		first model.Time
		ends  []model.Time
	}{
		{"of one", 1, nil, 100, []model.Time{170}},
		{"of two, the first instant", 0, nil, 50, []model.Time{150, 130}},
		{"of all", 2, nil, 50, []model.Time{170, 150, 130}},
		{"its own alone are left", 1, []model.Ref{10}, model.Never, nil},
		{"the first has ended", 2, []model.Ref{20}, 100, []model.Time{170, 130}},
		{"all have ended", 2, []model.Ref{10, 20, 21}, model.Never, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePromises()
			for _, ref := range c.ended {
				require.True(t, s.End(ref))
			}
			require.Equal(t, c.first, s.FirstByOthers(c.v))
			require.Equal(t, c.first < model.Never, s.ByOthers(c.v))
			var ends []model.Time
			s.EachEnd(c.v, 120, func(at model.Time) { ends = append(ends, at) })
			require.Equal(t, c.ends, ends, "at 120: a job that has not started leaves as much later")
		})
	}
}

// A promise is another with another instant or other nodes, and only then.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    model.Time
		nodes model.NodeSet
		want  bool
	}{
		{"the same", 100, set(4, 2), false},
		{"later", 101, set(4, 2), true},
		{"fewer nodes", 100, set(4), true},
		{"no nodes", 100, set(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePromises()
			x := s.Find(10)
			require.Equal(t, c.want, x.Set(c.at, c.nodes))
			require.Equal(t, Promise{Ref: 10, VCluster: 0, Left: 50, Since: 1, At: c.at, Nodes: c.nodes}, *s.Find(10))
			c.nodes.Add(7)
			require.False(t, x.Nodes.Has(7), "its nodes are in memory of its own")
		})
	}
}

// The older come first, and one that has ended leaves its memory to another and nothing else.
func TestEnd(t *testing.T) {
	s := threePromises()
	require.False(t, s.End(30))
	require.True(t, s.End(10))
	require.False(t, s.End(10))
	require.Nil(t, s.Find(10))
	x := s.Add(Promise{Ref: 11, VCluster: 0, At: 7}, set(3))
	require.Same(t, s.Find(11), x)
	require.Equal(t, []Promise{
		{Ref: 20, VCluster: 1, Left: 30, Since: 2, At: 50, Nodes: set(1, 5)},
		{Ref: 21, VCluster: 1, Left: 10, Since: 3, At: 120, Nodes: set(6)},
		{Ref: 11, VCluster: 0, At: 7, Nodes: set(3)},
	}, s.List)
	nodes := set(3)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		s.End(11)
		s.Add(Promise{Ref: 11}, nodes)
	}))
}
