package compare

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/table"
	"orrery/sim/metric"
)

// The range of a difference is that of both runs at their least and at their most; one that
// has no price has no cost, which is not 0.
func TestPowerTable(t *testing.T) {
	of := func(name string, value float64) metric.Metric {
		return metric.Metric{Name: name, Unit: "kWh", Window: metric.All, Value: &value}
	}
	none := metric.Metric{Name: "energy_cost", Unit: "1", Window: metric.All}
	a := &metric.Table{Metrics: []metric.Metric{of("energy", 100), of("energy_low", 80), of("energy_high", 130), of("energy_cost", 20), of("energy_cost_low", 16), of("energy_cost_high", 26)}}
	b := &metric.Table{Metrics: []metric.Metric{of("energy", 90), of("energy_low", 75), of("energy_high", 100), none}}
	var out strings.Builder
	require.NoError(t, table.Write(&out, (&Comparison{Metrics: diffMetrics(a, b)}).PowerTable(), table.Markdown, table.Options{}))
	require.Contains(t, out.String(), "| energy | kWh | 100 | 80 to 130 | 90 | 75 to 100 | -10 | -30 to -5 | -10.00 % |")
	require.Contains(t, out.String(), "| energy_cost | kWh | 20 | 16 to 26 | - | - | - | - | - |")
	require.Zero(t, (&Comparison{Metrics: diffMetrics(&metric.Table{Metrics: []metric.Metric{none}}, &metric.Table{})}).PowerTable().Len())
}
