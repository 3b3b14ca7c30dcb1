package quorum

import (
	"orrery/scheduler/model"
)

// Site is one replica of the books of a site: who holds each node and GPU, what
// tenants, lenders and caps leave, and where each job is in its life. Fed with
// one log of facts and proposals, all replicas are equal at each entry. A
// proposal that is refused changes nothing; of two that exclude each other the
// first wins. Not safe for concurrent use. Once its tables have grown it
// allocates nothing.
type Site struct {
	site    *model.Site
	jobs    []resident // by Ref
	nodes   []tenure
	gpus    []model.Ref // holder of each GPU of the site
	homes   []int32     // home nodes, by vCluster
	lent    []int32     // of them, held by jobs of others
	tenants []account

	power, bandwidth share
	sensitive        int32 // nodes held by sensitive jobs

	// Scratch of one decision.
	need []int32       // nodes asked of each lender
	kept model.NodeSet // nodes of the job that is to be resized
}

// nobody holds a node or a GPU.
const nobody model.Ref = -1

// resident is a job in the system.
type resident struct {
	model.Allocation // without Deps
	state            model.JobState
	known            bool
	held             model.Placement
	ask              ask
}

// ask is what a placement takes beside its nodes.
type ask struct {
	nodes     int32
	power     int64 // W
	bandwidth int64 // B/s
}

// tenure is who holds a node.
type tenure struct {
	state   model.NodeState
	owner   model.Ref // of the whole node, or nobody
	taken   uint64    // GPUs held by jobs that share it
	gpus    int32     // its first in Site.gpus
	foreign int32     // jobs on it that are at home elsewhere
}

// account is what a tenant may hold and holds.
type account struct {
	limits model.Limits
	nodes  int32 // a node held in parts counts once for each part's job
	jobs   int32
}

// share is an amount that jobs divide among them.
type share struct{ used, limit int64 }

// NewSite returns the books of an idle site. site must outlive them; what
// changes in it later comes as facts.
func NewSite(site *model.Site) *Site {
	s := &Site{
		site: site, nodes: make([]tenure, len(site.Nodes)),
		homes: make([]int32, len(site.VClusters)), lent: make([]int32, len(site.VClusters)),
		need:    make([]int32, len(site.VClusters)),
		tenants: make([]account, len(site.Tenants)), kept: model.NewNodeSet(len(site.Nodes)),
		power: share{limit: site.PowerCap}, bandwidth: share{limit: site.Bandwidth},
	}
	for i := range site.Tenants {
		s.tenants[i].limits = site.Tenants[i].Limits
	}
	for i := range site.Nodes {
		n := &site.Nodes[i]
		s.nodes[i] = tenure{state: n.State, owner: nobody, gpus: int32(len(s.gpus))}
		for range n.GPUs {
			s.gpus = append(s.gpus, nobody)
		}
		if n.Home >= 0 {
			s.homes[n.Home]++
		}
	}
	return s
}

// Held is what the running job under ref holds; valid until it holds something
// else.
func (s *Site) Held(ref model.Ref) *model.Placement { return &s.jobs[ref].held }

// StateOf is where the job under ref is in its life; ok is false when there is
// no job under ref.
func (s *Site) StateOf(ref model.Ref) (state model.JobState, ok bool) {
	if !s.present(ref) {
		return 0, false
	}
	return s.jobs[ref].state, true
}

// OwnerOf is the job that holds node n as a whole, -1 when there is none.
func (s *Site) OwnerOf(n model.NodeID) model.Ref { return s.nodes[n].owner }

// OwnerOfGPU is the job that holds GPU g of node n, alone or with the whole
// node, -1 when there is none.
func (s *Site) OwnerOfGPU(n model.NodeID, g int32) model.Ref {
	if t := &s.nodes[n]; t.owner == nobody {
		return s.gpus[t.gpus+g]
	}
	return s.nodes[n].owner
}

// NodeState is the state of node n.
func (s *Site) NodeState(n model.NodeID) model.NodeState { return s.nodes[n].state }

// LentBy is the number of home nodes of v on which jobs of other vClusters are.
func (s *Site) LentBy(v model.VClusterID) int32 { return s.lent[v] }

// TenantNodes is the number of nodes that the jobs of t hold, where a node of
// which several hold a part counts for each, and the number of these jobs.
func (s *Site) TenantNodes(t model.TenantID) (nodes, jobs int32) {
	return s.tenants[t].nodes, s.tenants[t].jobs
}

// Power is what the jobs that hold nodes draw by the books, and the cap, in W.
func (s *Site) Power() (used, limit int64) { return s.power.used, s.power.limit }

// Bandwidth is what the jobs that hold nodes demand by the books, and the cap,
// in B/s.
func (s *Site) Bandwidth() (used, limit int64) { return s.bandwidth.used, s.bandwidth.limit }

// SensitiveNodes is the number of nodes that sensitive jobs hold.
func (s *Site) SensitiveNodes() int32 { return s.sensitive }

func (s *Site) present(ref model.Ref) bool {
	return ref >= 0 && int(ref) < len(s.jobs) && s.jobs[ref].known
}

// foreign says whether j on node n is a guest: n is at home in another vCluster.
func (s *Site) foreign(j *resident, n model.NodeID) bool {
	home := s.site.Nodes[n].Home
	return home >= 0 && home != j.VCluster
}

// take books what the job under ref holds, and drop takes it off the books.
func (s *Site) take(ref model.Ref) { s.book(ref, ref, 1) }
func (s *Site) drop(ref model.Ref) { s.book(ref, nobody, -1) }

func (s *Site) book(ref, owner model.Ref, by int32) {
	j := &s.jobs[ref]
	for _, w := range j.held.Words {
		for n := range w.Nodes {
			s.nodes[n].owner = owner
			s.visit(j, n, by)
		}
	}
	for _, h := range j.held.Shares {
		t := &s.nodes[h.Node]
		t.taken ^= h.GPUs
		for g := range s.site.Nodes[h.Node].GPUs {
			if h.GPUs>>g&1 != 0 {
				s.gpus[t.gpus+g] = owner
			}
		}
		s.visit(j, h.Node, by)
	}
	if j.Tenant >= 0 {
		s.tenants[j.Tenant].nodes += by * j.ask.nodes
		s.tenants[j.Tenant].jobs += by
	}
	if j.IsSensitive() {
		s.sensitive += by * j.ask.nodes
	}
	s.power.used += int64(by) * j.ask.power
	s.bandwidth.used += int64(by) * j.ask.bandwidth
}

// visit counts a guest of a node in or out.
func (s *Site) visit(j *resident, n model.NodeID, by int32) {
	if !s.foreign(j, n) {
		return
	}
	t := &s.nodes[n]
	if before := t.foreign; before == 0 || before+by == 0 {
		s.lent[s.site.Nodes[n].Home] += by
	}
	t.foreign += by
}
