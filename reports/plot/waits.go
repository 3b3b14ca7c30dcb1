package plot

import (
	"fmt"
	"image/color"
	"math"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"orrery/internal/libm"
)

// Resolution of Waits: equal steps up to one second, then equal ratios.
const (
	waitsBelowSecond = 20
	waitsPerDecade   = 256
	waitsDecades     = 10 // up to 10^10 s; longer waits share the last bin
)

var waitEdges = makeWaitEdges()

func makeWaitEdges() []int64 {
	edges := []int64{0}
	for i := 1; i <= waitsBelowSecond; i++ {
		edges = append(edges, int64(i)*secondUS/waitsBelowSecond)
	}
	for i := 1; i <= waitsPerDecade*waitsDecades; i++ {
		edges = append(edges, int64(math.Round(secondUS*libm.Pow(10, float64(i)/waitsPerDecade))))
	}
	return edges
}

// Waits counts waits in bins with fixed edges: 0, steps of 50 ms to 1 s, then
// 256 a decade. The distribution is exact at every edge, whatever the number
// of jobs; memory is 21 kB. The zero value is empty.
type Waits struct {
	bins   [waitsBelowSecond + waitsPerDecade*waitsDecades + 1]int64
	count  int64
	Absent int64 // jobs that never started: they have no wait and are told, not drawn
}

// Add counts one wait in microseconds. Cost is logarithmic in the number of
// bins; negative waits count as 0.
func (w *Waits) Add(us int64) {
	i := sort.Search(len(waitEdges)-1, func(i int) bool { return waitEdges[i] >= us })
	w.bins[i]++
	w.count++
}

// most is the upper edge of the last bin in use, in seconds.
func (w *Waits) most() float64 {
	for i := len(w.bins) - 1; i >= 0; i-- {
		if w.bins[i] > 0 {
			return float64(waitEdges[i]) / secondUS
		}
	}
	return 0
}

// shares returns the distribution at every edge.
func (w *Waits) shares() []float64 {
	out := make([]float64, len(w.bins))
	sum := int64(0)
	for i, n := range w.bins {
		sum += n
		if w.count > 0 {
			out[i] = float64(sum) / float64(w.count)
		}
	}
	return out
}

// Named is a distribution of waits with a short name of its run, such as A,
// and what it is, which only the legend says.
type Named struct {
	Name  string
	About string
	Waits *Waits
}

func (n Named) label() string {
	if n.About == "" {
		return n.Name
	}
	return n.Name + ": " + n.About
}

var curveColors = [...]color.NRGBA{Blue, Vermilion, Green, Purple}

// WaitCDF draws the share of started jobs that waited at most so long, one
// curve a run, four at most.
func WaitCDF(runs ...Named) *Figure {
	runs = runs[:min(len(runs), len(curveColors))]
	f := &Figure{Name: "wait-cdf", Title: "How long jobs waited", height: 320 * pt, narrow: 250 * pt}
	most := 60.0
	for i, r := range runs {
		most = max(most, r.Waits.most())
		zero := r.Waits.shares()[0]
		text := fmt.Sprintf("%s started jobs, %s of them at once", Count(r.Waits.count), percent(zero))
		if r.Waits.Absent > 0 {
			text += fmt.Sprintf("; %s never started (not drawn)", Count(r.Waits.Absent))
		}
		if len(runs) == 1 {
			f.Note = text
			continue
		}
		f.legend = append(f.legend, entry{text: r.label(), color: curveColors[i], dashes: curveDashes(i)})
		if i > 0 {
			f.Note += "; "
		}
		f.Note += r.Name + ": " + text
	}
	f.body = func(c draw.Canvas) {
		p := waitPlot(c, "share of started jobs", most)
		p.Y.Max, p.Y.Tick.Marker = 1, percentTicks(10)
		for i, r := range runs {
			p.Add(cdf{r.Waits.shares(), draw.LineStyle{Color: curveColors[i], Width: 1.6 * pt, Dashes: curveDashes(i)}})
		}
		drawPlot(p, c)
	}
	return f
}

// curveDashes tells the second curve from the first without colour.
func curveDashes(i int) []vg.Length {
	if i == 0 {
		return nil
	}
	return []vg.Length{vg.Length(2+3*i) * pt, 2 * pt}
}

// WaitDifference draws by how many percentage points more jobs of b than of a
// had started after each wait: above zero, b is the better one.
func WaitDifference(a, b Named) *Figure {
	f := &Figure{
		Name:   "wait-difference",
		Title:  "Which run starts more jobs within a given wait",
		Note:   "difference of the two curves of waits; above zero " + b.Name + " does better, below " + a.Name,
		height: 260 * pt, narrow: 230 * pt,
		legend: []entry{
			{text: "better in " + b.label(), color: alpha(Blue, 140), area: true},
			{text: "better in " + a.label(), color: alpha(Vermilion, 140), area: true},
		},
	}
	sa, sb := a.Waits.shares(), b.Waits.shares()
	diff := make([]float64, len(sa))
	reach := 0.0
	for i := range diff {
		diff[i] = sb[i] - sa[i]
		reach = max(reach, math.Abs(diff[i]))
	}
	if reach == 0 {
		reach = 0.01
	}
	f.body = func(c draw.Canvas) {
		p := waitPlot(c, "percentage points", max(60, a.Waits.most(), b.Waits.most()))
		p.Y.Min, p.Y.Max = -1.08*reach, 1.08*reach
		p.Y.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
			ticks := niceTicks(100*lo, 100*hi, 7)
			for i := range ticks {
				ticks[i].Value /= 100
			}
			return ticks
		})
		p.Add(band{diff})
		drawPlot(p, c)
	}
	return f
}

func waitPlot(c draw.Canvas, ylabel string, most float64) *plot.Plot {
	p := newPlot(c, waitAxisLabel, ylabel)
	p.X.Min, p.X.Max = waitPosition(-0.25), waitPosition(most*1.05)
	p.X.Tick.Marker = plot.TickerFunc(waitTicks)
	p.Add(grid{x: true, y: true})
	return p
}

// cdf draws shares at the edges of Waits.
type cdf struct {
	shares []float64
	style  draw.LineStyle
}

func (d cdf) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	pts := []vg.Point{{X: tx(p.X.Min), Y: ty(0)}, {X: tx(0), Y: ty(0)}}
	for i, s := range d.shares {
		x := waitPosition(float64(waitEdges[i]) / secondUS)
		if x > p.X.Max {
			break
		}
		y := ty(s)
		// Flat stretches need their two ends only.
		if n := len(pts); n > 2 && pts[n-1].Y == y && pts[n-2].Y == y {
			pts[n-1].X = tx(x)
			continue
		}
		pts = append(pts, vg.Point{X: tx(x), Y: y})
	}
	c.StrokeLines(d.style, pts)
}

// band fills between zero and a difference, coloured by its sign.
type band struct{ diff []float64 }

func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for _, side := range []struct {
		sign float64
		col  color.NRGBA
	}{{1, Blue}, {-1, Vermilion}} {
		pts := []vg.Point{{X: tx(0), Y: ty(0)}}
		last := tx(0)
		for i, d := range b.diff {
			x := waitPosition(float64(waitEdges[i]) / secondUS)
			if x > p.X.Max {
				break
			}
			y := ty(side.sign * max(0, side.sign*d))
			last = tx(x)
			if n := len(pts); n > 1 && pts[n-1].Y == y && pts[n-2].Y == y {
				pts[n-1].X = last
				continue
			}
			pts = append(pts, vg.Point{X: last, Y: y})
		}
		pts = append(pts, vg.Point{X: last, Y: ty(0)})
		c.FillPolygon(alpha(side.col, 140), pts)
	}
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: 0.8 * pt}, c.Min.X, ty(0), c.Max.X, ty(0))
}
