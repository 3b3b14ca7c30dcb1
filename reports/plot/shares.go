package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
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
// Stretches are of equal width; the figure has at most 600 points a layer.
func SharesOverTime(name, title, unit string, startUS, widthUS int64, tenants []Tenant, clock Clock) *Figure {
	s := shareStack(startUS, widthUS, unit, tenants).reduced(stateColumns)
	f := &Figure{
		Name: name, Title: title, height: 320 * pt,
		Note: fmt.Sprintf("share of all %s time that was held, in stretches of %s; blank: nothing was held", unit, Span(float64(s.WidthUS)/secondUS)),
	}
	f.Alt = f.Title + ": " + f.Note
	for i, l := range s.Layers {
		f.legend = append(f.legend, entry{text: l.Name, color: alpha(layerColors[i%len(layerColors)], 150), area: true})
		f.Alt += "; " + l.Name
	}
	f.body = func(c draw.Canvas) {
		lo, hi := s.span()
		p := newPlot(clock.Label(hi-lo), "share of "+unit+" time")
		p.X.Tick.Marker = plot.TickerFunc(clock.Ticks)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, 0, 1.01
		p.Y.Tick.Marker = percentTicks(5)
		p.Add(grid{y: true}, stacked{s})
		p.Draw(c)
	}
	return f
}

// shareStack turns tenants into layers, ordered by their mean share.
func shareStack(startUS, widthUS int64, unit string, tenants []Tenant) Stack {
	mean := func(t Tenant) float64 {
		sum, n := 0.0, 0
		for _, v := range t.Shares {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		return sum / float64(max(1, n))
	}
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
