package plot

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// EnergyRow is the energy of a group in kWh, with the range in which it lies. A row without
// a name parts the others.
type EnergyRow struct {
	Name             string
	Low, Value, High float64
	Says             string
}

// EnergyByGroup draws the energy of groups one below the other.
func EnergyByGroup(rows []EnergyRow) *Figure {
	f := &Figure{
		Name: "energy-by-group", Title: "Energy by vCluster and tenant",
		Note:   "what their nodes drew for their jobs, idle power included; nodes without a job are a row of their own",
		legend: []entry{{text: "most likely", color: alpha(Blue, 150), area: true}, {text: "range in which it lies", color: Ink}},
	}
	f.height, f.narrow = rowHeights(115*pt, len(rows))
	most, names := 0.0, make([]string, len(rows))
	for i, r := range rows {
		if names[i] = r.Name; r.Name != "" {
			most = max(most, r.High)
			f.more += "; " + r.Name + " " + r.Says
		}
	}
	u := EnergyScale(most)
	f.body = func(c draw.Canvas) {
		labels := names
		if small(c) {
			labels = make([]string, len(rows))
			for i, r := range rows {
				if r.Name != "" {
					labels[i] = r.Name + ": " + r.Says
				}
			}
		}
		p := rowPlot(c, "energy ("+u.Name+")", 0, most/u.By, 1.5)
		p.Add(grid{x: true}, energyRows{rows, u, rowsOn(c, p, labels, nameRoom)})
		drawPlot(p, c)
	}
	return f
}

// rowPlot is a plot of rows from least to most. Behind them it has room, as a multiple of most,
// for what they say; on a small canvas their names say it.
func rowPlot(c draw.Canvas, label string, least, most, room float64) *plot.Plot {
	if small(c) {
		room = 1.04
	}
	p := newPlot(c, label, "")
	p.X.Min, p.X.Max = least, max(most, 1e-9)*room
	p.X.Tick.Marker = linearTicks(few(c, 7), false)
	return p
}

type energyRows struct {
	rows   []EnergyRow
	unit   Scaled
	layout rowLayout
}

func (es energyRows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	es.layout.above(&c, ty)
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.5
	for i, r := range es.rows {
		if r.Name == "" {
			continue
		}
		y, half := es.layout.at(ty, i)
		low, high := tx(r.Low/es.unit.By), tx(r.High/es.unit.By)
		fill(&c, tx(0), y-half, tx(r.Value/es.unit.By), y+half, alpha(Blue, 150))
		ink := draw.LineStyle{Color: Ink, Width: 1.2 * pt}
		c.StrokeLine2(ink, low, y, high, y)
		for _, x := range []vg.Length{low, high} {
			c.StrokeLine2(ink, x, y-half/2, x, y+half/2)
		}
		if !es.layout.narrow {
			c.FillText(sty, vg.Point{X: high + 6*pt, Y: y}, r.Says)
		}
	}
}

// TimeStep is a step of a waterfall of GPU time, in hours.
type TimeStep struct {
	Name  string
	Hours float64 // what it adds, below 0 for what it takes off
	Sum   bool    // a level and no step
	Says  string
}

// RunTime draws where GPU time went: from the work that was kept, at the speed of its
// record, to the time that jobs held GPUs.
func RunTime(steps []TimeStep) *Figure {
	f := &Figure{
		Name: "run-time", Title: "Where GPU time went",
		Note:   "from the work that was kept, at the speed of its record, to the time that jobs held GPUs",
		legend: []entry{{text: "level", color: alpha(Blue, 150), area: true}, {text: "lost", color: Vermilion, area: true}, {text: "gained", color: Green, area: true}},
	}
	f.height, f.narrow = rowHeights(115*pt, len(steps))
	least, most, at := 0.0, 0.0, 0.0
	for _, s := range steps {
		if s.Sum {
			at = s.Hours
		} else {
			at += s.Hours
		}
		least, most = min(least, at), max(most, at)
		f.more += "; " + s.Name + " " + s.Says
	}
	u := scaleOf(most, Scaled{"h", 1}, Scaled{"thousand h", 1e3}, Scaled{"million h", 1e6})
	f.body = func(c draw.Canvas) {
		names := make([]string, len(steps))
		for i, s := range steps {
			names[i] = s.Name
			if small(c) {
				names[i] += ": " + s.Says
			}
		}
		p := rowPlot(c, "GPU time ("+u.Name+")", least/u.By, most/u.By, 1.45)
		p.Add(grid{x: true}, waterfall{steps, u, rowsOn(c, p, names, nameRoom)})
		drawPlot(p, c)
	}
	return f
}

type waterfall struct {
	steps  []TimeStep
	unit   Scaled
	layout rowLayout
}

func (w waterfall) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	w.layout.above(&c, ty)
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.5
	at, last := 0.0, vg.Length(0)
	for i, s := range w.steps {
		y, half := w.layout.at(ty, i)
		from, to, col := at, at+s.Hours, Vermilion
		switch {
		case s.Sum:
			from, to, col = 0, s.Hours, alpha(Blue, 150)
		case s.Hours < 0:
			col = Green
		}
		if i > 0 && !w.layout.narrow { // from the end of the row above
			c.StrokeLine2(draw.LineStyle{Color: Muted, Width: 0.7 * pt}, tx(at/w.unit.By), last, tx(at/w.unit.By), y+half)
		}
		x0, x1 := tx(min(from, to)/w.unit.By), tx(max(from, to)/w.unit.By)
		if !s.Sum && s.Hours != 0 {
			x1 = max(x1, x0+1.2*pt)
		}
		fill(&c, x0, y-half, x1, y+half, col)
		if !w.layout.narrow {
			c.FillText(sty, vg.Point{X: x1 + 6*pt, Y: y}, s.Says)
		}
		at, last = to, y-half
	}
}
