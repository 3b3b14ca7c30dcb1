package world

import (
	"orrery/hwmodel"
	"orrery/internal/wide"
	"orrery/scheduler/model"
)

// prices sums up over time what one watt of the nodes costs and emits. So the bill of a job is
// brought up to date when its draw changes, and no job is looked at when a price does. The
// sums are exact; W of a job times their growth is its part.
type prices struct {
	ahead []hwmodel.TariffAt // that are not in force yet
	now   hwmodel.Tariff
	pue   hwmodel.PUE
	at    int64 // the PUE at draw
	draw  int64 // of the nodes, W
	until model.Time
	sums  perWatt
}

// perWatt are integrals of a price times the PUE, in units of 10^-6 of the price and µs.
type perWatt struct {
	paid, earned         wide.Int // of prices above 0, and of those below without their sign
	carbon               wide.Int
	unpriced, uncarboned int64 // µs without a price and without a carbon intensity
}

// newPrices is nil where nothing has a price.
func newPrices(cfg *PowerConfig) *prices {
	if len(cfg.Tariffs) == 0 {
		return nil
	}
	p := &prices{ahead: cfg.Tariffs, pue: cfg.PUE, until: model.AbsentTime}
	p.at = p.pue.At(0)
	return p
}

// reach brings the sums up to now, while the nodes drew so many W. Cost is constant beside that
// of the tariffs which come into force.
func (p *prices) reach(now model.Time, draw int64) {
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
func (p *prices) add(to model.Time) {
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

// bill is what the energy of a job has cost and emitted, in units of 10^-6 of a price times W
// and µs.
type bill struct {
	since                perWatt     // sums of the site when it was brought up to date
	cost, carbon         [3]wide.Int // at least, most likely and at most
	unpriced, uncarboned bool        // at some instant no price, or no carbon intensity, was known
}

// openBill begins to charge the attempt of l, or goes on.
func (s *Site) openBill(l *siteJob) {
	if s.prices == nil {
		return
	}
	if l.bill == nil {
		l.bill = s.bills.Take()
	}
	l.bill.since = s.prices.sums
}

// charge adds what l has drawn since its bill was brought up to date. Where one is paid for
// energy, the least cost is that of the highest power.
func (s *Site) charge(l *siteJob, drawn *hwmodel.Watts) {
	b := l.bill
	if b == nil {
		return
	}
	now, since := &s.prices.sums, &b.since
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

// perKWh is a kWh in the units of a bill, which are 10^-6 of W and µs.
const perKWh = 3_600_000_000_000 * 1_000_000

// closeBill enters the bill of l into its record. A job that never ran has cost nothing.
func (s *Site) closeBill(l *siteJob) {
	if s.prices == nil {
		return
	}
	b := l.bill
	if b == nil {
		l.rec.Bill = &model.Bill{Cost: model.Charge{Known: true}, Carbon: model.Charge{Known: true}}
		return
	}
	sourced := l.rec.Source != model.PowerUnknown
	l.rec.Bill = &model.Bill{Cost: charged(&b.cost, sourced && !b.unpriced), Carbon: charged(&b.carbon, sourced && !b.uncarboned)}
	s.bills.Give(b)
	l.bill = nil
}

// charged is an amount to the nearest.
func charged(sum *[3]wide.Int, known bool) model.Charge {
	if !known {
		return model.Charge{}
	}
	return model.Charge{Low: sum[0].Per(perKWh), Value: sum[1].Per(perKWh), High: sum[2].Per(perKWh), Known: true}
}
