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
func transfers(seed uint64, n int, least, most float64) (out []Transfer) {
	for i := range n {
		src := draw.New(seed, draw.StreamOf("transfers"), uint64(i), 0)
		bytes := least * libm.Exp(math.Log(most/least)*src.Float64())
		seconds := plantedLatency + bytes/plantedRate
		seconds += 0.05*bytes/plantedRate*src.Normal() + 0.3*src.Normal()
		if src.Bool(1.0 / 20) {
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

// TestBandwidthOfTransfers: rate and latency are in their intervals in 95 % of records. Wrong are
// bytes ÷ time, which takes the latency for bandwidth, and least squares, which busy times move.
func TestBandwidthOfTransfers(t *testing.T) {
	for _, n := range []int{20, 60} {
		held := covered{}
		quotient, off, offSquares := 0, 0.0, 0.0
		for seed := range uint64(seeds) {
			all := transfers(seed, n, 1e9, 200e9)
			f, err := Bandwidth(all)
			require.NoError(t, err)
			require.True(t, f.Rate.Known())
			held.add("rate", holds(f.Rate.Band, plantedRate))
			held.add("latency", holds(f.Latency.Band, plantedLatency))
			var x, y, rates []float64
			for _, a := range all {
				x, y, rates = append(x, a.Bytes), append(y, a.Seconds), append(rates, a.Bytes/a.Seconds)
			}
			if holds(middle(rates, "transfers").Band, plantedRate) {
				quotient++
			}
			off += math.Abs(f.Rate.Value/plantedRate-1) / seeds
			offSquares += math.Abs(1/leastSquares(x, y)/plantedRate-1) / seeds
		}
		t.Logf("%d transfers: off by %.1f %%, least squares %.1f %%; median of bytes ÷ time covers %.1f %%", n, 100*off, 100*offSquares, 100*float64(quotient)/seeds)
		t.Logf("latency: %.1f %%", 100*float64(held["latency"])/seeds)
		require.InDelta(t, 0.955, float64(held["latency"])/seeds, 0.025, "the interval of the latency is a little wide for few transfers")
		delete(held, "latency")
		held.within93to97(t)
		require.Less(t, quotient, seeds/2)
		require.Greater(t, offSquares, 2*off)
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
