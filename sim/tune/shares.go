package tune

import (
	"maps"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/task"
)

// ShareSeries is which share of what was held each tenant held in each acceptance
// window, under one candidate.
type ShareSeries struct {
	Of         string         `json:"of"`   // the candidate
	Unit       string         `json:"unit"` // what is held: node or GPU
	Epoch      model.Time     `json:"epoch_us"`
	EpochKnown bool           `json:"epoch_known"`
	Begin      model.Time     `json:"begin_us"` // of the first window
	Every      model.Duration `json:"every_us"` // from one window to the next
	// Held is the part of the cluster that was held in each window, by which a mean of
	// shares over windows is to be weighed.
	Held    []metric.Number `json:"held"`
	Tenants []ShareLine     `json:"tenants"`
}

// ShareLine is one tenant.
type ShareLine struct {
	Name   string          `json:"name"`
	Shares []metric.Number `json:"shares"` // by window; unknown in those that do not count
	Target metric.Number   `json:"target"` // its fair share
}

// holdings fills in the shares under the current policy and under a candidate. A site with
// one tenant has nothing to share.
func (t *tuner) holdings(c *candidate) {
	if c.cluster == nil {
		return
	}
	meta := &t.problem.Traces[0].Set.Meta // of several traces the first is drawn
	for _, side := range []*candidate{t.base(), c} {
		s := ShareSeries{Of: side.name, Unit: "node", Epoch: meta.Epoch, EpochKnown: meta.EpochKnown, Begin: t.windows[t.opt.Tuning].Begin}
		if c.cluster.Sharing != "whole" {
			s.Unit = "GPU"
		}
		s.Every = t.windows[t.opt.Tuning+1].Begin.Sub(s.Begin)
		lines := map[string][]metric.Number{}
		for k := range t.opt.Acceptance {
			f := t.figures(side, wholeScope, t.opt.Tuning+k, 0)
			s.Held = append(s.Held, metric.Number(heldIn(f)))
			for name, g := range f.Groups["tenant"] { //detlint:ordered lines of their own
				share, ok := g.Value("share")
				if !ok {
					continue
				}
				if lines[name] == nil {
					lines[name] = slices.Repeat([]metric.Number{metric.Undefined}, t.opt.Acceptance)
				}
				lines[name][k] = metric.Number(share)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			s.Tenants = append(s.Tenants, ShareLine{name, lines[name], t.target(name)})
		}
		if len(s.Tenants) > 1 {
			t.out.Shares = append(t.out.Shares, s)
		}
	}
}

// heldIn is the part of the cluster that was held, 0 where it is not known.
func heldIn(f *task.Figures) float64 {
	x, _ := f.Value("utilisation", metric.Steady)
	return x
}

// target is the fair share of a tenant; unknown without one.
func (t *tuner) target(name string) metric.Number {
	list := t.problem.Cluster.Tenants
	for i := range list {
		if list[i].Name == name && list[i].FairShare > 0 {
			return metric.Number(list[i].FairShare)
		}
	}
	return metric.Undefined
}
