// Package bill sums up what the energy of a site costs and emits, and what of that is the part of a job.
package bill

import (
	"orrery/hwmodel"
	"orrery/internal/wide"
	"orrery/scheduler/model"
)

// Prices sums up over time what one watt of the nodes costs and emits. So the bill of a job is brought up to date
// when its draw changes, and no job is looked at when a price does. The sums are exact; W of a job times their growth
// is its part.
type Prices struct {
	ahead []hwmodel.TariffAt // that are not in force yet
	now   hwmodel.Tariff
	pue   hwmodel.PUE
	at    int64 // the PUE at draw
	draw  int64 // of the nodes, W
	until model.Time
	sums  perWatt
	spare model.FreeList[Bill]
}

// perWatt are integrals of a price times the PUE, in units of 10^-6 of the price and µs.
type perWatt struct {
	paid, earned         wide.Int // of prices above 0, and of those below without their sign
	carbon               wide.Int
	unpriced, uncarboned int64 // µs without a price and without a carbon intensity
}

// New is nil where nothing has a price: then no bill is ever opened. Tariffs ascend.
func New(tariffs []hwmodel.TariffAt, pue hwmodel.PUE) *Prices {
	if len(tariffs) == 0 {
		return nil
	}
	p := &Prices{ahead: tariffs, pue: pue, until: model.AbsentTime}
	p.at = p.pue.At(0)
	return p
}

// Reach brings the sums up to now, while the nodes drew so many W. Cost is constant beside that of the tariffs which
// come into force.
func (p *Prices) Reach(now model.Time, draw int64) {
	if draw != p.draw {
		p.draw = draw
		if p.pue.Varies() {
			p.at = p.pue.At(draw)
		}
	}
	for len(p.ahead) > 0 && p.ahead[0].At <= now {
		p.add(p.ahead[0].At)
		p.now, p.ahead = p.ahead[0].Tariff, p.ahead[1:]
	}
	p.add(now)
}

// add sums up until an instant at the tariff in force.
func (p *Prices) add(to model.Time) {
	from := p.until
	if to <= from {
		return
	}
	if p.until = to; from == model.AbsentTime {
		return // nothing was held before
	}
	d, s := int64(to-from), &p.sums
	span := wide.Product(uint64(d), uint64(p.at))
	switch price := p.now.Price; {
	case !price.OK:
		s.unpriced = model.Plus(s.unpriced, d)
	case price.V > 0:
		s.paid = s.paid.Plus(span.Times(price.V))
	case price.V < 0:
		s.earned = s.earned.Minus(span.Times(price.V))
	}
	if p.now.Carbon.OK {
		s.carbon = s.carbon.Plus(span.Times(p.now.Carbon.V))
	} else {
		s.uncarboned = model.Plus(s.uncarboned, d)
	}
}

// Bill is what the energy of a job has cost and emitted, in units of 10^-6 of a price times W and µs.
type Bill struct {
	since                perWatt     // sums of the site when it was brought up to date
	cost, carbon         [3]wide.Int // at least, most likely and at most
	unpriced, uncarboned bool        // at some instant no price, or no carbon intensity, was known
}

// Open begins to charge an attempt to the bill of its job, nil before the first, or goes on.
func (p *Prices) Open(b *Bill) *Bill {
	if p == nil {
		return nil
	}
	if b == nil {
		b = p.spare.Take()
	}
	b.since = p.sums
	return b
}

// Charge adds what was drawn since b was brought up to date. Where one is paid for energy, the least cost is that of
// the highest power.
func (p *Prices) Charge(b *Bill, drawn *hwmodel.Watts) {
	if b == nil {
		return
	}
	now, since := &p.sums, &b.since
	paid, earned, carbon := now.paid.Minus(since.paid), now.earned.Minus(since.earned), now.carbon.Minus(since.carbon)
	watts := [3]int64{max(drawn.Low, 0), max(drawn.Value, 0), max(drawn.High, 0)}
	for i, w := range watts {
		b.cost[i] = b.cost[i].Plus(paid.Times(w)).Minus(earned.Times(watts[2-i]))
		b.carbon[i] = b.carbon[i].Plus(carbon.Times(w))
	}
	b.unpriced = b.unpriced || now.unpriced > since.unpriced
	b.uncarboned = b.uncarboned || now.uncarboned > since.uncarboned
	b.since = *now
}

// PerKWh is a kWh in the units of a bill, which are 10^-6 of W and µs.
const PerKWh = 3_600_000_000_000 * 1_000_000

// Close is the bill b of a job that leaves, nil where nothing has a price; sourced says that what it drew is known. A
// job that never ran has no b, and has cost nothing.
func (p *Prices) Close(b *Bill, sourced bool) *model.Bill {
	if p == nil {
		return nil
	}
	if b == nil {
		return &model.Bill{Cost: model.Charge{Known: true}, Carbon: model.Charge{Known: true}}
	}
	out := &model.Bill{Cost: charged(&b.cost, sourced && !b.unpriced), Carbon: charged(&b.carbon, sourced && !b.uncarboned)}
	p.spare.Give(b)
	return out
}

// charged is an amount to the nearest.
func charged(sum *[3]wide.Int, known bool) model.Charge {
	if !known {
		return model.Charge{}
	}
	return model.Charge{Low: sum[0].Per(PerKWh), Value: sum[1].Per(PerKWh), High: sum[2].Per(PerKWh), Known: true}
}
