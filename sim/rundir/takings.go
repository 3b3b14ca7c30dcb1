package rundir

import "orrery/sim/hosting"

// Party is a side of a taking: a service, else the jobs of a vCluster or of a tenant; without
// any of them the jobs without a tenant.
type Party struct {
	Service  string `json:"service,omitempty"`
	VCluster string `json:"vcluster,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
}

// Taking is what one party took from another.
type Taking struct {
	From        Party `json:"from"`
	To          Party `json:"to"`
	Preemptions int64 `json:"preemptions"`
	Nodes       int64 `json:"nodes"`
	NodeUS      int64 `json:"node_us"`
	BorrowedUS  int64 `json:"borrowed_us"`
	DelayUS     int64 `json:"delay_us"`
	LostGPUUS   int64 `json:"lost_gpu_us"`
}

// TakingsOf are the takings of a run, those of tenants where tenants is set.
func TakingsOf(list []hosting.Taking, tenants bool) []Taking {
	party := func(p hosting.Party) Party {
		if tenants {
			return Party{Service: p.Service, Tenant: p.Group}
		}
		return Party{Service: p.Service, VCluster: p.Group}
	}
	var out []Taking
	for i := range list {
		t := &list[i]
		out = append(out, Taking{party(t.From), party(t.To), t.Preemptions, t.Nodes, int64(t.NodeTime), int64(t.Borrowed), int64(t.Delay), t.LostGPU})
	}
	return out
}
