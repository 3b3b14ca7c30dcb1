package plot

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bounded slowdown is max(1, turnaround/max(work, bound)) with this bound, in
// microseconds: the ten seconds that keep very short jobs from ruling the mean
// (Feitelson and Rudolph, 1998).
const slowdownBoundUS = 10 * secondUS

const (
	sizeClasses        = 32
	slowdownsPerOctave = 256
	slowdownOctaves    = 40
)

// Slowdowns counts bounded slowdowns by size class (1, 2, 3-4, 5-8, ...) in
// bins of equal ratio, 256 an octave: a quantile is at most 0.3 % below the
// truth. Memory is 80 kB a class in use, whatever the number of jobs. The zero
// value is empty.
type Slowdowns struct {
	classes [sizeClasses]*slowdownClass
}

type slowdownClass struct {
	count int64
	bins  [slowdownsPerOctave * slowdownOctaves]int64
}

// Add counts one finished job: its processors, at least 1, and its turnaround and
// its work at speed 1, in microseconds.
func (s *Slowdowns) Add(procs int32, turnUS, workUS int64) {
	c := bits.Len32(uint32(max(procs, 1) - 1))
	if s.classes[c] == nil {
		s.classes[c] = &slowdownClass{}
	}
	v := max(1, float64(turnUS)/float64(max(workUS, slowdownBoundUS)))
	i := int(math.Log2(v) * slowdownsPerOctave)
	s.classes[c].bins[min(i, len(s.classes[c].bins)-1)]++
	s.classes[c].count++
}

// quantile is the lower edge of the bin that holds the job of that rank.
func (c *slowdownClass) quantile(q float64) float64 {
	rank := int64(math.Ceil(q * float64(c.count)))
	sum := int64(0)
	for i, n := range c.bins {
		sum += n
		if sum >= max(rank, 1) {
			return math.Exp2(float64(i) / slowdownsPerOctave)
		}
	}
	return 1
}

// box is one size class as it is drawn.
type box struct {
	label string
	q     [5]float64
}

var boxQuantiles = [5]float64{0.05, 0.25, 0.5, 0.75, 0.95}

// sizeName says which numbers of processors are in a class.
func sizeName(k int) string {
	if k > 1 {
		return fmt.Sprintf("%d–%d", 1<<(k-1)+1, 1<<k)
	}
	return strconv.Itoa(1 << k)
}

func (s *Slowdowns) boxes() (out []box, jobs int64) {
	for k, c := range s.classes {
		if c == nil {
			continue
		}
		b := box{label: sizeName(k) + "\nn = " + Count(c.count)}
		for i, q := range boxQuantiles {
			b.q[i] = c.quantile(q)
		}
		out = append(out, b)
		jobs += c.count
	}
	return out, jobs
}

// SlowdownBySize draws for each size class the 5th, 25th, 50th, 75th and 95th
// percentile of the bounded slowdown.
func SlowdownBySize(s *Slowdowns) *Figure {
	boxes, jobs := s.boxes()
	f := &Figure{
		Name:   "slowdown-by-size",
		Title:  "Bounded slowdown by job size",
		Note:   fmt.Sprintf("turnaround / max(work, 10 s), at least 1; 1 means no loss of time; %s jobs that ran", Count(jobs)),
		height: 320 * pt,
		legend: []entry{
			{text: "half of the jobs (25th to 75th percentile)", color: Sky, area: true},
			{text: "median", color: Vermilion},
			{text: "nine tenths (5th to 95th)", color: Blue},
		},
	}
	f.body = func(c draw.Canvas) {
		p := newPlot(c, "processors asked for, and number of jobs", "bounded slowdown")
		p.X.Min, p.X.Max = -0.6, float64(max(len(boxes), 1))-0.4
		p.X.Tick.Marker = boxTicks(boxes)
		p.X.Tick.Length = 0
		p.Y.Min, p.Y.Max = math.Log10(0.9), math.Log10(12)
		for _, b := range boxes {
			p.Y.Max = max(p.Y.Max, math.Log10(b.q[4]*1.2))
		}
		p.Y.Tick.Marker = plot.TickerFunc(decadeTicks)
		p.Add(grid{y: true}, boxPlot(boxes))
		drawPlot(p, c)
	}
	return f
}

func boxTicks(boxes []box) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(boxes))
	for i, b := range boxes {
		ticks[i] = plot.Tick{Value: float64(i), Label: b.label}
	}
	return ticks
}

// decadeTicks labels 1, 10, 100 on an axis of decimal logarithms, and with few
// decades 2 and 5 of each too.
func decadeTicks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	steps := []float64{1}
	if hi-lo < 4 {
		steps = []float64{1, 2, 5}
	}
	for d := 1.0; math.Log10(d) <= hi; d *= 10 {
		for _, s := range steps {
			if at := math.Log10(d * s); at >= lo && at <= hi {
				ticks = append(ticks, plot.Tick{Value: at, Label: Count(int64(d * s))})
			}
		}
	}
	return ticks
}

type boxPlot []box

func (bs boxPlot) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	half := min((tx(1)-tx(0))*0.32, 22*pt)
	for i, b := range bs {
		x := tx(float64(i))
		at := func(k int) vg.Length { return ty(math.Log10(b.q[k])) }
		whisker := draw.LineStyle{Color: Blue, Width: 1.2 * pt}
		c.StrokeLine2(whisker, x, at(0), x, at(1))
		c.StrokeLine2(whisker, x, at(3), x, at(4))
		c.StrokeLine2(whisker, x-half/2, at(4), x+half/2, at(4))
		c.StrokeLine2(whisker, x-half/2, at(0), x+half/2, at(0))
		c.FillPolygon(Sky, []vg.Point{{X: x - half, Y: at(1)}, {X: x + half, Y: at(1)}, {X: x + half, Y: at(3)}, {X: x - half, Y: at(3)}})
		c.StrokeLine2(draw.LineStyle{Color: Vermilion, Width: 2 * pt}, x-half, at(2), x+half, at(2))
	}
}
