package plot

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TradeOff draws candidates over two objectives, At[0] along x and At[1] along
// y. With stairs the front is joined by a line: right when these two are the
// only objectives.
func TradeOff(name string, x, y Measure, all []Candidate, stairs bool) *Figure {
	f := &Figure{Name: name, Title: y.Name + " against " + x.Name, height: 400 * pt, narrow: 300 * pt, legend: standingLegend(all)}
	lo0, hi0 := reach(all, 0, x)
	lo1, hi1 := reach(all, 1, y)
	pad0, pad1 := 0.05*(hi0-lo0), 0.06*(hi1-lo1)
	shown, left := drawn(all, mostDrawn)
	beyond, undefined := 0, 0
	for _, c := range all {
		switch {
		case math.IsNaN(c.At[0] + c.At[1]):
			undefined++
		case c.At[0] < lo0-pad0 || c.At[0] > hi0+pad0 || c.At[1] < lo1-pad1 || c.At[1] > hi1+pad1:
			beyond++
		}
	}
	f.Note = Count(int64(len(all))) + " candidates; " + betterCorner(x, y)
	for _, s := range []struct {
		n    int
		says string
	}{{left, "not drawn (each stands for its neighbours)"}, {beyond, "far worse, at the edge"}, {undefined, "without a value"}} {
		if s.n > 0 {
			f.Note += fmt.Sprintf("; %s %s", Count(int64(s.n)), s.says)
		}
	}
	for _, c := range shown {
		if c.Standing >= Current {
			f.more += fmt.Sprintf("; %s (%s): %s and %s", c.Name, standings[c.Standing].says, x.Say(c.At[0]), y.Say(c.At[1]))
		}
	}
	f.body = func(c draw.Canvas) {
		p := newPlot(c, x.label(lo0, hi0), y.label(lo1, hi1))
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo0-pad0, hi0+pad0, lo1-pad1, hi1+pad1
		p.X.Tick.Marker, p.Y.Tick.Marker = x.ticker(few(c, 8)), y.ticker(7)
		p.Add(grid{x: true, y: true}, tradeOff{shown, x, y, stairs})
		drawPlot(p, c)
	}
	return f
}

// betterCorner says where to look.
func betterCorner(x, y Measure) string {
	side := map[int]string{-1: "left", 1: "right"}[x.Better]
	edge := map[int]string{-1: "bottom", 1: "top"}[y.Better]
	switch {
	case side != "" && edge != "":
		return "the best corner is " + edge + " " + side
	case side+edge != "":
		return "better lies to the " + side + edge
	}
	return "neither is better by itself"
}

type tradeOff struct {
	all    []Candidate
	x, y   Measure
	stairs bool
}

func (d tradeOff) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	at := func(q Candidate) vg.Point {
		return vg.Point{X: tx(min(max(q.At[0], p.X.Min), p.X.Max)), Y: ty(min(max(q.At[1], p.Y.Min), p.Y.Max))}
	}
	if d.stairs {
		d.joinFront(&c, at)
	}
	labels := &tags{frame: c.Rectangle}
	for _, q := range d.all {
		if math.IsNaN(q.At[0] + q.At[1]) {
			continue
		}
		s := standings[q.Standing]
		stamp(&c, marks[q.Standing], at(q), s.size, s.color)
		if q.Standing >= Front {
			labels.block(at(q), s.size)
		}
	}
	for _, q := range slices.Backward(d.all) {
		if q.Standing >= Baseline && !math.IsNaN(q.At[0]+q.At[1]) {
			labels.put(&c, at(q), standings[q.Standing].size+2.5*pt, q.Name)
		}
	}
}

// joinFront draws the line between what is reached and what is not.
func (d tradeOff) joinFront(c *draw.Canvas, at func(Candidate) vg.Point) {
	var front []vg.Point
	for _, q := range d.all {
		if q.Standing == Front && !math.IsNaN(q.At[0]+q.At[1]) {
			front = append(front, at(q))
		}
	}
	slices.SortStableFunc(front, func(a, b vg.Point) int {
		if a.X != b.X {
			return int(math.Copysign(1, float64(a.X-b.X)))
		}
		return int(math.Copysign(1, float64(a.Y-b.Y)))
	})
	if len(front) < 2 {
		return
	}
	// Between two points of the front the worse of both is reached: in a step
	// that turns at the corner away from the good side.
	xFirst := d.x.Better < 0
	line := front[:1:1]
	for i := 1; i < len(front); i++ {
		corner := vg.Point{X: front[i].X, Y: front[i-1].Y}
		if !xFirst {
			corner = vg.Point{X: front[i-1].X, Y: front[i].Y}
		}
		line = append(line, corner, front[i])
	}
	c.StrokeLines(draw.LineStyle{Color: alpha(Blue, 150), Width: 1 * pt}, line)
}

// mostLines bounds the candidates of no standing in parallel coordinates.
const mostLines = 400

// Parallel draws each candidate as a line across an axis for each measure.
// Axes that are better one way have their better end at the top.
func Parallel(name string, axes []Measure, all []Candidate) *Figure {
	f := &Figure{Name: name, Title: "Every candidate across all settings and objectives", height: 400 * pt, narrow: 320 * pt, legend: standingLegend(all)}
	for i := range f.legend {
		if f.legend[i].mark == diamond {
			f.legend[i].dashes = baselineDashes
		}
		f.legend[i].mark = noMark
	}
	shown, left := drawn(all, mostLines)
	f.Note = fmt.Sprintf("%s candidates, a line each; on ▲ axes the top is better", Count(int64(len(all))))
	if left > 0 {
		f.Note += fmt.Sprintf("; %s not drawn (each stands for its neighbours)", Count(int64(left)))
	}
	d := parallel{axes: axes, all: shown, lo: make([]float64, len(axes)), hi: make([]float64, len(axes))}
	for i, m := range axes {
		if d.lo[i], d.hi[i] = reach(all, i, m); m.Labels != nil {
			d.lo[i], d.hi[i] = 0, float64(len(m.Labels)-1)
		}
	}
	f.body = d.draw
	return f
}

var baselineDashes = []vg.Length{3 * pt, 2 * pt}

type parallel struct {
	axes   []Measure
	all    []Candidate
	lo, hi []float64
}

func (d parallel) draw(c draw.Canvas) {
	n := len(d.axes)
	if n == 0 {
		return
	}
	const foot, head = 16 * pt, 46 * pt
	side := min(60*pt, (c.Max.X-c.Min.X)/vg.Length(2*n))
	inner := draw.Crop(c, side, -side, foot, -head)
	x := func(i int) vg.Length {
		if n == 1 {
			return inner.Center().X
		}
		return inner.Min.X + (inner.Max.X-inner.Min.X)*vg.Length(i)/vg.Length(n-1)
	}
	for _, q := range d.all {
		var pts []vg.Point
		s := standings[q.Standing]
		line := draw.LineStyle{Color: s.color, Width: s.width}
		if q.Standing <= Tried {
			line.Color = alpha(s.color, 85)
		}
		if q.Standing == Baseline {
			line.Dashes = baselineDashes
		}
		for i, m := range d.axes {
			at := m.place(q.At[i], d.lo[i], d.hi[i])
			if math.IsNaN(at) {
				c.StrokeLines(line, pts)
				pts = nil
				continue
			}
			if m.Better < 0 {
				at = 1 - at
			}
			pts = append(pts, vg.Point{X: x(i), Y: inner.Min.Y + (inner.Max.Y-inner.Min.Y)*vg.Length(at)})
		}
		if len(pts) > 1 {
			c.StrokeLines(line, pts)
		}
	}
	room := 2 * side
	if n > 1 {
		room = x(1) - x(0)
	}
	for i := range d.axes {
		own := room
		if i == 0 || i == n-1 {
			own = min(room, 2*side)
		}
		d.axis(&c, inner, i, x(i), own)
	}
	d.stand(&c, inner, x)
}

// stand marks baselines, what is current and what is recommended on every axis on which
// they have a value, for a line needs two, and names them beside the last.
func (d parallel) stand(c *draw.Canvas, inner draw.Canvas, x func(int) vg.Length) {
	labels := &tags{frame: c.Rectangle}
	type named struct {
		at vg.Point
		r  vg.Length
		q  *Candidate
	}
	var list []named
	for k := range d.all {
		q := &d.all[k]
		if q.Standing < Baseline {
			continue
		}
		last := named{q: q, r: 0.7 * standings[q.Standing].size}
		for i, m := range d.axes {
			at := m.place(q.At[i], d.lo[i], d.hi[i])
			if math.IsNaN(at) {
				continue
			}
			if m.Better < 0 {
				at = 1 - at
			}
			last.at = vg.Point{X: x(i), Y: inner.Min.Y + (inner.Max.Y-inner.Min.Y)*vg.Length(at)}
			stamp(c, marks[q.Standing], last.at, last.r, standings[q.Standing].color)
			labels.block(last.at, last.r)
		}
		if last.at != (vg.Point{}) {
			list = append(list, last)
		}
	}
	for _, n := range slices.Backward(list) {
		labels.put(c, n.at, n.r+2.5*pt, n.q.Name)
	}
}

// axis draws one axis with its name and its ends.
func (d parallel) axis(c *draw.Canvas, inner draw.Canvas, i int, x, room vg.Length) {
	m := d.axes[i]
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.9 * pt}, x, inner.Min.Y, x, inner.Max.Y)
	small := sans(tickSize, Muted, false)
	small.XAlign = -0.5
	top, bottom := m.Say(d.hi[i]), m.Say(d.lo[i])
	if m.Better < 0 {
		top, bottom = bottom, top
	}
	if m.Better != 0 {
		top = "▲ " + top
	}
	c.FillText(small, vg.Point{X: x, Y: inner.Max.Y + 3*pt}, fitted(top, small, room))
	c.FillText(small, vg.Point{X: x, Y: inner.Min.Y - 11*pt}, fitted(bottom, small, room))
	for k := 1; k < len(m.Labels)-1; k++ {
		sty := sans(tickSize, Muted, false)
		at := vg.Length(m.place(float64(k), d.lo[i], d.hi[i]))
		y := inner.Min.Y + (inner.Max.Y-inner.Min.Y)*at
		text := fitted(m.Labels[k], sty, room*0.8)
		fill(c, x+3*pt, y-6*pt, x+6*pt+sty.Width(text)*1.05, y+6*pt, alpha(Paper, 200))
		c.FillText(sty, vg.Point{X: x + 4*pt, Y: y - 3*pt}, text)
	}
	name := sans(tickSize, Ink, false)
	name.XAlign = -0.5
	y := inner.Max.Y + 16*pt
	lines := broken(m.Name, name, room)
	for k := len(lines) - 1; k >= 0; k-- {
		c.FillText(name, vg.Point{X: x, Y: y}, lines[k])
		y += 10 * pt
	}
}
