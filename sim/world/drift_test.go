package world

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestDrifts: checks find as many drifts as were drawn, at instants of each node that are a whole
// number of checks apart; the node drains, its job goes on, and it takes work again.
func TestDrifts(t *testing.T) {
	const n = 40
	const days = 200
	drift := Drift{Life: expect(10 * model.Day), Remedy: exactly(model.Hour), Check: 6 * model.Hour}
	cfg := SiteConfig{Site: smallSite(n), Faults: Faults{Drift: drift, Until: model.Time(0).Add(days * model.Day)}}
	rows := batchOf(row(1, 0, nodes(n), func(j *traces.Job) {
		j.Runtime, j.Walltime = traces.Some(days*model.Day), traces.Some(2*days*model.Day)
	}))
	found := map[string][]model.Time{}
	drained, back := 0, 0
	p := playWith(t, cfg, rows, func(p *story, now model.Time) {
		for i := range n {
			id := model.NodeID(i)
			if name := fmt.Sprint("n", i); p.world.nodes.draining.Has(id) && (len(found[name]) == 0 || now.Sub(found[name][len(found[name])-1]) > model.Hour) {
				found[name] = append(found[name], now)
			}
		}
	})
	for _, l := range p.log {
		if strings.HasSuffix(l, " DRAINING") { // the job holds them all the time
			drained++
		}
		if strings.HasSuffix(l, " READY") {
			back++
		}
	}
	require.EqualValues(t, drained, p.world.Meter.Drifts)
	require.Positive(t, back)
	mean := float64(n) * days / 10.125 // 10 days, and half of a check until it is found
	require.InDelta(t, mean, float64(drained), 4*math.Sqrt(mean))
	for name, at := range found {
		for _, x := range at {
			require.Zero(t, x.Sub(at[0])%(6*model.Hour), name)
		}
	}
	for _, a := range p.sink.attempts {
		require.Equal(t, model.Completed, a.Outcome, "a job on a node that drains goes on")
	}
}

// TestDriftsAreKeyed: another job moves no drift.
func TestDriftsAreKeyed(t *testing.T) {
	cfg := func() SiteConfig {
		return SiteConfig{Site: smallSite(4), Faults: Faults{Drift: Drift{Life: expect(model.Day), Remedy: exactly(model.Hour), Check: model.Hour}, Until: model.Time(0).Add(30 * model.Day)}}
	}
	drains := func(b *traces.Batch) (out []string) {
		for _, l := range play(t, cfg(), b).log {
			if strings.Contains(l, " DRAIN") {
				out = append(out, l)
			}
		}
		return out
	}
	one := drains(batchOf(row(1, 0, nodes(1))))
	require.NotEmpty(t, one)
	require.Equal(t, one, drains(batchOf(row(1, 0, nodes(4)), row(2, 50*at, nodes(2)))))
}
