package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Drawn is what a site draws over one stretch of time, in W.
type Drawn struct {
	StartUS, WidthUS int64   // µs since the trace's epoch
	Low, Value, High float64 // means: at least, most likely and at most
	Most             float64 // the largest that was most likely
	Cap              float64 // the least in force
	Capped           bool    // there was one
	Price            float64 // mean, of each kWh
	Priced           bool    // it was known
	Supply           float64 // mean that was to be had
	Supplied         bool    // it was known
}

func (d Drawn) span() (fromUS, toUS int64) { return d.StartUS, d.StartUS + d.WidthUS }

// over says that the site drew more than it may.
func (d Drawn) over() bool { return d.Capped && d.Most > d.Cap }

// Scaled is a unit in which numbers are written: so many base units.
type Scaled struct {
	Name string
	By   float64
}

// scaleOf is the largest unit of which most is at least one and a half.
func scaleOf(most float64, units ...Scaled) Scaled {
	out := units[0]
	for _, u := range units[1:] {
		if most >= 1.5*u.By {
			out = u
		}
	}
	return out
}

// powerScale is how powers up to most W are written.
func powerScale(most float64) Scaled {
	return scaleOf(most, Scaled{"W", 1}, Scaled{"kW", 1e3}, Scaled{"MW", 1e6})
}

// EnergyScale is how energies up to most kWh are written.
func EnergyScale(most float64) Scaled {
	return scaleOf(most, Scaled{"kWh", 1}, Scaled{"MWh", 1e3}, Scaled{"GWh", 1e6})
}

// Says writes x with its unit.
func (s Scaled) Says(x float64) string { return s.Number(x) + " " + s.Name }

// Number writes x without it.
func (s Scaled) Number(x float64) string {
	if x /= s.By; x >= 1000 {
		return Count(int64(x + 0.5))
	}
	return short(x)
}

// PowerOverTime draws what the nodes of a site draw, with the range in which it lies and the
// cap, and the price of energy below where it is known. Stretches ascend and touch. Cost is
// linear in them; the figure holds at most 600 points a curve.
func PowerOverTime(all []Drawn, currency string, clock Clock, shown Shown) *Figure {
	f := &Figure{
		Name: "power", Title: "Power over time", height: 300 * pt, narrow: 270 * pt,
		legend: powerLegend(),
	}
	sum := powerSums(all)
	u := powerScale(sum.axis())
	f.Note = fmt.Sprintf("mean %s, most %s", u.Says(sum.mean), u.Says(sum.most))
	if sum.capped {
		f.legend = append(f.legend, capEntries(sum.over)...)
		if f.Note += ", never more than the cap"; sum.over > 0 {
			f.Note = fmt.Sprintf("mean %s, most %s; marks at the foot: more than the cap for a time", u.Says(sum.mean), u.Says(sum.most))
		}
	}
	switch {
	case sum.priced && sum.dear-sum.cheap > 1e-9*max(sum.dear, -sum.cheap): // not the rounding of means
		f.height, f.narrow = 420*pt, 360*pt
	case sum.priced:
		f.Note += fmt.Sprintf("; all at %s %s/kWh", short(sum.dear), currency)
		sum.priced = false
	}
	f.legend = append(f.legend, sum.supplyEntries(sum.axis())...)
	f.Note += shown.note()
	drawn := reduceDrawn(shownDrawn(all, shown), stateColumns)
	f.body = func(c draw.Canvas) { drawPower(c, drawn, u, sum, currency, clock) }
	return f
}

// powerLegend is that of all figures of power.
func powerLegend() []entry {
	return []entry{{text: "drawn by the nodes (mean)", color: Blue}, {text: "range in which it lies", color: alpha(Sky, 110), area: true}}
}

// capEntries are those of a cap, above which was drawn for so long.
func capEntries(over int64) []entry {
	out := []entry{{text: "power cap", color: Vermilion, dashes: windowDashes}}
	if over > 0 {
		out = append(out, entry{text: "more than the cap", color: Vermilion, area: true})
	}
	return out
}

// shownDrawn are the stretches that are shown.
func shownDrawn(all []Drawn, shown Shown) []Drawn {
	if n := slices.IndexFunc(all, func(d Drawn) bool { return d.StartUS >= shown.ToUS }); n > 0 && shown.Folds() {
		return all[:n]
	}
	return all
}

// powerSum sums up what is drawn.
type powerSum struct {
	mean, most, high, cap float64 // W
	over                  int64   // µs of stretches in which more than the cap was drawn
	capped, priced        bool
	cheap, dear           float64
	supply                float64 // the most
	supplied              bool
}

// axis is up to where a plot reaches: a supply much above what is drawn would flatten it.
func (s *powerSum) axis() float64 {
	top := max(s.high, s.cap)
	return max(top, min(s.supply, 2*top))
}

// supplyEntries are those of the supply on an axis up to top.
func (s *powerSum) supplyEntries(top float64) []entry {
	switch {
	case !s.supplied:
		return nil
	case s.supply > top:
		return []entry{{text: "supply (mean), up to the axis", color: Green}}
	}
	return []entry{{text: "supply (mean)", color: Green}}
}

func powerSums(all []Drawn) powerSum {
	s, width := powerSum{}, 0.0
	for _, d := range all {
		s.mean += float64(d.Value * float64(d.WidthUS))
		width += float64(d.WidthUS)
		s.most, s.high = max(s.most, d.Most), max(s.high, d.High, d.Most)
		if d.Capped {
			s.capped, s.cap = true, max(s.cap, d.Cap)
		}
		if d.over() {
			s.over += d.WidthUS
		}
		if d.Supplied {
			s.supplied, s.supply = true, max(s.supply, d.Supply)
		}
		if d.Priced {
			if !s.priced {
				s.cheap, s.dear = d.Price, d.Price
			}
			s.priced, s.cheap, s.dear = true, min(s.cheap, d.Price), max(s.dear, d.Price)
		}
	}
	if width > 0 {
		s.mean /= width
	}
	return s
}

// reduceDrawn joins runs of neighbours so that at most n remain.
func reduceDrawn(in []Drawn, n int) []Drawn {
	per := (len(in) + n - 1) / n
	if per <= 1 {
		return in
	}
	var out []Drawn
	for i := 0; i < len(in); i += per {
		out = append(out, joinDrawn(in[i:min(i+per, len(in))]))
	}
	return out
}

func joinDrawn(group []Drawn) Drawn {
	sum, priced, supplied := Drawn{StartUS: group[0].StartUS}, 0.0, 0.0
	for _, d := range group {
		w := float64(d.WidthUS)
		sum.WidthUS += d.WidthUS
		sum.Low += float64(d.Low * w)
		sum.Value += float64(d.Value * w)
		sum.High += float64(d.High * w)
		sum.Most = max(sum.Most, d.Most)
		if d.Capped && (!sum.Capped || d.Cap < sum.Cap) {
			sum.Cap, sum.Capped = d.Cap, true
		}
		if d.Priced {
			sum.Price += float64(d.Price * w)
			priced += w
		}
		if d.Supplied {
			sum.Supply += float64(d.Supply * w)
			supplied += w
		}
	}
	if w := float64(sum.WidthUS); w > 0 {
		sum.Low, sum.Value, sum.High = sum.Low/w, sum.Value/w, sum.High/w
	}
	if priced > 0 {
		sum.Price, sum.Priced = sum.Price/priced, true
	}
	if supplied > 0 {
		sum.Supply, sum.Supplied = sum.Supply/supplied, true
	}
	return sum
}

// PowerPair draws what the nodes of two runs of one trace draw, one below the other on the
// same axes.
func PowerPair(names [2]string, all [2][]Drawn, clock Clock, shown Shown) *Figure {
	f := &Figure{
		Name: "power-compared", Title: "Power over time, on the same axes", height: 420 * pt, narrow: 380 * pt,
		legend: powerLegend(),
	}
	pair := powerPair{names: names, clock: clock}
	for i := range all {
		pair.sum[i] = powerSums(all[i])
		pair.drawn[i] = reduceDrawn(shownDrawn(all[i], shown), stateColumns)
		pair.top = max(pair.top, pair.sum[i].axis())
	}
	u := powerScale(pair.top)
	for i := range all {
		if f.Note != "" {
			f.Note += "; "
		}
		f.Note += fmt.Sprintf("%c: mean %s, most %s", 'A'+rune(i), u.Says(pair.sum[i].mean), u.Says(pair.sum[i].most))
	}
	if pair.sum[0].capped || pair.sum[1].capped {
		f.legend = append(f.legend, capEntries(max(pair.sum[0].over, pair.sum[1].over))...)
	}
	more := pair.sum[0]
	if more.supplied, more.supply = more.supplied || pair.sum[1].supplied, max(more.supply, pair.sum[1].supply); more.supplied {
		f.legend = append(f.legend, more.supplyEntries(pair.top)...)
	}
	f.Note += shown.note()
	f.body = func(c draw.Canvas) { pair.draw(c, u) }
	return f
}

// powerPair is what PowerPair draws.
type powerPair struct {
	names [2]string
	drawn [2][]Drawn
	sum   [2]powerSum
	top   float64
	clock Clock
}

func (pp *powerPair) draw(c draw.Canvas, u Scaled) {
	lo, hi := extent(pp.drawn[0])
	from, to := extent(pp.drawn[1])
	lo, hi = min(lo, from), max(hi, to)
	half := draw.Crop(c, 0, 0, (c.Max.Y-c.Min.Y)/2, 0)
	plots := make([]*plot.Plot, 2)
	for i := range plots {
		plots[i] = powerPlot(half, fmt.Sprintf("%c: power (%s)", 'A'+rune(i), u.Name), pp.drawn[i], u, pp.top)
	}
	stackPlots(c, plots, lo, hi, pp.clock)
}

func drawPower(c draw.Canvas, all []Drawn, u Scaled, sum powerSum, currency string, clock Clock) {
	lo, hi := extent(all)
	part := c
	if sum.priced {
		part = draw.Crop(c, 0, 0, (c.Max.Y-c.Min.Y)/2, 0)
	}
	plots := []*plot.Plot{powerPlot(part, "power ("+u.Name+")", all, u, sum.axis())}
	if sum.priced {
		price := newPlot(part, "", "price ("+currency+"/kWh)")
		price.Y.Min, price.Y.Max, price.Y.Tick.Marker = min(0, sum.cheap*1.06), max(sum.dear*1.06, 0.01), linearTicks(4, false)
		price.Add(grid{x: true, y: true},
			someSteps{all, func(d Drawn) bool { return d.Priced }, func(d Drawn) float64 { return d.Price }, draw.LineStyle{Color: Purple, Width: 1.2 * pt}})
		plots = append(plots, price)
	}
	stackPlots(c, plots, lo, hi, clock)
}

// powerPlot is one panel of power.
func powerPlot(c draw.Canvas, label string, all []Drawn, u Scaled, top float64) *plot.Plot {
	p := newPlot(c, "", label)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, max(top/u.By*1.06, 1e-9), linearTicks(5, false)
	in := func(value func(Drawn) float64) func(Drawn) float64 {
		return func(d Drawn) float64 { return value(d) / u.By }
	}
	p.Add(grid{x: true, y: true},
		bandSteps{all, in(func(d Drawn) float64 { return d.Low }), in(func(d Drawn) float64 { return d.High }), alpha(Sky, 110)},
		steps[Drawn]{all, in(func(d Drawn) float64 { return d.Value }), nil, Blue, 1.2 * pt},
		someSteps{all, func(d Drawn) bool { return d.Capped }, in(func(d Drawn) float64 { return d.Cap }), draw.LineStyle{Color: Vermilion, Width: 1.2 * pt, Dashes: windowDashes}},
		someSteps{all, func(d Drawn) bool { return d.Supplied }, in(func(d Drawn) float64 { return min(d.Supply, top) }), draw.LineStyle{Color: Green, Width: 1.2 * pt}},
		overMarks{all})
	return p
}

// stackPlots draws plots one below the other on one axis of time.
func stackPlots(c draw.Canvas, plots []*plot.Plot, lo, hi float64, clock Clock) {
	last := plots[len(plots)-1]
	for _, p := range plots {
		p.X.Min, p.X.Max = lo, hi
		p.X.Tick.Marker = unlabelled(clock.ticker(few(c, labelsWanted)))
	}
	last.X.Label.Text, last.X.Tick.Marker = clock.label(hi-lo), clock.ticker(few(c, labelsWanted))
	spaceLabels(last, c.Max.X-c.Min.X)
	table := make([][]*plot.Plot, len(plots))
	for i, p := range plots {
		table[i] = []*plot.Plot{p}
	}
	for i, canvases := range plot.Align(table, draw.Tiles{Rows: len(plots), Cols: 1, PadY: 8 * pt}, c) {
		plots[i].Draw(canvases[0])
	}
}

// bandSteps fills what lies between two step curves.
type bandSteps struct {
	all       []Drawn
	low, high func(Drawn) float64
	color     color.Color
}

func (b bandSteps) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	var above, below []vg.Point
	for _, d := range b.all {
		from, to := d.span()
		x0, x1 := tx(float64(from)/secondUS), tx(float64(to)/secondUS)
		high, low := ty(b.high(d)), ty(b.low(d))
		above = append(above, vg.Point{X: x0, Y: high}, vg.Point{X: x1, Y: high})
		below = append(below, vg.Point{X: x0, Y: low}, vg.Point{X: x1, Y: low})
	}
	for i := len(below) - 1; i >= 0; i-- {
		above = append(above, below[i])
	}
	if len(above) > 0 {
		c.FillPolygon(b.color, above)
	}
}

// someSteps draws a step curve with gaps where there is no value.
type someSteps struct {
	all   []Drawn
	known func(Drawn) bool
	value func(Drawn) float64
	style draw.LineStyle
}

func (s someSteps) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	var line []vg.Point
	end := func() {
		if len(line) > 0 {
			c.StrokeLines(s.style, line)
		}
		line = nil
	}
	for _, d := range s.all {
		if !s.known(d) {
			end()
			continue
		}
		from, to := d.span()
		y := ty(s.value(d))
		line = append(line, vg.Point{X: tx(float64(from) / secondUS), Y: y}, vg.Point{X: tx(float64(to) / secondUS), Y: y})
	}
	end()
}

// overMarks mark the stretches in which more than the cap was drawn.
type overMarks struct{ all []Drawn }

func (m overMarks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, _ := p.Transforms(&c)
	for _, d := range m.all {
		if d.over() {
			left := tx(float64(d.StartUS) / secondUS)
			fill(&c, left, c.Min.Y, max(tx(float64(d.StartUS+d.WidthUS)/secondUS), left+0.8*pt), c.Min.Y+4*pt, Vermilion)
		}
	}
}
