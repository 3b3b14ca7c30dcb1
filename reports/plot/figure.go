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

// Sizes of a figure in points, and of its PNG in pixels per inch.
const (
	pt          = vg.Length(1)
	figureWidth = 720 * pt
	pngDPI      = 144

	titleSize = 13 * pt
	noteSize  = 9 * pt
	labelSize = 9.5 * pt
	tickSize  = 8.5 * pt
	margin    = 10 * pt
)

// Figure is a finished drawing.
type Figure struct {
	Name  string // file name without its extension
	Title string // what is shown
	Note  string // one line under the title: what was counted and how
	Alt   string // the content in words, for those who do not see it

	height vg.Length
	legend []entry
	body   func(c draw.Canvas)
}

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
func (f *Figure) WriteSVG(w io.Writer) error {
	c := vgsvg.New(figureWidth, f.height)
	f.render(draw.New(c))
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
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, f.height), vgimg.UseDPI(pngDPI))}
	f.render(draw.New(c))
	if _, err := c.WriteTo(w); err != nil {
		return fmt.Errorf("figure %s: writing PNG: %w", f.Name, err)
	}
	return nil
}

// render draws paper, title, note and legend from the top, and hands what is
// left to the body.
func (f *Figure) render(c draw.Canvas) {
	c.SetColor(Paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	c = line(c, f.Title, sans(titleSize, Ink, true))
	if f.Note != "" {
		c = line(c, f.Note, sans(noteSize, Muted, false))
	}
	if len(f.legend) > 0 {
		c = drawLegend(c, f.legend)
	}
	f.body(draw.Crop(c, 0, 0, 0, -4*pt))
}

// line writes one line at the top left and returns the canvas below it.
func line(c draw.Canvas, s string, sty text.Style) draw.Canvas {
	sty.YAlign = text.YTop
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, s)
	return draw.Crop(c, 0, 0, 0, -(sty.Height("Xg") + 4*pt))
}

func drawLegend(c draw.Canvas, entries []entry) draw.Canvas {
	// A viewer without our font may set text wider: leave it a seventh more.
	const swatch, space, between, slack = 18 * pt, 5 * pt, 14 * pt, 1.15
	sty := sans(noteSize, Ink, false)
	sty.YAlign = text.YCenter
	x, y := c.Min.X, c.Max.Y-7*pt
	for _, e := range entries {
		if wide := swatch + space + slack*sty.Width(e.text); x > c.Min.X && x+wide > c.Max.X {
			x = c.Min.X
			y -= 13 * pt
		}
		switch {
		case e.mark != noMark:
			stamp(&c, e.mark, vg.Point{X: x + swatch/2, Y: y}, 4*pt, e.color)
		case e.area:
			corners := []vg.Point{{X: x, Y: y - 4}, {X: x + swatch, Y: y - 4}, {X: x + swatch, Y: y + 4}, {X: x, Y: y + 4}, {X: x, Y: y - 4}}
			c.FillPolygon(e.color, corners)
			c.StrokeLines(draw.LineStyle{Color: Grid, Width: 0.5 * pt}, corners)
		default:
			c.StrokeLine2(draw.LineStyle{Color: e.color, Width: 1.6 * pt, Dashes: e.dashes}, x, y, x+swatch, y)
		}
		c.FillText(sty, vg.Point{X: x + swatch + space, Y: y}, e.text)
		x += swatch + space + slack*sty.Width(e.text) + between
	}
	return draw.Crop(c, 0, 0, 0, y-9*pt-c.Max.Y)
}

func sans(size font.Length, col color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: col, Font: f, Handler: plot.DefaultTextHandler}
}

// newPlot is a gonum plot in our style: sans, quiet axes, no title of its own.
func newPlot(xlabel, ylabel string) *plot.Plot {
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
	p.X.Label.Text, p.Y.Label.Text = xlabel, ylabel
	p.X.Label.Padding, p.Y.Label.Padding = 3*pt, 3*pt
	return p
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
