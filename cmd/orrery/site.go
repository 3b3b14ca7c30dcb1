package main

import (
	"fmt"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
)

// siteFlags are the flags that make a replay that of a site.
type siteFlags struct {
	file     string
	profiles []string
}

func (s *settings) registerSite() {
	s.flags.StringVar(&s.site.file, "cluster", "", "cluster file `FILE`: nodes, vClusters with their profiles, tenants, events")
	s.flags.StringArrayVar(&s.site.profiles, "profile", nil, "schedule by the profile `[VCLUSTER=]NAME` (a name or a file), in all vClusters or in one; may be given several times")
}

// enterSite puts the site into the spec, when the flags ask for one. The plain
// flags for the size of the machine describe it where there is no cluster file.
func (s *settings) enterSite(spec *sim.Spec, t *trace) error {
	f := &s.site
	if f.file == "" && len(f.profiles) == 0 {
		return nil
	}
	c, err := s.clusterFile(spec, t)
	if err != nil {
		return err
	}
	for _, p := range f.profiles {
		if err := override(c, p); err != nil {
			return err
		}
	}
	if err := c.Inline("."); err != nil {
		return &sim.UsageError{Text: err.Error()}
	}
	// What the plain flags have at their defaults, the site says itself.
	for _, name := range []string{"order", "backfill", "event-order", "cycle", "phase", "quorum-latency", "quorum-jitter"} {
		if s.flags.Changed(name) {
			return usagef("--%s goes without --cluster and --profile: the profile says it, or the cluster file does", name)
		}
	}
	spec.Site, spec.Cluster = c.JSON(), sim.ClusterSpec{}
	spec.Order, spec.Backfill, spec.EventOrder, spec.Depth, spec.Cycle, spec.Phase = "", "", "", 0, 0, 0
	return nil
}

// clusterFile reads --cluster, or makes a site of equal nodes from the flags and
// the trace.
func (s *settings) clusterFile(spec *sim.Spec, t *trace) (*profiles.Cluster, error) {
	if s.site.file != "" {
		for _, name := range []string{"procs", "nodes", "cores-per-node", "exclusive"} {
			if s.flags.Changed(name) {
				return nil, usagef("--%s and --cluster: the cluster file says how large the cluster is", name)
			}
		}
		c, err := profiles.LoadCluster(s.site.file)
		if err != nil {
			return nil, &sim.UsageError{Text: err.Error()}
		}
		return c, nil
	}
	size, err := spec.Cluster.Resolve(t.info, t.nodes)
	if err != nil {
		return nil, err
	}
	nodes, cores := size.Nodes, size.CoresPerNode
	if size.Procs > 0 {
		nodes, cores = size.Procs, 1
	}
	if cores > 1 && !size.Exclusive {
		return nil, usagef("--profile on nodes of %d cores: a site hands out whole nodes; give --exclusive, or a cluster file", cores)
	}
	text := plainAgents
	if !size.Table {
		text += fmt.Sprintf(plainNodes, cores, nodes)
	}
	return profiles.ParseCluster("flags", []byte(text))
}

// A plain machine as a cluster file: jobs end at their request, nothing is
// wiped or booted, and the nodes are all alike.
const (
	plainAgents = `agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
`
	plainNodes = `node_types: [{name: node, cpus: %d}]
groups: [{name: n, nodes: %d, type: node, fingerprint: alike}]
`
)

// override replaces the profile of one vCluster, or of all.
func override(c *profiles.Cluster, flag string) error {
	if len(c.VClusters) == 0 {
		c.VClusters = []profiles.VCluster{{Name: "default", Home: profiles.Nodes{"all"}, MaxLent: 0.2, Grace: model.Minute}}
	}
	name, profile, one := strings.Cut(flag, "=")
	if !one {
		profile = flag
	}
	found := false
	for i := range c.VClusters {
		if v := &c.VClusters[i]; !one || v.Name == name {
			v.Profile, found = profiles.ProfileRef{Name: profile}, true
		}
	}
	if !found {
		return &sim.UsageError{Text: fmt.Sprintf("--profile %s: the cluster has no vCluster %s", flag, name)}
	}
	return nil
}
