package stat

import "math"

// sides are the intervals of both sides of a comparison and of what is between
// them, over the same resamples.
type sides struct {
	baseline, candidate, difference Interval
	// relative is the candidate as a part of the baseline, less 1: -0.25 is a
	// quarter less. The estimate is the ratio of the means over the windows, and
	// both means are resampled together, so that the interval lies where values
	// can: what is never negative has none below -1. With the median as centre it
	// is the median of the ratios of the windows.
	//
	// It is read at the same ranks of the same resamples as that of the
	// differences. A resample with a difference below 0 has a ratio below 1: with
	// the mean as centre this interval lies beyond 0 exactly when that one does.
	//
	// It is unknown unless all values are 0 or more and the centre of the baseline
	// is above 0 (with the median, every window), and its ends are where that of a
	// resample is 0.
	relative Interval
	block    int
}

// sides compares pairs. Cost: one bootstrap of four statistics.
func (s Settings) sides(pairs Pairs) (sides, error) {
	differences := pairs.Differences()
	n, block := len(differences), s.blockOf(differences)
	if s.Centre == Median {
		s.Method = Percentile
	}
	empty := false // a baseline of 0 was drawn
	list := []statistic{s.of(pairs.Baseline), s.of(pairs.Candidate), s.of(differences)}
	if s.comparable(pairs) {
		list = append(list, s.ratio(pairs, &empty))
	}
	got, sorted, err := s.intervals(n, block, list...)
	if err != nil {
		return sides{}, err
	}
	out := sides{got[0], got[1], got[2], unknown(s.Confidence), block}
	if len(list) < 4 || !got[3].Known() {
		return out, nil
	}
	e := got[3].Estimate
	out.relative.Estimate = e
	if low, high := s.ends(sorted[2], got[2].Estimate, n, min(block, n), list[2]); !empty {
		out.relative.Low, out.relative.High = min(sorted[3][low], e), max(sorted[3][high], e)
	}
	return out, nil
}

// comparable says whether ratios mean anything.
func (s Settings) comparable(pairs Pairs) bool {
	for i, b := range pairs.Baseline {
		if !(b >= 0 && pairs.Candidate[i] >= 0) || s.Centre == Median && b == 0 {
			return false
		}
	}
	return len(pairs.Baseline) > 0
}

// of is the centre of the values of rows.
func (s Settings) of(values []float64) statistic {
	picked := make([]float64, 0, len(values))
	return func(rows []int) float64 {
		picked = picked[:0]
		for _, r := range rows {
			picked = append(picked, values[r])
		}
		return s.Centre.Of(picked)
	}
}

// ratio is the candidate of rows as a part of the baseline, less 1.
func (s Settings) ratio(pairs Pairs, empty *bool) statistic {
	if s.Centre == Median {
		ratios := pairs.Differences()
		for i := range ratios {
			ratios[i] /= pairs.Baseline[i]
		}
		return s.of(ratios)
	}
	return func(rows []int) float64 {
		baseline, difference := 0.0, 0.0
		for _, r := range rows {
			baseline += pairs.Baseline[r]
			difference += pairs.Candidate[r] - pairs.Baseline[r]
		}
		switch {
		case len(rows) == 0:
			return math.NaN()
		case baseline == 0:
			*empty = true
			return 0
		}
		return max(difference/baseline, -1) // but for rounding it is no less
	}
}
