package stat

import "fmt"

// Verdict is what may be said about a candidate against a baseline.
type Verdict int

// The verdicts. The zero value claims nothing.
const (
	NotEnoughEvidence Verdict = iota // neither of the others is shown
	NoDifference                     // any difference lies within the noise floor
	Better                           // the candidate is better by more than the noise
	Worse                            // it is worse by more than the noise
)

func (v Verdict) String() string {
	switch v {
	case NoDifference:
		return "no difference beyond the noise"
	case Better:
		return "better"
	case Worse:
		return "worse"
	default:
		return "not enough evidence"
	}
}

// MarshalText writes the verdict in words.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// evidence is what a verdict rests on.
type evidence struct {
	windows, block int
	gain           Interval // positive when the candidate is better
	floor          Floor
	p              float64 // corrected
}

// judge applies the rules, in this order:
//
//  1. fewer than MinBlocks whole blocks of windows: not enough evidence;
//  2. the interval of the gain within ±floor.High: no difference;
//  3. the interval wholly beyond floor.High on one side, and the corrected
//     p-value at most 1 - Confidence: better or worse;
//  4. otherwise not enough evidence.
//
// The upper end of the floor's interval stands for the floor: the noise may
// reach that far. Swapping baseline and candidate swaps better and worse and nothing else.
func (s Settings) judge(e evidence) (Verdict, string) {
	blocks := e.windows / max(1, e.block)
	within := -e.floor.High <= e.gain.Low && e.gain.High <= e.floor.High
	beyond := e.gain.Low > e.floor.High || e.gain.High < -e.floor.High
	switch {
	case blocks < s.MinBlocks:
		return NotEnoughEvidence, fmt.Sprintf("%s, %d needed", blocksOf(e.windows, e.block), s.MinBlocks)
	case !e.gain.Known():
		return NotEnoughEvidence, "the difference is undefined"
	case within:
		return NoDifference, "the interval lies within the noise floor"
	case beyond && e.p > s.alpha():
		return NotEnoughEvidence, fmt.Sprintf("p = %.3g after correction (%v), above %v", e.p, s.Correction, s.alpha())
	case beyond && e.gain.Estimate > 0:
		return Better, "the interval lies beyond the noise floor"
	case beyond:
		return Worse, "the interval lies beyond the noise floor"
	case e.gain.Low <= 0 && e.gain.High >= 0:
		return NotEnoughEvidence, "the interval holds zero and is wider than the noise floor"
	default:
		return NotEnoughEvidence, "the interval reaches into the noise floor"
	}
}

func blocksOf(windows, block int) string {
	if block <= 1 {
		return fmt.Sprintf("%d windows", windows)
	}
	return fmt.Sprintf("%d windows in blocks of %d are %d blocks", windows, block, windows/block)
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
		return "not enough evidence"
	}
}

// MarshalText writes the outcome in words.
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// NonInferiority is a check that a candidate is not worse than its baseline by
// more than a margin.
type NonInferiority struct {
	Outcome Bound
	Reason  string
	Margin  float64 // in the unit of the metric, at least 0
	Gain    float64 // positive when the candidate is better
	// AtLeast and AtMost are the one-sided bounds of the gain, each at the
	// confidence of the settings.
	AtLeast, AtMost float64
	Windows, Block  int
}

// NotWorse checks that the candidate is worse by at most margin, which is in
// the unit of the metric. The check holds when the one-sided lower bound of the
// gain is at least -margin, and is violated when the upper bound is below it.
// A gate of several such checks passes when all hold, and then needs no
// correction for their number (an intersection-union test, Berger 1982).
//
// It is an error when the margin is negative or not a number.
func NotWorse(pairs Pairs, better Direction, margin float64, s Settings) (NonInferiority, error) {
	if !(margin >= 0) || !Finite(margin) {
		return NonInferiority{}, fmt.Errorf("stat: margin %v of a non-inferiority check; give 0 or a positive number", margin)
	}
	if err := s.Validate(); err != nil {
		return NonInferiority{}, err
	}
	differences := pairs.Differences()
	block := s.blockOf(differences)
	oneSided := s
	oneSided.Confidence = 1 - 2*s.alpha()
	if oneSided.Confidence <= 0 {
		return NonInferiority{}, fmt.Errorf("stat: confidence %v of a one-sided bound; give more than 0.5", s.Confidence)
	}
	oneSided.Block = block
	interval, err := oneSided.Interval(differences)
	if err != nil {
		return NonInferiority{}, err
	}
	gain := interval.Times(better.Gain(1))
	out := NonInferiority{Margin: margin, Gain: gain.Estimate, AtLeast: gain.Low, AtMost: gain.High, Windows: len(differences), Block: block}
	switch {
	case len(differences)/block < s.MinBlocks:
		out.Reason = fmt.Sprintf("%s, %d needed", blocksOf(len(differences), block), s.MinBlocks)
	case gain.Low >= -margin:
		out.Outcome, out.Reason = Holds, "the lower bound of the gain is within the margin"
	case gain.High < -margin:
		out.Outcome, out.Reason = Violated, "the upper bound of the gain is beyond the margin"
	default:
		out.Reason = "the margin lies between the bounds of the gain"
	}
	return out, nil
}

// blockOf is the length of blocks for a series of differences.
func (s Settings) blockOf(differences []float64) int {
	if s.Block > 0 {
		return s.Block
	}
	return BlockLength(differences, s.Scheme)
}
