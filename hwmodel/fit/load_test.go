package fit

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
	"orrery/tools/refdata"
)

// wallPower are readings of a node of 8 H200 at the wall by load: eleven runs of MLPerf inference.
func wallPower(t *testing.T) (names []string, runs [][]Sample) {
	t.Helper()
	dir := refdata.Path(t, "traces", "telemetry", "mlperf-inference-v4.1", "h200x8-maxq-wall-power")
	files, err := filepath.Glob(filepath.Join(dir, "*.csv.gz"))
	require.NoError(t, err)
	slices.Sort(files)
	for _, path := range files {
		f, err := os.Open(path)
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		rows, err := csv.NewReader(z).ReadAll()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		var run []Sample
		for _, row := range rows[1:] {
			if row[0] == "" { // the last line
				continue
			}
			at, err := time.Parse("01-02-2006 15:04:05.000", row[0])
			require.NoError(t, err)
			watts, err := strconv.ParseFloat(row[1], 64)
			require.NoError(t, err)
			run = append(run, Sample{at.UnixMicro(), watts})
		}
		names, runs = append(names, filepath.Base(path)), append(runs, run)
	}
	require.Len(t, runs, 11)
	return names, runs
}

// TestEnergyOfLoads: load and rest by their powers give the energy at the wall. Wrong is the mean
// active power for the whole time.
func TestEnergyOfLoads(t *testing.T) {
	names, runs := wallPower(t)
	within, active := 0, make([]float64, len(runs))
	for i, run := range runs {
		f, err := Load(run)
		require.NoError(t, err)
		require.True(t, f.Active.Known(), names[i])
		off := f.Modelled/f.Recorded - 1
		wrong := f.Active.Value*(f.AtLoad+f.AtRest).Seconds()/f.Recorded - 1
		t.Logf("%s: %.0f W (%.0f to %.0f) for %v, %.0f W (%.0f to %.0f) for %v, %d rises; energy %+.2f %%, mean active power × time %+.1f %%", names[i],
			f.Active.Value, f.Active.Low, f.Active.High, f.AtLoad, f.Low.Value, f.Low.Low, f.Low.High, f.AtRest, f.Rises, 100*off, 100*wrong)
		require.Less(t, math.Abs(off), 0.015, names[i])
		if math.Abs(off) < 0.01 {
			within++
		}
		require.Greater(t, wrong, 0.04, "%s: the wrong model fails", names[i])
		active[i] = f.Active.Value
	}
	require.GreaterOrEqual(t, within, 10)
	inRange := 0
	var errs []float64
	for i := range active {
		others := slices.Delete(slices.Clone(active), i, i+1)
		f := OtherWork("power at load of "+names[i], others, "loads")
		require.ErrorContains(t, f.Refused, "found 10 loads of other work, want a measurement of this work")
		require.False(t, f.Known())
		require.Zero(t, f.Value)
		if active[i] >= f.Spread.Low && active[i] <= f.Spread.High {
			inRange++
		}
		errs = append(errs, math.Abs(Median(others)/active[i]-1))
	}
	all := OtherWork("power at load of another model", active, "loads")
	t.Logf("another load: %.0f to %.0f W with the share %.2f, holds %d of 11 left out; the median of the others is off by %.1f %%, at most %.1f %%",
		all.Spread.Low, all.Spread.High, all.Share, inRange, 100*Median(errs), 100*slices.Max(errs))
	require.GreaterOrEqual(t, inRange, 7)
	require.Greater(t, slices.Max(errs), 0.15, "the wrong model")
}

// TestPlantedLoads: the intervals of both powers hold the truth where noise depends on what was
// before it.
func TestPlantedLoads(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		length, at  int64 // s
		r           float64
		law         law
		least, most float64
	}{
		{900, 600, 0.5, normal, 93, 97}, {900, 600, 0.5, heavy, 93, 97}, {150, 80, 0.6, normal, 93, 99}, {600, 400, 0.9, normal, 93, 99},
		{900, 600, 0.98, normal, 80, 96}, // 50 s, where the load and the rest last 10 and 5 minutes: too few to tell
	} {
		held, readings := covered{}, covered{}
		for seed := range records {
			src := draw.New(seed, draw.StreamOf("planted load"), uint64(w.length), 0)
			var run []Sample
			var atLoad []float64
			drift := 20 / math.Sqrt(1-w.r*w.r) * src.Normal()
			from := (w.length - w.at) / 3
			for i := range w.length {
				drift = w.r*drift + 20*w.law(&src)
				watts := 2400.0
				if i > from && i <= from+w.at {
					watts = 6000
					atLoad = append(atLoad, watts+drift)
				}
				run = append(run, Sample{i * 1_000_000, watts + drift})
			}
			f, err := Load(run)
			require.NoError(t, err)
			require.Equal(t, 1, f.Rises)
			require.InDelta(t, w.at, f.AtLoad.Seconds(), 1e-6)
			held.add("active", holds(f.Active.Band, 6000))
			held.add("low", holds(f.Low.Band, 2400))
			readings.add("readings taken as independent", holds(average(atLoad, "readings").Band, 6000))
		}
		t.Logf("%d s of %d s, r %.2f", w.at, w.length, w.r)
		held.about(t, w.least, w.most)
		readings.within(t, 0, 80)
	}
}

func TestRefusedLoads(t *testing.T) {
	flat := make([]Sample, 100)
	for i := range flat {
		flat[i] = Sample{int64(i) * 1_000_000, 500 + float64(i%7)}
	}
	f, err := Load(flat[:39])
	require.NoError(t, err)
	require.ErrorIs(t, f.Active.Refused, ErrTooFew)
	f, err = Load(flat)
	require.NoError(t, err)
	require.ErrorContains(t, f.Low.Refused, "want two levels that differ by a fifth")
	for i := range 94 {
		flat[i].Watts = 2000
	}
	f, err = Load(flat)
	require.NoError(t, err)
	require.ErrorContains(t, f.Low.Refused, "found 6 readings of one of them")
	for _, bad := range []Sample{{1_500_000, math.NaN()}, {1_500_000, -1}, {0, 5}} {
		_, err := Load([]Sample{flat[0], flat[1], bad})
		require.ErrorContains(t, err, "reading 2: found ")
	}
	slight := make([]Sample, 600)
	for i := range slight {
		watts := 2400 + float64(i%7)
		if i >= 100 && i < 500 {
			watts = 3300 + float64(i)
		}
		slight[i] = Sample{int64(i) * 1_000_000, watts}
	}
	f, err = Load(slight)
	require.NoError(t, err)
	require.InDelta(t, 400, f.AtLoad.Seconds(), 1e-6, "a load of 1.4 times the rest")
	require.Greater(t, f.Active.High-f.Active.Low, 300.0, "a load that climbs by 400 W is not ten independent tenths of it")
	few := OtherWork("power", []float64{1, 2}, "loads")
	require.InDelta(t, 1.0/3, few.Share, 1e-12)
	require.Equal(t, Range{1, 2}, few.Spread)
	require.False(t, few.Known())
	require.Zero(t, OtherWork("power", []float64{1}, "loads").Share)
}
