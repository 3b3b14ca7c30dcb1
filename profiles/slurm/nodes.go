package slurm

import (
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/traces/hostlist"
)

// node is one node as slurm.conf has it.
type node struct {
	name string
	spec nodeSpec
}

// nodeSpec is what nodes of one line have in common. It is comparable.
type nodeSpec struct {
	cpus, boards, sockets, cores, threads int64
	memory                                int64 // MB
	features                              string
	gpu                                   string // model, "" without
	gpus                                  int64
	weight                                int64
	state                                 string
}

var freshNode = nodeSpec{boards: 1, sockets: 1, cores: 1, threads: 1, weight: 1, state: "UNKNOWN"}

// processors is CPUs=, or what sockets, cores and threads make.
func (s *nodeSpec) processors() int64 {
	if s.cpus > 0 {
		return s.cpus
	}
	return s.boards * s.sockets * s.cores * s.threads
}

// plainNode are options of a node that say nothing about scheduling whole nodes.
var plainNode = map[string]string{
	"nodeaddr": "where a node listens", "nodehostname": "where a node listens", "bcastaddr": "where a node listens", "port": "where a node listens",
	"reason": "a remark", "tmpdisk": "jobs do not ask for it here", "memspeclimit": "memory for the system counts as the node's", "corespeccount": "cores for the system count as the node's",
	"cpuspeclist": "cores for the system count as the node's", "tresweights": "billing is by GPU here, or by node where there are none", "cpubind": "binding of tasks",
	"coreslimit": "a limit on the user", "topology": "the topology is read from topology.conf", "gresflags": "binding of GPUs",
}

// nodeLine reads NodeName=, on top of what DEFAULT says.
func (c *converter) nodeLine(l line, def *nodeSpec) error {
	spec, names := *def, l.pairs[0]
	if futureNodes(l, def) {
		return c.future(l)
	}
	for _, p := range l.pairs[1:] {
		if err := c.nodeOption(p, &spec); err != nil {
			return err
		}
	}
	c.processorNotes(l, &spec)
	if strings.EqualFold(names.value, "DEFAULT") {
		*def = spec
		c.understood(names)
		return nil
	}
	list, err := c.expand(names.value)
	if err != nil {
		return c.errorf(l.number, "%w", err)
	}
	for _, name := range list {
		if _, twice := c.index[name]; twice {
			return c.errorf(l.number, "node %s is there a second time", name)
		}
		if len(c.nodes) >= profiles.MaxNodes {
			return c.errorf(l.number, "more than %d nodes", profiles.MaxNodes)
		}
		c.index[name] = len(c.nodes)
		c.nodes = append(c.nodes, node{name, spec})
	}
	c.understood(names)
	return nil
}

// productOptions make the number of processors where CPUs does not say it.
var productOptions = []string{"boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}

// processorNotes says which options say how many processors a node has.
func (c *converter) processorNotes(l line, s *nodeSpec) {
	for _, p := range l.pairs[1:] {
		switch {
		case !slices.Contains(productOptions, strings.ToLower(p.key)):
		case s.cpus > 0:
			c.plain(p, "CPUs says how many processors there are")
		default:
			c.understood(p)
		}
	}
}

// futureNodes says whether a line is about nodes that are not there yet.
func futureNodes(l line, def *nodeSpec) bool {
	state := def.state
	for _, p := range l.pairs[1:] {
		if p.is("State") {
			state = strings.ToUpper(p.value)
		}
	}
	return state == "FUTURE" && !strings.EqualFold(l.pairs[0].value, "DEFAULT")
}

// future leaves nodes out that are not there yet.
func (c *converter) future(l line) error {
	const why = "nodes in the state FUTURE are left out"
	c.approximated(l.pairs[0], why)
	for _, p := range l.pairs[1:] {
		c.ignored(p, why)
	}
	return nil
}

func (c *converter) nodeOption(p pair, s *nodeSpec) (err error) {
	const most = 1 << 30
	key := strings.ToLower(p.key)
	counts := map[string]*int64{
		"cpus": &s.cpus, "procs": &s.cpus, "boards": &s.boards, "sockets": &s.sockets, "socketsperboard": &s.sockets,
		"corespersocket": &s.cores, "threadspercore": &s.threads, "realmemory": &s.memory, "weight": &s.weight,
	}
	if to, ok := counts[key]; ok {
		if *to, err = c.number(p, 0, most); err != nil {
			return err
		}
		switch {
		case key == "weight":
			c.approximated(p, "nodes of less weight stand first in the cluster file, which decides among nodes that are equal to the selection only")
		case !slices.Contains(productOptions, key): // of those processorNotes tells
			c.understood(p)
		}
		if s.cpus == 0 && s.boards*s.sockets > 1<<15 || s.cores > 1<<15 || s.threads > 1<<10 {
			return c.errorf(p.line, "%s=%s: a node of too many processors", p.key, p.value)
		}
		return nil
	}
	switch key {
	case "feature", "features":
		s.features = p.value
		c.understood(p)
	case "gres":
		return c.nodeGres(p, s)
	case "state":
		c.nodeState(p, s)
	default:
		if why, ok := plainNode[key]; ok {
			c.plain(p, why)
		} else {
			c.ignored(p, "an option of nodes that this converter does not know")
		}
	}
	return nil
}

func (c *converter) nodeState(p pair, s *nodeSpec) {
	switch s.state = strings.ToUpper(p.value); s.state {
	case "UNKNOWN", "IDLE", "FUTURE":
		c.understood(p)
	case "DOWN", "DRAIN", "FAIL", "FAILING":
		c.approximated(p, "the nodes go down at the begin of a replay and stay so")
	default:
		c.approximated(p, "the nodes are there from the begin of a replay")
	}
}

// nodeGres reads gpu:type:2(S:0),gpu:4,craynetwork:1.
func (c *converter) nodeGres(p pair, s *nodeSpec) error {
	s.gpu, s.gpus = "", 0
	for _, term := range hostlist.Terms(p.value, ",") {
		if i := strings.IndexByte(term, '('); i >= 0 {
			term = term[:i]
		}
		parts := strings.Split(term, ":")
		parts = slices.DeleteFunc(parts, func(x string) bool { return strings.EqualFold(x, "no_consume") })
		if len(parts) == 0 || !strings.EqualFold(parts[0], "gpu") {
			c.ignored(pair{p.key, term, p.line}, "generic resources other than GPUs are not allocated here")
			continue
		}
		model, count := "gpu", "1"
		switch len(parts) {
		case 2:
			if count = parts[1]; strings.Trim(count, "0123456789") != "" {
				model, count = count, "1"
			}
		case 3:
			model, count = parts[1], parts[2]
		}
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 0 || s.gpus+n > 64 || len(parts) > 3 {
			return c.errorf(p.line, "%s=%s: want gpu:type:number, and at most 64 GPUs on a node", p.key, p.value)
		}
		if s.gpu != "" && s.gpu != model && n > 0 {
			c.approximated(p, "GPUs of several types on one node count as those of the first type")
			model = s.gpu
		} else {
			c.understood(p)
		}
		if s.gpus += n; s.gpus > 0 {
			s.gpu = model
		}
	}
	return nil
}

// nodeSet reads NodeSet=, a name for nodes.
func (c *converter) nodeSet(l line) error {
	var set []string
	for _, p := range l.pairs[1:] {
		switch {
		case p.is("Nodes"):
			names, err := c.expand(p.value)
			if err != nil {
				return c.errorf(p.line, "%w", err)
			}
			set = append(set, names...)
			c.understood(p)
		case p.is("Feature"):
			for _, n := range c.nodes {
				if slices.Contains(strings.Split(n.spec.features, ","), p.value) {
					set = append(set, n.name)
				}
			}
			c.understood(p)
		default:
			c.ignored(p, "an option of node sets that this converter does not know")
		}
	}
	c.sets[l.pairs[0].value] = set
	c.understood(l.pairs[0])
	return nil
}

// unusedSets says of sets of nodes that no partition names that they mean nothing.
func (c *converter) unusedSets() {
	for i := range c.notes.list {
		n := &c.notes.list[i]
		if n.Key != "NodeSet" || n.Verdict != Understood {
			continue
		}
		if !slices.ContainsFunc(c.partitions, func(p partition) bool { return slices.Contains(p.names, n.Value) }) && n.Count == 1 {
			n.Verdict, n.Text = Ignored, "no partition names the set"
		}
	}
}

// gres reads gres.conf: what is in it only tells more of the GPUs that
// slurm.conf gives to nodes.
func (c *converter) gres(lines []line) error {
	for _, l := range lines {
		if err := c.gresLine(l); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) gresLine(l line) error {
	var names []string
	model, count, gpu := "", int64(-1), false
	for _, p := range l.pairs {
		switch strings.ToLower(p.key) {
		case "nodename":
			list, err := c.expand(p.value)
			if err != nil {
				return c.errorf(p.line, "%w", err)
			}
			names = append(make([]string, 0, len(list)), list...)
		case "name":
			gpu = strings.EqualFold(p.value, "gpu")
		case "type":
			model = p.value
		case "count":
			n, err := strconv.ParseInt(p.value, 10, 32)
			if err == nil {
				count = n
			}
		case "file":
			files, err := c.expand(p.value)
			if err != nil {
				return c.errorf(p.line, "%w", err)
			}
			if count < 0 {
				count = int64(len(files))
			}
		default:
			c.plain(p, "GPUs of a node are alike here unless the cluster file says how they are joined")
		}
	}
	named := gpu && c.describe(l, names, model, count)
	for _, p := range l.pairs {
		switch key := strings.ToLower(p.key); {
		case key != "nodename" && key != "name" && key != "type" && key != "count" && key != "file":
		case !gpu:
			c.ignored(p, "generic resources other than GPUs are not allocated here")
		case named && key != "count" && key != "file":
			c.understood(p)
		default:
			c.plain(p, "slurm.conf says which GPUs the nodes have; gres.conf names the type where slurm.conf does not")
		}
	}
	return nil
}

// describe gives GPUs that slurm.conf leaves without a type the one of
// gres.conf. named is true where it did.
func (c *converter) describe(l line, names []string, model string, count int64) (named bool) {
	if names == nil {
		for i := range c.nodes {
			names = append(names, c.nodes[i].name)
		}
	}
	for _, name := range names {
		i, ok := c.index[name]
		if !ok || c.nodes[i].spec.gpus == 0 {
			continue
		}
		n := &c.nodes[i]
		if n.spec.gpu == "gpu" && model != "" {
			n.spec.gpu, named = model, true
		}
		if count >= 0 && count != n.spec.gpus && (model == "" || model == n.spec.gpu) {
			c.approximated(l.pairs[0], "the number of GPUs differs from that in slurm.conf, which counts")
		}
	}
	return named
}

// types makes node types and groups of the nodes: one entry for each leaf
// switch and type.
func (c *converter) types() {
	order := make([]int, len(c.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(c.nodes[a].spec.weight - c.nodes[b].spec.weight) })
	leafOf := c.leafOf()
	known := map[nodeSpec]string{}
	type place struct{ leaf, kind string }
	at := map[place]int{}
	var members [][]string
	down := []string{}
	for _, i := range order {
		n := &c.nodes[i]
		if n.spec.state == "DOWN" || n.spec.state == "DRAIN" || n.spec.state == "FAIL" || n.spec.state == "FAILING" {
			down = append(down, n.name)
		}
		p := place{leafOf[n.name], c.kind(known, n.spec)}
		g, ok := at[p]
		if !ok {
			g = len(members)
			at[p] = g
			members = append(members, nil)
			c.cluster.Groups = append(c.cluster.Groups, profiles.Group{Name: p.leaf, Type: p.kind, Fingerprint: p.kind})
		}
		members[g] = append(members[g], n.name)
	}
	for g := range members {
		c.cluster.Groups[g].Nodes = hostlist.Compress(members[g])
	}
	if len(down) > 0 {
		c.cluster.Events = append(c.cluster.Events, profiles.Event{Kind: "down", Subject: hostlist.Compress(down)})
	}
}

// kind is the name of the type of nodes like s.
func (c *converter) kind(known map[nodeSpec]string, s nodeSpec) string {
	s.cpus, s.boards, s.sockets, s.cores, s.threads = s.processors(), 0, 0, 0, 0
	s.weight, s.state = 0, ""
	if name, ok := known[s]; ok {
		return name
	}
	name := "type" + strconv.Itoa(len(known)+1)
	known[s] = name
	t := profiles.NodeType{
		Name: name, GPU: s.gpu, GPUs: int32(s.gpus), CPUs: int32(min(s.cpus, 16384)), Memory: profiles.Bytes(s.memory << 20),
		GPUTopology: profiles.GPUTopology{IslandBandwidth: 450, OtherBandwidth: 64},
	}
	for f := range strings.SplitSeq(s.features, ",") {
		if f = strings.TrimSpace(f); f != "" && !slices.Contains(t.Features, f) {
			t.Features = append(t.Features, f)
		}
	}
	c.cluster.NodeTypes = append(c.cluster.NodeTypes, t)
	return name
}
