package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestIdleNodesCount: a start replaces what its nodes draw idle, and nodes that are down draw nothing.
func TestIdleNodesCount(t *testing.T) {
	d := newDesk(t, func(s *model.Site) {
		s.CountIdle = true
		for i := range s.Nodes {
			s.Nodes[i].IdlePower = 100
		}
		s.PowerCap = int64(len(s.Nodes))*100 + 1800 // room for two jobs of 1 kW on nodes of 100 W
	})
	for id := range model.JobID(4) {
		d.submit(id, nodes(1, 2))
	}
	d.assign(0, on(0), ok)
	d.assign(1, on(1, 2), model.ReasonPower)
	d.assign(1, on(1), ok)
	d.assign(2, on(2), model.ReasonPower)
	for n := model.NodeID(11); n < 20; n++ {
		d.Apply(&model.Fact{Kind: model.FactNode, Node: n, State: model.Down})
	}
	d.assign(2, on(2), ok)
	d.assign(3, on(3), model.ReasonPower)
	d.end(0)
	d.assign(3, on(0), ok)
	d.Apply(&model.Fact{Kind: model.FactNode, Node: 11, State: model.Ready})
	require.EqualValues(t, 3000, d.power.used)
	require.EqualValues(t, int64(len(d.site.Nodes)-3-8)*100, d.idle.watts)
}

// TestShed: a job leaves for no other only above the cap of a site that sheds.
func TestShed(t *testing.T) {
	for _, c := range []struct {
		name  string
		sheds bool
		cap   int64
		job   func(*model.Allocation)
		want  model.Reason
	}{
		{"above the cap", true, 1500, of(batch), model.ReasonPower},
		{"at the cap", true, 2000, of(batch), model.ReasonNotPreemptible},
		{"without a cap", true, 0, of(batch), model.ReasonNotPreemptible},
		{"where none is shed", false, 1500, of(batch), model.ReasonNotPreemptible},
		{"what may not be preempted", true, 1500, func(a *model.Allocation) { a.Class, a.Checkpoint = 8, model.CheckpointNone }, model.ReasonNotPreemptible},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, func(s *model.Site) { s.Sheds = c.sheds })
			d.submit(0, c.job)
			d.submit(1)
			d.assign(0, on(0), ok)
			d.assign(1, on(1), ok)
			d.Apply(&model.Fact{Kind: model.FactPower, Value: c.cap})
			shed := func(victim model.Ref) model.Fact {
				return d.propose(model.ProposePreempt, 0, model.Placement{}, func(p *model.Proposal) { p.Victim, p.Reason = victim, model.ReasonPower })
			}
			require.Equal(t, model.ReasonNotPreemptible.String(), shed(1).Reason.String(), "a job leaves for itself alone")
			f := shed(0)
			require.Equal(t, c.want.String(), f.Reason.String())
			require.Equal(t, c.want == model.ReasonPower, f.Kind == model.FactPreempted)
			if f.Kind == model.FactPreempted {
				require.Equal(t, model.ReasonNotRunning.String(), shed(0).Reason.String(), "it leaves already")
			}
		})
	}
}
