package metric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
	"orrery/sim/record/column"
)

func TestMeasures(t *testing.T) {
	for _, text := range []string{"wait_p95", "utilisation", "within_target of class 10", "wait_max of tenant bio", "deviation of tenant bio", "share of vcluster hpc", "wait_p99 of size 5-16", "bounded_slowdown_mean of kind service"} {
		m, err := metric.ParseMeasure(text)
		require.NoError(t, err)
		require.NoError(t, m.Validate(), text)
		require.NoError(t, m.In(&metric.Parts{VClusters: []string{"hpc"}, Tenants: []string{"bio"}, Promised: []int32{10}}), text)
		require.Equal(t, text, m.String())
		require.NotEmpty(t, m.Unit(), text)
	}
	for text, says := range map[string]string{
		"":                           "want METRIC, or METRIC of KIND NAME",
		"wait_p95 of tenant":         "want METRIC, or METRIC of KIND NAME",
		"wait_p95 for tenant bio":    "want METRIC, or METRIC of KIND NAME",
		"wait_p42":                   `there is no metric "wait_p42"`,
		"wait_p95 of queue a":        `found groups by "queue", want one of vcluster, tenant, class, kind, size`,
		"wait_sd of tenant bio":      `found "wait_sd", which is no number of a tenant: want one of jobs, started`,
		"share of class 5":           "no number of a class",
		"within_target of size 1":    "no number of a size",
		"wait_p95 of class 11":       `found the class "11", want a number from 0 to 10`,
		"wait_p95 of class 05":       `found the class "05"`,
		"wait_p95 of kind batch":     `found the kind "batch", want one of bounded, service, reactive, session`,
		"wait_p95 of size 3-4":       `found the size "3-4", want 1, 2-4, 5-16`,
		"within_target of class 9":   "the cluster file promises nothing to class 9: add to it classes: [{class: 9, target_wait: 15m}]",
		"wait_p95 of tenant physics": `found the tenant "physics", which the site does not have: want one of bio`,
	} {
		m, err := metric.ParseMeasure(text)
		if err == nil {
			err = m.Validate()
		}
		if err == nil {
			err = m.In(&metric.Parts{Tenants: []string{"bio"}, Promised: []int32{10}})
		}
		require.ErrorContains(t, err, says, text)
	}
	m := metric.Measure{Metric: "wait_p95", By: metric.ByTenant, Group: "bio"}
	require.ErrorContains(t, m.In(nil), "a plain cluster knows jobs by size, run time and user alone")
	require.ErrorContains(t, m.In(&metric.Parts{}), "the site has no tenant")
	require.ErrorContains(t, metric.Measure{Metric: "within_target_wait"}.In(&metric.Parts{}), "promises nothing to any class")
	require.NoError(t, metric.Measure{Metric: "wait_p95", By: metric.BySize, Group: "1"}.In(nil))
	require.Equal(t, "s", metric.UnitOf("wait_p95 of class 3"))
	require.Empty(t, metric.UnitOf("wait"))
	require.True(t, metric.Measure{Metric: "within_target", By: metric.ByClass, Group: "10"}.Fraction())
}

func TestColumns(t *testing.T) {
	three := 3.0
	g := column.Group{Jobs: 5, Started: 4, WaitP95: &three}
	v, n := metric.ColumnOf("wait_p95").Read(&g)
	require.Equal(t, 3.0, *v)
	require.EqualValues(t, 4, n)
	require.False(t, metric.ColumnOf("bounded_slowdown_mean").InTables())
	v, _ = metric.ColumnOf("bounded_slowdown_mean").Read(&g)
	require.Nil(t, v)
	require.Nil(t, metric.ColumnOf("wait"))
}
