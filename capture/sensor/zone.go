package sensor

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
)

// Zones lie a multiple of a quarter of an hour from UTC, between 12 h behind and 14 h ahead of it.
const (
	quarter     = 15 * model.Minute
	zonesBehind = 12 * model.Hour
	zonesAhead  = 14 * model.Hour
)

// Shift is how far stamps of local time are from UTC.
type Shift struct {
	By   model.Duration // to be taken from the stamps
	Sure bool           // no other one explains the stamps about as well
}

// Which zones are believed: one with which the readings follow the meter, or one with which short recordings have nearly all of their time in
// common, which happens by chance in few of a hundred cases. Readings that alias do not follow.
const (
	leastFollow = 0.6 // correlation
	mostShort   = model.Minute
	nearlyAll   = 0.8
)

// FindShift finds the zone of the stamps of readings: that of those with a time in common in which the readings follow the meter best, or
// the load where there is no meter. UTC stands where no other one explains more. Without a meter and a load there is none to find.
func FindShift(readings, meter Series, load []model.Time) (Shift, bool) {
	n := len(readings.Times)
	if n == 0 {
		return Shift{}, false
	}
	o := other{meter: meter, load: load}
	switch m := meter.Times; {
	case len(m) > 1:
		o.from, o.to = m[0], m[len(m)-1]
	case len(load) > 1:
		o.from, o.to = load[0], load[len(load)-1]
	default:
		return Shift{}, false
	}
	common := func(by model.Duration) model.Duration {
		return min(readings.Times[n-1].Add(-by), o.to).Sub(max(readings.Times[0].Add(-by), o.from))
	}
	most := common(0)
	for by := -zonesBehind; by <= zonesAhead; by += quarter {
		most = max(most, common(by))
	}
	if most <= 0 {
		return Shift{}, false
	}
	shorter := min(readings.Times[n-1].Sub(readings.Times[0]), o.to.Sub(o.from))
	short := max(readings.Times[n-1].Sub(readings.Times[0]), o.to.Sub(o.from)) <= mostShort
	best, second := math.Inf(-1), math.Inf(-1)
	found := Shift{}
	try := func(by model.Duration, bonus float64) {
		if common(by) < most/2 {
			return
		}
		switch score := o.follow(readings, by); {
		case by != 0 && score < leastFollow && !(short && float64(common(by)) >= nearlyAll*float64(shorter)):
		case score+bonus > best:
			best, second = score+bonus, best
			found.By = by
		default:
			second = max(second, score)
		}
	}
	try(0, 0.1)
	for by := -zonesBehind; by <= zonesAhead; by += quarter {
		if by != 0 {
			try(by, 0)
		}
	}
	found.Sure = best > second+0.05
	return found, !math.IsInf(best, -1)
}

// other is what readings are compared with.
type other struct {
	meter    Series
	load     []model.Time
	from, to model.Time
}

// follow is the correlation of readings with the other series at the same instants, by means over parts of the time in common.
func (o *other) follow(readings Series, by model.Duration) float64 {
	n := len(readings.Times)
	from, to := readings.Times[0].Add(-by), readings.Times[n-1].Add(-by)
	if len(o.meter.Times) > 1 {
		from, to = max(from, o.from), min(to, o.to)
	}
	part := max(to.Sub(from)/200, model.Second/2)
	parts := int(to.Sub(from) / part)
	if parts < 3 {
		return 0
	}
	x, nx := means(readings, by, from, part, parts)
	y, ny := o.parts(from, part, parts)
	var a, b []float64
	for i := range parts {
		if nx[i] > 0 && ny[i] > 0 {
			a, b = append(a, x[i]/nx[i]), append(b, y[i]/ny[i])
		}
	}
	if len(a) > 2 {
		if c := stat.Correlation(a, b, nil); !math.IsNaN(c) {
			return c
		}
	}
	return 0
}

func (o *other) parts(from model.Time, part model.Duration, parts int) (sum, n []float64) {
	if len(o.meter.Times) > 1 {
		return means(o.meter, 0, from, part, parts)
	}
	const each = 16
	sum, n = make([]float64, parts), make([]float64, parts)
	for i := range parts {
		for k := range each {
			at := from.Add(part*model.Duration(i) + part*model.Duration(k)/each)
			if after := sort.Search(len(o.load), func(j int) bool { return o.load[j] > at }); after%2 == 1 && after < len(o.load) {
				sum[i]++
			}
			n[i]++
		}
	}
	return sum, n
}

// means are sums and counts of the samples in each part.
func means(s Series, by model.Duration, from model.Time, part model.Duration, parts int) (sum, n []float64) {
	sum, n = make([]float64, parts), make([]float64, parts)
	for i, t := range s.Times {
		if at := t.Add(-by); at >= from && at.Sub(from)/part < model.Duration(parts) {
			sum[at.Sub(from)/part] += s.Watts[i]
			n[at.Sub(from)/part]++
		}
	}
	return sum, n
}

// Moved is the series with its stamps set back.
func (s Series) Moved(by model.Duration) Series {
	out := Series{Times: make([]model.Time, len(s.Times)), Watts: s.Watts}
	for i, t := range s.Times {
		out.Times[i] = t.Add(-by)
	}
	return out
}
