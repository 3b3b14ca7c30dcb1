package plot

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// FitRow is a fitted figure with its range and what it rests on, as parts of it: 1 is the
// figure itself.
type FitRow struct {
	Name      string
	Low, High float64
	Points    []float64
	Says      string
}

// mostFitPoints is how many measurements of a row are drawn, evenly by their rank.
const mostFitPoints = 200

// fitReach is how far the axis of Fits goes: what lies beyond is drawn at its end.
const fitReach = 2.0

// Fits draws fitted figures one below the other: the measurements that each rests on as marks,
// and its range, all relative to the figure.
func Fits(rows []FitRow) *Figure {
	f := &Figure{
		Name: "fits", Title: "What each figure rests on",
		Note:   "a mark is one independent measurement; marks beyond the axis stand at its end",
		legend: []entry{{text: "measurement", color: alpha(Blue, 150), area: true}, {text: "range of the figure", color: Ink}},
	}
	f.height, f.narrow = rowHeights(115*pt, len(rows))
	names, reach := make([]string, len(rows)), 0.02
	for i, r := range rows {
		names[i] = r.Name
		for _, x := range append([]float64{r.Low, r.High}, r.Points...) {
			reach = max(reach, min(fitReach-1, math.Abs(x-1)))
		}
		f.more += "; " + r.Name + " " + r.Says
	}
	least, most := 1-1.05*min(reach, 1/1.05), 1+1.05*reach
	f.body = func(c draw.Canvas) {
		labels := names
		if small(c) {
			labels = make([]string, len(rows))
			for i, r := range rows {
				labels[i] = r.Name + ": " + r.Says
			}
		}
		p := newPlot(c, "of the figure (%)", "")
		p.X.Min, p.X.Max = 100*least, 100*most
		if !small(c) { // room for what rows say
			p.X.Max += 100 * 0.5 * (most - least)
		}
		p.X.Tick.Marker = plot.TickerFunc(func(lo, _ float64) []plot.Tick { return niceTicks(lo, 100*most, few(c, 7)) })
		p.Add(grid{x: true}, fitRows{rows, 100 * least, 100 * most, rowsOn(c, p, labels, nameRoom)})
		drawPlot(p, c)
	}
	return f
}

type fitRows struct {
	rows        []FitRow
	least, most float64
	layout      rowLayout
}

func (fs fitRows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	fs.layout.above(&c, ty)
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.5
	at := func(part float64) vg.Length { return tx(min(fs.most, max(fs.least, 100*part))) }
	for i, r := range fs.rows {
		y, half := fs.layout.at(ty, i)
		for _, x := range thinned(r.Points) {
			fill(&c, at(x)-1.2*pt, y-half*0.7, at(x)+1.2*pt, y+half*0.7, alpha(Blue, 90))
		}
		ink := draw.LineStyle{Color: Ink, Width: 1.2 * pt}
		c.StrokeLine2(ink, at(r.Low), y, at(r.High), y)
		for _, x := range []float64{r.Low, 1, r.High} {
			c.StrokeLine2(ink, at(x), y-half/2, at(x), y+half/2)
		}
		if !fs.layout.narrow {
			c.FillText(sty, vg.Point{X: tx(fs.most) + 6*pt, Y: y}, r.Says)
		}
	}
}

// thinned are at most mostFitPoints of the values, the least and the largest among them.
func thinned(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) <= mostFitPoints {
		return sorted
	}
	out := make([]float64, mostFitPoints)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(mostFitPoints-1)]
	}
	return out
}
