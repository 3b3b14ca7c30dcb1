package plan

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"orrery/hwmodel"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Bands of powers, as parts of them. A node of equal make differs by 2.4 to 4.6 % from the
// others in one synchronous run (mlcommons/training_results_v4.1), so nothing is claimed
// closer; NVML is within about 6 % of a meter, of either sign, from card to card. That of a
// source that is not known is an assumption.
const (
	nodeBand    = 0.04
	nvmlBand    = 0.06
	unknownBand = 0.10
)

// Energy is how the power of a site becomes energy, cost and carbon.
type Energy struct {
	metric.PowerConfig
	Tariffs  []hwmodel.TariffAt // ascending
	Currency string
	JobPower string // what measured the power of rows
}

// hardwareOf sets what the world asks of its hardware: which jobs are of which class of
// work, how fast they are and what they draw. cap is what the site may draw, 0 for any power.
func (p *Resolved) hardwareOf(w *world.SiteConfig, res *profiles.Site, cap int64, src Tables) {
	h := res.Hardware
	rowBand := map[string]float64{"meter": nodeBand, "nvml": nvmlBand, "nvml-corrected": nodeBand, "unknown": unknownBand}[h.Facility.JobPower]
	w.Power = world.PowerConfig{IdleBand: model.FixedOf(nodeBand), RowBand: model.FixedOf(rowBand), Slow: h.Slow, Exceeds: res.Sheds || res.CountIdle, Cap: cap}
	if t := h.Transfers; t != nil {
		w.Storage = &world.StorageConfig{Bandwidth: t.Bandwidth, Stage: t.Stage, Stop: t.Stop}
		for _, f := range t.FileSystems {
			w.Storage.FileSystems = append(w.Storage.FileSystems, world.FileSystem{Name: f.Name, Bandwidth: int64(f.Bandwidth)})
		}
	}
	w.Hardware = hwmodel.Recorded{}
	m := h.Model
	m.Seed = p.Spec.Seed
	if !h.Modelled {
		m.Terms = 0
	}
	if m.Terms == 0 && len(m.Classes) == 0 && !slices.ContainsFunc(m.GPUs, func(g hwmodel.GPU) bool { return g.Held.Known }) {
		return
	}
	w.Hardware = &m
	w.Rows.Hardware = rowsOf(h, src)
}

// rowsOf is how rows tell their class of work, and the hardware of their record.
func rowsOf(h *profiles.Hardware, src Tables) *translate.Hardware {
	out := &translate.Hardware{Models: h.Names, Default: h.Recorded}
	for i := range h.Rules {
		r := &h.Rules[i]
		rule := translate.ClassRule{Class: int32(i) + 1, MinGPUs: r.MinGPUs, MaxGPUs: r.MaxGPUs}
		for _, c := range r.Patterns() {
			rule.Columns = append(rule.Columns, translate.ColumnPattern{
				Column: traces.TextColumnOf(c.Column), ByName: c.Column == "name", ByUser: c.Column == "user", Match: c.Match,
			})
		}
		out.Rules = append(out.Rules, rule)
	}
	if nodes := src.Nodes(); len(nodes) > 0 {
		out.Nodes = make(map[string]translate.PastNode, len(nodes))
		groups := map[string]int32{"": -1}
		for _, n := range nodes {
			if _, ok := groups[n.Group]; !ok {
				groups[n.Group] = int32(len(groups)) - 1
			}
			gpu := int32(-1)
			if id, ok := h.Names[n.GPUModel]; ok && n.GPUs > 0 {
				gpu = id
			}
			out.Nodes[n.Name] = translate.PastNode{Model: gpu, Group: groups[n.Group]}
		}
	}
	return out
}

// energyOf is how energy is reckoned, nil where some node states no power: what it draws would
// count as nothing.
func energyOf(w *world.SiteConfig, h *profiles.Hardware, src Tables) *Energy {
	for i := range w.Site.Nodes {
		if w.Site.Nodes[i].IdlePower == 0 && w.Site.Nodes[i].BusyPower == 0 {
			return nil
		}
	}
	f := &h.Facility
	e := &Energy{
		PowerConfig: metric.PowerConfig{PUE: f.Curve(), Overhead: int64(f.Overhead)},
		Currency:    f.Currency, JobPower: f.JobPower,
	}
	first := hwmodel.Tariff{}
	if f.Price > 0 {
		first.Price = hwmodel.Amount{V: micro(f.Price), OK: true}
	}
	if f.Carbon > 0 {
		first.Carbon = hwmodel.Amount{V: int64(math.Round(float64(f.Carbon * 1e3))), OK: true}
	}
	e.Tariffs = append(e.Tariffs, hwmodel.TariffAt{At: model.AbsentTime, Tariff: first})
	for _, event := range src.Events() { // a trace has either these or a table
		if x, err := strconv.ParseFloat(event.Value, 64); event.Kind == "price" && err == nil {
			e.Tariffs = append(e.Tariffs, hwmodel.TariffAt{At: event.Time, Tariff: hwmodel.Tariff{Price: hwmodel.Amount{V: micro(x), OK: true}, Carbon: first.Carbon}})
		}
	}
	for _, p := range src.Prices() {
		now := hwmodel.Tariff{Price: hwmodel.Amount{V: micro(p.Price), OK: true}, Carbon: first.Carbon}
		if p.Carbon.OK {
			now.Carbon = hwmodel.Amount{V: int64(math.Round(float64(p.Carbon.V * 1e3))), OK: true}
		}
		if p.Supply.OK {
			now.Supply, e.Supplied = hwmodel.Amount{V: p.Supply.V, OK: true}, true
		}
		e.Tariffs = append(e.Tariffs, hwmodel.TariffAt{At: p.Time, Tariff: now})
	}
	slices.SortStableFunc(e.Tariffs, func(a, b hwmodel.TariffAt) int { return cmp.Compare(a.At, b.At) })
	return e
}

// micro is x in millionths.
func micro(x float64) int64 { return int64(math.Round(float64(x * 1e6))) }
