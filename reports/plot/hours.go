package plot

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

const weekHours = 7 * 24

// HourlyWaits adds up waits by the hour of the week of submission and by size
// class (1, 2, 3-4, 5-8, ...). Memory is 43 kB whatever the number of jobs. The
// zero value is empty.
type HourlyWaits struct {
	Clock Clock
	sum   [sizeClasses][weekHours]float64 // seconds
	jobs  [sizeClasses][weekHours]int64
}

// mondayUS is the first Monday after 1970-01-01, a Thursday.
const mondayUS = 4 * 86400 * secondUS

// hourOf is the hour of the week, 0 being Monday from 0 to 1 UTC, or the first
// hour of the log where its date is not known.
func (h *HourlyWaits) hourOf(us int64) int {
	if h.Clock.Known {
		us += h.Clock.EpochUS - mondayUS
	}
	const week = weekHours * 3600 * secondUS
	return int(((us%week)+week)%week) / (3600 * secondUS)
}

// Add counts a started job: its submission in µs since the trace's epoch, its
// processors and its wait in microseconds.
func (h *HourlyWaits) Add(submitUS int64, procs int32, waitUS int64) {
	class, hour := bits.Len32(uint32(max(procs, 1)-1)), h.hourOf(submitUS)
	h.sum[class][hour] += float64(waitUS) / secondUS
	h.jobs[class][hour]++
}

// WaitsByHour draws the mean wait by hour of the week and size of the job.
func WaitsByHour(h *HourlyWaits) *Figure {
	f := &Figure{Name: "waits-by-hour", Title: "Mean wait by hour of the week and job size", height: 260 * pt}
	first, last, jobs, most := sizeClasses, -1, int64(0), 0.0
	for k := range h.jobs {
		for i, n := range h.jobs[k] {
			if n > 0 {
				first, last = min(first, k), k
				jobs += n
				most = max(most, h.sum[k][i]/float64(n))
			}
		}
	}
	f.Note = fmt.Sprintf("when the %s started jobs were submitted; blank: no job", Count(jobs))
	if !h.Clock.Known {
		f.Note += "; the log does not say its date, so days count from its start"
	}
	for _, m := range waitMarks {
		if m.sec >= 60 && (m.sec <= 600 || m.sec <= most) {
			e := entry{text: m.name, color: heat(waitHeat(m.sec, most)), area: true}
			if m.sec == 60 {
				e.text = "up to 1 min"
			}
			f.legend = append(f.legend, e)
		}
	}
	f.body = func(c draw.Canvas) {
		label := "hour of the week (UTC)"
		if !h.Clock.Known {
			label = "hour of the week of the log"
		}
		p := newPlot(c, label, "processors asked for")
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, weekHours, float64(first)-0.5, float64(last)+0.5
		if last < 0 {
			p.Y.Min, p.Y.Max = -0.5, 0.5
		}
		p.X.Tick.Marker, p.Y.Tick.Marker = dayTicks(h.Clock.Known), sizeTicks(first, last)
		p.Y.Tick.Length = 0
		p.Add(hours{h, most}, grid{x: true})
		drawPlot(p, c)
	}
	return f
}

// waitHeat is where a wait lies between a minute and the longest, by its
// logarithm.
func waitHeat(sec, most float64) float64 {
	return math.Log(max(sec, 60)/60) / math.Log(max(most, 600)/60)
}

func dayTicks(known bool) plot.ConstantTicks {
	var out plot.ConstantTicks
	for d, name := range [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		if !known {
			name = fmt.Sprintf("day %d", d+1)
		}
		out = append(out, plot.Tick{Value: float64(24 * d), Label: name}, plot.Tick{Value: float64(24*d + 12), Label: "12"})
	}
	return out
}

func sizeTicks(first, last int) plot.ConstantTicks {
	var out plot.ConstantTicks
	for k := first; k <= last; k++ {
		out = append(out, plot.Tick{Value: float64(k), Label: sizeName(k)})
	}
	return out
}

type hours struct {
	*HourlyWaits
	most float64
}

func (h hours) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for k := range h.jobs {
		for i, n := range h.jobs[k] {
			if n == 0 {
				continue
			}
			at := waitHeat(h.sum[k][i]/float64(n), h.most)
			fill(&c, tx(float64(i)), ty(float64(k)-0.47), tx(float64(i+1)), ty(float64(k)+0.47), heat(at))
		}
	}
}
