package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func submit(s *State, refs ...model.Ref) {
	for _, r := range refs {
		s.Apply(&model.Fact{Kind: model.FactSubmitted, Ref: r})
	}
}

func words(w ...model.NodeWord) model.Placement { return model.Placement{Words: w} }

func shares(pairs ...int32) (p model.Placement) {
	for i := 0; i < len(pairs); i += 2 {
		p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(pairs[i]), Units: pairs[i+1]})
	}
	return p
}

func anywhere(u int32) model.Request { return model.Request{Units: u} }

func perNode(n, u int32) model.Request {
	return model.Request{Layout: model.PerNode, Nodes: n, PerNode: u, Units: n * u}
}

// TestRefusals meets every reason for which a proposal can be refused.
func TestRefusals(t *testing.T) {
	whole := model.UniformCluster(70, 2, true)
	shared := model.Cluster{Units: []int32{4, 2, 4}}
	for _, c := range []struct {
		name string
		cfg  model.Cluster
		ref  model.Ref
		req  model.Request
		p    model.Placement
		want model.Reason
	}{
		{"never submitted", whole, 9, anywhere(2), words(model.NodeWord{Mask: 2}), model.ReasonNotPending},
		{"runs already", whole, 0, anywhere(2), words(model.NodeWord{Mask: 2}), model.ReasonNotPending},
		{"node taken", whole, 1, anywhere(4), words(model.NodeWord{Mask: 3}), model.ReasonNodesTaken},
		{"word beyond the cluster", whole, 1, anywhere(2), words(model.NodeWord{Word: 2, Mask: 1}), model.ReasonUnknownNode},
		{"negative word", whole, 1, anywhere(2), words(model.NodeWord{Word: -1, Mask: 1}), model.ReasonUnknownNode},
		{"node beyond the last", whole, 1, anywhere(2), words(model.NodeWord{Word: 1, Mask: 1 << 6}), model.ReasonUnknownNode},
		{"too few nodes", whole, 1, anywhere(3), words(model.NodeWord{Mask: 2}), model.ReasonBadPlacement},
		{"too many nodes", whole, 1, anywhere(2), words(model.NodeWord{Mask: 6}), model.ReasonBadPlacement},
		{"word twice", whole, 1, anywhere(4), words(model.NodeWord{Mask: 2}, model.NodeWord{Mask: 4}), model.ReasonBadPlacement},
		{"empty word", whole, 1, anywhere(2), words(model.NodeWord{}, model.NodeWord{Word: 1, Mask: 1}), model.ReasonBadPlacement},
		{"shares of whole nodes", whole, 1, anywhere(2), shares(1, 2), model.ReasonBadPlacement},
		{"nothing", whole, 1, anywhere(2), model.Placement{}, model.ReasonBadPlacement},
		{"units taken", shared, 1, anywhere(3), shares(0, 3), model.ReasonNodesTaken},
		{"more than a node has", shared, 1, anywhere(3), shares(1, 3), model.ReasonNodesTaken},
		{"unknown node", shared, 1, anywhere(1), shares(3, 1), model.ReasonUnknownNode},
		{"negative node", shared, 1, anywhere(1), shares(-1, 1), model.ReasonUnknownNode},
		{"not ascending", shared, 1, anywhere(2), shares(2, 1, 1, 1), model.ReasonBadPlacement},
		{"node twice", shared, 1, perNode(2, 1), shares(1, 1, 1, 1), model.ReasonBadPlacement},
		{"no units", shared, 1, anywhere(1), shares(1, 0, 2, 1), model.ReasonBadPlacement},
		{"too few units", shared, 1, anywhere(3), shares(1, 2), model.ReasonBadPlacement},
		{"too few nodes of a shape", shared, 1, perNode(2, 2), shares(1, 2), model.ReasonBadPlacement},
		{"another share than asked", shared, 1, perNode(2, 2), shares(1, 1, 2, 3), model.ReasonBadPlacement},
		{"whole nodes of shares", shared, 1, anywhere(2), words(model.NodeWord{Mask: 2}), model.ReasonBadPlacement},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(c.cfg)
			submit(s, 0, 1)
			first := model.Proposal{Ref: 0, Request: anywhere(2), Placement: words(model.NodeWord{Mask: 1})}
			if !c.cfg.Whole {
				first.Placement = shares(0, 2)
			}
			require.Equal(t, model.FactAssigned, s.Decide(&first).Kind)
			p := model.Proposal{Seq: 7, Job: 5, Ref: c.ref, Request: c.req, Placement: c.p}
			require.Equal(t, model.Fact{Kind: model.FactRefused, Reason: c.want, Job: 5, Ref: c.ref, Seq: 7}, s.Decide(&p))
		})
	}
}

// TestGrantsAndReleases: what ends can be granted again, and the quorum keeps
// its own copy of a placement.
func TestGrantsAndReleases(t *testing.T) {
	s := New(model.Cluster{Units: []int32{4, 2}})
	submit(s, 0, 1, 2)
	p := model.Proposal{Ref: 0, Request: perNode(2, 2), Placement: shares(0, 2, 1, 2)}
	require.Equal(t, model.FactAssigned, s.Decide(&p).Kind)
	p.Placement.Shares[0].Units = 99
	require.Equal(t, shares(0, 2, 1, 2), *s.Held(0))
	q := model.Proposal{Ref: 1, Request: anywhere(3), Placement: shares(0, 2, 1, 1)}
	require.Equal(t, model.ReasonNodesTaken, s.Decide(&q).Reason)
	s.Apply(&model.Fact{Kind: model.FactEnded, Ref: 0})
	require.Equal(t, model.FactAssigned, s.Decide(&q).Kind)
	s.Apply(&model.Fact{Kind: model.FactCancelled, Ref: 2})
	require.Equal(t, model.ReasonNotPending, s.Decide(&model.Proposal{Ref: 2, Request: anywhere(1), Placement: shares(0, 1)}).Reason)
}

// TestOnlyAssignments: a plain cluster knows no other proposal, one to restore among them.
func TestOnlyAssignments(t *testing.T) {
	s := New(model.Cluster{Units: []int32{4}})
	submit(s, 0)
	for kind := model.ProposeAssign; kind <= model.ProposeRestore; kind++ {
		f := s.Decide(&model.Proposal{Kind: kind, Request: anywhere(2), Placement: shares(0, 2)})
		if kind == model.ProposeAssign {
			require.Equal(t, model.FactAssigned, f.Kind)
			s.Apply(&model.Fact{Kind: model.FactEnded})
			submit(s, 0)
			continue
		}
		require.Equal(t, model.Fact{Kind: model.FactRefused, Reason: model.ReasonNotOwned}, f, kind)
	}
}

func TestContradictionsPanic(t *testing.T) {
	s := New(model.UniformCluster(2, 1, true))
	submit(s, 0)
	require.Panics(t, func() { submit(s, 0) }, "submitted twice")
	require.Panics(t, func() { s.Apply(&model.Fact{Kind: model.FactEnded, Ref: 0}) }, "ended before it ran")
	p := model.Proposal{Ref: 0, Request: anywhere(1), Placement: words(model.NodeWord{Mask: 1})}
	require.Equal(t, model.FactAssigned, s.Decide(&p).Kind)
	require.Panics(t, func() { s.Apply(&model.Fact{Kind: model.FactCancelled, Ref: 0}) }, "withdrawn while it runs")
}
