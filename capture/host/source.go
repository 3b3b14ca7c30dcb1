package host

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"orrery/capture"
)

// errForm is a file that does not say what it should.
var errForm = errors.New("it has another form than the kernel gives it")

// withNode is a source with one unit more, the node as a whole.
type withNode struct {
	capture.Source
	units [][]int32
	node  int // the unit; -1 for none
	use   *usage
	root  string
}

// WithNode adds to a source the node below root as a whole: use of processors, memory, disks and network, energy of the processors, and the
// power of the node where a meter tells it. A source that has the node already stays as it is, and a root of which nothing can be read adds
// no unit, but says why in the inventory.
func WithNode(src capture.Source, root string) capture.Source {
	units := src.Units()
	for _, gpus := range units {
		if slices.Contains(gpus, capture.NodeSeries) {
			return src
		}
	}
	s := &withNode{src, units, -1, newUsage(root), root}
	if _, err := s.use.sample(time.Time{}); err == nil {
		s.node, s.units = len(units), append(slices.Clone(units), []int32{capture.NodeSeries})
	}
	return s
}

// Units are those of the source, and after them the node.
func (s *withNode) Units() [][]int32 { return s.units }

// Inventory is that of the source, with what the node has no value for.
func (s *withNode) Inventory() (*capture.Inventory, error) {
	v, err := s.Source.Inventory()
	if err == nil {
		newUsage(s.root).lacks(v) // samples go on beside it
	}
	return v, err
}

// Sample reads a unit.
func (s *withNode) Sample(unit int, out []capture.Reading) ([]capture.Reading, error) {
	if unit != s.node {
		return s.Source.Sample(unit, out)
	}
	r, err := s.use.sample(time.Now())
	if err != nil {
		return out, fmt.Errorf("the node says nothing: %w", err)
	}
	return append(out, r), nil
}

// Errors are those of the source.
func (s *withNode) Errors(unit int) []capture.Reading {
	if t, ok := s.Source.(capture.Teller); ok && unit != s.node {
		return t.Errors(unit)
	}
	return nil
}
