package plot

import (
	"image"
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// farAway is how far from its corner a figure is drawn, in points: numbers that lie beyond
// what an axis shows end there. Rasterisers walk every row of a line, and overflow.
const farAway = 20_000

// bounded is a canvas on which all lines are short and all places are numbers.
type bounded struct{ vg.CanvasSizer }

// Stroke implements vg.Canvas.
func (c bounded) Stroke(p vg.Path) {
	if p, ok := clipped(p); ok {
		c.CanvasSizer.Stroke(p)
	}
}

// Fill implements vg.Canvas.
func (c bounded) Fill(p vg.Path) {
	if p, ok := clipped(p); ok {
		c.CanvasSizer.Fill(p)
	}
}

// FillString implements vg.Canvas. Text that would stand elsewhere is left out.
func (c bounded) FillString(f font.Face, at vg.Point, text string) {
	if isNear(at) {
		c.CanvasSizer.FillString(f, at, text)
	}
}

// DrawImage implements vg.Canvas, likewise.
func (c bounded) DrawImage(r vg.Rectangle, img image.Image) {
	if isNear(r.Min) && isNear(r.Max) {
		c.CanvasSizer.DrawImage(r, img)
	}
}

func isNear(at vg.Point) bool {
	return math.Abs(float64(at.X)) <= farAway && math.Abs(float64(at.Y)) <= farAway // no NaN is
}

// clipped is a path within the bounds; false for one that has a place which is no number.
func clipped(p vg.Path) (vg.Path, bool) {
	i := slices.IndexFunc(p, func(c vg.PathComp) bool {
		return !isNear(c.Pos) || !(c.Radius <= farAway) || slices.ContainsFunc(c.Control, func(at vg.Point) bool { return !isNear(at) })
	})
	if i < 0 {
		return p, true
	}
	p = slices.Clone(p)
	for i := range p {
		c := &p[i]
		c.Control = slices.Clone(c.Control)
		c.Radius = min(c.Radius, farAway)
		for k := range c.Control {
			c.Control[k] = drawnIn(c.Control[k])
		}
		if c.Pos = drawnIn(c.Pos); !isNear(c.Pos) || math.IsNaN(float64(c.Radius)) || slices.ContainsFunc(c.Control, func(at vg.Point) bool { return !isNear(at) }) {
			return nil, false
		}
	}
	return p, true
}

// drawnIn is the place within the bounds; what is no number stays none.
func drawnIn(at vg.Point) vg.Point {
	return vg.Point{X: max(-farAway, min(farAway, at.X)), Y: max(-farAway, min(farAway, at.Y))}
}
