package profiles

import (
	"fmt"
	"math/big"
	"slices"

	"orrery/scheduler/model"
)

// remarks says what of a valid cluster file has no effect or one that may
// surprise, in the order of the file. site is what it resolves to, nil where its
// nodes come from a trace.
func (c *Cluster) remarks(site *Site) []Problem {
	all := problems{src: c.src, place: c.place}
	for i := range c.VClusters {
		// A profile of the program is linted by its name: a cluster file that uses it cannot mend it.
		if p := c.VClusters[i].Profile.Inline; p != nil && (p.src == nil || !slices.Contains(Names(), p.src.file)) {
			all.list = append(all.list, p.remarks()...)
		}
		c.remarkLending(&all, i, site)
		c.remarkSelection(&all, i)
		c.remarkBorrowing(&all, i)
	}
	c.remarkTenants(&all, site)
	c.remarkQOS(&all)
	c.remarkPoints(&all)
	c.remarkIdle(&all, site)
	c.remarkNodes(&all)
	c.remarkPower(&all, site)
	c.remarkBoot(&all)
	c.remarkFileSystems(&all)
	c.remarkNetwork(&all)
	return all.sorted()
}

// remarkSelection looks at how the profile of vCluster i selects nodes.
func (c *Cluster) remarkSelection(all *problems, i int) {
	if p := c.VClusters[i].Profile.Inline; c.Sharing == "whole" && p != nil && p.Selection == "least-fragmentation" {
		all.add(profileKey(i, "selection"), "nodes are given whole, so no GPU is fragmented: the nodes are those of selection: documented")
	}
}

// remarkLending looks at what vCluster i lends.
func (c *Cluster) remarkLending(all *problems, i int, site *Site) {
	v, path := &c.VClusters[i], fmt.Sprintf("vclusters[%d]", i)
	said := func(key string) bool { return all.src.has(path + "." + key) }
	if !v.Lend || v.MaxLent == 0 {
		if said("max_lent") && !v.Lend {
			all.add(path+".max_lent", "it does not lend: leave it out, or lend: false")
		}
		return
	}
	key := "lend"
	if said("max_lent") {
		key = "max_lent"
	}
	home := int32(0)
	if site != nil {
		for n := range site.Nodes {
			if site.Nodes[n].Home == model.VClusterID(i) {
				home++
			}
		}
	}
	borrows := func(k int) bool { return k != i && c.VClusters[k].borrows() }
	others := slices.ContainsFunc(indices(c.VClusters), borrows)
	switch preempts := v.Profile.Inline != nil && v.Profile.Inline.Preemption.Enabled; {
	case c.Sharing == "gpus":
		if said(key) {
			all.add(path+"."+key, "nodes that are shared by GPU are never lent")
		}
	case !others:
		if said(key) {
			all.add(path+"."+key, "it lends, but no other vCluster borrows: others have borrow: false, or profiles that cannot (conservative, as-coded)")
		}
	case len(v.Home) == 0:
		if said(key) {
			all.add(path+"."+key, "it has no home, so it has no nodes to lend")
		}
	case site != nil && site.VClusters[i].Lendable(home) == 0:
		if said(key) {
			all.add(path+"."+key, "max_lent of its home rounds down to no node: it lends nothing")
		}
	case len(c.VClusters) > 1 && !preempts:
		all.add(path+".lend", "it lends, but its profile does not preempt: what it lends comes back only when the borrower ends")
	}
}

// borrows says whether jobs of v can borrow.
func (v *VCluster) borrows() bool {
	p := v.Profile.Inline
	return v.Borrow && (p == nil || p.Backfill != "conservative" && p.Mode != "as-coded")
}

// remarkBorrowing looks at what the file says of the borrowing of vCluster i.
func (c *Cluster) remarkBorrowing(all *problems, i int) {
	v, path := &c.VClusters[i], fmt.Sprintf("vclusters[%d].borrow", i)
	lends := func(k int) bool {
		return k != i && c.VClusters[k].Lend && c.VClusters[k].MaxLent > 0 && len(c.VClusters[k].Home) > 0
	}
	switch {
	case !v.Borrow || !all.src.has(path):
	case c.Sharing == "gpus":
		all.add(path, "nodes that are shared by GPU are never lent")
	case !v.borrows():
		all.add(path, "with conservative backfilling, and in as-coded mode, no vCluster borrows")
	case !slices.ContainsFunc(indices(c.VClusters), lends):
		all.add(path, "no other vCluster lends")
	}
}

func indices[T any](list []T) []int {
	out := make([]int, len(list))
	for i := range out {
		out[i] = i
	}
	return out
}

// remarkTenants looks at shares and limits.
func (c *Cluster) remarkTenants(all *problems, site *Site) {
	shares := new(big.Rat)
	for i := range c.Tenants {
		t, path := &c.Tenants[i], fmt.Sprintf("tenants[%d]", i)
		shares.Add(shares, decimal(t.FairShare))
		if t.Burst > 0 && t.FairShare == 0 {
			all.add(path+".burst", "it raises a fair_share, and the tenant has none")
		}
		if site != nil && int(t.MaxNodes) > len(site.Nodes) {
			all.add(path+".max_nodes", "the site has %d nodes: %d bounds nothing", len(site.Nodes), t.MaxNodes)
		}
	}
	if shares.Cmp(big.NewRat(1_000_000_001, 1_000_000_000)) > 0 { // parts of a whole are rounded
		all.add("tenants", "their fair shares sum to %s of the site: not all can reach theirs", shares.FloatString(2))
	}
}

// remarkQOS looks for limits that are not enforced.
func (c *Cluster) remarkQOS(all *problems) {
	for i := range c.QOS {
		if c.QOS[i].UserPending > 0 {
			all.add(fmt.Sprintf("qos[%d].user_pending", i), "it is read, but not enforced yet: no job is kept out by it")
		}
	}
}

// remarkPoints looks for priorities that no profile gives a weight to.
func (c *Cluster) remarkPoints(all *problems) {
	var tenants, qos, partitions bool // that something counts
	for i := range c.VClusters {
		p := c.VClusters[i].Profile.Inline
		if p == nil {
			return // its name says nothing
		}
		if m := &p.Multifactor; p.Order == "multifactor" {
			tenants, qos, partitions = tenants || m.Assoc > 0, qos || m.QOS > 0, partitions || m.Partition > 0
		}
	}
	for _, l := range []struct {
		key, weight string
		entries     int
		counts      bool
	}{{"tenants", "assoc", len(c.Tenants), tenants}, {"qos", "qos", len(c.QOS), qos}, {"partitions", "partition", len(c.Partitions), partitions}} {
		for i := range l.entries {
			if path := fmt.Sprintf("%s[%d].priority", l.key, i); !l.counts && all.src.has(path) {
				all.add(path, "no vCluster has the order multifactor with a weight for it: give multifactor.%s", l.weight)
				break // of the others the same is true
			}
		}
	}
}

// remarkNodes looks at node types and power.
func (c *Cluster) remarkNodes(all *problems) {
	least := Power(0)
	for i, t := range c.NodeTypes {
		used := slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Type == t.Name || g.Type == "" })
		if !used && len(c.Groups) > 0 {
			all.add(fmt.Sprintf("node_types[%d]", i), "no group has nodes of the type %s", t.Name)
		}
		if c.PowerCap > 0 && t.BusyPower == 0 {
			all.add(fmt.Sprintf("node_types[%d]", i), "nodes of the type %s draw nothing, so power_cap does not bound them: give busy_power", t.Name)
		}
		if i == 0 || t.BusyPower < least {
			least = t.BusyPower
		}
	}
	if c.PowerCap > 0 && least > c.PowerCap && c.Sharing == "whole" {
		all.add("power_cap", "every node draws more (%dW at least): nothing will ever start", int64(least))
	}
}
