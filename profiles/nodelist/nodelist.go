// Package nodelist makes a cluster file of lists of nodes: what sinfo, scontrol and nvidia-smi
// print, descriptions of systems, and tables of nodes that an importer of traces has read. It says
// of each thing that a cluster file can have and the lists do not whether it is assumed or left at
// its default. It knows nothing of files and of replays.
//
// sinfo and scontrol:
//
//   - sinfo with any columns that have names, NODELIST (or HOSTNAMES) among them, apart by blanks
//     or bars: CPUS, CPUS(A/I/O/T), MEMORY, GRES, AVAIL_FEATURES, PARTITION and STATE are read. A
//     node of several partitions stands on several lines.
//   - scontrol show node, with -o or without: CPUTot, RealMemory, Gres, AvailableFeatures,
//     Partitions and State.
//   - the JSON of both: a list "nodes" (scontrol, and sinfo before Slurm 23.02), or a list "sinfo"
//     (sinfo since then; untested on real rows).
//
// Others: nvidia-smi topo -m (topo.go), system files of ExaDigiT (exadigit.go), descriptions of systems
// of MLPerf (mlperf.go).
//
// Memory is in MiB. GRES that are not GPUs are left out. Nodes in the state FUTURE are left out;
// those that were down or drained when the list was made are not down here, since a list says
// nothing of when.
package nodelist

import (
	"bytes"
	"fmt"
	"strings"

	"orrery/traces"
)

// Node is what a list says of a node; "" and 0 are what it does not say.
type Node struct {
	Name       string
	Group      string // rack or switch
	GPU        string // model
	GPUs       int64
	GPUMemory  int64 // bytes of one GPU
	CPUs       int64
	Memory     int64 // bytes
	Features   string
	Partitions []string
	Idle, Busy int64  // watts
	Print      string // conformance fingerprint
	Limit      int64  // watts that one GPU is held to, where that is below what it is sold with
	Joined     *Links // how its GPUs are joined
	Down       bool   // or drained, when the list was made
	Line       int64  // of the file, 0 where it is not known
}

// List is one file.
type List struct {
	File     string
	Format   string
	Untested bool // on real rows
	Nodes    []Node
	Links    *Links // instead of nodes: how the GPUs of one node are joined
	Assumed  []string

	index map[string]int // places of nodes by name
	named int            // names that host lists stand for, which are bounded
}

// format is a list that is told by its content.
type format struct {
	name     string
	what     string
	untested bool
	is       func(text []byte) bool
	read     func(l *List, text []byte) error
}

// formats are in the order in which a file is held against them.
func formats() []format {
	return []format{
		{"slurm-nodes-json", "scontrol show node --json, sinfo --json before Slurm 23.02", false, has(`"nodes"`, `"real_memory"`), readNodesJSON},
		{"sinfo-json", "sinfo --json since Slurm 23.02", true, has(`"sinfo"`, `"partition"`), readSinfoJSON},
		{"scontrol-nodes", "scontrol show node, with -o or without", false, isScontrol, readScontrol},
		{"nvidia-topology", "nvidia-smi topo -m: the links of the GPUs of one node", false, isTopology, readTopology},
		{"mlperf-system", "systems of MLPerf (number_of_nodes, accelerators_per_node, in JSON)", false, has(`"number_of_nodes"`, `"accelerators_per_node"`), readMLPerf},
		{"exadigit", "system files of ExaDigiT (system, power, in YAML)", false, isExaDigiT, readExaDigiT},
		{"sinfo", "sinfo -N -o with the names of its columns, or sinfo -N -l", false, isSinfo, readSinfo},
	}
}

// has says that a text is an object of JSON in whose beginning some words stand.
func has(words ...string) func([]byte) bool {
	return func(text []byte) bool {
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			return false
		}
		for _, w := range words {
			if !bytes.Contains(text, []byte(w)) {
				return false
			}
		}
		return true
	}
}

// Formats lists the formats that Read tells by content, one a line, for people.
func Formats() string {
	var b strings.Builder
	for _, f := range formats() {
		b.WriteString("  " + f.name + strings.Repeat(" ", max(1, 18-len(f.name))) + f.what)
		if f.untested {
			b.WriteString(", untested on real rows")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Read reads a list; ok says whether the text is one of those told by content. file is what
// errors call it. What is wrong with it is a traces.DataError.
func Read(file string, text []byte) (list List, ok bool, err error) {
	for _, f := range formats() {
		if !f.is(text) {
			continue
		}
		list = List{File: file, Format: f.name, Untested: f.untested}
		if err := f.read(&list, text); err != nil {
			return List{}, true, err
		}
		if len(list.Nodes) == 0 && list.Links == nil {
			return List{}, true, list.wrong(0, "no nodes", "a list of nodes", "")
		}
		return list, true, nil
	}
	return List{}, false, nil
}

// Rows is the list of nodes that an importer has read. gpuMemory is the memory of a GPU by the
// type of its row, 0 where it says none.
func Rows(file string, nodes []traces.Node, assumed []traces.Assumption, gpuMemory func(string) int64) List {
	l := List{File: file, Format: "nodes of a trace"}
	home := 0
	for _, n := range nodes {
		l.Nodes = append(l.Nodes, Node{Name: n.Name, Group: n.Group, GPU: n.GPUModel, GPUs: int64(n.GPUs), GPUMemory: gpuMemory(n.Type),
			CPUs: int64(n.CPUs), Memory: n.Memory, Down: !n.Up, Print: n.Fingerprint})
		if n.VCluster != "" {
			home++
		}
	}
	if home > 0 {
		l.Assumed = append(l.Assumed, fmt.Sprintf("the home of %d nodes is left out: one vCluster has all nodes", home))
	}
	for _, a := range assumed {
		if what, ok := strings.CutPrefix(a.What, "nodes."); ok {
			l.Assumed = append(l.Assumed, what+": "+a.Value+": "+a.Why)
		}
	}
	return l
}

func (l *List) wrong(line int64, found, expected, mend string) error {
	if mend == "" {
		mend = "make the list again"
	}
	return &traces.DataError{File: l.File, Line: line, Found: found, Expected: expected, Mend: mend}
}
