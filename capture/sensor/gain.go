package sensor

import (
	"cmp"
	"math"
	"slices"

	hwfit "orrery/hwmodel/fit"
	"orrery/internal/libm"
	"orrery/scheduler/model"
)

// What is steady enough for a gain.
const (
	steadySpan   = 0.3    // s, beside the window
	steadyShare  = 0.02   // of the power
	steadyWatts  = 3.0    // or so many W
	mostSteady   = 20_000 // renewals that are looked at
	leastSteady  = 5      // renewals at a level
	levelsApart  = 0.15   // share by which two levels differ
	levelsWatts  = 15.0   // and W
	mostPairs    = 300    // renewals of which pairs are made
	unknownWidth = 0.120  // s: taken for a window that is not known
	likelyLag    = 0.060  // s: by how much the lag may differ from the one found
)

// pair is what the meter and the sensor say of a steady time.
type pair struct{ meter, reading float64 }

// gain finds gain and offset from times in which what the sensor sees is steady, whichever its window and lag are: there a wrong window
// cannot pass for a gain.
func (a *analysis) gain() {
	if a.meter == nil {
		return
	}
	pairs := a.steady()
	levels := levelsOf(pairs)
	r := a.r
	r.Levels = len(levels)
	switch {
	case len(pairs) < leastSteady:
		r.warn("the meter is steady nowhere for %s s and the window of the sensor: gain and offset are not known; record some seconds idle and some at full load", seconds(steadySpan))
	case len(levels) < 2:
		r.Gain, r.Offset = median(ratios(pairs)), 0
		r.GainRange = Range{quantile(0.05, ratios(pairs)), quantile(0.95, ratios(pairs))}
		r.warn("power is steady at one level alone, about %.0f W: the gain is the ratio there and holds no offset; record some seconds idle and some at full load", levels[0])
	default:
		pairs = someOf(pairs)
		r.Gain, r.Offset = line(pairs)
		r.GainRange, r.OffsetRange = ranges(pairs, r.Gain, r.Offset)
	}
}

func ratios(pairs []pair) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = p.reading / max(p.meter, 1e-9)
	}
	return out
}

// steady are the renewals around which the means of the meter over the window do not depend on the lag.
func (a *analysis) steady() []pair {
	w, early, late := unknownWidth, leastLag, mostLag
	if a.r.Identified {
		w = a.r.Window
		early, late = max(early, a.r.Lag-likelyLag), min(late, a.r.Lag+likelyLag)
	} else if !math.IsNaN(a.r.WindowRange.High) {
		w = max(w, a.r.WindowRange.High)
	}
	late = max(late, early+max(steadySpan-w, likelyLag)) // steady for that long in all
	var out []pair
	for i := 0; i < len(a.updates); i += 1 + len(a.updates)/mostSteady {
		u := a.updates[i]
		if u.at.Sub(a.from).Seconds() < w+late || a.to.Sub(u.at).Seconds() < -early {
			continue
		}
		if mean, ok := a.steadyMean(u.at, w, early, late); ok && u.watts > 0 {
			out = append(out, pair{mean, u.watts})
		}
	}
	return out
}

func (a *analysis) steadyMean(at model.Time, w, early, late float64) (float64, bool) {
	low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for lag := early; lag <= late; lag += 0.010 {
		end := at.Add(toTicks(-lag))
		m := a.meter.mean(end.Add(toTicks(-w)), end)
		if math.IsNaN(m) {
			return 0, false
		}
		low, high, sum, n = min(low, m), max(high, m), sum+m, n+1
	}
	mean := sum / float64(n)
	return mean, mean > 0 && high-low <= max(steadyWatts, float64(2*steadyShare*mean))
}

// levelsOf are the means of groups of pairs that lie apart, ascending, those of few left out.
func levelsOf(pairs []pair) []float64 {
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(x, y pair) int { return cmp.Compare(x.meter, y.meter) })
	var out []float64
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j].meter-sorted[i].meter <= max(levelsWatts, float64(levelsApart*sorted[i].meter)) {
			j++
		}
		if j-i >= leastSteady {
			out = append(out, sorted[(i+j)/2].meter)
		}
		i = j
	}
	return out
}

// someOf are pairs at even distances, as many as have all of their slopes looked at.
func someOf(all []pair) []pair {
	if len(all) <= mostPairs {
		return all
	}
	out := make([]pair, mostPairs)
	for i := range out {
		out[i] = all[i*len(all)/mostPairs]
	}
	return out
}

// line is the median of the slopes of all pairs, by the distance that they span (Theil and Sen), and the median offset to it.
func line(pairs []pair) (gain, offset float64) {
	type slope struct{ value, weight float64 }
	var slopes []slope
	total := 0.0
	for i := range pairs {
		for j := range i {
			if dx := pairs[i].meter - pairs[j].meter; dx != 0 {
				slopes = append(slopes, slope{(pairs[i].reading - pairs[j].reading) / dx, math.Abs(dx)})
				total += math.Abs(dx)
			}
		}
	}
	slices.SortStableFunc(slopes, func(x, y slope) int { return cmp.Compare(x.value, y.value) })
	upTo := 0.0
	for _, s := range slopes {
		if upTo += s.weight; upTo >= total/2 {
			gain = s.value
			break
		}
	}
	offsets := make([]float64, len(pairs))
	for i, p := range pairs {
		offsets[i] = p.reading - float64(gain*p.meter)
	}
	return gain, median(offsets)
}

const (
	mostOff = 3     // robust standard deviations: what lies further off counts as so far
	certain = 0.975 // quantile at the end of an interval
)

// side is one of the two halves of pairs: those above the mean power and those below it.
type side struct {
	power   float64 // mean
	noise   float64 // variance of a reading
	pairs   float64
	freedom float64
}

// ranges are where gain and offset lie with 95 %. They are those of a line through the middles of
// either side, each with its own noise, as this may grow with the power; where neighbours are off
// alike, there are fewer pairs than it seems.
func ranges(pairs []pair, gain, offset float64) (ofGain, ofOffset Range) {
	mean := 0.0
	for _, p := range pairs {
		mean += p.meter / float64(len(pairs))
	}
	off := make([]float64, len(pairs))
	var low, high []pair
	var offLow, offHigh []float64
	for i, p := range pairs {
		off[i] = p.reading - float64(gain*p.meter) - offset
		if p.meter > mean {
			high, offHigh = append(high, p), append(offHigh, off[i])
		} else {
			low, offLow = append(low, p), append(offLow, off[i])
		}
	}
	idle, full := sideOf(low, offLow), sideOf(high, offHigh)
	apart, by := full.power-idle.power, hwfit.Widening(off, 0)
	byGain := by * halfOf(idle, full, 1/apart, 1/apart)
	byOffset := by * halfOf(idle, full, full.power/apart, idle.power/apart)
	return Range{gain - byGain, gain + byGain}, Range{offset - byOffset, offset + byOffset}
}

func sideOf(pairs []pair, off []float64) side {
	const normal = 1.4826 // standard deviations in a median absolute deviation
	n := float64(len(pairs))
	out := side{pairs: n, freedom: max(n-1, 1)}
	far := make([]float64, len(off))
	for i := range off {
		far[i] = math.Abs(off[i])
	}
	most := mostOff * normal * median(far)
	for i, p := range pairs {
		out.power += p.meter / n
		e := min(far[i], most)
		out.noise += float64(e*e) / out.freedom
	}
	return out
}

// halfOf is half of the interval of a sum of parts of two independent middles (Welch 1947). They are
// by ranks: between two sides of normal noise, whose share of both is s, the variance of the median of
// all differences is asin(s) ÷ s times that by means.
func halfOf(a, b side, partA, partB float64) float64 {
	both := a.noise + b.noise
	if both == 0 {
		return 0
	}
	ofA := float64(partA*partA*both) * math.Asin(a.noise/both) / a.pairs
	ofB := float64(partB*partB*both) * math.Asin(b.noise/both) / b.pairs
	freedom := (ofA + ofB) * (ofA + ofB) / (float64(ofA*ofA)/a.freedom + float64(ofB*ofB)/b.freedom)
	return libm.StudentQuantile(certain, freedom) * math.Sqrt(ofA+ofB)
}
