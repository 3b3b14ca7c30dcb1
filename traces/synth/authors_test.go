package synth

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces/importer"
	"orrery/traces/synth/internal/law"
)

// TestAgainstTheAuthorsLog compares the model with 10,000 jobs for a machine
// of 256 processors that the authors' own program made: sizes, run times, and
// gaps on the clock of the daily cycle have the same distributions.
func TestAgainstTheAuthorsLog(t *testing.T) {
	path := refdata.Path(t, "traces", "swf", "lublin_256.swf.gz")
	src, _, err := importer.OpenAny([]string{path}, importer.Options{NoCache: true})
	require.NoError(t, err)
	theirs := drain(t, src)
	require.NoError(t, src.Close())
	n := float64(theirs.Len())

	counts := make([]float64, 257)
	for _, procs := range theirs.ProcsAllocated {
		counts[procs]++
	}
	for size, p := range wholeSample.sizeProbability(256) {
		require.InDelta(t, n*p, counts[size], 5*math.Sqrt(n*p*(1-p))+1, "jobs of %d processors", size)
	}

	var ours []model.Duration
	for j := range jobs(mustLublin(t, DefaultLublin(256), 100_000, 1)) {
		ours = append(ours, j.Runtime.V)
	}
	require.Less(t, distance(theirs.Runtime, ours), 2*math.Sqrt(1/n+1e-5), "Kolmogorov and Smirnov's distance of run times")

	c := wholeSample.DailyCycle()
	var gap sample
	for i := 1; i < theirs.Len(); i++ {
		seconds := (onClock(c, theirs.Submit[i]) - onClock(c, theirs.Submit[i-1])) / 1e6
		gap.add(math.Log(max(seconds, 0.5))) // submissions are whole seconds
	}
	gap.requireMean(t, wholeSample.AArr*wholeSample.ARAR*wholeSample.BArr, 0, "logarithm of gaps")
	require.InEpsilon(t, wholeSample.AArr*wholeSample.ARAR*wholeSample.BArr*wholeSample.BArr,
		gap.square/gap.n-gap.mean()*gap.mean(), 5*math.Sqrt(2/n), "variance of the logarithm of gaps")
}

// onClock is the inverse of At.
func onClock(c *law.Cycle, t model.Time) float64 {
	const slots = model.Time(30 * model.Minute)
	rest := t % model.Time(model.Day)
	clock := float64(t - rest)
	for _, span := range c.Slots() {
		clock += span * float64(min(rest, slots)) / float64(slots)
		rest -= min(rest, slots)
	}
	return clock
}

// distance is the largest difference between two empirical distributions.
func distance(a, b []model.Duration) float64 {
	slices.Sort(a)
	slices.Sort(b)
	most, j := 0.0, 0
	for i := range a {
		if i+1 < len(a) && a[i+1] == a[i] {
			continue
		}
		for j < len(b) && b[j] <= a[i] {
			j++
		}
		most = max(most, math.Abs(float64(i+1)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}
