package stat

import (
	"fmt"
	"math"
)

// Verdict is what may be said about a candidate against a baseline.
type Verdict int

// The verdicts. The zero value claims nothing.
const (
	NotEnoughEvidence Verdict = iota // neither of the others is shown
	NoDifference                     // the whole interval lies within the margin
	Better                           // the candidate is better
	Worse                            // it is worse
)

func (v Verdict) String() string {
	switch v {
	case NoDifference:
		return "no difference"
	case Better:
		return "better"
	case Worse:
		return "worse"
	default:
		return "no evidence"
	}
}

// MarshalText writes the verdict in words.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(text []byte) error {
	for known := NotEnoughEvidence; known <= Worse; known++ {
		if string(text) == known.String() {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("stat: found the verdict %q, want better, worse, no difference or no evidence", text)
}

// judge applies the rules to a row of a table of so many rows, in this order:
//
//  1. fewer than MinWindows windows, or an undefined difference: no evidence;
//  2. the interval of the change within ±Margin: no difference;
//  3. the corrected p-value at most 1 - Confidence: better or worse;
//  4. otherwise no evidence.
//
// The margin reaches from -Margin/(1+Margin) to Margin, so that swapping baseline
// and candidate swaps better and worse and changes nothing else. Where there is no
// ratio it is a part of the smaller of both means.
func (s Settings) judge(r *Row, rows int) (Verdict, string) {
	change, from, to := r.Relative, -s.Margin/(1+s.Margin), s.Margin
	if !change.Known() {
		to = s.Margin * min(math.Abs(r.Baseline.Estimate), math.Abs(r.CandidateValue.Estimate))
		change, from = r.Difference, -to
	}
	gain := r.Better.Gain(change.Estimate)
	switch {
	case r.Windows < s.MinWindows:
		return NotEnoughEvidence, fmt.Sprintf("%d windows, %d needed", r.Windows, s.MinWindows)
	case !change.Known():
		return NotEnoughEvidence, "the difference is undefined"
	case from <= change.Low && change.High <= to:
		return NoDifference, fmt.Sprintf("the interval lies within ±%.3g %% of the baseline", 100*s.Margin)
	case r.Corrected <= s.alpha() && gain > 0:
		return Better, "the interval lies beyond 0"
	case r.Corrected <= s.alpha():
		return Worse, "the interval lies beyond 0"
	case r.P <= s.alpha():
		return NotEnoughEvidence, fmt.Sprintf("p = %.2g after the correction for %d rows, above %v", r.Corrected, rows, s.alpha())
	}
	return NotEnoughEvidence, "the interval holds 0"
}
