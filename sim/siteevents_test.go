package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world"
	"orrery/traces"
)

// What the events table of a trace says happens to the site: a node that goes
// down takes its job along, which starts anew elsewhere.
func TestEventsOfTheTraceHappen(t *testing.T) {
	m := &memory{size: 10, info: traces.Info{Name: "log", Hash: "log"}}
	m.add(row{submit: 0, runtime: 100, walltime: 200, procs: 1, cancel: -1})
	spec := siteOf(t, "agents: {kill_grace: 0s}\ngroups: [{name: a, nodes: 2, fingerprint: x}]\nvclusters: [{name: all, home: all, profile: {order: fcfs}}]\n")
	end := func() model.Time {
		res, err := Run(context.Background(), spec, m.open, Options{})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.State.Left)
		return res.Last
	}
	require.Equal(t, model.Time(100*model.Second), end())
	m.events = []traces.Event{{Time: model.Time(50 * model.Second), Kind: "down", Subject: "a-1"}}
	require.Equal(t, model.Time(150*model.Second), end())
}

// Prices of a trace are put on the scale from its lowest to its highest.
func TestPricesOfTheTraceAreScaled(t *testing.T) {
	m := &memory{prices: []traces.Price{{Time: 1, Price: 0.1}, {Time: 2, Price: 0.3}, {Time: 3, Price: 0.2}}}
	changes, err := recorded(nil, &model.Site{}, &memorySource{memory: m})
	require.NoError(t, err)
	require.Equal(t, []world.Change{
		{At: 1, Kind: world.PriceChange, Value: 0},
		{At: 2, Kind: world.PriceChange, Value: int64(model.One)},
		{At: 3, Kind: world.PriceChange, Value: int64(model.One / 2)},
	}, changes)
}
