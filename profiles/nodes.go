package profiles

import (
	"fmt"
	"strconv"
	"strings"
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
// enough for the memory of the machine that replays.
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
// for, in ascending order of its brackets; there may be no more than most. The
// digits of a bound set the width.
func expand(term string, most int) ([]string, error) {
	names := []string{""}
	rest := term
	for rest != "" {
		open := strings.IndexByte(rest, '[')
		if open < 0 {
			open = len(rest)
		}
		for i := range names {
			names[i] += rest[:open]
		}
		if rest = rest[open:]; rest == "" {
			break
		}
		inside, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return nil, fmt.Errorf("found %q, whose [ has no ]", term)
		}
		numbers, err := ranges(inside, most/max(len(names), 1))
		if err != nil {
			return nil, fmt.Errorf("found %q: %w", term, err)
		}
		product := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, number := range numbers {
				product = append(product, name+number)
			}
		}
		names, rest = product, after
	}
	for _, name := range names[:min(len(names), 1)] {
		if why := goodName(name); why != "" {
			return nil, fmt.Errorf("as nodes found %q, want names like n[001-256]", term)
		}
	}
	return names, nil
}

// ranges lists the numbers of 001-256,300.
func ranges(list string, most int) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, okA := count(low)
		b, okB := count(high)
		switch {
		case !okA || !okB || len(high) > 9:
			return nil, fmt.Errorf("the range %q is not like 001-256", part)
		case b < a:
			return nil, fmt.Errorf("the range %q runs backwards", part)
		case b-a >= most-len(out):
			return nil, fmt.Errorf("that are more than %d nodes", MaxNodes)
		}
		for n := a; n <= b; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return out, nil
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
