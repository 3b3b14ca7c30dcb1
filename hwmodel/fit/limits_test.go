package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// TestLimitsOfIntervals: where intervals are known to hold the truth less often, or more often, than they say
// (docs/CALIBRATION.md). Bars are on both sides, so that a figure there that no longer is so is met.
func TestLimitsOfIntervals(t *testing.T) {
	t.Parallel()
	// Jobs that differ by so much that Student's law does not hold, or are of two kinds.
	for _, jobs := range []int{6, 12, 30, 100} {
		mean, median := covered{}, covered{}
		for seed := range records {
			src := draw.New(seed, draw.StreamOf("skewed jobs"), uint64(jobs), 0)
			thirty, sixty, kinds := make([]float64, jobs), make([]float64, jobs), make([]float64, jobs)
			for i := range jobs {
				z := src.Normal()
				thirty[i], sixty[i] = libm.Exp(0.3*z), libm.Exp(0.6*z)
				kinds[i] = 1 + 0.05*src.Normal()
				if src.Bool(0.15) {
					kinds[i] /= 2
				}
			}
			mean.add("mean, differ by 30 %", holds(average(thirty, "jobs").Band, libm.Exp(0.045)))
			mean.add("mean, differ by 60 %", holds(average(sixty, "jobs").Band, libm.Exp(0.18)))
			mean.add("mean, two kinds", holds(average(kinds, "jobs").Band, 0.925))
			median.add("median, differ by 60 %", holds(middle(sixty, "jobs").Band, 1))
		}
		t.Logf("%d jobs", jobs)
		median.about(t, 93, 97)
		mean.about(t, 65, 96)
	}
	// A drift with as much noise over it, by which neighbours are less alike than they are over hours.
	for _, units := range []int{24, 60, 120} {
		held := covered{}
		for seed := range records {
			src := draw.New(seed, draw.StreamOf("drift beneath noise"), uint64(units), 0)
			x, level := make([]float64, units), src.Normal()
			for i := range x {
				x[i] = 70 + level + src.Normal()
				level = 0.9*level + math.Sqrt(1-0.81)*src.Normal()
			}
			held.add("drift beneath noise", holds(widened(middle(x, "spans"), x).Band, 70))
		}
		t.Logf("%d units", units)
		held.within(t, 65, 85)
	}
	// A clock of 10 s, by which delays are alike to the digit.
	truth := 120 * float64(model.Second)
	held := covered{}
	for seed := range records {
		src := draw.New(seed, draw.StreamOf("coarse clock"), 0, 0)
		sample := make([]Watched, 150)
		for i := range sample {
			sample[i] = Watched{model.Duration(math.Round(12*libm.Exp(0.2*src.Normal()))) * 10 * model.Second, true}
		}
		f, err := Delays(sample)
		require.NoError(t, err)
		held.add("delays in steps of 10 s", holds(f.Quantiles[1].Time.Band, truth))
	}
	held.within(t, 96, 100)
}
