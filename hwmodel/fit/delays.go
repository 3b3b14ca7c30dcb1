package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// DelayFit is how long something takes, such as a boot, the start of a job or its completion.
type DelayFit struct {
	N         int // delays, those that had not ended included
	Unended   int
	Quantiles []DelayQuantile // ascending, of DelayQuantiles
	// Law is a log-normal, refused below 20 ended delays. It is for draws; the quantiles are for
	// statements.
	Law CensoredLaw
}

// DelayQuantile is the time that the part P of delays stays below, µs.
type DelayQuantile struct {
	P    float64
	Time Figure
}

// DelayQuantiles are the parts of DelayFit.Quantiles.
var DelayQuantiles = []float64{0.1, 0.5, 0.9, 0.95, 0.99}

// Delays gives quantiles of delays with 95 % intervals from order statistics, which suppose no
// law. A quantile that so few delays do not hold on both sides is refused, with how many it needs. Delays that had
// not ended when the watch did count as longer than all ended ones, so a quantile whose interval
// reaches the shortest of them is refused. Delays of 0 are legal. Delays are in the order of time: where
// neighbours are long or short together, as nodes that boot at once, they count as fewer.
func Delays(sample []Watched) (DelayFit, error) {
	out := DelayFit{N: len(sample)}
	sorted := slices.Clone(sample)
	slices.SortStableFunc(sorted, func(a, b Watched) int { return cmp.Compare(a.For, b.For) })
	longest := model.Forever // up to which the order of delays is known
	times := make([]float64, len(sorted))
	positive := make([]Watched, 0, len(sorted))
	for i, w := range sorted {
		if w.For < 0 || w.For == model.Forever {
			return out, fmt.Errorf("delays: found %v, want times from 0", w.For)
		}
		if !w.Ended {
			out.Unended++
			longest = min(longest, w.For)
		}
		times[i] = float64(w.For)
		if w.For > 0 {
			positive = append(positive, w)
		}
	}
	inOrder := make([]float64, len(sample))
	for i, w := range sample {
		inOrder[i] = float64(w.For)
	}
	by := Widening(inOrder, Median(inOrder))
	worth := max(1, int(math.Round(float64(len(sample))/by/by)))
	for _, p := range DelayQuantiles {
		out.Quantiles = append(out.Quantiles, DelayQuantile{p, quantile(times, p, float64(longest), worth)})
	}
	laws, err := Censored(positive)
	out.Law = laws.LogNormal
	return out, err
}

// quantile is that of delays which are worth so many independent ones.
func quantile(sorted []float64, p, longest float64, worth int) Figure {
	what := fmt.Sprintf("delay that %g %% stay below", 100*p)
	unended := refused(Refusal{What: what, Found: "delays that had not ended after less than that", Want: "a watch that sees them end", Obtain: "wait longer for each, or raise the time limit"})
	n := unitsFor(p)
	if high, known := quantileOf(sorted, len(sorted), p, (1+Confidence)/2); known && len(sorted) >= n && high >= longest {
		return unended // whatever they are worth
	}
	if worth < n {
		r := fewer(what, worth, n, "delays", "record more of them")
		if worth < len(sorted) {
			r.Found = fmt.Sprintf("%d delays, which are worth %d as neighbours are alike", len(sorted), worth)
		}
		return Figure{Refused: r}
	}
	low, _ := quantileOf(sorted, worth, p, (1-Confidence)/2)
	high, known := quantileOf(sorted, worth, p, (1+Confidence)/2)
	if !known || high >= longest {
		return unended
	}
	value := Quantile(p, sorted)
	return Figure{Estimate: Estimate{Band: hwmodel.Band{Value: value, Low: min(low, value), High: max(high, value)}, N: worth, Units: "delays",
		Valid: Range{sorted[0], sorted[len(sorted)-1]}}}
}
