package naive_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// TestElsewhere holds worlds in which what happens in one vCluster lets a job of another start that is on a cycle. The
// instants are worked out by hand; a pass that is skipped though it is needed has the job start a tick later, or never.
func TestElsewhere(t *testing.T) {
	onCycle := func(homes ...int) *naiveWorld {
		w := wakeSite(homes, 2)
		w.cfg.Policies[0].Cycle = 10 * model.Second
		return w
	}
	preempting := func(homes ...int) *naiveWorld {
		w := onCycle(homes...)
		w.cfg.Policies[0].Preempts = true
		w.cfg.Policies[0].Preemption.NearCompletion = 0
		return w
	}
	// filling has nodes 0 to 2 held until 25, though predicted to be until 60, and a job of tenant t that waits for four nodes: t and u
	// may run one job each at a time. A job of another vCluster wants to borrow what comes free.
	filling := func() *naiveWorld {
		w := onCycle(0, 0, 0, 0, 1)
		w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxConcurrent: 1}}, {Name: "u", Limits: model.Limits{MaxConcurrent: 1}}}
		w.cfg.Quota.Tenants = w.cfg.Site.Tenants
		a, b := &w.cfg.Site.VClusters[0], &w.cfg.Site.VClusters[1]
		a.Lend, a.MaxLent, b.Borrow = true, model.One, true
		w.enqueue(0, 0, 3, 60, 5).runtime = 25 * model.Second
		w.enqueue(0, 1, 4, 100, 9).Tenant = 0
		w.enqueue(1, 2, 3, 20, 3)
		return w
	}
	locks := func(e *naiveErrand) {
		e.Deps = append(e.Deps, model.Dependency{On: -1, Condition: model.Mutex, Mutex: 0})
	}
	for _, c := range []struct {
		name  string
		world func() *naiveWorld
		shows []string
	}{
		{"a mutex is given back that kept a job from preempting", func() *naiveWorld {
			w := preempting(0, 0, 0, 1)
			w.enqueue(0, 0, 1, 1000, 0)                  // the victim
			w.enqueue(0, 0, 2, 1000, 8).Sensitive = true // which no one preempts
			w.enqueue(0, 1, 3, 100, 9)                   // is blocked
			locks(w.enqueue(0, 2, 1, 100, 4))
			locks(w.enqueue(1, 3, 1, 20, 5)) // until 23
			return w
		}, []string{"00:00:30: 4 preempt job 3 on [] victim 0 PREEMPTED"}},
		{"a job submitted later preempts, though it comes after one that would delay the blocked job", func() *naiveWorld {
			w := preempting(0, 0, 0, 0, 1)
			w.enqueue(0, 0, 1, 1000, 0)
			w.enqueue(0, 0, 2, 1000, 8).Sensitive = true
			w.enqueue(0, 1, 4, 100, 9)
			w.enqueue(0, 1, 1, 5000, 3) // has room, and would delay job 2
			w.enqueue(0, 12, 2, 100, 4)
			return w
		}, []string{"00:00:20: 3 preempt job 4 on [] victim 0 PREEMPTED"}},
		{"the job that takes the last node takes what the limit left to the blocked one, so that nodes are lent", func() *naiveWorld {
			w := filling()
			w.enqueue(0, 1, 1, 20, 3).Tenant = 0
			return w
		}, []string{"00:00:10: 2 assign job 3 on [3]", "00:00:25: 3 assign job 2 on [0 1 4] borrowed"}},
		{"a job elsewhere takes what the limit left to the blocked one of a full vCluster, so that nodes are lent", func() *naiveWorld {
			w := filling()
			w.enqueue(0, 1, 1, 40, 3)
			w.enqueue(1, 12, 1, 100, 5).Tenant = 0
			return w
		}, []string{"00:00:10: 2 assign job 3 on [3]", "00:00:25: 4 assign job 2 on [0 1 2] borrowed"}},
		{"the job that takes the last node leaves the limit to another than the blocked one, and a job elsewhere takes that", func() *naiveWorld {
			w := filling()
			w.enqueue(0, 1, 1, 40, 3).Tenant = 0
			w.enqueue(0, 1, 4, 100, 8).Tenant = 1
			w.enqueue(1, 12, 1, 100, 5).Tenant = 1
			return w
		}, []string{"00:00:10: 2 assign job 3 on [3]", "00:00:25: 4 assign job 2 on [0 1 2] borrowed"}},
		{"a job that is overdue elsewhere keeps a cap", func() *naiveWorld {
			w := onCycle(0, 0, 1)
			w.cfg.Site.PowerCap = 100
			w.cfg.Policies[0].Cycle = model.Second / 2
			w.cfg.Extend = true
			w.grace = 1000 * model.Second
			w.cfg.Quota.Tick, w.cfg.Quota.Window = 1000*model.Second, 4000*model.Second
			for i := range w.cfg.Site.Nodes {
				w.cfg.Site.Nodes[i].BusyPower = 0
			}
			ends := w.enqueue(0, 0, 1, 20, 5) // at 20.4
			ends.Walltime += 400 * model.Millisecond
			ends.runtime = 100 * model.Second
			overdue := w.enqueue(1, 0, 1, 10, 5)
			overdue.Power, overdue.runtime = 60, 100*model.Second
			w.enqueue(0, 1, 2, 100, 9).Power = 60
			w.enqueue(0, 1, 1, 5000, 1) // would delay job 2
			w.enqueue(0, 19, 1, 1, 0)   // is submitted when less than a second is left until job 2 has nodes
			last := &w.jobs[4]
			last.Submit += model.Time(900 * model.Millisecond)
			last.Eligible = last.Submit
			return w
		}, nil},
		{"a service lacks nodes for a cap, of which a job elsewhere gives back", func() *naiveWorld {
			w := onCycle(0, 0, 1)
			w.cfg.Site.PowerCap = 250
			servesTo(2)(w.enqueue(0, 0, 1, 100, 5))
			w.enqueue(1, 1, 1, 22, 5) // until 23
			w.demand(5, 0, 2)
			return w
		}, []string{"00:00:30: 3 resize job 0 on [0 1]"}},
		{"a tenant takes a node elsewhere, and its waiting job is confined to one where it delays no other", func() *naiveWorld {
			w := onCycle(0, 0, 1)
			w.cfg.Shared = true
			for i := range w.cfg.Site.Nodes {
				w.cfg.Site.Nodes[i].GPUs = 4
			}
			w.cfg.Quota.GPUs = 12
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 2}}, {Name: "u"}}
			w.cfg.Quota.Tenants = w.cfg.Site.Tenants
			shares := func(vcluster, at, gpus, wall int, class int32, tenant model.TenantID) {
				e := w.enqueue(vcluster, at, 1, wall, class)
				e.GPUs, e.Tenant = int32(gpus), tenant
			}
			shares(0, 0, 3, 100, 5, 1)  // on node 0
			shares(0, 0, 2, 1000, 5, 0) // on node 1
			shares(0, 1, 4, 50, 9, 1)   // is to have node 0 when job 0 ends
			shares(0, 1, 1, 1000, 3, 0) // fits best on node 0 until tenant t holds two nodes, and counts node 1 among them
			shares(1, 12, 4, 1000, 5, 0)
			return w
		}, []string{"00:00:12: 3 assign job 4 on [2/1111{0 0 0}]", "00:00:20: 4 assign job 3 on [1/100{0 0 0}]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.world()
			requireAlike(t, w)
			require.Subset(t, w.proposals(site.New(w.cfg)), c.shows)
			if limitsConcurrency(w) {
				byQOS(w)
				requireAlike(t, w)
				require.Subset(t, w.proposals(site.New(w.cfg)), c.shows, "limits of qualities of service")
			}
		})
	}
}

func limitsConcurrency(w *naiveWorld) bool {
	return slices.ContainsFunc(w.cfg.Site.Tenants, func(t model.Tenant) bool { return t.Limits.MaxConcurrent > 0 })
}

// byQOS makes the limits on the running jobs of each tenant those of a quality of service. Each job is of a tenant of its own, which
// has none.
func byQOS(w *naiveWorld) {
	for _, t := range w.cfg.Site.Tenants {
		w.cfg.Site.QOS = append(w.cfg.Site.QOS, model.QOS{Name: t.Name, Class: -1, GroupJobs: t.Limits.MaxConcurrent, UsageFactor: model.One})
	}
	w.cfg.Site.Tenants, w.cfg.Quota.QOS = make([]model.Tenant, len(w.jobs)), w.cfg.Site.QOS
	w.cfg.Quota.Tenants = w.cfg.Site.Tenants
	for i := range w.jobs {
		j := &w.jobs[i]
		j.QOS, j.Tenant = model.QOSID(j.Tenant), model.TenantID(i)
	}
}
