package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg/draw"
)

// Tenant is the share of what was held that one tenant had, over time.
type Tenant struct {
	Name   string
	Shares []float64 // 0 to 1, one for each stretch
	Target float64   // its fair share, NaN when it has none
}

// mostTenants bounds the layers; the rest is joined into one.
const mostTenants = 7

// SharesOverTime draws the shares as layers, the largest tenant at the bottom.
// Stretches are of equal width; held, if not nil, is how much was held in each of
// them, by which the mean shares of the legend are weighed. The figure has at most 600
// points a layer.
func SharesOverTime(name, title, unit string, startUS, widthUS int64, tenants []Tenant, held []float64, clock Clock) *Figure {
	if per := stretchesPerPoint(tenants); per > 1 {
		tenants, held = joinedShares(tenants, held, per)
		widthUS *= int64(per)
	}
	s := shareStack(startUS, widthUS, unit, tenants, held)
	f := &Figure{
		Name: name, Title: title, height: 320 * pt, narrow: 260 * pt,
		Note: fmt.Sprintf("share of all %s time that was held, in stretches of %s; blank: nothing was held; in the legend: mean share over time, weighed by what was held, and fair share", unit, Span(float64(s.WidthUS)/secondUS)),
	}
	for i, l := range s.Layers {
		f.legend = append(f.legend, entry{text: l.Name, color: alpha(layerColors[i%len(layerColors)], 150), area: true})
		f.more += "; " + l.Name
	}
	f.body = func(c draw.Canvas) {
		lo, hi := s.span()
		p := newPlot(c, clock.label(hi-lo), "share of "+unit+" time")
		p.X.Tick.Marker = clock.ticker(few(c, labelsWanted))
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, 0, 1.01
		p.Y.Tick.Marker = percentTicks(5)
		p.Add(grid{y: true}, stacked{s})
		drawPlot(p, c)
	}
	return f
}

// meanShare is the mean of the shares of a tenant, each weighed by how much was held
// then. Stretches in which nothing was held count for nothing.
func meanShare(t Tenant, held []float64) float64 {
	sum, all := 0.0, 0.0
	for k, v := range t.Shares {
		w := 1.0
		if k < len(held) && !math.IsNaN(held[k]) {
			w = held[k]
		}
		if !math.IsNaN(v) {
			sum, all = sum+w*v, all+w
		}
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// stretchesPerPoint is how many stretches are joined to one that is drawn.
func stretchesPerPoint(tenants []Tenant) int {
	if len(tenants) == 0 {
		return 1
	}
	return (len(tenants[0].Shares) + stateColumns - 1) / stateColumns
}

// joinedShares joins so many neighbours each, weighed by what was held.
func joinedShares(tenants []Tenant, held []float64, per int) (out []Tenant, sums []float64) {
	for _, t := range tenants {
		joined := Tenant{Name: t.Name, Target: t.Target}
		for i := 0; i < len(t.Shares); i += per {
			to := min(i+per, len(t.Shares))
			part := Tenant{Shares: t.Shares[i:to]}
			share := math.NaN()
			if slices.ContainsFunc(part.Shares, func(v float64) bool { return !math.IsNaN(v) }) {
				share = meanShare(part, held[min(i, len(held)):min(to, len(held))])
			}
			joined.Shares = append(joined.Shares, share)
		}
		out = append(out, joined)
	}
	for i := 0; i < len(held); i += per {
		sum := 0.0
		for _, v := range held[i:min(i+per, len(held))] {
			if !math.IsNaN(v) {
				sum += v
			}
		}
		sums = append(sums, sum)
	}
	return out, sums
}

// shareStack turns tenants into layers, ordered by their mean share.
func shareStack(startUS, widthUS int64, unit string, tenants []Tenant, weights []float64) Stack {
	mean := func(t Tenant) float64 { return meanShare(t, weights) }
	order := slices.Clone(tenants)
	slices.SortStableFunc(order, func(a, b Tenant) int { return cmp.Compare(mean(b), mean(a)) })
	s := Stack{StartUS: startUS, WidthUS: widthUS, Unit: unit, Units: 1}
	for i, t := range order {
		held := make([]float64, len(t.Shares))
		for k, v := range t.Shares {
			if !math.IsNaN(v) {
				held[k] = v
			}
		}
		if i >= mostTenants && len(order) > mostTenants+1 {
			if i == mostTenants {
				s.Layers = append(s.Layers, Layer{fmt.Sprintf("%d others", len(order)-mostTenants), held, make([]float64, len(held))})
				continue
			}
			for k, v := range held {
				s.Layers[mostTenants].Held[k] += v
			}
			continue
		}
		name := fmt.Sprintf("%s %s", t.Name, percent(mean(t)))
		if !math.IsNaN(t.Target) {
			name += fmt.Sprintf(" (due %s)", percent(t.Target))
		}
		s.Layers = append(s.Layers, Layer{name, held, make([]float64, len(held))})
	}
	return s
}
