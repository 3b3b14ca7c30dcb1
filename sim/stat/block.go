package stat

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"
)

// forCoverage lengthens the blocks that estimate a variance best: they leave
// out a part of the dependence, and intervals from them are too short. The
// factor is measured; docs/STATISTICS.md has the coverage with it.
const forCoverage = 1.5

// BlockLength is the length of blocks, in windows, that suits a bootstrap of
// the mean of a series: 1.5 times the automatic choice of Politis and White
// (2004) with the correction of Patton, Politis and White (2009), rounded to
// the nearest whole number, at least 1 and at most min(3√n, n/3) rounded up. A
// series whose neighbours pull apart (a negative sum of autocovariances) gets
// 1: taking its windows as independent errs towards wide intervals.
//
// It does not depend on the sign, the unit or the level of the series. Fewer
// than about 20 windows show only strong dependence: choose windows far enough
// apart rather than trust this function to find out. Cost: n·√n.
func BlockLength(series []float64, scheme Scheme) int {
	n := len(series)
	if n < 4 {
		return 1
	}
	cov := autocovariances(series)
	if cov[0] == 0 {
		return 1
	}
	longest := lastLag(cov, n)
	slope, spectrum := 0.0, cov[0] // Σ|k|·R(k) and Σ R(k), tapered
	for k := 1; k <= longest && k < len(cov); k++ {
		taper := min(1, 2*(1-float64(k)/float64(longest)))
		slope += 2 * taper * float64(k) * cov[k]
		spectrum += 2 * taper * cov[k]
	}
	if slope <= 0 || spectrum <= 0 {
		return 1
	}
	d := 4.0 / 3 // of the circular scheme, in units of the squared spectrum at 0
	if scheme == Stationary {
		d = 2
	}
	ratio := slope / spectrum
	best := forCoverage * math.Cbrt(2*ratio*ratio/d*float64(n))
	most := math.Ceil(min(3*math.Sqrt(float64(n)), float64(n)/3))
	return int(max(1, min(math.Round(best), most)))
}

// lastLag is the reach of the flat-top window: twice the lag after which no
// autocorrelation of the next few is significant.
func lastLag(cov []float64, n int) int {
	run := max(5, int(math.Ceil(math.Sqrt(math.Log10(float64(n))))))
	limit := 2 * math.Sqrt(math.Log10(float64(n))/float64(n)) * cov[0]
	m := 0
	for quiet := 0; quiet < run && m+quiet+1 < len(cov); {
		if math.Abs(cov[m+quiet+1]) < limit {
			quiet++
			continue
		}
		m, quiet = m+quiet+1, 0
	}
	return min(2*max(m, 1), int(math.Ceil(math.Sqrt(float64(n))))+run)
}

// autocovariances are R(k) for the lags k = 0, 1, ... that matter, each a sum
// over the overlap divided by n.
func autocovariances(series []float64) []float64 {
	n := len(series)
	mean := gonum.Mean(series, nil)
	reach := 2*int(math.Ceil(math.Sqrt(float64(n)))) + 12
	out := make([]float64, min(n, reach))
	for k := range out {
		for i := k; i < n; i++ {
			out[k] += (series[i] - mean) * (series[i-k] - mean)
		}
		out[k] /= float64(n)
	}
	return out
}
