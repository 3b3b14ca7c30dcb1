package vm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// The plugin is told the load that agents have sampled, and not that of the instant: which
// machine leaves a full node is the same whatever the machines do behind their last sample.
func TestPluginGoesBySamples(t *testing.T) {
	type said struct {
		at      model.Time
		machine int
		d       autoscale.Decision
	}
	// Two machines want more than their node has by their samples of 300 s, and get an answer when
	// the outage is over. They change at 301 s and are sampled again at 360 s.
	decisions := func(sample model.Duration, first, second float64) (list []said) {
		c := host(7, 7)
		c.Sample, c.Memory = sample, Memory{Base: 100 << 20}
		c.Outages = []service.Span{{From: at(270), To: at(330)}}
		c.Watch = func(now model.Time, i int, d *autoscale.Decision, _ autoscale.Resources) {
			if now >= at(301) && now < at(360) && d.Would.Verb == autoscale.Migrate {
				list = append(list, said{now, i, *d})
			}
		}
		_, err := Run(c, []*demand.Demand{rates(400, 0, 0.2, 270, 0.9, 301, first), rates(400, 0, 0.2, 270, 1, 301, second), rates(400, 0, 0.2)})
		require.NoError(t, err)
		return list
	}
	minute := 60 * model.Second
	require.NotEmpty(t, decisions(minute, 0.9, 1))
	require.Equal(t, decisions(minute, 0.9, 1), decisions(minute, 6, 0.05))
	require.Equal(t, decisions(minute, 0.9, 1), decisions(minute, 0.05, 6))
	require.NotEqual(t, decisions(model.Second, 6, 0.05), decisions(model.Second, 0.05, 6), "it goes by what is sampled")
}
