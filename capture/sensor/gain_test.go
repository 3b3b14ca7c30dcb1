package sensor

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// TestRangesOfGainAndOffset: the ranges hold the planted ones in 95 % of times, though readings scatter by a share of the power, some are
// wild, neighbours may be alike, and a level may be seen for a short time. Wrong is a range of the gain as if all readings scattered alike,
// which is too narrow where those at full load are the fewer ones.
func TestRangesOfGainAndOffset(t *testing.T) {
	t.Parallel()
	const firstSeed, plantedGain, plantedOffset = 896_000_000, 0.95, 3
	for _, w := range []struct {
		idle, full            int // readings
		low, high             float64
		noise, wild, together float64
	}{
		{60, 25, 70, 500, 0.02, 0.05, 0}, {40, 20, 100, 400, 0.003, 0.03, 0}, {80, 60, 60, 300, 0.02, 0.1, 0.3}, {30, 12, 40, 250, 0.01, 0, 0},
		{20, 6, 70, 500, 0.02, 0, 0}, {20, 100, 70, 500, 0.02, 0.05, 0}, {200, 200, 60, 300, 0.02, 0.05, 0.5},
	} {
		gains, offsets, alike := 0, 0, 0
		for k := range uint64(records) {
			src := draw.New(firstSeed+k, draw.StreamOf("gains"), 0, 0)
			var pairs []pair
			noise := src.Normal()
			for i := range w.idle + w.full {
				power := w.low
				if i >= w.idle/2 && i < w.idle/2+w.full {
					power = w.high
				}
				power += src.Normal()
				noise = w.together*noise + math.Sqrt(1-w.together*w.together)*src.Normal()
				reading := (plantedGain*power + plantedOffset) * (1 + w.noise*noise)
				if src.Bool(w.wild) {
					reading *= 0.3 + 1.5*src.Float64()
				}
				pairs = append(pairs, pair{power, reading})
			}
			pairs = someOf(pairs)
			gain, offset := line(pairs)
			ofGain, ofOffset := ranges(pairs, gain, offset)
			if ofGain.Low <= plantedGain && plantedGain <= ofGain.High {
				gains++
			}
			if ofOffset.Low <= plantedOffset && plantedOffset <= ofOffset.High {
				offsets++
			}
			var off []float64
			mean, square := 0.0, 0.0
			for _, p := range pairs {
				off = append(off, math.Abs(p.reading-offset-gain*p.meter))
				mean += p.meter / float64(len(pairs))
			}
			for _, p := range pairs {
				square += (p.meter - mean) * (p.meter - mean)
			}
			if math.Abs(gain-plantedGain) <= 2*1.4826*median(off)/math.Sqrt(square) {
				alike++
			}
		}
		t.Logf("%+v: gain %.1f %%, offset %.1f %%; as if all scattered alike %.1f %%", w, share(gains), share(offsets), share(alike))
		for _, held := range []float64{share(gains), share(offsets)} {
			deviation := func(bar float64) float64 { return math.Sqrt(bar * (100 - bar) / float64(records)) }
			require.GreaterOrEqual(t, held, 93-2*deviation(93))
			require.LessOrEqual(t, held, 98+2*deviation(98))
		}
		if w.idle >= w.full {
			require.Less(t, share(alike), 85.0)
		}
	}
}

// Long asks for as many records as docs/CALIBRATION.md has the figures of.
var Long = os.Getenv("ORRERY_LONG") == "1"

var records = func() int {
	if Long {
		return 1000
	}
	return 100
}()

func share(n int) float64 { return 100 * float64(n) / float64(records) }
