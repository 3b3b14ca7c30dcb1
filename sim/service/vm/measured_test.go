package vm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// The plugin is told the load that agents have sampled, so that which machine leaves a node
// does not depend on what has happened since: in a gap decisions are the same whatever the
// machines do in it.
func TestPluginIsBlindInAGap(t *testing.T) {
	type said struct {
		at      model.Time
		machine int
		d       autoscale.Decision
	}
	decisions := func(gap bool, quiet, loud float64) (list []said) {
		c := host(12, 12)
		c.Plugin.CPUWatermark, c.Plugin.MemoryWatermark = 0.4, 0.4
		if gap {
			c.Gaps = []service.Span{{From: at(300), To: at(900)}}
		}
		c.Watch = func(now model.Time, i int, d *autoscale.Decision, _ autoscale.Resources) {
			if now >= at(310) && now < at(900) {
				list = append(list, said{now, i, *d})
			}
		}
		// Both grow beyond the watermark in the gap, by requests that were under way; which has less load then differs.
		d := []*demand.Demand{rates(900, 0, 0.3, 320, quiet), rates(900, 0, 0.5, 320, loud), rates(900, 0, 0.4)}
		_, err := Run(c, d)
		require.NoError(t, err)
		return list
	}
	require.NotEmpty(t, decisions(true, 0.3, 0.5))
	require.Equal(t, decisions(true, 0.3, 0.5), decisions(true, 3, 0.1))
	require.NotEqual(t, decisions(false, 0.3, 0.5), decisions(false, 3, 0.1))
}
