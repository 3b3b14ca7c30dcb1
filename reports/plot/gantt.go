package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size of the raster in the Gantt figure, in pixels, and the most attempts
// that are drawn one by one.
const (
	GanttCols   = 1300
	GanttRows   = 520
	GanttSingly = 6000
)

// Bar is one attempt on one range of nodes, for a Gantt drawn job by job.
type Bar struct {
	Job            int32
	StartUS, EndUS int64 // µs since the trace's epoch
	Lo, Hi         int32 // nodes, both included
}

// Gantt draws nodes against time. With bars it colours them by job; without
// (too many to tell apart) it shades each pixel by the share of its node-time
// that was allocated. The raster gives the axes and, without bars, the data;
// it is finished here if it was not. Jobs is the number of attempts it holds.
func Gantt(r *Raster, bars []Bar, jobs int64, clock Clock) *Figure {
	r.Finish()
	f := &Figure{Name: "gantt", Title: "Nodes over time", height: 430 * pt, narrow: 330 * pt}
	if r.What != "" {
		f.Title = r.What + "s of the nodes over time"
	}
	var img image.Image
	if len(bars) > 0 {
		f.Note = fmt.Sprintf("%s allocations; neighbouring colours are different jobs, blank is idle", Count(jobs))
		if r.What != "" {
			f.Note += "; a job has the lowest " + r.What + "s of its nodes that are free"
		}
		img = paintBars(r, bars)
	} else {
		f.Note = fmt.Sprintf("%s allocations, too many to draw singly: a pixel covers %s and %s, and is the darker the more of that was allocated",
			Count(jobs), Span(float64(r.ColUS)/secondUS), nodes(r.RowNodes))
		most := r.Most()
		if r.Jobs {
			f.Note = fmt.Sprintf("%s allocations on nodes that jobs share: a pixel covers %s and %s, and is the fuller the more jobs ran on a node, %s at most", Count(jobs), Span(float64(r.ColUS)/secondUS), nodes(r.RowNodes), short(math.Ceil(most)))
		} else {
			most = 1
		}
		for _, k := range []float64{0, 0.25, 0.5, 0.75, 1} {
			e := entry{text: fmt.Sprintf("%.0f %%", 100*k), color: shade(r.depth(k)), area: true}
			if r.Jobs {
				e.text = fixed(k*most, 1)
			}
			f.legend = append(f.legend, e)
		}
		img = paintOccupancy(r, most)
	}
	f.body = func(c draw.Canvas) {
		lo, hi := float64(r.FromUS)/secondUS, float64(r.FromUS+int64(r.Cols)*r.ColUS)/secondUS
		p := newPlot(c, clock.label(hi-lo), r.what())
		p.X.Tick.Marker = clock.ticker(few(c, labelsWanted))
		p.X.Min, p.X.Max = lo, hi
		top := float64(r.Rows) * float64(r.RowNodes)
		p.Y.Min, p.Y.Max = 0, top
		p.Y.Tick.Marker = r.nodeTicks(8)
		p.Add(plotter.NewImage(img, lo, 0, hi, top), frame{})
		drawPlot(p, c)
	}
	return f
}

// what the rows are.
func (r *Raster) what() string {
	if r.What != "" {
		return r.What
	}
	return "node"
}

// nodeTicks is an axis of nodes, each label at the lower edge of its node.
func (r *Raster) nodeTicks(n int) plot.Ticker {
	plain := linearTicks(n, true)
	if r.Name == nil {
		return plain
	}
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		ticks := plain.Ticks(lo, hi)
		for i := range ticks {
			switch at := int32(ticks[i].Value); {
			case ticks[i].Label == "":
			case at < r.Nodes:
				ticks[i].Label = cut(r.Name(int(at)))
			default: // the upper edge of the last one
				ticks[i].Label = ""
			}
		}
		return ticks
	})
}

// cut keeps the end of a name, which tells nodes apart, where it is too long for an
// axis.
func cut(name string) string {
	const most = 20
	if len(name) <= most {
		return name
	}
	return "…" + name[len(name)-most+1:]
}

func nodes(n int32) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// frame closes the rectangle around the data.
type frame struct{}

func (frame) Plot(c draw.Canvas, _ *plot.Plot) {
	c.StrokeLines(draw.LineStyle{Color: Grid, Width: 0.6 * pt}, []vg.Point{
		{X: c.Min.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Min.Y},
	})
}

const shades = 24

// shade is transparent for idle and Blue for full, so that it reads on light
// and on dark paper.
func shade(share float64) color.NRGBA {
	k := int(share*shades + 0.5)
	if share > 0 {
		k = max(k, 1)
	}
	return alpha(Blue, uint8(min(k, shades)*255/shades))
}

// depth is how deep a part of the most is shaded: where rows have numbers of jobs, one job is to be
// seen beside many.
func (r *Raster) depth(part float64) float64 {
	if r.Jobs {
		return math.Sqrt(part)
	}
	return part
}

func shadePalette() color.Palette {
	p := make(color.Palette, shades+1)
	for i := range p {
		p[i] = shade(float64(i) / shades)
	}
	return p
}

// stretch is how many pixels of the image stand for one raster pixel, so that
// small clusters have edges instead of a blur.
func stretch(n, want int) int { return max(1, want/n) }

func paintOccupancy(r *Raster, most float64) image.Image {
	sy := stretch(r.Rows, GanttRows)
	img := image.NewPaletted(image.Rect(0, 0, r.Cols, r.Rows*sy), shadePalette())
	for y := range r.Rows {
		for x := range r.Cols {
			v := r.depth(r.Occupancy(x, y) / most)
			k := uint8(min(shades, int(v*shades+0.5)))
			if v > 0 {
				k = max(k, 1)
			}
			for dy := range sy {
				img.SetColorIndex(x, img.Rect.Max.Y-1-y*sy-dy, k)
			}
		}
	}
	return img
}

var barColors = color.Palette{color.NRGBA{}, Sky, Orange, Green, Purple, Blue, Vermilion, Muted, color.NRGBA{0xF0, 0xE4, 0x42, 0xFF}}

const barEdge = 0 // the gap that parts a job from the one before it

// paintBars colours by job; each job takes the first colour after its
// predecessor's on its lowest node, so that neighbours in time differ.
func paintBars(r *Raster, bars []Bar) image.Image {
	sx, sy := stretch(r.Cols, GanttCols), stretch(r.Rows, GanttRows)
	img := image.NewPaletted(image.Rect(0, 0, r.Cols*sx, r.Rows*sy), barColors)
	chosen := map[int32]uint8{}
	next := uint8(0)
	for _, b := range bars {
		col, ok := chosen[b.Job]
		if !ok {
			col = 1 + next%uint8(len(barColors)-1)
			next++
			chosen[b.Job] = col
		}
		x0 := int((b.StartUS - r.FromUS) * int64(sx) / r.ColUS)
		x1 := max(int((b.EndUS-r.FromUS)*int64(sx)/r.ColUS), x0+1)
		y0 := int(b.Lo) * sy / int(r.RowNodes)
		y1 := max((int(b.Hi)+1)*sy/int(r.RowNodes), y0+1)
		for y := y0; y < min(y1, img.Rect.Max.Y); y++ {
			for x := x0; x < min(x1, img.Rect.Max.X); x++ {
				k := col
				if x == x0 && x1-x0 > 3 {
					k = barEdge
				}
				img.SetColorIndex(x, img.Rect.Max.Y-1-y, k)
			}
		}
	}
	return img
}
