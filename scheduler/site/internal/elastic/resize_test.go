package elastic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
)

// threeResizes are those of services 1 and 3 of vCluster 0 and of service 2 of vCluster 1.
func threeResizes() Resizes {
	var s Resizes
	for _, x := range []Resize{{Ref: 1, Seq: 10, VCluster: 0}, {Ref: 2, Seq: 20, VCluster: 1}, {Ref: 3, Seq: 30, VCluster: 0}} {
		s.Add(x).Whole.Set(whole(model.NodeID(x.Ref)))
	}
	return s
}

// Each row is a change of size that is looked for among three.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		ref  model.Ref
		seq  uint64
		want model.Ref // 0 for none
	}{
		{"by its proposal", 2, 20, 2},
		{"whatever its proposal", 3, 0, 3},
		{"by an older proposal", 2, 19, 0},
		{"by the proposal of another", 2, 30, 0},
		{"none in flight", 4, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threeResizes()
			at := s.Find(c.ref, c.seq)
			if c.want == 0 {
				require.Equal(t, -1, at)
				return
			}
			require.Equal(t, c.want, s[at].Ref)
		})
	}
}

// Those of a vCluster are found, whichever was dropped, and keep their nodes.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		dropped model.Ref // 0 for none
		want    [3][]model.Ref
	}{
		{"none is dropped", 0, [3][]model.Ref{{1, 3}, {2}, nil}},
		{"the first is dropped", 1, [3][]model.Ref{{3}, {2}, nil}},
		{"that of the other vCluster", 2, [3][]model.Ref{{1, 3}, nil, nil}},
		{"the last", 3, [3][]model.Ref{{1}, {2}, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threeResizes()
			if c.dropped > 0 {
				s.Drop(s.Find(c.dropped, 0))
				require.Equal(t, -1, s.Find(c.dropped, 0))
			}
			for v, want := range c.want {
				var got []model.Ref
				for x := range s.Of(model.VClusterID(v)) {
					got = append(got, x.Ref)
					requireSame(t, whole(model.NodeID(x.Ref)), &x.Whole)
				}
				require.Equal(t, want, got, "vCluster %d", v)
			}
		})
	}
}

// What is found of a vCluster is what is in flight and no copy, and may be left before the end.
func TestOfStops(t *testing.T) {
	s := threeResizes()
	for x := range s.Of(0) {
		x.Lent = true
		break
	}
	require.True(t, s[s.Find(1, 0)].Lent)
	require.False(t, s[s.Find(3, 0)].Lent)
}

// One in the memory of another knows nothing of it, and those in flight keep what they have.
func TestResizeMemory(t *testing.T) {
	s := threeResizes()
	x := &s[s.Find(1, 0)]
	x.Gained.Set(whole(5))
	x.Nodes, x.More, x.Reason, x.Lent, x.Pooled = 1, caps.Usage{Power: 7}, model.ReasonReclaimed, true, true
	s.Drop(s.Find(1, 0))
	x = s.Add(Resize{Ref: 4, VCluster: 1, Usage: quota.ResourceUsage{Nodes: 2}})
	require.Same(t, &s[s.Find(4, 0)], x)
	require.Equal(t, Resize{
		Ref: 4, VCluster: 1, Usage: quota.ResourceUsage{Nodes: 2},
		Whole: model.Placement{Words: []model.NodeWord{}}, Gained: model.Placement{Words: []model.NodeWord{}},
	}, *x)
	x.Whole.Set(whole(6))
	requireSame(t, whole(2), &s[s.Find(2, 0)].Whole)
	requireSame(t, whole(3), &s[s.Find(3, 0)].Whole)
	nodes := whole(6)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		s.Drop(s.Find(4, 0))
		s.Add(Resize{Ref: 4}).Whole.Set(nodes)
	}))
}
