package hwmodel

import (
	"errors"
	"fmt"
)

// PackedStep is a measured step on GPUs of one node.
type PackedStep struct {
	GPUs    int
	Compute float64 // s, step without exposed synchronisation
	Sync    float64 // s, synchronisation that is not hidden under computation
}

// NetworkFactor is how many times the synchronisation of two GPUs on two nodes a job has to
// wait on Nodes nodes, the fullest of which holds Fullest of its GPUs.
type NetworkFactor struct {
	Nodes, Fullest int
	Factor         float64 // 0 to 10
}

// NetworkMatters is the part of the computation on one GPU above which synchronisation
// between nodes counts; below it a measurement of the difference is noise.
const NetworkMatters = 0.1

// Placement is the time of one training step of a job by where its GPUs are, with the batch
// per GPU kept. K is the number of nodes and m the GPUs of the fullest of them:
//
//	step(1, m) = compute(m) + sync(m)
//	step(K, m) = compute(m) + sync(m) + spread · h(K, m)    for K > 1
//
// compute and sync are those of m GPUs in one node: each neighbour in a node slows the work
// that the host does for a GPU, so the fullest node sets the pace. spread is the exposed
// synchronisation of two GPUs on two nodes, in s; below a tenth of compute(1) it counts as
// none. h is without unit and comes from other jobs on the same system.
//
// Without the spread measurement a placement on several nodes is not known: gradient sizes and
// bandwidths do not tell it. Source of the form: the placement profiles of Sia (SOSP 2023).
type Placement struct {
	Packed      []PackedStep // by GPUs, ascending
	Spread      *float64     // s; nil where it was not measured, which is not 0
	Factors     []NetworkFactor
	PackedError float64 // half-width of the band on one node, part of the step
	SpreadError float64 // half-width of the band on several nodes, part of the step
}

// Validate says which parameter is outside its range.
func (p Placement) Validate() error {
	err := errors.Join(number("error of packed steps", p.PackedError, 0, 1), number("error of spread steps", p.SpreadError, 0, 1))
	if len(p.Packed) == 0 {
		err = errors.Join(err, errors.New("placement: found no step on one node, want at least one"))
	}
	for i, s := range p.Packed {
		if s.GPUs < 1 || i > 0 && s.GPUs <= p.Packed[i-1].GPUs {
			err = errors.Join(err, fmt.Errorf("placement: found %d GPUs at position %d of the packed steps, want ascending numbers from 1 on", s.GPUs, i))
		}
		err = errors.Join(err, number("compute time of a step, s", s.Compute, 0, 1e6), number("synchronisation of a step, s", s.Sync, 0, 1e6))
	}
	if p.Spread != nil {
		err = errors.Join(err, number("synchronisation of two GPUs on two nodes, s", *p.Spread, 0, 1e6))
	}
	for i, f := range p.Factors {
		if f.Nodes < 2 || f.Fullest < 1 {
			err = errors.Join(err, fmt.Errorf("placement: found a network factor for %d nodes with %d GPUs, want 2 nodes or more", f.Nodes, f.Fullest))
		}
		for _, g := range p.Factors[:i] {
			if g.Nodes == f.Nodes && g.Fullest == f.Fullest {
				err = errors.Join(err, fmt.Errorf("placement: found two network factors for %d nodes with %d GPUs", f.Nodes, f.Fullest))
			}
		}
		err = errors.Join(err, number("network factor", f.Factor, 0, 10))
	}
	return err
}

// Step is the time of a step in s on that many nodes, the fullest of which holds fullest GPUs
// of the job; false where a measurement that it needs is missing.
func (p Placement) Step(nodes, fullest int) (Band, bool) {
	packed, known := p.packed(fullest)
	if !known || nodes < 1 {
		return Band{}, false
	}
	step := packed.Compute + packed.Sync
	if nodes == 1 {
		return within(step, p.PackedError), true
	}
	network, known := p.network(nodes, fullest)
	if !known {
		return Band{}, false
	}
	return within(step+network, p.SpreadError), true
}

func (p Placement) packed(gpus int) (PackedStep, bool) {
	for _, s := range p.Packed {
		if s.GPUs == gpus {
			return s, true
		}
	}
	return PackedStep{}, false
}

// network is the synchronisation that several nodes add, in s.
func (p Placement) network(nodes, fullest int) (float64, bool) {
	one, known := p.packed(1)
	if p.Spread == nil || !known {
		return 0, false
	}
	if *p.Spread <= float64(NetworkMatters*one.Compute) {
		return 0, true
	}
	for _, f := range p.Factors {
		if f.Nodes == nodes && f.Fullest == fullest {
			return float64(*p.Spread * f.Factor), true
		}
	}
	return 0, false
}
