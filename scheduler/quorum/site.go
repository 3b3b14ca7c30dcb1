package quorum

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Site is one replica of the ledger of a site: which job holds each node and GPU, what
// tenants, lenders and caps leave, and the state of each job. Fed with
// one log of facts and proposals, all replicas are equal at each entry. A
// proposal that is refused changes nothing; of two that exclude each other the
// first wins. Not safe for concurrent use. Once its tables have grown it
// allocates nothing.
//
// What is asked of the whole nodes of a placement is asked of 64 at a time.
type Site struct {
	site    *model.Site
	classes *model.NodeClasses
	prints  model.Cut // the nodes by conformance group, the unknown in one of -1
	jobs    model.RefTable[jobState]
	none    *holding // of all jobs that do not run: nothing
	spare   model.FreeList[holding]
	memory  model.PlacementPool // of what is held
	nodes   []nodeState
	gpus    []model.Ref  // holder of each GPU of the site that is held whole, by those that share nodes
	amounts *heldAmounts // nil before the first share that names amounts
	homes   []int32      // home nodes, by vCluster
	lent    []int32      // of them, held by jobs of others
	tenants []account

	busy   model.NodeSet // nodes of which jobs hold anything
	parts  model.NodeSet // of them, nodes of which they hold shares
	ready  model.NodeSet // nodes whose state is Ready
	guests model.NodeSet // nodes with jobs that are at home elsewhere

	power, bandwidth share
	idle             idleNodes
	pool             int32 // most nodes of sensitive work, 0 for no bound
	sensitive        int32 // nodes held by sensitive jobs

	// Scratch of one decision.
	need []int32       // nodes asked of each lender
	kept model.NodeSet // nodes of the job that is to be resized

	foreign []model.NodeSet // by vCluster from -1 on: the nodes at home in others, see foreignNodes
}

// noRef holds a node or a GPU.
const noRef model.Ref = -1

// jobState is a job in the system.
type jobState struct {
	*model.Allocation // of the submission; its Hold is not read, see onHold
	onHold            bool
	state             model.JobState
	known             bool
	*holding          // none while it does not run
}

// holding is what a running job holds, and what that takes.
type holding struct {
	held   model.Placement
	demand demand
}

// demand is what a placement takes beside its nodes.
type demand struct {
	nodes     int32
	milli     int64 // thousandths of GPUs
	borrowed  int32 // whole nodes of them that are at home in another vCluster
	power     int64 // W
	bandwidth int64 // B/s
}

// nodeState is what a node is like, and which jobs share it.
type nodeState struct {
	state  model.NodeState
	gpus   int32  // its first in Site.gpus
	taken  uint64 // GPUs held whole by jobs that share it
	guests int32  // of these, jobs that are at home elsewhere
}

// account is what a tenant may hold and holds.
type account struct {
	limits model.Limits
	nodes  int32 // distinct ones
	jobs   int32
	milli  int64   // thousandths of GPUs
	shares []int32 // on each node, nil before the first
}

// share is an amount that jobs divide among them.
type share struct{ used, limit int64 }

// NewSite returns the ledger of an idle site. site must outlive them; what
// changes in it later comes as facts.
func NewSite(site *model.Site) *Site {
	n := len(site.Nodes)
	s := &Site{
		none: &holding{}, site: site, classes: model.NewNodeClasses(site), nodes: make([]nodeState, n),
		prints: model.NewCut(n, func(n model.NodeID) int32 { return max(site.Nodes[n].Fingerprint, -1) }),
		homes:  make([]int32, len(site.VClusters)), lent: make([]int32, len(site.VClusters)),
		need:    make([]int32, len(site.VClusters)),
		tenants: make([]account, len(site.Tenants)), kept: model.NewNodeSet(n),
		busy: model.NewNodeSet(n), parts: model.NewNodeSet(n), ready: model.NewNodeSet(n), guests: model.NewNodeSet(n),
		power: share{limit: site.PowerCap}, bandwidth: share{limit: site.Bandwidth}, pool: site.SensitivePool,
	}
	for i := range site.Tenants {
		s.tenants[i].limits = site.Tenants[i].Limits
	}
	s.idle = newIdleNodes(site, s.classes)
	gpus := int32(0)
	for i := range site.Nodes {
		n := &site.Nodes[i]
		s.nodes[i] = nodeState{state: n.State, gpus: gpus}
		if n.State == model.Ready {
			s.ready.Add(model.NodeID(i))
		}
		gpus += n.GPUs
		if n.Home >= 0 {
			s.homes[n.Home]++
		}
	}
	s.gpus = slices.Repeat([]model.Ref{noRef}, int(gpus))
	return s
}

// NodeClasses are those of the site.
func (s *Site) NodeClasses() *model.NodeClasses { return s.classes }

// Held is what the running job under ref holds; valid until it holds something
// else or has left its nodes.
func (s *Site) Held(ref model.Ref) *model.Placement { return &s.jobs.At(ref).held }

// Takes is how many nodes the running job under ref holds, and what it draws on them
// by the ledger in W.
func (s *Site) Takes(ref model.Ref) (nodes int32, power int64) {
	a := &s.jobs.At(ref).demand
	return a.nodes, a.power
}

// StateOf is where the job under ref is in its life; ok is false when there is
// no job under ref.
func (s *Site) StateOf(ref model.Ref) (state model.JobState, ok bool) {
	if !s.present(ref) {
		return 0, false
	}
	return s.jobs.At(ref).state, true
}

// OwnerOf is the job that holds node n as a whole, -1 when there is none. Cost:
// the jobs in the system if one holds it.
func (s *Site) OwnerOf(n model.NodeID) model.Ref {
	if !s.heldWhole(n) {
		return noRef
	}
	for ref := range model.Ref(s.jobs.Len()) {
		if s.present(ref) && slices.ContainsFunc(s.jobs.At(ref).held.Words, func(w model.NodeWord) bool { return w.Word == int32(n>>6) && w.Mask>>(n&63)&1 != 0 }) {
			return ref
		}
	}
	return noRef
}

// heldWhole says whether a job holds the whole of node n.
func (s *Site) heldWhole(n model.NodeID) bool { return s.busy.Has(n) && !s.parts.Has(n) }

func (s *Site) present(ref model.Ref) bool {
	return ref >= 0 && int(ref) < s.jobs.Len() && s.jobs.At(ref).known
}

// setState notes the state of node n.
func (s *Site) setState(n model.NodeID, state model.NodeState) {
	s.idle.setUp(n, state != model.Down, s.busy.Has(n))
	s.nodes[n].state = state
	if s.ready.Remove(n); state == model.Ready {
		s.ready.Add(n)
	}
}

// foreign says whether nodes at home in home have j as a guest.
func foreign(j *jobState, home model.VClusterID) bool { return home >= 0 && home != j.VCluster }

// hold adds what the job under ref holds to the ledger, and release takes it off.
func (s *Site) hold(ref model.Ref)    { s.add(ref, ref, 1) }
func (s *Site) release(ref model.Ref) { s.add(ref, noRef, -1) }

func (s *Site) add(ref, owner model.Ref, by int32) {
	j, busy := s.jobs.At(ref), s.busy
	for _, w := range j.held.Words {
		busy[w.Word] ^= w.Mask
	}
	s.idle.words(j.held.Words, by)
	if j.demand.borrowed > 0 {
		s.addBorrowed(j, by)
	}
	for i := range j.held.Shares {
		s.addShare(j, &j.held.Shares[i], owner, by)
	}
	if j.Tenant >= 0 {
		t := &s.tenants[j.Tenant]
		t.nodes += by * (j.demand.nodes - int32(len(j.held.Shares)))
		t.jobs += by
		t.milli += int64(by) * j.demand.milli
		t.addShares(j.held.Shares, by, len(s.nodes))
	}
	if j.IsSensitive() {
		s.sensitive += by * j.demand.nodes
	}
	s.power.used += int64(by) * j.demand.power
	s.bandwidth.used += int64(by) * j.demand.bandwidth
}

// addBorrowed adds the whole nodes that j borrows to what their homes lend, or takes
// them off with by -1.
func (s *Site) addBorrowed(j *jobState, by int32) {
	foreign := s.foreignNodes(j.VCluster)
	for _, w := range j.held.Words {
		m := w.Mask & foreign[w.Word]
		if m == 0 {
			continue
		}
		s.guests[w.Word] ^= m
		for _, c := range s.classes.Word(w.Word) {
			if m := m & c.Mask; m != 0 {
				s.lent[s.classes.Of[c.Part].Home] += by * int32(bits.OnesCount64(m))
			}
		}
	}
}

// foreignNodes is the nodes that have jobs of v, -1 for those of none, as guests. Cost:
// constant, but the pieces of the site when it is first asked about v.
func (s *Site) foreignNodes(v model.VClusterID) model.NodeSet {
	if s.foreign == nil {
		s.foreign = make([]model.NodeSet, len(s.homes)+1)
	}
	set := s.foreign[v+1]
	if set == nil {
		set = model.NewNodeSet(len(s.nodes))
		for w := range set {
			for _, c := range s.classes.Word(int32(w)) {
				if home := s.classes.Of[c.Part].Home; home >= 0 && home != v {
					set[w] |= c.Mask
				}
			}
		}
		s.foreign[v+1] = set
	}
	return set
}

// addShare adds the part h of a node that j holds to the ledger, or takes it off with by -1.
func (s *Site) addShare(j *jobState, h *model.NodeShare, owner model.Ref, by int32) {
	t := &s.nodes[h.Node]
	if s.addAmounts(h, by); h.GPUMilli == 0 {
		t.taken ^= h.GPUs
		for m := h.GPUs; m != 0; m &= m - 1 {
			s.gpus[t.gpus+int32(bits.TrailingZeros64(m))] = owner
		}
	}
	if t.taken != 0 || s.amounts != nil && s.amounts.nodes[h.Node].jobs > 0 {
		s.parts.Add(h.Node)
		s.busy.Add(h.Node)
	} else {
		s.parts.Remove(h.Node)
		s.busy.Remove(h.Node)
	}
	s.idle.part(h.Node, s.busy.Has(h.Node))
	home := s.site.Nodes[h.Node].Home
	if !foreign(j, home) {
		return
	}
	if before := t.guests; before == 0 || before+by == 0 {
		s.lent[home] += by
		s.guests[h.Node>>6] ^= 1 << (h.Node & 63)
	}
	t.guests += by
}
