package lattice

import (
	"cmp"
	"slices"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// series is what is known of the metric: of the allocation as a whole, or of its nodes.
type series struct {
	whole   float64
	wholeAt model.Time
	has     bool
	nodes   []node // by entity
}

// node is one that serves.
type node struct {
	entity  autoscale.Entity
	started model.Time
	value   float64
	at      model.Time
	has     bool
}

// observe takes in a sample, or that a node has entered a state.
func (s *series) observe(f *autoscale.Fact) {
	if f.Kind == autoscale.FactSample && f.Entity == autoscale.Whole {
		s.whole, s.wholeAt, s.has = f.Value, f.At, f.HasValue()
		return
	}
	i, known := slices.BinarySearchFunc(s.nodes, f.Entity, func(n node, e autoscale.Entity) int { return int(n.entity) - int(e) })
	switch {
	case f.Kind == autoscale.FactSample:
		if known {
			s.nodes[i].value, s.nodes[i].at, s.nodes[i].has = f.Value, f.At, f.HasValue()
		}
	case f.State == autoscale.Ready && !known:
		s.nodes = slices.Insert(s.nodes, i, node{entity: f.Entity, started: f.At})
	case f.State != autoscale.Ready && known:
		s.nodes = slices.Delete(s.nodes, i, i+1)
	}
}

// forget drops all samples.
func (s *series) forget() {
	s.has = false
	for i := range s.nodes {
		s.nodes[i].has = false
	}
}

// value is the metric at now, from samples no older than the age; ok is false when there
// is none. A node that has just become ready and has no sample yet does not count.
func (s *series) value(now model.Time, age model.Duration, a Aggregation) (v float64, ok bool) {
	if s.has && now.Sub(s.wholeAt) <= age {
		return s.whole, true
	}
	n := 0
	for i := range s.nodes {
		if d := &s.nodes[i]; d.has && now.Sub(d.at) <= age {
			v += d.value
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	if a == Mean {
		v /= float64(n)
	}
	return v, true
}

// leaving is the node to give up; ok is false when none is known.
func (s *series) leaving(by Leaving) (e autoscale.Entity, ok bool) {
	if len(s.nodes) == 0 {
		return 0, false
	}
	return slices.MinFunc(s.nodes, by.compare).entity, true
}

// compare orders two nodes by which of them goes first: under LeastLoaded the one with less to
// do, otherwise and among equals the younger one, and the higher number at last.
func (by Leaving) compare(a, b node) int {
	load := 0
	if by == LeastLoaded && a.has && b.has {
		load = cmp.Compare(a.value, b.value)
	}
	return cmp.Or(load, cmp.Compare(b.started, a.started), cmp.Compare(b.entity, a.entity))
}
