// Package place chooses the nodes of a job on a site whose nodes differ in
// dragonfly group, conformance group and GPUs: which nodes are free, whether a
// request fits them, and which of them it gets. It knows nodes and requests only;
// whose turn it is, until when nodes are held and what they cost is decided
// elsewhere.
//
// Space is what does not change (groups, fingerprints, GPUs, and the classes of
// nodes that kinds of jobs may use), Free is what does. A Space and its Frees
// belong to one goroutine.
package place

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// maxGPUs of a node that are told apart.
const maxGPUs = 64

// ClassID is the dense index of a class: a set of nodes that some kind of job
// may use.
type ClassID int32

// Space describes the nodes of a site. Only its list of classes grows.
type Space struct {
	nodes    int
	groups   int32
	every    model.NodeSet
	ready    model.NodeSet // as the site was described
	site     *model.Site
	adjacent []groupSet // of each group; adjacency holds both ways
	// neighbours says that any group is adjacent to another.
	neighbours bool
	layout     layout
	classes    []class
	index      map[uint64][]ClassID // classes by the hash of their nodes

	gpus  []uint64        // the GPUs of each node
	gpuAt []int32         // how many GPUs the nodes before each have
	least []model.NodeSet // least[g]: nodes with at least g GPUs
	links []links         // of each topology, how near the GPUs are; the last is of none
}

// class is a set of nodes with what follows from it alone.
type class struct {
	nodes model.NodeSet
	// first is the first word of nodes that has any, and behind is behind the last.
	first, behind int
	// sums[i] is the number of nodes in its i+1 largest groups.
	sums []int32
	// most[g] is the number of its nodes with at least g GPUs.
	most []int32
}

// NewSpace describes a valid site, which must not change its nodes and groups
// afterwards. A site without groups is one group. At most 64 GPUs of a node are
// used. Cost: some passes over the nodes.
func NewSpace(site *model.Site) *Space {
	n := len(site.Nodes)
	sp := &Space{
		nodes: n, groups: int32(max(1, len(site.Groups))), every: model.NewNodeSet(n), ready: model.NewNodeSet(n), site: site,
		index: map[uint64][]ClassID{},
	}
	for i := range site.Nodes {
		sp.every.Add(model.NodeID(i))
		if site.Nodes[i].State == model.Ready {
			sp.ready.Add(model.NodeID(i))
		}
	}
	for range sp.groups {
		sp.adjacent = append(sp.adjacent, newGroupSet(sp.groups))
	}
	for g := range site.Groups {
		for _, a := range site.Groups[g].Adjacent {
			sp.adjacent[g].add(a)
			sp.adjacent[a].add(int32(g))
			sp.neighbours = true
		}
	}
	sp.layout = newLayout(site)
	sp.describeGPUs(site)
	return sp
}

// Nodes is the number of nodes of the site.
func (sp *Space) Nodes() int { return sp.nodes }

// NodesOf is the nodes of a class, to be read only.
func (sp *Space) NodesOf(c ClassID) model.NodeSet { return sp.classes[c].nodes }

// Eligible is the set of nodes that meet c; nil is met by all. Cost: one test
// per node.
func (sp *Space) Eligible(c *model.Constraint) model.NodeSet {
	if c == nil {
		return slices.Clone(sp.every)
	}
	set := model.NewNodeSet(sp.nodes)
	for i := range sp.site.Nodes {
		if c.Holds(model.NodeID(i), &sp.site.Nodes[i]) {
			set.Add(model.NodeID(i))
		}
	}
	return set
}

// Class is the id of the class of the nodes in mask, the same for equal masks;
// nil is all nodes. The mask is copied. Cost: the words of the mask, and a pass
// over the nodes when the class is new.
func (sp *Space) Class(mask model.NodeSet) ClassID {
	if mask == nil {
		mask = sp.every
	}
	h := hash(mask)
	for _, id := range sp.index[h] {
		if slices.Equal(sp.classes[id].nodes, mask) {
			return id
		}
	}
	id := ClassID(len(sp.classes))
	sp.index[h] = append(sp.index[h], id)
	sp.classes = append(sp.classes, sp.newClass(slices.Clone(mask)))
	return id
}

// hash mixes the words of s, one multiplication each.
func hash(s model.NodeSet) uint64 {
	h := uint64(14695981039346656037)
	for _, w := range s {
		h = (h ^ w) * 1099511628211
		h ^= h >> 29
	}
	return h
}

func (sp *Space) newClass(nodes model.NodeSet) class {
	c := class{nodes: nodes, sums: make([]int32, sp.groups), most: make([]int32, len(sp.least))}
	for w, m := range nodes {
		if m == 0 {
			continue
		}
		if c.behind == 0 {
			c.first = w
		}
		c.behind = w + 1
	}
	l := &sp.layout
	all := &l.rows[l.all()]
	for _, k := range l.cells[all.first:all.end] {
		for _, w := range l.words[k.first:k.end] {
			c.sums[k.group] += int32(bits.OnesCount64(w.Mask & nodes[w.Word]))
		}
	}
	slices.Sort(c.sums)
	slices.Reverse(c.sums)
	for i := 1; i < len(c.sums); i++ {
		c.sums[i] += c.sums[i-1]
	}
	for g := range c.most {
		set := slices.Clone(nodes)
		set.And(sp.least[g])
		c.most[g] = set.Len()
	}
	return c
}

// GroupsNeeded is the fewest dragonfly groups whose nodes of the class, busy or
// not, could hold a request for that many whole nodes, and the number of groups
// of the site; needed is groups when even all of them could not. Cost: a binary
// search over the groups.
func (sp *Space) GroupsNeeded(class ClassID, nodes int32) (needed, groups int32) {
	if nodes <= 0 {
		return 0, sp.groups
	}
	i, _ := slices.BinarySearch(sp.classes[class].sums, nodes)
	return min(int32(i)+1, sp.groups), sp.groups
}

// Most is the number of nodes of the class with at least gpus GPUs, available
// or not: what a request can ever get. Cost: constant.
func (sp *Space) Most(class ClassID, gpus int32) int32 {
	if int(gpus) >= len(sp.least) {
		return 0
	}
	return sp.classes[class].most[max(gpus, 0)]
}
