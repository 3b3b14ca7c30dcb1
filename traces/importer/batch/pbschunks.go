package batch

import (
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// chunk is what a term of select or nodes asks for, or all terms of a list.
type chunk struct {
	nodes, cpus, gpus int64
	bytes             int64    // memory, of a list in all
	kind              string   // of the GPUs
	mixed             bool     // GPUs are of several types
	features          []string // properties of Torque, that each node must have
	hosts             []string // on which it must be
	excl              bool     // #excl
	left              []string // names of resources of which nothing is made
}

// gpuModes are words of Torque behind gpus=N that are no properties of nodes.
var gpuModes = []string{"default", "shared", "exclusive", "exclusive_thread", "exclusive_process", "reseterr"}

// notPlaced are resources of a chunk that say how processes are started, and not where.
var notPlaced = []string{"mpiprocs", "ompthreads"}

// chunkOf reads a term such as 2:ppn=8:gpus=1:bigmem or n7:ppn=4. A first word that is no number is the name of a node, or a
// property if the job ran, and not on a node of that name.
func chunkOf(term string, ran []string) (one chunk, ok bool) {
	one.nodes = 1
	words := strings.Split(term, ":")
	switch first := words[0]; {
	case first != "" && strings.Trim(first, "0123456789") == "":
		n, err := strconv.ParseUint(first, 10, 30)
		if err != nil { // more than anyone can ask for: it must not become 1
			return one, false
		}
		one.nodes = int64(n)
		words = words[1:]
	case !strings.Contains(first, "=") && (len(ran) == 0 || slices.ContainsFunc(ran, func(name string) bool { return sameNode(name, first) })):
		one.addHost(first)
		words = words[1:]
	}
	moded := strings.Contains(term, "gpus=")
	for _, w := range words {
		name, value, given := strings.Cut(w, "=")
		switch {
		case given:
			if !one.resource(name, value) {
				return one, false
			}
		case w == "ppn" || w == "ncpus":
			return one, false
		case w != "" && !(moded && slices.Contains(gpuModes, w)):
			one.features = append(one.features, w)
		}
	}
	slices.Sort(one.features)
	one.features = slices.Compact(one.features)
	return one, true
}

// resource takes NAME=VALUE of a term.
func (one *chunk) resource(name, value string) (ok bool) {
	to := &one.cpus
	switch name {
	case "ppn", "ncpus":
	case "gpus", "ngpus", "gpu":
		to = &one.gpus
	case "gpu_type":
		one.kind = value
		return true
	case "mem":
		one.bytes, ok = pbsBytes(value)
		return ok
	case "host", "vnode":
		one.addHost(value)
		return true
	default:
		if !slices.Contains(notPlaced, name) {
			one.left = append(one.left, name)
		}
		return true
	}
	n, err := strconv.ParseUint(value, 10, 30)
	*to = int64(n)
	return err == nil
}

// addHost adds a node by its name; n7[0] is a part of n7.
func (one *chunk) addHost(name string) {
	if name, _, _ = strings.Cut(name, "["); name != "" && !slices.Contains(one.hosts, name) {
		one.hosts = append(one.hosts, name)
	}
}

// chunks sums a list such as 2:ppn=8:gpus=1+4:ppn=4 or 5:ncpus=13:ngpus=1, of a job that ran on some nodes. A request has the same
// features on all nodes, and nodes by name for all of it: what some terms alone ask for is left out.
func chunks(list string, ran []string) (sum chunk, ok bool) {
	list, suffix, _ := strings.Cut(list, "#")
	sum.excl = strings.Contains(suffix, "excl")
	unnamed := false
	for i, term := range strings.Split(list, "+") {
		one, ok := chunkOf(term, ran)
		if !ok {
			return sum, false
		}
		sum.nodes += one.nodes
		sum.cpus += one.nodes * one.cpus
		sum.gpus += one.nodes * one.gpus
		if most := int64(1 << 60); one.nodes > 0 && one.bytes > (most-sum.bytes)/one.nodes {
			return sum, false
		}
		sum.bytes += one.nodes * one.bytes
		if max(sum.nodes, sum.cpus, sum.gpus) > format.MostCount {
			return sum, false
		}
		if one.kind != "" {
			sum.mixed = sum.mixed || sum.kind != "" && sum.kind != one.kind
			sum.kind = one.kind
		}
		sum.left = append(sum.left, one.left...)
		for _, name := range one.hosts {
			sum.addHost(name)
		}
		unnamed = unnamed || len(one.hosts) == 0
		if i == 0 {
			sum.features = one.features
		} else if !slices.Equal(sum.features, one.features) {
			sum.uncommon(one.features)
		}
	}
	if unnamed && len(sum.hosts) > 0 { // the others may be anywhere
		sum.left = append(sum.left, "host of some chunks")
		sum.hosts = nil
	}
	return sum, true
}

// uncommon leaves out features that some terms alone have.
func (one *chunk) uncommon(of []string) {
	common := slices.DeleteFunc(slices.Clone(one.features), func(f string) bool { return !slices.Contains(of, f) })
	one.features = common
	one.left = append(one.left, "features of some chunks")
}

// pbsAsked is what select, nodes and nodect ask for: of a log that has several the most, and what the first of them that has
// any says beside.
func pbsAsked(c *format.Cells, a *format.Account, j *traces.Job, ran []string) (want chunk, ok bool) {
	for _, k := range []int{pbsSelect, pbsNodes, pbsNodect} {
		if !c.Has(k) {
			continue
		}
		one, ok := chunks(c.Raw(k), ran)
		if !ok {
			c.Fail(k, "nodes such as 4:ppn=8 or 2:ncpus=16:ngpus=1")
			return want, false
		}
		if len(one.left) > 0 {
			leftOut(c, a, pbsColumns[k], one.left)
			c.Keep(pbsColumns[k], c.Raw(k))
		}
		want.nodes, want.cpus, want.gpus = max(want.nodes, one.nodes), max(want.cpus, one.cpus), max(want.gpus, one.gpus)
		want.bytes, want.excl, want.mixed = max(want.bytes, one.bytes), want.excl || one.excl, want.mixed || one.mixed
		if want.kind == "" {
			want.kind = one.kind
		}
		if len(want.features) == 0 {
			want.features = one.features
		}
		if len(want.hosts) == 0 {
			want.hosts = one.hosts
		}
	}
	if want.mixed {
		c.Repair("several-gpu-types")
	} else {
		j.GPUType = want.kind
	}
	j.Features, j.NodeInclude = strings.Join(want.features, "&"), strings.Join(want.hosts, ",")
	if named := int64(len(want.hosts)); named > 0 && want.nodes > named { // several chunks on one node
		want.nodes = named
		c.Repair("chunks-of-one-node-joined")
	}
	return want, true
}
