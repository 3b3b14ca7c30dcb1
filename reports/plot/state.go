package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Load is the state of the system over one stretch of time, as means and one
// maximum.
type Load struct {
	StartUS   int64   // µs since the trace's epoch
	WidthUS   int64   // µs
	Busy      float64 // mean share of the units that were allocated, 0 to 1
	Queued    float64 // mean number of jobs waiting
	QueuedMax float64 // largest number of jobs waiting
}

// Window is a span of time in microseconds since the trace's epoch; empty when
// To is not after From.
type Window struct{ FromUS, ToUS int64 }

func (w Window) empty() bool { return w.ToUS <= w.FromUS }

// stateColumns bounds the number of points of a curve over time.
const stateColumns = 600

const loadLine = 0.9 * pt // width of the line of a curve

// Shown is how much of a run's time is drawn. The drain, in which the last jobs run
// out and none is submitted, can be longer than all before it.
type Shown struct {
	ToUS  int64 // where the axis ends, µs since the trace's epoch
	endUS int64 // where the run does
}

// ShownUntil folds the drain of a run away: the axis ends a twentieth after the last
// submission. A drain that is hardly longer is drawn, and so is one that is many times
// longer: of jobs that were submitted all at once it is what there is to see.
func ShownUntil(firstUS, lastSubmitUS, endUS int64) Shown {
	const batch = 4
	margin := (lastSubmitUS - firstUS) / 20
	if drain := endUS - lastSubmitUS; margin <= 0 || drain <= 2*margin || drain > batch*(lastSubmitUS-firstUS) {
		return Shown{endUS, endUS}
	}
	return Shown{lastSubmitUS + margin, endUS}
}

// Folds says whether something is left out.
func (s Shown) Folds() bool { return s.endUS > s.ToUS }

// note says what is left out, behind other words; "" where nothing is.
func (s Shown) note() string {
	if !s.Folds() {
		return ""
	}
	return "; the last " + Span(float64(s.endUS-s.ToUS)/secondUS) + " of the drain are not drawn"
}

// loads are those that are drawn.
func (s Shown) loads(all []Load) []Load {
	if !s.Folds() {
		return all
	}
	n := slices.IndexFunc(all, func(l Load) bool { return l.StartUS >= s.ToUS })
	if n < 0 {
		return all
	}
	return all[:n]
}

// State draws utilisation above and the queue below on one time axis. Loads
// ascend and touch; the steady window is marked when it is not empty. Unit is what is
// allocated: processors, nodes or GPUs. Cost is linear in the loads; the figure holds
// at most 600 points a curve, each the exact mean (or maximum) of what it covers.
func State(loads []Load, unit string, clock Clock, steady Window, shown Shown) *Figure {
	f := &Figure{
		Name:   "utilisation",
		Title:  "Utilisation and queue over time",
		height: 420 * pt, narrow: 330 * pt,
		legend: stateLegend(unit),
	}
	busy, width, most := loadSums(loads)
	loads = reduceLoads(shown.loads(loads), stateColumns)
	if width > 0 && len(loads) > 0 {
		each := Span(float64(loads[0].WidthUS) / secondUS)
		f.Note = fmt.Sprintf("mean utilisation %s over the whole run; at most %s jobs waiting; each point covers about %s", percent(busy/width), Count(int64(most)), each) + shown.note()
	}
	if !steady.empty() {
		f.legend = append(f.legend, entry{text: "steady window", color: Green, dashes: windowDashes})
	}
	f.body = func(c draw.Canvas) { drawState(c, loads, unit, clock, steady, most) }
	return f
}

func stateLegend(unit string) []entry {
	return []entry{
		{text: unit + " allocated (mean)", color: alpha(Blue, 110), area: true},
		{text: "jobs waiting (mean)", color: Vermilion},
		{text: "jobs waiting (most)", color: alpha(Orange, 110), area: true},
	}
}

// loadSums are busy µs, µs and the most jobs that waited.
func loadSums(loads []Load) (busy, width, most float64) {
	for _, l := range loads {
		busy += l.Busy * float64(l.WidthUS)
		width += float64(l.WidthUS)
		most = max(most, l.QueuedMax)
	}
	return busy, width, most
}

// reduceLoads joins runs of neighbours so that at most n remain.
func reduceLoads(in []Load, n int) []Load {
	per := (len(in) + n - 1) / n
	if per <= 1 {
		return in
	}
	var out []Load
	for i := 0; i < len(in); i += per {
		group := in[i:min(i+per, len(in))]
		sum := Load{StartUS: group[0].StartUS}
		for _, l := range group {
			w := float64(l.WidthUS)
			sum.WidthUS += l.WidthUS
			sum.Busy += l.Busy * w
			sum.Queued += l.Queued * w
			sum.QueuedMax = max(sum.QueuedMax, l.QueuedMax)
		}
		if w := float64(sum.WidthUS); w > 0 {
			sum.Busy /= w
			sum.Queued /= w
		}
		out = append(out, sum)
	}
	return out
}

func drawState(c draw.Canvas, loads []Load, unit string, clock Clock, steady Window, most float64) {
	lo, hi := extent(loads)
	half := draw.Crop(c, 0, 0, (c.Max.Y-c.Min.Y)/2, 0)
	top := newPlot(half, "", unit+" allocated")
	top.Y.Max, top.Y.Tick.Marker = 1, percentTicks(5)
	top.X.Tick.Marker = unlabelled(clock.ticker(few(c, labelsWanted)))
	bottom := newPlot(half, clock.label(hi-lo), "jobs waiting")
	bottom.Y.Max, bottom.Y.Tick.Marker = max(1, most*1.05), linearTicks(5, true)
	bottom.X.Tick.Marker = clock.ticker(few(c, labelsWanted))
	spaceLabels(bottom, c.Max.X-c.Min.X)
	for _, p := range []*plot.Plot{top, bottom} {
		p.X.Min, p.X.Max = lo, hi
		p.Add(grid{x: true, y: true})
	}
	top.Add(steps[Load]{loads, func(l Load) float64 { return l.Busy }, alpha(Blue, 110), Blue, loadLine})
	bottom.Add(
		steps[Load]{loads, func(l Load) float64 { return l.QueuedMax }, alpha(Orange, 110), nil, 0},
		steps[Load]{loads, func(l Load) float64 { return l.Queued }, nil, Vermilion, loadLine},
	)
	if !steady.empty() {
		marks := windowMarks{float64(steady.FromUS) / secondUS, float64(steady.ToUS) / secondUS}
		top.Add(marks)
		bottom.Add(marks)
	}
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: 8 * pt}
	canvases := plot.Align([][]*plot.Plot{{top}, {bottom}}, tiles, c)
	top.Draw(canvases[0][0])
	bottom.Draw(canvases[1][0])
}

// unlabelled ticks stand over labelled ones of the plot below.
func unlabelled(ticker plot.Ticker) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		ticks := ticker.Ticks(lo, hi)
		for i := range ticks {
			ticks[i].Label = ""
		}
		return ticks
	})
}

// extent is from the begin of the first to the end of the last of list, in seconds.
func extent[T timed](list []T) (lo, hi float64) {
	if len(list) == 0 {
		return 0, 1
	}
	from, _ := list[0].span()
	_, to := list[len(list)-1].span()
	return float64(from) / secondUS, float64(to) / secondUS
}

// timed is what holds over a span of time, in µs.
type timed interface {
	span() (fromUS, toUS int64)
}

func (l Load) span() (fromUS, toUS int64) { return l.StartUS, l.StartUS + l.WidthUS }

// steps draws one value of spans that touch as a step curve, as an area, or both.
type steps[S timed] struct {
	all   []S
	value func(S) float64
	area  color.Color // nil: no area
	line  color.Color // nil: no line
	width vg.Length   // of the line
}

func (s steps[S]) Plot(c draw.Canvas, p *plot.Plot) {
	if len(s.all) == 0 {
		return
	}
	tx, ty := p.Transforms(&c)
	pts := make([]vg.Point, 0, 2*len(s.all)+2)
	for _, x := range s.all {
		from, to := x.span()
		y := ty(s.value(x))
		pts = append(pts, vg.Point{X: tx(float64(from) / secondUS), Y: y}, vg.Point{X: tx(float64(to) / secondUS), Y: y})
	}
	if s.area != nil {
		base := []vg.Point{{X: pts[len(pts)-1].X, Y: ty(0)}, {X: pts[0].X, Y: ty(0)}}
		c.FillPolygon(s.area, append(pts[:len(pts):len(pts)], base...))
	}
	if s.line != nil {
		c.StrokeLines(draw.LineStyle{Color: s.line, Width: s.width}, pts)
	}
}

var windowDashes = []vg.Length{4 * pt, 3 * pt}

// windowMarks draws the borders of a window, in seconds.
type windowMarks [2]float64

func (m windowMarks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, _ := p.Transforms(&c)
	for _, x := range m {
		if x >= p.X.Min && x <= p.X.Max {
			c.StrokeLine2(draw.LineStyle{Color: Green, Width: pt, Dashes: windowDashes}, tx(x), c.Min.Y, tx(x), c.Max.Y)
		}
	}
}
