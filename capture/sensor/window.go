package sensor

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Where a window is looked for. A negative lag is no error: the clocks of meter and node differ by tens of ms.
const (
	leastLag, mostLag       = -0.100, 0.160 // s
	leastWindow, mostWindow = 0.002, 1.5    // s
	coarseLag, coarseGrowth = 0.004, 1.05
	fineLag                 = 0.001
	goodEnough              = 2   // times the least loss of the coarse search
	rounds                  = 4   // of weights
	mostUpdates             = 400 // that a window is fitted to
	fewestUpdates           = 24
	leastGain, mostGain     = 0.5, 1.6 // of a meter: no sensor is further off, and beyond windows are mistaken for others
)

// candidate is a window with its best lag.
type candidate struct {
	window, lag, loss float64
}

// fit is the search for window and lag that explain the readings by the power of a grid.
type fit struct {
	g       *grid
	updates []update
	bounded bool // the gain cannot be anything
	x, y, w []float64
	res     []float64
}

// window finds the window, by the meter, else by the instants of the load, else what is published.
func (a *analysis) window() {
	switch {
	case a.meter != nil && a.windowBy(a.meter, ByMeter):
	case a.meter == nil && a.square != nil && a.windowBy(a.square, ByLoad):
	case a.in.Kind.Window <= 0 && a.meter != nil:
	case a.in.Kind.Window <= 0:
		a.r.warn("without a meter, and without a card whose window is published, the window is not known")
	default:
		w := a.in.Kind.Window
		a.r.Window, a.r.WindowFrom = w, ByPublished
		a.r.WindowRange = Range{w, w}
	}
}

func (a *analysis) windowBy(g *grid, from From) bool {
	f := &fit{g: g, bounded: from == ByMeter}
	span := a.to.Sub(a.from).Seconds()
	longest := min(mostWindow, span/4)
	for _, u := range a.updates {
		if u.at.Sub(a.from).Seconds() >= longest+mostLag && a.to.Sub(u.at).Seconds() >= -leastLag && !math.IsNaN(g.mean(u.at.Add(toTicks(-longest-mostLag)), u.at.Add(toTicks(-leastLag)))) {
			f.updates = append(f.updates, u)
		}
	}
	if f.updates = some(f.updates); len(f.updates) < fewestUpdates {
		a.r.warn("%d renewals lie within the time that is compared, too few to tell a window: %d are needed", len(f.updates), fewestUpdates)
		return false
	}
	shortest := max(leastWindow, 2*g.finest)
	if shortest > longest/2 {
		a.r.warn("samples %s ms apart are too far apart to tell a window", millis(g.finest))
		return false
	}
	all := f.search(shortest, longest)
	best := slices.MinFunc(all, byLoss)
	if math.IsInf(best.loss, 1) {
		a.r.warn("the readings do not follow the %s: no window explains them", from)
		return false
	}
	r := a.r
	r.Window, r.Lag, r.WindowFrom = best.window, best.lag, from
	r.WindowRange = f.allowed(all, best)
	a.explains = r.WindowRange
	gap := a.unscanned(f)
	scanned := !(gap > mostUnscanned*best.window)
	if !scanned { // each end of the window may lie anywhere in such a stretch
		r.WindowRange = Range{max(shortest, r.WindowRange.Low-2*gap), min(longest, r.WindowRange.High+2*gap)}
	}
	r.Identified = from == ByMeter && scanned && !math.IsNaN(r.Period) && r.WindowRange.High <= r.WindowRange.Low*mostRatio+mostSpread
	switch {
	case from == ByLoad:
		r.warn("the window is a hint from the instants of the load, as real power rises and falls slower: %s to %s ms explain the readings about as well", millis(r.WindowRange.Low), millis(r.WindowRange.High))
	case math.IsNaN(r.Period):
		r.warn("the window is ambiguous, as it is not known when readings were renewed: %s to %s ms explain them about as well", millis(r.WindowRange.Low), millis(r.WindowRange.High))
	case !scanned:
		r.warn("the window is ambiguous: power rises and falls at the same few phases of the sensor's period, so that %s of its %s ms are never told apart; %s to %s ms explain the readings about as well; record a load whose period sweeps", millis(gap), millis(r.Period), millis(r.WindowRange.Low), millis(r.WindowRange.High))
	case !r.Identified:
		r.warn("the window is ambiguous: %s to %s ms explain the readings about as well; steps of seconds do not tell a short window, record a load whose period sweeps from below the sensor's to several times it", millis(r.WindowRange.Low), millis(r.WindowRange.High))
	}
	return true
}

// A range that is wider leaves a window ambiguous.
const (
	mostRatio     = 1.25
	mostSpread    = 0.001 // s, beside it
	mostUnscanned = 0.5   // of the window
)

// unscanned is the longest part of the sensor's period in which power never rises or falls: readings say nothing of how a window ends
// there. NaN without a period.
func (a *analysis) unscanned(f *fit) float64 {
	period := a.r.Period
	if math.IsNaN(period) {
		return period
	}
	var phases []float64
	for _, t := range f.g.edges(f.updates[0].at.Add(toTicks(-a.r.Window)), f.updates[len(f.updates)-1].at) {
		phases = append(phases, math.Mod(t.Sub(f.updates[0].at).Seconds(), period))
	}
	if len(phases) == 0 {
		return period
	}
	for i, p := range phases {
		if p < 0 {
			phases[i] = p + period
		}
	}
	slices.Sort(phases)
	gap := phases[0] + period - phases[len(phases)-1]
	for i := 1; i < len(phases); i++ {
		gap = max(gap, phases[i]-phases[i-1])
	}
	return gap
}

// some keeps so many updates as are fitted, drawn evenly: at even steps they could be in step with the load.
func some(all []update) []update {
	if len(all) <= mostUpdates {
		return all
	}
	stream := draw.StreamOf("capture/sensor/updates")
	out := make([]update, 0, mostUpdates)
	for i := range mostUpdates {
		lo, hi := i*len(all)/mostUpdates, (i+1)*len(all)/mostUpdates
		out = append(out, all[lo+int(draw.At(0, stream, uint64(i), 0, 0)%uint64(max(hi-lo, 1)))]) //nolint:gosec // not negative
	}
	return out
}

func toTicks(s float64) model.Duration { return model.Duration(math.Round(s * 1e6)) }

// search tries windows and lags coarsely, those that are good again near their lag, and the neighbourhood of the best one finely. What it
// returns ascends by window.
func (f *fit) search(shortest, longest float64) []candidate {
	var all []candidate
	least := math.Inf(1)
	for w := shortest; w <= longest; w *= coarseGrowth {
		c := f.bestLag(w, leastLag, mostLag, coarseLag, 1)
		least = min(least, c.loss)
		all = append(all, c)
	}
	for i, c := range all {
		if c.loss <= goodEnough*least {
			all[i] = f.bestLag(c.window, c.lag-coarseLag, c.lag+coarseLag, fineLag, rounds)
		}
	}
	tops := slices.SortedStableFunc(slices.Values(all), byLoss)
	for _, top := range tops[:min(len(tops), basins)] {
		if !math.IsInf(top.loss, 1) {
			all = f.closer(all, top, shortest)
		}
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return cmp.Compare(x.window, y.window) })
	return all
}

// basins are from how many of the best the search goes closer: between coarse steps one may hide another.
const basins = 3

// closer searches around a candidate, twice, and adds what it tries.
func (f *fit) closer(all []candidate, best candidate, shortest float64) []candidate {
	for range 2 {
		w, lag := best.window, best.lag
		step := max(w*0.01, 0.0004)
		for x := max(w-8*step, shortest); x <= w+8*step; x += step {
			c := f.bestLag(x, lag-(x-w)/2-0.004, lag-(x-w)/2+0.004, fineLag/2, rounds)
			if all = append(all, c); c.loss < best.loss {
				best = c
			}
		}
	}
	return all
}

func byLoss(x, y candidate) int { return cmp.Compare(x.loss, y.loss) }

func (f *fit) bestLag(w, from, to, step float64, rounds int) candidate {
	best := candidate{w, math.NaN(), math.Inf(1)}
	for lag := max(from, leastLag); lag <= min(to, mostLag)+1e-9; lag += step {
		if loss := f.loss(w, lag, rounds); loss < best.loss {
			best.lag, best.loss = lag, loss
		}
	}
	return best
}

// loss is the mean absolute residual of the line through the readings over the means of power: in the first round by least squares, in
// further ones with less weight for what is far off.
func (f *fit) loss(w, lag float64, rounds int) float64 {
	f.x, f.y, f.w = f.x[:0], f.y[:0], f.w[:0]
	for _, u := range f.updates {
		end := u.at.Add(toTicks(-lag))
		f.x, f.y, f.w = append(f.x, f.g.mean(end.Add(toTicks(-w)), end)), append(f.y, u.watts), append(f.w, 1)
	}
	scale := 0.0
	for range rounds {
		offset, gain := stat.LinearRegression(f.x, f.y, f.w, false)
		if !(gain > -1e12 && gain < 1e12) || f.bounded && (gain < leastGain || gain > mostGain) {
			return math.Inf(1)
		}
		f.res, scale = f.res[:0], 0
		for i := range f.x {
			r := math.Abs(f.y[i] - offset - float64(gain*f.x[i]))
			f.res = append(f.res, r)
			scale += r / float64(len(f.x))
		}
		for i, r := range f.res {
			f.w[i] = 1 / max(r/max(scale, 1e-9), 0.2)
		}
	}
	return scale
}

// allowed are the windows that explain the readings about as well as the best one.
func (f *fit) allowed(all []candidate, best candidate) Range {
	most := best.loss * (1 + max(flat, flatOf/float64(len(f.updates))))
	out := Range{best.window, best.window}
	for _, c := range all {
		if c.loss <= most {
			out.Low, out.High = min(out.Low, c.window), max(out.High, c.window)
		}
	}
	least := max(leastRange, leastShare*best.window)
	return Range{min(out.Low, best.window-least), max(out.High, best.window+least)}
}

// No range is narrower: what is read is polled, and stamped in ms.
const (
	leastRange = 0.0005 // s
	leastShare = 0.01
)

// By how much the mean residual of a window may be above the least for it to be as good. With residuals of a Laplace distribution
// 2 n log(1 + x) has the distribution χ² with one degree of freedom: 16/n would be far beyond chance if neighbours were not alike,
// and if a mean over a window were exactly what a sensor does.
const (
	flat   = 0.12
	flatOf = 16.0
)
