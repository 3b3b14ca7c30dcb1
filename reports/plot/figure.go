// Package plot draws the figures of a replay with gonum/plot: state over time,
// waits, slowdowns, the Gantt raster, and the difference of two replays. It
// takes plain numbers, accumulated in memory that grows with the pixels of a
// figure and not with the jobs of a run, and gives SVG and PNG. It must not
// know run directories, reports or policies.
//
// The same numbers give the same bytes on one architecture.
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The palette of Okabe and Ito, which stays apart under the common forms of
// colour blindness, and four greys. The colours are exported because a page
// that embeds a figure restyles it for a dark background by these very values.
var (
	Paper     = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	Ink       = color.NRGBA{0x1F, 0x24, 0x2A, 0xFF}
	Muted     = color.NRGBA{0x5B, 0x64, 0x6E, 0xFF}
	Grid      = color.NRGBA{0xDD, 0xE1, 0xE6, 0xFF}
	Blue      = color.NRGBA{0x00, 0x72, 0xB2, 0xFF}
	Vermilion = color.NRGBA{0xD5, 0x5E, 0x00, 0xFF}
	Sky       = color.NRGBA{0x56, 0xB4, 0xE9, 0xFF}
	Orange    = color.NRGBA{0xE6, 0x9F, 0x00, 0xFF}
	Green     = color.NRGBA{0x00, 0x9E, 0x73, 0xFF}
	Purple    = color.NRGBA{0xCC, 0x79, 0xA7, 0xFF}
)

// Sizes of a figure in points, and of its PNG in pixels per inch. The narrow form is
// for small screens: there the wide one would have letters of four pixels.
const (
	pt          = vg.Length(1)
	figureWidth = 720 * pt
	narrowWidth = 300 * pt
	pngDPI      = 144

	titleSize = 13 * pt
	noteSize  = 9 * pt
	labelSize = 9.5 * pt
	tickSize  = 8.5 * pt
	margin    = 10 * pt
)

// Figure is a finished drawing, in a wide and a narrow form.
type Figure struct {
	Name  string // file name without its extension
	Title string // what is shown
	Note  string // under the title: what was counted and how

	more   string    // of the content in words
	height vg.Length // with one line of title, note and legend each
	narrow vg.Length // the same of the narrow form, 0 as height
	legend []entry
	body   func(c draw.Canvas)
}

// Alt is the content in words, for those who do not see it.
func (f *Figure) Alt() string { return strings.TrimSuffix(f.Title+": "+f.Note, ": ") + f.more }

// entry is one line of the legend; it stands above the data, never on it.
type entry struct {
	text   string
	color  color.Color
	area   bool // a swatch instead of a line
	dashes []vg.Length
	mark   mark // a mark instead of a line
}

// WriteSVG writes the figure as SVG. Text stays text, in Liberation Sans or
// what the viewer has in its place.
func (f *Figure) WriteSVG(w io.Writer) error { return f.writeSVG(w, figureWidth) }

// WriteNarrowSVG is WriteSVG of the narrow form, 300 points wide.
func (f *Figure) WriteNarrowSVG(w io.Writer) error { return f.writeSVG(w, narrowWidth) }

func (f *Figure) writeSVG(w io.Writer, width vg.Length) error {
	h := f.heading(width)
	c := vgsvg.New(width, h.height)
	f.render(draw.New(bounded{c}), h)
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	if err == nil {
		_, err = rasterInSVG.WriteString(w, b.String())
	}
	if err != nil {
		return fmt.Errorf("figure %s: writing SVG: %w", f.Name, err)
	}
	return nil
}

// rasterInSVG corrects what vgsvg says of an image: it is a PNG, and it fills
// its rectangle, where viewers would keep its proportions and leave margins.
var rasterInSVG = strings.NewReplacer(
	"<image ", `<image preserveAspectRatio="none" style="image-rendering:pixelated" `,
	"data:image/jpg;", "data:image/png;",
)

// WritePNG writes the figure as PNG, 1440 pixels wide.
func (f *Figure) WritePNG(w io.Writer) error {
	h := f.heading(figureWidth)
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, h.height), vgimg.UseDPI(pngDPI))}
	f.render(draw.New(bounded{c}), h)
	if _, err := c.WriteTo(w); err != nil {
		return fmt.Errorf("figure %s: writing PNG: %w", f.Name, err)
	}
	return nil
}

// heading is what stands above the data, and how high the whole becomes by it.
type heading struct {
	title, note []string
	height      vg.Length
}

func (f *Figure) heading(width vg.Length) heading {
	room := width - 2*margin
	h := heading{height: f.height, title: wrapped(f.Title, sans(titleSize, Ink, true), room/legendSlack), note: wrapped(f.Note, sans(noteSize, Muted, false), room/legendSlack)}
	if width < figureWidth && f.narrow > 0 {
		h.height = f.narrow
	}
	h.height += vg.Length(max(0, len(h.title)-1))*lineHeight(titleSize) + vg.Length(max(0, len(h.note)-1))*lineHeight(noteSize)
	h.height += vg.Length(max(0, legendRows(f.legend, room)-1)) * legendRow
	return h
}

// lineHeight is what a line of text takes.
func lineHeight(size font.Length) vg.Length { return sans(size, Ink, false).Height("Xg") + 3*pt }

// render draws paper, title, note and legend from the top, and returns what is
// left to the body.
func (f *Figure) render(c draw.Canvas, h heading) {
	c.SetColor(Paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	for _, s := range h.title {
		c = line(c, s, sans(titleSize, Ink, true))
	}
	for _, s := range h.note {
		c = line(c, s, sans(noteSize, Muted, false))
	}
	if len(f.legend) > 0 {
		c = drawLegend(c, f.legend)
	}
	f.body(draw.Crop(c, 0, 0, 0, -4*pt))
}

// small says that a canvas is of the narrow form.
func small(c draw.Canvas) bool { return c.Max.X-c.Min.X < 1.3*narrowWidth }

// few is how many labels an axis along x has room for, where a wide one has room for
// n.
func few(c draw.Canvas, n int) int {
	if small(c) {
		return max(3, n/2)
	}
	return n
}

// line writes one line at the top left and returns the canvas below it.
func line(c draw.Canvas, s string, sty text.Style) draw.Canvas {
	sty.YAlign = text.YTop
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, s)
	return draw.Crop(c, 0, 0, 0, -(sty.Height("Xg") + 3*pt))
}

// Sizes of a legend. A viewer without our font may set text wider: slack leaves it, and the
// lines above it, a seventh more.
const (
	swatch        = 18 * pt
	swatchSpace   = 5 * pt
	betweenLegend = 14 * pt
	legendSlack   = 1.15
	legendRow     = 13 * pt
)

// width of an entry of the legend, at most room.
func (e *entry) width(room vg.Length) vg.Length {
	return min(swatch+swatchSpace+legendSlack*sans(noteSize, Ink, false).Width(e.text), room)
}

// legendRows is how many rows the entries take.
func legendRows(entries []entry, room vg.Length) int {
	rows, x := 1, vg.Length(0)
	for i := range entries {
		wide := entries[i].width(room)
		if x > 0 && x+wide > room {
			rows, x = rows+1, 0
		}
		x += wide + betweenLegend
	}
	return rows
}

func drawLegend(c draw.Canvas, entries []entry) draw.Canvas {
	sty := sans(noteSize, Ink, false)
	sty.YAlign = text.YCenter
	x, y, room := c.Min.X, c.Max.Y-7*pt, c.Max.X-c.Min.X
	for i := range entries {
		e := &entries[i]
		wide := e.width(room)
		if x > c.Min.X && x-c.Min.X+wide > room {
			x = c.Min.X
			y -= legendRow
		}
		e.draw(&c, x, y)
		c.FillText(sty, vg.Point{X: x + swatch + swatchSpace, Y: y}, fitted(e.text, sty, room-swatch-swatchSpace))
		x += wide + betweenLegend
	}
	return draw.Crop(c, 0, 0, 0, y-9*pt-c.Max.Y)
}

// draw is the sign of the entry.
func (e *entry) draw(c *draw.Canvas, x, y vg.Length) {
	switch {
	case e.mark != noMark:
		stamp(c, e.mark, vg.Point{X: x + swatch/2, Y: y}, 4*pt, e.color)
	case e.area:
		corners := []vg.Point{{X: x, Y: y - 4}, {X: x + swatch, Y: y - 4}, {X: x + swatch, Y: y + 4}, {X: x, Y: y + 4}, {X: x, Y: y - 4}}
		c.FillPolygon(e.color, corners)
		c.StrokeLines(draw.LineStyle{Color: Grid, Width: 0.5 * pt}, corners)
	default:
		c.StrokeLine2(draw.LineStyle{Color: e.color, Width: 1.6 * pt, Dashes: e.dashes}, x, y, x+swatch, y)
	}
}

func sans(size font.Length, col color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: col, Font: f, Handler: plot.DefaultTextHandler}
}

// newPlot is a gonum plot in our style for a canvas: sans, quiet axes, no title of its
// own, names of axes broken where they are longer than these.
func newPlot(c draw.Canvas, xlabel, ylabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		restyle(&a.Label.TextStyle, labelSize, Ink)
		restyle(&a.Tick.Label, tickSize, Muted)
		a.LineStyle.Color = Muted
		a.LineStyle.Width = 0.6 * pt
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 4 * pt
		a.Padding = 0
	}
	sty := sans(labelSize, Ink, false)
	p.X.Label.Text = strings.Join(wrapped(xlabel, sty, 0.84*(c.Max.X-c.Min.X)), "\n")
	p.Y.Label.Text = strings.Join(wrapped(ylabel, sty, 0.84*(c.Max.Y-c.Min.Y)), "\n")
	p.X.Label.Padding, p.Y.Label.Padding = 3*pt, 3*pt
	return p
}

// drawPlot draws a plot with labels that do not touch.
func drawPlot(p *plot.Plot, c draw.Canvas) {
	spaceLabels(p, c.Max.X-c.Min.X)
	p.Draw(c)
}

// spaceLabels leaves out labels along x that would touch the one before them; their
// ticks stay.
func spaceLabels(p *plot.Plot, width vg.Length) {
	marker, sty := p.X.Tick.Marker, sans(tickSize, Muted, false)
	p.X.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		ticks := slices.Clone(marker.Ticks(lo, hi))
		perUnit := float64(0.9*width) / (hi - lo)
		end := math.Inf(-1)
		for i, t := range ticks {
			at, half := (t.Value-lo)*perUnit, float64(widest(t.Label, sty))/2+2
			switch {
			case t.Label == "":
			case at-half < end:
				ticks[i].Label = ""
			default:
				end = at + half
			}
		}
		return ticks
	})
}

// widest is the width of the longest line of a text.
func widest(s string, sty text.Style) vg.Length {
	out := vg.Length(0)
	for l := range strings.SplitSeq(s, "\n") {
		out = max(out, sty.Width(l))
	}
	return out
}

// restyle keeps the alignment and rotation that gonum chose for the place.
func restyle(s *text.Style, size font.Length, col color.Color) {
	mine := sans(size, col, false)
	s.Font, s.Color = mine.Font, mine.Color
}

// alpha returns c with the given opacity, 0 to 255.
func alpha(c color.NRGBA, a uint8) color.NRGBA {
	c.A = a
	return c
}
