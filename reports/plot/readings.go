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

// Reading is a series that was measured, in equal steps of time; NaN where nothing was.
type Reading struct {
	Name   string
	Values []float64
	Held   []bool // by step: clocks were held down in it; nil where that is not known
}

// readingColors are those of curves. Vermilion marks what was held down.
var readingColors = [...]color.NRGBA{Blue, Orange, Green, Purple, Sky, Ink}

// Readings draws a quantity of several GPUs over time, from 0 on. A curve is broken where values are further apart than twice the usual distance;
// the steps in which clocks were held down are marked on it. Cost is linear in the steps.
func Readings(name, title, unit string, fromUS, toUS int64, all []Reading, clock Clock) *Figure {
	f := &Figure{Name: name, Title: title, height: 260 * pt, narrow: 240 * pt}
	r := readings{all: all, seconds: max(float64(toUS-fromUS)/secondUS, 1), unit: unit}
	held := false
	low, high := math.Inf(1), math.Inf(-1)
	for i := range all {
		f.legend = append(f.legend, entry{text: all[i].Name, color: readingColor(i), dashes: readingDashes(i)})
		held = held || slices.Contains(all[i].Held, true)
		for _, v := range all[i].Values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	f.Note = "nothing was measured"
	if low <= high {
		if f.Note = fmt.Sprintf("from %s to %s %s", short(low), short(high), unit); low == high {
			f.Note = fmt.Sprintf("%s %s throughout", short(high), unit)
		}
		r.most = high
	}
	if held {
		f.legend = append(f.legend, entry{text: "clocks held down", color: Vermilion, mark: disc})
	}
	clock.EpochUS += fromUS
	f.body = func(c draw.Canvas) { r.draw(c, clock) }
	return f
}

func readingColor(i int) color.NRGBA { return readingColors[i%len(readingColors)] }

// readingDashes tells the curves of one colour apart.
func readingDashes(i int) []vg.Length { return curveDashes(i / len(readingColors)) }

type readings struct {
	all     []Reading
	seconds float64
	most    float64
	unit    string
}

func (r readings) draw(c draw.Canvas, clock Clock) {
	p := newPlot(c, clock.label(r.seconds), r.unit)
	p.X.Min, p.X.Max = 0, r.seconds
	p.Y.Min, p.Y.Max = min(0, r.most), max(r.most*1.06, 1e-9)
	if r.unit == "%" {
		p.Y.Max = max(p.Y.Max, 105)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = clock.ticker(few(c, labelsWanted)), linearTicks(5, false)
	p.Add(grid{x: true, y: true}, r)
	drawPlot(p, c)
}

// Plot draws the curves, and above all of them what was held down.
func (r readings) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	var marks []vg.Point
	for i := range r.all {
		one := &r.all[i]
		sty := draw.LineStyle{Color: readingColor(i), Width: 1.2 * pt, Dashes: readingDashes(i)}
		steps := float64(len(one.Values))
		apart, missing := one.apart(), 0
		var run []vg.Point
		flush := func() {
			switch len(run) {
			case 0:
			case 1:
				stamp(&c, disc, run[0], 1.2*pt, sty.Color)
			default:
				c.StrokeLines(sty, run)
			}
			run = nil
		}
		for k, v := range one.Values {
			if math.IsNaN(v) {
				if missing++; missing > apart {
					flush()
				}
				continue
			}
			missing = 0
			at := vg.Point{X: tx((float64(k) + 0.5) / steps * r.seconds), Y: ty(v)}
			run = append(run, at)
			if one.Held != nil && one.Held[k] {
				marks = append(marks, at)
			}
		}
		flush()
	}
	for _, at := range marks {
		stamp(&c, disc, at, 1.3*pt, Vermilion)
	}
}

// apart is by how many steps values lie apart at most, gaps aside.
func (r *Reading) apart() int {
	n := 0
	for _, v := range r.Values {
		if !math.IsNaN(v) {
			n++
		}
	}
	return 2 * len(r.Values) / max(n, 1)
}
