package quorum

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// book is what a site must be like, in the simplest form: who holds which GPU,
// and everything else added up from that for each answer.
type book struct {
	site      *model.Site
	jobs      []*booked
	states    []model.NodeState
	limits    []model.Limits
	power, io int64
}

type booked struct {
	model.Allocation
	state model.JobState
	cells []cell
}

// cell is a GPU of a node, or the rest of it for gpu -1.
type cell struct {
	node model.NodeID
	gpu  int32
}

// cellsOf says which cells a placement names; ok is false when it makes no sense
// for the job.
func (b *book) cellsOf(j *booked, p *model.Placement) (cells []cell, ok bool) {
	before := model.NodeID(-1)
	add := func(n model.NodeID, mask uint64, rest bool) bool {
		if n <= before || int(n) >= len(b.site.Nodes) {
			return false
		}
		before = n
		if rest {
			cells = append(cells, cell{n, -1})
		}
		for g := range int32(64) {
			if mask>>g&1 == 0 {
				continue
			}
			if g >= b.site.Nodes[n].GPUs {
				return false
			}
			cells = append(cells, cell{n, g})
		}
		return true
	}
	for _, w := range p.Words {
		for i := range 64 {
			n := model.NodeID(w.Word)*64 + model.NodeID(i)
			if w.Mask>>i&1 == 0 {
				continue
			}
			if n < 0 || int(n) >= len(b.site.Nodes) || j.GPUs > 0 || !add(n, 1<<b.site.Nodes[n].GPUs-1, true) {
				return nil, false
			}
		}
	}
	for _, h := range p.Shares {
		if h.Units != j.GPUs || bits.OnesCount64(h.GPUs) != int(h.Units) || h.Units == 0 || !add(h.Node, h.GPUs, false) {
			return nil, false
		}
	}
	return cells, true
}

func nodesOf(cells []cell) (nodes []model.NodeID) {
	for _, c := range cells {
		if !slices.Contains(nodes, c.node) {
			nodes = append(nodes, c.node)
		}
	}
	return nodes
}

// lentBy is the number of home nodes of v on which somebody else is.
func (b *book) lentBy(v model.VClusterID) int32 {
	var lent []model.NodeID
	for _, j := range b.jobs {
		for _, n := range nodesOf(j.cells) {
			if b.site.Nodes[n].Home == v && j.VCluster != v && !slices.Contains(lent, n) {
				lent = append(lent, n)
			}
		}
	}
	return int32(len(lent))
}

func (b *book) cap(v model.VClusterID) int32 {
	home := 0
	for i := range b.site.Nodes {
		if b.site.Nodes[i].Home == v {
			home++
		}
	}
	return int32(float64(home)*b.site.VClusters[v].MaxLent.Float() + 1e-6)
}

func (b *book) tenant(t model.TenantID) (nodes, jobs int32) {
	for _, j := range b.jobs {
		if j.Tenant == t && len(j.cells) > 0 {
			nodes += int32(len(nodesOf(j.cells)))
			jobs++
		}
	}
	return nodes, jobs
}

// draw is the power and bandwidth that j takes with what it holds.
func (b *book) draw(j *booked) (power, io int64) {
	for _, n := range nodesOf(j.cells) {
		node := &b.site.Nodes[n]
		if j.GPUs == 0 {
			power += node.BusyPower
		} else {
			power += (node.BusyPower*int64(j.GPUs) + int64(node.GPUs) - 1) / int64(node.GPUs)
		}
	}
	count := int64(len(nodesOf(j.cells)))
	if j.Power > 0 {
		power = j.Power * count / int64(j.NodesMin)
	}
	return power, j.IODemand * count / int64(j.NodesMin)
}

func (b *book) drawn() (power, io int64, sensitive int32) {
	for _, j := range b.jobs {
		p, i := b.draw(j)
		power, io = power+p, io+i
		if j.IsSensitive() {
			sensitive += int32(len(nodesOf(j.cells)))
		}
	}
	return power, io, sensitive
}

// legal says whether j may hold cells instead of what it holds.
func (b *book) legal(j *booked, cells []cell, says bool) bool {
	had := j.cells
	defer func() { j.cells = had }()
	before, own := nodesOf(had), int32(0)
	prints := []int32{}
	for _, c := range cells {
		for _, o := range b.jobs {
			if o != j && slices.Contains(o.cells, c) {
				return false
			}
		}
	}
	for _, n := range nodesOf(cells) {
		node := &b.site.Nodes[n]
		if b.states[n] != model.Ready && !slices.Contains(before, n) {
			return false
		}
		if !slices.Contains(prints, node.Fingerprint) {
			prints = append(prints, node.Fingerprint)
		}
		if node.Home == -1 || node.Home == j.VCluster {
			own++
		} else if !says || !b.site.VClusters[j.VCluster].Borrow || !b.site.VClusters[node.Home].Lend || !j.Preemptible() {
			return false
		}
	}
	count := int32(len(nodesOf(cells)))
	if count < j.NodesMin || count > j.NodesMax || (j.Kind == model.Reactive && own < j.NodesMin) ||
		(j.IsSensitive() && (len(prints) > 1 || prints[0] < 0)) {
		return false
	}
	return b.within(j, cells)
}

// within says whether the limits allow it. Where the job takes no more of
// something than it had, they do not bind it.
func (b *book) within(j *booked, cells []cell) bool {
	type state struct {
		lent                        []int32
		nodes, jobs, own, sensitive int32
		power, io, ownPower, ownIO  int64
	}
	look := func() (x state) {
		for v := range b.site.VClusters {
			x.lent = append(x.lent, b.lentBy(model.VClusterID(v)))
		}
		x.nodes, x.jobs = b.tenant(j.Tenant)
		x.own = int32(len(nodesOf(j.cells)))
		x.power, x.io, x.sensitive = b.drawn()
		x.ownPower, x.ownIO = b.draw(j)
		return x
	}
	before := look()
	j.cells = cells
	after := look()
	for v, n := range after.lent {
		if n > before.lent[v] && n > b.cap(model.VClusterID(v)) {
			return false
		}
	}
	limits := &b.limits[j.Tenant]
	more := after.own > before.own
	return (limits.MaxNodes == 0 || !more || after.nodes <= limits.MaxNodes) &&
		(limits.MaxConcurrent == 0 || after.jobs == before.jobs || after.jobs <= limits.MaxConcurrent) &&
		(b.power == 0 || after.ownPower <= before.ownPower || after.power <= b.power) &&
		(b.io == 0 || after.ownIO <= before.ownIO || after.io <= b.io) &&
		(b.site.SensitivePool == 0 || !j.IsSensitive() || !more || after.sensitive <= b.site.SensitivePool)
}

// mayPreempt says whether j may make o leave.
func (b *book) mayPreempt(j, o *booked) bool {
	usable, lent := o.VCluster == j.VCluster, false
	for _, n := range nodesOf(o.cells) {
		home := b.site.Nodes[n].Home
		usable = usable || home == -1 || home == j.VCluster
		lent = lent || home == j.VCluster && o.VCluster != j.VCluster
	}
	return usable && o.Preemptible() && (lent || o.Class < j.Class || j.IsSensitive())
}

// dice draw evenly, where rapid prefers what is small.
type dice struct{ *rand.Rand }

func (d dice) in(lo, hi int) int       { return lo + d.IntN(hi-lo+1) }
func (d dice) in32(lo, hi int32) int32 { return lo + d.Int32N(hi-lo+1) }
func (d dice) in64(lo, hi int64) int64 { return lo + d.Int64N(hi-lo+1) }
func (d dice) one(of int) bool         { return d.IntN(of) == 0 }

func sample[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func drawSite(d dice) *model.Site {
	s := &model.Site{SensitivePool: sample(d, 0, d.in32(1, 6)), PowerCap: sample(d, 0, d.in64(0, 2000))}
	for range 3 {
		s.VClusters = append(s.VClusters, model.VCluster{
			Lend: !d.one(5), Borrow: !d.one(5),
			MaxLent: model.FixedOf(sample(d, 0, 0.2, 0.5, 0.5, 1)),
		})
	}
	s.Tenants = make([]model.Tenant, 2)
	s.Tenants[0].MaxNodes = sample(d, 0, d.in32(1, 9))
	for range sample(d, d.in(1, 16), d.in(12, 40)) {
		s.Nodes = append(s.Nodes, model.Node{
			Home: model.VClusterID(d.in(-1, 2)), GPUs: d.in32(1, 4),
			BusyPower: d.in64(0, 200), Fingerprint: d.in32(-1, 1),
		})
	}
	return s
}

func drawJob(d dice, id model.JobID) model.Allocation {
	a := model.Allocation{
		Job: id, VCluster: model.VClusterID(d.in(0, 2)), Tenant: model.TenantID(d.in(0, 1)),
		NodesMin: d.in32(1, 3), Class: sample[int32](d, 0, 1, 3, 3, 5, 7, 10), QOS: -1,
		Checkpoint: model.Checkpoint(d.in(0, 2)), Kind: sample(d, model.Bounded, model.Bounded, model.Service, model.Reactive),
		GPUs:  sample[int32](d, 0, 0, 1, 2),
		Power: sample[int64](d, 0, 0, 0, 333), IODemand: d.in64(0, 30),
	}
	a.NodesMax = a.NodesMin + d.in32(0, 4)
	return a
}

// drawPlacement draws nodes that often are free and the right number, and
// sometimes make no sense.
func drawPlacement(d dice, b *book, j *booked) (p model.Placement) {
	if d.one(20) {
		p.Words = []model.NodeWord{{Word: d.in32(-1, 1), Mask: d.Uint64()}}
		p.Shares = []model.NodeShare{{Node: model.NodeID(d.in(-1, 17)), Units: 1, GPUs: 1}}
		return p
	}
	careful := !d.one(4)
	want := d.in32(j.NodesMin, j.NodesMax)
	start := d.in(0, len(b.site.Nodes)-1)
	print, atHome := d.in32(-1, 1), d.one(2)
	used := map[cell]bool{}
	for _, o := range b.jobs {
		for _, c := range o.cells {
			used[c] = careful && o != j
		}
	}
	masks := make([]uint64, len(b.site.Nodes))
	for i := range masks {
		n := model.NodeID((start + i) % len(masks))
		mine := slices.ContainsFunc(j.cells, func(c cell) bool { return c.node == n })
		other := b.site.Nodes[n].Home != -1 && b.site.Nodes[n].Home != j.VCluster
		if want == 0 || (careful && b.states[n] != model.Ready && !mine) || (atHome && other && !mine) ||
			(j.IsSensitive() && b.site.Nodes[n].Fingerprint != print) {
			continue
		}
		free, all := uint64(0), uint64(1)<<b.site.Nodes[n].GPUs-1
		for g := range b.site.Nodes[n].GPUs {
			if !used[cell{n, g}] {
				free |= 1 << g
			}
		}
		if j.GPUs > 0 {
			for bits.OnesCount64(free) > int(j.GPUs) {
				free &= free - 1
			}
		} else if free != all {
			continue
		}
		if free != 0 {
			masks[n] = free
			want--
		}
	}
	for n, m := range masks {
		if m != 0 && j.GPUs > 0 {
			p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(n), Units: j.GPUs, GPUs: m})
		}
	}
	if j.GPUs == 0 {
		w := uint64(0)
		for n, m := range masks {
			if m != 0 {
				w |= 1 << n
			}
		}
		if w != 0 {
			p.Words = []model.NodeWord{{Mask: w}}
		}
	}
	return p
}

// snapshot is a copy of all that Decide may change.
func (s *Site) snapshot() Site {
	c := *s
	c.jobs = slices.Clone(s.jobs)
	for i := range c.jobs {
		c.jobs[i].held = model.Placement{Words: slices.Clone(c.jobs[i].held.Words), Shares: slices.Clone(c.jobs[i].held.Shares)}
	}
	c.nodes, c.gpus, c.lent, c.tenants = slices.Clone(s.nodes), slices.Clone(s.gpus), slices.Clone(s.lent), slices.Clone(s.tenants)
	c.kept, c.need = slices.Clone(s.kept), nil
	return c
}

// TestSiteAgainstBook throws random streams of proposals and facts at a site. It
// must grant exactly what the book finds legal, so that no GPU has two holders
// and no limit is exceeded by what is granted; answer as the book does; and be
// the same after a refusal as before.
func TestSiteAgainstBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dice{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		site := drawSite(d)
		b := &book{site: site, power: site.PowerCap, limits: []model.Limits{site.Tenants[0].Limits, site.Tenants[1].Limits}}
		b.states = make([]model.NodeState, len(site.Nodes))
		r := &replay{T: t, dice: d, book: b, quorum: NewSite(site)}
		for range 100 * rapid.IntRange(1, 2).Draw(t, "hundreds") {
			r.step()
			r.compare()
		}
	})
}

type replay struct {
	*rapid.T
	dice   dice
	book   *book
	quorum *Site
}

// one draws a job in one of states; nil when there is none.
func (r *replay) one(states ...model.JobState) *booked {
	var found []*booked
	for _, j := range r.book.jobs {
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
	b := r.book
	switch r.dice.in(0, 18) {
	case 0, 1, 2:
		if len(b.jobs) > 80 {
			return
		}
		j := &booked{Allocation: drawJob(r.dice, model.JobID(len(b.jobs)))}
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

func (r *replay) place(kind model.ProposalKind, next model.JobState, j *booked) {
	if j == nil {
		return
	}
	p := model.Proposal{Kind: kind, Job: j.Job, Ref: model.Ref(j.Job), VCluster: j.VCluster, Borrowed: !r.dice.one(4)}
	p.Placement = drawPlacement(r.dice, r.book, j)
	cells, ok := r.book.cellsOf(j, &p.Placement)
	from := model.Pending
	if kind == model.ProposeResize {
		from = model.Running
	}
	legal := ok && j.state == from && r.book.legal(j, cells, p.Borrowed)
	if f := r.decide(p, legal); legal {
		require.Equal(r, p.Placement.Nodes(), f.Placement.Nodes())
		j.state, j.cells = next, cells
	}
}

func (r *replay) preempt(j, o *booked) {
	if j == nil || o == nil {
		return
	}
	p := model.Proposal{Kind: model.ProposePreempt, Job: j.Job, Ref: model.Ref(j.Job), VCluster: j.VCluster, Victim: model.Ref(o.Job)}
	legal := o.state == model.Running && r.book.mayPreempt(j, o)
	if r.decide(p, legal); legal {
		o.state = model.Checkpointing
	}
}

// leave takes a job off its nodes in one of the ways there are.
func (r *replay) leave(j *booked) {
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
	b := r.book
	f := model.Fact{Value: sample(r.dice, 0, r.dice.in64(0, 3000))}
	switch r.dice.in(0, 3) {
	case 0:
		f.Kind, f.Node = model.FactNode, model.NodeID(r.dice.in(0, len(b.site.Nodes)-1))
		f.State = sample(r.dice, model.Ready, model.Ready, model.Down, model.Draining)
		b.states[f.Node] = f.State
	case 1:
		f.Kind, f.Tenant = model.FactLimits, model.TenantID(r.dice.in(0, 1))
		f.Limits = &model.Limits{MaxNodes: sample(r.dice, 0, r.dice.in32(1, 9)), MaxConcurrent: sample(r.dice, 0, r.dice.in32(1, 4))}
		b.limits[f.Tenant] = *f.Limits
	case 2:
		f.Kind, b.power = model.FactPower, f.Value
	case 3:
		f.Value /= 20
		f.Kind, b.io = model.FactBandwidth, f.Value
	}
	r.quorum.Apply(&f)
}

// compare asks the quorum everything and holds it against the book.
func (r *replay) compare() {
	b, s := r.book, r.quorum
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
