package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// The site of the tests: nodes 0 to 9 are at home in batch, 10 to 19 in ml, 20
// and 21 nowhere, 22 and 23 in vault, which neither lends nor borrows. Each
// node has 4 GPUs and draws 1000 W. batch and ml lend a fifth.
const (
	batch model.VClusterID = iota
	ml
	vault
)

const (
	physics model.TenantID = iota
	biology
)

func newSite() *model.Site {
	s := &model.Site{
		VClusters: []model.VCluster{
			{Name: "batch", Lend: true, Borrow: true, MaxLent: model.FixedOf(0.2)},
			{Name: "ml", Lend: true, Borrow: true, MaxLent: model.FixedOf(0.2)},
			{Name: "vault", MaxLent: model.One},
		},
		Tenants: []model.Tenant{{Name: "physics"}, {Name: "biology"}},
		QOS:     []model.QOS{{Name: "normal"}, {Name: "urgent", PreemptsQOS: []model.QOSID{0}}},
	}
	for i := range 24 {
		n := model.Node{Home: batch, GPUs: 4, BusyPower: 1000, Fingerprint: int32(i % 2)}
		switch {
		case i >= 22:
			n.Home = vault
		case i >= 20:
			n.Home = -1
		case i >= 10:
			n.Home = ml
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// desk is a site's quorum and the jobs submitted to it; the ref of a job is its
// id.
type desk struct {
	*Site
	t   testing.TB
	seq uint64
}

func newDesk(t testing.TB, change ...func(*model.Site)) *desk {
	site := newSite()
	for _, c := range change {
		c(site)
	}
	return &desk{Site: NewSite(site), t: t}
}

// submit submits a job of batch and physics for 1 to 24 nodes that may be
// preempted, unless change says otherwise.
func (d *desk) submit(id model.JobID, change ...func(*model.Allocation)) {
	a := model.Allocation{Job: id, VCluster: batch, Tenant: physics, NodesMin: 1, NodesMax: 24, QOS: -1, Class: 3}
	for _, c := range change {
		c(&a)
	}
	d.Apply(&model.Fact{Kind: model.FactSubmitted, Job: id, Ref: model.Ref(id), Alloc: &a})
}

func of(v model.VClusterID) func(*model.Allocation) {
	return func(a *model.Allocation) { a.VCluster = v }
}
func by(t model.TenantID) func(*model.Allocation) { return func(a *model.Allocation) { a.Tenant = t } }
func class(c int32) func(*model.Allocation)       { return func(a *model.Allocation) { a.Class = c } }
func gpus(n int32) func(*model.Allocation)        { return func(a *model.Allocation) { a.GPUs = n } }
func nodes(min, max int32) func(*model.Allocation) {
	return func(a *model.Allocation) { a.NodesMin, a.NodesMax = min, max }
}
func sensitive(a *model.Allocation) { a.Sensitive = true }
func (d *desk) fact(k model.FactKind, id model.JobID) {
	d.Apply(&model.Fact{Kind: k, Job: id, Ref: model.Ref(id)})
}

func (d *desk) end(id model.JobID) {
	d.Apply(&model.Fact{Kind: model.FactEnded, Job: id, Ref: model.Ref(id), Outcome: model.Completed})
}

// on is the placement on whole nodes.
func on(nodes ...model.NodeID) (p model.Placement) {
	set := model.NewNodeSet(128)
	for _, n := range nodes {
		set.Add(n)
	}
	for w, m := range set {
		if m != 0 {
			p.Words = append(p.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	return p
}

// part is the placement on some GPUs of one node.
func part(n model.NodeID, gpus uint64, units int32) model.Placement {
	return model.Placement{Shares: []model.NodeShare{{Node: n, Units: units, GPUs: gpus}}}
}

func (d *desk) propose(kind model.ProposalKind, id model.JobID, p model.Placement, change ...func(*model.Proposal)) model.Fact {
	d.seq++
	q := model.Proposal{Kind: kind, Job: id, Ref: model.Ref(id), Seq: d.seq, Placement: p}
	if d.present(q.Ref) {
		q.VCluster = d.jobs.At(q.Ref).VCluster
	}
	for _, c := range change {
		c(&q)
	}
	return d.Decide(&q)
}

func borrowed(p *model.Proposal) { p.Borrowed = true }

// assign wants the job to be granted nodes, or to be refused for a reason.
func (d *desk) assign(id model.JobID, p model.Placement, want model.Reason, change ...func(*model.Proposal)) {
	d.t.Helper()
	f := d.propose(model.ProposeAssign, id, p, change...)
	require.Equal(d.t, want.String(), f.Reason.String())
	require.Equal(d.t, want == model.ReasonNone, f.Kind == model.FactAssigned)
}

// preempt wants the victim to be asked to leave, or a refusal.
func (d *desk) preempt(id, victim model.JobID, want model.Reason) (granted bool) {
	d.t.Helper()
	f := d.propose(model.ProposePreempt, id, model.Placement{}, func(p *model.Proposal) { p.Victim = model.Ref(victim) })
	require.Equal(d.t, want.String(), f.Reason.String())
	if f.Kind == model.FactRefused {
		require.Equal(d.t, model.Ref(id), f.Ref)
		return false
	}
	require.Equal(d.t, model.Fact{Kind: model.FactPreempted, Reason: want, Job: victim, Ref: model.Ref(victim), Seq: d.seq}, f)
	return true
}

const ok = model.ReasonNone

// TestSiteRefusals meets every reason for which nodes can be refused on a site.
// Job 0 runs on node 0, job 1 has GPU 0 of node 1, node 2 is degraded; job 9
// proposes.
func TestSiteRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		job  func(*model.Allocation)
		p    model.Placement
		want model.Reason
	}{
		{"free nodes", nil, on(3, 4, 20), ok},
		{"node beyond the last", nil, on(3, 24), model.ReasonUnknownNode},
		{"word beyond the last", nil, on(3, 64), model.ReasonUnknownNode},
		{"negative word", nil, model.Placement{Words: []model.NodeWord{{Word: -1, Mask: 1}}}, model.ReasonUnknownNode},
		{"nothing", nil, model.Placement{}, model.ReasonBadPlacement},
		{"empty word", nil, model.Placement{Words: []model.NodeWord{{Mask: 8}, {Word: 0}}}, model.ReasonBadPlacement},
		{"word twice", nil, model.Placement{Words: []model.NodeWord{{Mask: 8}, {Mask: 16}}}, model.ReasonBadPlacement},
		{"too few nodes", nodes(2, 4), on(3), model.ReasonBadPlacement},
		{"too many nodes", nodes(1, 2), on(3, 4, 5), model.ReasonBadPlacement},
		{"size within a range", nodes(1, 3), on(3, 4), ok},
		{"node taken", nil, on(0, 3), model.ReasonNodesTaken},
		{"node of which a GPU is taken", nil, on(1), model.ReasonNodesTaken},
		{"node that is not ready", nil, on(2, 3), model.ReasonNodeNotReady},
		{"part of a node for whole ones", nil, part(3, 1, 1), model.ReasonBadPlacement},

		{"free GPUs", gpus(2), part(1, 0b110, 2), ok},
		{"GPU taken", gpus(2), part(1, 0b011, 2), model.ReasonNodesTaken},
		{"GPUs of a node taken whole", gpus(2), part(0, 0b110, 2), model.ReasonNodesTaken},
		{"GPUs of a node that is not ready", gpus(2), part(2, 0b110, 2), model.ReasonNodeNotReady},
		{"GPUs of no node", gpus(2), part(24, 0b110, 2), model.ReasonUnknownNode},
		{"GPUs of a negative node", gpus(2), part(-1, 0b110, 2), model.ReasonUnknownNode},
		{"GPU that the node does not have", gpus(2), part(3, 0b10001, 2), model.ReasonBadPlacement},
		{"more GPUs than named", gpus(2), part(3, 1, 2), model.ReasonBadPlacement},
		{"another share than asked for", gpus(2), part(3, 1, 1), model.ReasonBadPlacement},
		{"whole nodes for part of one", gpus(2), on(3), model.ReasonBadPlacement},
		{"node twice", gpus(1), model.Placement{Shares: []model.NodeShare{{Node: 3, Units: 1, GPUs: 1}, {Node: 3, Units: 1, GPUs: 2}}}, model.ReasonBadPlacement},

		{"sensitive on equal fingerprints", sensitive, on(4, 6), ok},
		{"sensitive on others", sensitive, on(4, 5), model.ReasonConformance},
		{"sensitive on unknown ones", sensitive, on(8), model.ReasonConformance},
		{"sensitive on parts of others", func(a *model.Allocation) { a.Sensitive, a.GPUs = true, 1 },
			model.Placement{Shares: []model.NodeShare{{Node: 3, Units: 1, GPUs: 1}, {Node: 4, Units: 1, GPUs: 2}}}, model.ReasonConformance},
		{"on hold", func(a *model.Allocation) { a.Hold = true }, on(3), model.ReasonHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, func(s *model.Site) { s.Nodes[2].State, s.Nodes[8].Fingerprint = model.Degraded, -1 })
			d.submit(0)
			d.submit(1, gpus(1))
			d.assign(0, on(0), ok)
			d.assign(1, part(1, 1, 1), ok)
			if c.job == nil {
				c.job = func(*model.Allocation) {}
			}
			d.submit(9, c.job)
			d.assign(9, c.p, c.want)
		})
	}
}

// TestD1OwnershipIsCheckedAndSet: an assignment is checked against who holds the
// nodes, and makes its job their holder until it leaves.
func TestD1OwnershipIsCheckedAndSet(t *testing.T) {
	d := newDesk(t)
	d.submit(1)
	d.submit(2)
	d.submit(3, gpus(2))
	d.assign(1, on(3, 4), ok)
	require.EqualValues(t, 1, d.OwnerOf(3))
	require.EqualValues(t, 1, d.OwnerOfGPU(3, 2))
	require.EqualValues(t, -1, d.OwnerOf(5))
	d.assign(2, on(4, 5), model.ReasonNodesTaken)
	d.assign(3, part(4, 3, 2), model.ReasonNodesTaken)
	require.EqualValues(t, -1, d.OwnerOf(5), "a refused proposal leaves no trace")
	d.end(1)
	require.EqualValues(t, -1, d.OwnerOf(3))
	d.assign(2, on(4, 5), ok)
	d.assign(3, part(3, 0b1010, 2), ok)
	require.EqualValues(t, -1, d.OwnerOf(3))
	require.EqualValues(t, -1, d.OwnerOfGPU(3, 0))
	require.EqualValues(t, 3, d.OwnerOfGPU(3, 1))
	require.EqualValues(t, 3, d.OwnerOfGPU(3, 3))
}

// TestD15SuspendedWorkHoldsNothing: from its suspension on a job counts against
// no limit, while it writes its checkpoint it does.
func TestD15SuspendedWorkHoldsNothing(t *testing.T) {
	d := newDesk(t, func(s *model.Site) {
		s.Tenants[physics].MaxNodes, s.Tenants[physics].MaxConcurrent = 4, 1
		s.PowerCap, s.Bandwidth = 4000, 100
	})
	d.submit(1, class(1), func(a *model.Allocation) { a.IODemand = 20 })
	d.submit(2)
	d.assign(1, on(0, 1, 2, 3), ok)
	require.True(t, d.preempt(2, 1, model.ReasonPreempted))
	d.assign(2, on(4), model.ReasonQuotaNodes)
	d.fact(model.FactSuspended, 1)
	count, jobs := d.TenantNodes(physics)
	require.Zero(t, count)
	require.Zero(t, jobs)
	power, _ := d.Power()
	bandwidth, _ := d.Bandwidth()
	require.Zero(t, power)
	require.Zero(t, bandwidth)
	d.assign(2, on(0, 1, 2, 3), ok)
	d.end(2)
	d.assign(1, on(3, 2), ok)
}

// TestD25NoJobTakesOverBusyNodes: sensitive work is granted free nodes like any
// other, and no others.
func TestD25NoJobTakesOverBusyNodes(t *testing.T) {
	d := newDesk(t)
	d.submit(1)
	d.submit(2, gpus(1))
	d.submit(3, sensitive, class(10))
	d.assign(1, on(0), ok)
	d.assign(2, part(2, 1, 1), ok)
	d.assign(3, on(0), model.ReasonNodesTaken)
	d.assign(3, on(2), model.ReasonNodesTaken)
	d.assign(3, on(4), ok)
	require.EqualValues(t, 1, d.OwnerOf(0))
}

// TestD27OnlyReadyNodesExist: a node that has not come up, or is not to be used,
// is refused whatever the scheduler believes; work on it goes on.
func TestD27OnlyReadyNodesExist(t *testing.T) {
	for state := model.Degraded; state <= model.Wiping; state++ {
		d := newDesk(t, func(s *model.Site) { s.Nodes[3].State = state })
		set := func(s model.NodeState) { d.Apply(&model.Fact{Kind: model.FactNode, Node: 3, State: s}) }
		d.submit(1)
		d.submit(2)
		d.assign(1, on(3), model.ReasonNodeNotReady)
		set(model.Ready)
		d.assign(1, on(3), ok)
		set(state)
		require.Equal(t, state, d.NodeState(3))
		require.EqualValues(t, 1, d.OwnerOf(3))
		require.Equal(t, model.FactResized, d.propose(model.ProposeResize, 1, on(3, 4)).Kind, "it keeps what it has")
		require.Equal(t, model.FactResized, d.propose(model.ProposeResize, 1, on(4)).Kind)
		require.Equal(t, model.ReasonNodeNotReady, d.propose(model.ProposeResize, 1, on(3, 4)).Reason, "it does not get it back")
		d.assign(2, on(3), model.ReasonNodeNotReady)
	}
}
