package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

const plantedAlpha = 0.7

// activeJobs draw 110 W at rest and 500 W at full activity. Each has phases of its own activity,
// and draws some per cent more or less than the form says. One sample in twenty is wild.
func activeJobs(seed uint64, n int) []ActivityJob { return activeJobsFrom(seed, n, 0.15, 0.85) }

// activeJobsFrom are some whose mean activity lies from low to high.
func activeJobsFrom(seed uint64, n int, low, high float64) (out []ActivityJob) {
	for j := range n {
		src := draw.New(seed, draw.StreamOf("active jobs"), uint64(j), 0)
		own := 1 + 0.04*src.Normal()
		centre := src.Uniform(low, high)
		var job ActivityJob
		for range 6 {
			u := min(1, max(0, centre+0.15*src.Normal()))
			for range 15 {
				watts := own * (110 + 390*libm.Pow(u, plantedAlpha)) * (1 + 0.02*src.Normal())
				if src.Bool(0.05) {
					watts *= 3 * src.Float64()
				}
				job.Samples = append(job.Samples, ActivitySample{u, watts})
			}
		}
		out = append(out, job)
	}
	return out
}

// restOf is the draw at rest as States may give it.
func restOf(seed uint64) hwmodel.Band {
	src := draw.New(seed, draw.StreamOf("rest"), 0, 0)
	value := 110 + src.Normal()
	return hwmodel.Band{Value: value, Low: value - 1.96, High: value + 1.96}
}

// TestPlantedActivity: the exponent and the draw at full activity are found, and held-back jobs
// are predicted far better than by their class. A linear form misses the draw.
func TestPlantedActivity(t *testing.T) {
	held, linear := covered{}, 0
	byCurve, byClass := 0.0, 0.0
	for seed := range uint64(seeds) {
		f, err := Activity(SMActive, activeJobs(seed, 20), restOf(seed))
		require.NoError(t, err)
		require.True(t, f.Alpha.Known(), "%v", f.Alpha.Refused)
		held.add("alpha", holds(f.Alpha.Band, plantedAlpha))
		held.add("active", holds(f.Active.Band, 500))
		if holds(f.Alpha.Band, 1) {
			linear++
		}
		byCurve, byClass = byCurve+f.Error/seeds, byClass+f.StateError/seeds
	}
	t.Logf("mean error of held-back jobs %.1f %%, by class %.1f %%; a linear form lies in %.1f %% of the intervals", 100*byCurve, 100*byClass, 100*float64(linear)/seeds)
	held.within93to97(t)
	require.Less(t, linear, seeds/20)
	require.Less(t, byCurve, 0.3*byClass)
}

// TestRefusedActivity: residency gives no figure under its own name, nor where it is called
// something else, nor does an activity that the draw does not follow.
func TestRefusedActivity(t *testing.T) {
	jobs := activeJobs(1, 20)
	f, err := Activity(Residency, jobs, restOf(1))
	require.NoError(t, err)
	require.ErrorContains(t, f.Alpha.Refused, "found utilization.gpu alone, which says that a kernel was resident")

	unvarying := activeJobs(1, 20)
	for _, j := range unvarying {
		for k := range j.Samples {
			j.Samples[k].Activity = 1
		}
	}
	f, err = Activity(SMActive, unvarying, restOf(1))
	require.NoError(t, err)
	require.ErrorContains(t, f.Active.Refused, "found activity from 1.00 to 1.00 in 1 steps")

	refused := 0
	for seed := range uint64(100) {
		blind := activeJobs(seed, 20)
		for i, j := range blind {
			src := draw.New(seed, draw.StreamOf("blind"), uint64(i), 0)
			for k := range j.Samples {
				if k%15 == 0 {
					src.Uint64()
				}
				j.Samples[k].Activity = float64(src.IntN(10)+1) / 10
			}
		}
		f, err = Activity(TensorActive, blind, restOf(seed))
		require.NoError(t, err)
		if !f.Alpha.Known() {
			refused++
		}
	}
	t.Logf("an activity that power does not follow: refused in %d of 100", refused)
	require.GreaterOrEqual(t, refused, 97)

	alike := activeJobsFrom(2, 40, 0.5, 0.5)
	for i, j := range alike { // and their phases are the same
		for k := range j.Samples {
			u := []float64{0.2, 0.4, 0.5, 0.6, 0.8, 0.9}[k/15]
			j.Samples[k] = ActivitySample{u, (1 + float64(i%7-3)/60) * (110 + 390*libm.Pow(u, plantedAlpha))}
		}
	}
	f, err = Activity(SMActive, alike, restOf(1))
	require.NoError(t, err)
	require.ErrorContains(t, f.Alpha.Refused, "want at most 0.8 of that of the class", "jobs that are alike need no activity")
	require.InEpsilon(t, f.StateError, f.Error, 0.2)

	f, err = Activity(SMActive, jobs[:7], restOf(1))
	require.NoError(t, err)
	require.ErrorIs(t, f.Alpha.Refused, ErrTooFew)
	for _, bad := range []ActivitySample{{-0.1, 1}, {1.1, 1}, {math.NaN(), 1}, {0.5, -1}, {0.5, math.Inf(1)}} {
		_, err = Activity(SMActive, []ActivityJob{jobs[0], {Samples: []ActivitySample{bad}}}, restOf(1))
		require.ErrorContains(t, err, "job 1, sample 0: found activity")
	}
	_, err = Activity(SMActive, jobs, hwmodel.Band{Low: 1})
	require.ErrorContains(t, err, "draw at rest")
}
