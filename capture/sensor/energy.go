package sensor

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
)

// aliasing says whether a load is near the period of the sensor, and how far that may put energy off.
func (a *analysis) aliasing() {
	r := a.r
	r.Scatter = a.scatter()
	g := a.meter
	if g == nil {
		g = a.square
	}
	if g == nil || math.IsNaN(r.Period) {
		return
	}
	from, to := a.compared()
	r.LoadPeriod = nearPeriod(g, from, to, r.Period)
	shortest := a.shortest(g, from, to)
	if r.Aliasing = 0; shortest < sees*r.Period {
		r.Aliasing = a.missed(g, from, to, shortest)
	}
	if !math.IsNaN(r.LoadPeriod) {
		r.warn("aliasing: the load has a period of %s ms, near a multiple or part of the sensor's %s ms: readings do not show how it swings; record a load with another period, or one that sweeps", millis(r.LoadPeriod), millis(r.Period))
	}
	if r.Aliasing > mostAliasing {
		r.warn("aliasing: the sensor may see %s of each %s ms, which puts energy of this load off by up to %.0f %%; no gain mends that, and no accuracy is promised", millis(shortest)+" ms", millis(r.Period), 100*r.Aliasing)
	}
}

const (
	leastSeen    = 0.25 // of a period: no sensor is known to see less
	sees         = 0.98 // of a period, from which on all of the time is seen
	mostAliasing = 0.02
)

// shortest is the shortest window that the sensor may have.
func (a *analysis) shortest(g *grid, from, to model.Time) float64 {
	r, published := a.r, a.in.Kind.Window
	known := !math.IsNaN(r.WindowRange.Low)
	switch {
	case r.Identified:
		return r.Window
	case published > 0 && (!known || published >= r.WindowRange.Low && published <= r.WindowRange.High):
		return published
	case known && (r.WindowFrom == ByMeter || r.WindowRange.Low > 2*r.Period):
		return a.explains.Low // whatever else the window may be, it reads this load alike
	}
	return a.shortestSeen(g, from, to)
}

// shortestSeen is the shortest window for which the readings do not scatter too little under the load: one that sees a part of each period
// of it would be high at times and low at others.
func (a *analysis) shortestSeen(g *grid, from, to model.Time) float64 {
	from = from.Add(to.Sub(from) / 3) // until an average of a second is steady
	to = min(to, from.Add(toTicks(fewPeriods*a.r.Period)))
	var seen []float64
	for _, u := range a.updates {
		if u.at >= from && u.at <= to {
			seen = append(seen, u.watts)
		}
	}
	shortest := leastSeen * a.r.Period
	if len(seen) < fewestUpdates {
		return shortest
	}
	found := spread(seen)
	low, high := a.levels(g)
	for ; shortest < a.r.Period; shortest += a.r.Period / 20 {
		least := math.Inf(1)
		for p := range phases {
			var all []float64
			for at := from.Add(toTicks(shortest + float64(p)*a.r.Period/phases)); at <= to; at = at.Add(toTicks(a.r.Period)) {
				if m := g.mean(at.Add(toTicks(-shortest)), at); !math.IsNaN(m) {
					all = append(all, low+float64((high-low)*m))
				}
			}
			if len(all) > 0 {
				least = min(least, spread(all))
			}
		}
		if least <= 2*found+0.01 {
			return shortest
		}
	}
	return a.r.Period
}

// spread is half of the range of nine tenths of the values, as a share of their mean.
func spread(values []float64) float64 {
	return (quantile(0.95, values) - quantile(0.05, values)) / 2 / stat.Mean(values, nil)
}

// phases are how many are tried of a period, over so many periods at most.
const (
	phases      = 24
	mostPeriods = 50_000
	fewPeriods  = 1_000
)

func notNaN(x, other float64) float64 {
	if math.IsNaN(x) {
		return other
	}
	return x
}

// compared is the time of the load, else all.
func (a *analysis) compared() (from, to model.Time) {
	if a.load[1] > a.load[0] {
		return a.load[0], a.load[1]
	}
	return a.from, a.to
}

// scatter is half of the range of nine tenths of the readings in the time of the load, as a share of their mean.
func (a *analysis) scatter() float64 {
	from, to := a.compared()
	var in []float64
	for _, u := range a.updates {
		if u.at >= from && u.at <= to {
			in = append(in, u.watts)
		}
	}
	if len(in) == 0 || !(stat.Mean(in, nil) > 0) {
		return math.NaN()
	}
	return spread(in)
}

// Which loads are near.
const (
	nearShare    = 0.12 // of a multiple of the sensor's frequency
	nearVariance = 0.25 // of what the power varies with
	spectrumCell = 8.0  // cells in a period of the sensor
	mostSpectrum = 8192 // cells
)

// nearPeriod is the period of the strongest component of a load whose frequency is near that of the sensor, its half or its double; NaN
// where none has a good part of the variance.
func nearPeriod(g *grid, from, to model.Time, period float64) float64 {
	cell := period / spectrumCell
	n := min(int(to.Sub(from).Seconds()/cell), mostSpectrum)
	if n < 4*spectrumCell {
		return math.NaN()
	}
	x, mean := make([]float64, n), 0.0
	for i := range x {
		at := from.Add(toTicks(float64(i) * cell))
		if x[i] = g.mean(at, at.Add(toTicks(cell))); math.IsNaN(x[i]) {
			return math.NaN()
		}
		mean += x[i] / float64(n)
	}
	variance := 0.0
	for i := range x {
		x[i] -= mean
		variance += float64(x[i]*x[i]) / float64(n)
	}
	if variance <= float64(1e-6*mean*mean) {
		return math.NaN()
	}
	span := float64(n) * cell
	best, found := nearVariance*variance, math.NaN()
	for _, times := range []float64{1, 2} {
		around := times / period
		band, strongest, at := 0.0, 0.0, 0.0
		for f := around * (1 - nearShare); f <= around*(1+nearShare); f += 1 / span {
			s, c := 0.0, 0.0
			for i, v := range x {
				sin, cos := math.Sincos(2 * math.Pi * f * float64(i) * cell)
				s, c = s+float64(v*sin), c+float64(v*cos)
			}
			power := 2 * (float64(s*s) + float64(c*c)) / float64(n) / float64(n)
			band += power
			if power > strongest {
				strongest, at = power, f
			}
		}
		if band > best {
			best, found = band, 1/at
		}
	}
	return found
}

// missed is by how much a sensor that sees a window of each period may be off, whatever its phase: the share of the mean.
func (a *analysis) missed(g *grid, from, to model.Time, window float64) float64 {
	to = min(to, from.Add(toTicks(mostPeriods*a.r.Period)))
	truth := g.mean(from, to)
	low, high := a.levels(g)
	if truth = low + float64((high-low)*truth); !(truth > 0) {
		return math.NaN()
	}
	most := 0.0
	for p := range phases {
		sum, n := 0.0, 0
		for at := from.Add(toTicks(window + float64(p)*a.r.Period/phases)); at <= to; at = at.Add(toTicks(a.r.Period)) {
			if m := g.mean(at.Add(toTicks(-window)), at); !math.IsNaN(m) {
				sum, n = sum+low+float64((high-low)*m), n+1
			}
		}
		if n > 0 {
			most = max(most, math.Abs(sum/float64(n)/truth-1))
		}
	}
	return most
}

// levels are the power at which a grid is 0 and 1: of a meter its own, of the load the least and the most that was read.
func (a *analysis) levels(g *grid) (low, high float64) {
	if g == a.meter {
		return 0, 1
	}
	var all []float64
	for _, u := range a.updates {
		all = append(all, u.watts)
	}
	return quantile(0.02, all), quantile(0.98, all)
}

// energies integrates the readings and the meter, and says where the truth is.
func (a *analysis) energies() {
	a.r.All = a.energy(a.from, a.to)
	from, to := a.compared()
	a.r.Energy = a.energy(from, to)
	e := &a.r.Energy
	if edge := a.edges(!math.IsNaN(e.Corrected)); edge > mostEdge*e.Best() {
		a.r.warn("the reading averages over %s ms, long beside the %s s that are compared: what it smears over their edges is in the band", millis(a.r.Window), seconds(e.Seconds))
	}
}

const (
	mostEdge    = 0.005
	leastBand   = 0.01 // of an energy beside a meter: no gain of a card is known better
	certainBand = 2.0  // times the standard error
)

// energy is that of a time. The corrected one is taken where the power was: the reading of an instant is of the middle of its window.
func (a *analysis) energy(from, to model.Time) Energy {
	e := Energy{Seconds: to.Sub(from).Seconds(), Corrected: math.NaN(), Meter: math.NaN()}
	s := a.in.Readings
	e.Raw = held(s, from, to, 0)
	r := a.r
	extra := a.uncertain()
	if a.meter != nil {
		if m := a.meter.mean(from, to); !math.IsNaN(m) {
			e.Meter = m * e.Seconds
		}
	}
	best, share := e.Raw, CardBand
	if !math.IsNaN(r.Gain) {
		shift := 0.0
		if !math.IsNaN(r.Lag) {
			shift = r.Lag + r.Window/2 + notNaN(r.Period, r.Interval)/2
		}
		e.Corrected = (held(s, from, to, shift) + a.smeared(from, to, shift) - float64(r.Offset*e.Seconds)) / r.Gain
		if best = e.Corrected; r.Levels > 1 { // of one level alone the offset is not known
			share = min(max(leastBand, (r.GainRange.High-r.GainRange.Low)/2/r.Gain), CardBand)
		}
	}
	edge := a.edges(!math.IsNaN(e.Corrected)) + a.gaps(from, to)
	e.Band = Range{best/(1+share)/(1+extra) - edge, best/(1-share)/(1-extra) + edge}
	if !math.IsNaN(e.Meter) { // what was measured here is no surprise
		e.Band.Low, e.Band.High = min(e.Band.Low, e.Meter), max(e.Band.High, e.Meter)
	}
	return e
}

// uncertain is the share by which aliasing may put an energy off. Where the window is not known the scatter of the readings is held
// against it too.
func (a *analysis) uncertain() float64 {
	r := a.r
	extra := notNaN(r.Aliasing, 0)
	if extra > mostAliasing && !r.Identified {
		extra = max(extra, notNaN(r.Scatter, 0))
	}
	return min(extra, 0.9)
}

// held is the integral of the readings, each of which holds until the next; shift is how much later they come than the power.
func held(s Series, from, to model.Time, shift float64) float64 {
	by := toTicks(shift)
	sum := 0.0
	for i := range s.Times {
		a := max(s.Times[i].Add(-by), from)
		b := to
		if i+1 < len(s.Times) {
			b = min(s.Times[i+1].Add(-by), to)
		}
		if i == 0 {
			a = from
		}
		if b > a {
			sum += float64(s.Watts[i] * b.Sub(a).Seconds())
		}
	}
	return sum
}

// smeared is what an average puts beyond the edges of a load, J of the readings. Power steps there: the mean over a window about the step
// is half of it at the edge, and all of it half a window on, so that an eighth of the window is lost.
func (a *analysis) smeared(from, to model.Time, shift float64) float64 {
	w := a.r.Window
	if from != a.load[0] || to != a.load[1] || !a.r.Identified || to.Sub(from).Seconds() < 3*w {
		return 0
	}
	first, last := a.in.Readings.Times[0], a.in.Readings.Times[len(a.in.Readings.Times)-1]
	sum := 0.0
	for _, edge := range []struct {
		at     model.Time
		inside float64
	}{{from, 1}, {to, -1}} {
		before, after := edge.at.Add(toTicks(-1.5*w)), edge.at.Add(toTicks(1.5*w))
		if before < first || after.Add(toTicks(shift)) > last {
			continue
		}
		rise := held(a.in.Readings, edge.at.Add(toTicks(w/2)), after, shift) - held(a.in.Readings, before, edge.at.Add(toTicks(-w/2)), shift)
		sum += edge.inside * rise / 8 // W by the window
	}
	return sum
}

// gaps is what a reading that is held over a pause of the readings may be off by, J.
func (a *analysis) gaps(from, to model.Time) float64 {
	least := toTicks(gapSteps * max(a.r.Interval, notNaN(a.r.Period, 0)))
	var paused model.Duration
	t := a.in.Readings.Times
	for i := 1; i < len(t); i++ {
		if step := min(t[i], to).Sub(max(t[i-1], from)); t[i].Sub(t[i-1]) > least && step > 0 {
			paused += step
		}
	}
	return a.swing() * paused.Seconds()
}

// swing is between how much and how little is read.
func (a *analysis) swing() float64 {
	var all []float64
	for _, u := range a.updates {
		all = append(all, u.watts)
	}
	return quantile(0.95, all) - quantile(0.05, all)
}

// edges is what an average smears over the edges of a time, J, of the difference of power there. Readings that were set back by half a window
// lose an eighth of it at each edge, and half of the time between readings; others come later by half a window and half a period.
func (a *analysis) edges(setBack bool) float64 {
	w := a.r.Window
	if !a.r.Identified {
		w = a.r.WindowRange.High
	}
	if math.IsNaN(w) {
		w = 0
	}
	swing := a.swing()
	if setBack {
		return swing * (w/4 + a.r.Interval/2)
	}
	return swing * (w + notNaN(a.r.Period, a.r.Interval)) / 2
}
