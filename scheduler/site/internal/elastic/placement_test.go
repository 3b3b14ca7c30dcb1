package elastic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// whole is a placement on the nodes named, ascending and of 192.
func whole(nodes ...model.NodeID) *model.Placement {
	p := &model.Placement{}
	for _, n := range nodes {
		if last := len(p.Words) - 1; last < 0 || p.Words[last].Word != int32(n>>6) {
			p.Words = append(p.Words, model.NodeWord{Word: int32(n >> 6)})
		}
		p.Words[len(p.Words)-1].Mask |= 1 << (n & 63)
	}
	return p
}

// shares is a placement on two GPUs of each node.
func shares(nodes ...model.NodeID) *model.Placement {
	p := &model.Placement{}
	for _, n := range nodes {
		p.Shares = append(p.Shares, model.NodeShare{Node: n, Units: 2})
	}
	return p
}

func set(nodes ...model.NodeID) model.NodeSet {
	s := model.NewNodeSet(192)
	for _, n := range nodes {
		s.Add(n)
	}
	return s
}

// used is a placement whose memory has held another.
func used() *model.Placement {
	return &model.Placement{Words: whole(9, 100).Words, Shares: shares(9, 100).Shares}
}

// requireSame fails where got does not name what want names.
func requireSame(t *testing.T, want, got *model.Placement) {
	t.Helper()
	var none model.Placement
	require.Equal(t, append(none.Words, want.Words...), append(none.Words, got.Words...))
	require.Equal(t, append(none.Shares, want.Shares...), append(none.Shares, got.Shares...))
}

// Each row is two placements without a common node, and what both name, whichever comes first.
func TestUnion(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b, want *model.Placement
	}{
		{"in one word", whole(1), whole(3), whole(1, 3)},
		{"words on both sides of another", whole(70), whole(1, 130), whole(1, 70, 130)},
		{"words between others", whole(1, 130), whole(70, 131), whole(1, 70, 130, 131)},
		{"nothing more", whole(1, 70), whole(), whole(1, 70)},
		{"shares, in the order of nodes", shares(2, 6), shares(1, 4, 7), shares(1, 2, 4, 6, 7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := used()
			Union(c.a, c.b, got)
			requireSame(t, c.want, got)
			Union(c.b, c.a, got)
			requireSame(t, c.want, got)
		})
	}
}

// Each row is two placements, and what the first names alone.
func TestLess(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b, want *model.Placement
	}{
		{"nothing in common", whole(1, 70), whole(2, 130), whole(1, 70)},
		{"part of a word", whole(1, 2, 70), whole(2), whole(1, 70)},
		{"a word is left out that has no node left", whole(1, 70, 130), whole(70, 71), whole(1, 130)},
		{"all", whole(1, 70), whole(1, 70), whole()},
		{"shares by their nodes, however large", shares(1, 2, 5), &model.Placement{Shares: []model.NodeShare{{Node: 2, Units: 7}}}, shares(1, 5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := used()
			Less(c.a, c.b, got)
			requireSame(t, c.want, got)
		})
	}
}

// Each row is a placement, and the part of it on nodes of a set.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *model.Placement
		set  model.NodeSet
		want *model.Placement
	}{
		{"part of a word", whole(1, 2, 70), set(2, 3, 70), whole(2, 70)},
		{"a word is left out that has no node left", whole(1, 70, 130), set(1, 130), whole(1, 130)},
		{"none", whole(1, 70), set(2), whole()},
		{"shares", shares(1, 2, 70), set(2, 70), shares(2, 70)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := used()
			Within(c.p, c.set, got)
			requireSame(t, c.want, got)
		})
	}
}
