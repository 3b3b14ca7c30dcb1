package plot

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Column is one of a figure of columns.
type Column struct {
	Label string
	Value float64
}

// Columns draws a column for each value, from 0 on, with its label below; labels that would meet are left out.
func Columns(name, title, note, xlabel, ylabel string, columns []Column) *Figure {
	f := &Figure{Name: name, Title: title, Note: note, height: 230 * pt, narrow: 210 * pt}
	most := 1.0
	for _, c := range columns {
		most = max(most, c.Value)
		f.more += "; " + c.Label + ": " + Count(int64(c.Value))
	}
	f.body = func(c draw.Canvas) {
		p := newPlot(c, xlabel, ylabel)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, max(float64(len(columns)), 1)-0.5, 0, most*1.05
		p.X.Tick.Marker, p.Y.Tick.Marker = columnTicks(c, columns), linearTicks(4, true)
		p.X.Tick.LineStyle.Width = 0
		p.Add(grid{y: true}, columnsOf(columns))
		drawPlot(p, c)
	}
	return f
}

// columnTicks labels every column, or every n-th where the letters would meet.
func columnTicks(c draw.Canvas, columns []Column) plot.ConstantTicks {
	widest := labelSize
	style := sans(tickSize, Muted, false)
	for _, one := range columns {
		widest = max(widest, style.Width(one.Label))
	}
	each := (c.Max.X - c.Min.X - 50*pt) / (widest + 6*pt) // beside the axis
	every := 1
	for float64(len(columns)) > float64(each)*float64(every) {
		every++
	}
	var out plot.ConstantTicks
	for i := 0; i < len(columns); i += every {
		out = append(out, plot.Tick{Value: float64(i), Label: columns[i].Label})
	}
	return out
}

type columnsOf []Column

func (all columnsOf) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, one := range all {
		fill(&c, tx(float64(i)-0.4), ty(0), tx(float64(i)+0.4), ty(one.Value), Blue)
	}
}
