package plan

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Limits of a cluster, far above any machine there is and below what a mistyped
// number would ask of the memory of the one that replays: nodes, processors on
// one of them, and nodes times processors on each (the view keeps a bit for
// each node and number of free processors).
const (
	maxNodes        = 1 << 22
	maxCoresPerNode = 1 << 14
	maxNodeCores    = 1 << 31
)

// tooLarge says what exceeds the limits, "" when nothing does.
func tooLarge(nodes, cores int64) string {
	switch {
	case nodes > maxNodes:
		return fmt.Sprintf("%d nodes, at most %d", nodes, maxNodes)
	case cores > maxCoresPerNode:
		return fmt.Sprintf("%d processors on a node, at most %d", cores, maxCoresPerNode)
	case nodes*cores > maxNodeCores-1:
		return fmt.Sprintf("%d nodes of %d processors, at most %d processors in all", nodes, cores, int64(maxNodeCores-1))
	}
	return ""
}

// Resolve fills in a cluster that was left to the trace.
func (c ClusterSpec) Resolve(info traces.Info, nodes []traces.Node) (ClusterSpec, error) {
	switch {
	case c.Procs < 0 || c.Nodes < 0 || c.CoresPerNode < 0 || c.GPUsPerNode < 0:
		return c, usagef("a cluster of negative size: %d processors, %d nodes, %d cores and %d GPUs per node", c.Procs, c.Nodes, c.CoresPerNode, c.GPUsPerNode)
	case c.Procs > 0 && (c.Nodes > 0 || c.CoresPerNode > 0 || c.GPUsPerNode > 0 || c.Exclusive || c.Table):
		return c, usagef("--procs is a cluster of one-core nodes: leave out --nodes, --cores-per-node, --gpus-per-node and --exclusive")
	case (c.Nodes > 0) != (c.CoresPerNode > 0):
		return c, usagef("--nodes and --cores-per-node go together")
	case c.GPUsPerNode > 0 && c.Nodes == 0:
		return c, usagef("--gpus-per-node needs nodes: give --nodes and --cores-per-node")
	case c.GPUsPerNode > mostGPUs:
		return c, usagef("%d GPUs on a node, at most %d", c.GPUsPerNode, mostGPUs)
	case c.Table && len(nodes) == 0:
		return c, usagef("the spec takes its cluster from the nodes table of the trace, which has none")
	case c.Table:
		return c, nil
	case c.Procs > 0:
		if why := tooLarge(int64(c.Procs), 1); why != "" {
			return c, usagef("a cluster of %s", why)
		}
		return c, nil
	case c.Nodes > 0:
		if why := tooLarge(int64(c.Nodes), int64(c.CoresPerNode)); why != "" {
			return c, usagef("a cluster of %s", why)
		}
		return c, nil
	case len(nodes) > 0:
		c.Table = true
	case c.Exclusive:
		return c, usagef("--exclusive needs nodes: give --nodes and --cores-per-node")
	case info.MaxProcs > 0:
		if why := tooLarge(int64(info.MaxProcs), 1); why != "" {
			return c, &traces.DataError{File: info.Name, Found: "a cluster of " + why, Expected: "the size of the cluster that the log is from", Mend: "give --procs"}
		}
		c.Procs = info.MaxProcs
	default:
		return c, usagef("the trace %s does not say how large the cluster was: give --procs, or --nodes and --cores-per-node", info.Name)
	}
	return c, nil
}

// cluster is a plain cluster that has been resolved, and what its units are.
func (c ClusterSpec) cluster(info traces.Info, nodes []traces.Node) (of model.Cluster, units translate.Units, err error) {
	switch {
	case c.Procs > 0:
		return model.UniformCluster(c.Procs, 1, false), units, nil
	case c.Nodes > 0:
		if info.Fills("nodes_min") { // else rows know nothing of nodes, and processors count in all
			units = translate.Units{PerNode: true, CPUs: 1, NoGPUs: true}
		}
		return model.UniformCluster(c.Nodes, c.CoresPerNode, c.Exclusive), units, nil
	}
	nodeUnits, units, err := translate.ClusterOf(nodes)
	if err != nil {
		return of, units, &traces.DataError{File: info.Name, Found: err.Error(), Expected: "processors or GPUs on every node", Mend: "correct the nodes table"}
	}
	most := int64(0)
	for _, n := range nodeUnits {
		most = max(most, int64(n))
	}
	if why := tooLarge(int64(len(nodeUnits)), most); why != "" {
		return of, units, &traces.DataError{File: info.Name, Found: "a nodes table of " + why, Expected: "the nodes of one cluster", Mend: "correct the nodes table"}
	}
	return model.Cluster{Units: nodeUnits, Whole: c.Exclusive}, units, nil
}
