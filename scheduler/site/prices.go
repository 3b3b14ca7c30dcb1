package site

import (
	"sort"

	"orrery/scheduler/model"
)

// PriceSeries is the price of energy over time, as it is known beforehand (a
// day-ahead market, a tariff). Each value holds from its instant to the next,
// the first one also before, the last one also after.
type PriceSeries struct {
	at    []model.Time
	price []model.Fixed
	sum   []int64 // of price times seconds from at[0] to at[i]
}

// NewPriceSeries takes instants in ascending order and the price from each on,
// 0 (cheapest) to 1. They must be of equal length and the caller keeps both
// unchanged.
func NewPriceSeries(at []model.Time, price []model.Fixed) PriceSeries {
	p := PriceSeries{at: at, price: price, sum: make([]int64, len(at))}
	for i := 1; i < len(at); i++ {
		p.sum[i] = p.sum[i-1] + int64(price[i-1])*seconds(at[i].Sub(at[i-1]))
	}
	return p
}

func seconds(d model.Duration) int64 { return int64(d / model.Second) }

// Mean is the mean price over [from, until) to the second, the price at from
// when that is shorter than a second, and now when the series is empty. An
// allocation without end counts with its first day.
func (p *PriceSeries) Mean(from, until model.Time, now model.Fixed) model.Fixed {
	if len(p.at) == 0 {
		return now
	}
	if until == model.Never {
		until = from.Add(unboundedWork)
	}
	n := seconds(until.Sub(from))
	if n < 1 {
		return p.price[p.index(from)]
	}
	return model.Fixed((p.integral(until) - p.integral(from)) / n)
}

// index is the value that holds at t.
func (p *PriceSeries) index(t model.Time) int {
	return max(0, sort.Search(len(p.at), func(i int) bool { return p.at[i] > t })-1)
}

// integral is price times seconds from the first instant to t, negative before.
func (p *PriceSeries) integral(t model.Time) int64 {
	i := p.index(t)
	return p.sum[i] + int64(p.price[i])*seconds(t.Sub(p.at[i]))
}

// unboundedWork is the time that services count with in the backlog; it is
// Lattice's.
const unboundedWork = 24 * model.Hour
