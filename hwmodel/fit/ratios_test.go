package fit

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/tools/refdata"
)

// runWorld is how runs of keys in two ways differ, whose ratio is 0.6 at the median: by a part
// between keys, of which each has up to so many runs of a minute to a day, and by a part between
// runs of a key. A share of the runs is wild, such as one beside a straggler.
type runWorld struct {
	keys               int
	between, run, wild float64
	most               int64
	law                law
}

func (w runWorld) draw(seed uint64) (out []Run) {
	for k := range w.keys {
		src := draw.New(seed, draw.StreamOf("planted runs"), uint64(k), 0)
		base := 60 * libm.Exp(7*src.Float64())
		ratio := plantedRatio * libm.Exp(w.between*w.law(&src))
		for way, level := range []float64{base, base * ratio} {
			for range 1 + src.IntN(w.most) {
				s := level * libm.Exp(w.run*src.Normal())
				if src.Bool(w.wild) {
					s *= 2 + src.Float64()
				}
				out = append(out, Run{k, way, s})
			}
		}
	}
	return out
}

const plantedRatio = 0.6

// TestRatiosOfRuns: intervals hold the planted ratio of times in 95 % of records, from five keys
// on. Wrong are the ratio of the medians of all runs, as keys differ in length, and an interval
// that takes runs as the unit.
func TestRatiosOfRuns(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		runWorld
		most float64 // covered: wild runs of keys that ran once widen it
	}{
		{runWorld{5, 0.08, 0.02, 0.05, 6, normal}, 97}, {runWorld{8, 0.08, 0.02, 0.05, 6, normal}, 97}, {runWorld{25, 0.08, 0.02, 0.05, 6, normal}, 97},
		{runWorld{6, 0.2, 0.05, 0.05, 6, normal}, 97}, {runWorld{40, 0.15, 0.02, 0.05, 30, heavy}, 97}, {runWorld{15, 0.08, 0.02, 0.1, 2, normal}, 98},
	} {
		held, asRuns := covered{}, covered{}
		off, offUnmatched := 0.0, 0.0
		for seed := range records {
			runs := w.draw(seed)
			f, err := Ratios(runs, 0)
			require.NoError(t, err)
			require.Len(t, f, 1)
			require.True(t, f[0].Ratio.Known())
			held.add("ratio", holds(f[0].Ratio.Band, plantedRatio))
			off += math.Abs(math.Log(f[0].Ratio.Value/plantedRatio)) / float64(seeds)
			var ways [2][]float64
			baseOf := map[int][]float64{}
			for _, r := range runs {
				ways[r.Way] = append(ways[r.Way], r.Seconds)
				if r.Way == 0 {
					baseOf[r.Key] = append(baseOf[r.Key], r.Seconds)
				}
			}
			offUnmatched += math.Abs(math.Log(Median(ways[1])/Median(ways[0])/plantedRatio)) / float64(seeds)
			var logs []float64
			for _, r := range runs {
				if r.Way == 1 {
					logs = append(logs, math.Log(r.Seconds/Median(baseOf[r.Key])))
				}
			}
			asRuns.add("runs as the unit", holds(ratio(logs).Band, plantedRatio))
		}
		t.Logf("%+v: off by %.1f %%, of unmatched medians %.0f %%", w.runWorld, 100*off, 100*offUnmatched)
		held.about(t, 93, w.most)
		require.Greater(t, offUnmatched, 3*off)
		if w.runWorld.most > 2 {
			asRuns.within(t, 0, 85)
		}
	}
}

// TestRobustRatios: a wild key in ten does not move the ratio out of its interval, as it does the
// plain mean.
func TestRobustRatios(t *testing.T) {
	logs := []float64{-0.52, -0.5, -0.49, -0.51, -0.53, -0.48, -0.5, -0.51, -0.49, 3}
	f := ratio(logs)
	require.True(t, f.Known())
	require.InDelta(t, libm.Exp(-0.5), f.Value, 0.02)
	require.Less(t, f.High, 0.63)
	require.Greater(t, libm.Exp(mean(logs)), 0.8)
}

func TestRatiosOfSeveralWays(t *testing.T) {
	var runs []Run
	for k := range 6 {
		runs = append(runs, Run{k, 2, 100}, Run{k, 0, 50}, Run{k, 0, 52})
		if k < 4 {
			runs = append(runs, Run{k, 5, 300})
		}
	}
	runs = append(runs, Run{9, 0, 1})
	f, err := Ratios(runs, 2)
	require.NoError(t, err)
	require.Len(t, f, 2)
	require.Equal(t, []int{0, 13, 1}, []int{f[0].Way, f[0].Runs, f[0].Single})
	require.Equal(t, 6, f[0].Ratio.N)
	require.InDelta(t, 0.51, f[0].Ratio.Value, 1e-12)
	require.Equal(t, Range{50, 100}, f[0].Ratio.Valid)
	require.InDelta(t, 5.0/7, f[0].Ratio.Share, 1e-12)
	require.ErrorContains(t, f[1].Ratio.Refused, "ratio of times: found 4 pairs of runs of the same work, want at least 5: run the same jobs in both ways")
	require.ErrorIs(t, f[1].Ratio.Refused, ErrTooFew)
	for _, bad := range []Run{{-1, 0, 1}, {0, -1, 1}, {0, 0, 0}, {0, 0, math.NaN()}, {0, 0, math.Inf(1)}} {
		_, err := Ratios([]Run{{0, 0, 1}, bad}, 0)
		require.ErrorContains(t, err, "run 1: found key")
	}
}

// TestRatiosOfGavel: jobs that ran on V100, P100 and K80 alike. The spread holds a job that was left
// out as often as it says. Wrong is the interval of the ratio, which is that of the average job.
func TestRatiosOfGavel(t *testing.T) {
	f, err := os.Open(refdata.Path(t, "traces", "gpu", "gavel", "simulation_throughputs.json.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var byType map[string]map[string]map[string]any
	require.NoError(t, json.NewDecoder(z).Decode(&byType))
	var runs []Run
	types := []string{"v100", "p100", "k80"}
	for way, name := range types {
		jobs := slices.Sorted(maps.Keys(byType["v100"]))
		for key, job := range jobs {
			if speed, is := byType[name][job]["null"].(float64); is && speed > 0 && strings.HasSuffix(job, ", 1)") {
				runs = append(runs, Run{key, way, 1 / speed})
			}
		}
	}
	all, err := Ratios(runs, 0)
	require.NoError(t, err)
	var ofSpread, ofInterval, left float64
	for _, r := range all {
		t.Logf("%s: time %.2f (%.2f to %.2f) of that on a V100 in %d jobs, 80 %% from %.2f to %.2f", types[r.Way], r.Ratio.Value, r.Ratio.Low, r.Ratio.High, r.Ratio.N, r.Ratio.Spread.Low, r.Ratio.Spread.High)
		for i, x := range r.Ratio.Of {
			logs := make([]float64, 0, r.Ratio.N)
			for j, y := range r.Ratio.Of {
				if i != j {
					logs = append(logs, math.Log(y))
				}
			}
			rest := ratio(logs)
			left++
			if x >= rest.Spread.Low && x <= rest.Spread.High {
				ofSpread++
			}
			if holds(rest.Band, x) {
				ofInterval++
			}
		}
	}
	t.Logf("%.0f left out: the spread holds %.0f %%, the interval %.0f %%", left, 100*ofSpread/left, 100*ofInterval/left)
	require.InDelta(t, 0.8, ofSpread/left, 0.1)
	require.Less(t, ofInterval/left, 0.6)
}
