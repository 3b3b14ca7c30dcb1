package naive_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// The arithmetic of the score as docs/SCHEDULING.md has it, in fractions. Each product and each
// quotient is rounded to the nearest 2^-32 on its own.

// nearest rounds a fraction that is not negative.
func nearest(x *big.Rat) model.Fixed { return nearestOf(x.Num(), x.Denom()) }

// nearestOf rounds a/b.
func nearestOf(a, b *big.Int) model.Fixed {
	n := new(big.Int).Lsh(a, model.FractionBits+1)
	n.Add(n, b).Quo(n, new(big.Int).Lsh(b, 1))
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return model.Fixed(n.Int64())
}

func fraction(x model.Fixed) *big.Rat { return big.NewRat(int64(x), int64(model.One)) }

var (
	bigOne  = big.NewInt(int64(model.One))
	bigHalf = big.NewInt(int64(model.One / 2))
)

// product is (a*b + 1/2)/1, in units of 2^-32.
func product(a, b model.Fixed) model.Fixed {
	n := new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b)))
	n.Add(n, bigHalf).Quo(n, bigOne)
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return model.Fixed(n.Int64())
}

func quotient(a, b int64) model.Fixed { return nearestOf(big.NewInt(a), big.NewInt(b)) }

// lastPlace is own, or what the code has where that is the next number: the document leaves the last
// place of the logarithm and of the cosine open.
func lastPlace(own float64, code model.Fixed) model.Fixed {
	if off := math.Abs(math.Ldexp(own, model.FractionBits) - float64(code)); off > 0.53 {
		panic(fmt.Sprintf("%v is off by %v of its last place", code, off))
	}
	return code
}

// naiveWaitOf is f2: ln(1 + waited/reference).
func naiveWaitOf(waited, reference model.Duration) model.Fixed {
	return lastPlace(math.Log1p(float64(max(waited, 0))/float64(reference)), score.WaitOf(waited, reference))
}

// naivePenalty is 1 up to 80 % of the budget, 0.05 from 120 % on, and half a cosine between.
func naivePenalty(used model.Fixed) model.Fixed {
	own, u := 1., used.Float()
	switch {
	case u >= 1.2:
		own = .05
	case u > .8:
		own = .05 + .95*(1+math.Cos(math.Pi*(u-.8)/.4))/2
	}
	return lastPlace(own, score.Penalty(used))
}

// naiveShareOf is f3 of a tenant with a share: (e - usage)/e or 0.
func naiveShareOf(share, burst, usage, utilisation model.Fixed) model.Fixed {
	e := share
	room := new(big.Rat).Sub(big.NewRat(4, 5), fraction(utilisation))
	if b := burst - model.One; b > 0 && room.Sign() > 0 {
		e = product(share, model.One+product(b, nearest(room.Quo(room, big.NewRat(4, 5)))))
	}
	if usage >= e {
		return 0
	}
	return quotient(int64(e-usage), int64(e))
}

// naiveCheckpointOf is f8: 1/(1 + minutes).
func naiveCheckpointOf(kind model.Checkpoint, bytes, bandwidth int64) model.Fixed {
	switch {
	case kind == model.CheckpointNone:
		return 0
	case bytes > 0 && bandwidth > 0: // of bytes/(60 bandwidth) minutes
		perMinute := new(big.Int).Mul(big.NewInt(bandwidth), big.NewInt(60))
		return nearestOf(perMinute, new(big.Int).Add(perMinute, big.NewInt(bytes)))
	case kind == model.CheckpointAuto:
		return quotient(1, 1+5)
	}
	return quotient(1, 1+10)
}

// naiveTariff is a price from an instant on, as it is known beforehand.
type naiveTariff struct {
	from  model.Time
	price model.Fixed
}

// priceOf is the price that f7 counts for j: that of now or, if it is expected, the mean over the
// seconds that j has left, of those that begin at now, rounded down. Work without an end
// counts with a day.
func (s *naiveSite) priceOf(l *naiveVCluster, j *naiveJob, now model.Time) model.Fixed {
	if !l.policy.Expected || len(s.tariff) == 0 {
		return s.price
	}
	left := j.left
	if now.Add(left) == model.Never {
		left = model.Day
	}
	sum, n := model.Fixed(0), max(1, int64(left/model.Second))
	for k := range n {
		var price model.Fixed
		for _, t := range s.tariff {
			if t.from <= now.Add(model.Duration(k)*model.Second) {
				price = t.price
			}
		}
		sum += price
	}
	return sum / model.Fixed(n)
}

// naiveScore is what a score is made of that does not hang on the instant.
type naiveScore struct {
	sum, penalty model.Fixed
}

// scoreBut is the score of j but for its wait and the price.
func (s *naiveSite) scoreBut(l *naiveVCluster, j *naiveJob, f *naiveFrozen) naiveScore {
	r := s.row(j.Tenant)
	half := model.One / 2
	share := model.Fixed(0)
	switch {
	case s.tick.share[r] > 0:
		share = naiveShareOf(s.tick.share[r], s.tick.burst[r], s.tick.usage[r], s.tick.utilisation)
	case j.Tenant >= 0 || s.cfg.Quota.Unknown == quota.UnknownNeutral:
		share = half
	}
	topology := half
	if groups := int64(len(s.st.Groups)); groups > 0 {
		topology = model.One - quotient(int64(min(max(s.groupsNeeded(j), 1), int32(groups))), groups)
	}
	data := j.DataReady
	if data < 0 {
		data = half
	}
	backlog := model.Fixed(0)
	if f.running > 0 {
		backlog = min(model.One, quotient(f.queued, f.running))
	}
	w := &l.policy.Weights
	return naiveScore{
		product(w[score.Priority], quotient(int64(j.Class), 10)) +
			product(w[score.FairShare], share) +
			product(w[score.Topology], topology) +
			product(w[score.Data], data) +
			product(w[score.Backlog], backlog) +
			product(w[score.Checkpoint], naiveCheckpointOf(j.Checkpoint, j.CkptBytes, s.cfg.CheckpointBandwidth)) +
			product(w[score.Conformance], min(model.One, quotient(int64(s.largest(f.view, j)), int64(j.NodesMin)))),
		naivePenalty(s.tick.budget[r]),
	}
}

// scoreAt is the score of j if it were t, with everything but its wait and the price as it is.
func (s *naiveSite) scoreAt(l *naiveVCluster, j *naiveJob, t model.Time, rest naiveScore) model.Fixed {
	w := &l.policy.Weights
	return product(rest.penalty, rest.sum+
		product(w[score.Wait], naiveWaitOf(t.Sub(j.Submit), l.policy.Reference))+
		product(w[score.Energy], model.One-s.priceOf(l, j, t)))
}

// knowPrices makes all changes of the price known beforehand.
func (w *naiveWorld) knowPrices() {
	w.tariff = []naiveTariff{{0, w.cfg.Price}}
	for _, c := range w.changes {
		if c.fact.Kind == model.FactPrice {
			w.tariff = append(w.tariff, naiveTariff{c.at, model.Fixed(c.fact.Value)})
		}
	}
	slices.SortStableFunc(w.tariff, func(a, b naiveTariff) int { return cmp.Compare(a.from, b.from) })
	var at []model.Time
	var price []model.Fixed
	for _, t := range w.tariff {
		at, price = append(at, t.from), append(price, t.price)
	}
	w.cfg.Prices = site.NewPriceSeries(at, price)
}

// naive is the naive implementation of the core of w.
func (w *naiveWorld) naive() *naiveSite {
	s := newNaiveSite(w.cfg)
	s.tariff = w.tariff
	return s
}
