package fidelity

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

const second = model.Second

// at is an instant, so many seconds after the epoch.
func at(seconds int64) model.Time { return model.Time(seconds * int64(second)) }

// byHand are five jobs, and a replay of them:
//
//	job    submitted  recorded  wait  replayed  wait  units
//	1      0          0-10      0     0-10      0     2
//	2      1          20-30     19    10-20     9     4
//	3      2          10-20     8     20-30     18    4
//	4      3          30-40     27    30-40     27    2
//	5      4          12-22     8     30-40     26    1
func byHand() ([]Job, []Times) {
	var jobs []Job
	for i, start := range []int64{0, 20, 10, 30, 12} {
		jobs = append(jobs, Job{
			User: []string{"ann", "bob"}[i%2], Submit: at(int64(i)), Start: at(start), End: at(start + 10),
			CPUs: []int32{2, 4, 4, 2, 1}[i], Walltime: model.AbsentDuration,
		})
	}
	var times []Times
	for _, start := range []int64{0, 10, 20, 30, 30} {
		times = append(times, Times{at(start), at(start + 10)})
	}
	return jobs, times
}

// TestByHand: every measure as it is worked out on paper.
func TestByHand(t *testing.T) {
	jobs, times := byHand()
	w := workloadOf(jobs)
	var v values
	w.measureWhole(&v, times)
	require.InDelta(t, 12.4, w.mean, 1e-12, "(0 + 19 + 8 + 27 + 8) / 5")
	require.InDelta(t, 8, w.median, 0)
	require.InDelta(t, 27, w.p95, 0)
	want := values{
		MeanWaitReplayed: 16, WaitError: 3.6 / 12.4, WaitErrorSeconds: 3.6,
		MedianWaitReplayed: 18, MedianWaitError: 1.25, P95WaitReplayed: 27, P95WaitError: 0,
		// Waits above 5 s: 19, 8, 27, 8 have the ranks 3, 1.5, 4, 1.5, and 9, 18, 27, 26 the ranks 1, 2, 4, 3.
		RankCorrelationWaits: 1.5 / math.Sqrt(4.5*5),
		// Starts 0, 20, 10, 30, 12 have the ranks 1, 4, 2, 5, 3, and 0, 10, 20, 30, 30 the ranks 1, 2, 3, 4.5, 4.5.
		RankCorrelationStarts: 6 / math.Sqrt(10*9.5),
		StartErrorP90:         18, // of 0, 10, 10, 0, 18
		// Sorted, 0 8 8 19 27 and 0 9 18 26 27: moved by 0, 1, 10, 7 and 0.
		WassersteinOverMean: 18.0 / 5 / 12.4,
		// In the record 3 and 5 overtake 2, and 5 overtakes 4; in the replay none does.
		OvertakingsReproduced: 0, OvertakingsFalse: math.NaN(),
		MakespanError: 0,
		// Held: record 2 until 10, then 4, from 12 on 5, from 20 on 4 + 1, from 22 on 4, from 30 on 2;
		// replay 2 until 10, then 4, from 20 on 4, from 30 on 3. They differ by 1 from 12 to 20 and from 20 to 22,
		// and from 30 to 40: 20 s of 40, of 5 at most.
		UtilisationRMSE: math.Sqrt(20.0/40) / 5,
	}
	for m := range Measures {
		if math.IsNaN(want[m]) {
			require.True(t, math.IsNaN(v[m]), "%s is %g", m.Key(), v[m])
			continue
		}
		require.InDelta(t, want[m], v[m], 1e-12, m.Key())
	}
	require.EqualValues(t, 3, w.overtook)
}

// drawnJobs are jobs with small numbers, so that ties are many.
func drawnJobs(t *rapid.T) ([]Job, []Times) {
	n := rapid.IntRange(1, 40).Draw(t, "jobs")
	var jobs []Job
	var times []Times
	now := int64(0)
	for range n {
		now += rapid.Int64Range(0, 3).Draw(t, "after")
		start := now + rapid.Int64Range(0, 20).Draw(t, "wait")
		run := rapid.Int64Range(1, 10).Draw(t, "run")
		replayed := now + rapid.Int64Range(0, 20).Draw(t, "replayed")
		jobs = append(jobs, Job{Submit: at(now), Start: at(start), End: at(start + run), CPUs: rapid.Int32Range(1, 8).Draw(t, "cpus")})
		times = append(times, Times{at(replayed), at(replayed + run)})
	}
	return jobs, times
}

// TestOvertakingsAreCounted: the pairs are those that two loops find.
func TestOvertakingsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, times := drawnJobs(t)
		w := workloadOf(jobs)
		_, starts := w.replayed(jobs, times)
		var recorded, replayed, both int64
		for i := range jobs {
			for j := range jobs {
				if w.submits[i] >= w.submits[j] {
					continue
				}
				x, y := w.starts[j] < w.starts[i], starts[j] < starts[i]
				if x {
					recorded++
				}
				if y {
					replayed++
				}
				if x && y {
					both++
				}
			}
		}
		require.Equal(t, recorded, w.overtook)
		require.Equal(t, replayed, overtakings(w.submits, starts, starts))
		require.Equal(t, both, overtakings(w.submits, w.starts, starts))
		require.Equal(t, both, overtakings(w.submits, starts, w.starts), "from either side")
	})
}

// TestARecordIsItself: a replay that is its record has no error, and whatever order there is is the same.
func TestARecordIsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, _ := drawnJobs(t)
		var same []Times
		for i := range jobs {
			same = append(same, Times{jobs[i].Start, jobs[i].End})
		}
		w := workloadOf(jobs)
		var v values
		w.measureWhole(&v, same)
		for _, m := range []Measure{WaitError, WaitErrorSeconds, MedianWaitError, P95WaitError, StartErrorP90, WassersteinOverMean, OvertakingsFalse, MakespanError, UtilisationRMSE} {
			require.True(t, math.IsNaN(v[m]) || v[m] == 0, "%s is %g", m.Key(), v[m])
		}
		for _, m := range []Measure{RankCorrelationWaits, RankCorrelationStarts, OvertakingsReproduced} {
			require.True(t, math.IsNaN(v[m]) || math.Abs(v[m]-1) < 1e-9, "%s is %g", m.Key(), v[m])
		}
	})
}

// TestRanges: measures stay in the ranges that they are defined to have.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, times := drawnJobs(t)
		w := workloadOf(jobs)
		var v values
		w.measureWhole(&v, times)
		within := func(m Measure, lo, hi float64) {
			require.True(t, math.IsNaN(v[m]) || v[m] >= lo && v[m] <= hi, "%s is %g", m.Key(), v[m])
		}
		for _, m := range []Measure{OvertakingsReproduced, OvertakingsFalse} {
			within(m, 0, 1)
		}
		for _, m := range []Measure{RankCorrelationWaits, RankCorrelationStarts} {
			within(m, -1, 1)
		}
		for _, m := range []Measure{WaitError, MedianWaitError, P95WaitError, MakespanError} {
			within(m, -1, math.Inf(1))
		}
		for _, m := range []Measure{StartErrorP90, WassersteinOverMean, UtilisationRMSE} {
			within(m, 0, math.Inf(1))
		}
		if w.mean > 0 { // the mean of the differences is no further than the distributions are apart
			require.LessOrEqual(t, math.Abs(v[WaitError]), v[WassersteinOverMean]+1e-9)
		}
	})
}

// TestIntervals leave 2.5 % of the draws out on either side.
func TestIntervals(t *testing.T) {
	var draws []float64
	for i := range 200 {
		draws = append(draws, float64((i*77)%200)) // 0 to 199 in some order
	}
	i := intervalOf(draws)
	require.Equal(t, []float64{99.5, 4, 195}, []float64{float64(i.Value), float64(i.Low), float64(i.High)})
	i = intervalOf(draws[:24])
	require.InDelta(t, 0, float64(i.Low), 0, "the least of a few")
	i = intervalOf([]float64{0.1, 0.1, 0.1})
	require.Equal(t, []float64{0.1, 0.1, 0.1}, []float64{float64(i.Value), float64(i.Low), float64(i.High)})
	require.False(t, intervalOf([]float64{1, math.NaN()}).Value.Defined())
}
