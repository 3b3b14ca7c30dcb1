package profiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"orrery/traces/hostlist"
)

// Nodes names nodes in a file: a number, or terms (all, a group, names like
// n[001-256]).
type Nodes []string

// ProfileRef is a profile by its name or path, or the profile itself.
type ProfileRef struct {
	Name   string
	Inline *Profile
}

// MaxNodes is how many nodes a cluster may have: far more than any has, and few
// enough for the memory of the computer that replays.
const MaxNodes = 4_194_304

// count reads a term that is a number of nodes.
func count(term string) (n int, ok bool) {
	if term == "" || strings.Trim(term, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(term)
	if err != nil {
		n = MaxNodes + 1
	}
	return n, true
}

// expand lists the names that a term like n[001-256,300] or r[1-4]n[1-8] stands
// for, as hostlist.Expand does; there may be no more than most.
func expand(term string, most int) ([]string, error) {
	names, err := hostlist.Expand(term, most)
	if errors.Is(err, hostlist.ErrMany) {
		err = fmt.Errorf("that are more than %d nodes", MaxNodes)
	}
	if err != nil {
		return nil, fmt.Errorf("found %q: %w", term, err)
	}
	for _, name := range names[:min(len(names), 1)] {
		if why := goodName(name); why != "" {
			return nil, fmt.Errorf("as nodes found %q, want names like n[001-256]", term)
		}
	}
	return names, nil
}

// NodeRow is one node of a table that stands in for groups, such as the one of
// a trace bundle. What is "" or 0 is taken from the node type of that name.
type NodeRow struct {
	Name        string
	Group       string // dragonfly group; "" is a group that all such nodes share
	Type        string // of node_types, or any name
	GPUModel    string
	GPUs        int32
	GPUMemory   int64 // bytes of one GPU
	CPUs        int32
	Memory      int64 // bytes
	Fingerprint string
	VCluster    string // home, "" for none
	Up          bool   // at the start
}

// WithNodes is c with the nodes of a table instead of groups of its own; from
// names the table in errors.
func (c *Cluster) WithNodes(from string, rows []NodeRow) *Cluster {
	with := c.taking("groups", from)
	with.rows = rows
	return with
}
