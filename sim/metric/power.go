package metric

import (
	"math/big"

	"orrery/scheduler/model"
)

// Power is what a site draws now, in W: at least, most likely and at most.
type Power struct{ Low, Value, High int64 }

// PowerConfig says how energy becomes cost and carbon.
type PowerConfig struct {
	// PUE is what the facility draws for 1,000,000 W of its nodes, 1,000,000 or more, and
	// Overhead what it draws beyond that whatever the load, in W.
	PUE, Overhead int64
}

// Tariff is what energy costs and emits now. An amount that is not known is not OK.
type Tariff struct {
	Price  Amount // 10^-6 of the currency for each kWh; below 0 one is paid to use it
	Carbon Amount // mg for each kWh
}

// Amount is a number that may not be known.
type Amount struct {
	V  int64
	OK bool
}

// SetTariff says what energy costs and emits from now on, which before the first call of
// another kind may be any instant.
func (s *Series) SetTariff(now model.Time, t Tariff) {
	if s.begun {
		s.advance(max(now, s.seen))
	}
	s.tariff = t
}

// signedSum is a sum of numbers of either sign.
type signedSum struct{ plus, minus sum }

// addProduct3 adds x·y·z, of which x has the sign.
func (s *signedSum) addProduct3(x int64, y, z uint64) {
	if x < 0 {
		s.minus.addProduct3(uint64(-x), y, z)
		return
	}
	s.plus.addProduct3(uint64(x), y, z)
}

func (s signedSum) less(t *signedSum) signedSum {
	return signedSum{s.plus.minus(t.plus), s.minus.minus(t.minus)}
}

func (s *signedSum) big() *big.Int { return new(big.Int).Sub(s.plus.big(), s.minus.big()) }

// drawn are sums over time of power, and of power times price and carbon.
type drawn struct {
	energy       [3]sum       // W·µs, at least, most likely and at most
	cost         [3]signedSum // of it, times the price
	costOfTime   signedSum    // the price alone, for what is drawn at any load
	carbon       [3]sum
	carbonOfTime sum
	unpriced     int64 // µs without a price
	uncarboned   int64 // µs without a figure of carbon
}

func (d drawn) minus(o *drawn) drawn {
	for i := range d.energy {
		d.energy[i] = d.energy[i].minus(o.energy[i])
		d.cost[i] = d.cost[i].less(&o.cost[i])
		d.carbon[i] = d.carbon[i].minus(o.carbon[i])
	}
	d.costOfTime = d.costOfTime.less(&o.costOfTime)
	d.carbonOfTime = d.carbonOfTime.minus(o.carbonOfTime)
	d.unpriced -= o.unpriced
	d.uncarboned -= o.uncarboned
	return d
}

// add adds a power over a span in µs. Where one is paid for energy, the least cost is that of the
// highest power.
func (d *drawn) add(p *Power, t *Tariff, span uint64) {
	watts := [3]uint64{uint64(max(p.Low, 0)), uint64(max(p.Value, 0)), uint64(max(p.High, 0))}
	for i, w := range watts {
		d.energy[i].addProduct(w, span)
	}
	if t.Price.OK {
		by := watts
		if t.Price.V < 0 {
			by[0], by[2] = by[2], by[0]
		}
		for i, w := range by {
			d.cost[i].addProduct3(t.Price.V, w, span)
		}
		d.costOfTime.addProduct3(t.Price.V, 1, span)
	} else {
		d.unpriced += int64(span)
	}
	if t.Carbon.OK {
		for i, w := range watts {
			d.carbon[i].addProduct3(uint64(t.Carbon.V), w, span)
		}
		d.carbonOfTime.addProduct(uint64(t.Carbon.V), span)
	} else {
		d.uncarboned += int64(span)
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
	facilityIs  = " drawn by the facility: energy*PUE + overhead"
	costFormula = "integral of the price times the power" + facilityIs + ", in the currency of the prices"
)

var powerDefinitions = []definition{
	{Definition{"energy", "kWh", "integral of the power that the nodes draw, idle ones included", srcPower, edgePower, nil}, false, energyOf(mostLikely)},
	{Definition{"energy_low", "kWh", "energy, with every power at its least", srcPower, edgePower, nil}, false, energyOf(atLeast)},
	{Definition{"energy_high", "kWh", "energy, with every power at its most", srcPower, edgePower, nil}, false, energyOf(atMost)},
	{Definition{"energy_cost", "1", costFormula, srcPower, edgePrice, nil}, false, costOf(mostLikely)},
	{Definition{"energy_cost_low", "1", "energy_cost, with the powers that make it least", srcPower, edgePrice, nil}, false, costOf(atLeast)},
	{Definition{"energy_cost_high", "1", "energy_cost, with the powers that make it most", srcPower, edgePrice, nil}, false, costOf(atMost)},
	{Definition{"carbon", "kg", "integral of the carbon intensity times the power" + facilityIs, srcPower, edgeCarbon, nil}, false, carbonOf(mostLikely)},
	{Definition{"carbon_low", "kg", "carbon, with every power at its least", srcPower, edgeCarbon, nil}, false, carbonOf(atLeast)},
	{Definition{"carbon_high", "kg", "carbon, with every power at its most", srcPower, edgeCarbon, nil}, false, carbonOf(atMost)},
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

// facility is what it comes to at the meter of the facility, times 10^6.
func (c *PowerConfig) facility(nodes, time *big.Int) *big.Int {
	total := product(nodes, big.NewInt(c.PUE))
	return total.Add(total, product(time, big.NewInt(c.Overhead), million))
}

func costOf(end int) func(*reduction) value {
	return func(r *reduction) value {
		switch d := &r.over.drawn; {
		case r.power == nil:
			return undefined(noPower)
		case d.unpriced > 0:
			return undefined("no price is known at some instant of the window")
		default:
			return ratio(r.power.facility(d.cost[end].big(), d.costOfTime.big()), product(kWh, million, million), r.submitted, "", "")
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
			return ratio(r.power.facility(d.carbon[end].big(), d.carbonOfTime.big()), product(kWh, million, million), r.submitted, "", "")
		}
	}
}
