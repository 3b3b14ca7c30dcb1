package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
)

// A job that could never start is refused for what stands in its way: of ten nodes two are at
// home in the vCluster, the lender of six lends half of them, two are of no vCluster; five each are alike.
func TestUnsatisfiableSaysWhy(t *testing.T) {
	cfg := alike(10, fcfs(order.Easy))
	cfg.Site.VClusters = []model.VCluster{{Name: "small", Borrow: true}, {Name: "large", Lend: true, MaxLent: model.One / 2}}
	cfg.Policies = []site.Policy{fcfs(order.Easy), fcfs(order.Easy)}
	cfg.Site.Fingerprints = 2
	for i := range cfg.Site.Nodes {
		n := &cfg.Site.Nodes[i]
		n.BusyPower, n.IdlePower, n.Fingerprint = 100, 100, int32(i/5)
		switch {
		case i < 2:
			n.Home = 0
		case i < 8:
			n.Home = 1
		}
	}
	for _, c := range []struct {
		name string
		job  func(*model.Allocation)
		caps site.Caps
		want model.Reason
	}{
		{"own nodes and those of no vCluster", func(a *model.Allocation) { a.NodesMin = 4 }, site.Caps{}, model.ReasonNone},
		{"all that is lent", func(a *model.Allocation) { a.NodesMin = 7 }, site.Caps{}, model.ReasonNone},
		{"more than is lent", func(a *model.Allocation) { a.NodesMin = 8 }, site.Caps{}, model.ReasonLendLimit},
		{"all that others have", func(a *model.Allocation) { a.NodesMin = 10 }, site.Caps{}, model.ReasonLendLimit},
		{"more than there is", func(a *model.Allocation) { a.NodesMin = 11 }, site.Caps{}, model.ReasonTooLarge},
		{"it may not borrow", func(a *model.Allocation) { a.NodesMin, a.Kind = 5, model.Service }, site.Caps{}, model.ReasonTooLarge},
		{"sensitive, of two groups", func(a *model.Allocation) { a.NodesMin, a.Sensitive = 4, true }, site.Caps{}, model.ReasonConformance},
		{"sensitive, too many", func(a *model.Allocation) { a.NodesMin, a.Sensitive = 5, true }, site.Caps{}, model.ReasonTooLarge},
		{"sensitive, above the pool", func(a *model.Allocation) { a.NodesMin, a.Sensitive = 2, true }, site.Caps{Sensitive: 1}, model.ReasonSensitivePool},
		{"power", func(a *model.Allocation) { a.NodesMin = 4 }, site.Caps{Power: 399}, model.ReasonPower},
		{"power enough", func(a *model.Allocation) { a.NodesMin = 4 }, site.Caps{Power: 400}, model.ReasonNone},
		{"bandwidth", func(a *model.Allocation) { a.IODemand = 2 }, site.Caps{Bandwidth: 1}, model.ReasonBandwidth},
	} {
		cfg.Max.Caps = &c.caps
		f := errand{walltime: 10, nodes: 1}.fact(0)
		c.job(f.Alloc)
		f.Alloc.NodesMax = max(f.Alloc.NodesMax, f.Alloc.NodesMin)
		require.NoError(t, cfg.Validate())
		require.Equal(t, c.want, site.New(cfg).Unsatisfiable(&f), c.name)
	}
}

// Where idle nodes count against the cap on power, a job that does not fit beside all others idle
// could never start. Of ten nodes of 200 W and 1 kW at work nine draw 1.8 kW.
func TestUnsatisfiableBesideIdleNodes(t *testing.T) {
	down := model.NewNodeSet(10)
	down.Add(9)
	for _, c := range []struct {
		name string
		job  func(*model.Allocation)
		of   func(*site.Config)
		cap  int64
		want model.Reason
	}{
		{"one node", nil, nil, 2800, model.ReasonNone},
		{"one node, a watt too many", nil, nil, 2799, model.ReasonPower},
		{"idle nodes that do not count", nil, func(c *site.Config) { c.Site.CountIdle = false }, 2500, model.ReasonNone},
		{"another is down", nil, func(c *site.Config) { c.Site.Nodes[3].State = model.Down }, 2600, model.ReasonNone},
		{"another may be down", nil, func(c *site.Config) { c.Max.MayFail = down }, 2600, model.ReasonNone},
		{"another is down, a watt too many", nil, func(c *site.Config) { c.Site.Nodes[3].State = model.Down }, 2599, model.ReasonPower},
		{"two nodes", func(a *model.Allocation) { a.NodesMin = 2 }, nil, 3600, model.ReasonNone},
		{"two nodes, a watt too many", func(a *model.Allocation) { a.NodesMin = 2 }, nil, 3599, model.ReasonPower},
		{"the row states its power", func(a *model.Allocation) { a.Power = 500 }, nil, 2300, model.ReasonNone},
		{"the row states a watt too many", func(a *model.Allocation) { a.Power = 501 }, nil, 2300, model.ReasonPower},
		{"one node grows by less", nil, func(c *site.Config) { c.Site.Nodes[5].BusyPower = 300 }, 2100, model.ReasonNone},
		{"no node grows by so little", nil, func(c *site.Config) { c.Site.Nodes[5].BusyPower = 301 }, 2100, model.ReasonPower},
	} {
		cfg := alike(10, fcfs(order.Easy))
		cfg.Site.CountIdle = true
		for i := range cfg.Site.Nodes {
			n := &cfg.Site.Nodes[i]
			n.BusyPower, n.IdlePower = 1000, 200
		}
		cfg.Max.Caps = &site.Caps{Power: c.cap}
		if c.of != nil {
			c.of(&cfg)
		}
		f := errand{walltime: 10, nodes: 1}.fact(0)
		if c.job != nil {
			c.job(f.Alloc)
		}
		f.Alloc.NodesMax = max(f.Alloc.NodesMax, f.Alloc.NodesMin)
		require.NoError(t, cfg.Validate())
		require.Equal(t, c.want, site.New(cfg).Unsatisfiable(&f), c.name)
	}
}
