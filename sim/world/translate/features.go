package translate

import (
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
)

// Words for a feature that no node has and that ask for a constraint of
// another kind.
const (
	featureUnified = "unified_memory"
	featureCXL     = "allow_cxl_memory"
)

// featureSet is what the features of a row ask of its nodes.
type featureSet struct {
	names []string      // that each node must have
	nodes model.NodeSet // of which each node must be one, nil for all
	cxl   bool          // nodes of CXL memory alone will do
	need  int32         // nodes that the job has at least
	// approximate says that jobs of several nodes get nodes that are not quite those which the
	// row asks for: those of one alternative, or so many of each kind.
	approximate bool
	text        string
}

// readFeatures reads features that must all be there, apart by &, a comma or a blank, or an
// expression as Slurm's --constraint takes it. What no node can meet is meant for none.
func (t *Site) readFeatures(text string) (int32, error) {
	set, ok := featureSet{}, true
	if strings.ContainsAny(text, "|()[]*") {
		set, ok = t.expression(text)
	} else {
		set.names = strings.FieldsFunc(text, func(r rune) bool { return r == '&' || r == ',' || r == ' ' })
		slices.Sort(set.names)
		set.names = slices.Compact(set.names)
		for _, f := range set.names {
			if !t.hasFeature(f) && f != featureUnified && f != featureCXL {
				t.lacks("features", f)
				ok = false
			}
		}
	}
	if !ok {
		return nowhere, nil
	}
	t.feature = append(t.feature, set)
	return int32(len(t.feature) - 1), nil
}

func (t *Site) hasFeature(name string) bool {
	_, ok := slices.BinarySearch(t.known, name)
	return ok
}

// expression reads names and groups of them apart by & or |. As in Slurm neither binds more
// than the other: they are taken from left to right. Behind a name or a group *N asks for N
// nodes of it, and then & is between nodes of one kind and of another; [a|b] asks that all
// nodes have the same of the two.
func (t *Site) expression(text string) (set featureSet, ok bool) {
	e := expression{site: t, rest: text, cxl: strings.Contains(text, featureCXL) && !t.hasFeature(featureCXL)}
	x, ok := e.terms('(', 0)
	switch {
	case !ok || e.rest != "":
		t.lacks("features", strconv.Quote(text)+" (not understood)")
		return set, false
	case x.nodes.Len() == 0:
		if len(e.unknown) == 0 {
			e.unknown = []string{text}
		}
		for _, f := range e.unknown {
			t.lacks("features", f)
		}
		return set, false
	}
	if int(x.nodes.Len()) == len(t.site.Nodes) {
		x.nodes = nil
	}
	return featureSet{nodes: x.nodes, cxl: e.cxl, need: x.need, approximate: x.approximate, text: text}, true
}

// expression is one that is being read.
type expression struct {
	site    *Site
	rest    string
	cxl     bool
	unknown []string // names that no node has
}

// term is the nodes that meet a part of an expression.
type term struct {
	nodes       model.NodeSet
	need        int32 // see featureSet
	counted     bool  // it is of some of the nodes of a job, not of each
	approximate bool
}

// mostNested is how deep groups of features are within one another at most.
const mostNested = 32

// terms reads terms until the end of the group that open begins.
func (e *expression) terms(open byte, depth int) (x term, ok bool) {
	if x, ok = e.term(depth); !ok {
		return x, false
	}
	for {
		e.blanks()
		if e.rest == "" || e.rest[0] == ')' || e.rest[0] == ']' {
			return x, true
		}
		or := e.rest[0] == '|'
		if or || e.rest[0] == '&' || e.rest[0] == ',' {
			e.rest = e.rest[1:]
		}
		y, ok := e.term(depth)
		if !ok {
			return x, false
		}
		same := or && open == '[' && x.nodes.Len() > 0 && y.nodes.Len() > 0
		x = joined(x, y, or)
		x.approximate = x.approximate || same
	}
}

// joined is x or y, or x and y.
func joined(x, y term, or bool) term {
	z := term{nodes: x.nodes, counted: x.counted || y.counted, approximate: x.approximate || y.approximate}
	switch {
	case or:
		z.nodes.Or(y.nodes)
		z.need = min(x.need, y.need)
		if x.need == 0 || y.need == 0 {
			z.need = 0
		}
	case x.counted && y.counted && (x.nodes.Len() == 0 || y.nodes.Len() == 0): // one kind is not there
		z.nodes = model.NewNodeSet(64 * len(x.nodes))
	case x.counted && y.counted: // some nodes of one kind, some of the other
		z.nodes.Or(y.nodes)
		z.need = min(x.need, mostNeeded) + min(y.need, mostNeeded)
	default:
		z.nodes.And(y.nodes)
		z.need = max(x.need, y.need)
	}
	return z
}

// mostNeeded is more than any site has.
const mostNeeded = 1 << 29

// term reads a name or a group, and how many nodes of it there are to be.
func (e *expression) term(depth int) (x term, ok bool) {
	e.blanks()
	if e.rest == "" || depth > mostNested {
		return x, false
	}
	switch open := e.rest[0]; open {
	case '(', '[':
		e.rest = e.rest[1:]
		if x, ok = e.terms(open, depth+1); !ok || !e.closes(open) {
			return x, false
		}
	default:
		name := e.rest
		if end := strings.IndexAny(name, "&, |()[]*"); end >= 0 {
			name = name[:end]
		}
		if name == "" {
			return x, false
		}
		e.rest = e.rest[len(name):]
		x.nodes = e.having(name)
	}
	return x, e.count(&x)
}

// closes takes the end of a group.
func (e *expression) closes(open byte) bool {
	end := map[byte]string{'(': ")", '[': "]"}[open]
	rest, ok := strings.CutPrefix(e.rest, end)
	e.rest = rest
	return ok
}

// count reads *N behind x, if it is there: N nodes have to meet x.
func (e *expression) count(x *term) bool {
	rest, ok := strings.CutPrefix(e.rest, "*")
	if !ok {
		return true
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.ParseInt(rest[:digits], 10, 32)
	if err != nil || n < 1 {
		return false
	}
	e.rest = rest[digits:]
	x.need, x.counted, x.approximate = max(x.need, int32(n)), true, true
	if x.nodes.Len() < int32(n) {
		clear(x.nodes)
	}
	return true
}

func (e *expression) blanks() { e.rest = strings.TrimLeft(e.rest, " ") }

// having is the nodes that meet a word.
func (e *expression) having(name string) model.NodeSet {
	t := e.site
	special := (name == featureUnified || name == featureCXL) && !t.hasFeature(name)
	if !special && !t.hasFeature(name) {
		e.unknown = append(e.unknown, name)
	}
	set := model.NewNodeSet(len(t.site.Nodes))
	for i := range t.site.Nodes {
		n := &t.site.Nodes[i]
		has := slices.Contains(n.Features, name)
		if special {
			has = name == featureCXL || n.Unified
		}
		if has {
			set.Add(model.NodeID(i))
		}
	}
	return set
}
