package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site"
)

// preempting looks at jobs in the order of submission, and preempts for those it has no room for.
func preempting() site.Policy {
	p := fcfs(order.Easy)
	p.Preempts, p.Preemption = true, preempt.DefaultConfig()
	return p
}

func withQOS(q model.QOSID) func(*model.Allocation) { return func(a *model.Allocation) { a.QOS = q } }

// victims are the jobs that the core wants to leave at an instant, in the order in which it says so.
func (s *stand) victims(at int64) (out []model.Ref, why []model.Reason) {
	s.plan = s.core.Plan(seconds(at))
	for i := range s.plan.Proposals {
		if p := &s.plan.Proposals[i]; p.Kind == model.ProposePreempt {
			out, why = append(out, p.Victim), append(why, p.Reason)
		}
	}
	return out, why
}

// Of two jobs of one class, that of a QOS that preempts the other's takes its node. Without
// such a QOS, or the other way round, it waits.
func TestQOSPreemptsItsOwn(t *testing.T) {
	for _, c := range []struct {
		name           string
		running, wants model.QOSID
		class          int32
		victims        []model.Ref
		reasons        []model.Reason
	}{
		{"the urgent one", 0, 1, 5, []model.Ref{0}, []model.Reason{model.ReasonPreempted}},
		{"the urgent one, of a lower class", 0, 1, 3, []model.Ref{0}, []model.Reason{model.ReasonPreempted}},
		{"not by itself", 1, 1, 5, nil, nil},
		{"not the other way round", 1, 0, 5, nil, nil},
		{"not the other way round, of a higher class", 1, 0, 9, nil, nil},
		{"none has a QOS", -1, -1, 5, nil, nil},
		{"the running one has none", -1, 1, 5, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := alike(1, preempting())
			cfg.Site.QOS = []model.QOS{{Name: "normal", Class: -1}, {Name: "urgent", Class: -1, PreemptsQOS: []model.QOSID{0}}}
			cfg.Quota.QOS = cfg.Site.QOS
			s := newStand(t, cfg)
			s.submit(0, withQOS(c.running))
			require.Equal(t, ids(0), s.pass(0))
			s.submit(1, withQOS(c.wants), class(c.class))
			victims, why := s.victims(1)
			require.Equal(t, c.victims, victims)
			require.Equal(t, c.reasons, why)
		})
	}
}

// One lent node is enough to be reclaimed, whatever the classes of the jobs are.
func TestOneLentNodeIsReclaimed(t *testing.T) {
	cfg := alike(1, preempting())
	cfg.Site.VClusters = []model.VCluster{{Name: "home", Lend: true, MaxLent: model.One}, {Name: "guest", Borrow: true}}
	cfg.Site.Nodes[0].Home = 0
	cfg.Policies = append(cfg.Policies, preempting())
	s := newStand(t, cfg)
	s.submit(0, ckpt(model.CheckpointAuto), class(9), func(a *model.Allocation) { a.VCluster = 1 })
	plan := s.core.Plan(0)
	require.Len(t, plan.Proposals, 1)
	p := plan.Proposals[0]
	require.True(t, p.Borrowed)
	s.fact(0, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	s.submit(1, class(0))
	victims, why := s.victims(1)
	require.Equal(t, []model.Ref{0}, victims)
	require.Equal(t, []model.Reason{model.ReasonReclaimed}, why)
}

// Two jobs of one node run that cost the same, but that the second's tenant may be above its share
// by burst: that halves the cost. Else the one with the lower id leaves. Tenants have what they hold
// at the accounting tick, 2 of 4 nodes each.
func TestJobsOfTenantsInBurstLeaveFirst(t *testing.T) {
	for _, c := range []struct {
		name         string
		share, burst model.Fixed
		victim       model.Ref
	}{
		{"above its share by burst", model.One / 4, 3 * model.One, 1},
		{"at its share", model.One / 2, 3 * model.One, 0},
		{"above its share, without burst", model.One / 4, 0, 0},
		{"above its share, with a burst of nothing", model.One / 4, model.One, 0},
		{"without a share", 0, 3 * model.One, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := preempting()
			p.Cycle = 10 * model.Second
			s := newStand(t, tenanted(4, p, model.Limits{FairShare: model.One}, model.Limits{FairShare: c.share, Burst: c.burst}))
			for i := range 4 {
				s.submit(0, of(model.TenantID(i%2)), ckpt(model.CheckpointAuto))
			}
			require.Equal(t, ids(0, 1, 2, 3), s.pass(0))
			s.submit(1000, class(9))
			victims, _ := s.victims(1000)
			require.Equal(t, []model.Ref{c.victim}, victims)
		})
	}
}

// A node is not lent by a proposal that was refused: the only one that may be is proposed again.
func TestRefusedBorrowingLendsNothing(t *testing.T) {
	cfg := alike(1, preempting())
	cfg.Site.VClusters = []model.VCluster{{Name: "home", Lend: true, MaxLent: model.One}, {Name: "guest", Borrow: true}}
	cfg.Site.Nodes[0].Home = 0
	cfg.Policies = append(cfg.Policies, preempting())
	s := newStand(t, cfg)
	s.submit(0, ckpt(model.CheckpointAuto), func(a *model.Allocation) { a.VCluster = 1 })
	for at := range int64(3) {
		plan := s.core.Plan(seconds(at))
		require.Len(t, plan.Proposals, 1)
		p := plan.Proposals[0]
		require.True(t, p.Borrowed)
		s.fact(at, model.Fact{Kind: model.FactRefused, Reason: model.ReasonNodesTaken, Job: p.Job, Ref: p.Ref, Seq: p.Seq})
	}
}
