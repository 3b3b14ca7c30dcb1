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
// noise floor where there is one. What says what an effect is. Shares of a whole have
// an axis from 0 to 100 %, on which a floor beyond that is said and not drawn.
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
		Name: name, Title: "What moves " + metric, Note: what + "; whiskers: its interval",
		legend: []entry{
			{text: "active: beyond the noise", color: alpha(Blue, 150), area: true}, {text: "unclear", color: alpha(Orange, 150), area: true},
			{text: "inert: within the noise", color: alpha(Muted, 150), area: true},
		},
	}
	f.height, f.narrow = rowHeights(106*pt, len(effects))
	switch {
	case floor >= 1 && m.Share:
		f.Note += "; the noise is larger than all of the variation, so these are parts of noise"
		floor = 0
	case floor > 0:
		f.legend = append(f.legend, entry{text: "noise floor", color: Vermilion, dashes: windowDashes})
	}
	said := make([]string, len(effects))
	for i, e := range effects {
		said[i] = fmt.Sprintf("%s %s (%s)", e.Name, m.Say(e.Value), e.Influence)
	}
	f.more = ": " + strings.Join(said, "; ")
	b := effectBars{rows: effects, floor: floor, m: m, hi: effectReach(effects, floor, m)}
	f.body = b.draw
	return f
}

// effectReach is where the axis ends: at 100 % for shares.
func effectReach(effects []Effect, floor float64, m Measure) float64 {
	if m.Share {
		return 1
	}
	hi := max(floor, 0)
	for _, e := range effects {
		for _, v := range []float64{e.Value, e.High} {
			if !math.IsNaN(v) {
				hi = max(hi, v)
			}
		}
	}
	if hi == 0 {
		return 1
	}
	return hi
}

type effectBars struct {
	rows      []Effect
	floor, hi float64
	m         Measure
	layout    rowLayout
}

// draw leaves room at the right for words in the wide form; in the narrow one they
// stand with the names.
func (b effectBars) draw(c draw.Canvas) {
	const words = 84 * pt
	names := make([]string, len(b.rows))
	for i, e := range b.rows {
		if names[i] = e.Name; small(c) {
			names[i] += ": " + b.says(e)
		}
	}
	full := c
	if !small(c) {
		c = draw.Crop(c, 0, -words, 0, 0)
	}
	p := newPlot(c, b.m.label(0, b.hi), "")
	p.X.Min, p.X.Max = 0, b.hi
	p.X.Tick.Marker = b.m.ticker(few(c, 8))
	b.layout = rowsOn(c, p, names, nameRoom)
	p.Add(grid{x: true}, b)
	drawPlot(p, c)
	if small(full) {
		return
	}
	data := p.DataCanvas(c)
	_, ty := p.Transforms(&data)
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.42
	for i, e := range b.rows {
		y, _ := b.layout.at(ty, i)
		full.FillText(sty, vg.Point{X: data.Max.X + 6*pt, Y: y}, b.says(e))
	}
}

func (b effectBars) says(e Effect) string {
	if math.IsNaN(e.Value) {
		return e.Influence
	}
	return b.m.Say(e.Value) + ", " + e.Influence
}

func (b effectBars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	b.layout.above(&c, ty)
	if b.floor > 0 {
		c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 1.1 * pt, Dashes: windowDashes}, tx(b.floor), c.Min.Y, tx(b.floor), c.Max.Y)
	}
	for i, e := range b.rows {
		y, half := b.layout.at(ty, i)
		if !math.IsNaN(e.Value) {
			end := tx(min(max(e.Value, 0), b.hi))
			fill(&c, tx(0), y-half, max(end, tx(0)+1*pt), y+half, alpha(influences[e.Influence], 150))
		}
		if !math.IsNaN(e.Low + e.High) {
			lo, hi := tx(min(max(e.Low, 0), b.hi)), tx(min(max(e.High, 0), b.hi))
			sty := draw.LineStyle{Color: Ink, Width: 0.9 * pt}
			c.StrokeLine2(sty, lo, y, hi, y)
			c.StrokeLine2(sty, lo, y-half/2, lo, y+half/2)
			c.StrokeLine2(sty, hi, y-half/2, hi, y+half/2)
		}
	}
}
