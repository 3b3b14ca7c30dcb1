package quorum

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func noOthers(*model.Site) {}

// TestBorrowing: which jobs may run on which nodes. A fifth of ten nodes is two.
func TestBorrowing(t *testing.T) {
	unless := func(v model.VClusterID, lend, borrow bool) func(*model.Site) {
		return func(s *model.Site) { s.VClusters[v].Lend, s.VClusters[v].Borrow = lend, borrow }
	}
	for _, c := range []struct {
		name string
		site func(*model.Site)
		job  func(*model.Allocation)
		says bool // that it borrows
		p    model.Placement
		want model.Reason
	}{
		{"own nodes", noOthers, of(ml), false, on(10, 11, 12), ok},
		{"nodes of no vCluster", noOthers, of(ml), false, on(20, 21), ok},
		{"two of a lender", noOthers, of(ml), true, on(0, 1, 10), ok},
		{"three of a lender", noOthers, of(ml), true, on(0, 1, 2), model.ReasonLendLimit},
		{"without saying so", noOthers, of(ml), false, on(0, 10), model.ReasonNotOwned},
		{"of one that does not lend", unless(batch, false, true), of(ml), true, on(0, 10), model.ReasonNotOwned},
		{"of the vault", noOthers, of(ml), true, on(22), model.ReasonNotOwned},
		{"by one that does not borrow", unless(ml, true, false), of(ml), true, on(0), model.ReasonNotOwned},
		{"by the vault", noOthers, of(vault), true, on(0), model.ReasonNotOwned},
		{"by sensitive work", noOthers, func(a *model.Allocation) { a.VCluster, a.Sensitive = ml, true }, true, on(0), model.ReasonNotOwned},
		{"by work that cannot be preempted", noOthers,
			func(a *model.Allocation) { a.VCluster, a.Class, a.Checkpoint = ml, 7, model.CheckpointNone }, true, on(0), model.ReasonNotOwned},
		{"by no vCluster", noOthers, of(-1), true, on(0), model.ReasonNotOwned},
		{"nodes of no vCluster by no vCluster", noOthers, of(-1), false, on(20), ok},
		{"least size of a reactive service", noOthers,
			func(a *model.Allocation) { a.VCluster, a.Kind, a.NodesMin = ml, model.Reactive, 2 }, true, on(0, 10), model.ReasonNotOwned},
		{"more than that", noOthers,
			func(a *model.Allocation) { a.VCluster, a.Kind, a.NodesMin = ml, model.Reactive, 2 }, true, on(0, 10, 20), ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.site)
			d.submit(1, c.job)
			d.assign(1, c.p, c.want, func(p *model.Proposal) { p.Borrowed = c.says })
		})
	}
}

// TestLentByCountsNodes: each node counts once, whichever and however many jobs are
// on it, and until the last of them has left.
func TestLentByCountsNodes(t *testing.T) {
	d := newDesk(t)
	for id := range model.JobID(4) {
		d.submit(id, of(ml), gpus(1))
	}
	d.submit(4, of(ml))
	d.submit(5, gpus(1))
	d.assign(5, part(0, 1, 1), ok)
	require.Zero(t, d.LentBy(batch), "by itself")
	d.assign(0, part(0, 2, 1), ok, borrowed)
	d.assign(1, part(0, 4, 1), ok, borrowed)
	require.EqualValues(t, 1, d.LentBy(batch))
	d.assign(2, part(1, 1, 1), ok, borrowed)
	d.assign(3, part(2, 1, 1), model.ReasonLendLimit, borrowed)
	d.assign(4, on(2), model.ReasonLendLimit, borrowed)
	d.assign(3, part(1, 2, 1), ok, borrowed)
	d.end(2)
	require.EqualValues(t, 2, d.LentBy(batch))
	d.end(3)
	require.EqualValues(t, 1, d.LentBy(batch))
	d.assign(4, on(2), ok, borrowed)
	d.end(0)
	d.end(1)
	d.end(4)
	require.Zero(t, d.LentBy(batch))
}

// TestLimits: hard limits and caps, as they are and as they change.
func TestLimits(t *testing.T) {
	d := newDesk(t, func(s *model.Site) { s.SensitivePool = 9 })
	d.Apply(&model.Fact{Kind: model.FactSensitivePool, Value: 2})
	limit := func(t model.TenantID, nodes, jobs int32) {
		d.Apply(&model.Fact{Kind: model.FactLimits, Tenant: t, Limits: &model.Limits{MaxNodes: nodes, MaxConcurrent: jobs}})
	}
	limit(physics, 3, 2)
	for id := range model.JobID(6) {
		d.submit(id)
	}
	d.submit(6, by(biology))
	d.submit(7, by(-1))
	d.assign(0, on(0, 1), ok)
	d.assign(1, on(2, 3), model.ReasonQuotaNodes)
	d.assign(6, on(2, 3), ok)
	d.assign(7, on(4, 5, 6, 7), ok, func(*model.Proposal) {})
	d.assign(1, on(8), ok)
	limit(physics, 0, 2)
	d.assign(2, on(9), model.ReasonQuotaConcurrent)
	limit(physics, 1, 1)
	require.EqualValues(t, 0, d.OwnerOf(0), "lowering a limit touches no running work")
	d.end(0)
	d.assign(2, on(9), model.ReasonQuotaNodes)
	d.end(1)
	d.assign(2, on(9), ok)
	limit(physics, 0, 0)

	cap := func(kind model.FactKind, value int64) { d.Apply(&model.Fact{Kind: kind, Value: value}) }
	cap(model.FactPower, 8000) // 7 nodes are held
	d.assign(3, on(0, 1), model.ReasonPower)
	d.assign(3, on(0), ok)
	cap(model.FactPower, 1000)
	d.assign(4, on(1), model.ReasonPower)
	cap(model.FactPower, 0)
	d.submit(8, func(a *model.Allocation) { a.IODemand = 30 })
	d.submit(9, func(a *model.Allocation) { a.IODemand = 30 })
	cap(model.FactBandwidth, 100)
	d.assign(8, on(1, 2), model.ReasonNodesTaken)
	d.assign(8, on(1, 20), ok) // 60 by now
	d.assign(9, on(10), model.ReasonNotOwned)
	d.assign(9, on(21), ok)
	d.submit(10, func(a *model.Allocation) { a.IODemand = 11 })
	d.end(6)
	d.assign(10, on(2), model.ReasonBandwidth)
	d.assign(4, on(2), ok)

	d.submit(11, sensitive)
	d.submit(12, sensitive)
	d.end(7)
	d.assign(11, on(4), ok)
	require.EqualValues(t, 1, d.SensitiveNodes())
	d.assign(12, on(5, 7), model.ReasonSensitivePool)
	d.assign(12, on(5), ok)
	d.Apply(&model.Fact{Kind: model.FactPrice, Value: int64(model.One)})
}

// TestPreemption: which job may preempt which. Job 1 runs.
func TestPreemption(t *testing.T) {
	for _, c := range []struct {
		name      string
		victim    func(*model.Allocation)
		p         model.Placement
		preemptor func(*model.Allocation)
		want      model.Reason
	}{
		{"higher class", class(2), on(0), class(3), model.ReasonPreempted},
		{"same class", class(3), on(0), class(3), model.ReasonNotPreemptible},
		{"lower class", class(4), on(0), class(3), model.ReasonNotPreemptible},
		{"by quality of service", func(a *model.Allocation) { a.QOS = 0 }, on(0), func(a *model.Allocation) { a.QOS = 1 }, model.ReasonPreempted},
		{"not the other way", func(a *model.Allocation) { a.QOS = 1 }, on(0), func(a *model.Allocation) { a.QOS = 0 }, model.ReasonNotPreemptible},
		{"for sensitive work", class(9), on(0), func(a *model.Allocation) { a.Sensitive, a.Class = true, 5 }, model.ReasonPreempted},
		{"sensitive work", sensitive, on(0), class(10), model.ReasonNotPreemptible},
		{"of class 7 without checkpoint", func(a *model.Allocation) { a.Class, a.Checkpoint = 7, model.CheckpointNone },
			on(0), class(9), model.ReasonNotPreemptible},
		{"on own nodes of another", of(ml), on(10), class(9), model.ReasonNotOwned},
		{"on nodes of no vCluster", of(ml), on(10, 20), class(9), model.ReasonPreempted},
		{"reclaimed by a lower class", func(a *model.Allocation) { a.VCluster, a.Class = ml, 6 }, on(0), class(0), model.ReasonReclaimed},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.submit(1, c.victim)
			d.submit(2, c.preemptor)
			d.preempt(2, 1, model.ReasonVictimGone)
			d.assign(1, c.p, ok, borrowed)
			d.preempt(2, 3, model.ReasonVictimGone)
			if !d.preempt(2, 1, c.want) {
				return
			}
			d.preempt(2, 1, model.ReasonVictimGone)
			state, _ := d.StateOf(1)
			require.Equal(t, model.Checkpointing, state)
			require.EqualValues(t, 1, d.OwnerOf(model.NodeID(bits.TrailingZeros64(c.p.Words[0].Mask))), "it is still there")
		})
	}
}

// TestCheckpointingIsLeftAlone: whatever is proposed for a job that is leaving
// is refused; all ends of leaving are taken in.
func TestCheckpointingIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  model.Fact
		waits bool
	}{
		{"suspended", model.Fact{Kind: model.FactSuspended}, true},
		{"requeued", model.Fact{Kind: model.FactRequeued}, true},
		{"failed", model.Fact{Kind: model.FactEnded, Outcome: model.Failed}, false},
		{"completed meanwhile", model.Fact{Kind: model.FactEnded, Outcome: model.Completed}, false},
		{"walltime", model.Fact{Kind: model.FactEnded, Outcome: model.Timeout}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.submit(1)
			d.submit(2, class(5))
			d.assign(1, on(0), ok)
			d.preempt(2, 1, model.ReasonPreempted)
			d.assign(1, on(1), model.ReasonNotPending)
			d.assign(2, on(0), model.ReasonNodesTaken)
			for kind, want := range map[model.ProposalKind]model.Reason{
				model.ProposeResize: model.ReasonNotRunning, model.ProposeRequeue: model.ReasonNotRunning, model.ProposeCancel: model.ReasonNotPending,
			} {
				require.Equal(t, want, d.propose(kind, 1, on(0)).Reason, kind.String())
			}
			c.then.Job, c.then.Ref = 1, 1
			d.Apply(&c.then)
			state, present := d.StateOf(1)
			require.Equal(t, c.waits, present)
			require.Equal(t, model.Pending, state)
			d.assign(2, on(0), ok)
			if c.waits {
				d.assign(1, on(1), ok)
			}
		})
	}
}

func TestRequeueAndCancel(t *testing.T) {
	d := newDesk(t)
	d.submit(1)
	d.submit(2)
	why := func(p *model.Proposal) { p.Reason = model.ReasonNodeFailure }
	require.Equal(t, model.ReasonNotRunning, d.propose(model.ProposeRequeue, 1, model.Placement{}, why).Reason)
	d.assign(1, on(0), ok)
	require.Equal(t, model.ReasonNotOwned, d.propose(model.ProposeRequeue, 1, model.Placement{}, func(p *model.Proposal) { p.VCluster = ml }).Reason)
	require.Equal(t, model.Fact{Kind: model.FactRequeued, Reason: model.ReasonNodeFailure, Job: 1, Ref: 1, Seq: d.seq + 1},
		d.propose(model.ProposeRequeue, 1, model.Placement{}, why))
	require.EqualValues(t, -1, d.OwnerOf(0))
	d.assign(2, on(0), ok)
	require.Equal(t, model.ReasonNotPending, d.propose(model.ProposeCancel, 2, model.Placement{}).Reason)
	unsatisfiable := func(p *model.Proposal) { p.Reason = model.ReasonDependencyNever }
	require.Equal(t, model.Fact{Kind: model.FactCancelled, Reason: model.ReasonDependencyNever, Job: 1, Ref: 1, Seq: d.seq + 1},
		d.propose(model.ProposeCancel, 1, model.Placement{}, unsatisfiable))
	_, present := d.StateOf(1)
	require.False(t, present)
	d.assign(1, on(1), model.ReasonNotPending)
	d.submit(3, func(a *model.Allocation) { a.Hold = true })
	d.fact(model.FactReleased, 3)
	d.assign(3, on(1), ok)
	require.Equal(t, model.ReasonNotPending, d.Decide(&model.Proposal{Job: 4, Ref: 3}).Reason, "another job is under the ref now")
	require.Equal(t, model.ReasonNotPending, d.Decide(&model.Proposal{Ref: -1}).Reason)
}

// TestResize: a job keeps what it has, gets what is free, and meets limits only
// where it asks for more.
func TestResize(t *testing.T) {
	d := newDesk(t, func(s *model.Site) { s.Tenants[physics].MaxNodes, s.PowerCap = 4, 5000 })
	resize := func(id model.JobID, want model.Reason, n ...model.NodeID) {
		t.Helper()
		held := append([]model.NodeWord(nil), d.Held(model.Ref(id)).Words...)
		f := d.propose(model.ProposeResize, id, on(n...), borrowed)
		require.Equal(t, want.String(), f.Reason.String())
		if want != ok {
			require.Equal(t, held, d.Held(model.Ref(id)).Words)
			return
		}
		require.Equal(t, model.FactResized, f.Kind)
		require.Equal(t, on(n...).Words, f.Placement.Words)
	}
	d.submit(1, nodes(2, 5), of(ml))
	d.submit(2, by(biology))
	require.Equal(t, model.ReasonNotRunning, d.propose(model.ProposeResize, 1, on(10)).Reason)
	d.assign(1, on(10, 11), ok)
	d.assign(2, on(0), ok)
	resize(1, model.ReasonNodesTaken, 10, 0)
	resize(1, model.ReasonBadPlacement, 10)
	resize(1, model.ReasonLendLimit, 10, 1, 2, 3)
	resize(1, ok, 10, 1, 2, 11)
	require.EqualValues(t, 2, d.LentBy(batch))
	resize(1, model.ReasonQuotaNodes, 10, 11, 12, 13, 14)
	resize(1, ok, 2, 3, 10, 11)
	require.EqualValues(t, 2, d.LentBy(batch))
	require.EqualValues(t, -1, d.OwnerOf(1))
	d.Apply(&model.Fact{Kind: model.FactLimits, Tenant: physics, Limits: &model.Limits{MaxNodes: 1, MaxConcurrent: 1}})
	d.Apply(&model.Fact{Kind: model.FactPower, Value: 1000})
	resize(1, ok, 3, 10, 11, 12)
	resize(1, ok, 10, 12, 13)
	resize(1, model.ReasonQuotaNodes, 10, 12, 13, 14)
	power, limit := d.Power()
	require.EqualValues(t, 4000, power)
	require.EqualValues(t, 1000, limit)
	require.Zero(t, d.LentBy(batch))
	require.Zero(t, d.Site.kept.Len())

	d.submit(3, gpus(2), by(biology))
	d.Apply(&model.Fact{Kind: model.FactPower})
	d.assign(3, part(5, 3, 2), ok)
	require.Equal(t, model.FactResized, d.propose(model.ProposeResize, 3, part(5, 6, 2)).Kind)
	require.EqualValues(t, -1, d.OwnerOfGPU(5, 0))
	require.EqualValues(t, 3, d.OwnerOfGPU(5, 2))
}

func TestSiteContradictionsPanic(t *testing.T) {
	d := newDesk(t)
	d.submit(1)
	ended := func(o model.JobState) func() {
		return func() { d.Apply(&model.Fact{Kind: model.FactEnded, Job: 1, Ref: 1, Outcome: o}) }
	}
	require.Panics(t, func() { d.submit(1) }, "submitted twice")
	require.Panics(t, func() { d.submit(2, by(2)) }, "no such tenant")
	require.Panics(t, func() { d.submit(2, of(3)) }, "no such vCluster")
	require.Panics(t, func() { d.Apply(&model.Fact{Kind: model.FactSubmitted, Job: 2, Ref: 2}) }, "without allocation")
	require.Panics(t, ended(model.Completed), "ended before it ran")
	d.assign(1, on(0), ok)
	require.Panics(t, func() { d.submit(1) }, "submitted twice")
	require.Panics(t, ended(model.Suspended), "no end")
	require.Panics(t, func() { d.fact(model.FactCancelled, 1) }, "withdrawn while it runs")
	require.Panics(t, func() { d.fact(model.FactSuspended, 1) }, "suspended without checkpoint")
	require.Panics(t, func() { d.fact(model.FactRequeued, 2) }, "not in the system")
	require.Panics(t, func() { d.Apply(&model.Fact{Kind: model.FactRequeued, Job: 2, Ref: 1}) }, "another job")
	require.Panics(t, func() { d.fact(model.FactAssigned, 1) }, "an answer")
}

// TestSiteAllocatesNothing once its tables have grown, whatever the answer is.
func TestSiteAllocatesNothing(t *testing.T) {
	d := newDesk(t)
	d.submit(1, nodes(1, 24))
	d.submit(2, gpus(2))
	whole := model.Proposal{Job: 1, Ref: 1, Placement: on(0, 1, 2, 20)}
	more := model.Proposal{Kind: model.ProposeResize, Job: 1, Ref: 1, Placement: on(0, 1, 2, 3, 20)}
	shared := model.Proposal{Job: 2, Ref: 2, Placement: part(4, 3, 2)}
	wrong := model.Proposal{Job: 2, Ref: 2, Placement: part(0, 3, 2)}
	requeue := model.Fact{Kind: model.FactRequeued, Job: 1, Ref: 1}
	again := model.Fact{Kind: model.FactRequeued, Job: 2, Ref: 2}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		d.Decide(&whole)
		d.Decide(&more)
		d.Decide(&wrong)
		d.Decide(&shared)
		d.Apply(&requeue)
		d.Apply(&again)
	}))
}
