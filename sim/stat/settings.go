package stat

import (
	"errors"
	"fmt"
	"math"
)

// Method is how an interval is read from bootstrap replicates.
type Method int

// The methods.
const (
	Percentile Method = iota // quantiles of the replicates
	BCa                      // the same, corrected for bias and for skewness (Efron 1987)
)

// Scheme is how blocks of consecutive windows are drawn. Both are circular:
// the first window follows the last, so each window is drawn equally often.
type Scheme int

// The schemes.
const (
	Moving     Scheme = iota // blocks of one length (Politis and Romano 1992)
	Stationary               // blocks of geometric length with that mean (Politis and Romano 1994)
)

// Correction says which error over many comparisons is held down.
type Correction int

// The corrections.
const (
	ByHolm              Correction = iota // the chance of any false claim (Holm 1979)
	ByBenjaminiHochberg                   // the expected share of false claims (Benjamini and Hochberg 1995)
)

// Settings are what a comparison depends on besides its numbers. Start from
// Defaults.
type Settings struct {
	// Confidence of the two-sided intervals, in (0, 1). A difference is claimed
	// when its corrected p-value is at most 1 - Confidence.
	Confidence float64
	// Draws is the number of bootstrap replicates and of random sign flips, at
	// least 99.
	Draws int
	// Block is the length of blocks in windows; 0 lets BlockLength choose it
	// from the differences, 1 takes the windows as independent.
	Block int
	// MinBlocks is the least evidence: with fewer blocks the verdict is
	// NotEnoughEvidence. MinimumBlocks gives the least that makes sense.
	MinBlocks  int
	Centre     Centre
	Method     Method
	Scheme     Scheme
	Correction Correction
	Seed       uint64
}

// Defaults are 95 % intervals of the mean by 9,999 replicates (BCa), blocks of
// a length found in the data, at least 6 of them, and Holm's correction.
func Defaults() Settings {
	return Settings{Confidence: 0.95, Draws: 9999, MinBlocks: MinimumBlocks(0.05), Method: BCa}
}

// MinimumBlocks is the smallest number of blocks from which a two-sided
// sign-flip test can reach a p-value of alpha: the least n with
// 2^(1-n) <= alpha. It is 6 for 0.05 and 8 for 0.01. alpha is in (0, 1).
func MinimumBlocks(alpha float64) int { return int(math.Ceil(1 - math.Log2(alpha))) }

// Validate says which setting is out of its range.
func (s Settings) Validate() error {
	var errs []error
	if !(s.Confidence > 0 && s.Confidence < 1) {
		errs = append(errs, fmt.Errorf("stat: confidence %v: give a number between 0 and 1, such as 0.95", s.Confidence))
	} else if least := MinimumBlocks(1 - s.Confidence); s.MinBlocks < least {
		errs = append(errs, fmt.Errorf("stat: a minimum of %d blocks: a confidence of %v needs at least %d", s.MinBlocks, s.Confidence, least))
	}
	if s.Draws < 99 {
		errs = append(errs, fmt.Errorf("stat: %d draws: give at least 99", s.Draws))
	}
	if s.Block < 0 {
		errs = append(errs, fmt.Errorf("stat: blocks of %d windows: give a length, or 0 to have it chosen", s.Block))
	}
	return errors.Join(errs...)
}

// alpha is the level of tests: one minus the confidence, rid of the rounding
// of that subtraction.
func (s Settings) alpha() float64 { return math.Round((1-s.Confidence)*1e12) / 1e12 }
