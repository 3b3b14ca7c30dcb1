package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// StatePair draws the state of two runs of one trace over time on the same axes: the
// first on the left and the second on the right, in the narrow form one below the
// other; utilisation above, the queue below. names say what the runs are, unit what is
// allocated.
func StatePair(names [2]string, loads [2][]Load, unit string, clock Clock, shown Shown) *Figure {
	f := &Figure{
		Name: "utilisation-compared", Title: "Utilisation and queue over time, on the same axes", height: 400 * pt, narrow: 560 * pt,
		legend: stateLegend(unit),
	}
	s := statePair{names: names, unit: unit, clock: clock}
	for i := range loads {
		busy, width, most := loadSums(loads[i])
		_, end := extent(loads[i])
		from, to := extent(shown.loads(loads[i]))
		if i == 0 {
			s.lo, s.hi = from, to
		}
		s.lo, s.hi, s.most = min(s.lo, from), max(s.hi, to), max(s.most, most)
		if s.loads[i] = reduceLoads(shown.loads(loads[i]), stateColumns/len(loads)); width == 0 {
			continue
		}
		if f.Note != "" {
			f.Note += "; "
		}
		f.Note += fmt.Sprintf("%c: mean utilisation %s, at most %s jobs waiting, %s in all", 'A'+rune(i), percent(busy/width), Count(int64(most)), Span(end-from))
	}
	f.Note += shown.note()
	f.body = s.draw
	return f
}

// statePair is what StatePair draws. Times are in seconds.
type statePair struct {
	names        [2]string
	unit         string
	loads        [2][]Load
	clock        Clock
	lo, hi, most float64
}

func (s *statePair) draw(c draw.Canvas) {
	if small(c) {
		half := (c.Max.Y - c.Min.Y) / 2
		s.drawSome(draw.Crop(c, 0, 0, half, 0), 0)
		s.drawSome(draw.Crop(c, 0, 0, 0, -half), 1)
		return
	}
	s.drawSome(c, 0, 1)
}

// drawSome draws runs beside each other.
func (s *statePair) drawSome(c draw.Canvas, runs ...int) {
	head, part := sans(labelSize, Ink, true), (c.Max.X-c.Min.X)/vg.Length(len(runs))
	for k, i := range slices.Backward(runs) {
		at := draw.Crop(c, vg.Length(k)*part, 0, 0, 0)
		rest := line(at, fitted(s.names[i], head, part), head)
		if k == 0 {
			c = rest
		}
	}
	plots := make([][]*plot.Plot, 2)
	half := draw.Crop(c, 0, -part*vg.Length(len(runs)-1), (c.Max.Y-c.Min.Y)/2, 0)
	for k, i := range runs {
		plots[0], plots[1] = append(plots[0], s.busy(half, i, k > 0)), append(plots[1], s.queue(half, i, k > 0))
	}
	canvases := plot.Align(plots, draw.Tiles{Rows: 2, Cols: len(runs), PadX: 10 * pt, PadY: 8 * pt}, c)
	for row := range plots {
		for i, p := range plots[row] {
			p.Draw(canvases[row][i])
		}
	}
}

// busy is the upper plot of run i. What stands left of both says it for both.
func (s *statePair) busy(c draw.Canvas, i int, right bool) *plot.Plot {
	p := s.plot(c, "", s.unit+" allocated", right)
	p.Y.Max, p.Y.Tick.Marker = 1, percentTicks(5)
	p.X.Tick.Marker = unlabelled(s.clock.ticker(5))
	p.Add(steps[Load]{s.loads[i], func(l Load) float64 { return l.Busy }, alpha(Blue, 110), Blue, loadLine})
	return p
}

// queue is the lower plot of run i.
func (s *statePair) queue(c draw.Canvas, i int, right bool) *plot.Plot {
	p := s.plot(c, s.clock.label(s.hi-s.lo), "jobs waiting", right)
	p.Y.Max, p.Y.Tick.Marker = max(1, s.most*1.05), linearTicks(5, true)
	p.X.Tick.Marker = s.clock.ticker(5)
	spaceLabels(p, c.Max.X-c.Min.X)
	p.Add(
		steps[Load]{s.loads[i], func(l Load) float64 { return l.QueuedMax }, alpha(Orange, 110), nil, 0},
		steps[Load]{s.loads[i], func(l Load) float64 { return l.Queued }, nil, Vermilion, loadLine},
	)
	return p
}

func (s *statePair) plot(c draw.Canvas, xlabel, ylabel string, right bool) *plot.Plot {
	if right {
		ylabel = ""
	}
	p := newPlot(c, xlabel, ylabel)
	p.X.Min, p.X.Max = s.lo, s.hi
	p.Add(grid{x: true, y: true})
	return p
}
