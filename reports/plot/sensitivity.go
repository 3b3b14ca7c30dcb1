package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Effect is how much one setting moves a metric, with its interval.
type Effect struct {
	Name             string
	Value, Low, High float64 // NaN where unknown
	Influence        string  // active, inert or unclear
}

var influences = map[string]color.NRGBA{"active": Blue, "unclear": Orange, "inert": Muted}

// Sensitivity draws a bar for each setting, the largest at the top, with the
// noise floor where there is one. What says what an effect is.
func Sensitivity(name string, metric string, m Measure, what string, effects []Effect, floor float64) *Figure {
	effects = slices.Clone(effects)
	slices.SortStableFunc(effects, func(a, b Effect) int {
		switch {
		case a.Value > b.Value || math.IsNaN(b.Value) && !math.IsNaN(a.Value):
			return -1
		case a.Value < b.Value || math.IsNaN(a.Value) && !math.IsNaN(b.Value):
			return 1
		}
		return 0
	})
	f := &Figure{
		Name: name, Title: "What moves " + metric, Note: what + "; whiskers: its interval", height: vg.Length(106+19*len(effects)) * pt,
		legend: []entry{
			{text: "active: beyond the noise", color: alpha(Blue, 150), area: true}, {text: "unclear", color: alpha(Orange, 150), area: true},
			{text: "inert: within the noise", color: alpha(Muted, 150), area: true},
		},
	}
	if floor > 0 {
		f.legend = append(f.legend, entry{text: "noise floor", color: Vermilion, dashes: windowDashes})
	}
	said := make([]string, len(effects))
	for i, e := range effects {
		said[i] = fmt.Sprintf("%s %s (%s)", e.Name, m.Say(e.Value), e.Influence)
	}
	f.Alt = f.Title + ": " + strings.Join(said, "; ")
	f.body = func(c draw.Canvas) {
		hi := max(floor, 0)
		names := make([]string, len(effects))
		for i, e := range effects {
			names[i] = fitted(e.Name, sans(tickSize, Muted, false), 190*pt)
			for _, v := range []float64{e.Value, e.High} {
				if !math.IsNaN(v) {
					hi = max(hi, v)
				}
			}
		}
		if hi == 0 {
			hi = 1
		}
		p := newPlot(m.label(0, hi), "")
		p.X.Min, p.X.Max = 0, hi*1.2
		p.X.Tick.Marker = m.ticker(8)
		p.Add(grid{x: true}, effectBars{effects, floor, m})
		rowAxis(p, names)
		p.Draw(c)
	}
	return f
}

type effectBars struct {
	rows  []Effect
	floor float64
	m     Measure
}

func (b effectBars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	half := min((ty(0)-ty(-1))*0.34, 7*pt)
	if b.floor > 0 {
		c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 1.1 * pt, Dashes: windowDashes}, tx(b.floor), c.Min.Y, tx(b.floor), c.Max.Y)
	}
	for i, e := range b.rows {
		y := ty(-float64(i))
		text := e.Influence
		end := tx(0)
		if !math.IsNaN(e.Value) {
			end = tx(max(e.Value, 0))
			fill(&c, tx(0), y-half, max(end, tx(0)+1*pt), y+half, alpha(influences[e.Influence], 150))
			text = b.m.Say(e.Value) + ", " + e.Influence
		}
		if !math.IsNaN(e.Low + e.High) {
			lo, hi := tx(max(e.Low, 0)), tx(max(e.High, 0))
			sty := draw.LineStyle{Color: Ink, Width: 0.9 * pt}
			c.StrokeLine2(sty, lo, y, hi, y)
			c.StrokeLine2(sty, lo, y-half/2, lo, y+half/2)
			c.StrokeLine2(sty, hi, y-half/2, hi, y+half/2)
			end = max(end, hi)
		}
		sty := sans(tickSize, Ink, false)
		sty.YAlign = -0.42
		if at := tx(b.floor); b.floor > 0 && end <= at && at < end+8*pt+sty.Width(text)*1.05 {
			end = at // words stand beside the line, not on it
		}
		c.FillText(sty, vg.Point{X: end + 5*pt, Y: y}, text)
	}
}
