package translate

import (
	"slices"

	"orrery/scheduler/model"
)

// constraintKey is a set of constraints by meaning.
type constraintKey struct {
	gpuType, cpus, gpus        int32 // gpuType is -1 for any, and below that one of several: see oneOf
	features, include, exclude int32
	gpuMemory, memory          int64
}

// oneOf as gpuType is the first of Site.types; the others are below.
const oneOf = -2

// recentSets is how many sets of constraints are looked up without a map: most
// traces have few, and a power of two says where each is kept.
const recentSets = 64

// recentSet is one of these; the zero value is none.
type recentSet struct {
	constraintKey
	after model.ConstraintID // the id and 1
}

// slot is the index of k in Site.recent, where another may be.
func (k *constraintKey) slot() uint64 {
	ids := uint64(uint32(k.gpuType)) + uint64(uint32(k.features))<<8 + uint64(uint32(k.include))<<16 + uint64(uint32(k.exclude))<<24
	sizes := uint64(uint32(k.cpus)) + uint64(uint32(k.gpus))<<32 + uint64(k.memory) + uint64(k.gpuMemory)<<1
	const golden = 0x9e3779b97f4a7c15 // spreads what differs over the bits on top
	return (ids*golden + sizes) * golden >> 58
}

// intern is the id of a set of constraints.
func (t *Site) intern(key *constraintKey) model.ConstraintID {
	r := &t.recent[key.slot()]
	if r.after == 0 || r.constraintKey != *key {
		*r = recentSet{*key, t.find(*key) + 1}
	}
	return r.after - 1
}

// find is intern for a set that was not met lately.
func (t *Site) find(key constraintKey) model.ConstraintID {
	if id, ok := t.sets[key]; ok {
		return id
	}
	c := model.Constraint{GPUType: key.gpuType, GPUMemory: key.gpuMemory, Memory: key.memory, CPUs: key.cpus}
	set := featureSet{}
	if key.features >= 0 {
		set = t.feature[key.features]
		c.AllowCXL = set.cxl
		for _, f := range set.names {
			switch {
			case t.hasFeature(f):
				c.Features = append(c.Features, f)
			case f == featureUnified:
				c.Unified = true
			case f == featureCXL:
				c.AllowCXL = true
			}
		}
	}
	if key.include >= 0 {
		c.Include = slices.Clone(t.nodes[key.include])
	}
	if key.exclude >= 0 {
		c.Exclude = t.nodes[key.exclude]
	}
	switch {
	case set.nodes == nil:
	case c.Include == nil:
		c.Include = slices.Clone(set.nodes)
	default:
		c.Include.And(set.nodes)
	}
	if key.gpus > 0 {
		c.Include = t.among(c.Include, func(n *model.Node) bool { return n.GPUs >= key.gpus })
	}
	if key.gpuType < -1 {
		c.GPUType = -1
		c.Include = t.among(c.Include, func(n *model.Node) bool { return slices.Contains(t.types[oneOf-key.gpuType], n.GPUType) })
	}
	id := model.ConstraintID(len(t.site.Constraints))
	t.site.Constraints = append(t.site.Constraints, c)
	t.sets[key] = id
	return id
}

// among is the nodes of include, or all when it is nil, that are ok; nil for all.
func (t *Site) among(include model.NodeSet, ok func(*model.Node) bool) model.NodeSet {
	have, all := model.NewNodeSet(len(t.site.Nodes)), true
	for i := range t.site.Nodes {
		if ok(&t.site.Nodes[i]) {
			have.Add(model.NodeID(i))
		} else {
			all = false
		}
	}
	switch {
	case include != nil:
		have.And(include)
		return have
	case all:
		return nil
	}
	return have
}
