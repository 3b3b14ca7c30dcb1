package profiles

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// Site is a cluster file in the words of the scheduler: names turned into dense
// ids, in the order of the file.
type Site struct {
	model.Site
	Profiles []Profile // of each vCluster
	GPUTypes []string  // by the id that nodes have
	Prints   []string  // names of the fingerprints, by their id
	// AssocPriority of each tenant, for the order multifactor.
	AssocPriority []int64
	// Associations are those of Slurm's database, for its own schedulers.
	Associations []Association
	Shared       bool  // shares of nodes are allocated, not whole ones
	JobCPUs      int32 // of each node for a job that does not say, where model.Site.Amounts
	JobMemory    int64 // likewise, bytes
	// What holds for a job whose row does not say: what saves its work, after which
	// failures it returns to the queue, and how often.
	JobCheckpoint model.Checkpoint
	JobRequeue    model.Requeue
	JobRequeueMax int32
	Price         model.Fixed
	Unknown       string // none, neutral or reject
	// RejectOverLimit withdraws jobs that are over a limit at their submission.
	RejectOverLimit bool
	Quorum          Quorum
	Agents          Agents
	Failures        Failures
	SharedParts     []SharedPart     // of Failures.Shared
	NodeMTBF        []model.Duration // of each node; nil where all have that of Failures
	NodeTypes       []string         // the name of the type of each node, "" for the only one
	// Tick and Usage are those of the profiles that keep accounts, which agree.
	Tick    model.Duration
	Usage   Usage
	Changes []Change // ascending by time
	// Hardware is what is known of the speed and the power of its nodes.
	Hardware *Hardware
	// TargetWait is the wait within which jobs should start, by class; 0 is none.
	TargetWait [model.SensitiveClass + 1]model.Duration
}

// Change is an event with its subject resolved.
type Change struct {
	At     model.Time
	Kind   string
	Key    string         // of the event in its file: events[2]
	Nodes  model.NodeSet  // of the kinds that are about nodes
	Tenant model.TenantID // of quota, else -1
	// Limits are all limits of the tenant from then on, for quota.
	Limits model.Limits
	Amount int64       // of power_cap (W), storage_bandwidth (B/s), sensitive_pool; 0 lifts it
	Price  model.Fixed // of price
}

// resolver turns one cluster into a Site.
type resolver struct {
	*checker
	c      *Cluster
	site   *Site
	groups map[string]int32 // by name
	prints map[string]int32 // fingerprints by name
	nodes  map[string]model.NodeID
	named  int      // nodes in sets so far
	types  []string // names of the types of the nodes, "" for the only one
}

// maxNamed bounds the nodes that all partitions, reservations and events name
// together, at the size of their sets.
const maxNamed = 1 << 33

// Resolve checks everything that only shows once the nodes are known, and turns
// c into a Site. Cost: proportional to the nodes, and to the nodes of each
// partition and reservation. Profiles that are still names are read.
func (c *Cluster) Resolve() (*Site, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := c.Inline("."); err != nil {
		return nil, err
	}
	r := &resolver{checker: c.checker(), c: c, groups: map[string]int32{}, prints: map[string]int32{}, nodes: map[string]model.NodeID{}}
	r.site = &Site{Shared: c.Sharing != "whole", JobCPUs: c.JobCPUs, JobMemory: int64(c.JobMemory), Quorum: c.Quorum, Agents: c.Agents, Failures: c.Failures}
	r.site.Amounts = c.Sharing == "resources"
	r.site.JobCheckpoint = model.Checkpoint(slices.Index([]string{"auto", "manual", "none"}, c.JobCheckpoint))
	r.site.JobRequeue = model.Requeue(slices.Index([]string{"never", "on-node-failure", "always"}, c.JobRequeue))
	r.site.JobRequeueMax = c.JobRequeueMax
	r.site.Price, r.site.Unknown = model.FixedOf(c.Price), c.UnknownTenants
	r.site.RejectOverLimit = c.OverLimit == "reject"
	for _, x := range c.Classes {
		r.site.TargetWait[x.Class] = x.TargetWait
	}
	r.topologies()
	if len(c.rows) > 0 {
		r.table()
	} else {
		r.listed()
	}
	if r.site.Amounts {
		r.countCPUs()
	}
	if len(r.problems.list) == 0 {
		r.adjacency()
		r.limits()
		r.vclusters()
		r.agree()
		r.sets()
		r.changes()
		r.hardware()
		r.idlePowers()
		r.sharedParts()
		r.lives()
		r.site.NodeTypes = r.types
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.site, nil
}

// topologies turns the node types into those of the site: one for each type
// whose GPUs are not all alike.
func (r *resolver) topologies() {
	for i := range r.c.NodeTypes {
		t := &r.c.NodeTypes[i]
		if !t.GPUTopology.empty() {
			r.site.Topologies = append(r.site.Topologies, t.GPUTopology.matrix(t.Name, t.GPUs))
		}
	}
}

// matrix is the bandwidth between any two GPUs; of a GPU with itself it is 0.
func (g *GPUTopology) matrix(name string, gpus int32) model.GPUTopology {
	out := model.GPUTopology{Name: name, NUMA: make([]int32, gpus), Bandwidth: make([][]int64, gpus)}
	copy(out.NUMA, g.NUMA)
	island := make([]int, gpus)
	for i, members := range g.Islands {
		for _, n := range members {
			island[n] = i + 1
		}
	}
	for i := range gpus {
		out.Bandwidth[i] = make([]int64, gpus)
		for j := range gpus {
			switch {
			case i == j:
			case len(g.Bandwidth) > 0:
				out.Bandwidth[i][j] = g.Bandwidth[i][j]
			case island[i] > 0 && island[i] == island[j]:
				out.Bandwidth[i][j] = g.IslandBandwidth
			default:
				out.Bandwidth[i][j] = g.OtherBandwidth
			}
		}
	}
	return out
}

// index is the position of name in list, which it is added to where it is new;
// -1 without a name.
func index(list *[]string, name string) int32 {
	if name == "" {
		return -1
	}
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return int32(i)
}

// typed is a node of a type, without name and place.
func (r *resolver) typed(name string) model.Node {
	n := model.Node{Home: -1, GPUType: -1, Topology: -1, Fingerprint: -1}
	topology := int32(0)
	for i := range r.c.NodeTypes {
		t := &r.c.NodeTypes[i]
		if t.Name == name || name == "" && len(r.c.NodeTypes) == 1 {
			n.GPUType, n.GPUs, n.GPUMemory = index(&r.site.GPUTypes, t.GPU), t.GPUs, int64(t.GPUMemory)
			n.CPUs, n.Memory, n.Unified, n.CXLOnly = t.CPUs, int64(t.Memory), t.Unified, t.CXLOnly
			n.IdlePower, n.BusyPower = int64(t.IdlePower), int64(t.BusyPower)
			n.Features = slices.Compact(slices.Sorted(slices.Values(t.Features)))
			if !t.GPUTopology.empty() {
				n.Topology = topology
			}
			return n
		}
		if !t.GPUTopology.empty() {
			topology++
		}
	}
	return n
}

// group is the id of the dragonfly group of that name.
func (r *resolver) group(name string) int32 {
	id, ok := r.groups[name]
	if !ok {
		id = int32(len(r.site.Groups))
		r.groups[name] = id
		r.site.Groups = append(r.site.Groups, model.Group{Name: name})
	}
	return id
}

// print is the id of the fingerprint of that name, -1 when it is not known.
func (r *resolver) print(name string) int32 {
	if name == "" {
		return -1
	}
	id, ok := r.prints[name]
	if !ok {
		id = int32(len(r.site.Prints))
		r.prints[name] = id
		r.site.Prints = append(r.site.Prints, name)
	}
	return id
}

// of is the path of one term of a list of them.
func of(path string, terms Nodes, i int) string {
	if len(terms) < 2 {
		return path
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

// add puts a node of a type into the site.
func (r *resolver) add(path, of string, n model.Node) {
	if old, twice := r.nodes[n.Name]; twice {
		r.problems.add(path, "names the node %s a second time (it is node %d already): give each node one place", n.Name, old)
		return
	}
	r.nodes[n.Name] = model.NodeID(len(r.site.Nodes))
	r.site.Nodes = append(r.site.Nodes, n)
	r.types = append(r.types, of)
}

// listed makes the nodes of the groups.
func (r *resolver) listed() {
	if len(r.c.Groups) == 0 {
		r.problems.add("groups", "there are no nodes: list groups, or replay a trace with a table of nodes")
	}
	numbered := map[string]int{} // nodes of each group that are only counted
	for i := range r.c.Groups {
		g := &r.c.Groups[i]
		node := r.typed(g.Type)
		node.Group, node.Fingerprint = r.group(g.Name), r.print(g.Fingerprint)
		for j, term := range g.Nodes {
			path, left := of(fmt.Sprintf("groups[%d].nodes", i), g.Nodes, j), MaxNodes-len(r.site.Nodes)
			n, counted := count(term)
			if counted && (n > left || n == 0) {
				r.problems.add(path, "found %s nodes, want 1 to %d in all groups together", term, MaxNodes)
				return
			}
			if counted {
				for range n {
					numbered[g.Name]++
					node.Name = fmt.Sprintf("%s-%d", g.Name, numbered[g.Name])
					r.add(path, g.Type, node)
				}
				continue
			}
			names, err := expand(term, left)
			if err != nil {
				r.problems.add(path, "%v", err)
				return
			}
			for _, node.Name = range names {
				r.add(path, g.Type, node)
			}
		}
	}
	r.site.Fingerprints = int32(len(r.site.Prints))
}

// countCPUs finds nodes that could hold no job: each takes a CPU at least.
func (r *resolver) countCPUs() {
	i := slices.IndexFunc(r.site.Nodes, func(n model.Node) bool { return n.CPUs == 0 })
	if i >= 0 {
		r.problems.add("sharing", "found resources, but node %s has no CPUs: say how many, under cpus of its type or in the table of nodes", r.site.Nodes[i].Name)
	}
}

// table makes the nodes of the rows that stand in for groups.
func (r *resolver) table() {
	if len(r.c.Groups) > 0 {
		r.problems.add("groups", "stand beside a table of nodes: leave them out, or do without the table")
		return
	}
	if len(r.c.rows) > MaxNodes {
		r.problems.add("groups", "the table has %d nodes, want at most %d", len(r.c.rows), MaxNodes)
		return
	}
	types := map[string]model.Node{}
	for i := range r.c.rows {
		row := &r.c.rows[i]
		node, ok := types[row.Type]
		if !ok {
			node = r.typed(row.Type)
			types[row.Type] = node
		}
		node.Name, node.Group = cmp.Or(row.Name, fmt.Sprintf("node-%d", i+1)), r.group(row.Group)
		node.Fingerprint = r.print(row.Fingerprint)
		node.GPUs, node.CPUs = cmp.Or(row.GPUs, node.GPUs), cmp.Or(row.CPUs, node.CPUs)
		node.Memory, node.GPUMemory = cmp.Or(row.Memory, node.Memory), cmp.Or(row.GPUMemory, node.GPUMemory)
		if row.GPUModel != "" {
			node.GPUType = index(&r.site.GPUTypes, row.GPUModel)
		}
		if node.Topology >= 0 && int(node.GPUs) != len(r.site.Topologies[node.Topology].NUMA) {
			node.Topology = -1
		}
		if !row.Up {
			node.State = model.Down
		}
		if node.Home = r.home(row.VCluster); node.Home < -1 {
			r.problems.add("vclusters", "the table of nodes puts node %s at home on %q, which is not among them: add it, or leave out all vclusters", row.Name, row.VCluster)
			return
		}
		r.add("groups", row.Type, node)
	}
	r.site.Fingerprints = int32(len(r.site.Prints))
}

// home is the id of a vCluster, -1 without a name, -2 for one that is not there.
func (r *resolver) home(name string) model.VClusterID {
	if name == "" || len(r.c.VClusters) == 0 {
		return -1
	}
	i := slices.IndexFunc(r.c.VClusters, func(v VCluster) bool { return v.Name == name })
	if i < 0 {
		return -2
	}
	return model.VClusterID(i)
}

// adjacency says which groups are one hop apart.
func (r *resolver) adjacency() {
	groups := r.site.Groups
	for i := range groups {
		if n, both := r.nodes[groups[i].Name]; both {
			r.problems.add("groups", "%q is a group and node %d: give one of them another name", groups[i].Name, n)
		}
	}
	if len(groups) > maxGroups {
		r.problems.add("groups", "found %d dragonfly groups, want at most %d", len(groups), maxGroups)
		return
	}
	if r.c.Topology == "dragonfly" {
		for i := range groups {
			groups[i].Adjacent = make([]int32, 0, len(groups)-1)
			for j := range groups {
				if i != j {
					groups[i].Adjacent = append(groups[i].Adjacent, int32(j))
				}
			}
		}
		return
	}
	for i := range r.c.Groups {
		g := &r.c.Groups[i]
		for _, other := range g.Adjacent {
			a, b := r.groups[g.Name], r.groups[other]
			if a != b {
				groups[a].Adjacent = append(groups[a].Adjacent, b)
				groups[b].Adjacent = append(groups[b].Adjacent, a)
			}
		}
	}
	for i := range groups {
		slices.Sort(groups[i].Adjacent)
		groups[i].Adjacent = slices.Compact(groups[i].Adjacent)
	}
}
