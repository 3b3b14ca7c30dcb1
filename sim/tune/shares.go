package tune

import (
	"maps"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/task"
)

// ShareSeries is which share of what was held each tenant held in each part of the first
// trace, under one candidate.
type ShareSeries struct {
	Of         string         `json:"of"`   // the candidate
	Unit       string         `json:"unit"` // what is held: node or GPU
	Epoch      model.Time     `json:"epoch_us"`
	EpochKnown bool           `json:"epoch_known"`
	Begin      model.Time     `json:"begin_us"` // of the first part
	Every      model.Duration `json:"every_us"` // from one part to the next
	// Held is the part of the cluster that was held in each part, by which a mean of
	// shares over them is to be weighed.
	Held    []metric.Number `json:"held"`
	Tenants []ShareLine     `json:"tenants"`
}

// ShareLine is one tenant.
type ShareLine struct {
	Name   string          `json:"name"`
	Shares []metric.Number `json:"shares"` // by part
	Target metric.Number   `json:"target"` // its fair share
}

// holdings fills in the shares under the current policy and under a candidate. A site with
// one tenant has nothing to share.
func (t *tuner) holdings(c *candidate) error {
	if c.cluster == nil {
		return nil
	}
	const first = 0 // of several traces the first is drawn
	spans := detailScope.spans(t, first)
	sides := []*candidate{t.base(), c}
	if err := t.run([]runRequest{{of: sides[0], scope: detailScope}, {of: sides[1], scope: detailScope}}); err != nil {
		return err
	}
	meta := &t.problem.Traces[first].Set.Meta
	for _, side := range sides {
		s := ShareSeries{Of: side.name, Unit: "node", Epoch: meta.Epoch, EpochKnown: meta.EpochKnown, Begin: spans[0].From, Every: spans[0].To.Sub(spans[0].From)}
		if c.cluster.Sharing != "whole" {
			s.Unit = "GPU"
		}
		lines := map[string][]metric.Number{}
		r := t.result(side, detailScope, first, 0)
		for k := range spans {
			f := partAt(r, k)
			s.Held = append(s.Held, metric.Number(heldIn(f)))
			for name, g := range f.Groups["tenant"] { //detlint:ordered lines of their own
				share, ok := g.Value("share")
				if !ok {
					continue
				}
				if lines[name] == nil {
					lines[name] = slices.Repeat([]metric.Number{metric.Undefined}, len(spans))
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
	return nil
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
