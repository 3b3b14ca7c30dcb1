package metric_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
)

func TestEveryMetricHasASense(t *testing.T) {
	for _, d := range slices.Concat(metric.Definitions(), metric.SiteDefinitions(), metric.ServiceDefinitions()) {
		_, known := metric.Better(d.Name)
		require.True(t, known, d.Name)
	}
	for _, c := range metric.Columns() {
		_, known := metric.Better(c.Name)
		require.True(t, known, c.Name)
	}
	for name, want := range map[string]int{"within_target of class 10": 1, "starved of tenant a": -1, "share": 0, "share_deviation_max": -1, "wait_p95": -1, "waited_fraction": -1, "jain_wait": 1, "utilisation": 1, "jobs_submitted": 0, "queue_length_max": -1} {
		better, _ := metric.Better(name)
		require.Equal(t, want, better, name)
	}
	for name, want := range map[string]bool{"wait_p95": true, "jain_bounded_slowdown": true, "jain_share": false, "utilisation": false, "queue_growth": true} {
		require.Equal(t, want, metric.Lengthens(name), name)
	}
}
