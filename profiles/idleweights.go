package profiles

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// idleWeight is a weight of an order whose factor is the same for all jobs of a site.
type idleWeight struct {
	key    string
	points float64
	why    string
}

// IdleWeights says how much of the weights of the profile of vCluster i acts on nothing, for the
// site has not what their factors are made of; "" where all act, and where the profile is only
// named. site is what c resolves to, nil where its nodes come from a trace.
func (c *Cluster) IdleWeights(i int, site *Site) string {
	p := c.VClusters[i].Profile.Inline
	if p == nil {
		return ""
	}
	var idle []idleWeight
	all, unit := 0.0, "points"
	switch p.Order {
	case "multifactor":
		all, idle = c.idlePoints(&p.Multifactor, site)
	case "score":
		all, idle = c.idleScores(p, site)
		unit = "of the weights"
	}
	if len(idle) == 0 {
		return ""
	}
	sum := 0.0
	var parts []string
	for _, w := range idle {
		sum += w.points
		parts = append(parts, fmt.Sprintf("%s %.10g (%s)", w.key, w.points, w.why))
	}
	return fmt.Sprintf("%.10g of %.10g %s act on nothing: %s", sum, all, unit, strings.Join(parts, ", "))
}

// idlePoints are those of Slurm's priority, and the sum of all.
func (c *Cluster) idlePoints(m *Multifactor, site *Site) (all float64, idle []idleWeight) {
	has := func(what func(n *model.Node) bool) bool {
		return site == nil || slices.ContainsFunc(site.Nodes, func(n model.Node) bool { return what(&n) })
	}
	partitions := slices.ContainsFunc(c.Partitions, func(p Partition) bool { return p.Priority != c.Partitions[0].Priority })
	for _, w := range []struct {
		key    string
		points int64
		acts   bool
		why    string
	}{
		{"age", m.Age, true, ""}, {"job_size", m.JobSize, true, ""},
		{"fairshare", m.FairShare, len(c.Tenants) > 0, "no accounts"},
		{"assoc", m.Assoc, slices.ContainsFunc(c.Tenants, func(t Tenant) bool { return t.Priority > 0 }), "no priorities of accounts"},
		{"qos", m.QOS, slices.ContainsFunc(c.QOS, func(q QOS) bool { return q.Priority > 0 }), "no priorities of qualities of service"},
		{"partition", m.Partition, partitions, "no partitions of different priorities"},
		{"tres.node", abs(m.TRES.Node), true, ""}, {"tres.cpu", abs(m.TRES.CPU), has(func(n *model.Node) bool { return n.CPUs > 0 }), "no CPUs stated"},
		{"tres.memory", abs(m.TRES.Memory), has(func(n *model.Node) bool { return n.Memory > 0 }), "no memory stated"},
		{"tres.gpu", abs(m.TRES.GPU), has(func(n *model.Node) bool { return n.GPUs > 0 }), "no GPUs"},
	} {
		if all += float64(w.points); w.points > 0 && !w.acts {
			idle = append(idle, idleWeight{w.key, float64(w.points), w.why})
		}
	}
	return all, idle
}

func abs(x int32) int64 { return max(int64(x), -int64(x)) }

// idleScores are those of the nine factors, and the sum of all.
func (c *Cluster) idleScores(p *Profile, site *Site) (all float64, idle []idleWeight) {
	w := &p.Weights
	for _, x := range w.vector() {
		all += x
	}
	for _, x := range []struct {
		key    string
		weight float64
		acts   bool
		why    string
	}{
		{"fair_share", w.FairShare, slices.ContainsFunc(c.Tenants, func(t Tenant) bool { return t.FairShare > 0 }), "no tenant has a fair_share"},
		{"topology", w.Topology, site == nil || len(site.Groups) > 1, "there is one group"},
		{"backlog", w.Backlog, p.MinScore != nil, "equal for all jobs of a pass without min_score"},
		{"energy", w.Energy, p.MinScore != nil || p.Energy == "expected", "equal for all jobs of a pass without min_score"},
	} {
		if x.weight > 0 && !x.acts {
			idle = append(idle, idleWeight{x.key, x.weight, x.why})
		}
	}
	return all, idle
}

// remarkIdle says so of the profiles that the file itself has.
func (c *Cluster) remarkIdle(all *problems, site *Site) {
	for i := range c.VClusters {
		p := c.VClusters[i].Profile.Inline
		if p == nil || p.src != nil && slices.Contains(Names(), p.src.file) {
			continue
		}
		if p.Order == "score" && p.src != nil && !p.src.has(join(p.base, "weights")) {
			continue
		}
		if text := c.IdleWeights(i, site); text != "" {
			all.add(fmt.Sprintf("vclusters[%d].profile", i), "%s", text)
		}
	}
}
