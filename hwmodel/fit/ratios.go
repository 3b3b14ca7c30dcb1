package fit

import (
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// Run is how long the work of a job took in one of several ways to run it, such as on a type of
// GPU or on a placement, both numbered from 0. Runs of one key do the same work.
type Run struct {
	Key, Way int
	Seconds  float64 // of the run, or of a step of it
}

// RatioFit is the time of one way ÷ that of the base.
type RatioFit struct {
	Way    int
	Ratio  Figure // Valid are the times of the runs, s
	Runs   int    // of this way, matched or not
	Single int    // keys with runs of this way and none of the base
}

// LeastPairs is the least number of keys that a ratio rests on.
const LeastPairs = 5

// trimmed is the part of the pairs at either end that do not move a ratio.
const trimmed = 0.2

// Ratios compares each way with the base by matched runs: the logarithm of the ratio of both
// medians of a key is one unit, however many runs the key has. The ratio is the geometric mean over
// keys without the fifth at either end, its interval that of Tukey and McLaughlin, so that few
// wild runs move neither. The answers ascend by way, without the base.
func Ratios(runs []Run, base int) ([]RatioFit, error) {
	type at struct{ way, key int }
	seconds := map[at][]float64{}
	var ways []int
	for i, r := range runs {
		if r.Key < 0 || r.Way < 0 || !(r.Seconds > 0) || !finite(r.Seconds) {
			return nil, fmt.Errorf("run %d: found key %d, way %d, %v s, want numbers from 0 and a positive time", i, r.Key, r.Way, r.Seconds)
		}
		seconds[at{r.Way, r.Key}] = append(seconds[at{r.Way, r.Key}], r.Seconds)
		ways = append(ways, r.Way)
	}
	keys := keysOf(runs)
	slices.Sort(ways)
	var out []RatioFit
	for _, w := range slices.Compact(ways) {
		if w == base {
			continue
		}
		f := RatioFit{Way: w}
		var logs, matched []float64
		for _, k := range keys {
			here, there := seconds[at{w, k}], seconds[at{base, k}]
			f.Runs += len(here)
			switch {
			case len(here) > 0 && len(there) > 0:
				logs = append(logs, math.Log(Median(here))-math.Log(Median(there)))
				matched = append(append(matched, here...), there...)
			case len(here) > 0:
				f.Single++
			}
		}
		f.Ratio = ratio(logs)
		if f.Ratio.Known() {
			f.Ratio.Valid = Range{slices.Min(matched), slices.Max(matched)}
		}
		out = append(out, f)
	}
	return out, nil
}

func keysOf(runs []Run) []int {
	out := make([]int, len(runs))
	for i, r := range runs {
		out[i] = r.Key
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ratio is the estimate of a ratio from its logarithms.
func ratio(logs []float64) Figure {
	if len(logs) < LeastPairs {
		return Figure{Refused: fewer("ratio of times", len(logs), LeastPairs, "pairs of runs of the same work",
			"run the same jobs in both ways, each under the same name by the same user")}
	}
	sorted := slices.Sorted(slices.Values(logs))
	e := described(trimmedMean(sorted), sorted, "pairs")
	off := make([]float64, len(sorted))
	e.Of = make([]float64, len(sorted))
	for i, x := range sorted {
		off[i] = math.Abs(x - e.Value)
		e.Of[i] = libm.Exp(x)
	}
	e.Residual = libm.Exp(Median(off)) - 1
	for _, x := range []*float64{&e.Value, &e.Low, &e.High, &e.Spread.Low, &e.Spread.High} {
		*x = libm.Exp(*x)
	}
	return Figure{Estimate: e}
}

// trimmedMean is the mean without a fifth at either end, and its interval by Tukey and
// McLaughlin (1963).
func trimmedMean(sorted []float64) hwmodel.Band {
	n := len(sorted)
	g := int(trimmed * float64(n))
	kept := sorted[g : n-g]
	value := meanOf(kept)
	winsorized := slices.Clone(sorted)
	for i := range g {
		winsorized[i], winsorized[n-1-i] = sorted[g], sorted[n-1-g]
	}
	centre, square := meanOf(winsorized), 0.0
	for _, x := range winsorized {
		square += (x - centre) * (x - centre)
	}
	h := float64(len(kept))
	half := libm.StudentQuantile((1+Confidence)/2, h-1) * math.Sqrt(square/(h*(h-1)))
	return hwmodel.Band{Value: value, Low: value - half, High: value + half}
}
