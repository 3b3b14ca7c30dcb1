package metric_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
)

// TestEveryMetricHasASense: which way it is better, and no two ways.
func TestEveryMetricHasASense(t *testing.T) {
	stated := func(name string, s metric.Sense) {
		ways := s & (metric.Lower | metric.Higher | metric.Neither)
		require.Equal(t, 1, bits.OnesCount8(uint8(ways)), "%s: state Lower, Higher or Neither", name)
	}
	senses := map[string]metric.Sense{}
	for _, d := range metric.AllDefinitions() {
		stated(d.Name, d.Sense)
		senses[d.Name] = d.Sense
	}
	for _, c := range metric.Columns() {
		stated(c.Name+" of a group", c.Sense)
		if run, both := senses[c.Name]; both {
			require.Equal(t, run, c.Sense, "%s is of a run and of a group: it is better the same way", c.Name)
		}
	}
}

func TestSensesAreFoundByName(t *testing.T) {
	for name, want := range map[string]int{
		"within_target of class 10": 1, "starved of tenant a": -1, "share": 0, "share_deviation_max": -1, "wait_p95": -1, "waited_fraction": -1, "jain_wait": 1,
		"utilisation": 1, "jobs_submitted": 0, "queue_length_max": -1, "wait_p95 of vcluster v of work": -1,
	} {
		require.NotZero(t, metric.SenseOf(name), name)
		require.Equal(t, want, metric.SenseOf(name).Better(), name)
	}
	for name, want := range map[string]bool{"wait_p95": true, "jain_bounded_slowdown": true, "jain_share": false, "utilisation": false, "queue_growth": true, "wait_max of user 3": true} {
		require.Equal(t, want, metric.Lengthens(name), name)
	}
	var means []string
	for _, d := range metric.AllDefinitions() {
		if metric.OverJobs(d.Name) {
			means = append(means, d.Name)
		}
	}
	require.Equal(t, []string{"wait_mean", "waited_fraction", "turnaround_mean", "slowdown_mean", "bounded_slowdown_mean", "per_processor_bounded_slowdown_mean", "within_target_wait", "starved_fraction"}, means)
	// A name that begins like a metric is none, and utilisation is of no group.
	for _, name := range []string{"wait_p96", "waits", "energy_of_the_sun", "utilisation of tenant a", "", " of tenant a"} {
		require.Zero(t, metric.SenseOf(name), name)
		require.Empty(t, metric.SenseOf(name).String(), name)
		require.False(t, metric.Lengthens(name) || metric.OverJobs(name), name)
	}
}
