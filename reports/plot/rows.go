package plot

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heights of named rows: in the narrow form the name stands above its row.
const (
	wideRow   = 20 * pt
	narrowRow = 31 * pt
)

// rowLayout places named rows from the top, at -0, -1, ... A row whose name is empty
// parts the others.
type rowLayout struct {
	names  []string
	narrow bool
}

// rowsOn gives a plot on c rows with these names, which stand left of the axis or, in
// the narrow form, over the rows. Names are cut to room.
func rowsOn(c draw.Canvas, p *plot.Plot, names []string, room vg.Length) rowLayout {
	l := rowLayout{names, small(c)}
	p.Y.Min, p.Y.Max = 0.5-float64(max(1, len(names))), 0.5
	p.Y.Tick.Length = 0
	if l.narrow {
		p.Y.Tick.Marker = plot.ConstantTicks{}
		p.Y.LineStyle.Width = 0
		return l
	}
	var ticks plot.ConstantTicks
	for i, name := range names {
		if name != "" {
			ticks = append(ticks, plot.Tick{Value: -float64(i), Label: fitted(name, sans(tickSize, Muted, false), room)})
		}
	}
	p.Y.Tick.Marker = ticks
	return l
}

// at is the middle of a row, and half its height.
func (l rowLayout) at(ty func(float64) vg.Length, i int) (y, half vg.Length) {
	high := ty(0) - ty(-1)
	if l.narrow {
		return ty(-float64(i) - 0.24), min(high*0.2, 6*pt)
	}
	return ty(-float64(i)), min(high*0.34, 7*pt)
}

// above writes the names over their rows, in the narrow form.
func (l rowLayout) above(c *draw.Canvas, ty func(float64) vg.Length) {
	if !l.narrow {
		return
	}
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.42
	for i, name := range l.names {
		c.FillText(sty, vg.Point{X: c.Min.X, Y: ty(-float64(i) + 0.24)}, fitted(name, sty, c.Max.X-c.Min.X))
	}
}

// rowHeights are the heights of a figure of rows with so much above and below them.
func rowHeights(around vg.Length, rows int) (wide, narrow vg.Length) {
	n := vg.Length(rows)
	return around + n*wideRow, around + n*narrowRow
}
