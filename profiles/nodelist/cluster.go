package nodelist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// kind is what nodes of one node type have in common.
type kind struct {
	gpu                           string
	gpus, gpuMemory, cpus, memory int64
	features                      string
	idle, busy, limit             int64
	joined                        string // its links as text
}

// Result is a cluster file and what is to be known of it.
type Result struct {
	Cluster profiles.Cluster
	Notes   []string // what is assumed, what is not known, in this order
}

// YAML is the file: the notes as comments, and the cluster.
func (r *Result) YAML(made string) []byte {
	b := []byte("# " + made + "\n")
	for _, n := range r.Notes {
		b = append(b, "# "+strings.Map(printable, n)+"\n"...)
	}
	return append(b, r.Cluster.BriefYAML()...)
}

// printable keeps a comment, in which the name of a file may stand, on its line.
func printable(r rune) rune {
	if strconv.IsPrint(r) {
		return r
	}
	return ' '
}

// allNodes is the group of nodes of which the lists say no rack.
const allNodes = "nodes"

// unnamedGPU is the model of GPUs of which the lists say none: a cluster file needs one.
const unnamedGPU = "gpu"

// builder puts lists together.
type builder struct {
	nodes   []Node
	file    []string // of each node
	index   map[string]int
	kinds   []kind
	of      []int // kind of each node
	links   []*List
	linked  map[int64]bool // numbers of GPUs of which the links are known
	assumed []string
	unknown []string
	c       profiles.Cluster
}

// Cluster makes a cluster file of lists of nodes. A node is in one list only. The file passes
// profiles.ParseCluster.
func Cluster(name string, lists []List) (*Result, error) {
	b := &builder{index: map[string]int{}, linked: map[int64]bool{}, c: profiles.DefaultCluster()}
	b.c.Name = cmp.Or(plain(name), "cluster")
	for i := range lists {
		if lists[i].Links != nil {
			b.links = append(b.links, &lists[i])
		} else if err := b.add(&lists[i]); err != nil {
			return nil, err
		}
	}
	if err := b.aloneLinks(); err != nil {
		return nil, err
	}
	b.types()
	if err := b.link(); err != nil {
		return nil, err
	}
	b.groups()
	b.partitions()
	b.unsaid()
	b.c.VClusters = []profiles.VCluster{{Name: "default", Profile: profiles.ProfileRef{Name: "default"}, Home: profiles.Nodes{"all"}, Lend: true, Borrow: true, MaxLent: 0.2, Grace: model.Minute}}
	r := &Result{Cluster: b.c}
	for _, a := range b.assumed {
		r.Notes = append(r.Notes, "assumed: "+a)
	}
	for _, u := range b.unknown {
		r.Notes = append(r.Notes, "not known: "+u)
	}
	again, err := profiles.ParseCluster(b.c.Name, r.YAML(""))
	if err == nil {
		_, err = again.Resolve()
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster file of these lists is not valid: %w", err)
	}
	return r, nil
}

// bounds of a cluster file.
const (
	mostGPUs = 64
	mostCPUs = 16384
)

// add takes over the nodes of a list.
func (b *builder) add(l *List) error {
	numbers, down := 0, []string(nil)
	for _, n := range l.Nodes {
		if n.Name != "" && strings.Trim(n.Name, "0123456789") == "" {
			n.Name = "node-" + n.Name
			numbers++
		}
		if err := b.check(l, &n); err != nil {
			return err
		}
		if n.Down {
			down = append(down, n.Name)
		}
		b.index[n.Name] = len(b.nodes)
		b.nodes, b.file = append(b.nodes, n), append(b.file, l.File)
	}
	for _, a := range l.Assumed {
		b.assumed = append(b.assumed, l.File+": "+a)
	}
	if numbers > 0 {
		b.assumed = append(b.assumed, fmt.Sprintf("%s: %d nodes whose names are numbers are called node-NUMBER, since a number alone is a number of nodes in a cluster file", l.File, numbers))
	}
	if len(down) > 0 {
		b.assumed = append(b.assumed, fmt.Sprintf("%s: %d nodes that were down or drained when the list was made are up: %s", l.File, len(down), strings.Join(hostlist.Compress(down), ",")))
	}
	if l.Untested {
		b.assumed = append(b.assumed, l.File+": the format "+l.Format+" is untested on real rows")
	}
	return nil
}

// check says why a node cannot stand in a cluster file.
func (b *builder) check(l *List, n *Node) error {
	fits := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	at, again := b.index[n.Name]
	switch {
	case n.Name == "" || len(n.Name) > 128 || strings.ContainsRune("._-", rune(n.Name[0])) || strings.ContainsFunc(n.Name, func(r rune) bool { return !fits(r) }):
		return l.wrong(n.Line, "the node name "+strconv.Quote(n.Name), "letters, digits and . _ -, a letter or digit first", "rename the node")
	case n.Name == "all" || n.Name == allNodes:
		return l.wrong(n.Line, "a node called "+n.Name, "a name that a cluster file has no other use for", "rename the node")
	case again:
		return l.wrong(n.Line, "node "+n.Name+" a second time, as in "+b.file[at], "each node once", "give each node in one list")
	case len(b.nodes) >= profiles.MaxNodes:
		return l.wrong(n.Line, "more nodes", fmt.Sprintf("at most %d", profiles.MaxNodes), "leave some out")
	case n.GPUs > mostGPUs:
		return l.wrong(n.Line, fmt.Sprintf("%d GPUs on node %s", n.GPUs, n.Name), fmt.Sprintf("at most %d", mostGPUs), "correct the value")
	case n.CPUs > mostCPUs:
		return l.wrong(n.Line, fmt.Sprintf("%d CPUs on node %s", n.CPUs, n.Name), fmt.Sprintf("at most %d", mostCPUs), "correct the value")
	}
	return nil
}

// types makes a node type for each kind of node, in the order in which they are met.
func (b *builder) types() {
	place := map[kind]int{}
	taken, unnamed := map[string]int{}, 0
	for i := range b.nodes {
		n := &b.nodes[i]
		switch n.GPU = plain(n.GPU); {
		case n.GPUs == 0:
			n.GPU, n.GPUMemory = "", 0
		case n.GPU == "":
			n.GPU = unnamedGPU
			unnamed++
		}
		k := kind{n.GPU, n.GPUs, n.GPUMemory, n.CPUs, n.Memory, n.Features, n.Idle, n.Busy, n.Limit, ""}
		topology := profiles.GPUTopology{IslandBandwidth: 450, OtherBandwidth: 64}
		if n.Joined != nil {
			topology = n.Joined.Topology
			k.joined = fmt.Sprint(topology)
		}
		at, ok := place[k]
		if !ok {
			at = len(b.kinds)
			place[k] = at
			b.kinds = append(b.kinds, k)
			name := k.name()
			if taken[name]++; taken[name] > 1 {
				name += "-" + strconv.Itoa(taken[name])
			}
			b.c.NodeTypes = append(b.c.NodeTypes, profiles.NodeType{Name: name, GPU: k.gpu, GPUs: int32(k.gpus), GPUMemory: profiles.Bytes(k.gpuMemory), CPUs: int32(k.cpus),
				Memory: profiles.Bytes(k.memory), Features: featuresOf(k.features), IdlePower: profiles.Power(k.idle), BusyPower: profiles.Power(k.busy),
				GPUPowerLimit: profiles.Power(k.limit), GPUTopology: topology})
		}
		b.of = append(b.of, at)
	}
	if unnamed > 0 {
		b.assumed = append(b.assumed, fmt.Sprintf("the model of the GPUs of %d nodes is called %s: the lists do not name it", unnamed, unnamedGPU))
	}
	b.prints()
}

// prints says which fingerprints nodes have: those of the lists, or where no list has any their types.
func (b *builder) prints() {
	lacking := 0
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.Print = plain(n.Print); n.Print == "" {
			lacking++
		}
	}
	switch {
	case lacking == len(b.nodes):
		for i := range b.nodes {
			b.nodes[i].Print = b.c.NodeTypes[b.of[i]].Name
		}
		b.assumed = append(b.assumed, "nodes of one type have one fingerprint: the lists say nothing of firmware and drivers")
	case lacking > 0:
		b.unknown = append(b.unknown, fmt.Sprintf("fingerprint of %d of %d nodes (each is a conformance group of its own)", lacking, len(b.nodes)))
	}
}

// name is what a kind is called: 8xV100-96c-384GiB.
func (k *kind) name() string {
	var parts []string
	if k.gpus > 0 {
		parts = append(parts, strconv.FormatInt(k.gpus, 10)+"x"+k.gpu)
	}
	if k.gpuMemory > 0 {
		parts = append(parts, "of-"+sizeName(k.gpuMemory))
	}
	if k.cpus > 0 {
		parts = append(parts, strconv.FormatInt(k.cpus, 10)+"c")
	}
	if k.memory > 0 {
		parts = append(parts, sizeName(k.memory))
	}
	if len(parts) == 0 {
		return "node"
	}
	return strings.Join(parts, "-")
}

// sizeName is a size in the largest unit in which it is whole.
func sizeName(bytes int64) string {
	switch {
	case bytes%(1<<30) == 0:
		return strconv.FormatInt(bytes>>30, 10) + "GiB"
	case bytes%1e9 == 0:
		return strconv.FormatInt(bytes/1e9, 10) + "GB"
	case bytes%(1<<20) == 0:
		return strconv.FormatInt(bytes>>20, 10) + "MiB"
	}
	return strconv.FormatInt(bytes, 10) + "B"
}

// plain is a name with - for what no name of a cluster file has.
func plain(name string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, name)
	out = strings.TrimLeft(out, "._-")
	return out[:min(len(out), 100)]
}

// featuresOf are the names of a list, each once.
func featuresOf(list string) []string {
	var out []string
	for f := range strings.SplitSeq(list, ",") {
		if f = plain(strings.TrimSpace(f)); f != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// groups writes a line for each kind and fingerprint in each rack, in the order in which they are
// met.
func (b *builder) groups() {
	type part struct {
		rack  string
		kind  int
		print string
	}
	prints := map[part][]string{} // of each kind in each rack
	var racks []string
	names := map[part][]string{}
	for i, n := range b.nodes {
		rack := plain(n.Group)
		if rack == "" {
			rack = allNodes
		}
		if !slices.Contains(racks, rack) {
			racks = append(racks, rack)
		}
		p := part{rack, b.of[i], n.Print}
		if names[p] == nil {
			prints[part{rack, b.of[i], ""}] = append(prints[part{rack, b.of[i], ""}], n.Print)
		}
		names[p] = append(names[p], n.Name)
	}
	var order []string
	for _, rack := range racks {
		for k := range b.kinds {
			for _, print := range prints[part{rack, k, ""}] {
				list := names[part{rack, k, print}]
				order = append(order, list...)
				b.c.Groups = append(b.c.Groups, profiles.Group{Name: rack, Nodes: hostlist.Compress(list), Type: b.c.NodeTypes[k].Name, Fingerprint: print})
			}
		}
	}
	if slices.Contains(racks, allNodes) {
		b.assumed = append(b.assumed, "nodes of no known rack or switch are one group, "+allNodes)
	}
	if !slices.EqualFunc(order, b.nodes, func(name string, n Node) bool { return name == n.Name }) {
		b.assumed = append(b.assumed, "nodes of a group stand by type, and else in the order of the lists; their order decides ties")
	}
}

// partitions are those that nodes name, by name: of one cluster sinfo and scontrol print them in
// different orders.
func (b *builder) partitions() {
	nodes := map[string][]string{}
	for _, n := range b.nodes {
		for _, p := range n.Partitions {
			nodes[p] = append(nodes[p], n.Name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(nodes)) {
		of := profiles.Nodes(hostlist.Compress(nodes[p]))
		if len(nodes[p]) == len(b.nodes) {
			of = profiles.Nodes{"all"}
		}
		b.c.Partitions = append(b.c.Partitions, profiles.Partition{Name: p, Nodes: of, Tier: 1, Priority: 1, Up: true})
	}
	if len(nodes) > 0 {
		b.unknown = append(b.unknown, "limits, tier and priority of the partitions (at their defaults)")
	}
}

// unsaid notes what the lists do not say of nodes.
func (b *builder) unsaid() {
	count := func(key, means string, lacks func(*kind) bool) {
		n := 0
		for _, k := range b.of {
			if lacks(&b.kinds[k]) {
				n++
			}
		}
		if n > 0 {
			b.unknown = append(b.unknown, fmt.Sprintf("%s of %d of %d nodes (%s)", key, n, len(b.nodes), means))
		}
	}
	count("cpus", "0, at its default", func(k *kind) bool { return k.cpus == 0 })
	count("memory", "0, at its default", func(k *kind) bool { return k.memory == 0 })
	count("gpu_memory", "0, at its default", func(k *kind) bool { return k.gpus > 0 && k.gpuMemory == 0 })
	count("idle_power and busy_power", "0, at their defaults", func(k *kind) bool { return k.busy == 0 })
	count("gpu_topology", "GPUs of a node are all alike", func(k *kind) bool { return k.gpus > 1 && !b.linked[k.gpus] })
	b.unknown = append(b.unknown, "what jobs share (sharing is whole: a job gets whole nodes), tenants, qualities of service, and the profile (default)")
}
