package recorded_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
)

const csvText = `timestamp, index, uuid, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw.average [W], power.draw [W], temperature.gpu, clocks.current.sm [MHz], clocks.current.memory [MHz], clocks_event_reasons.active, remapped_rows.correctable, remapped_rows.uncorrectable, ecc.errors.uncorrected.aggregate.total
2026/07/03 22:11:09.763, 0, GPU-a, 100 %, 7 %, 32362 MiB, [N/A], 627.40 W, 52, 1980 MHz, 3201 MHz, 0x0000000000000004, 1, 2, 0
2026/07/03 22:11:09.765, 1, GPU-b, [N/A], [N/A], 1 MiB, 80.00 W, 81.00 W, [Requested functionality has been deprecated], 345 MHz, 3201 MHz, 0x0000000000000001, 0, 0, [N/A]
`

func TestSMICSV(t *testing.T) {
	rows, err := recorded.SMICSV([]byte(csvText), recorded.Options{Node: "n1"})
	require.NoError(t, err)
	at := time.Date(2026, 7, 3, 22, 11, 9, 763e6, time.UTC).UnixMicro()
	require.Equal(t, []traces.Telemetry{
		{Node: "n1", GPU: traces.Some[int32](0), Time: model.Time(at), SMUtil: traces.Some(1.0), MemUtil: traces.Some(0.07), MemUsed: traces.Some(int64(32362 << 20)), Power: traces.Some(627.4),
			Temperature: traces.Some(52.0), SMClock: traces.Some[int32](1980), MemClock: traces.Some[int32](3201), Throttle: traces.Some[int64](4), RetiredPages: traces.Some[int64](3), ECCUncorrected: traces.Some[int64](0)},
		{Node: "n1", GPU: traces.Some[int32](1), Time: model.Time(at + 2000), MemUsed: traces.Some(int64(1 << 20)), Power: traces.Some(80.0),
			SMClock: traces.Some[int32](345), MemClock: traces.Some[int32](3201), Throttle: traces.Some[int64](1), RetiredPages: traces.Some[int64](0)},
	}, rows)
}

func TestTextsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		parse      recorded.Parser
		text, says string
	}{
		{recorded.SMICSV, "a,b\n1,2\n", "the first line of nvidia-smi"},
		{recorded.SMICSV, strings.Replace(csvText, "627.40 W", "627.40 horses", 1), "power.draw"},
		{recorded.SMICSV, strings.Replace(csvText, "2026/07/03 22:11:09.763", "yesterday", 1), "timestamp"},
		{recorded.SMICSV, csvText + "1,2\n", "2 cells"},
		{recorded.SMIQuery, "hello\n", "nvidia-smi -q"},
		{recorded.Exposition, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} many\n", "a number"},
		{recorded.Exposition, "{}\n", "text format of Prometheus"},
		{recorded.AMD, "[{\"usage\":{}}]", "the index of the GPU"},
		{recorded.AMD, "gpu 0", "amd-smi"},
	} {
		_, err := c.parse([]byte(c.text), recorded.Options{At: traces.Some(model.Time(0))})
		var data *traces.DataError
		require.ErrorAs(t, err, &data, c.text)
		require.ErrorContains(t, err, c.says)
	}
}

const metricsText = `# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100",Hostname="n7"} 12
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA \"H100\"",Hostname="n7"} 96
DCGM_FI_PROF_SM_ACTIVE{gpu="0",Hostname="n7"} 0.731
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",Hostname="n7"} 0.25
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",Hostname="n7"} 0.5
DCGM_FI_DEV_POWER_VIOLATION{gpu="0",Hostname="n7"} 123456789
DCGM_FI_DEV_THERMAL_VIOLATION{gpu="0",Hostname="n7"} 0
DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{gpu="0",Hostname="n7"} 1
DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL{gpu="0",Hostname="n7"} 20
DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{gpu="0",Hostname="n7"} 300
DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL{gpu="0",Hostname="n7"} 4000
DCGM_FI_DEV_FB_USED{gpu="0",Hostname="n7"} 40960
DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n7"} 612.5
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",Hostname="n7"} 123456789
DCGM_FI_DEV_GPU_UTIL{gpu="0",GPU_I_ID="1",GPU_I_PROFILE="1g.10gb",Hostname="n7"} 50
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",Hostname="n7"} 9223372036854775794
node_hwmon_power_average_watt{chip="acpi",sensor="power1"} 1200
node_hwmon_power_average_watt{chip="acpi",sensor="power2"} 900.5
node_load1 3
`

func TestExposition(t *testing.T) {
	rows, err := recorded.Exposition([]byte(metricsText), recorded.Options{Node: "other", At: traces.Some(model.Time(5))})
	require.NoError(t, err)
	require.Equal(t, []traces.Telemetry{
		{Node: "n7", GPU: traces.Some[int32](0), Time: 5, SMUtil: traces.Some(0.96), SMActive: traces.Some(0.731), MemUsed: traces.Some(int64(40 << 30)), Power: traces.Some(612.5), Energy: traces.Some[int64](123456789),
			TensorActive: traces.Some(0.25), DRAMActive: traces.Some(0.5), PowerViolation: traces.Some[int64](123457), ThermalViolation: traces.Some[int64](0), NVLinkErrors: traces.Some[int64](4321)},
		{Node: "n7", GPU: traces.Some[int32](1), Time: 5, SMUtil: traces.Some(0.12)},
		{Node: "other", Time: 5, Power: traces.Some(2100.5)},
	}, rows)
}

func TestPrometheus(t *testing.T) {
	const text = `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0","Hostname":"n7"},"values":[[1795000000,"300.5"],[1795000015.5,"310"]]},
		{"metric":{"__name__":"DCGM_FI_PROF_SM_ACTIVE","gpu":"0","Hostname":"n7"},"values":[[1795000015.5,"0.25"]]}]}}`
	rows, err := recorded.Prometheus([]byte(text), recorded.Options{})
	require.NoError(t, err)
	require.Equal(t, []traces.Telemetry{
		{Node: "n7", GPU: traces.Some[int32](0), Time: 1795000000e6, Power: traces.Some(300.5)},
		{Node: "n7", GPU: traces.Some[int32](0), Time: 1795000015.5e6, Power: traces.Some(310.0), SMActive: traces.Some(0.25)},
	}, rows)
	_, err = recorded.Prometheus([]byte(`{"status":"error","error":"bad_data"}`), recorded.Options{})
	require.ErrorContains(t, err, "bad_data")
}

// The shape is that of the documentation of amd-smi; no such GPU was to be had.
func TestAMD(t *testing.T) {
	const text = `[{"gpu": 0, "usage": {"gfx_activity": {"value": 87, "unit": "%"}, "umc_activity": {"value": "N/A", "unit": "%"}},
		"power": {"socket_power": {"value": 642, "unit": "W"}}, "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}}, "mem_0": {"clk": {"value": 900, "unit": "MHz"}}},
		"temperature": {"hotspot": {"value": 71, "unit": "C"}, "mem": {"value": 55, "unit": "C"}}, "mem_usage": {"used_vram": {"value": 1024, "unit": "MB"}},
		"energy": {"total_energy_consumption": {"value": 12.5, "unit": "J"}}, "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": "N/A"}}]`
	want := []traces.Telemetry{{Node: "n1", GPU: traces.Some[int32](0), Time: 9, SMUtil: traces.Some(0.87), Power: traces.Some(642.0), SMClock: traces.Some[int32](2100), MemClock: traces.Some[int32](900),
		Temperature: traces.Some(71.0), MemTemperature: traces.Some(55.0), MemUsed: traces.Some(int64(1 << 30)), Energy: traces.Some[int64](12500), ECCCorrected: traces.Some[int64](3)}}
	rows, err := recorded.AMD([]byte(text), recorded.Options{Node: "n1", At: traces.Some(model.Time(9))})
	require.NoError(t, err)
	require.Equal(t, want, rows)
	rows, err = recorded.AMD([]byte(`{"gpu_data": `+text+`}`), recorded.Options{Node: "n1", At: traces.Some(model.Time(9))})
	require.NoError(t, err)
	require.Equal(t, want, rows)
}

// section is what stands below a heading of a capture.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, "# "+heading)
	_, rest, _ = strings.Cut(rest, "####\n")
	rest, _, _ = strings.Cut(rest, "\n####")
	return strings.TrimSpace(rest) + "\n"
}

// Of every capture of real GPUs, CSV and -q of one moment say the same, as far as both say it.
func TestCapturesOfRealGPUs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(refdata.Path(t, "traces", "telemetry", "nvidia-smi-captures"), "*.txt.gz"))
	require.NoError(t, err)
	read := 0
	for _, path := range files {
		f, err := os.Open(path)
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		all, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		text := strings.ReplaceAll(string(all), "\r\n", "\n")
		for _, state := range []string{"idle", "load"} {
			if !strings.Contains(text, "# "+state+" :: query (-q)") {
				continue
			}
			byQ, err := recorded.SMIQuery([]byte(section(text, state+" :: query (-q)")), recorded.Options{Node: "n1"})
			require.NoError(t, err, path)
			byCSV, err := recorded.SMICSV([]byte(section(text, state+" :: query-gpu (csv")), recorded.Options{Node: "n1"})
			require.NoError(t, err, path)
			require.Len(t, byQ, len(byCSV), path)
			for i := range byQ {
				q, c := byQ[i], byCSV[i]
				require.InDelta(t, float64(q.Time), float64(c.Time), 10e6, "%s %s", path, state)
				require.Equal(t, q.GPU, c.GPU)
				require.Equal(t, q.Power.OK, c.Power.OK, "%s %s", path, state)
				require.Equal(t, q.SMUtil.OK, c.SMUtil.OK)
				require.Equal(t, q.Temperature.OK, c.Temperature.OK)
				require.Equal(t, q.RetiredPages, c.RetiredPages)
				require.InDelta(t, float64(q.MemUsed.V), float64(c.MemUsed.V), 1<<32, "%s %s", path, state)
				require.True(t, q.Throttle.OK && c.Throttle.OK)
				read++
			}
		}
	}
	require.GreaterOrEqual(t, read, 6)
}

// rowsOf are rows as an iterator.
func rowsOf[R any](rows []R) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}

func TestReplay(t *testing.T) {
	row := func(at model.Time, gpu int32, stat string) traces.Telemetry {
		return traces.Telemetry{Node: "n1", GPU: traces.Some(gpu), Time: at, Stat: stat, Power: traces.Some(float64(at))}
	}
	s := recorded.Replay(rowsOf([]traces.Telemetry{row(1, 0, ""), row(1, 1, ""), row(2, 1, "mean"), row(2, 1, "max"), row(3, 0, "p50"), row(4, 0, "")}), rowsOf([]traces.Instance{
		{Node: "n1", GPU: 1, GPUInstance: 3, Time: 1, UUID: "MIG-a"}, {Node: "n1", GPU: 0, GPUInstance: 3, Time: 2}, {Node: "n1", GPU: 1, GPUInstance: 4, Time: 2, Stat: "mean"}, {Node: "n1", GPU: 1, GPUInstance: 4, Time: 2, Stat: "max"}}), []int32{0, 1})
	var got [][]float64
	var parts []string
	for {
		out, err := s.Sample(0, nil)
		if err != nil {
			require.ErrorIs(t, err, capture.ErrEnd)
			break
		}
		var at []float64
		for _, r := range out {
			at = append(at, r.Power.V)
			for _, p := range r.Parts {
				parts = append(parts, fmt.Sprint(p.Time, p.GPU, p.GPUInstance, p.UUID, p.Stat))
			}
			for _, c := range r.Left {
				parts = append(parts, fmt.Sprint(c.Rule, c.Count))
			}
		}
		got = append(got, at)
	}
	require.Equal(t, [][]float64{{1, 1}, {2}, {4}}, got)
	require.Equal(t, []string{fmt.Sprint(model.Time(1), 1, 3, "MIG-a", ""), fmt.Sprint(model.Time(2), 1, 4, "", ""), "GPU instances whose GPU has no row then1"}, parts, "with their GPUs, and no window twice")
	require.NoError(t, s.Close())
}

func FuzzParsers(f *testing.F) {
	f.Add(0, csvText)
	f.Add(1, "Timestamp : Fri Jul  3 22:11:09 2026\nGPU 0\n    Utilization\n        GPU : 5 %\n")
	f.Add(2, metricsText)
	f.Add(3, "[]")
	f.Add(2, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",GPU_I_ID=\"1\"} 140737488355328 1790000000.5 # {a=\"b\"} 1\n# EOF\n")
	f.Add(0, "NVIDIA-SMI has failed\ntimestamp, index, power.draw [W], temperature.gpu\n2026/10/25 02:30:00.000, 0, [GPU is lost], 4294967295\n2026/10/25 02:10:00.000, 0, 7 W, 40\n2026/10")
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, which int, text string) {
		options := recorded.Options{Node: "n1", At: traces.Some(model.Time(5)), Zone: berlin, Account: &recorded.Account{}}
		if which < 0 {
			options.Unread = func(*traces.DataError) error { return nil }
		}
		rows, err := recorded.Formats[uint(which)%uint(len(recorded.Formats))].Parse([]byte(text), options)
		if err != nil {
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
		}
		for _, r := range rows {
			require.True(t, !r.SMUtil.OK || r.SMUtil.V >= 0 && r.SMUtil.V <= 1)
			r.LeaveOut(func(column, why string, v float64) {
				if column != "power" || r.GPU.OK { // supplies of a node are added up
					require.Contains(t, []string{"ecc_corrected", "ecc_uncorrected", "retired_pages"}, column, "%s %g: only sums may be beyond what each is", why, v)
				}
			})
			require.Equal(t, "n1", cmpNode(r.Node, text))
		}
	})
}

// cmpNode is n1, or a name that the text has.
func cmpNode(node, text string) string {
	if strings.Contains(text, "Hostname") {
		return "n1"
	}
	return node
}

// Nodes that no label names must not be added up as one.
func TestExportersOfSeveralNodes(t *testing.T) {
	text := func(labels string) []byte {
		one := `{"metric":{"__name__":"node_hwmon_power_average_watt","chip":"c","sensor":"s"%s},"values":[[1795000000,"500"]]}`
		return fmt.Appendf(nil, `{"status":"success","data":{"resultType":"matrix","result":[`+one+`,`+one+`]}}`, `,"instance":"[fd00::1]:9100"`, labels)
	}
	rows, err := recorded.Prometheus(text(`,"instance":"a:9100"`), recorded.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "fd00::1"}, []string{rows[0].Node, rows[1].Node})
	_, err = recorded.Prometheus(text(`,"instance":"a:9100"`), recorded.Options{Node: "n1"})
	require.ErrorContains(t, err, "one exporter for each node")
	rows, err = recorded.Prometheus(text(`,"instance":"[fd00::1]:9100","pod":"later"`), recorded.Options{Node: "n1"})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, 500.0, rows[0].Power.V, "once, whatever its other labels")
	rows, err = recorded.Prometheus(text(`,"instance":"b:9100","rack":"r7"`), recorded.Options{Label: "rack"})
	require.NoError(t, err)
	require.Equal(t, "r7", rows[1].Node)
}
