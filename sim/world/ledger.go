package world

import (
	"math/bits"

	"orrery/scheduler/model"
)

// ledger is what waits and who holds what, in the counts of the site and in the shares of its vClusters and tenants.
type ledger struct {
	*base
	classes *model.NodeClasses
	load    load
	whole   model.NodeSet  // held by one job
	sharers []int32        // of each node, jobs that hold a part of it
	split   map[card]int32 // shares of each GPU of which thousandths are held
}

// hold adds an attempt's holding to h, or takes it away with sign -1.
func (h *Share) hold(g *holding, sign int64) {
	h.Nodes += sign * int64(g.nodes)
	h.GPUs += sign * int64(g.gpus)
	h.Milli += sign * int64(g.milli)
	h.Borrowed += sign * int64(g.borrowed)
	h.Running += int32(sign)
}

// holding is what an attempt holds.
type holding struct {
	nodes, gpus, units, borrowed int32
	milli                        int32 // thousandths of GPUs beside whole ones
	power                        int64 // W that its nodes draw for it by its row or their kind
	idle                         int64 // W of that while idle
	image                        int64 // bytes of a checkpoint
}

// measure says what the job under ref holds. A checkpoint whose size neither the row nor the class of work states
// takes all the memory of the GPUs held, or of a node without GPUs: what is in use of it no log tells.
func (b *ledger) measure(ref model.Ref) holding {
	l := b.jobs.At(ref)
	a := l.alloc
	p := b.quorum.Held(ref)
	nodes, power := b.quorum.Takes(ref)
	g := holding{power: power}
	if len(b.classes.Of) == 1 { // they need not be told apart
		b.addNodes(&g, a, 0, nodes-int32(len(p.Shares)))
	} else {
		b.addWords(&g, a, p.Words)
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		k := b.classes.Node(h.Node)
		g.addShare(a, k, h)
		held, of := h.PartOf(k.GPUs, k.CPUs)
		g.idle += k.IdlePower * held / of
	}
	if class := b.cfg.Hardware.Bytes(&l.hw).Checkpoint; a.CkptBytes > 0 {
		g.image = a.CkptBytes
	} else if class.Known {
		g.image = class.Size
	}
	return g
}

// addWords adds whole nodes to g.
func (b *ledger) addWords(g *holding, a *model.Allocation, words []model.NodeWord) {
	part, nodes := 0, int32(0) // most neighbours are of one make
	for _, w := range words {
		for _, c := range b.classes.Word(w.Word) {
			n := int32(bits.OnesCount64(c.Mask & w.Mask))
			if n > 0 && int(c.Part) != part {
				b.addNodes(g, a, part, nodes)
				part, nodes = int(c.Part), 0
			}
			nodes += n
		}
	}
	b.addNodes(g, a, part, nodes)
}

// addNodes adds whole nodes of a make to g.
func (b *ledger) addNodes(g *holding, a *model.Allocation, part int, n int32) {
	if n > 0 {
		k := &b.classes.Of[part]
		g.add(a, k, n, n*k.GPUs, n*b.unitsOf(k))
		g.idle += int64(n) * k.IdlePower
	}
}

// add adds so many nodes of a make to g, of all of which a has so much.
func (g *holding) add(a *model.Allocation, k *model.NodeClass, nodes, gpus, units int32) {
	g.nodes += nodes
	g.gpus += gpus
	g.units += units
	if foreign(k, a.VCluster) {
		g.borrowed += nodes
	}
	if gpus > 0 {
		g.image += int64(gpus) * k.GPUMemory
	} else {
		g.image += int64(nodes) * k.Memory
	}
}

// addShare adds a share of a node of a make to g.
func (g *holding) addShare(a *model.Allocation, k *model.NodeClass, h *model.NodeShare) {
	if h.Amounts == (model.Amounts{}) {
		g.add(a, k, 1, h.Units, h.Units)
		return
	}
	g.nodes++
	g.gpus += h.Units
	g.milli += h.GPUMilli
	g.units += h.Units
	if foreign(k, a.VCluster) {
		g.borrowed++
	}
	if g.image += h.Thousandths() * (k.GPUMemory / model.WholeGPU); h.Cards() == 0 {
		g.image += h.Memory
	}
}

// foreign says whether nodes of a make have jobs of v as guests.
func foreign(k *model.NodeClass, v model.VClusterID) bool { return k.Home != -1 && k.Home != v }

// unitsOf a whole node: 1, or its GPUs where jobs share nodes.
func (b *ledger) unitsOf(k *model.NodeClass) int32 {
	if b.cfg.Rows.Shared {
		return max(k.GPUs, 1)
	}
	return 1
}

// account counts what the job under ref holds, with sign 1 when it starts and -1 when it leaves its nodes, while the
// quorum still knows them.
func (b *ledger) account(ref model.Ref, sign int64) {
	l := b.jobs.At(ref)
	g, st := &l.holds, &b.State
	st.Running += int32(sign)
	st.BusyUnits += sign * int64(g.units)
	b.load.running += sign * l.weight()
	b.vcluster(l.alloc).hold(g, sign)
	if h := b.tenant(l.alloc); h != nil {
		h.hold(g, sign)
	}
	if sign < 0 {
		l.charge(b.now)
	}
	l.since = b.now
	p, whole := b.quorum.Held(ref), b.whole
	for _, w := range p.Words {
		whole[w.Word] ^= w.Mask
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		b.sharers[h.Node] += int32(sign)
		if h.GPUMilli > 0 {
			st.BusyUnits += b.splits(h, int32(sign))
		}
	}
	if g.borrowed > 0 {
		b.borrow(p, l.alloc.VCluster, sign)
	}
}

// splits counts a share of thousandths, with sign 1 when it is taken and -1 when it is given back, and says how many
// GPUs more are busy by it.
func (b *ledger) splits(h *model.NodeShare, sign int32) int64 {
	if b.split == nil {
		b.split = map[card]int32{}
	}
	c := card{h.Node, int32(bits.TrailingZeros64(h.GPUs))}
	before := b.split[c]
	if b.split[c] += sign; b.split[c] == 0 {
		delete(b.split, c)
	}
	if before == 0 || before+sign == 0 {
		return int64(sign)
	}
	return 0
}

// card is a GPU of a node.
type card struct {
	node model.NodeID
	gpu  int32
}

// charge adds what l holds since the last change to its record.
func (l *siteJob) charge(now model.Time) {
	d, t := now.Sub(l.since), &l.rec.Allocated
	t.Nodes = model.Plus(t.Nodes, d.Of(int64(l.holds.nodes)))
	if l.holds.gpus|l.holds.milli != 0 {
		t.GPUs = model.Plus(t.GPUs, l.holds.gpuTime(d))
	}
	if l.holds.borrowed != 0 {
		t.Borrowed = model.Plus(t.Borrowed, d.Of(int64(l.holds.borrowed)))
	}
	l.since = now
}

// gpuTime is the GPU time that g comes to in d, rounded down.
func (g *holding) gpuTime(d model.Duration) int64 {
	return model.Plus(d.Of(int64(g.gpus)), d.Of(int64(g.milli))/model.WholeGPU)
}

// cards is how many GPUs g touches.
func (g *holding) cards() int32 {
	if g.milli > 0 {
		return g.gpus + g.nodes // a share of thousandths is one of one GPU
	}
	return g.gpus
}

// borrow counts the nodes of p that are not at home in v as lent to it, or, with sign -1, as given back.
func (b *ledger) borrow(p *model.Placement, v model.VClusterID, sign int64) {
	for _, w := range p.Words {
		for _, c := range b.classes.Word(w.Word) {
			if n := bits.OnesCount64(c.Mask & w.Mask); n > 0 {
				b.lend(&b.classes.Of[c.Part], v, sign*int64(n))
			}
		}
	}
	for _, h := range p.Shares {
		b.lend(b.classes.Node(h.Node), v, sign)
	}
}

// lend counts n nodes of a make as lent if v is not their home.
func (b *ledger) lend(k *model.NodeClass, v model.VClusterID, n int64) {
	if foreign(k, v) {
		h := &b.Meter.vclusters[k.Home]
		h.Lent += n
		b.Meter.touch(h, int(k.Home))
	}
}

// occupied says whether a job holds node id, or a part of it.
func (b *ledger) occupied(id model.NodeID) bool { return b.whole.Has(id) || b.sharers[id] > 0 }

// setWaiting counts a job that waits, with sign 1, or waits no longer, with sign -1.
func (b *ledger) setWaiting(l *siteJob, sign int64) {
	b.State.Waiting += int32(sign)
	b.State.QueuedUnits += sign * int64(l.rec.Procs)
	b.load.queued += sign * l.weight()
	b.load.classes[l.alloc.Class] += int32(sign)
	b.vcluster(l.alloc).Waiting += int32(sign)
	if h := b.tenant(l.alloc); h != nil {
		h.Waiting += int32(sign)
	}
}

// vcluster is the share of the vCluster of a job, which changes.
func (b *ledger) vcluster(a *model.Allocation) *Share {
	h := &b.Meter.vclusters[a.VCluster]
	b.Meter.touch(h, int(a.VCluster))
	return h
}

// tenant is that of its tenant, nil for a job without one.
func (b *ledger) tenant(a *model.Allocation) *Share {
	if a.Tenant < 0 {
		return nil
	}
	h := &b.Meter.tenants[a.Tenant]
	b.Meter.touch(h, len(b.Meter.vclusters)+int(a.Tenant))
	return h
}

// load is what waits and what runs, as far as it bears on the value of a checkpoint.
type load struct {
	classes         [model.SensitiveClass + 1]int32 // waiting jobs of each class
	queued, running int64                           // unit seconds asked for
}

// weight is the unit seconds that l asks for from its next start on, or since its last; without an end a day.
func (l *siteJob) weight() int64 {
	d := l.limit
	if d == model.Forever {
		d = model.Day
	}
	return int64(l.rec.Procs) * int64((d+model.Second-1)/model.Second)
}

// backlog is what waits by what runs, at most 1; 0 when nothing runs.
func (p *load) backlog() model.Fixed {
	switch {
	case p.running <= 0:
		return 0
	case p.queued >= p.running:
		return model.One
	}
	return model.Ratio(p.queued, p.running)
}

// above counts the waiting jobs of classes above class.
func (p *load) above(class int32) int32 {
	n := int32(0)
	for _, k := range p.classes[class+1:] {
		n += k
	}
	return n
}
