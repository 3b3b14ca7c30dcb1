package plot

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// StatePair draws the state of two runs of one trace over time, the first on the
// left and the second on the right, on the same axes: utilisation above, the queue
// below. names say what the runs are.
func StatePair(names [2]string, loads [2][]Load, clock Clock) *Figure {
	f := &Figure{
		Name: "utilisation-compared", Title: "Utilisation and queue over time, on the same axes", height: 400 * pt,
		legend: []entry{
			{text: "units allocated (mean)", color: alpha(Blue, 110), area: true},
			{text: "jobs waiting (mean)", color: Vermilion},
			{text: "jobs waiting (most)", color: alpha(Orange, 110), area: true},
		},
	}
	s := statePair{names: names, clock: clock}
	for i := range loads {
		busy, width, most := 0.0, 0.0, 0.0
		for _, l := range loads[i] {
			busy, width, most = busy+l.Busy*float64(l.WidthUS), width+float64(l.WidthUS), max(most, l.QueuedMax)
		}
		from, to := loadSpan(loads[i])
		if i == 0 {
			s.lo, s.hi = from, to
		}
		s.lo, s.hi, s.most = min(s.lo, from), max(s.hi, to), max(s.most, most)
		if s.loads[i] = reduceLoads(loads[i], stateColumns/len(loads)); width == 0 {
			continue
		}
		if f.Note != "" {
			f.Note += "; "
		}
		f.Note += fmt.Sprintf("%c: mean utilisation %s, at most %s jobs waiting, %s in all", 'A'+rune(i), percent(busy/width), Count(int64(most)), Span(to-from))
	}
	f.Alt = f.Title + ": " + f.Note
	f.body = s.draw
	return f
}

// statePair is what StatePair draws. Times are in seconds.
type statePair struct {
	names        [2]string
	loads        [2][]Load
	clock        Clock
	lo, hi, most float64
}

func (s *statePair) draw(c draw.Canvas) {
	head := sans(labelSize, Ink, true)
	line(draw.Crop(c, (c.Max.X-c.Min.X)/2, 0, 0, 0), s.names[1], head)
	c = line(c, s.names[0], head)
	plots := [][]*plot.Plot{make([]*plot.Plot, len(s.loads)), make([]*plot.Plot, len(s.loads))}
	for i := range s.loads {
		plots[0][i], plots[1][i] = s.busy(i), s.queue(i)
	}
	canvases := plot.Align(plots, draw.Tiles{Rows: 2, Cols: 2, PadX: 10 * pt, PadY: 8 * pt}, c)
	for row := range plots {
		for i, p := range plots[row] {
			p.Draw(canvases[row][i])
		}
	}
}

// busy is the upper plot of run i. What stands left of both says it for both.
func (s *statePair) busy(i int) *plot.Plot {
	p := s.plot(i, "", "units allocated")
	p.Y.Max, p.Y.Tick.Marker = 1, percentTicks(5)
	p.X.Tick.Marker = unlabelled(s.clock)
	p.Add(steps{s.loads[i], func(l Load) float64 { return l.Busy }, alpha(Blue, 110), Blue})
	return p
}

// queue is the lower plot of run i.
func (s *statePair) queue(i int) *plot.Plot {
	p := s.plot(i, s.clock.Label(s.hi-s.lo), "jobs waiting")
	p.Y.Max, p.Y.Tick.Marker = max(1, s.most*1.05), linearTicks(5, true)
	p.X.Tick.Marker = plot.TickerFunc(s.clock.Ticks)
	p.Add(
		steps{s.loads[i], func(l Load) float64 { return l.QueuedMax }, alpha(Orange, 110), nil},
		steps{s.loads[i], func(l Load) float64 { return l.Queued }, nil, Vermilion},
	)
	return p
}

func (s *statePair) plot(i int, xlabel, ylabel string) *plot.Plot {
	if i > 0 {
		ylabel = ""
	}
	p := newPlot(xlabel, ylabel)
	p.X.Min, p.X.Max = s.lo, s.hi
	p.Add(grid{x: true, y: true})
	return p
}
