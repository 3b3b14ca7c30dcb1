package stat

import (
	"errors"
	"fmt"
	"math"
)

// leastWindows is the evidence below which no verdict is given, measured: it is
// the smallest number of windows at which intervals of skewed values still cover
// what docs/STATISTICS.md states.
const leastWindows = 8

// Settings are what a comparison depends on besides its numbers. Start from
// Defaults.
type Settings struct {
	// Confidence of the two-sided intervals, in (0, 1). A difference is claimed
	// when its corrected p-value is at most 1 - Confidence.
	Confidence float64
	// MinWindows is the least evidence: with fewer windows there is no verdict. At
	// least LeastWindows.
	MinWindows int
	// Margin is the part of the baseline, from 0, within which two configurations
	// count as the same: the verdict is NoDifference when the whole interval lies
	// within it.
	Margin float64
	// Draws is the number of replicates of Bootstrap, at least 99, and Seed their
	// key. Nothing else draws.
	Draws int
	Seed  uint64
}

// Defaults are 95 % intervals, at least 8 windows, a margin of 1 % and 9,999
// draws.
func Defaults() Settings {
	return Settings{Confidence: 0.95, MinWindows: leastWindows, Margin: 0.01, Draws: 9999}
}

// Validate says which setting is out of its range.
func (s Settings) Validate() error {
	var errs []error
	if !(s.Confidence > 0 && s.Confidence < 1) {
		errs = append(errs, fmt.Errorf("stat: confidence %v: give a number between 0 and 1, such as 0.95", s.Confidence))
	}
	if s.MinWindows < leastWindows {
		errs = append(errs, fmt.Errorf("stat: a minimum of %d windows: give at least %d", s.MinWindows, leastWindows))
	}
	if !(s.Margin >= 0) || !Finite(s.Margin) {
		errs = append(errs, fmt.Errorf("stat: margin %v: give a part of the baseline from 0, such as 0.01", s.Margin))
	}
	if s.Draws < 99 {
		errs = append(errs, fmt.Errorf("stat: %d draws: give at least 99", s.Draws))
	}
	return errors.Join(errs...)
}

// alpha is the level of tests: one minus the confidence, rid of the rounding
// of that subtraction.
func (s Settings) alpha() float64 { return math.Round((1-s.Confidence)*1e12) / 1e12 }
