package world

import (
	"math/bits"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// Meter is what a site and its parts hold and draw now, and what has come to pass.
type Meter struct {
	SiteCounts
	Consequences Consequences
	Draw         hwmodel.Watts // now, idle nodes included

	vclusters []Share // by VClusterID
	tenants   []Share // by TenantID
	shares    []Share // both: the vClusters, and behind them the tenants
	// Touched are the vClusters and tenants whose shares have changed since the reader
	// untouched and dropped them: vClusters by their ids, and behind them tenants.
	Touched []int32
}

// shared are the shares of so many vClusters and tenants.
func (st *Meter) shared(vclusters, tenants int) {
	st.shares = make([]Share, vclusters+tenants)
	st.vclusters, st.tenants = st.shares[:vclusters:vclusters], st.shares[vclusters:]
}

// Untouch is the share of an entry of Touched, which is to be dropped from there.
func (st *Meter) Untouch(i int32) *Share {
	h := &st.shares[i]
	h.touched = false
	return h
}

// touch notes that h, the share number i, changes.
func (st *Meter) touch(h *Share, i int) {
	if !h.touched {
		h.touched = true
		st.Touched = append(st.Touched, int32(i))
	}
}

// SiteCounts is what has come to pass on a site.
type SiteCounts struct {
	Preempted       int64 `json:"preempted"`                  // times that a job was asked to leave its nodes
	Shed            int64 `json:"shed,omitempty"`             // of these, for the cap on power
	Suspended       int64 `json:"suspended"`                  // of these, left with a checkpoint
	Written         int64 `json:"checkpoints_written"`        // by running jobs that went on
	Requeued        int64 `json:"requeued"`                   // failed attempts whose jobs went back to the queue
	Failed          int64 `json:"failed"`                     // jobs that ended as FAILED
	NodesLost       int64 `json:"nodes_lost"`                 // that went down
	SharedFailures  int64 `json:"shared_failures,omitempty"`  // of parts that several nodes need
	FailedBoots     int64 `json:"failed_boots,omitempty"`     // times that a node did not boot
	FailedPrologues int64 `json:"failed_prologues,omitempty"` // on a node each
	Drifts          int64 `json:"drifts,omitempty"`           // of fingerprints, that checks have found
	SilentAgents    int64 `json:"silent_agents,omitempty"`    // silences of agents of nodes that work
	BrokenStarts    int64 `json:"broken_starts,omitempty"`    // starts on a node that was broken and not yet known to be
	Resized         int64 `json:"resized,omitempty"`          // times that a running service got another size
	// Refused are the proposals that the quorum refused, by reason.
	Refused map[string]int64 `json:"refused,omitempty"`
	Moot    int64            `json:"moot_changes"`      // of the cluster file or the trace, that found nothing to change
	Unrated int64            `json:"unrated,omitempty"` // jobs whose hardware counted as that of their record, for want of the speed of that
	Lost    int64            `json:"lost_gpu_us"`       // GPU time of work thrown away, µs
	// Transfers are those through shared storage, one entry a kind; absent where each takes its
	// size ÷ its rate whatever others do.
	Transfers []TransferCounts `json:"transfers,omitempty"`
}

// Share is what the running jobs of one vCluster or of one tenant hold now.
type Share struct {
	Waiting, Running int32
	Nodes, GPUs      int64 // a node of which a job holds a part counts whole for it
	Milli            int64 // thousandths of GPUs beside whole ones
	Borrowed         int64 // of Nodes: at home in another vCluster
	Lent             int64 // of a vCluster: its home nodes held by jobs of others

	touched bool
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

// measure says what the job under ref, which is a, holds. A checkpoint whose size neither
// the row nor the class of work states takes all the memory of the GPUs held, or of a node
// without GPUs: what is in use of it no log tells.
func (s *Site) measure(ref model.Ref, a *model.Allocation) holding {
	p := s.quorum.Held(ref)
	nodes, power := s.quorum.Takes(ref)
	g := holding{power: power}
	if len(s.classes.Of) == 1 { // they need not be told apart
		s.addNodes(&g, a, 0, nodes-int32(len(p.Shares)))
	} else {
		s.addWords(&g, a, p.Words)
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		k := s.classes.Node(h.Node)
		g.addShare(a, k, h)
		held, of := h.PartOf(k.GPUs, k.CPUs)
		g.idle += k.IdlePower * held / of
	}
	if class := s.hardware.Bytes(&s.jobs.At(ref).hw).Checkpoint; a.CkptBytes > 0 {
		g.image = a.CkptBytes
	} else if class.Known {
		g.image = class.Size
	}
	return g
}

// addWords adds whole nodes to g.
func (s *Site) addWords(g *holding, a *model.Allocation, words []model.NodeWord) {
	part, nodes := 0, int32(0) // most neighbours are of one make
	for _, w := range words {
		for _, c := range s.classes.Word(w.Word) {
			n := int32(bits.OnesCount64(c.Mask & w.Mask))
			if n > 0 && int(c.Part) != part {
				s.addNodes(g, a, part, nodes)
				part, nodes = int(c.Part), 0
			}
			nodes += n
		}
	}
	s.addNodes(g, a, part, nodes)
}

// addNodes adds whole nodes of a make to g.
func (s *Site) addNodes(g *holding, a *model.Allocation, part int, n int32) {
	if n > 0 {
		k := &s.classes.Of[part]
		g.add(a, k, n, n*k.GPUs, n*s.unitsOf(k))
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
func (s *Site) unitsOf(k *model.NodeClass) int32 {
	if s.cfg.Rows.Shared {
		return max(k.GPUs, 1)
	}
	return 1
}

// account counts what the job under ref holds, with sign 1 when it starts and -1
// when it leaves its nodes, while the quorum still knows them.
func (s *Site) account(ref model.Ref, sign int64) {
	l := s.jobs.At(ref)
	g, st := &l.holds, &s.State
	st.Running += int32(sign)
	st.BusyUnits += sign * int64(g.units)
	s.load.running += sign * l.weight()
	s.vcluster(l.alloc).hold(g, sign)
	if h := s.tenant(l.alloc); h != nil {
		h.hold(g, sign)
	}
	if sign < 0 {
		l.charge(s.now)
		s.unplug(ref)
	}
	l.since = s.now
	p, whole := s.quorum.Held(ref), s.whole
	for _, w := range p.Words {
		whole[w.Word] ^= w.Mask
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		s.nodes[h.Node].sharers += int32(sign)
		if h.GPUMilli > 0 {
			st.BusyUnits += s.splits(h, int32(sign))
		}
	}
	if g.borrowed > 0 {
		s.borrow(p, l.alloc.VCluster, sign)
	}
}

// splits counts a share of thousandths, with sign 1 when it is taken and -1 when it is
// given back, and says how many GPUs more are busy by it.
func (s *Site) splits(h *model.NodeShare, sign int32) int64 {
	if s.split == nil {
		s.split = map[card]int32{}
	}
	c := card{h.Node, int32(bits.TrailingZeros64(h.GPUs))}
	before := s.split[c]
	if s.split[c] += sign; s.split[c] == 0 {
		delete(s.split, c)
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

// borrow counts the nodes of p that are not at home in v as lent to it, or, with
// sign -1, as given back.
func (s *Site) borrow(p *model.Placement, v model.VClusterID, sign int64) {
	for _, w := range p.Words {
		for _, c := range s.classes.Word(w.Word) {
			if n := bits.OnesCount64(c.Mask & w.Mask); n > 0 {
				s.lend(&s.classes.Of[c.Part], v, sign*int64(n))
			}
		}
	}
	for _, h := range p.Shares {
		s.lend(s.classes.Node(h.Node), v, sign)
	}
}

// lend counts n nodes of a make as lent if v is not their home.
func (s *Site) lend(k *model.NodeClass, v model.VClusterID, n int64) {
	if foreign(k, v) {
		h := &s.Meter.vclusters[k.Home]
		h.Lent += n
		s.Meter.touch(h, int(k.Home))
	}
}

// occupied says whether a job holds node id, or a part of it.
func (s *Site) occupied(id model.NodeID) bool { return s.whole.Has(id) || s.nodes[id].sharers > 0 }

// setWaiting counts a job that waits, with sign 1, or waits no longer, with sign -1.
func (s *Site) setWaiting(l *siteJob, sign int64) {
	s.State.Waiting += int32(sign)
	s.State.QueuedUnits += sign * int64(l.rec.Procs)
	s.load.queued += sign * l.weight()
	s.load.classes[l.alloc.Class] += int32(sign)
	s.vcluster(l.alloc).Waiting += int32(sign)
	if h := s.tenant(l.alloc); h != nil {
		h.Waiting += int32(sign)
	}
}

// vcluster is the share of the vCluster of a job, which changes.
func (s *Site) vcluster(a *model.Allocation) *Share {
	h := &s.Meter.vclusters[a.VCluster]
	s.Meter.touch(h, int(a.VCluster))
	return h
}

// tenant is that of its tenant, nil for a job without one.
func (s *Site) tenant(a *model.Allocation) *Share {
	if a.Tenant < 0 {
		return nil
	}
	h := &s.Meter.tenants[a.Tenant]
	s.Meter.touch(h, len(s.Meter.vclusters)+int(a.Tenant))
	return h
}

// advance brings the clock of the site to now.
func (s *Site) advance(now model.Time) {
	if s.begun && now > s.now && (s.cfg.Power.Slow || s.cfg.Power.Exceeds) && s.cap > 0 && s.Meter.Draw.Value > s.cap {
		s.Meter.Consequences.OverCap = model.Plus(s.Meter.Consequences.OverCap, int64(now.Sub(s.now)))
	}
	if s.prices != nil && (now > s.now || !s.begun) {
		s.prices.reach(now, s.Meter.Draw.Value)
	}
	s.begun, s.now = true, now
}
