package translate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestChanges reads a row of every kind that a site follows; limits that a row
// does not name stay as the rows before have left them.
func TestChanges(t *testing.T) {
	site := namedSite()
	site.Tenants[1].Limits = model.Limits{MaxNodes: 9, MaxConcurrent: 5}
	got, err := ReadEvents("log", site, []traces.Event{
		{Time: 1 * at, Kind: "down", Subject: "n2"},
		{Time: 2 * at, Kind: "up", Subject: "n2"},
		{Time: 3 * at, Kind: "drain", Subject: "n1"},
		{Time: 4 * at, Kind: "undrain", Subject: "n1"},
		{Time: 5 * at, Kind: "quota", Subject: "bob", Value: `{"max_nodes":4,"fair_share":0.5,"gpu_hours":2}`},
		{Time: 6 * at, Kind: "quota", Subject: "bob", Value: `{"max_nodes":null,"burst":1.5,"node_hours":1,"max_concurrent":3}`},
		{Time: 7 * at, Kind: "power_cap", Value: "5000"},
		{Time: 8 * at, Kind: "price", Value: "0.25"},
		{Time: 9 * at, Kind: "sensitive_pool", Value: "4"},
	}, []traces.Price{{Time: 3 * at, Price: -1}, {Time: 9 * at, Price: 7}}, PriceScale{0, 0.5})
	require.NoError(t, err)
	first := model.Limits{MaxNodes: 4, MaxConcurrent: 5, FairShare: model.One / 2, GPUBudget: 2 * model.Hour}
	then := model.Limits{MaxConcurrent: 3, FairShare: model.One / 2, Burst: model.One * 3 / 2, GPUBudget: 2 * model.Hour, NodeBudget: model.Hour}
	require.Equal(t, []Change{
		{At: 1 * at, Kind: NodeFails, Node: 2},
		{At: 2 * at, Kind: NodeRepaired, Node: 2},
		{At: 3 * at, Kind: NodeDrains, Node: 1},
		{At: 3 * at, Kind: PriceChange, Value: 0},
		{At: 4 * at, Kind: NodeUndrained, Node: 1},
		{At: 5 * at, Kind: LimitsChange, Tenant: 1, Limits: first},
		{At: 6 * at, Kind: LimitsChange, Tenant: 1, Limits: then},
		{At: 7 * at, Kind: PowerChange, Value: 5000},
		{At: 8 * at, Kind: PriceChange, Value: int64(model.One / 2)},
		{At: 9 * at, Kind: PoolChange, Value: 4},
		{At: 9 * at, Kind: PriceChange, Value: int64(model.One)},
	}, got.Changes)
}

// TestSpans reads events that hold for a while: outages of the quorum, and
// reservations, which begin when they are announced at the earliest.
func TestSpans(t *testing.T) {
	got, err := ReadEvents("log", namedSite(), []traces.Event{
		{Time: 1 * at, Kind: "quorum_outage", Value: "3000000"},
		{Time: 2 * at, Kind: "reservation", Subject: "exam", Value: `{"nodes":["n2","n0"],"start":5000000,"end":9000000}`},
		{Time: 7 * at, Kind: "reservation", Subject: "repair", Value: `{"nodes":["n1"],"start":5000000,"end":9000000,"maintenance":true}`},
		{Time: 8 * at, Kind: "quorum_outage", Value: "0"},
	}, nil, PriceScale{0, 1})
	require.NoError(t, err)
	require.Equal(t, SiteEvents{
		Outages: []Outage{{1 * at, 4 * at}, {8 * at, 8 * at}},
		Reservations: []model.Reservation{
			{Name: "exam", Nodes: model.NodeSet{0b101}, Start: 5 * at, End: 9 * at},
			{Name: "repair", Nodes: model.NodeSet{0b10}, Start: 7 * at, End: 9 * at, Maintenance: true},
		},
	}, got)
}

func TestBadChanges(t *testing.T) {
	for _, c := range []struct {
		event traces.Event
		want  string
	}{
		{traces.Event{Kind: "down", Subject: "x"}, `log (events): row 1, column subject: found "x", expected the name of a node of the site; correct the row, or leave it out`},
		{traces.Event{Kind: "quota", Subject: "x", Value: "{}"}, `column subject: found "x", expected the name of a tenant`},
		{traces.Event{Kind: "quota", Subject: "ada", Value: "3"}, `column value: found "3", expected a JSON object`},
		{traces.Event{Kind: "quota", Subject: "ada", Value: `{"x":1}`}, `expected columns of the tenants table`},
		{traces.Event{Kind: "quota", Subject: "ada", Value: `{"max_nodes":-1}`}, `expected columns of the tenants table`},
		{traces.Event{Kind: "quota", Subject: "ada", Value: `{"max_nodes":0}`}, `expected limits of more than 0, or null for none`},
		{traces.Event{Kind: "power_cap", Value: "-1"}, `column value: found "-1", expected whole W`},
		{traces.Event{Kind: "price", Value: "x"}, `column value: found "x", expected EUR/kWh`},
		{traces.Event{Kind: "sensitive_pool", Value: "x"}, `column value: found "x", expected whole nodes`},
		{traces.Event{Kind: "flood"}, `column kind: found "flood", expected down, up`},
		{traces.Event{Kind: "quorum_outage", Value: "-1"}, `column value: found "-1", expected whole µs`},
		{traces.Event{Kind: "quorum_outage", Value: "1s"}, `column value: found "1s", expected whole µs`},
		{traces.Event{Kind: "reservation", Subject: "course", Value: `{"nodes":["n0"],"start":0,"end":1}`}, `found "course", expected a name that no other reservation has`},
		{traces.Event{Kind: "reservation", Value: `{"nodes":["n0"],"start":0,"end":1}`}, `column subject: found ""`},
		{traces.Event{Kind: "reservation", Subject: "x", Value: `{"nodes":[],"start":0,"end":1}`}, `expected a JSON object of nodes`},
		{traces.Event{Kind: "reservation", Subject: "x", Value: `{"node":["n0"],"start":0,"end":1}`}, `expected a JSON object of nodes`},
		{traces.Event{Kind: "reservation", Subject: "x", Value: `{"nodes":["n9"],"start":0,"end":1}`}, `found "n9", expected the name of a node`},
		{traces.Event{Kind: "reservation", Subject: "x", Value: `{"nodes":["n0"],"start":1,"end":1}`}, `expected a JSON object of nodes`},
		{traces.Event{Time: 9, Kind: "reservation", Subject: "x", Value: `{"nodes":["n0"],"start":1,"end":9}`}, `expected an end after the event`},
	} {
		_, err := ReadEvents("log", namedSite(), []traces.Event{c.event}, nil, PriceScale{0, 1})
		require.ErrorContains(t, err, c.want)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
}
