package quorum

import "orrery/scheduler/model"

// OwnerOfGPU is the job that holds GPU g of node n, alone or with the whole
// node, -1 when there is none. Cost: that of OwnerOf if a job holds the node.
func (s *Site) OwnerOfGPU(n model.NodeID, g int32) model.Ref {
	if s.heldWhole(n) {
		return s.OwnerOf(n)
	}
	return s.gpus[s.nodes[n].gpus+g]
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

// Power is what the jobs that hold nodes draw by the ledger, and the cap, in W.
func (s *Site) Power() (used, limit int64) { return s.power.used, s.power.limit }

// Bandwidth is what the jobs that hold nodes demand by the ledger, and the cap,
// in B/s.
func (s *Site) Bandwidth() (used, limit int64) { return s.bandwidth.used, s.bandwidth.limit }

// SensitiveNodes is the number of nodes that sensitive jobs hold.
func (s *Site) SensitiveNodes() int32 { return s.sensitive }
