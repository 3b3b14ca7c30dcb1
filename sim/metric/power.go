package metric

import (
	"math/big"

	"orrery/hwmodel"
	"orrery/internal/wide"
	"orrery/scheduler/model"
)

// Power is what a site draws now, in W: at least, most likely and at most.
type Power struct{ Low, Value, High int64 }

// PowerConfig says how energy becomes cost and carbon.
type PowerConfig struct {
	PUE      hwmodel.PUE
	Overhead int64 // that the facility draws beyond what the PUE says, whatever the load, W
	Supplied bool  // a supply is known at some instant
}

// SetTariff says what energy costs and emits from now on, which before the first call of
// another kind may be any instant.
func (s *Series) SetTariff(now model.Time, t hwmodel.Tariff) {
	if s.begun {
		s.advance(max(now, s.seen))
	}
	s.tariff = t
}

// drawn are sums over time of power, and of power times the PUE and the price or carbon
// intensity.
type drawn struct {
	energy       [3]sum      // W·µs, at least, most likely and at most
	cost         [3]wide.Int // at the facility, times 10^6
	costOfTime   wide.Int    // the price alone, for what is drawn at any load
	carbon       [3]wide.Int
	carbonOfTime wide.Int
	beyond       [3]sum // W·µs above the supply
	unpriced     int64  // µs without a price
	uncarboned   int64  // µs without a figure of carbon
	unsupplied   int64  // µs without a supply
}

func (d drawn) minus(o *drawn) drawn {
	for i := range d.energy {
		d.energy[i] = d.energy[i].minus(o.energy[i])
		d.cost[i] = d.cost[i].Minus(o.cost[i])
		d.carbon[i] = d.carbon[i].Minus(o.carbon[i])
		d.beyond[i] = d.beyond[i].minus(o.beyond[i])
	}
	d.costOfTime = d.costOfTime.Minus(o.costOfTime)
	d.carbonOfTime = d.carbonOfTime.Minus(o.carbonOfTime)
	d.unpriced -= o.unpriced
	d.uncarboned -= o.uncarboned
	d.unsupplied -= o.unsupplied
	return d
}

// add adds a power over a span in µs. The PUE is that of the most likely power. Where one is
// paid for energy, the least cost is that of the highest power.
func (d *drawn) add(p *Power, c *PowerConfig, t *hwmodel.Tariff, span uint64) {
	watts := [3]int64{max(p.Low, 0), max(p.Value, 0), max(p.High, 0)}
	for i, w := range watts {
		d.energy[i].addProduct(uint64(w), span)
	}
	drawn := wide.Product(span, uint64(c.PUE.At(p.Value)))
	if t.Price.OK {
		each, by := drawn.Times(t.Price.V), watts
		if t.Price.V < 0 {
			by[0], by[2] = by[2], by[0]
		}
		for i, w := range by {
			d.cost[i] = d.cost[i].Plus(each.Times(w))
		}
		d.costOfTime = d.costOfTime.Plus(wide.Product(span, 1).Times(t.Price.V))
	} else {
		d.unpriced += int64(span)
	}
	if t.Carbon.OK {
		each := drawn.Times(t.Carbon.V)
		for i, w := range watts {
			d.carbon[i] = d.carbon[i].Plus(each.Times(w))
		}
		d.carbonOfTime = d.carbonOfTime.Plus(wide.Product(span, 1).Times(t.Carbon.V))
	} else {
		d.uncarboned += int64(span)
	}
	if t.Supply.OK {
		for i, w := range watts {
			d.beyond[i].addProduct(uint64(max(w-t.Supply.V, 0)), span)
		}
	} else {
		d.unsupplied += int64(span)
	}
}

// Which end of the range a metric is.
const (
	atLeast = iota
	mostLikely
	atMost
)

const (
	srcPower    = "defined here, in docs/HARDWARE.md"
	edgePower   = "null when the nodes and the jobs state no power"
	edgePrice   = edgePower + ", or no price is known at some instant of the window"
	edgeCarbon  = edgePower + ", or no carbon intensity is known at some instant of the window"
	facilityIs  = " drawn by the facility: that of the nodes*PUE + overhead"
	costFormula = "integral of the price times the power" + facilityIs + ", in the currency of the prices"
)

var powerDefinitions = []definition{
	{Definition{"energy", "kWh", Lower, "integral of the power that the nodes draw, idle ones included", srcPower, edgePower, nil}, false, energyOf(mostLikely)},
	{Definition{"energy_low", "kWh", Lower, "energy, with every power at its least", srcPower, edgePower, nil}, false, energyOf(atLeast)},
	{Definition{"energy_high", "kWh", Lower, "energy, with every power at its most", srcPower, edgePower, nil}, false, energyOf(atMost)},
	{Definition{"energy_cost", "1", Lower, costFormula, srcPower, edgePrice, nil}, false, costOf(mostLikely)},
	{Definition{"energy_cost_low", "1", Lower, "energy_cost, with the powers that make it least", srcPower, edgePrice, nil}, false, costOf(atLeast)},
	{Definition{"energy_cost_high", "1", Lower, "energy_cost, with the powers that make it most", srcPower, edgePrice, nil}, false, costOf(atMost)},
	{Definition{"carbon", "kg", Lower, "integral of the carbon intensity times the power" + facilityIs, srcPower, edgeCarbon, nil}, false, carbonOf(mostLikely)},
	{Definition{"carbon_low", "kg", Lower, "carbon, with every power at its least", srcPower, edgeCarbon, nil}, false, carbonOf(atLeast)},
	{Definition{"carbon_high", "kg", Lower, "carbon, with every power at its most", srcPower, edgeCarbon, nil}, false, carbonOf(atMost)},
}

const noPower = "the nodes and the jobs state no power"

var (
	million = big.NewInt(1_000_000)
	kWh     = big.NewInt(3_600_000_000_000) // W·µs
)

func energyOf(end int) func(*reduction) value {
	return func(r *reduction) value {
		if r.power == nil {
			return undefined(noPower)
		}
		return ratio(r.over.drawn.energy[end].big(), kWh, r.submitted, "", "")
	}
}

// facility is what it comes to at the meter of the facility, times 10^6: what goes with the
// nodes, which has the PUE in it, and the overhead.
func (c *PowerConfig) facility(nodes, time *wide.Int) *big.Int {
	return new(big.Int).Add(nodes.Big(), product(time.Big(), big.NewInt(c.Overhead), million))
}

func costOf(end int) func(*reduction) value {
	return func(r *reduction) value {
		switch d := &r.over.drawn; {
		case r.power == nil:
			return undefined(noPower)
		case d.unpriced > 0:
			return undefined("no price is known at some instant of the window")
		default:
			return ratio(r.power.facility(&d.cost[end], &d.costOfTime), product(kWh, million, million), r.submitted, "", "")
		}
	}
}

func carbonOf(end int) func(*reduction) value {
	return func(r *reduction) value {
		switch d := &r.over.drawn; {
		case r.power == nil:
			return undefined(noPower)
		case d.uncarboned > 0:
			return undefined("no carbon intensity is known at some instant of the window")
		default:
			return ratio(r.power.facility(&d.carbon[end], &d.carbonOfTime), product(kWh, million, million), r.submitted, "", "")
		}
	}
}

// supplyDefinitions are those of a site whose supply is known.
var supplyDefinitions = []definition{
	{Definition{"energy_beyond_supply", "kWh", Lower, "integral of max(0, P - S), P the power that the nodes draw and S the supply", srcPower, edgeSupply, nil}, false, beyondOf(mostLikely)},
	{Definition{"energy_beyond_supply_low", "kWh", Lower, "energy_beyond_supply, with every power at its least", srcPower, edgeSupply, nil}, false, beyondOf(atLeast)},
	{Definition{"energy_beyond_supply_high", "kWh", Lower, "energy_beyond_supply, with every power at its most", srcPower, edgeSupply, nil}, false, beyondOf(atMost)},
}

const edgeSupply = "null when no supply is known at some instant of the window"

// SupplyDefinitions lists the metrics that only a run with a supply has; they follow those of
// its site.
func SupplyDefinitions() []Definition { return published(supplyDefinitions) }

func beyondOf(end int) func(*reduction) value {
	return func(r *reduction) value {
		if r.over.drawn.unsupplied > 0 {
			return undefined("no supply is known at some instant of the window")
		}
		return ratio(r.over.drawn.beyond[end].big(), kWh, r.submitted, "", "")
	}
}
