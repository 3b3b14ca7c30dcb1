package record

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"orrery/traces/hostlist"
)

// Ranges goes over the ranges in a text like "0-3,7", both ends included, up to the
// first part that is none.
func Ranges(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for part := range strings.SplitSeq(text, ",") {
			first, last, several := strings.Cut(part, "-")
			lo, err := strconv.ParseUint(first, 10, 31)
			if err != nil {
				return
			}
			hi := lo
			if several {
				if hi, err = strconv.ParseUint(last, 10, 31); err != nil {
					return
				}
			}
			if !yield(int(lo), int(hi)) {
				return
			}
		}
	}
}

// NodeNames are the names of a run's nodes, nil where it has not recorded any: of
// a plain cluster, or by an older version.
type NodeNames struct{ list *hostlist.List }

// NodeNames reads the names from run.json.
func (r *Run) NodeNames() (*NodeNames, error) {
	return r.m.names()
}

// ReadNodeNames reads the names from the content of run.json; path is for errors.
func ReadNodeNames(info []byte, path string) (*NodeNames, error) {
	var d struct {
		Cluster struct {
			Nodes int    `json:"nodes"`
			Names string `json:"node_names"`
		} `json:"cluster"`
	}
	err := json.Unmarshal(info, &d)
	if err == nil && d.Cluster.Names == "" {
		return nil, nil
	}
	var list *hostlist.List
	if err == nil {
		list, err = hostlist.ReadList(d.Cluster.Names, d.Cluster.Nodes)
	}
	if err == nil && list.Len() != d.Cluster.Nodes {
		err = fmt.Errorf("%d names for %d nodes", list.Len(), d.Cluster.Nodes)
	}
	if err != nil {
		return nil, &DataError{File: path, Column: "cluster.node_names", Row: -1, Found: err.Error(), Expected: "the names of all nodes, like n[1-8]", Mend: mendReplay}
	}
	return &NodeNames{list}, nil
}

// names are the names of nodes in a directory, nil when it says none.
func (m *manifest) names() (*NodeNames, error) {
	if m.info == nil {
		return nil, nil
	}
	return ReadNodeNames(m.info, filepath.Join(m.dir, FileRun))
}

// Of is a set of nodes as the tables have it, by name: n[1-4,8] for 0-3,7. Without
// names it stays as it is. A +9 at the end, for nine more, stays too.
func (n *NodeNames) Of(ranges string) string {
	if n == nil || ranges == "" {
		return ranges
	}
	out := n.list.Append(nil, Ranges(ranges))
	if at := strings.LastIndex(ranges, ",+"); at >= 0 {
		out = append(out, ranges[at:]...)
	}
	return string(out)
}

// CountNodes counts the nodes in a text like "0-3,7,+9", which are 14.
func CountNodes(text string) (n int) {
	for lo, hi := range Ranges(text) {
		n += hi - lo + 1
	}
	if _, more, ok := strings.Cut(text, ",+"); ok {
		k, _ := strconv.Atoi(more) // 0 when the table is not one of ours
		n += k
	}
	return n
}

// Shorten leaves the first ranges of a text like "0-3,7", most at most, and says how
// many nodes the rest are: "0-3,+1".
func Shorten(text string, most int) string {
	at := 0
	for range most {
		next := strings.IndexByte(text[at:], ',')
		if next < 0 {
			return text
		}
		at += next + 1
	}
	return text[:at] + "+" + strconv.Itoa(CountNodes(text[at:]))
}

// Name of one node, its number without names.
func (n *NodeNames) Name(node int) string {
	if n == nil {
		return strconv.Itoa(node)
	}
	return n.list.Name(node)
}
