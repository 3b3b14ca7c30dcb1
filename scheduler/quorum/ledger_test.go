package quorum

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"orrery/scheduler/model"
)

// ledger is what a site must be like, in the simplest form: which job holds which GPU,
// and everything else added up from that for each answer.
type ledger struct {
	site      *model.Site
	jobs      []*ledgerJob
	states    []model.NodeState
	limits    []model.Limits
	power, io int64
	pool      int32
}

type ledgerJob struct {
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
func (b *ledger) cellsOf(j *ledgerJob, p *model.Placement) (cells []cell, ok bool) {
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

// lentBy is the number of home nodes of v on which jobs of others are.
func (b *ledger) lentBy(v model.VClusterID) int32 {
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

func (b *ledger) cap(v model.VClusterID) int32 {
	home := 0
	for i := range b.site.Nodes {
		if b.site.Nodes[i].Home == v {
			home++
		}
	}
	return int32(float64(home)*b.site.VClusters[v].MaxLent.Float() + 1e-6)
}

func (b *ledger) tenant(t model.TenantID) (nodes, jobs int32) {
	var held []cell
	for _, j := range b.jobs {
		if j.Tenant == t && len(j.cells) > 0 {
			held = append(held, j.cells...)
			jobs++
		}
	}
	return int32(len(nodesOf(held))), jobs
}

// gpus is how many GPUs the tenant holds.
func (b *ledger) gpus(t model.TenantID) (n int32) {
	for _, j := range b.jobs {
		if j.Tenant == t {
			n += gpusIn(j.cells)
		}
	}
	return n
}

func gpusIn(cells []cell) (n int32) {
	for _, c := range cells {
		if c.gpu >= 0 {
			n++
		}
	}
	return n
}

// draw is the power and bandwidth that j takes with what it holds.
func (b *ledger) draw(j *ledgerJob) (power, io int64) {
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

func (b *ledger) drawn() (power, io int64, sensitive int32) {
	for _, j := range b.jobs {
		p, i := b.draw(j)
		power, io = power+p, io+i
		if j.IsSensitive() {
			sensitive += int32(len(nodesOf(j.cells)))
		}
	}
	return power, io, sensitive
}

// idle is what the nodes draw that no job holds, where these count.
func (b *ledger) idle() (power int64) {
	for n := range b.site.Nodes {
		held := slices.ContainsFunc(b.jobs, func(j *ledgerJob) bool { return slices.Contains(nodesOf(j.cells), model.NodeID(n)) })
		if b.site.CountIdle && !held && b.states[n] != model.Down {
			power += b.site.Nodes[n].IdlePower
		}
	}
	return power
}

// legal says whether j may hold cells instead of what it holds.
func (b *ledger) legal(j *ledgerJob, cells []cell, says bool) bool {
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
func (b *ledger) within(j *ledgerJob, cells []cell) bool {
	type state struct {
		lent                        []int32
		nodes, jobs, own, sensitive int32
		gpus, ownGPUs               int32
		power, io, ownPower, ownIO  int64
	}
	look := func() (x state) {
		for v := range b.site.VClusters {
			x.lent = append(x.lent, b.lentBy(model.VClusterID(v)))
		}
		x.nodes, x.jobs = b.tenant(j.Tenant)
		x.own = int32(len(nodesOf(j.cells)))
		x.gpus, x.ownGPUs = b.gpus(j.Tenant), gpusIn(j.cells)
		x.power, x.io, x.sensitive = b.drawn()
		x.power += b.idle()
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
	return (limits.MaxNodes == 0 || after.nodes <= before.nodes || after.nodes <= limits.MaxNodes) &&
		(limits.MaxGPUs == 0 || after.ownGPUs <= before.ownGPUs || after.gpus <= limits.MaxGPUs) &&
		(limits.MaxConcurrent == 0 || after.jobs == before.jobs || after.jobs <= limits.MaxConcurrent) &&
		(b.power == 0 || after.ownPower <= before.ownPower || after.power <= b.power) &&
		(b.io == 0 || after.ownIO <= before.ownIO || after.io <= b.io) &&
		(b.pool == 0 || !j.IsSensitive() || !more || after.sensitive <= b.pool)
}

// mayPreempt says whether j may make o leave.
func (b *ledger) mayPreempt(j, o *ledgerJob) bool {
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
	s.CountIdle = d.one(2)
	s.Tenants = make([]model.Tenant, 2)
	s.Tenants[0].MaxNodes = sample(d, 0, d.in32(1, 9))
	for range sample(d, d.in(1, 16), d.in(12, 40)) {
		s.Nodes = append(s.Nodes, model.Node{
			Home: model.VClusterID(d.in(-1, 2)), GPUs: d.in32(1, 4),
			BusyPower: d.in64(0, 200), IdlePower: d.in64(0, 60), Fingerprint: d.in32(-1, 1),
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
func drawPlacement(d dice, b *ledger, j *ledgerJob) (p model.Placement) {
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
	own := nodesOf(j.cells)
	order := []model.NodeID{}
	if d.one(2) {
		order = append(order, own...) // which it keeps, as far as it can
	}
	for i := range masks {
		if n := model.NodeID((start + i) % len(masks)); !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	for _, n := range order {
		mine := slices.Contains(own, n)
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
