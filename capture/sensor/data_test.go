package sensor_test

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture/meter"
	"orrery/capture/recorded"
	"orrery/capture/sensor"
	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
)

func unpacked(t *testing.T, elem ...string) []byte {
	t.Helper()
	f, err := os.Open(refdata.Path(t, append([]string{"traces", "telemetry", "nvml-sensor-truth"}, elem...)...))
	require.NoError(t, err)
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, errors.Join(err, f.Close()))
	return text
}

// benchmark are the readings of an RTX 3090 by column, a meter's beside it, and the load.
func benchmark(t *testing.T, name string) (columns map[string]sensor.Series, series sensor.Series, load []model.Time) {
	t.Helper()
	list, err := recorded.SMIPower(unpacked(t, name, "gpudata.csv.gz"), recorded.Options{})
	require.NoError(t, err)
	word, err := os.ReadFile(refdata.Path(t, "traces", "telemetry", "nvml-sensor-truth", name, "PMD_start_ts.txt"))
	require.NoError(t, err)
	start, err := strconv.ParseInt(strings.TrimSpace(string(word)), 10, 64)
	require.NoError(t, err)
	record, err := meter.Parse(unpacked(t, name, "PMD_data.bin.gz"), meter.Options{Start: traces.Some(model.Time(start))})
	require.NoError(t, err)
	load, err = meter.Toggles(unpacked(t, name, "timestamps.csv.gz"))
	require.NoError(t, err)
	series, columns = sensor.Series(record.Series), map[string]sensor.Series{}
	for _, s := range list {
		local := sensor.Series{Times: s.Times, Watts: s.Watts}
		shift, ok := sensor.FindShift(local, series, load)
		require.True(t, ok)
		require.Equal(t, model.Hour, shift.By, "British summer time")
		columns[s.Column] = local.Moved(shift.By)
	}
	return columns, series, load
}

// TestRTX3090 holds what is found to what is published of the card: renewed each 100 ms, the instant reading a mean over 99.6 to 100 ms, a
// gain of 0.948 and 0.943 on two drivers.
func TestRTX3090(t *testing.T) {
	t.Parallel()
	fast, series, load := benchmark(t, "5050_3090")
	for column, readings := range fast {
		r := analyse(t, sensor.Input{Readings: readings, Meter: series, Load: load})
		require.InEpsilon(t, 0.1, r.Period, 0.02, column)
		require.Contains(t, strings.Join(r.Warnings, "\n"), "aliasing: the load has a period of 99.4 ms", column)
		within(t, &r.Energy)

		blind := analyse(t, sensor.Input{Readings: readings, Load: load})
		blind.Energy.Meter = r.Energy.Meter
		within(t, &blind.Energy)
		known := analyse(t, sensor.Input{Readings: readings, Load: load, Kind: sensor.KindOf(column, "NVIDIA GeForce RTX 3090", "535.54.03")})
		known.Energy.Meter = r.Energy.Meter
		within(t, &known.Energy)
		t.Logf("%s: %.1f ms of %.1f ms, raw %+.2f %%, corrected %+.2f %%; without a meter %.0f to %.0f J, the card known %.0f to %.0f, by the meter %.0f", column, 1000*r.Window, 1000*r.Period,
			100*(r.Energy.Raw/r.Energy.Meter-1), 100*(r.Energy.Corrected/r.Energy.Meter-1), blind.Energy.Band.Low, blind.Energy.Band.High, known.Energy.Band.Low, known.Energy.Band.High, r.Energy.Meter)
	}
	r := analyse(t, sensor.Input{Readings: fast["power.draw.instant"], Meter: series, Load: load})
	require.True(t, r.Identified)
	require.InEpsilon(t, 0.0998, r.Window, 0.03)
	require.Less(t, r.WindowRange.High-r.WindowRange.Low, 0.005)
	require.InDelta(t, 0.951, r.Gain, 0.006)
	require.InDelta(t, 0, r.Offset, 2)
	require.InDelta(t, r.Energy.Meter, r.Energy.Corrected, 0.005*r.Energy.Meter)
	require.InDelta(t, r.All.Meter, r.All.Corrected, 0.005*r.All.Meter)
	require.Less(t, r.Energy.Raw, 0.96*r.Energy.Meter, "which the raw one is not")

	slow, series, load := benchmark(t, "3090_TR")
	for column, readings := range slow {
		r := analyse(t, sensor.Input{Readings: readings, Meter: series, Load: load})
		require.InEpsilon(t, 0.1, r.Period, 0.02, column)
		require.InDelta(t, 0.951, r.Gain, 0.006, column)
		require.InDelta(t, r.Energy.Meter, r.Energy.Corrected, 0.01*r.Energy.Meter, column)
		within(t, &r.Energy)
		if column != "power.draw.instant" {
			require.InEpsilon(t, 1.1, r.Window, 0.05, column)
			continue
		}
		require.False(t, r.Identified, "steps of seconds do not tell a window of 100 ms")
		require.Contains(t, strings.Join(r.Warnings, "\n"), "the window is ambiguous")
		require.LessOrEqual(t, r.WindowRange.Low, 0.0996)
		require.GreaterOrEqual(t, r.WindowRange.High, 0.1)
	}
}

// TestPlantedOnTheMeter plants sensors on the meter's series under the fast load of the card, which has one period near theirs.
func TestPlantedOnTheMeter(t *testing.T) {
	t.Parallel()
	_, series, load := benchmark(t, "5050_3090")
	for _, p := range []planted{nvidia(0.1, 0.025), nvidia(0.073, 0.04), nvidia(0.1, 0.1), nvidia(0.08, 0.25), nvidia(0.1, 1)} {
		records := 3
		if sensor.Long {
			records = 12
		}
		for k := range uint64(records) {
			seed := firstSeed + k
			p.lag = float64(k)*0.144/float64(records) - 0.05
			r := analyse(t, sensor.Input{Readings: p.read(series, seed), Meter: series, Load: load})
			require.InEpsilon(t, p.period, r.Period, 0.02)
			if r.Identified {
				require.InEpsilon(t, p.window, r.Window, 0.1, "window %v seed %d", p.window, seed)
			}
			if p.window < 0.03 {
				require.False(t, r.Identified, "window %v seed %d: the load and the sensor are half a period apart in all", p.window, seed)
				require.Contains(t, strings.Join(r.Warnings, "\n"), "aliasing")
			}
			claims(t, r)
		}
	}

	_, series, load = benchmark(t, "3090_TR")
	for seed := uint64(firstSeed); seed < firstSeed+4; seed++ {
		p := nvidia(0.1, 0.025)
		r := analyse(t, sensor.Input{Readings: p.read(series, seed), Meter: series, Load: load})
		require.False(t, r.Identified)
		require.InDelta(t, p.gain, r.Gain, 0.005)
		require.InDelta(t, r.Energy.Meter, r.Energy.Corrected, 0.01*r.Energy.Meter)
	}
}
