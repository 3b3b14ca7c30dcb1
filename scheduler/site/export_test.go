package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// Ledger is the ledger of the tenants, for tests that look into it.
func (s *Core) Ledger() *quota.Ledger { return s.ledger.Ledger }

// Delays is how many kinds of requests the last pass of a vCluster knows, since its last proposal, to delay
// the blocked job.
func (s *Core) Delays(v model.VClusterID) int {
	r := &s.passes[v].scratch.refused
	n := 0
	for _, since := range r.delays {
		if since == r.since {
			n++
		}
	}
	return n
}

// Alike is the number of what the waiting job under ref asks for.
func (s *Core) Alike(ref model.Ref) int32 { return s.jobs[ref].alike }
