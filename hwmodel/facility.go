package hwmodel

import "orrery/scheduler/model"

// PUE is what a facility draws for each watt of its nodes. The zero value draws nothing for
// them.
type PUE struct {
	// Capacity is the draw of the nodes at load 1, in W: 1 to MaxCapacity where there is more
	// than one point.
	Capacity int64
	// Points ascend by load; lines lie between them, and beyond the ends the nearest counts.
	Points []PUEPoint
}

// PUEPoint is the PUE at a load, both in millionths. A load is 0 to 1, a PUE at least 1.
type PUEPoint struct{ Load, PUE int64 }

// MaxCapacity is such that a load times a capacity is an int64.
const MaxCapacity = 1_000_000_000_000

const million = 1_000_000

// FixedPUE is one at any load, in millionths.
func FixedPUE(pue int64) PUE { return PUE{Points: []PUEPoint{{PUE: pue}}} }

// Varies says whether it depends on the load.
func (p *PUE) Varies() bool { return len(p.Points) > 1 }

// At is the PUE in millionths while the nodes draw so many W; between two points it is rounded
// towards that of the lower load. Cost is that of the points.
func (p *PUE) At(draw int64) int64 {
	if len(p.Points) == 0 {
		return 0
	}
	last, load := p.Points[0], min(max(draw, 0), p.Capacity)*million
	for _, to := range p.Points[1:] {
		begin, end := last.Load*p.Capacity, to.Load*p.Capacity
		if load <= begin {
			break
		}
		if load < end {
			return last.PUE + model.MulDiv(to.PUE-last.PUE, load-begin, end-begin)
		}
		last = to
	}
	return last.PUE
}

// Tariff is what energy costs and emits at an instant, and how much of it is to be had. An
// amount that is not known is not OK.
type Tariff struct {
	Price  Amount // 10^-6 of the currency for each kWh; below 0 one is paid to use it
	Carbon Amount // mg for each kWh
	Supply Amount // W that is to be had for the nodes, and limits nothing
}

// TariffAt is a tariff from an instant on, until the next.
type TariffAt struct {
	At model.Time
	Tariff
}

// Amount is a number that may not be known.
type Amount struct {
	V  int64
	OK bool
}
