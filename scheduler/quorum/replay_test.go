package quorum

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// snapshot is a copy of all that Decide may change, but for what is worked out once.
func (s *Site) snapshot() Site {
	c := *s
	c.jobs = model.RefTable[jobState]{}
	for ref := range model.Ref(s.jobs.Len()) {
		c.jobs.Reach(ref)
		j := c.jobs.At(ref)
		*j = *s.jobs.At(ref)
		if j.holding == nil {
			continue // not submitted yet
		}
		j.holding = &holding{demand: j.demand}
		j.held = model.Placement{Words: slices.Clone(s.jobs.At(ref).held.Words), Shares: slices.Clone(s.jobs.At(ref).held.Shares)}
	}
	c.nodes, c.gpus, c.lent, c.tenants = slices.Clone(s.nodes), slices.Clone(s.gpus), slices.Clone(s.lent), slices.Clone(s.tenants)
	c.kept, c.need, c.foreign = slices.Clone(s.kept), nil, nil
	c.busy, c.parts, c.ready, c.guests = slices.Clone(s.busy), slices.Clone(s.parts), slices.Clone(s.ready), slices.Clone(s.guests)
	return c
}

// TestSiteAgainstBook throws random streams of proposals and facts at a site. It
// must grant exactly what the ledger finds legal, so that no GPU has two holders
// and no limit is exceeded by what is granted; answer as the ledger does; and be
// the same after a refusal as before.
func TestSiteAgainstBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dice{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		site := drawSite(d)
		b := &ledger{site: site, power: site.PowerCap, pool: site.SensitivePool, limits: []model.Limits{site.Tenants[0].Limits, site.Tenants[1].Limits}}
		b.states = make([]model.NodeState, len(site.Nodes))
		r := &replay{T: t, dice: d, ledger: b, quorum: NewSite(site)}
		for range 100 * rapid.IntRange(1, 2).Draw(t, "hundreds") {
			r.step()
			r.compare()
		}
	})
}

type replay struct {
	*rapid.T
	dice   dice
	ledger *ledger
	quorum *Site
}

// one draws a job in one of states; nil when there is none.
func (r *replay) one(states ...model.JobState) *ledgerJob {
	var found []*ledgerJob
	for _, j := range r.ledger.jobs {
		if slices.Contains(states, j.state) {
			found = append(found, j)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[r.dice.in(0, len(found)-1)]
}

func (r *replay) decide(p model.Proposal, legal bool) (f model.Fact) {
	p.Seq = 7
	before := r.quorum.snapshot()
	f = r.quorum.Decide(&p)
	require.Equal(r, legal, f.Kind != model.FactRefused, "%s: %s", p.Kind, f.Reason)
	if !legal {
		require.NotEqual(r, model.ReasonNone, f.Reason)
		require.Equal(r, before, r.quorum.snapshot(), "a refusal leaves no trace")
	}
	return f
}

func (r *replay) step() {
	b := r.ledger
	switch r.dice.in(0, 18) {
	case 0, 1, 2:
		if len(b.jobs) > 80 {
			return
		}
		j := &ledgerJob{Allocation: drawJob(r.dice, model.JobID(len(b.jobs)))}
		b.jobs = append(b.jobs, j)
		r.quorum.Apply(&model.Fact{Kind: model.FactSubmitted, Job: j.Job, Ref: model.Ref(j.Job), Alloc: &j.Allocation})
	case 3, 4, 5, 6, 7:
		r.place(model.ProposeAssign, model.Running, r.one(model.Pending, model.Pending, model.Running, model.Checkpointing, model.Completed))
	case 8, 16, 17:
		r.place(model.ProposeResize, model.Running, r.one(model.Running, model.Checkpointing))
	case 9, 18:
		r.preempt(r.one(model.Pending), r.one(model.Running, model.Checkpointing, model.Pending))
	case 10, 11:
		r.leave(r.one(model.Running, model.Checkpointing))
	case 12:
		if j := r.one(model.Pending, model.Running); j != nil {
			r.decide(model.Proposal{Kind: model.ProposeCancel, Job: j.Job, Ref: model.Ref(j.Job), VCluster: j.VCluster}, j.state == model.Pending)
			if j.state == model.Pending {
				j.state = model.Cancelled
			}
		}
	default:
		r.change()
	}
}

func (r *replay) place(kind model.ProposalKind, next model.JobState, j *ledgerJob) {
	if j == nil {
		return
	}
	p := model.Proposal{Kind: kind, Job: j.Job, Ref: model.Ref(j.Job), VCluster: j.VCluster, Borrowed: !r.dice.one(4)}
	p.Placement = drawPlacement(r.dice, r.ledger, j)
	cells, ok := r.ledger.cellsOf(j, &p.Placement)
	from := model.Pending
	if kind == model.ProposeResize {
		from = model.Running
	}
	legal := ok && j.state == from && r.ledger.legal(j, cells, p.Borrowed)
	if f := r.decide(p, legal); legal {
		require.Equal(r, p.Placement.Nodes(), f.Placement.Nodes())
		j.state, j.cells = next, cells
	}
}

func (r *replay) preempt(j, o *ledgerJob) {
	if j == nil || o == nil {
		return
	}
	p := model.Proposal{Kind: model.ProposePreempt, Job: j.Job, Ref: model.Ref(j.Job), VCluster: j.VCluster, Victim: model.Ref(o.Job)}
	legal := o.state == model.Running && r.ledger.mayPreempt(j, o)
	if r.decide(p, legal); legal {
		o.state = model.Checkpointing
	}
}

// leave takes a job off its nodes in one of the ways there are.
func (r *replay) leave(j *ledgerJob) {
	if j == nil {
		return
	}
	f := model.Fact{Job: j.Job, Ref: model.Ref(j.Job)}
	switch way := r.dice.in(0, 4); {
	case way == 0:
		f.Kind, j.state = model.FactRequeued, model.Pending
	case way == 1 && j.state == model.Checkpointing:
		f.Kind, j.state = model.FactSuspended, model.Pending
	case way == 2:
		p := model.Proposal{Kind: model.ProposeRequeue, Job: j.Job, Ref: f.Ref, VCluster: j.VCluster}
		legal := j.state == model.Running
		if r.decide(p, legal); legal {
			j.state, j.cells = model.Pending, nil
		}
		return
	default:
		f.Kind, f.Outcome = model.FactEnded, model.Completed
		j.state = model.Completed
	}
	j.cells = nil
	r.quorum.Apply(&f)
}

// change lets a node, a limit or a cap change.
func (r *replay) change() {
	b := r.ledger
	f := model.Fact{Value: sample(r.dice, 0, r.dice.in64(0, 3000))}
	switch r.dice.in(0, 5) {
	case 0:
		f.Kind, f.Node = model.FactNode, model.NodeID(r.dice.in(0, len(b.site.Nodes)-1))
		f.State = sample(r.dice, model.Ready, model.Ready, model.Down, model.Draining)
		b.states[f.Node] = f.State
	case 1:
		f.Kind, f.Tenant = model.FactLimits, model.TenantID(r.dice.in(0, 1))
		f.Limits = &model.Limits{MaxNodes: sample(r.dice, 0, r.dice.in32(1, 9)), MaxConcurrent: sample(r.dice, 0, r.dice.in32(1, 4)), MaxGPUs: sample(r.dice, 0, r.dice.in32(1, 16))}
		b.limits[f.Tenant] = *f.Limits
	case 2:
		f.Kind, b.power = model.FactPower, f.Value
	case 3:
		f.Value /= 20
		f.Kind, b.io = model.FactBandwidth, f.Value
	case 4:
		f.Value %= 7
		f.Kind, b.pool = model.FactSensitivePool, int32(f.Value)
	case 5: // which the scheduler answers, and nothing here
		j := r.one(model.Pending, model.Running, model.Checkpointing)
		if j == nil {
			return
		}
		f.Kind, f.Job, f.Ref = model.FactDemand, j.Job, model.Ref(j.Job)
	}
	r.quorum.Apply(&f)
}

// compare asks the quorum everything and holds it against the ledger.
func (r *replay) compare() {
	b, s := r.ledger, r.quorum
	holders := map[cell]model.Ref{}
	for _, j := range b.jobs {
		for _, c := range j.cells {
			if _, held := holders[c]; held {
				r.Fatalf("GPU %d of node %d has two holders", c.gpu, c.node)
			}
			holders[c] = model.Ref(j.Job)
		}
		state, present := s.StateOf(model.Ref(j.Job))
		require.True(r, present != j.state.Terminal() && (!present || state == j.state), "job %d", j.Job)
	}
	holder := func(c cell) model.Ref {
		if ref, held := holders[c]; held {
			return ref
		}
		return -1
	}
	for i := range b.site.Nodes {
		n := model.NodeID(i)
		right := holder(cell{n, -1}) == s.OwnerOf(n)
		for g := range b.site.Nodes[i].GPUs {
			right = right && holder(cell{n, g}) == s.OwnerOfGPU(n, g)
		}
		require.True(r, right, "node %d", n)
	}
	for v := range b.site.VClusters {
		require.Equal(r, b.lentBy(model.VClusterID(v)), s.LentBy(model.VClusterID(v)))
	}
	for i := range b.limits {
		nodes, jobs := b.tenant(model.TenantID(i))
		gotNodes, gotJobs := s.TenantNodes(model.TenantID(i))
		require.Equal(r, [2]int32{nodes, jobs}, [2]int32{gotNodes, gotJobs})
	}
	power, io, sensitive := b.drawn()
	gotPower, _ := s.Power()
	gotIO, _ := s.Bandwidth()
	require.Equal(r, [2]int64{power, io}, [2]int64{gotPower, gotIO})
	require.Equal(r, sensitive, s.SensitiveNodes())
}
