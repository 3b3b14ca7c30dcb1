package stat

import (
	"fmt"
	"math"
)

// Subject is one metric of one candidate against the baseline.
type Subject struct {
	Candidate, Metric string // names, for the reader
	Better            Direction
	Pairs             Pairs
	Floor             Floor // of this metric, over the windows of Pairs
}

// Row is a line of a comparison: numbers as they are, rounding is the
// reader's. Intervals are per comparison; the correction for the number of
// comparisons is in Corrected, which the verdict obeys.
type Row struct {
	Candidate, Metric string
	Better            Direction
	// The centre over windows of each side, and of the paired differences,
	// candidate minus baseline, all in the unit of the metric.
	Baseline, CandidateValue, Difference Interval
	// Relative is Difference divided by |centre of the baseline|, which is
	// taken as exact: 0.05 is 5 % more. Unknown when that centre is 0.
	Relative Interval
	// P is the sign-flip p-value, Corrected the same after the correction for
	// all rows of the table.
	P, Corrected float64
	Windows      int // N: windows with a pair
	Runs         int // pairs of runs behind them
	Block        int // windows per block
	Unmatched    int // runs without a partner, in no figure
	Undefined    int // pairs with an undefined value, in no figure
	Floor        Floor
	Verdict      Verdict
	Reason       string
}

// Compare judges all subjects together: their p-values are corrected for the
// number of subjects with a pair, so a table must hold all that was looked at,
// not only what came out well. Rows keep the order of the subjects. Cost: three
// bootstraps per subject.
func Compare(subjects []Subject, s Settings) ([]Row, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	rows := make([]Row, len(subjects))
	p := make([]float64, len(subjects))
	for i, subject := range subjects {
		row, err := s.row(subject)
		if err != nil {
			return nil, fmt.Errorf("comparing %s of %s: %w", subject.Metric, subject.Candidate, err)
		}
		rows[i], p[i] = row, row.P
	}
	for i, corrected := range s.Correction.of(p) {
		r := &rows[i]
		r.Corrected = corrected
		r.Verdict, r.Reason = s.judge(evidence{
			windows: r.Windows, block: r.Block, gain: r.Difference.Times(r.Better.Gain(1)), floor: r.Floor, p: corrected,
		})
	}
	return rows, nil
}

// row fills all of a line but the verdict.
func (s Settings) row(subject Subject) (Row, error) {
	pairs := subject.Pairs
	differences := pairs.Differences()
	s.Block = s.blockOf(differences) // the same blocks for all three intervals
	row := Row{
		Candidate: subject.Candidate, Metric: subject.Metric, Better: subject.Better, Floor: subject.Floor,
		Windows: len(differences), Runs: pairs.Runs, Block: s.Block, Unmatched: pairs.Unmatched, Undefined: pairs.Undefined,
	}
	for _, part := range []struct {
		into   *Interval
		values []float64
	}{{&row.Baseline, pairs.Baseline}, {&row.CandidateValue, pairs.Candidate}, {&row.Difference, differences}} {
		interval, err := s.Interval(part.values)
		if err != nil {
			return Row{}, err
		}
		*part.into = interval
	}
	row.Relative = relative(row.Difference, row.Baseline.Estimate)
	row.P = s.SignFlip(differences, s.Block)
	return row, nil
}

// relative is an interval as a part of |whole|, unknown when that is 0.
func relative(i Interval, whole float64) Interval {
	if whole == 0 || !i.Known() {
		return unknown(i.Confidence)
	}
	return i.Times(1 / math.Abs(whole))
}
