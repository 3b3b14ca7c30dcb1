package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	colours "orrery/reports/plot"
)

// The figure is as wide as a page of the documents.
const (
	figureWidth  = 18 * vg.Centimeter
	figureHeight = 11 * vg.Centimeter
	pngDPI       = 110
)

// shades and dashes tell the policies apart, also in grey.
var (
	shades = []color.Color{colours.Muted, colours.Orange, colours.Vermilion, colours.Blue, colours.Green, colours.Purple}
	dashes = [][]vg.Length{{2, 2}, {6, 2}, {10, 3, 2, 3}, nil, {4, 2}, {1, 2}}
)

// drawCurves draws which part of the GPUs is allocated when tasks have asked for some part,
// from where the curves part from each other.
func drawCurves(w io.Writer, all []curve, svg bool) error {
	const from = 75
	p := plot.New()
	p.Title.Text = "GPUs allocated as tasks arrive, of which none ends"
	p.X.Label.Text, p.Y.Label.Text = "GPUs asked for (% of all)", "GPUs allocated (% of all)"
	p.X.Tick.Marker, p.Y.Tick.Marker = everyFive{}, everyFive{}
	p.Add(plotter.NewGrid())
	for i := range all {
		var points plotter.XYs
		for x, y := range all[i].allocated {
			if x >= from {
				points = append(points, plotter.XY{X: float64(x), Y: y})
			}
		}
		if len(points) == 0 {
			return fmt.Errorf("the figure begins where tasks have asked for %d %% of the GPUs: give more with -arrive", from)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("figure: %w", err)
		}
		line.Color, line.Dashes, line.Width = shades[i%len(shades)], dashes[i%len(dashes)], vg.Points(1.6)
		p.Add(line)
		p.Legend.Add(strings.ReplaceAll(all[i].policy, "`", ""), line)
	}
	var to io.WriterTo
	if svg {
		c := vgsvg.New(figureWidth, figureHeight)
		p.Draw(draw.New(c))
		to = c
	} else {
		c := vgimg.NewWith(vgimg.UseWH(figureWidth, figureHeight), vgimg.UseDPI(pngDPI))
		p.Draw(draw.New(c))
		to = vgimg.PngCanvas{Canvas: c}
	}
	if _, err := to.WriteTo(w); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

// everyFive labels the multiples of five.
type everyFive struct{}

func (everyFive) Ticks(from, to float64) (ticks []plot.Tick) {
	for at := math.Ceil(from/5) * 5; at <= to; at += 5 {
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.Itoa(int(at))})
	}
	return ticks
}
