package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/traces"
)

// mostGPUs is how many GPUs a node of a cluster file has at most.
const mostGPUs = 64

// plainAgents let the jobs of a cluster that flags or a nodes table describe end at their
// request; nothing is wiped or booted.
const plainAgents = "agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\n"

// File is the text of a cluster file with the nodes of a resolved c, but without vClusters.
// Of a nodes table it leaves the nodes to the trace. Nodes are divided by what jobs ask of
// them where they have GPUs or shared is set, and are whole else.
func (c ClusterSpec) File(shared bool) string {
	nodes, cores := c.Nodes, c.CoresPerNode
	if c.Procs > 0 {
		nodes, cores = c.Procs, 1
	}
	text := "name: " + profiles.FlagsName + "\n" + plainAgents
	if (shared || c.GPUsPerNode > 0) && !c.Exclusive {
		text += "sharing: resources\n"
	}
	if c.Table {
		return text
	}
	kind := fmt.Sprintf("name: node, cpus: %d", cores)
	if c.GPUsPerNode > 0 {
		kind += fmt.Sprintf(", gpu: %s, gpus: %d", profiles.AnyGPU, c.GPUsPerNode)
	}
	return text + fmt.Sprintf("node_types: [{%s}]\ngroups: [{name: n, nodes: %d, type: node, fingerprint: alike}]\n", kind, nodes)
}

// divided says whether a plain cluster has to be a site, since a machine of equal units would
// ignore what rows ask for: nodes with GPUs beside CPUs, and of a nodes table shares of a GPU,
// types of GPUs, or GPUs that only some of the nodes have.
func (c ClusterSpec) divided(info traces.Info, nodes []traces.Node) bool {
	switch {
	case c.GPUsPerNode > 0:
		return true
	case !c.Table || !slices.ContainsFunc(nodes, func(n traces.Node) bool { return n.GPUs > 0 }):
		return false
	case !c.Exclusive && slices.ContainsFunc(nodes, func(n traces.Node) bool { return n.CPUs < 1 }):
		return false // a share takes a CPU at least
	case info.Fills("gpu_milli") && !c.Exclusive:
		return true
	case info.Fills("gpu_type") || info.Fills("gpu_types"):
		return slices.ContainsFunc(nodes, func(n traces.Node) bool { return n.GPUModel != "" })
	}
	return info.Fills("gpus_per_node") && slices.ContainsFunc(nodes, func(n traces.Node) bool { return n.GPUs == 0 })
}

// sited is s with the site that a divided cluster is: one vCluster of all nodes, with the
// order, the backfilling and the passes of s.
func (s Spec) sited(c ClusterSpec) (Spec, error) {
	if cmp.Or(s.EventOrder, "batch") != "batch" {
		return s, usagef("--event-order %s is for clusters of processors alone: nodes that are divided by CPUs and GPUs take their events in one batch", s.EventOrder)
	}
	backfill := cmp.Or(s.Backfill, "easy")
	if backfill == "conservative" && !c.Exclusive {
		return s, usagef("conservative backfilling plans whole nodes and cannot reserve shares of them: use easy, or --exclusive for whole nodes")
	}
	ranking := cmp.Or(s.Order, "fcfs")
	profile := []string{"name: " + ranking + "-" + backfill, "order: " + ranking, "backfill: " + backfill}
	if s.Depth > 0 {
		profile = append(profile, fmt.Sprintf("depth: %d", s.Depth))
	}
	if s.Cycle > 0 {
		profile = append(profile, "cycle: "+s.Cycle.String(), "phase: "+s.Phase.String())
	}
	text := c.File(true) + fmt.Sprintf("quorum: {latency: %s, jitter: %s}\n", s.QuorumLatency.String(), s.QuorumJitter.String()) +
		"vclusters: [{name: default, home: all, profile: {" + strings.Join(profile, ", ") + "}}]\n"
	file, err := profiles.ParseCluster("", []byte(text))
	if err != nil {
		return s, siteError{err}
	}
	s.Site, s.Cluster = file.JSON(), ClusterSpec{}
	s.Order, s.Backfill, s.EventOrder, s.Depth, s.Cycle, s.Phase, s.QuorumLatency, s.QuorumJitter = "", "", "", 0, 0, 0, 0, 0
	return s, nil
}
