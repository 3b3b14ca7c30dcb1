package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// transfers take 2 s and a second for each 5 GB, with noise of 5 % and 0.3 s; one in twenty
// meets a busy store.
func transfers(seed uint64, n int, least, most float64) []Transfer {
	return store{n: n, least: least, most: most, part: 0.05, busy: 0.05, law: normal}.draw(seed)
}

// store is where transfers of some sizes go.
type store struct {
	n                 int
	least, most       float64 // bytes
	part, busy, alike float64 // noise, share of transfers that take three times as long, correlation of the noise in time
	sizes             int     // of transfers, 0 for any
	law               law
}

func (w store) draw(seed uint64) (out []Transfer) {
	src := draw.New(seed, draw.StreamOf("transfers"), uint64(w.n), 0)
	level := src.Normal()
	for range w.n {
		u := src.Float64()
		if w.sizes > 0 {
			u = float64(src.IntN(int64(w.sizes))) / float64(w.sizes-1)
		}
		bytes := w.least * libm.Exp(math.Log(w.most/w.least)*u)
		level = w.alike*level + math.Sqrt(1-w.alike*w.alike)*w.law(&src)
		seconds := plantedLatency + bytes/plantedRate + w.part*bytes/plantedRate*level + 0.3*src.Normal()
		if src.Bool(w.busy) {
			seconds *= 3
		}
		out = append(out, Transfer{bytes, max(0.1, seconds)})
	}
	return out
}

const (
	plantedRate    = 5e9
	plantedLatency = 2.0
)

// TestBandwidthOfTransfers: rate and latency are in their intervals in 95 % of records. That of the
// latency is wide, as it is the line far from most transfers. Wrong are bytes ÷ time, which takes
// the latency for bandwidth, least squares, which busy times move, and intervals as if transfers
// that follow each other were independent.
func TestBandwidthOfTransfers(t *testing.T) {
	t.Parallel()
	for _, w := range []store{
		{n: 20, least: 1e9, most: 200e9, part: 0.05, busy: 0.05, law: normal},
		{n: 60, least: 1e9, most: 200e9, part: 0.05, busy: 0.05, law: normal},
		{n: 12, least: 1e9, most: 200e9, part: 0.1, busy: 0.1, law: normal},
		{n: 40, least: 2e9, most: 80e9, part: 0.1, busy: 0.05, sizes: 2, law: normal},
		{n: 40, least: 1e9, most: 200e9, part: 0.1, law: heavy},
		{n: 100, least: 1e9, most: 200e9, part: 0.1, alike: 0.5, law: normal},
		{n: 200, least: 1e9, most: 200e9, part: 0.05, busy: 0.05, law: normal},
	} {
		rate, latency, quotient, apart := covered{}, covered{}, covered{}, covered{}
		off, offSquares, known := 0.0, 0.0, 0
		for seed := range records {
			if w.n > 100 && seed%4 > 0 {
				continue
			}
			all := w.draw(seed)
			f, err := Bandwidth(all)
			require.NoError(t, err)
			if !f.Rate.Known() || !f.Latency.Known() {
				require.LessOrEqual(t, w.n, 20, "few transfers may not tell it")
				continue
			}
			known++
			rate.add("rate", holds(f.Rate.Band, plantedRate))
			latency.add("latency", holds(f.Latency.Band, plantedLatency))
			var x, y, rates []float64
			for _, a := range all {
				x, y, rates = append(x, a.Bytes), append(y, a.Seconds), append(rates, a.Bytes/a.Seconds)
			}
			quotient.add("bytes ÷ time", holds(middle(rates, "transfers").Band, plantedRate))
			off += math.Abs(f.Rate.Value/plantedRate - 1)
			offSquares += math.Abs(1/leastSquares(x, y)/plantedRate - 1)
			if w.alike > 0 {
				l, _ := theilSen(x, y)
				apart.add("rate, as if independent", holds(l.slope, 1/plantedRate))
			}
		}
		require.Greater(t, known, seeds/5)
		t.Logf("%+v: off by %.1f %%, least squares %.1f %%", w, 100*off/float64(known), 100*offSquares/float64(known))
		rate.about(t, 93, 97)
		latency.about(t, 93, 100)
		quotient.within(t, 0, 75)
		if w.busy > 0 && w.n >= 20 {
			require.Greater(t, offSquares, 2*off)
		}
		if w.alike > 0 {
			apart.within(t, 0, 92)
		}
	}
}

func leastSquares(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx float64
	for i := range x {
		xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
	}
	return xy / xx
}

func TestRefusedBandwidth(t *testing.T) {
	f, err := Bandwidth(transfers(1, 9, 1e9, 1e11))
	require.NoError(t, err)
	require.ErrorContains(t, f.Rate.Refused, "bandwidth: found 9 transfers, want at least 10")
	require.ErrorIs(t, f.Latency.Refused, ErrTooFew)
	f, err = Bandwidth(transfers(1, 40, 1e11, 1.5e11))
	require.NoError(t, err)
	require.True(t, f.Rate.Known())
	require.Less(t, f.Rate.Value, 5e9, "the latency is in it")
	require.ErrorContains(t, f.Latency.Refused, "want sizes that differ by a factor of 2")
	require.GreaterOrEqual(t, f.Rate.Valid.Low, 1e11)
	var flat []Transfer
	for i := range 30 {
		flat = append(flat, Transfer{1e9 * float64(1+i), 10 + float64(i%3)})
	}
	f, err = Bandwidth(flat)
	require.NoError(t, err)
	require.ErrorContains(t, f.Rate.Refused, "do not grow with the bytes")
	many, err := Bandwidth(transfers(1, 3500, 1e9, 2e11))
	require.NoError(t, err)
	require.InEpsilon(t, plantedRate, many.Rate.Value, 0.02)
	for _, bad := range []Transfer{{0, 1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		_, err := Bandwidth([]Transfer{{1, 1}, bad})
		require.ErrorContains(t, err, "transfer 1: found ")
	}
}
