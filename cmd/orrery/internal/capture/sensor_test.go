package capture_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
	"orrery/traces"
)

func TestCaptureSensor(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.SensorFiles(t, 2*time.Hour)
	read := func(args ...string) (one map[string]any, stderr string) {
		t.Helper()
		got := clitest.Run(t, append([]string{"capture", "sensor", "smi.csv", "-o", "json"}, args...)...)
		require.Zero(t, got.Code, got.Stderr)
		var all []map[string]any
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
		require.Len(t, all, 1, "the column without a reading is left out")
		require.Equal(t, "power.draw.instant", all[0]["column"])
		return all[0], got.Stderr
	}
	metered, said := read("--meter", "watts.csv", "--load", "toggles.csv")
	require.Contains(t, said, "Times of nvidia-smi are UTC+02:00")
	require.Contains(t, said, "Column power.draw of GPU 0 has no reading")
	require.InDelta(t, 100, metered["period_ms"], 1)
	require.InDelta(t, 100, metered["window_ms"], 5)
	require.Equal(t, true, metered["window_identified"])
	require.InDelta(t, 0.95, metered["gain"], 0.005)
	require.InDelta(t, 0, metered["offset_w"], 1)
	require.Less(t, metered["energy_error_raw"], -0.04)
	require.InDelta(t, 0, metered["energy_error_corrected"], 0.005)
	zoned, _ := read("--meter", "watts.csv", "--load", "toggles.csv", "--zone", "+02:00")
	require.Equal(t, metered["window_ms"], zoned["window_ms"])

	alone, _ := read()
	require.Nil(t, alone["gain"])
	require.Nil(t, alone["energy_error_raw"])
	require.InDelta(t, -0.06, alone["band_low"], 0.02)
	require.InDelta(t, 0.06, alone["band_high"], 0.02)
	published, _ := read("--gpu", "NVIDIA GeForce RTX 3090")
	require.InDelta(t, 100, published["window_ms"], 1e-9)
	require.Equal(t, "published", published["window_from"])

	for want, args := range map[string][]string{
		"they have no time in common":     {"--meter", "watts.csv", "--zone", "UTC"},
		"expected an instant in µs":       {"--load", "smi.csv"},
		"one instant in µs since 1970":    {"--meter", "watts.csv", "--meter-start", "toggles.csv"},
		"no such file":                    {"--meter", "nowhere.csv"},
		"found 15 readings of power":      {"short"},
		"found 1 readings of power":       {"one"},
		"found no line":                   {"empty"},
		"expected the first line of nvid": {"words"},
	} {
		smi, err := os.ReadFile("smi.csv")
		require.NoError(t, err)
		lines := strings.SplitAfter(string(smi), "\n")
		file := "other.csv"
		switch args[0] {
		case "short":
			smi, args = []byte(strings.Join(lines[:16], "")), nil
		case "one":
			smi, args = []byte(strings.Join(lines[:2], "")), nil
		case "empty":
			smi, args = nil, nil
		case "words":
			smi, args = []byte("these are words\n"), nil
		}
		require.NoError(t, os.WriteFile(file, smi, 0o600))
		got := clitest.Run(t, append([]string{"capture", "sensor", file}, args...)...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, want)
	}
	for _, args := range [][]string{{"--meter-start", "toggles.csv"}, {"--zone", "Nowhere"}, {"--meter", "watts.csv", "--meter-zone", "Nowhere"}} {
		require.Equal(t, cli.ExitUsage, clitest.Run(t, append([]string{"capture", "sensor", "smi.csv"}, args...)...).Code, "%v", args)
	}
}

// TestCaptureSensorOfBundles: samples of an agent have the time in UTC; windows show no period.
func TestCaptureSensorOfBundles(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.SensorFiles(t, 0)
	require.Zero(t, clitest.Run(t, "capture", "convert", "smi.csv", "--from", "smi-csv", "--node", "n1", "--out", "n1.trace").Code)
	got := clitest.Run(t, "capture", "sensor", "n1.trace", "--meter", "watts.csv", "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	var all []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	require.Len(t, all, 1)
	require.Equal(t, "n1", all[0]["node"])
	require.Equal(t, "power", all[0]["column"])
	require.InDelta(t, 100, all[0]["period_ms"], 1)
	require.InDelta(t, 0.95, all[0]["gain"], 0.005)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "sensor", "n1.trace", "--zone", "UTC").Code)

	clitest.TelemetryFolder(t, "telemetry") // some samples of each GPU, and fewer of its counter
	got = clitest.Run(t, "capture", "sensor", "telemetry", "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "Column energy of GPU 1 is left out: found 14 readings of power")

	w, err := traces.NewWriter("windows.trace", traces.Meta{Source: "test", Epoch: 1_795_000_000_000_000, EpochKnown: true})
	require.NoError(t, err)
	for s := range 40 {
		require.NoError(t, w.WriteTelemetry(&traces.Telemetry{Node: "n1", GPU: traces.Some[int32](0), Time: model.Time(s) * model.Time(30*model.Second), Stat: "mean", Width: traces.Some(30 * model.Second), Power: traces.Some(100.0)}))
	}
	_, err = w.Close()
	require.NoError(t, err)
	got = clitest.Run(t, "capture", "sensor", "windows.trace")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "no samples of a GPU, and 40 rows of windows")
	require.Contains(t, got.Stderr, "--mode debug --interval 10ms")
}
