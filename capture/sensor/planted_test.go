package sensor_test

import (
	"math"
	"sort"

	"orrery/capture/sensor"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

const day = model.Time(1_790_000_000_000_000)

// planted is a sensor whose truth is known.
type planted struct {
	period, window, lag float64 // s
	gain, offset, noise float64 // 1, W, share
	outliers, gaps      float64 // shares of the renewals and of the polls
	poll                float64 // s
	stampsAhead         float64 // s
}

func nvidia(period, window float64) planted {
	return planted{period: period, window: window, lag: 0.02, gain: 0.95, offset: 3, noise: 0.003, poll: 0.0066}
}

// integral is that of a series up to an instant, each sample held until the next.
func integral(s sensor.Series) func(model.Time) float64 {
	sums := make([]float64, len(s.Times))
	for i := 1; i < len(s.Times); i++ {
		sums[i] = sums[i-1] + s.Watts[i-1]*s.Times[i].Sub(s.Times[i-1]).Seconds()
	}
	return func(t model.Time) float64 {
		i := max(sort.Search(len(s.Times), func(i int) bool { return s.Times[i] > t })-1, 0)
		return sums[i] + s.Watts[i]*t.Sub(s.Times[i]).Seconds()
	}
}

// read is what the sensor says of a meter's series, polled and stamped in ms as nvidia-smi does.
func (p planted) read(meter sensor.Series, seed uint64) sensor.Series {
	joules := integral(meter)
	rng := draw.New(seed, draw.StreamOf("planted"), 0, 0)
	var out sensor.Series
	first, span := meter.Times[0], meter.Times[len(meter.Times)-1].Sub(meter.Times[0]).Seconds()
	phase := rng.Float64() * p.period
	value, renewed := 0.0, int64(-1)
	for now := 0.0; now < span; now += p.poll * (0.85 + 0.3*rng.Float64()) {
		if k := int64(math.Floor((now - phase) / p.period)); k != renewed {
			renewed = k
			end := first.Add(model.Duration((phase + float64(k)*p.period - p.lag) * 1e6))
			begin := end.Add(-model.Duration(p.window * 1e6))
			normal := math.Sqrt(-2*math.Log(1-rng.Float64())) * math.Cos(2*math.Pi*rng.Float64())
			value = (p.gain*(joules(end)-joules(begin))/end.Sub(begin).Seconds() + p.offset) * (1 + p.noise*normal)
			if rng.Float64() < p.outliers {
				value *= 0.3 + 1.5*rng.Float64()
			}
			value = math.Round(value*100) / 100
		}
		if rng.Float64() < p.gaps {
			now += 0.8
			continue
		}
		out.Add(first.Add(model.Duration(now*1e3)*1000).Add(model.Duration(p.stampsAhead*1e6)), value)
	}
	return out
}

// gpu is a card whose power steps between two levels, follows a load within some steps of 0.5 ms and wanders.
type gpu struct{ idle, full, follow, wander float64 }

var steady = gpu{idle: 100, full: 400, follow: 0.15}

// card is that of a steady card.
func card(first, last, length float64, seed uint64) (meter sensor.Series, load []model.Time) {
	return steady.card(first, last, length, seed)
}

// card is the series of a meter at 2 kHz: 3 s idle, 3 s at full load, a second idle, then a load of half on and half off whose period
// goes from first to last over a time, and 3 s idle.
func (g gpu) card(first, last, length float64, seed uint64) (meter sensor.Series, load []model.Time) {
	rng := draw.New(seed, draw.StreamOf("card"), 0, 0)
	load = []model.Time{day.Add(3 * model.Second), day.Add(6 * model.Second)}
	at := 7.0
	for at < 7+length {
		half := first * math.Pow(last/first, (at-7)/length) / 2
		load = append(load, day.Add(model.Duration(at*1e6)), day.Add(model.Duration((at+half)*1e6)))
		at += 2 * half
	}
	power, wander, i := g.idle, 0.0, 0
	for t := day; t < day.Add(model.Duration((at+3)*1e6)); t = t.Add(500) {
		for i < len(load) && load[i] <= t {
			i++
		}
		target := g.idle + (g.full-g.idle)*float64(i%2)
		power += (target - power) * g.follow
		wander = 0.9995*wander + 0.03*(rng.Float64()-0.5)
		meter.Add(t, power*(1+g.wander*wander)+4*(rng.Float64()-0.5))
	}
	return meter, load
}
