package plot

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"orrery/internal/libm"
)

// Clock turns an instant of the trace into a label. Instants are int64
// microseconds since the trace's epoch.
type Clock struct {
	EpochUS int64 // µs since 1970-01-01 UTC
	Known   bool  // false: the log's zero is arbitrary, so labels count from it
}

const secondUS = 1_000_000

// timeSteps are the distances between labels shorter than a month, in seconds.
var timeSteps = [...]int64{1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600}

// lastYearDrawn is before the one whose µs no longer fit into 64 bits.
const lastYearDrawn = 290_000

// labelsWanted are those of a time axis in the wide form.
const labelsWanted = 9

// label says what the numbers on a time axis spanning that many seconds are.
func (c Clock) label(span float64) string {
	if c.Known {
		return "time (UTC)"
	}
	_, unit := relativeUnit(span)
	return "time since the start of the log (" + unit + ")"
}

// ticker places about n labels on an axis in seconds since the epoch.
func (c Clock) ticker(n int) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick { return c.ticks(lo, hi, float64(n)) })
}

func (c Clock) ticks(lo, hi, n float64) []plot.Tick {
	if !(hi > lo) {
		return nil
	}
	if !c.Known {
		scale, _ := relativeUnit(hi - lo)
		ticks := niceTicks(lo/scale, hi/scale, int(n))
		for i := range ticks {
			ticks[i].Value *= scale
		}
		return ticks
	}
	for _, step := range timeSteps {
		if (hi-lo)/float64(step) <= n {
			return c.stepTicks(lo, hi, step)
		}
	}
	return c.monthTicks(lo, hi, n)
}

func (c Clock) at(sec float64) time.Time {
	return time.UnixMicro(c.EpochUS + int64(sec*secondUS)).UTC()
}

func (c Clock) seconds(t time.Time) float64 {
	return float64(t.UnixMicro()-c.EpochUS) / secondUS
}

func (c Clock) stepTicks(lo, hi float64, step int64) []plot.Tick {
	var ticks []plot.Tick
	first := c.at(lo).Unix() / step * step
	lastDay, lastYear := -1, -1
	for u := first; ; u += step {
		t := time.Unix(u, 0).UTC()
		v := c.seconds(t)
		if v > hi || t.Year() > lastYearDrawn {
			return ticks
		}
		if v < lo {
			continue
		}
		label := t.Format("2 Jan")
		if step < 86400 {
			label = t.Format("15:04")
			if step < 60 {
				label = t.Format("15:04:05")
			}
			if t.YearDay() != lastDay {
				label += "\n" + t.Format("2 Jan")
			}
		}
		if t.Year() != lastYear {
			if step < 86400 {
				label += t.Format(" 2006")
			} else {
				label += "\n" + t.Format("2006")
			}
		}
		lastDay, lastYear = t.YearDay(), t.Year()
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
}

func (c Clock) monthTicks(lo, hi, n float64) []plot.Tick {
	months := (hi - lo) / (30.4 * 86400)
	step := 240
	for _, s := range []int{1, 2, 3, 6, 12, 24, 60, 120} {
		if months/float64(s) <= n {
			step = s
			break
		}
	}
	var ticks []plot.Tick
	lastYear := -1
	start := c.at(lo)
	for m := 0; ; m += step {
		t := time.Date(start.Year(), time.Month(1+m), 1, 0, 0, 0, 0, time.UTC)
		v := c.seconds(t)
		if v > hi || t.Year() > lastYearDrawn {
			return ticks
		}
		if v < lo {
			continue
		}
		label := t.Format("Jan")
		if step >= 12 {
			label = t.Format("2006")
		} else if t.Year() != lastYear {
			label += "\n" + t.Format("2006")
		}
		lastYear = t.Year()
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
}

func relativeUnit(span float64) (seconds float64, name string) {
	switch {
	case span > 3*86400:
		return 86400, "days"
	case span > 3*3600:
		return 3600, "hours"
	case span > 3*60:
		return 60, "minutes"
	}
	return 1, "seconds"
}

// niceTicks places about n labels at multiples of 1, 2 or 5 times a power of
// ten. Between numbers so close that steps are lost in rounding there are none.
func niceTicks(lo, hi float64, n int) []plot.Tick {
	if !(hi-lo > 1e-9*max(math.Abs(lo), math.Abs(hi))) || math.IsInf(hi-lo, 0) || n < 1 {
		return nil
	}
	step := libm.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*m) <= float64(n) {
			step *= m
			break
		}
	}
	prec := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-12*max(math.Abs(lo), math.Abs(hi)); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fixed(i*step, prec)})
	}
	return ticks
}

// linearTicks is an axis of plain numbers, or of whole ones alone.
func linearTicks(n int, whole bool) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		if whole {
			n = max(1, min(n, int(hi-lo)))
		}
		return niceTicks(lo, hi, n)
	})
}

// percentTicks labels an axis of shares from 0 to 1.
func percentTicks(n int) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		ticks := niceTicks(100*lo, 100*hi, n)
		for i := range ticks {
			ticks[i].Value /= 100
			ticks[i].Label += " %"
		}
		return ticks
	})
}

// zeroDecades is the width that the second from 0 to 1 takes on a wait axis,
// in decades of the rest.
const zeroDecades = 0.4

// waitPosition maps seconds to a place on the wait axis: linear from 0 to 1 s
// and logarithmic from there, so that jobs which did not wait have a place.
// Data are mapped before gonum sees them, since it centres the label of an
// axis by value, which on a bent scale pushes the data aside.
func waitPosition(sec float64) float64 {
	if sec < 1 {
		return sec * zeroDecades
	}
	return zeroDecades + math.Log10(sec)
}

const waitAxisLabel = "wait (linear from 0 to 1 s, logarithmic from there)"

var waitMarks = [...]struct {
	sec  float64
	name string
}{
	{0, "0"}, {1, "1 s"}, {10, "10 s"}, {60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {6 * 3600, "6 h"}, {86400, "1 d"},
	{7 * 86400, "7 d"}, {30 * 86400, "30 d"}, {100 * 86400, "100 d"}, {1000 * 86400, "1000 d"},
}

func waitTicks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for _, m := range waitMarks {
		if at := waitPosition(m.sec); at >= lo && at <= hi {
			ticks = append(ticks, plot.Tick{Value: at, Label: m.name})
		}
	}
	return ticks
}

// Span spells a number of seconds as people say it, to two digits: 0, 25 s,
// 3.4 min, 7.1 h, 12 d.
func Span(sec float64) string { return span(sec, 0, sec) }

// span is Span with more decimals, in the unit that unitOf has.
func span(sec float64, more int, unitOf float64) string {
	if sec == 0 {
		return "0"
	}
	for _, u := range []struct {
		sec  float64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if math.Abs(unitOf) >= 1.5*u.sec {
			return twoDigits(sec/u.sec, more) + " " + u.name
		}
	}
	return twoDigits(sec, more) + " s"
}

func twoDigits(v float64, more int) string {
	if math.Abs(v) >= 9.95 {
		return fixed(v, more)
	}
	return fixed(v, 1+more)
}

// fixed writes a number with so many decimals; what rounds to 0 has no sign.
func fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if s[0] == '-' && strings.Trim(s, "-0.") == "" {
		return s[1:]
	}
	return s
}

// Count spells a whole number with its thousands apart.
func Count(n int64) string {
	s, minus := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	head := len(s) % 3
	out := s[:head]
	for i := head; i < len(s); i += 3 {
		if out != "" {
			out += ","
		}
		out += s[i : i+3]
	}
	if minus {
		out = "-" + out
	}
	return out
}

func percent(share float64) string { return fixed(100*share, 1) + " %" }

// grid draws faint lines behind the data at the labelled ticks.
type grid struct{ x, y bool }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	sty := draw.LineStyle{Color: Grid, Width: 0.5 * pt}
	tx, ty := p.Transforms(&c)
	if g.x {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			c.StrokeLine2(sty, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
		}
	}
	if g.y {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			c.StrokeLine2(sty, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
		}
	}
}
