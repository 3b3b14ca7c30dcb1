package stat

import (
	"fmt"
	"math"
	"slices"
)

// Overfitting is the gain of a candidate on the windows it was chosen on
// beside its gain on windows it has not seen. Gains are parts of the baseline on
// the same windows (0.05 is 5 %, see Row.Relative), so that windows of
// different load compare.
type Overfitting struct {
	Tuning, Acceptance               Interval
	TuningWindows, AcceptanceWindows int
	// Gap is Tuning minus Acceptance: what the search took for a gain and was
	// the noise of its windows.
	Gap Interval
	// Kept is Acceptance as a part of Tuning, 1 for all of it; NaN unless the
	// tuned gain is positive.
	Kept float64
	// Shown says that the gap lies wholly above 0, on at least the minimum number of
	// windows on either side. Without it nothing is shown, neither that the candidate
	// is overfitted nor that it is not.
	Shown bool
}

// Overfit compares the gain on tuning windows with that on acceptance windows. The
// interval of the gap is made of those of its parts, which are independent
// (Zou and Donner 2008). It is an error when the two share a window.
func Overfit(tuning, acceptance Pairs, better Direction, s Settings) (Overfitting, error) {
	for _, w := range tuning.Window {
		if slices.Contains(acceptance.Window, w) {
			return Overfitting{}, fmt.Errorf("stat: window %d is both for tuning and for acceptance; "+
				"a gain must be confirmed on windows that had no part in finding it", w)
		}
	}
	rows, err := Compare([]Subject{{Better: better, Pairs: tuning}, {Better: better, Pairs: acceptance}}, s)
	if err != nil {
		return Overfitting{}, err
	}
	tuned, accepted := rows[0].Relative.Times(better.Gain(1)), rows[1].Relative.Times(better.Gain(1))
	out := Overfitting{
		Tuning: tuned, Acceptance: accepted, Gap: apart(tuned, accepted), Kept: math.NaN(),
		TuningWindows: rows[0].Windows, AcceptanceWindows: rows[1].Windows,
	}
	if tuned.Estimate > 0 {
		out.Kept = accepted.Estimate / tuned.Estimate
	}
	out.Shown = min(rows[0].Windows, rows[1].Windows) >= s.MinWindows && out.Gap.Low > 0
	return out, nil
}

// apart is the interval of the difference of two independent estimates.
func apart(a, b Interval) Interval {
	d := a.Estimate - b.Estimate
	return Interval{
		Estimate:   d,
		Low:        d - math.Hypot(a.Estimate-a.Low, b.High-b.Estimate),
		High:       d + math.Hypot(a.High-a.Estimate, b.Estimate-b.Low),
		Confidence: a.Confidence,
	}
}
