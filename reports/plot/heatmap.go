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

// heat is the colour of a value between 0 and 1: from none to dark blue. A
// figure on dark paper keeps its reading: fuller is more.
func heat(v float64) color.NRGBA {
	if math.IsNaN(v) {
		return color.NRGBA{}
	}
	return alpha(Blue, uint8(26+math.Round(min(max(v, 0), 1)*215)))
}

// on is the colour of text over heat(v).
func on(v float64) color.NRGBA {
	if v > 0.62 {
		return Paper
	}
	return Ink
}

// mostRows bounds the candidates of a heat map.
const mostRows = 40

// Table draws candidates as the rows of a heat map and measures as its
// columns, in the order given; 40 rows at most are drawn. The fuller the colour, the
// larger a setting and the better a metric.
func Table(name string, columns []Measure, rows []Candidate) *Figure {
	f := &Figure{Name: name, Title: "Settings and results of the best candidates"}
	f.Note = "a column is coloured by itself: the fuller the colour the larger a setting and the better a result (▲); choices are not coloured"
	if n := len(rows); n > mostRows {
		f.Note = fmt.Sprintf("%d of %s candidates; ", mostRows, Count(int64(n))) + f.Note
		rows = rows[:mostRows]
	}
	f.height = vg.Length(92+14*len(rows)) * pt
	columns = slices.Clone(columns)
	for k, m := range columns {
		values := make([]float64, len(rows))
		for i := range rows {
			values[i] = rows[i].At[k]
		}
		columns[k] = m.Separating(values)
	}
	f.body = func(c draw.Canvas) { drawTable(c, columns, rows) }
	return f
}

// leastColumn is how narrow a column may be: three digits and a unit fit.
const leastColumn = 32 * pt

func drawTable(c draw.Canvas, columns []Measure, rows []Candidate) {
	if len(columns) == 0 || len(rows) == 0 {
		return
	}
	// Where there is no room for all, what came out stands and what was set does not.
	if most := int((c.Max.X - c.Min.X) * 0.64 / leastColumn); len(columns) > most {
		skip := len(columns) - most
		columns = columns[skip:]
		cut := make([]Candidate, len(rows))
		for i, r := range rows {
			cut[i] = Candidate{r.Name, r.Standing, r.At[skip:]}
		}
		rows = cut
	}
	const head = 38 * pt
	names := min(130*pt, (c.Max.X-c.Min.X)*0.36)
	wide := min((c.Max.X-c.Min.X-names)/vg.Length(len(columns)), 90*pt)
	high := (c.Max.Y - c.Min.Y - head) / vg.Length(len(rows))
	x := func(k int) vg.Length { return c.Min.X + names + vg.Length(k)*wide }
	y := func(i int) vg.Length { return c.Max.Y - head - vg.Length(i+1)*high }
	cell := sans(min(8*pt, high*0.62), Ink, false)
	cell.XAlign, cell.YAlign = -0.5, -0.42
	for k, m := range columns {
		sty := sans(tickSize, Ink, false)
		sty.XAlign = -0.5
		title := m.Name
		if m.Better != 0 {
			title = "▲ " + title
		}
		lines := broken(title, sty, wide-2*pt)
		for i, s := range lines {
			c.FillText(sty, vg.Point{X: x(k) + wide/2, Y: c.Max.Y - head + 4*pt + vg.Length(len(lines)-1-i)*10*pt}, s)
		}
		lo, hi := reach(rows, k, m)
		for i, r := range rows {
			at := m.place(r.At[k], lo, hi)
			switch {
			case m.Labels != nil:
				at = 0 // choices have no order
			case m.Better < 0:
				at = 1 - at
			}
			lx, ly := x(k), y(i)
			c.FillPolygon(heat(at), []vg.Point{{X: lx, Y: ly}, {X: lx + wide - 0.6, Y: ly}, {X: lx + wide - 0.6, Y: ly + high - 0.6}, {X: lx, Y: ly + high - 0.6}})
			sty := cell
			sty.Color = on(at)
			c.FillText(sty, vg.Point{X: lx + wide/2, Y: ly + high/2}, fitted(m.Say(r.At[k]), sty, wide-2*pt))
		}
	}
	for i, r := range rows {
		s := standings[r.Standing]
		sty := sans(tickSize, Ink, r.Standing >= Current)
		sty.YAlign = -0.42
		mid := y(i) + high/2
		stamp(&c, marks[r.Standing], vg.Point{X: c.Min.X + 5*pt, Y: mid}, min(s.size, 4*pt), s.color)
		c.FillText(sty, vg.Point{X: c.Min.X + 14*pt, Y: mid}, fitted(r.Name, sty, names-18*pt))
	}
}

// Lattice is a measure over a grid of two settings.
type Lattice struct {
	First, Second     Measure
	FirstAt, SecondAt []float64
	Values            [][]float64 // by row of First, then column of Second; NaN where there is none
	Joint             float64     // share of the variance by both acting together, NaN when not known
	Floor             float64     // noise floor of the measure, NaN when not known
}

// Interaction draws a measure over a grid of two settings: a cell for each
// pair, and the value in it.
func Interaction(name string, m Measure, g Lattice) *Figure {
	f := &Figure{
		Name: name, Title: m.Name + " by " + g.First.Name + " and " + g.Second.Name,
		height: vg.Length(110+30*len(g.FirstAt)) * pt, Note: "all else as at the chosen point; the fuller the colour the " + betterWord(m),
	}
	if !math.IsNaN(g.Joint) {
		f.Note += fmt.Sprintf("; the two acting together make up %s of the variation", percent(g.Joint))
	}
	if !math.IsNaN(g.Floor) && g.Floor > 0 {
		f.Note += "; noise floor " + m.Say(g.Floor)
	}
	f.body = func(c draw.Canvas) {
		p := newPlot(c, g.Second.Name, g.First.Name)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(g.SecondAt))-0.5, -0.5, float64(len(g.FirstAt))-0.5
		p.X.Tick.Marker, p.Y.Tick.Marker = g.Second.spots(g.SecondAt), g.First.spots(g.FirstAt)
		p.X.Tick.Length, p.Y.Tick.Length = 0, 0
		p.Add(lattice{g, m})
		drawPlot(p, c)
	}
	return f
}

func betterWord(m Measure) string {
	if m.Better == 0 {
		return "larger"
	}
	return "better"
}

// spots labels the middles of cells.
func (m Measure) spots(at []float64) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(at))
	for i, v := range at {
		out[i] = plot.Tick{Value: float64(i), Label: m.Say(v)}
	}
	return out
}

type lattice struct {
	Lattice
	m Measure
}

func (l lattice) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range l.Values {
		for _, v := range row {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	for i, row := range l.Values {
		for k, v := range row {
			at := l.m.place(v, lo, hi)
			if l.m.Better < 0 {
				at = 1 - at
			}
			fill(&c, tx(float64(k)-0.49), ty(float64(i)-0.48), tx(float64(k)+0.49), ty(float64(i)+0.48), heat(at))
			sty := sans(tickSize, on(at), false)
			sty.XAlign, sty.YAlign = -0.5, -0.42
			c.FillText(sty, vg.Point{X: tx(float64(k)), Y: ty(float64(i))}, fitted(l.m.Say(v), sty, tx(1)-tx(0)))
		}
	}
}

func fill(c *draw.Canvas, x0, y0, x1, y1 vg.Length, col color.Color) {
	c.FillPolygon(col, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
