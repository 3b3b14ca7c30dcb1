package stat

import (
	"fmt"
	"math"
)

// Reading says what the windows of a comparison stand for.
type Reading int

// The readings.
const (
	// RandomWindows stand for all windows like them: how far they differ is error.
	// It answers what a site may expect of the next months.
	RandomWindows Reading = iota
	// FixedWindows are the whole question: these jobs, and no others. The only error
	// is the noise between replicas. It answers whether a change of the program
	// made these schedules worse.
	FixedWindows
)

func (r Reading) String() string {
	if r == FixedWindows {
		return "fixed windows"
	}
	return "random windows"
}

// Bound is the outcome of a one-sided check.
type Bound int

// The outcomes. The zero value claims nothing.
const (
	Undecided Bound = iota // the evidence does not suffice
	Holds                  // the candidate is worse by no more than the margin
	Violated               // it is worse by more than the margin
)

func (b Bound) String() string {
	switch b {
	case Holds:
		return "holds"
	case Violated:
		return "violated"
	default:
		return "no evidence"
	}
}

// MarshalText writes the outcome in words.
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Margin is how much worse a candidate may be: Relative times the absolute mean
// of the baseline, and Absolute in the unit of the metric on top. Both from 0.
type Margin struct{ Relative, Absolute float64 }

// NonInferiority is a check that a candidate is not worse than its baseline by
// more than a margin. Numbers are in the unit of the metric; by Baseline they are
// parts of it.
type NonInferiority struct {
	Outcome Bound
	Reason  string
	Margin  float64
	Gain    float64 // positive when the candidate is better
	// AtLeast and AtMost are the one-sided bounds of the gain, each at the
	// confidence of the settings; NaN where there are none.
	AtLeast, AtMost float64
	Baseline        float64 // its mean over the windows, without a sign
	Windows         int
	Runs            int
	Measured        Measured
}

// NotWorse checks that the candidate is worse by no more than the margin. The
// check holds when the one-sided lower bound of the gain is at least -margin, and
// is violated when the upper bound is below it. A gate of several such checks
// passes when all hold, and then needs no correction for their number (an
// intersection-union test, Berger 1982).
//
// The gain is that of the ratio of the means, times the mean of the baseline;
// where there is no ratio, the mean of the differences. Its error is, by reading:
//
//   - RandomWindows: that of Row, over windows and of the noise measured;
//   - FixedWindows: that of the measured noise alone, with Student's t and the
//     degrees of freedom of Welch. Without replicas there is no error to go by, and
//     the outcome is Undecided. Windows must have been replayed by themselves, so
//     that their noise is independent.
//
// It is an error when the margin is negative or not a number.
func NotWorse(pairs Pairs, better Direction, margin Margin, reading Reading, s Settings) (NonInferiority, error) {
	for _, m := range []float64{margin.Relative, margin.Absolute} {
		if !(m >= 0) || !Finite(m) {
			return NonInferiority{}, fmt.Errorf("stat: margin %v of a non-inferiority check; give 0 or a positive number", m)
		}
	}
	if s.Confidence <= 0.5 {
		return NonInferiority{}, fmt.Errorf("stat: confidence %v of a one-sided bound; give more than 0.5", s.Confidence)
	}
	if err := s.Validate(); err != nil {
		return NonInferiority{}, err
	}
	if err := pairs.check(); err != nil {
		return NonInferiority{}, err
	}
	out := NonInferiority{
		Baseline: math.Abs(Mean(pairs.Baseline)), Windows: len(pairs.Window), Runs: pairs.Runs, Measured: pairs.measured(),
		Gain: math.NaN(), AtLeast: math.NaN(), AtMost: math.NaN(),
	}
	out.Margin = margin.Relative*out.Baseline + margin.Absolute
	gain := alone(Mean(pairs.differences()), s.Confidence)
	if e, ok := estimateOf(&pairs, reading); ok {
		gain = e.interval(2 * s.alpha())
		if e.ratio {
			gain = gain.part().Times(out.Baseline)
		}
	}
	gain = gain.Times(better.Gain(1))
	out.Gain, out.AtLeast, out.AtMost = gain.Estimate, gain.Low, gain.High
	out.decide(reading, s.MinWindows, gain.Known())
	return out, nil
}

// decide is the outcome by the bounds.
func (n *NonInferiority) decide(reading Reading, least int, known bool) {
	switch {
	case n.Windows == 0, reading == RandomWindows && n.Windows < least:
		n.Reason = fmt.Sprintf("%d windows, %d needed", n.Windows, least)
	case !known && reading == FixedWindows && n.Measured == NoNoise:
		n.Reason = "no noise was measured: give each side 2 replicas or more of each window"
	case !known:
		n.Reason = "the gain is undefined"
	case n.AtLeast >= -n.Margin:
		n.Outcome, n.Reason = Holds, "the lower bound of the gain is within the margin"
	case n.AtMost < -n.Margin:
		n.Outcome, n.Reason = Violated, "the upper bound of the gain is beyond the margin"
	default:
		n.Reason = "the margin lies between the bounds of the gain"
	}
}
