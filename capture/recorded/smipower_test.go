package recorded_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/traces"
)

func TestSMIPowerKeepsColumnsApart(t *testing.T) {
	t.Parallel()
	account := &recorded.Account{}
	got, err := recorded.SMIPower([]byte(`timestamp, index, name, driver_version, power.draw [W], power.draw.average [W], power.draw.instant [W]
2026/07/03 22:11:09.763, 1, NVIDIA A100-SXM4-80GB, 535.54.03, 90.5, [N/A], 91.25
2026/07/03 22:11:09.764, 0, NVIDIA H100 PCIe, 535.54.03, 80000 mW, 81.00 W, 82.00 W
2026/07/03 22:11:09.764, 0, NVIDIA H100 PCIe, 535.54.03, 1, 1, 1
2026/07/03 22:11:09.770, 1, NVIDIA A100-SXM4-80GB, 535.54.03, [Unknown Error], [N/A], 92.25
2026/07/03 22:11:09.760, 1, NVIDIA A100-SXM4-80GB, 535.54.03, 1, [N/A], 1
Unable to determine the device handle for GPU0000:41:00.0: Unknown Error
2026/07/03 22:11:09.771, 0, NVI`), recorded.Options{Account: account, Zone: time.FixedZone("", 3600)})
	require.NoError(t, err)
	require.Len(t, got, 6)
	at := func(ms int) model.Time {
		return model.Time(time.Date(2026, 7, 3, 21, 11, 9, ms*1e6, time.UTC).UnixMicro())
	}
	require.Equal(t, recorded.PowerSeries{GPU: 0, Column: "power.draw", Model: "NVIDIA H100 PCIe", Driver: "535.54.03", Times: []model.Time{at(764)}, Watts: []float64{80}}, got[0])
	require.Equal(t, []float64{82}, got[2].Watts)
	require.Equal(t, "power.draw", got[3].Column)
	require.Equal(t, []float64{90.5}, got[3].Watts)
	require.Empty(t, got[4].Times, "not supported is no reading")
	require.Equal(t, []model.Time{at(763), at(770)}, got[5].Times)
	left := map[string]int64{}
	for _, l := range account.Left {
		left[l.Rule] = l.Count
	}
	require.Equal(t, map[string]int64{"power.draw: [unknown error]": 1, "line of nvidia-smi's own": 1, "last line, cut off": 1, "rows whose time is before the one above": 2}, left)
}

func TestSMIPowerRefuses(t *testing.T) {
	t.Parallel()
	row := "2026/07/03 22:11:09.763, 90\n"
	many := "timestamp, power.draw [W]\n"
	for range 30 {
		many += row
	}
	for text, want := range map[string]string{
		"":                              "no line",
		"x\n":                           "row 1: found x, expected the first line of nvidia-smi",
		"index, power.draw [W]\n0, 5\n": "row 1: found index, power.draw [W], expected the columns timestamp and power.draw",
		"timestamp, utilization.gpu [%]\n2026, 5\n":                  "expected the columns timestamp and power.draw",
		"timestamp, power.draw [W]\nnoon, 5\n":                       "row 2, column timestamp: found noon",
		"timestamp, power.draw [W]\n2026/07/03 22:11:09.763, hot\n":  "row 2, column power.draw: found hot",
		"timestamp, power.draw [W]\n2026/07/03 22:11:09.763, 1, 2\n": "found 3 cells, expected 2",
		many: "a column that tells GPUs apart",
	} {
		_, err := recorded.SMIPower([]byte(text), recorded.Options{})
		var data *traces.DataError
		require.ErrorAs(t, err, &data, text)
		require.ErrorContains(t, err, want)
	}
}
