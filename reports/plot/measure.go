package plot

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"orrery/internal/doc"
)

// Measure says what the numbers on an axis are and how they are spelled.
type Measure struct {
	Name   string
	Unit   string   // s is spelled as minutes, hours or days
	Share  bool     // 0 to 1, spelled in percent
	Log    bool     // spread by orders of magnitude; values are positive
	Labels []string // of choices: the values are indices
	digits int      // more than usual, so that neighbours look different
	middle float64  // the span whose unit all are written in; 0: each in its own
	Better int      // 1: more is better, -1: less is, 0: neither
	From   float64  // where the axis begins and ends when To is larger;
	To     float64  // otherwise the data say
}

// timeUnits are the units that an axis of seconds takes on, longest first.
var timeUnits = [...]struct {
	sec  float64
	name string
}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}

// scale is the unit of an axis that reaches that far, and its length in the
// unit of the data.
func (m Measure) scale(reach float64) (float64, string) {
	if m.Unit == "s" {
		for _, u := range timeUnits {
			if reach >= 3*u.sec || u.sec == 1 {
				return u.sec, u.name
			}
		}
	}
	if m.Share {
		return 0.01, "%"
	}
	return 1, m.Unit
}

// label is the name with the unit in which ticks over [lo, hi] are written.
func (m Measure) label(lo, hi float64) string {
	out := m.Name
	if _, unit := m.scale(max(math.Abs(lo), math.Abs(hi))); unit != "" && m.Labels == nil {
		out += " (" + unit + ")"
	}
	switch m.Better {
	case 1:
		out += ", more is better"
	case -1:
		out += ", less is better"
	}
	return out
}

// ticker labels an axis of values in the unit of the data.
func (m Measure) ticker(n int) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		if !(hi > lo) {
			return nil
		}
		by, _ := m.scale(max(math.Abs(lo), math.Abs(hi)))
		ticks := niceTicks(lo/by, hi/by, n)
		for i := range ticks {
			ticks[i].Value *= by
			ticks[i].Label = thousands(ticks[i].Label)
		}
		return ticks
	})
}

// thousands parts the thousands of a decimal number.
func thousands(s string) string {
	whole, frac, dot := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.HasPrefix(whole, "-0") {
		return s
	}
	if dot {
		return Count(n) + "." + frac
	}
	return Count(n)
}

// Say spells one value: 3.4 h, 81.2 %, 0.25, the name of a choice, or - when
// there is none.
func (m Measure) Say(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case m.Labels != nil:
		if i := int(v); i >= 0 && i < len(m.Labels) {
			return m.Labels[i]
		}
		return "-"
	case m.Unit == "s":
		return span(v, m.digits, cmp.Or(m.middle, v))
	case m.Share:
		return fixed(100*v, 1+m.digits) + " %"
	}
	return shortTo(v, m.digits)
}

// mostDigits bounds what Separating adds.
const mostDigits = 3

// Separating is the measure with so many digits that values which differ look
// different, three more than usual at most. Spans are written in one unit, that of the
// middle one, so that they compare at a glance.
func (m Measure) Separating(values []float64) Measure {
	different := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(different)
	different = slices.Compact(different)
	var lengths []float64
	for _, v := range values {
		if a := math.Abs(v); a > 0 { // NaN is not
			lengths = append(lengths, a)
		}
	}
	if slices.Sort(lengths); m.Unit == "s" && len(lengths) > 0 {
		m.middle = lengths[len(lengths)/2]
	}
	for m.digits = 0; m.digits < mostDigits; m.digits++ {
		looks := map[string]bool{}
		for _, v := range different {
			looks[m.Say(v)] = true
		}
		if len(looks) == len(different) {
			break
		}
	}
	return m
}

// short spells a number to three digits; whole ones and thousands in full.
func short(v float64) string { return shortTo(v, 0) }

// shortTo is short with more digits.
func shortTo(v float64, more int) string {
	switch a := math.Abs(v); {
	case a >= 1e15:
		return doc.Digits(v, 3)
	case v == math.Trunc(v):
		return Count(int64(v))
	case a >= 100:
		return thousands(fixed(v, more))
	case a >= 10:
		return fixed(v, 1+more)
	case a >= 0.095:
		return fixed(v, 2+more)
	case a >= 0.0005:
		return fixed(v, 3+more)
	}
	return doc.Digits(v, 2+more)
}

// place is where a value lies between two others: 0 at lo, 1 at hi, NaN when
// it has none. Where all are equal it lies in the middle.
func (m Measure) place(v, lo, hi float64) float64 {
	if m.Log && lo > 0 {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.NaN()
	}
	if hi <= lo {
		return 0.5
	}
	return min(max((v-lo)/(hi-lo), 0), 1)
}
