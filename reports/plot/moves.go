package plot

import (
	"fmt"
	"image"
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Shift is how a job moved from one run to another.
type Shift uint8

// The shifts of a job.
const (
	Unmoved Shift = iota // started at the same time, or in one run only
	Earlier
	Later
	shifts
)

var shiftColors = [shifts]color.NRGBA{Muted, Blue, Vermilion}

// Size of the rasters of Moves, in pixels, for each of the runs.
const (
	movesCols = 900
	movesRows = 180
)

// Moves is the Gantt of two runs, summed up by how the jobs moved.
type Moves struct {
	span  Window
	nodes int
	by    [2][shifts]*Raster
}

// NewMoves prepares both Gantts over a span of time and the nodes 0 to
// len(units)-1. Memory is 8 MB, whatever the number of jobs.
func NewMoves(span Window, units []int32) (*Moves, error) {
	m := &Moves{span: span, nodes: len(units)}
	for run := range m.by {
		for k := range m.by[run] {
			r, err := NewRaster(span, units, movesCols, movesRows)
			if err != nil {
				return nil, err
			}
			m.by[run][k] = r
		}
	}
	return m, nil
}

// SetName says what the nodes of a run are called; nil calls them by their numbers.
func (m *Moves) SetName(run int, name func(node int) string) {
	for _, r := range m.by[run] {
		r.Name = name
	}
}

// Add counts an allocation of a run (0 or 1), as Raster.Add does.
func (m *Moves) Add(run int, shift Shift, start, end int64, lo, hi, units int32) error {
	return m.by[run][shift].Add(start, end, lo, hi, units)
}

// GanttMoves draws both runs, each pixel in the colour of what most of it was
// held by: jobs that start earlier in the second run, later, or at the same
// time. earlier and later are how many jobs do.
func GanttMoves(m *Moves, names [2]string, earlier, later, same int64, clock Clock) *Figure {
	f := &Figure{
		Name: "gantt-moves", Title: "Which jobs moved, on the nodes over time", height: 520 * pt, narrow: 420 * pt,
		Note: fmt.Sprintf("jobs that start earlier in B: %s, later: %s, at the same time: %s; a pixel has the colour of most of it, blank is idle", Count(earlier), Count(later), Count(same)),
		legend: []entry{
			{text: "starts earlier in B", color: shiftColors[Earlier], area: true}, {text: "starts later in B", color: shiftColors[Later], area: true},
			{text: "same time, or in one run only", color: alpha(shiftColors[Unmoved], 110), area: true},
		},
	}
	for run := range m.by {
		for _, r := range m.by[run] {
			r.Finish()
		}
	}
	f.body = func(c draw.Canvas) {
		half := (c.Max.Y - c.Min.Y) / 2
		for run, name := range names {
			part := draw.Crop(c, 0, 0, half, 0)
			if run > 0 {
				part = draw.Crop(c, 0, 0, 0, -half)
			}
			part = line(part, name, sans(labelSize, Ink, true))
			m.draw(draw.Crop(part, 0, 0, 4*pt, 0), run, clock)
		}
	}
	return f
}

func (m *Moves) draw(c draw.Canvas, run int, clock Clock) {
	r := m.by[run][Unmoved]
	lo, hi := float64(r.FromUS)/secondUS, float64(r.FromUS+int64(r.Cols)*r.ColUS)/secondUS
	label := ""
	if run == len(m.by)-1 {
		label = clock.label(hi - lo)
	}
	p := newPlot(c, label, "node")
	p.X.Tick.Marker = clock.ticker(few(c, labelsWanted))
	top := float64(r.Rows) * float64(r.RowNodes)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, 0, top
	p.Y.Tick.Marker = r.nodeTicks(5)
	p.Add(plotter.NewImage(m.paint(run), lo, 0, hi, top), frame{})
	drawPlot(p, c)
}

// paint colours each pixel by the shift that holds most of it, the fuller the
// more is held at all.
func (m *Moves) paint(run int) image.Image {
	const steps = 8
	palette := color.Palette{color.NRGBA{}}
	for k := range shiftColors {
		most := 255
		if Shift(k) == Unmoved {
			most = 110
		}
		for s := 1; s <= steps; s++ {
			palette = append(palette, alpha(shiftColors[k], uint8(s*most/steps)))
		}
	}
	first := m.by[run][Unmoved]
	sy := stretch(first.Rows, 2*movesRows)
	img := image.NewPaletted(image.Rect(0, 0, first.Cols, first.Rows*sy), palette)
	for y := range first.Rows {
		for x := range first.Cols {
			all, best, which := 0.0, 0.0, 0
			for k, r := range m.by[run] {
				v := r.Occupancy(x, y)
				all += v
				if v > best {
					best, which = v, k
				}
			}
			if all <= 0 {
				continue
			}
			step := max(1, min(steps, int(all*steps+0.5)))
			for dy := range sy {
				img.SetColorIndex(x, img.Rect.Max.Y-1-y*sy-dy, uint8(which*steps+step))
			}
		}
	}
	return img
}
