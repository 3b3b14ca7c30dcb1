package plot

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Standing is what a candidate of a study is to the reader.
type Standing int

// The standings, in the order in which they are drawn.
const (
	Refused   Standing = iota // breaks a bound, or failed
	Tried                     // one of many
	Front                     // no other is better in every objective
	Baseline                  // a named profile that others are held against
	Current                   // what is deployed now
	Chosen                    // what is recommended
	Reference                 // one that knows what others cannot; no candidate of a study
)

var standings = [...]struct {
	says  string
	color color.NRGBA
	width vg.Length // of its line
	size  vg.Length // of its mark
}{
	Refused:   {"breaks a bound or failed", alpha(Muted, 90), 0.5 * pt, 2 * pt},
	Tried:     {"tried", alpha(Sky, 170), 0.6 * pt, 2 * pt},
	Front:     {"on the front", Blue, 1.1 * pt, 3 * pt},
	Baseline:  {"baseline", Orange, 1.3 * pt, 3.6 * pt},
	Current:   {"current", Vermilion, 2 * pt, 4.6 * pt},
	Chosen:    {"recommended", Green, 2.2 * pt, 5 * pt},
	Reference: {"reference", Ink, 1.3 * pt, 3.6 * pt},
}

// Candidate is a row of a study: where it stands on each axis, NaN where it has no
// value.
type Candidate struct {
	Name     string // of those that are named on the figure
	Standing Standing
	At       []float64
}

// mostDrawn bounds the candidates of no standing in a figure: more could not
// be told apart, and would swell it.
const mostDrawn = 1200

// drawn are the candidates in drawing order, thinned evenly; left out is how
// many of them are not there.
func drawn(all []Candidate, most int) (out []Candidate, left int) {
	plain := 0
	for _, c := range all {
		if c.Standing <= Tried {
			plain++
		}
	}
	step := max(1, (plain+most-1)/most)
	k := 0
	for _, c := range all {
		if c.Standing <= Tried {
			k++
			if (k-1)%step != 0 {
				left++
				continue
			}
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return int(a.Standing) - int(b.Standing) })
	return out, left
}

// standingLegend has an entry for each standing that occurs.
func standingLegend(all []Candidate) []entry {
	met := [len(standings)]bool{}
	for _, c := range all {
		met[c.Standing] = true
	}
	var out []entry
	for i, s := range standings {
		if met[i] {
			out = append(out, entry{text: s.says, color: s.color, mark: marks[i]})
		}
	}
	return out
}

// mark is the shape of a standing, so that colour is not all that tells.
type mark int

const (
	noMark mark = iota
	disc
	ring
	square
	diamond
	hollow // diamond
	star
)

var marks = [...]mark{Refused: ring, Tried: disc, Front: disc, Baseline: diamond, Current: square, Chosen: star, Reference: hollow}

// stamp draws a mark around a point.
func stamp(c *draw.Canvas, m mark, at vg.Point, r vg.Length, col color.Color) {
	switch m {
	case ring:
		c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: r, Shape: draw.RingGlyph{}}, at)
	case square:
		c.FillPolygon(col, []vg.Point{{X: at.X - r, Y: at.Y - r}, {X: at.X + r, Y: at.Y - r}, {X: at.X + r, Y: at.Y + r}, {X: at.X - r, Y: at.Y + r}})
	case diamond:
		c.FillPolygon(col, []vg.Point{{X: at.X, Y: at.Y - r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y + r}, {X: at.X - r, Y: at.Y}})
	case hollow:
		c.StrokeLines(draw.LineStyle{Color: col, Width: 1.2 * pt}, []vg.Point{{X: at.X - r, Y: at.Y}, {X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y}})
	case star:
		pts := make([]vg.Point, 10)
		for i := range pts {
			reach := r * 1.35
			if i%2 == 1 {
				reach = r * 0.6
			}
			sin, cos := math.Sincos(float64(i) * math.Pi / 5)
			pts[i] = vg.Point{X: at.X + reach*vg.Length(sin), Y: at.Y + reach*vg.Length(cos)}
		}
		c.FillPolygon(col, pts)
	default:
		c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: r, Shape: draw.CircleGlyph{}}, at)
	}
}

// reach is the range of an axis over the candidates: all of those with a
// standing, and of the others what is not far off. One that is ten times worse
// than all others would otherwise press these into a corner.
func reach(all []Candidate, axis int, m Measure) (lo, hi float64) {
	if m.To > m.From {
		return m.From, m.To
	}
	var plain, named []float64
	for _, c := range all {
		v := c.At[axis]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if c.Standing >= Front {
			named = append(named, v)
		} else {
			plain = append(plain, v)
		}
	}
	slices.Sort(plain)
	if n := len(plain); n > 20 {
		cut := n / 50
		switch m.Better {
		case -1:
			plain = plain[:n-cut]
		case 1:
			plain = plain[cut:]
		}
	}
	both := append(plain, named...)
	if len(both) == 0 {
		return 0, 1
	}
	lo, hi = slices.Min(both), slices.Max(both)
	if hi-lo <= 1e-9*max(math.Abs(lo), math.Abs(hi)) {
		pad := max(math.Abs(lo)*0.05, 1e-9)
		return lo - pad, hi + pad
	}
	return lo, hi
}

// tags places names beside points without covering another.
type tags struct {
	taken []vg.Rectangle
	frame vg.Rectangle
}

// block keeps names off a mark.
func (t *tags) block(at vg.Point, r vg.Length) {
	r += 1 * pt
	t.taken = append(t.taken, vg.Rectangle{Min: at.Sub(vg.Point{X: r, Y: r}), Max: at.Add(vg.Point{X: r, Y: r})})
}

// put writes a name near a point, and leaves it out where there is no room.
func (t *tags) put(c *draw.Canvas, at vg.Point, away vg.Length, name string) {
	if name == "" {
		return
	}
	if r := []rune(name); len(r) > 28 {
		name = string(r[:27]) + "…"
	}
	sty := sans(tickSize, Ink, false)
	w, h := sty.Width(name)*1.08, sty.Height("Xg")
	for _, step := range []vg.Length{1, 2.4, 3.8} {
		d := away * step
		for i, p := range []vg.Point{
			{X: at.X + d, Y: at.Y - h/2}, {X: at.X + d, Y: at.Y + d/2}, {X: at.X + d, Y: at.Y - h - d/2}, {X: at.X - d - w, Y: at.Y - h/2},
			{X: at.X - w/2, Y: at.Y + d}, {X: at.X - w/2, Y: at.Y - d - h}, {X: at.X - d - w, Y: at.Y + d/2}, {X: at.X - d - w, Y: at.Y - h - d/2},
		} {
			box := vg.Rectangle{Min: p, Max: vg.Point{X: p.X + w, Y: p.Y + h}}
			if t.free(box) {
				t.taken = append(t.taken, box)
				if beside := i == 0 || i >= 3 && i <= 5; step > 1 || !beside { // a line leads to it
					nearest := vg.Point{X: min(max(at.X, box.Min.X), box.Max.X), Y: min(max(at.Y, box.Min.Y), box.Max.Y)}
					c.StrokeLine2(draw.LineStyle{Color: Muted, Width: 0.5 * pt}, at.X, at.Y, nearest.X, nearest.Y)
				}
				fill(c, box.Min.X, box.Min.Y, box.Max.X, box.Max.Y, alpha(Paper, 190))
				c.FillText(sty, vg.Point{X: p.X, Y: p.Y + h*0.2}, name)
				return
			}
		}
	}
}

func (t *tags) free(box vg.Rectangle) bool {
	if box.Min.X < t.frame.Min.X || box.Max.X > t.frame.Max.X || box.Min.Y < t.frame.Min.Y || box.Max.Y > t.frame.Max.Y {
		return false
	}
	return !slices.ContainsFunc(t.taken, func(o vg.Rectangle) bool {
		return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
	})
}
