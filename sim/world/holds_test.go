package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// single is a site of four nodes to which jobs are submitted by hand.
type single struct {
	*Site
	t    *testing.T
	sink *keep
	rows *traces.Batch
}

func newSingle(t *testing.T, change func(*SiteConfig), rows ...traces.Job) *single {
	cfg := SiteConfig{Site: smallSite(4), Exit: preempt.DefaultConfig()}
	change(&cfg)
	require.NoError(t, cfg.Validate())
	sink := &keep{}
	return &single{NewSite(cfg, sink), t, sink, batchOf(rows...)}
}

// submission is Submission with the fact returned.
func (s *Site) submission(b *traces.Batch, i int, unsatisfiable func(*model.Allocation) model.Reason) (f model.Fact, ok bool, err error) {
	ok, err = s.Submission(b, i, unsatisfiable, &f)
	return f, ok, err
}

func anything(*model.Allocation) model.Reason { return model.ReasonNone }

func (s *single) submit(i int) model.Fact {
	f, ok, err := s.submission(s.rows, i, anything)
	require.NoError(s.t, err)
	require.True(s.t, ok)
	return f
}

// propose proposes at once and starts what is granted.
func (s *single) propose(now model.Time, p model.Proposal) model.Fact {
	f := s.Submit(now, []model.Proposal{p}, nil)[0]
	if f.Kind == model.FactAssigned {
		s.Start(now, f.Ref)
	}
	return f
}

func whole(mask uint64) model.Placement {
	return model.Placement{Words: []model.NodeWord{{Mask: mask}}}
}

// TestResize: a reactive job grows from one node to three, and shrinks to
// another one.
//
//	nodes     1     3      1
//	      0  |  10 |   30 |   40
func TestResize(t *testing.T) {
	s := newSingle(t, func(*SiteConfig) {}, row(1, 0, runs(40*sec), walltime(50*sec), func(j *traces.Job) {
		j.Kind, j.NodesMax, j.Tenant = "reactive", traces.Some[int32](3), "bob"
	}))
	f := s.submit(0)
	require.Equal(t, model.FactAssigned, s.propose(0, model.Proposal{Ref: f.Ref, Placement: whole(1)}).Kind)
	resize := model.Proposal{Kind: model.ProposeResize, Ref: f.Ref, Placement: whole(7)}
	require.Equal(t, model.FactResized, s.propose(10*at, resize).Kind)
	require.Equal(t, [2]int64{3, 3}, [2]int64{s.Meter.vclusters[0].Nodes, s.Meter.tenants[1].Nodes})
	resize.Placement = whole(15)
	require.Equal(t, model.FactRefused, s.propose(20*at, resize).Kind, "more than it may have")
	require.Equal(t, int64(3), s.Meter.vclusters[0].Nodes)
	resize.Placement = whole(8)
	require.Equal(t, model.FactResized, s.propose(30*at, resize).Kind)
	require.Equal(t, int64(1), s.State.BusyUnits)
	require.Equal(t, 40*at, s.Next())
	require.Equal(t, model.FactEnded, s.Take(40*at, nil)[0].Kind)
	s.Close()
	want := int64(10+3*20+10) * int64(sec)
	require.Equal(t, want, s.sink.jobs[0].Allocated.Nodes)
	require.Equal(t, 4*want, s.sink.jobs[0].Allocated.GPUs)
	require.Zero(t, s.Meter.tenants[1].Nodes)
	require.Equal(t, SiteCounts{Resized: 2}, s.Meter.SiteCounts)
	require.Equal(t, int64(400), s.Meter.Draw.Value)
	require.Subset(t, s.Meter.Touched, []int32{0, 1 + 1}, "the vCluster and the second tenant")
}

// TestLeavingADrainingNode: a job that is moved off a node lets it be drained,
// and so does one that is put back into the queue.
func TestLeavingADrainingNode(t *testing.T) {
	for _, kind := range []model.ProposalKind{model.ProposeResize, model.ProposeRequeue} {
		s := newSingle(t, func(c *SiteConfig) { c.Changes = []translate.Change{{At: 5 * at, Kind: translate.NodeDrains}} }, row(1, 0))
		f := s.submit(0)
		s.propose(0, model.Proposal{Ref: f.Ref, Placement: whole(1)})
		require.Equal(t, model.Draining, s.Take(5*at, nil)[0].State)
		p := model.Proposal{Kind: kind, Ref: f.Ref, Placement: whole(2)}
		require.NotEqual(t, model.FactRefused, s.propose(6*at, p).Kind)
		require.Equal(t, 6*at, s.Next())
		require.Equal(t, model.Drained, s.Take(6*at, nil)[0].State)
		require.Equal(t, kind == model.ProposeRequeue, s.State.Waiting == 1)
		p.VCluster = 7
		require.Equal(t, model.FactRefused, s.propose(7*at, p).Kind)
	}
}

// TestShares: two jobs share a node by GPU; the node is drained when the second
// has left, and a failure takes both.
func TestShares(t *testing.T) {
	two := func(j *traces.Job) { j.GPUsPerNode = traces.Some[int32](2) }
	for _, c := range []struct {
		name   string
		change translate.Change
		after  []model.FactKind
	}{
		{"drain", translate.Change{At: 5 * at, Kind: translate.NodeDrains}, []model.FactKind{model.FactNode, model.FactEnded, model.FactEnded, model.FactNode}},
		{"failure", translate.Change{At: 5 * at, Kind: translate.NodeFails}, []model.FactKind{model.FactNode, model.FactRequeued, model.FactRequeued}},
	} {
		s := newSingle(t, func(cfg *SiteConfig) { cfg.Rows.Shared, cfg.Changes = true, []translate.Change{c.change} }, row(1, 0, two), row(2, 0, two, runs(12*sec)))
		for i := range 2 {
			f := s.submit(i)
			share := model.NodeShare{Units: 2, GPUs: 3 << (2 * i)}
			require.Equal(t, model.FactAssigned, s.propose(0, model.Proposal{Ref: f.Ref, Job: f.Job, Placement: model.Placement{Shares: []model.NodeShare{share}}}).Kind)
		}
		require.Equal(t, int64(4), s.State.BusyUnits)
		require.Equal(t, int64(2), s.Meter.vclusters[0].Nodes)
		require.Equal(t, int64(4*100+200), s.Meter.Draw.Value, "a GPU draws its part")
		var kinds []model.FactKind
		for s.Next() != model.Never {
			for _, f := range s.Take(s.Next(), nil) {
				kinds = append(kinds, f.Kind)
			}
			s.Close()
		}
		require.Equal(t, c.after, kinds, c.name)
		require.Zero(t, s.Meter.vclusters[0].GPUs)
	}
}

// TestSharesOfAGPU: a GPU is busy once, however many jobs hold thousandths of it, until the last
// has left.
func TestSharesOfAGPU(t *testing.T) {
	part := func(j *traces.Job) { j.GPUsPerNode, j.GPUMilli = traces.Some[int32](1), traces.Some[int32](400) }
	s := newSingle(t, func(cfg *SiteConfig) { cfg.Rows.Shared, cfg.Site.Amounts = true, true }, row(1, 0, part, runs(10*sec)), row(2, 0, part, runs(20*sec)), row(3, 0, part, runs(30*sec)))
	busy := []int64{1, 1, 2}
	for i, gpu := range []uint64{1, 1, 2} {
		f := s.submit(i)
		share := model.NodeShare{GPUs: gpu, Amounts: model.Amounts{GPUMilli: 400}}
		require.Equal(t, model.FactAssigned, s.propose(0, model.Proposal{Ref: f.Ref, Job: f.Job, Placement: model.Placement{Shares: []model.NodeShare{share}}}).Kind)
		require.Equal(t, busy[i], s.State.BusyUnits, "with %d jobs", i+1)
	}
	for i, want := range []int64{2, 1, 0} {
		s.Take(s.Next(), nil)
		s.Close()
		require.Equal(t, want, s.State.BusyUnits, "with %d jobs gone", i+1)
	}
}

// TestHold: a job on hold is not granted anything before it is released.
func TestHold(t *testing.T) {
	s := newSingle(t, func(*SiteConfig) {}, row(1, 0, func(j *traces.Job) { j.Hold, j.Released = traces.Some(true), traces.Some(5*at) }))
	f := s.submit(0)
	p := model.Proposal{Ref: f.Ref, Placement: whole(1)}
	require.Equal(t, model.ReasonHeld, s.propose(0, p).Reason)
	released := s.Take(5*at, nil)
	require.Equal(t, model.FactReleased, released[0].Kind)
	require.Equal(t, model.FactAssigned, s.propose(5*at, p).Kind)
}

// TestHoldOfWithdrawn: a job that is withdrawn while on hold is released no more,
// nor is one that is withdrawn at that very instant.
func TestHoldOfWithdrawn(t *testing.T) {
	held := func(released model.Time) func(*traces.Job) {
		return func(j *traces.Job) {
			j.Hold, j.Released = traces.Some(true), traces.Some(released)
			j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(3*at)
		}
	}
	s := newSingle(t, func(*SiteConfig) {}, row(1, 0, held(5*at)), row(2, 0, held(3*at)))
	s.submit(0)
	s.submit(1)
	for _, f := range s.Take(3*at, nil) {
		require.Equal(t, model.FactCancelled, f.Kind)
	}
	s.Close()
	require.Len(t, s.sink.jobs, 2)
	require.Equal(t, model.Never, s.Next())
}

// TestRejected: a job that can never run leaves at its submission, and its ref
// is used by the next.
func TestRejected(t *testing.T) {
	s := newSingle(t, func(*SiteConfig) {}, row(1, 0, nodes(9)), row(2, 0), row(3, 0, func(j *traces.Job) { j.Runtime = traces.Opt[model.Duration]{} }))
	large := func(a *model.Allocation) model.Reason {
		if a.NodesMin > 4 {
			return model.ReasonTooLarge
		}
		return model.ReasonNone
	}
	for i, want := range []bool{true, false} {
		tooLarge, err := s.Inspect(s.rows, i, large)
		require.NoError(t, err)
		require.Equal(t, want, tooLarge)
	}
	require.Zero(t, s.Special.Count[translate.RuleTooLarge], "to inspect is not to submit")
	_, ok, err := s.submission(s.rows, 0, large)
	require.NoError(t, err)
	require.False(t, ok)
	require.Zero(t, s.submit(1).Ref)
	_, ok, err = s.submission(s.rows, 2, large)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, int64(1), s.Special.Count[translate.RuleNeverRan])
	require.Equal(t, int64(1), s.Abandon(7*at))
	require.Len(t, s.sink.jobs, 2)
	require.Equal(t, model.Rejected, s.sink.jobs[0].State)
	require.Equal(t, model.ReasonEndOfRun, s.sink.jobs[1].Reason)
	require.Equal(t, int64(2), s.State.Submitted)
}

// TestAbandonWhileLeaving: what runs when nothing can happen any more stays as it
// is, with the work it has done.
func TestAbandonWhileLeaving(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { c.Exit.Bandwidth = 1 }, row(1, 0), row(2, 0, class(9)))
	f, g := s.submit(0), s.submit(1)
	s.propose(0, model.Proposal{Ref: f.Ref, Placement: whole(1)})
	require.Equal(t, model.FactPreempted, s.propose(4*at, model.Proposal{Kind: model.ProposePreempt, Ref: g.Ref, Job: g.Job, Victim: f.Ref}).Kind)
	require.Equal(t, 4*at, s.Next())
	require.Empty(t, s.Take(4*at, nil), "the hint")
	require.Equal(t, int64(2), s.Abandon(9*at))
	require.Equal(t, model.Checkpointing, s.sink.jobs[0].State)
	require.Equal(t, 4*sec, s.sink.jobs[0].Runtime, "it writes since 4 s")
	require.EqualValues(t, 9*sec, s.sink.jobs[0].Allocated.Nodes, "and holds its node until now")
	require.EqualValues(t, 4*9*sec, s.sink.jobs[0].Allocated.GPUs)
}

// TestVictimKeepsItsRef: a victim that ends before the quorum decides leaves its
// ref to no other until then.
func TestVictimKeepsItsRef(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { c.Latency = 5 * sec }, row(1, 0), row(2, 0, class(9)), row(3, 0))
	f, g := s.submit(0), s.submit(1)
	require.Empty(t, s.Submit(0, []model.Proposal{{Ref: f.Ref, Placement: whole(1)}}, nil))
	require.Equal(t, model.FactAssigned, s.Take(5*at, nil)[0].Kind)
	s.Start(5*at, f.Ref)
	require.Empty(t, s.Submit(12*at, []model.Proposal{{Kind: model.ProposePreempt, Ref: g.Ref, Job: g.Job, Victim: f.Ref}}, nil))
	require.Equal(t, model.FactEnded, s.Take(15*at, nil)[0].Kind)
	s.Close()
	require.NotEqual(t, f.Ref, s.submit(2).Ref)
	refused := s.Take(17*at, nil)[0]
	require.Equal(t, model.ReasonVictimGone, refused.Reason)
	s.Close()
	require.Equal(t, f.Ref, s.submit(2).Ref)
}

// TestLeft: a suspended job has its request less the work it saved, and the time
// to read that back: 20 s - 4 s + 100 B at 20 B/s.
func TestLeft(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { c.Exit.Bandwidth, c.ReadBandwidth = 50, 20 }, row(1, 0), row(2, 0, class(9)))
	f, g := s.submit(0), s.submit(1)
	s.propose(0, model.Proposal{Ref: f.Ref, Placement: whole(1)})
	s.propose(4*at, model.Proposal{Kind: model.ProposePreempt, Ref: g.Ref, Job: g.Job, Victim: f.Ref})
	require.Empty(t, s.Take(4*at, nil), "the hint")
	suspended := s.Take(6*at, nil)[0]
	require.Equal(t, model.FactSuspended, suspended.Kind)
	require.Equal(t, 21*sec, model.Duration(suspended.Value))
}

func TestSiteConfigValidate(t *testing.T) {
	for want, change := range map[string]func(*SiteConfig){
		"needs at least one node":        func(c *SiteConfig) { c.Site = nil },
		"the wipe is -":                  func(c *SiteConfig) { c.Wipe = -1 },
		"the probability partial is 1.5": func(c *SiteConfig) { c.Faults.Partial = 1.5 },
		"take 0 times as long":           func(c *SiteConfig) { c.Faults.Slow = 0.5 },
		"the read bandwidth is -1":       func(c *SiteConfig) { c.ReadBandwidth = -1 },
		"change 1 at 00:00:00":           func(c *SiteConfig) { c.Changes = []translate.Change{{At: 1}, {At: 0}} },
		"kill_grace":                     func(c *SiteConfig) { c.Exit.KillGrace = -1 },
	} {
		cfg := SiteConfig{Site: smallSite(1), Exit: preempt.DefaultConfig()}
		require.NoError(t, cfg.Validate())
		change(&cfg)
		require.ErrorContains(t, cfg.Validate(), want)
	}
}
