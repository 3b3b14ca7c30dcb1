package page

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"orrery/capture/review"
	"orrery/scheduler/model"
)

const (
	width  = 24 * vg.Centimeter
	height = 6 * vg.Centimeter
)

// colours can be told apart by most eyes (Okabe and Ito); with more GPUs than these they come again.
var colours = []color.RGBA{{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255}, {128, 112, 0, 255}, {0, 0, 0, 255}, {120, 120, 120, 255}}

// held marks steps in which clocks were held down.
var held = color.RGBA{213, 43, 30, 255}

// figures draws each quantity that was measured.
func figures(curves []review.Curve, from, to model.Time) (all []figure, err error) {
	for q, quantity := range review.Quantities {
		f, drawn, err := one(curves, q, quantity, from, to)
		if err != nil {
			return nil, err
		}
		if drawn {
			all = append(all, f)
		}
	}
	return all, nil
}

func one(curves []review.Curve, q int, quantity review.Quantity, from, to model.Time) (f figure, drawn bool, err error) {
	p := plot.New()
	p.Y.Label.Text = quantity.Unit
	p.X.Tick.Marker = clock{}
	p.X.Min, p.X.Max = seconds(from), max(seconds(to), seconds(from)+1)
	p.Y.Min, p.Y.Max = 0, 1
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, false
	p.Legend.XOffs = 2.2 * vg.Centimeter
	at := func(k int) float64 { return p.X.Min + (float64(k)+0.5)/steps*(p.X.Max-p.X.Min) }
	drew := false
	for i := range curves {
		c := &curves[i]
		var run, marks plotter.XYs
		shade := colours[i%len(colours)]
		flush := func() error {
			if len(run) == 0 {
				return nil
			}
			l, err := plotter.NewLine(run)
			if err != nil {
				return err
			}
			l.Color, l.Width = shade, vg.Points(1)
			p.Add(l)
			run = nil
			return nil
		}
		missing := 0
		for k, v := range c.Values[q] {
			if !v.OK {
				if missing++; missing > sparse(c, q) { // further apart than samples are: a gap
					if err := flush(); err != nil {
						return f, false, err
					}
				}
				continue
			}
			missing, drew = 0, true
			point := plotter.XY{X: at(k), Y: v.V}
			run = append(run, point)
			p.Y.Max = max(p.Y.Max, v.V*1.08)
			if c.Throttled[k] {
				marks = append(marks, point)
			}
		}
		if err := flush(); err != nil {
			return f, false, err
		}
		if err := mark(p, marks); err != nil {
			return f, false, err
		}
		p.Legend.Add(gpuName(c.GPU), swatch(shade))
	}
	if !drew {
		return f, false, nil
	}
	if quantity.Unit == "%" {
		p.Y.Max = 105
	}
	p.Legend.Add("held down", swatch(held))
	svg, err := render(p)
	return figure{fmt.Sprintf("%s (%s)", quantity.Title, quantity.Unit), svg}, true, err
}

// sparse is by how many steps samples lie apart at most, gaps aside: twice the usual distance.
func sparse(c *review.Curve, q int) int {
	n := 0
	for _, v := range c.Values[q] {
		if v.OK {
			n++
		}
	}
	return 2 * steps / max(n, 1)
}

func mark(p *plot.Plot, marks plotter.XYs) error {
	if len(marks) == 0 {
		return nil
	}
	s, err := plotter.NewScatter(marks)
	if err != nil {
		return err
	}
	s.GlyphStyle = draw.GlyphStyle{Color: held, Radius: vg.Points(1.3), Shape: draw.CircleGlyph{}}
	p.Add(s)
	return nil
}

// swatch is a square in the legend.
type swatch color.RGBA

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	mid := (c.Min.Y + c.Max.Y) / 2
	c.FillPolygon(color.RGBA(s), []vg.Point{{X: c.Min.X, Y: mid - 2}, {X: c.Max.X, Y: mid - 2}, {X: c.Max.X, Y: mid + 2}, {X: c.Min.X, Y: mid + 2}})
}

// render draws the plot with room for the legend at its right.
func render(p *plot.Plot) (template.HTML, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(c), 0, -2.4*vg.Centimeter, 0, 0))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	text := b.Bytes()
	if at := bytes.Index(text, []byte("<svg")); at > 0 {
		text = text[at:] // inside a page there is no XML declaration
	}
	return template.HTML(text), nil //nolint:gosec // drawn here, from numbers alone
}

func seconds(t model.Time) float64 { return float64(t) / 1e6 }

// clock puts labels at round times of the day, UTC.
type clock struct{}

var spans = []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 2 * 86400, 7 * 86400, 30 * 86400}

// Ticks implements plot.Ticker.
func (clock) Ticks(low, high float64) (ticks []plot.Tick) {
	step := spans[len(spans)-1]
	for _, s := range spans {
		if (high-low)/float64(s) <= 9 {
			step = s
			break
		}
	}
	format := "15:04:05"
	switch {
	case step >= 86400:
		format = "2 Jan"
	case step >= 60:
		format = "15:04"
	}
	for at := (int64(low) + step - 1) / step * step; float64(at) <= high; at += step {
		ticks = append(ticks, plot.Tick{Value: float64(at), Label: time.Unix(at, 0).UTC().Format(format)})
	}
	return ticks
}
