package plot

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// WaitPair is the wait of a job as recorded and as replayed, in seconds.
type WaitPair struct{ Recorded, Replayed float64 }

// mostWaitPairs are drawn, evenly by their recorded waits: more would only make the figure blacker.
const mostWaitPairs = 5000

// RecordedAgainstReplayed draws a point a job: the recorded wait along x, the replayed one along y.
func RecordedAgainstReplayed(pairs []WaitPair) *Figure {
	shown := thinnedPairs(pairs)
	f := &Figure{
		Name: "waits-per-job", Title: "Recorded and replayed wait of each job", height: 330 * pt, narrow: 300 * pt,
		Note:   fmt.Sprintf("a point is a job, its replayed wait in the mean over the draws; %s of %s jobs", Count(int64(len(shown))), Count(int64(len(pairs)))),
		legend: []entry{{text: "job", color: alpha(Blue, 150), area: true}, {text: "as recorded", color: Vermilion, dashes: []vg.Length{4 * pt, 3 * pt}}},
	}
	above, most := 0, 10.0
	for _, p := range pairs {
		most = max(most, p.Recorded, p.Replayed)
		if p.Replayed > p.Recorded {
			above++
		}
	}
	f.more = fmt.Sprintf("; %s jobs wait longer in the replay than in the record", Count(int64(above)))
	f.body = func(c draw.Canvas) {
		p := newPlot(c, "recorded "+waitAxisLabel, "replayed wait")
		end := waitPosition(1.15 * most)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.05, end, -0.05, end
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(waitTicks), plot.TickerFunc(waitTicks)
		p.Add(grid{x: true, y: true}, waitPairs{shown, end})
		drawPlot(p, c)
	}
	return f
}

// thinnedPairs are at most mostWaitPairs of the pairs.
func thinnedPairs(pairs []WaitPair) []WaitPair {
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(a, b WaitPair) int {
		switch {
		case a.Recorded < b.Recorded:
			return -1
		case a.Recorded > b.Recorded:
			return 1
		}
		return 0
	})
	if len(sorted) <= mostWaitPairs {
		return sorted
	}
	out := make([]WaitPair, mostWaitPairs)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(mostWaitPairs-1)]
	}
	return out
}

type waitPairs struct {
	pairs []WaitPair
	end   float64
}

func (w waitPairs) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 1 * pt, Dashes: []vg.Length{4 * pt, 3 * pt}}, tx(0), ty(0), tx(w.end), ty(w.end))
	const half = 1.3 * pt
	for _, pair := range w.pairs {
		x, y := tx(waitPosition(max(0, pair.Recorded))), ty(waitPosition(max(0, pair.Replayed)))
		fill(&c, x-half, y-half, x+half, y+half, alpha(Blue, 110))
	}
}

// ErrorRow is the error of the mean wait of a group of jobs as a part of its recorded wait, with the interval
// over the draws.
type ErrorRow struct {
	Name             string
	Value, Low, High float64
}

// errorReach is how far the axis of ErrorBars goes to either side; bars beyond end there.
const errorReach = 2.0

// ErrorBars draws the errors of groups one below the other, from 0 to either side.
func ErrorBars(name, title string, rows []ErrorRow) *Figure {
	f := &Figure{
		Name: name, Title: title, Note: "error of the mean wait of the replay, as a part of the recorded one; 0 is no error",
		legend: []entry{{text: "mean over the draws", color: Sky, area: true}, {text: "95 % of the draws", color: Ink}},
	}
	f.height, f.narrow = rowHeights(115*pt, len(rows))
	names, reach := make([]string, len(rows)), 0.1
	for i, r := range rows {
		names[i] = r.Name
		for _, x := range []float64{r.Low, r.Value, r.High} {
			if !math.IsNaN(x) {
				reach = max(reach, min(errorReach, math.Abs(x)))
			}
		}
		f.more += fmt.Sprintf("; %s: %s", r.Name, signedPercent(r.Value))
	}
	f.body = func(c draw.Canvas) {
		p := newPlot(c, "error of the mean wait", "")
		p.X.Min, p.X.Max = -1.1*reach, 1.1*reach
		p.X.Tick.Marker = percentTicks(few(c, 7))
		p.Add(grid{x: true}, errorRows{rows, 1.1 * reach, rowsOn(c, p, names, nameRoom)})
		drawPlot(p, c)
	}
	return f
}

func signedPercent(v float64) string {
	if math.IsNaN(v) {
		return "not defined"
	}
	return fmt.Sprintf("%+.1f %%", 100*v)
}

type errorRows struct {
	rows   []ErrorRow
	reach  float64
	layout rowLayout
}

func (es errorRows) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	es.layout.above(&c, ty)
	at := func(v float64) vg.Length { return tx(min(es.reach, max(-es.reach, v))) }
	for i, r := range es.rows {
		if math.IsNaN(r.Value) {
			continue
		}
		y, half := es.layout.at(ty, i)
		left, right := min(at(0), at(r.Value)), max(at(0), at(r.Value))
		fill(&c, left, y-half, right, y+half, Sky)
		ink := draw.LineStyle{Color: Ink, Width: 1.2 * pt}
		c.StrokeLine2(ink, at(r.Low), y, at(r.High), y)
		c.StrokeLine2(ink, at(r.Low), y-half/2, at(r.Low), y+half/2)
		c.StrokeLine2(ink, at(r.High), y-half/2, at(r.High), y+half/2)
	}
	c.StrokeLine2(draw.LineStyle{Color: Muted, Width: 1 * pt}, tx(0), c.Min.Y, tx(0), c.Max.Y)
}
