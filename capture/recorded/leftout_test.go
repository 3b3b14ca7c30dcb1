package recorded_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/traces"
)

// measuredOf is how many numbers a row has.
func measuredOf(t *traces.Telemetry) (n int) {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && v.Type().Field(i).Name != "GPU" && f.FieldByName("OK").Bool() {
			n++
		}
	}
	return n
}

// notMeasured are texts that stand for no measurement in any column.
var notMeasured = []string{"2147483632", "2147483633", "2147483634", "2147483635", "4294967295", "140737488355328", "140737488355329", "140737488355330", "9223372036854775792", "9223372036854775794",
	"18446744073709551615", "1e300", "-7e9", "NaN", "+Inf", "-Inf"}

// Each metric, each value that is none, each format of metrics: a null that is counted by the column.
func TestMetricsThatAreNoMeasurements(t *testing.T) {
	columns := map[string]string{
		"DCGM_FI_DEV_GPU_UTIL": "sm_util", "DCGM_FI_PROF_SM_ACTIVE": "sm_active", "DCGM_FI_DEV_MEM_COPY_UTIL": "mem_util", "DCGM_FI_DEV_FB_USED": "mem_used", "DCGM_FI_DEV_POWER_USAGE": "power",
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "energy", "DCGM_FI_DEV_SM_CLOCK": "sm_clock", "DCGM_FI_DEV_MEM_CLOCK": "mem_clock", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "throttle",
		"DCGM_FI_DEV_GPU_TEMP": "temperature", "DCGM_FI_DEV_MEMORY_TEMP": "mem_temperature", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": "ecc_corrected", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": "ecc_uncorrected",
		"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": "retired_pages", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "tensor_active",
		"DCGM_FI_PROF_DRAM_ACTIVE": "dram_active", "DCGM_FI_DEV_POWER_VIOLATION": "power_violation", "DCGM_FI_DEV_THERMAL_VIOLATION": "thermal_violation",
		"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "nvlink_errors", "node_hwmon_power_average_watt": "power"}
	for metric, column := range columns {
		for _, value := range notMeasured {
			for name, text := range map[string]string{
				"exposition": fmt.Sprintf("%s{gpu=\"1\",Hostname=\"a\"} %s 1790000000000\n", metric, value),
				"prometheus": fmt.Sprintf(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":%q,"gpu":"1","Hostname":"a"},"values":[[1790000000,%q]]}]}}`, metric, value),
			} {
				var account recorded.Account
				rows, err := parser(t, name)([]byte(text), recorded.Options{Account: &account})
				require.NoError(t, err)
				for i := range rows {
					require.Zero(t, measuredOf(&rows[i]), "%s %s %s", name, metric, value)
				}
				require.Len(t, account.Left, 1, "%s %s %s", name, metric, value)
				require.True(t, strings.HasPrefix(account.Left[0].Rule, column+": "), "%s: %v", metric, account.Left)
			}
		}
	}
}

func parser(t *testing.T, name string) recorded.Parser {
	for _, f := range recorded.Formats {
		if f.Name == name {
			return f.Parse
		}
	}
	t.Fatal(name)
	return nil
}

// Each property of nvidia-smi, each value or word that is none.
func TestPropertiesThatAreNoMeasurements(t *testing.T) {
	properties := map[string]string{"utilization.gpu": "%", "utilization.memory": "%", "memory.used": "MiB", "power.draw": "W", "power.draw.instant": "W", "clocks.sm": "MHz", "clocks.mem": "MHz", "temperature.gpu": "",
		"temperature.memory": "", "ecc.errors.corrected.aggregate.total": "", "ecc.errors.uncorrected.aggregate.total": "", "retired_pages.double_bit.count": "", "remapped_rows.correctable": ""}
	errors := []string{"[GPU is lost]", "[Unknown Error]", "[GPU requires reset]", "ERR!", "[Some Word Of Tomorrow]"}
	for property, unit := range properties {
		for _, value := range append(append([]string{"[N/A]", "N/A", "[Not Supported]"}, errors...), notMeasured...) {
			cell := value
			if value[0] >= '-' && value[0] <= '9' && unit != "" {
				cell += " " + unit
			}
			head := "timestamp, index, memory.used, " + property
			if property == "memory.used" {
				head = "timestamp, index, pstate, memory.used"
			}
			var account recorded.Account
			rows, err := recorded.SMICSV([]byte(head+"\n2026/07/03 22:11:09.763, 0, [N/A], "+cell+"\n"), recorded.Options{Node: "n", Account: &account})
			require.NoError(t, err, "%s %s", property, cell)
			require.Len(t, rows, 1)
			require.Zero(t, measuredOf(&rows[0]), "%s %s", property, cell)
			counted := 0
			for _, c := range account.Left {
				if !strings.HasPrefix(c.Rule, "column pstate") {
					counted++
				}
			}
			if strings.Contains(value, "N/A") || strings.Contains(value, "Not Supported") {
				require.Zero(t, counted, "nvidia-smi says so of what a GPU does not have")
			} else {
				require.Equal(t, 1, counted, "%s %s %v", property, cell, account.Left)
			}
		}
	}
}

// Times of metrics: ms in the text format, s with fractions in OpenMetrics, and never 1970.
func TestTimesOfMetrics(t *testing.T) {
	const sample = `DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="a"} 50`
	for _, c := range []struct {
		text string
		want model.Time
		says string
	}{
		{sample + " 1790000000123\n", 1_790_000_000_123_000, ""},
		{sample + " 1790000000.25\n# EOF\n", 1_790_000_000_250_000, ""},
		{sample + " 1790000000\n# EOF", 1_790_000_000_000_000, ""},
		{sample + " 1.79e9 # {trace_id=\"x}\"} 0.5 1790000000.1\n# EOF\n", 1_790_000_000_000_000, ""},
		{`DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total{gpu="0",Hostname="a"} 7 1790000000` + "\n# EOF\n", 1_790_000_000_000_000, ""},
		{`{"DCGM_FI_DEV_GPU_UTIL",gpu="0",Hostname="a",path="{a} \" b"} 50 1790000000123` + "\n", 1_790_000_000_123_000, ""},
		{sample + " 1790000000\n", 0, "# EOF"},
		{sample + " 1790000000.25\n", 0, "# EOF"},
		{sample + " 1790000000123\n# EOF\n", 0, "from 2000 to 2100"},
		{sample + "\n", 0, "--at"},
		{sample + " 0\n", 0, "from 2000 to 2100"},
		{sample + " 1790000000123 7\n", 0, "a value, and at most a time"},
		{sample + " soon\n", 0, "ms since 1970"},
	} {
		rows, err := recorded.Exposition([]byte(c.text), recorded.Options{})
		if c.says != "" {
			require.ErrorContains(t, err, c.says, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Len(t, rows, 1)
		require.Equal(t, c.want, rows[0].Time, c.text)
		require.Equal(t, 1, measuredOf(&rows[0]))
	}
	for name, text := range map[string]string{"smi-csv": "index, memory.used [MiB]\n0, 7 MiB\n", "smi-q": "GPU 00000000:01:00.0\n    Utilization\n        GPU : 5 %\n", "amd-smi": `[{"gpu":0}]`} {
		_, err := parser(t, name)([]byte(text), recorded.Options{Node: "n"})
		require.ErrorContains(t, err, "without a time", name)
		_, err = parser(t, name)([]byte(text), recorded.Options{Node: "n", At: traces.Some(model.Time(7))})
		require.NoError(t, err, name)
	}
}

// Of a GPU that MIG divides, exporters have lines of the instances alone. What is of the whole GPU is taken once, unless the GPU has it itself or
// the instances differ; the rest, and series without a column, are counted by name.
func TestInstancesOfMIG(t *testing.T) {
	line := func(metric, gpu, instance, value string) string {
		if instance != "" {
			instance = `,GPU_I_ID="` + instance + `"`
		}
		return fmt.Sprintf("%s{gpu=%q%s,Hostname=\"a\"} %s 1790000000000\n", metric, gpu, instance, value)
	}
	text := line("DCGM_FI_DEV_POWER_USAGE", "0", "1", "71.5") + line("DCGM_FI_DEV_POWER_USAGE", "0", "2", "71.6") + line("DCGM_FI_DEV_FB_USED", "0", "1", "100") +
		line("DCGM_FI_DEV_POWER_USAGE", "1", "1", "20") + line("DCGM_FI_DEV_POWER_USAGE", "1", "2", "40") +
		line("DCGM_FI_DEV_GPU_TEMP", "2", "1", "44") + line("DCGM_FI_DEV_GPU_TEMP", "2", "", "45") +
		line("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "0", "", "0.5") + line("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "0", "", "0.5") + line("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "1", "", "0.5") + "DCGM_FI_DEV_GPU_TEMP 7 1790000000000\n"
	var account recorded.Account
	rows, err := recorded.Exposition([]byte(text), recorded.Options{Account: &account})
	require.NoError(t, err)
	require.Equal(t, []traces.Telemetry{{Node: "a", GPU: traces.Some[int32](0), Time: 1790000000e6, Power: traces.Some(71.5)}, {Node: "a", GPU: traces.Some[int32](1), Time: 1790000000e6},
		{Node: "a", GPU: traces.Some[int32](2), Time: 1790000000e6, Temperature: traces.Some(45.0)}}, rows)
	left := map[string]int64{}
	for _, c := range account.Left {
		left[c.Rule] = c.Count
	}
	require.Equal(t, map[string]int64{
		"DCGM_FI_DEV_POWER_USAGE of instances of MIG: taken once for their GPU": 1,
		"DCGM_FI_DEV_POWER_USAGE of instances of MIG: they differ":              2,
		"DCGM_FI_DEV_GPU_TEMP of instances of MIG: the GPU has it":              1,
		"DCGM_FI_DEV_FB_USED of instances of MIG: the row is that of the GPU":   1,
		"DCGM_FI_PROF_PIPE_FP16_ACTIVE: no column":                              1,
		"DCGM_FI_PROF_PIPE_FP64_ACTIVE: no column":                              2,
		"DCGM_FI_DEV_GPU_TEMP without the number of a GPU":                      1,
	}, left)
	require.EqualValues(t, 11, account.Lines)
}

// Lines of nvidia-smi among its rows, a log of several runs, and a last line that was cut off.
func TestLinesAmongRows(t *testing.T) {
	const head = "timestamp, index, power.draw [W]\n"
	text := "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n" + head +
		"2026/07/03 22:11:09.763, 0, 70.00 W\nUnable to determine the device handle for GPU0: 0000:65:00.0: Unknown Error\n\n" + head +
		"2026/07/03 22:11:10.763, 0, 71.00 W\n2026/07/03 22:11:11.763, 0, 7"
	for cut, want := range map[string]int{"": 3, " W\n2026/07/03 22:11:12.7": 3, " W\n2026/07/03 22:11:12.763, 1": 3, " W\n2026/07/03 22:1": 3} {
		var account recorded.Account
		rows, err := recorded.SMICSV([]byte(text+cut), recorded.Options{Node: "n", Account: &account})
		require.NoError(t, err, cut)
		require.Len(t, rows, want, cut)
		require.Equal(t, "line of nvidia-smi's own", account.Left[0].Rule)
		require.EqualValues(t, 2, account.Left[0].Count)
		require.Equal(t, cut != "", len(account.Left) == 2, "%v", account.Left)
	}
	_, err := recorded.SMICSV([]byte(text+" W\nshort\n"), recorded.Options{Node: "n"})
	require.ErrorContains(t, err, "1 cells")
	var told []*traces.DataError
	rows, err := recorded.SMICSV([]byte(text+" W\nshort\n2026/07/03 22:11:12.763, 0, heavy\n"), recorded.Options{Node: "n", Unread: func(e *traces.DataError) error { told = append(told, e); return nil }})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Len(t, told, 2)
	require.EqualValues(t, 9, told[0].Row)
}

// GPUs of nvidia-smi -q -l keep their numbers when one of them is lost.
func TestQueryAgainAndAgain(t *testing.T) {
	block := func(second int, gpus ...string) string {
		text := fmt.Sprintf("==============NVSMI LOG==============\n\nTimestamp                                 : Fri Jul  3 22:11:%02d 2026\nAttached GPUs : 2\n", second)
		for _, g := range gpus {
			text += "GPU 00000000:" + g + ":00.0\n    Temperature\n        GPU Current Temp : 4" + g[:1] + " C\n"
		}
		return text
	}
	var account recorded.Account
	rows, err := recorded.SMIQuery([]byte(block(1, "17", "65")+block(2, "65")+"Unable to determine the device handle for GPU0: 0000:17:00.0: GPU is lost.\n"+block(3, "17", "65")), recorded.Options{Node: "n", Account: &account})
	require.NoError(t, err)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(time.UnixMicro(int64(r.Time)).UTC().Second(), " ", r.GPU.V, " ", r.Temperature.V))
	}
	require.Equal(t, []string{"1 0 41", "1 1 46", "2 1 46", "3 0 41", "3 1 46"}, got)
	require.Len(t, account.Left, 1)
}

// In the hour that comes twice the order of the log says which is meant, also of a GPU that was lost in the first; a log of that hour alone does not say it.
func TestTheHourThatComesTwice(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	log := func(lines ...string) (at []string, noted traces.Counts) {
		text := "timestamp, index, power.draw [W]\n"
		for _, l := range lines {
			text += "2026/11/01 " + l[:5] + ":00.000, " + l[6:] + ", 70.00 W\n"
		}
		var account recorded.Account
		rows, err := recorded.SMICSV([]byte(text), recorded.Options{Node: "n", Zone: zone, Account: &account})
		require.NoError(t, err)
		for _, r := range rows {
			at = append(at, time.UnixMicro(int64(r.Time)).UTC().Format("15:04"))
		}
		return at, account.Noted
	}
	at, noted := log("00:45 0", "01:15 0", "01:15 1", "01:45 0", "01:45 1", "01:15 0", "01:45 0", "02:15 0")
	require.Equal(t, []string{"04:45", "05:15", "05:15", "05:45", "05:45", "06:15", "06:45", "07:15"}, at)
	require.Len(t, noted, 1)
	require.EqualValues(t, 6, noted[0].Count)
	_, noted = log("01:15 0", "01:45 0")
	require.Equal(t, traces.Counts{{Rule: "ambiguous-local-time", Count: 2, Example: "2026-11-01 01:15:00"}}, noted)
}
