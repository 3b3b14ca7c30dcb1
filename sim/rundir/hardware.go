package rundir

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/world"
)

// Hardware is what the hardware has done with jobs, of a run with modelled run times: GPU
// time at work, in µs.
type Hardware struct {
	GPUUS int64 `json:"gpu_us"`
	// ClassedUS is of jobs in a class of work, ModelledUS of those of which every term that
	// is switched on was known. Of the others the terms in UnknownUS counted as 1.
	ClassedUS  int64    `json:"classed_us"`
	ModelledUS int64    `json:"modelled_us"`
	UnknownUS  []TermUS `json:"unknown_us"`
	// LostUS is the work that was not done in this time for each term, below 0 where more
	// was done.
	LostUS []TermUS `json:"lost_us"`
}

// TermUS is the time of a term.
type TermUS struct {
	Term string `json:"term"`
	US   int64  `json:"gpu_us"`
}

// HardwareOf is c for run.json; nil where no term is switched on.
func HardwareOf(c *world.Consequences) *Hardware {
	if c.Terms == 0 {
		return nil
	}
	h := &Hardware{GPUUS: c.GPUTime, ClassedUS: c.Classed, ModelledUS: c.Modelled}
	for t := range hwmodel.NumTerms {
		if c.Terms.Has(t) {
			h.UnknownUS = append(h.UnknownUS, TermUS{t.String(), c.Unknown[t]})
			h.LostUS = append(h.LostUS, TermUS{t.String(), c.Lost[t]})
		}
	}
	return h
}

// Power is what energy, cost and carbon of a run rest on.
type Power struct {
	Sources  []SourceUS `json:"sources"` // of the power of running jobs
	JobPower string     `json:"job_power"`
	PUE      *float64   `json:"pue"` // nil where it depends on the load
	ByLoad   []PUEAt    `json:"pue_by_load,omitempty"`
	Capacity int64      `json:"it_capacity_w,omitempty"` // at load 1
	Overhead int64      `json:"overhead_w"`
	Currency string     `json:"currency"`
	// OverCapUS is how long the nodes drew more than the cap of the site.
	OverCapUS int64 `json:"over_cap_us"`
}

// PUEAt is the PUE at a load.
type PUEAt struct {
	Load float64 `json:"load"`
	PUE  float64 `json:"pue"`
}

// SetPUE enters that of the facility.
func (p *Power) SetPUE(of *hwmodel.PUE) {
	if !of.Varies() {
		x := float64(of.At(0)) / 1e6
		p.PUE = &x
		return
	}
	p.Capacity = of.Capacity
	for _, at := range of.Points {
		p.ByLoad = append(p.ByLoad, PUEAt{float64(at.Load) / 1e6, float64(at.PUE) / 1e6})
	}
}

// SourceUS is node time held by jobs whose power has a source.
type SourceUS struct {
	Source string `json:"source"`
	US     int64  `json:"node_us"`
}

// SourcesOf lists the node time by source.
func SourcesOf(c *world.Consequences) []SourceUS {
	var out []SourceUS
	for s := model.PowerOfRow; s <= model.PowerUnknown; s++ {
		out = append(out, SourceUS{s.String(), c.Sources[s]})
	}
	return out
}
