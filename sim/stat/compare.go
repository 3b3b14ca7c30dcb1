package stat

import "fmt"

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
	// Relative is the candidate as a part of the baseline, less 1: 0.05 is 5 %
	// more. The interval never leaves what is possible, and lies beyond 0 exactly
	// when that of Difference does. Unknown where values are below 0, and where
	// those of the baseline may all be 0.
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
// not only what came out well. Rows keep the order of the subjects. Cost: one
// bootstrap of four statistics per subject.
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
	all, err := s.sides(pairs)
	if err != nil {
		return Row{}, err
	}
	return Row{
		Candidate: subject.Candidate, Metric: subject.Metric, Better: subject.Better, Floor: subject.Floor,
		Baseline: all.baseline, CandidateValue: all.candidate, Difference: all.difference, Relative: all.relative,
		P:       s.SignFlip(pairs.Differences(), all.block),
		Windows: len(pairs.Window), Runs: pairs.Runs, Block: all.block, Unmatched: pairs.Unmatched, Undefined: pairs.Undefined,
	}, nil
}
