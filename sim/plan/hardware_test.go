package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/world"
	"orrery/traces"
)

// priced is tables with prices, or events of the price.
type priced struct {
	Tables
	prices []traces.Price
	events []traces.Event
}

func (p priced) Prices() []traces.Price { return p.prices }
func (p priced) Events() []traces.Event { return p.events }

// TestTariffs: energy costs what the file says until the trace says otherwise, in a table or by
// events; where the table has no carbon intensity that of the file counts.
func TestTariffs(t *testing.T) {
	w := &world.SiteConfig{Site: &model.Site{Nodes: []model.Node{{IdlePower: 100}}}}
	h := &profiles.Hardware{Facility: profiles.Facility{PUE: 1.25, Price: 0.1, Carbon: 350, Overhead: 7}}
	known := func(v int64) hwmodel.Amount { return hwmodel.Amount{V: v, OK: true} }
	first := hwmodel.TariffAt{At: model.AbsentTime, Tariff: hwmodel.Tariff{Price: known(100_000), Carbon: known(350_000)}}
	for _, c := range []struct {
		name string
		src  priced
		want []hwmodel.TariffAt
	}{
		{"of the file alone", priced{}, []hwmodel.TariffAt{first}},
		{"a table", priced{prices: []traces.Price{{Time: 5, Price: -0.02, Carbon: traces.Some(100.0)}, {Time: 9, Price: 0.3}}}, []hwmodel.TariffAt{
			first, {At: 5, Tariff: hwmodel.Tariff{Price: known(-20_000), Carbon: known(100_000)}}, {At: 9, Tariff: hwmodel.Tariff{Price: known(300_000), Carbon: known(350_000)}}}},
		{"events", priced{events: []traces.Event{{Time: 4, Kind: "drain"}, {Time: 6, Kind: "price", Value: "0.9"}}}, []hwmodel.TariffAt{
			first, {At: 6, Tariff: hwmodel.Tariff{Price: known(900_000), Carbon: known(350_000)}}}},
	} {
		e := energyOf(w, h, c.src)
		require.Equal(t, c.want, e.Tariffs, c.name)
		require.Equal(t, metric.PowerConfig{PUE: hwmodel.FixedPUE(1_250_000), Overhead: 7}, e.PowerConfig)
	}
	w.Site.Nodes = append(w.Site.Nodes, model.Node{})
	require.Nil(t, energyOf(w, h, priced{}), "what one node draws is not known")
}
