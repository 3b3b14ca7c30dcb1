package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/internal/rundata"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// power is what a report says of the power and the run time of a site.
type power struct {
	drawn    []plot.Drawn // on the bins of the series; nil without the table power
	energy   bool         // run.json says what energy rests on
	overhead bool         // and that the facility draws some power at any load
	currency string
	terms    []termHours // of modelled run times
	modelled bool
	part     float64 // of GPU time at work, of which everything that counts was known
}

// termHours is the GPU time that was lost by one term, below 0 where some was gained.
type termHours struct {
	name    string
	hours   float64
	unknown float64 // part of the GPU time at work in which it was not known, and counted as none
}

// runPower is what run.json says of power and hardware.
type runPower struct {
	Power *struct {
		Currency string `json:"currency"`
		Overhead int64  `json:"overhead_w"`
	} `json:"power"`
	Hardware *struct {
		GPUUS     int64    `json:"gpu_us"`
		KnownUS   int64    `json:"modelled_us"`
		LostUS    []termUS `json:"lost_us"`
		UnknownUS []termUS `json:"unknown_us"`
	} `json:"hardware"`
}

// termUS is the GPU time of a term.
type termUS struct {
	Term string `json:"term"`
	US   int64  `json:"gpu_us"`
}

// readPower reads what a run says of its power. Memory is that of the bins.
func readPower(r *rundata.Run) (*power, error) {
	var doc runPower
	if err := json.Unmarshal(r.Files.Info(), &doc); err != nil {
		return nil, err
	}
	p := &power{}
	if doc.Power != nil {
		p.energy, p.currency, p.overhead = true, doc.Power.Currency, doc.Power.Overhead > 0
	}
	if doc.Hardware != nil {
		p.modelled = true
		if doc.Hardware.GPUUS > 0 {
			p.part = float64(doc.Hardware.KnownUS) / float64(doc.Hardware.GPUUS)
		}
		for _, t := range doc.Hardware.LostUS {
			term := termHours{name: t.Term, hours: hours(t.US)}
			if i := slices.IndexFunc(doc.Hardware.UnknownUS, func(u termUS) bool { return u.Term == t.Term }); i >= 0 && doc.Hardware.GPUUS > 0 {
				term.unknown = float64(doc.Hardware.UnknownUS[i].US) / float64(doc.Hardware.GPUUS)
			}
			p.terms = append(p.terms, term)
		}
	}
	var err error
	p.drawn, err = r.Drawn()
	return p, err
}

// powerFigures are those of the power and the run time of a site.
func (r *run) powerFigures() []*plot.Figure {
	var out []*plot.Figure
	if len(r.power.drawn) > 0 {
		out = append(out, plot.PowerOverTime(r.power.drawn, r.power.currency, r.Clock(), r.shown()))
	}
	if rows := r.energyRows(); len(rows) > 0 {
		out = append(out, plot.EnergyByGroup(figureRows(rows, r.power.currency)))
	}
	if steps := r.timeSteps(); len(steps) > 0 {
		out = append(out, plot.RunTime(steps))
	}
	return out
}

// energyRow is the energy of a group in kWh, and what it cost.
type energyRow struct {
	of, name         string
	low, value, high float64
	cost             *float64 // in the currency; nil where it is not known of all its jobs
	says             string   // behind the cost
}

const millijoulesPerKWh = 3.6e9

// energyRows are those of the vClusters, of nodes without a job, and of the tenants, by
// energy; nil where none is known. What the facility draws at any load is in the cost of nodes
// without a job.
func (r *run) energyRows() []energyRow {
	if r.site == nil || !r.power.energy {
		return nil
	}
	all, known := r.Table.Value("energy", metric.All)
	if !known || all <= 0 {
		return nil
	}
	low, _ := r.Table.Value("energy_low", metric.All)
	high, _ := r.Table.Value("energy_high", metric.All)
	var out []energyRow
	rest := [3]float64{float64(low), float64(all), float64(high)}
	left, priced := r.Table.Value("energy_cost", metric.All)
	for _, by := range []string{metric.ByVCluster, metric.ByTenant} {
		first := len(out)
		for _, g := range r.site.groups(by, metric.All) {
			if e := [3]float64{float64(g.EnergyLow) / millijoulesPerKWh, float64(g.Energy) / millijoulesPerKWh, float64(g.EnergyHigh) / millijoulesPerKWh}; g.Energy > 0 {
				row := energyRow{of: by, name: g.Name, low: e[0], value: e[1], high: e[2]}
				if g.Cost != nil {
					cost := float64(*g.Cost) / 1e6
					row.cost = &cost
				}
				out = append(out, row)
				if by == metric.ByVCluster {
					if priced = priced && row.cost != nil; priced {
						left -= *row.cost
					}
					rest[0], rest[1], rest[2] = rest[0]-e[0], rest[1]-e[1], rest[2]-e[2]
				}
			}
		}
		slices.SortStableFunc(out[first:], func(a, b energyRow) int {
			return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
		})
		if by == metric.ByVCluster && rest[1] > 0 {
			row := energyRow{name: "nodes without a job", low: max(0, min(rest[0], rest[1])), value: rest[1], high: max(rest[1], rest[2])}
			if priced {
				row.cost = &left
			}
			if r.power.overhead {
				row.says = " with the overhead"
			}
			out = append(out, row)
		}
	}
	return out
}

// figureRows are the rows of the figure, which has the largest tenants.
func figureRows(rows []energyRow, currency string) []plot.EnergyRow {
	var out []plot.EnergyRow
	most, tenants := 0.0, 0
	for _, e := range rows {
		most = max(most, e.high)
	}
	u := plot.EnergyScale(most)
	for _, e := range rows {
		name := e.name
		if e.of == metric.ByTenant {
			if tenants++; tenants > mostRows {
				break
			}
			if tenants == 1 {
				out = append(out, plot.EnergyRow{})
			}
			name = "tenant " + e.name
		}
		says := fmt.Sprintf("%s (%s to %s)", u.Says(e.value), u.Number(e.low), u.Number(e.high))
		if e.cost != nil {
			says += ", " + page.Number(tidyEither(*e.cost)) + " " + currency + e.says
		}
		out = append(out, plot.EnergyRow{Name: name, Low: e.low, Value: e.value, High: e.high, Says: says})
	}
	return out
}

// energyTable has all groups.
func (r *run) energyTable() *doc.Table {
	out := doc.New("of", "name", "energy (kWh)", "at least", "at most", "part", "cost ("+r.power.currency+")")
	all, _ := r.Table.Value("energy", metric.All)
	quantity := func(x float64) doc.Cell { return doc.Quantity(page.Number(tidyEither(x)), x) }
	for _, e := range r.energyRows() {
		cost := doc.Cell{}
		if e.cost != nil {
			cost = quantity(*e.cost)
		}
		part, name := e.value/float64(all), e.name
		if e.says != "" {
			name += " (cost" + e.says + ")"
		}
		out.Row(e.of, name, quantity(e.value), quantity(e.low), quantity(e.high), percentCell(&part), cost)
	}
	return out
}

// termWords say in a few words what a term loses time to.
var termWords = map[string]string{"type": "other GPUs than recorded", "placement": "other placement than recorded", "contention": "other jobs on the network", "cap": "power cap"}

// unknownStep is what is said of a step of which nothing is known.
const unknownStep = "not known"

// timeSteps are the steps from the work that was kept to the GPU time that jobs held; nil
// where there is nothing to tell apart.
func (r *run) timeSteps() []plot.TimeStep {
	held, known := r.Table.Value("gpu_hours_allocated", metric.All)
	kept, also := r.Table.Value("gpu_hours_useful", metric.All)
	lost, too := r.Table.Value("gpu_hours_lost", metric.All)
	if r.site == nil || !known || !also || !too || held <= 0 || (!r.power.modelled && lost == 0) {
		return nil
	}
	step := func(name string, h float64, sum bool) plot.TimeStep {
		says := page.Number(tidyEither(h)) + " h"
		if part := percent(h / float64(held)); sum {
			says += ", " + part + " of the time held"
		} else {
			says = fmt.Sprintf("%+.1f %% (%s h)", 100*h/float64(held), page.Number(tidyEither(h)))
		}
		return plot.TimeStep{Name: name, Hours: h, Sum: sum, Says: says}
	}
	out := []plot.TimeStep{step("work kept, as recorded", float64(kept), true)}
	rest := float64(held) - float64(kept) - float64(lost)
	for _, t := range r.power.terms {
		name := termWords[t.name]
		if name == "" {
			name = t.name
		}
		s := step(name, t.hours, false)
		switch {
		case t.unknown >= 1:
			s.Says = unknownStep
		case t.unknown > 0:
			s.Says = strings.TrimSuffix(s.Says, ")") + "; not known of " + percent(t.unknown) + ")"
		}
		out = append(out, s)
		rest -= t.hours
	}
	return append(out, step("work thrown away", float64(lost), false), step("starts, checkpoints, rest", rest, false), step("GPU time held", float64(held), true))
}

// timeTable is the waterfall in numbers.
func (r *run) timeTable() *doc.Table {
	out := doc.New("step", "GPU-hours", "of the time held")
	steps := r.timeSteps()
	for _, s := range steps {
		if s.Says == unknownStep {
			out.Row(s.Name, doc.Cell{}, doc.Cell{})
			continue
		}
		part := s.Hours / steps[len(steps)-1].Hours
		out.Row(s.Name, doc.Quantity(page.Number(tidyEither(s.Hours)), s.Hours), percentCell(&part))
	}
	return out
}

// tidyEither is tidy for amounts of either sign.
func tidyEither(h float64) float64 {
	if h < 0 {
		return -tidy(-h)
	}
	return tidy(h)
}
