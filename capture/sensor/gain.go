package sensor

import (
	"cmp"
	"math"
	"slices"

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

// line is the median of the slopes of all pairs, by the distance that they span (Theil and Sen), and the median offset to it.
func line(all []pair) (gain, offset float64) {
	pairs := all
	if len(all) > mostPairs {
		pairs = nil
		for i := range mostPairs {
			pairs = append(pairs, all[i*len(all)/mostPairs])
		}
	}
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
	mostOff   = 3    // robust standard deviations: what lies further off counts as so far
	byChance  = 1.5  // root-n-th parts: a correlation of neighbours that chance may make is none
	mostAlike = 0.95 // of neighbours
	twoSided  = 2.1  // standard deviations of 95 %, with the efficiency of ranks and some thirty pairs at load
)

// ranges are where gain and offset lie with 95 %, by how the pairs lie about the line. Noise may grow
// with the power, so each pair has its own; where neighbours are off alike there are fewer than it
// seems. The offset is far from the powers that were met, and moves with the gain.
func ranges(pairs []pair, gain, offset float64) (ofGain, ofOffset Range) {
	n := float64(len(pairs))
	off, mean, square := make([]float64, len(pairs)), 0.0, 0.0
	for i, p := range pairs {
		off[i] = p.reading - float64(gain*p.meter) - offset
		mean += p.meter / n
	}
	for _, p := range pairs {
		square += float64((p.meter - mean) * (p.meter - mean))
	}
	scale := scales(pairs, off)
	// The median of what is left is held where noise is least: there the line turns.
	variance, density, turn, agree := 0.0, 0.0, 0.0, 0.0
	for i, p := range pairs {
		e := min(math.Abs(off[i]), float64(mostOff*scale[i]))
		part := (p.meter - mean) / square
		variance += float64(e * e * part * part)
		density += 1 / max(scale[i], 1e-9) / n
		turn += p.meter / max(scale[i], 1e-9) / n
		if i > 0 {
			agree += float64(cmp.Compare(off[i], 0)*cmp.Compare(off[i-1], 0)) / n
		}
	}
	by := twoSided
	if agree >= byChance/math.Sqrt(n) {
		alike := min(mostAlike, math.Sin(math.Pi/2*min(1, agree)))
		by *= math.Sqrt((1 + alike) / (1 - alike))
	}
	byGain := float64(by * math.Sqrt(variance))
	half := math.Hypot(float64(byGain*turn/density), float64(by*math.Sqrt(math.Pi/2/n)/density))
	return Range{gain - byGain, gain + byGain}, Range{offset - half, offset + half}
}

// scales are robust standard deviations of how far pairs are off, by the half of the powers that each
// is of: noise may grow with the power.
func scales(pairs []pair, off []float64) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range pairs {
		low, high = min(low, p.meter), max(high, p.meter)
	}
	var halves [2][]float64
	of := func(p pair) int {
		if p.meter > (low+high)/2 {
			return 1
		}
		return 0
	}
	for i, p := range pairs {
		halves[of(p)] = append(halves[of(p)], math.Abs(off[i]))
	}
	const normal = 1.4826 // standard deviations in a median absolute deviation
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = normal * median(halves[of(p)])
	}
	return out
}
