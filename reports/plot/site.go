package plot

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Layer is what one vCluster held over time: means over equal stretches.
type Layer struct {
	Name     string
	Held     []float64
	Borrowed []float64 // of Held, at home in other vClusters
}

// Stack is what all vClusters of a site held. All layers have one value for
// each stretch.
type Stack struct {
	StartUS int64  // of the first stretch, µs since the trace's epoch
	WidthUS int64  // of each
	Unit    string // nodes or GPUs
	Units   int64  // of the site
	Layers  []Layer
}

var layerColors = [...]color.NRGBA{Blue, Orange, Green, Purple, Sky, Vermilion, {0xF0, 0xE4, 0x42, 0xFF}, Muted}

// NodesByVCluster draws how many nodes (or GPUs) each vCluster held, one layer
// on another; the part of a layer on nodes of other vClusters is dark. Cost is
// linear in the stretches; the figure has at most 600 points a layer.
func NodesByVCluster(s Stack, clock Clock, steady Window, shown Shown) *Figure {
	f := &Figure{Name: "nodes-by-vcluster", Title: "What each vCluster held over time", height: 320 * pt, narrow: 260 * pt}
	borrowed, all := 0.0, 0.0
	for i, l := range s.Layers {
		f.legend = append(f.legend, entry{text: l.Name, color: alpha(layerColors[i%len(layerColors)], 150), area: true})
		for k, n := range l.Held {
			all += n
			borrowed += l.Borrowed[k]
		}
	}
	f.Note = fmt.Sprintf("stacked up to the %s %s of the site; nothing was borrowed", Count(s.Units), s.Unit)
	if borrowed > 0 {
		f.Note = fmt.Sprintf("stacked up to the %s %s of the site; dark at the top of a layer: borrowed from other vClusters, %s of all that was held",
			Count(s.Units), s.Unit, percent(borrowed/all))
	}
	f.Note += shown.note()
	s = s.until(shown).reduced(stateColumns)
	if !steady.empty() {
		f.legend = append(f.legend, entry{text: "steady window", color: Green, dashes: windowDashes})
	}
	f.body = func(c draw.Canvas) {
		lo, hi := s.span()
		p := newPlot(c, clock.label(hi-lo), s.Unit+" held")
		p.X.Tick.Marker = clock.ticker(few(c, labelsWanted))
		p.X.Min, p.X.Max = lo, hi
		p.Y.Min, p.Y.Max = 0, float64(max(1, s.Units))*1.03
		p.Y.Tick.Marker = linearTicks(6, true)
		p.Add(grid{x: true, y: true}, stacked{s})
		if !steady.empty() {
			p.Add(windowMarks{float64(steady.FromUS) / secondUS, float64(steady.ToUS) / secondUS})
		}
		drawPlot(p, c)
	}
	return f
}

func (s Stack) span() (lo, hi float64) {
	n := 1
	if len(s.Layers) > 0 {
		n = max(1, len(s.Layers[0].Held))
	}
	return float64(s.StartUS) / secondUS, float64(s.StartUS+int64(n)*s.WidthUS) / secondUS
}

// until leaves out what is not shown.
func (s Stack) until(shown Shown) Stack {
	if !shown.Folds() || len(s.Layers) == 0 || s.WidthUS <= 0 {
		return s
	}
	n := min(int((shown.ToUS-s.StartUS+s.WidthUS-1)/s.WidthUS), len(s.Layers[0].Held))
	out := s
	out.Layers = nil
	for _, l := range s.Layers {
		out.Layers = append(out.Layers, Layer{l.Name, l.Held[:n], l.Borrowed[:n]})
	}
	return out
}

// reduced joins neighbours so that at most n stretches remain; the last may be
// of fewer.
func (s Stack) reduced(n int) Stack {
	if len(s.Layers) == 0 {
		return s
	}
	per := (len(s.Layers[0].Held) + n - 1) / n
	if per <= 1 {
		return s
	}
	out := Stack{StartUS: s.StartUS, WidthUS: s.WidthUS * int64(per), Unit: s.Unit, Units: s.Units}
	for _, l := range s.Layers {
		out.Layers = append(out.Layers, Layer{l.Name, means(l.Held, per), means(l.Borrowed, per)})
	}
	return out
}

func means(in []float64, per int) []float64 {
	var out []float64
	for i := 0; i < len(in); i += per {
		part := in[i:min(i+per, len(in))]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		out = append(out, sum/float64(len(part)))
	}
	return out
}

// stacked draws the layers and the line of what the site has.
type stacked struct{ Stack }

func (s stacked) Plot(c draw.Canvas, p *plot.Plot) {
	if len(s.Layers) == 0 || len(s.Layers[0].Held) == 0 {
		return
	}
	_, ty := p.Transforms(&c)
	low := make([]float64, len(s.Layers[0].Held))
	for i, l := range s.Layers {
		col := layerColors[i%len(layerColors)]
		own, top := make([]float64, len(low)), make([]float64, len(low))
		for k := range low {
			own[k] = low[k] + l.Held[k] - l.Borrowed[k]
			top[k] = low[k] + l.Held[k]
		}
		s.fill(&c, p, low, own, alpha(col, 150))
		s.fill(&c, p, own, top, col)
		low = top
	}
	y := ty(float64(s.Units))
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.8 * pt, Dashes: windowDashes}, c.Min.X, y, c.Max.X, y)
}

// fill draws the band between two step curves.
func (s stacked) fill(c *draw.Canvas, p *plot.Plot, low, high []float64, col color.Color) {
	tx, ty := p.Transforms(c)
	x := func(k int) vg.Length { return tx(float64(s.StartUS+int64(k)*s.WidthUS) / secondUS) }
	// Stretches without a band part it, so that nothing is drawn there.
	for k := 0; k < len(low); k++ {
		if high[k] <= low[k] {
			continue
		}
		var up, down []vg.Point
		for ; k < len(low) && high[k] > low[k]; k++ {
			up = append(up, vg.Point{X: x(k), Y: ty(high[k])}, vg.Point{X: x(k + 1), Y: ty(high[k])})
			down = append(down, vg.Point{X: x(k), Y: ty(low[k])}, vg.Point{X: x(k + 1), Y: ty(low[k])})
		}
		for i := len(down) - 1; i >= 0; i-- {
			up = append(up, down[i])
		}
		c.FillPolygon(col, up)
	}
}

// WaitRow is how long the jobs of a group waited, in seconds.
type WaitRow struct {
	Name          string
	Jobs          int64 // started
	P50, P95, Max float64
}

// WaitsByGroup draws a row for each group: the median, the 95th percentile and the
// longest wait. Rows whose name is empty part the rest.
func WaitsByGroup(rows []WaitRow) *Figure {
	f := &Figure{
		Name: "waits-by-group", Title: "How long jobs waited, by vCluster and class",
		Note: "in brackets: jobs that started",
		legend: []entry{
			{text: "median", color: Blue}, {text: "median to p95", color: alpha(Blue, 150), area: true},
			{text: "longest", color: Vermilion},
		},
	}
	f.height, f.narrow = rowHeights(110*pt, len(rows))
	most := 60.0
	var said []string
	names := make([]string, len(rows))
	for i, r := range rows {
		most = max(most, r.Max)
		if r.Name != "" {
			names[i] = fmt.Sprintf("%s (%s)", r.Name, Count(r.Jobs))
			said = append(said, fmt.Sprintf("%s: median %s, p95 %s, longest %s", r.Name, Span(r.P50), Span(r.P95), Span(r.Max)))
		}
	}
	f.more = ": " + strings.Join(said, "; ")
	f.body = func(c draw.Canvas) {
		p := waitPlot(c, "", most)
		p.Add(waitRows{rows, rowsOn(c, p, names, nameRoom)})
		drawPlot(p, c)
	}
	return f
}

// nameRoom is what the name of a row may take in the wide form.
const nameRoom = 190 * pt

type waitRows struct {
	rows   []WaitRow
	layout rowLayout
}

func (rs waitRows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	rs.layout.above(&c, ty)
	for i, r := range rs.rows {
		if r.Name == "" {
			continue
		}
		y, half := rs.layout.at(ty, i)
		a, b, m := tx(waitPosition(r.P50)), tx(waitPosition(r.P95)), tx(waitPosition(r.Max))
		b = max(b, a+2*pt)
		c.StrokeLine2(draw.LineStyle{Color: Muted, Width: 0.7 * pt}, b, y, m, y)
		fill(&c, a, y-half, b, y+half, alpha(Blue, 150))
		c.StrokeLine2(draw.LineStyle{Color: Blue, Width: 2.4 * pt}, a, y-half, a, y+half)
		c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 1.6 * pt}, m, y-half, m, y+half)
	}
}

// BarRow is a bar of a chart of rows. Target is drawn when it is not negative.
type BarRow struct {
	Name   string
	Value  float64
	Target float64
	Says   string // at the end of the bar
}

// Shares draws the share of what was held (what says of what) that each tenant
// got in the window, with its fair share. Values are 0 to 1.
func Shares(rows []BarRow, what, window string) *Figure {
	f := barFigure("usage-by-tenant", "Usage of each tenant against its fair share", rows)
	f.Note = "share of all " + what + " that was held, in the " + window + "; bar past the mark: more than its share"
	f.legend = []entry{{text: "usage", color: alpha(Blue, 150), area: true}, {text: "fair share", color: Vermilion}}
	f.body = func(c draw.Canvas) { drawBars(c, rows, "share of "+what, percentTicks(few(c, 8))) }
	return f
}

// Reasons draws for how long jobs waited for what, in hours.
func Reasons(rows []BarRow) *Figure {
	f := barFigure("reasons", "What jobs waited for", rows)
	f.Note = "time spent waiting, summed over jobs"
	f.body = func(c draw.Canvas) {
		drawBars(c, rows, "job hours", Measure{}.ticker(few(c, 7)))
	}
	return f
}

func barFigure(name, title string, rows []BarRow) *Figure {
	f := &Figure{Name: name, Title: title}
	f.height, f.narrow = rowHeights(100*pt, len(rows))
	var said []string
	for _, r := range rows {
		said = append(said, r.Name+" "+r.Says)
	}
	f.more = ": " + strings.Join(said, "; ")
	return f
}

func drawBars(c draw.Canvas, rows []BarRow, label string, ticks plot.Ticker) {
	p := newPlot(c, label, "")
	most := 0.0
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
		most = max(most, r.Value, r.Target)
		if small(c) {
			names[i] += ": " + r.Says
		}
	}
	if most <= 0 {
		most = 1
	}
	p.X.Min, p.X.Max = 0, most*1.2 // leaves room for the words
	if small(c) {
		p.X.Max = most * 1.02
	}
	p.X.Tick.Marker = ticks
	p.Add(grid{x: true}, barRows{rows, rowsOn(c, p, names, nameRoom)})
	drawPlot(p, c)
}

type barRows struct {
	rows   []BarRow
	layout rowLayout
}

func (bs barRows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	bs.layout.above(&c, ty)
	sty := sans(tickSize, Ink, false)
	sty.YAlign = -0.5
	for i, b := range bs.rows {
		y, half := bs.layout.at(ty, i)
		x := tx(b.Value)
		fill(&c, tx(0), y-half, x, y+half, alpha(Blue, 150))
		end := x
		if b.Target >= 0 {
			at := tx(b.Target)
			c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 2 * pt}, at, y-half-2*pt, at, y+half+2*pt)
			end = max(end, at)
		}
		if !bs.layout.narrow {
			c.FillText(sty, vg.Point{X: end + 4*pt, Y: y}, b.Says)
		}
	}
}
