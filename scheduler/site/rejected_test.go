package site_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
)

// told is the sets of a note as words, in the names of nodes.
func told(n *scheduler.Note) (out []string) {
	for _, r := range n.Rejected {
		var nodes []string
		for _, w := range r.Nodes.Words {
			w.Nodes(func(n model.NodeID) bool { nodes = append(nodes, fmt.Sprint(n)); return true })
		}
		for _, h := range r.Nodes.Shares {
			nodes = append(nodes, fmt.Sprint(h.Node))
		}
		text := r.Why.String() + " " + strings.Join(nodes, " ")
		if r.Keeper >= 0 {
			text += fmt.Sprintf(" for %d", r.Keeper)
		}
		if r.Until != model.AbsentTime {
			text += fmt.Sprintf(" until %.0f", model.Duration(r.Until).Seconds())
		}
		out = append(out, text)
	}
	return out
}

// Of six nodes, 0 to 3 are alike and 2 to 5 near each other; the job of three nodes
// finds some taken or set aside.
func TestRejectedSets(t *testing.T) {
	for _, c := range []struct {
		name   string
		busy   []model.NodeID
		need   int32
		aside  []model.NodeID
		reason model.Reason
		want   []string
	}{
		{"nothing is free", []model.NodeID{0, 1, 2, 3, 4, 5}, 3, nil, model.ReasonResources, nil},
		{"too few", []model.NodeID{0, 2, 3, 4}, 3, nil, model.ReasonResources, []string{"free 1 5", "alike 1"}},
		{"too few in all ways", []model.NodeID{0, 3}, 5, nil, model.ReasonResources, []string{"free 1 2 4 5", "alike 1 2", "near 2 4 5"}},
		{"all alike", []model.NodeID{2, 3, 4, 5}, 3, nil, model.ReasonResources, []string{"free 0 1"}},
		{"one node", []model.NodeID{0, 1, 2, 3, 4, 5}, 1, nil, model.ReasonResources, nil},
		{"set aside", nil, 3, []model.NodeID{0, 1, 2, 3}, model.ReasonReserved, []string{"free 4 5", "alike 4", "kept 0 1 2 3 until 9000"}},
		{"all set aside", nil, 3, []model.NodeID{0, 1, 2, 3, 4, 5}, model.ReasonReserved, []string{"kept 0 1 2 3 4 5 until 9000"}},
	} {
		cfg := alike(6, fcfs(order.Easy))
		cfg.Site.Groups, cfg.Site.Fingerprints = []model.Group{{Name: "a"}, {Name: "b"}}, 2
		for i := range cfg.Site.Nodes {
			n := &cfg.Site.Nodes[i]
			if n.Fingerprint = 0; i > 3 {
				n.Fingerprint = -1
			}
			if i > 1 {
				n.Group = 1
			}
		}
		for _, n := range c.busy {
			cfg.Site.Nodes[n].State = model.Down
		}
		if c.aside != nil {
			set := model.NewNodeSet(6)
			for _, n := range c.aside {
				set.Add(n)
			}
			cfg.Site.Reservations = []model.Reservation{{Name: "upkeep", Nodes: set, Start: seconds(100), End: seconds(9000), Maintenance: true}}
		}
		s := newStand(t, cfg)
		s.submit(0, size(c.need))
		require.Empty(t, s.pass(0), c.name)
		n := s.core.Why(0, 0)
		require.Equal(t, c.reason, n.Reason, c.name)
		require.Equal(t, c.want, told(&n), c.name)
	}
}

// A job that would delay the reservation of another is told what it would have had.
func TestRejectedSetOfBackfill(t *testing.T) {
	cfg := alike(4, fcfs(order.Easy))
	s := newStand(t, cfg)
	s.submit(0, size(2), wall(1000))
	s.submit(0, size(4), wall(1000))
	s.submit(0, size(2), wall(5000))
	require.Len(t, s.pass(0), 1)
	starts, first, behind := s.core.Why(0, 0), s.core.Why(1, 0), s.core.Why(2, 0)
	require.Empty(t, starts.Rejected, "it starts")
	require.Equal(t, []string{"free 2 3"}, told(&first)[:1])
	require.Equal(t, scheduler.Answer{Reason: model.ReasonPriority, Behind: 1}, behind.Answer)
	require.Equal(t, seconds(1000), behind.Until)
	require.Equal(t, []string{"chosen 2 3"}, told(&behind))
}

// What a job makes others leave is kept for it, and the rest are told so.
func TestRejectedSetKeptForAJob(t *testing.T) {
	p := fcfs(order.Easy)
	p.Preempts, p.Preemption = true, preempt.DefaultConfig()
	cfg := alike(4, p)
	s := newStand(t, cfg)
	low := []func(*model.Allocation){class(2), ckpt(model.CheckpointAuto), wall(90000)}
	s.submit(0, append(low, size(2))...)
	s.submit(0, append(low, size(1))...)
	require.Len(t, s.pass(0), 2)
	s.submit(10, size(4), class(9))
	s.submit(10, size(1), class(2), wall(90000))
	s.plan = s.core.Plan(seconds(10))
	require.NotEmpty(t, s.plan.Proposals)
	for _, p := range s.plan.Proposals {
		require.Equal(t, model.ProposePreempt, p.Kind)
	}
	last := s.core.Why(3, seconds(10))
	require.Equal(t, scheduler.Answer{Reason: model.ReasonReserved, Behind: 2, NoVictims: scheduler.VictimsNone}, last.Answer)
	require.Equal(t, []string{"kept 3 for 2"}, told(&last))
}
