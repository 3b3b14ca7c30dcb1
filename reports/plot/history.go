package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Progress is how far a search had come after each trial: Best[i] is the best
// value after trial i+1, NaN while there was none.
type Progress struct {
	Name      string
	Best      []float64
	Each      []float64 // what each trial reached by itself; may be nil
	Low, High []float64 // an interval around Best; may be nil
}

// Line is a value that needs no search.
type Line struct {
	Name  string
	Value float64
}

const mostTrials = 4000 // points of single trials that are drawn

var progressColors = [...]color.NRGBA{Blue, Vermilion, Green, Purple, Orange, Sky, Muted}

// SearchHistory draws the best value so far by trial, of seven curves at most, with
// the baselines as dashed lines.
func SearchHistory(name string, m Measure, curves []Progress, lines []Line) *Figure {
	curves = curves[:min(len(curves), len(progressColors))]
	h := history{m: m, curves: curves}
	f := &Figure{Name: name, Title: "Search history: best " + m.Name + " so far", height: 320 * pt}
	most := 0
	for i, c := range curves {
		most = max(most, len(c.Best))
		if len(curves) > 1 || c.Name != "" {
			f.legend = append(f.legend, entry{text: c.Name, color: progressColors[i], dashes: curveDashes(i)})
		}
	}
	for _, l := range lines {
		if !math.IsNaN(l.Value) {
			h.lines = append(h.lines, l)
		}
	}
	f.Note = Count(int64(most)) + " trials"
	for _, c := range curves {
		if v := last(c.Best); !math.IsNaN(v) {
			f.Note += "; "
			if c.Name != "" {
				f.Note += c.Name + " "
			}
			f.Note += "ends at " + m.Say(v)
		}
	}
	if slices.ContainsFunc(curves, func(c Progress) bool { return c.Each != nil }) {
		f.Note += "; points: single trials"
	}
	if slices.ContainsFunc(curves, func(c Progress) bool { return c.Low != nil }) {
		f.Note += "; band: interval"
	}
	for _, l := range h.lines {
		f.more += fmt.Sprintf("; %s: %s", l.Name, m.Say(l.Value))
	}
	f.body = func(c draw.Canvas) { h.draw(c, most) }
	return f
}

func last(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return xs[len(xs)-1]
}

type history struct {
	m      Measure
	curves []Progress
	lines  []Line
}

// span is the range of the values: that of curves and lines. Single trials,
// and what a curve began with, may lie beyond it.
func (h history) span() (lo, hi float64) {
	var all []float64
	for _, c := range h.curves {
		settled := c.Best[min(len(c.Best)/50, len(c.Best)):]
		for _, list := range [][]float64{settled, c.Low, c.High} {
			for _, v := range list {
				if !math.IsNaN(v) {
					all = append(all, v)
				}
			}
		}
	}
	// A baseline far off is not worth squeezing the curves for.
	inRange := func(float64) bool { return true }
	if len(all) > 0 {
		a, b := slices.Min(all), slices.Max(all)
		far := max(b-a, 2*math.Abs(a))
		inRange = func(v float64) bool { return v >= a-far && v <= b+far }
	}
	for _, l := range h.lines {
		if inRange(l.Value) {
			all = append(all, l.Value)
		}
	}
	if len(all) == 0 {
		return 0, 1
	}
	lo, hi = slices.Min(all), slices.Max(all)
	pad := max(0.06*(hi-lo), 0.01*math.Abs(hi), 1e-12)
	return lo - pad, hi + pad
}

func (h history) draw(c draw.Canvas, most int) {
	names := min(150*pt, (c.Max.X-c.Min.X)*0.34)
	lo, hi := h.span()
	full := c
	if len(h.lines) > 0 {
		c = draw.Crop(c, 0, -names, 0, 0)
	}
	p := newPlot(c, "trial", h.m.label(lo, hi))
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(max(most, 1))*1.005, lo, hi
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks(8, true), h.m.ticker(7)
	p.Add(grid{x: true, y: true}, h)
	drawPlot(p, c)
	data := p.DataCanvas(c)
	_, ty := p.Transforms(&data)
	h.name(full, data, func(v float64) vg.Length { return ty(min(max(v, lo), hi)) }, lo, hi)
}

// name writes the baselines at the right, apart from one another.
func (h history) name(full, data draw.Canvas, ty func(float64) vg.Length, lo, hi float64) {
	lines := slices.Clone(h.lines)
	slices.SortStableFunc(lines, func(a, b Line) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	const apart = 11 * pt
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.4
	room := full.Max.X - data.Max.X - 13*pt
	y, texts := make([]vg.Length, len(lines)), make([][]string, len(lines))
	deep := func(i int) vg.Length { return apart * vg.Length(len(texts[i])) } // a text goes down from its first line
	for i, l := range lines {
		text := h.m.Say(l.Value) + " " + l.Name
		if l.Value < lo || l.Value > hi {
			text += " (off the scale)"
		}
		texts[i] = wrapped(text, sty, room)
		if y[i] = ty(l.Value); i > 0 {
			y[i] = max(y[i], y[i-1]+deep(i))
		}
	}
	for i := len(y) - 1; i >= 0; i-- {
		top := data.Max.Y
		if i+1 < len(y) {
			top = y[i+1] - deep(i+1)
		}
		y[i] = min(y[i], top)
	}
	for i, l := range lines {
		from := vg.Point{X: data.Max.X, Y: ty(l.Value)}
		to := vg.Point{X: data.Max.X + 10*pt, Y: y[i]}
		full.StrokeLine2(draw.LineStyle{Color: Muted, Width: 0.5 * pt}, from.X, from.Y, to.X, to.Y)
		for k, text := range texts[i] {
			full.FillText(sty, vg.Point{X: to.X + 3*pt, Y: to.Y - apart*vg.Length(k)}, fitted(text, sty, room))
		}
	}
}

func (h history) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	inside := func(v float64) bool { return v >= p.Y.Min && v <= p.Y.Max }
	for i, curve := range h.curves {
		step := (len(curve.Each) + mostTrials - 1) / mostTrials
		for k, v := range curve.Each {
			if (step <= 1 || k%step == 0) && inside(v) {
				stamp(&c, disc, vg.Point{X: tx(float64(k + 1)), Y: ty(v)}, 1.2*pt, alpha(progressColors[i], 80))
			}
		}
	}
	for _, l := range h.lines {
		if inside(l.Value) {
			c.StrokeLine2(draw.LineStyle{Color: Muted, Width: 0.8 * pt, Dashes: windowDashes}, c.Min.X, ty(l.Value), c.Max.X, ty(l.Value))
		}
	}
	clamp := func(v float64) vg.Length { return ty(min(max(v, p.Y.Min), p.Y.Max)) }
	for i, curve := range h.curves {
		h.interval(&c, curve, progressColors[i], tx, clamp)
		var pts []vg.Point
		for k, v := range curve.Best {
			if math.IsNaN(v) {
				continue
			}
			x := tx(float64(k + 1))
			if n := len(pts); n > 1 && pts[n-1].Y == clamp(v) && pts[n-2].Y == clamp(v) {
				pts[n-1].X = x
				continue
			}
			if n := len(pts); n > 0 {
				pts = append(pts, vg.Point{X: x, Y: pts[n-1].Y})
			}
			pts = append(pts, vg.Point{X: x, Y: clamp(v)})
		}
		if len(pts) > 1 {
			c.StrokeLines(draw.LineStyle{Color: progressColors[i], Width: 1.8 * pt, Dashes: curveDashes(i)}, pts)
		}
	}
}

func (h history) interval(c *draw.Canvas, curve Progress, col color.NRGBA, tx, ty func(float64) vg.Length) {
	var up, down []vg.Point
	for k := range curve.Low {
		if !math.IsNaN(curve.Low[k] + curve.High[k]) {
			up = append(up, vg.Point{X: tx(float64(k + 1)), Y: ty(curve.High[k])})
			down = append(down, vg.Point{X: tx(float64(k + 1)), Y: ty(curve.Low[k])})
		}
	}
	if len(up) < 2 {
		return
	}
	slices.Reverse(down)
	c.FillPolygon(alpha(col, 45), append(up, down...))
}
