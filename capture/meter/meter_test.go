package meter_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/capture/meter"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
)

const noon = model.Time(1_795_003_200_000_000) // 2026-11-18 12:00:00 UTC

func TestFormats(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	for name, c := range map[string]struct {
		text, format string
		o            meter.Options
	}{
		"head":      {"time,watts\n11-18-2026 12:00:00.000,250\n11-18-2026 12:00:00.500,260.5\n,\n", "csv", meter.Options{}},
		"no head":   {"1795003200000000,250\n1795003200500000,260.5", "csv", meter.Options{}},
		"ms":        {"timestamp_ms;power [W]\n1795003200000;250\n1795003200500;260.5\n", "csv", meter.Options{}},
		"s":         {"t_time\tnode\tpower (kW)\n1795003200\tn1\t0.250\n1795003200.5\tn1\t0.2605\n", "csv", meter.Options{}},
		"from 0":    {"time,watts\n0,250\n0.5,260.5\n", "csv", meter.Options{Start: traces.Some(noon)}},
		"RFC 3339":  {"Timestamp,Sensor,PowerWatts\n2026-11-18T12:00:00Z,psu,250 W\n2026-11-18T13:00:00.5+01:00,psu,260.5 Watts\n", "csv", meter.Options{}},
		"local":     {"date,instantaneous power\n\"2026-11-18 13:00:00\",\"250\"\n\"2026-11-18 13:00:00.500\",\"260.5\"\n", "csv", meter.Options{Zone: zone}},
		"ptdaemon":  {"Time,11-18-2026 12:00:00.000,Watts,250,Volts,230,Amps,1,PF,0.9,Mark,notset\nTime,11-18-2026 12:00:00.500,Watts,260.5,Volts,230,Amps,1,PF,0.9,Mark,notset\n", "ptdaemon", meter.Options{}},
		"mlperf":    {":::MLLOG {\"key\": \"conversion_eff\", \"value\": 0.9, \"time_ms\": 1}\n:::MLLOG {\"time_ms\": 1795003200000, \"key\": \"power_reading\", \"value\": 250.0}\n:::MLLOG {\"time_ms\": 1795003200500, \"key\": \"power_reading\", \"value\": 260.5}\n", "mlperf", meter.Options{}},
		"cut off":   {"time,watts\n1795003200000000,250\n1795003200500000,260.5\n17950032", "csv", meter.Options{}},
		"backwards": {"time,watts\n1795003200000000,250\n1795003100000000,1\n1795003200500000,260.5\n", "csv", meter.Options{}},
		"unknown":   {"time,watts\n1795003200000000,250\n1795003200100000,N/A\n1795003200200000,1e300\n1795003200500000,260.5\n", "csv", meter.Options{}},
	} {
		r, err := meter.Parse([]byte(c.text), c.o)
		require.NoError(t, err, name)
		require.Equal(t, c.format, r.Format, name)
		require.Equal(t, []model.Time{noon, noon.Add(model.Second / 2)}, r.Times, name)
		require.InDeltaSlice(t, []float64{250, 260.5}, r.Watts, 1e-9, name)
		left := map[string]int64{"cut off": 1, "backwards": 1, "unknown": 2}[name]
		for _, l := range r.Left {
			left -= l.Count
		}
		require.Zero(t, left, "%s: %v", name, r.Left)
	}
}

func TestComplaints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "an empty file",
		"time,watts\n":              "0 readings",
		"time,watts\n5,250\n6,1\n":  "line 2, column time: found \"5\", expected a time since 1970; a clock that begins at 0 needs --meter-start",
		"time,watts\nnoon,250\n1,1": "line 2, column time: found \"noon\"",
		"time,watts\n1795003200000000,hot\n1,1\n":       "line 2, column watts: found \"hot\"",
		"time,watts\n1795003200000000,5 V\n1,1\n":       "line 2, column watts",
		"time,watts\n1795003200000000\n1,1\n":           "line 2: found",
		"a,b,c\n1,2,3\n":                                "line 1: found \"a,b,c\", expected a head",
		"time,watts\n1795003200000000,250\n":            "1 readings of power, expected two",
		"time,watts\n" + strings.Repeat("x", 1<<17):     "a line of 131072 bytes",
		":::MLLOG {\"key\": \"power_reading\", 5}\nx\n": "line 1: found",
		"Time,x,Watts,5,Volts,1\n\n":                    "line 1, column time",
		strings.Repeat("\x00", 36):                      "samples of a PMD",
	} {
		_, err := meter.Parse([]byte(text), meter.Options{})
		var data *traces.DataError
		require.ErrorAs(t, err, &data, "%.40q", text)
		require.ErrorContains(t, err, want)
	}
}

// record is one of a PMD: V and A of two connectors of PCIe, and of two of the processor.
func record(timer uint16, pairs [8]int16) []byte {
	b := binary.LittleEndian.AppendUint16(nil, timer)
	for _, v := range pairs {
		b = binary.LittleEndian.AppendUint16(b, uint16(v)<<4)
	}
	return b
}

func TestPMD(t *testing.T) {
	t.Parallel()
	var b []byte
	for i := range 200 {
		b = append(b, record(uint16(60_000+i*616), [8]int16{1600, 60, 1600, 120, 1600, 40, 1600, 20})...)
	}
	b = append(b, record(0, [8]int16{1600, -60, 1600, 120, 1600, 40, 1600, 20})[:9]...)
	r, err := meter.Parse(b, meter.Options{Start: traces.Some(noon)})
	require.NoError(t, err)
	require.Equal(t, "pmd", r.Format)
	require.Len(t, r.Times, 200)
	require.Equal(t, noon.Add(-50*model.Millisecond), r.Times[0])
	require.InDelta(t, 199*616/2934.5/1000, r.Times[199].Sub(r.Times[0]).Seconds(), 1e-5, "the timer began anew on its way")
	require.InDelta(t, 1600*0.007568*200*0.0488+1600*0.0075*40*0.0488, r.Watts[7], 1e-6)
	require.Equal(t, "last record, cut off", r.Left[0].Rule)

	negative := append(record(0, [8]int16{1600, -60, 1600, 120, 1600, 40, 0, 0}), record(616, [8]int16{1600, 60, 1600, 120, 1600, 40, 0, 0})...)
	r, err = meter.Parse(negative, meter.Options{Start: traces.Some(noon)})
	require.NoError(t, err)
	require.InDelta(t, 1600*0.007568*60*0.0488, r.Watts[1]-r.Watts[0], 1e-6, "a negative value is none")
}

func TestToggles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"timestamp\n1795003200000000\n1795003200000000\n1795003205000000\n1795003205000000\n",
		"1795003200000000\n1795003205000000",
		"\"timestamp\",what\n1795003200000000,on\n1795003200000400,off\n1795003205000000,on\n",
	} {
		got, err := meter.Toggles([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, []model.Time{noon, noon.Add(5 * model.Second)}, got)
	}
	for text, want := range map[string]string{
		"":                                     "0 instants",
		"timestamp\n":                          "0 instants",
		"1795003200000000\n":                   "1 instants",
		"a\nb\n":                               "line 2: found \"b\"",
		"1795003200000000\nx\n":                "line 2",
		"1795003200000000\n1795003100000000\n": "line 2: found \"1795003100000000\", expected an instant that is not before",
	} {
		_, err := meter.Toggles([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// TestAnyBytes: whatever a file holds, it is read or refused, and what is read is in order.
func TestAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.OneOf(
			rapid.StringMatching(`(time,watts\n)?([0-9./:TZ -]{0,24},[-0-9.eWk ]{0,8}\n){0,8}`),
			rapid.StringMatching(`(Time,[0-9: .-]{0,24},Watts,[0-9.]{0,6}\n){0,5}`),
			rapid.StringMatching(`(:::MLLOG \{"time_ms": [0-9]{0,16}, "key": "power_reading", "value": [0-9]{0,4}\}\n){0,4}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text"))
		if r, err := meter.Parse(text, meter.Options{Start: traces.Some(noon)}); err == nil {
			require.Len(t, r.Watts, len(r.Times))
			for i := 1; i < len(r.Times); i++ {
				require.Less(t, r.Times[i-1], r.Times[i], fmt.Sprint(i))
			}
		}
		_, _ = meter.Toggles(text)
	})
}
