package capture_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
	"orrery/traces"
)

// TestCaptureJoin gives job 1, which the processes of both GPUs name, the power of both.
func TestCaptureJoin(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	clitest.TelemetryFolder(t, "telemetry")
	w, err := traces.NewWriter("jobs.trace", traces.Meta{Source: "test", Epoch: 1_795_000_000_000_000, EpochKnown: true, Sorted: true})
	require.NoError(t, err)
	for id := range int64(2) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: id + 1, Name: fmt.Sprint("j", id+1), Submit: 0, Runtime: traces.Some(20 * model.Second), NodesMin: traces.Some[int32](1)}))
	}
	require.NoError(t, w.WriteTenant(traces.Tenant{Name: "t"}))
	_, err = w.Close()
	require.NoError(t, err)
	got := clitest.Run(t, "capture", "join", "telemetry", "--jobs", "jobs.trace", "--out", "measured.trace", "-o", "csv")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "of a job by its processes,36\n")
	require.Contains(t, got.Stdout, "jobs measured,1\n")
	b, err := traces.Open("measured.trace")
	require.NoError(t, err)
	defer b.Close()
	for job, err := range b.Rows() {
		require.NoError(t, err)
		require.False(t, job.Power.OK, "nothing was measured of the node as a whole")
		require.Equal(t, job.ID == 1, strings.Contains(job.Extra, `"measured_gpu_power":720,`), "2 GPUs at 360 W, also by the counter in the 4 s in which one was not measured: %s", job.Extra)
	}
	require.Contains(t, got.Stderr, "column power is left as it was")
	require.Len(t, b.Tenants(), 1)
	require.Zero(t, clitest.Run(t, "trace", "validate", "measured.trace").Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "join", "telemetry", "--out", "x.trace").Code)
	require.Equal(t, cli.ExitInput, clitest.Run(t, "capture", "join", "nothing", "--jobs", "jobs.trace", "--out", "x.trace").Code)
}

func TestCaptureConvert(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NoError(t, os.WriteFile("gpus.csv", []byte(clitest.GPUsCSV), 0o600))
	got := clitest.Run(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "gpu7", "--out", "gpu7.trace", "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `"rows": 2`)
	require.Zero(t, clitest.Run(t, "trace", "validate", "gpu7.trace").Code)
	got = clitest.Run(t, "trace", "export", "gpu7.trace", "--table", "telemetry", "-o", "csv")
	require.Contains(t, got.Stdout, "627.4")
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--out", "x.trace").Code, "no node")
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "n", "--node-label", "instance", "--out", "x.trace").Code, "CSV has no labels")
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "convert", "gpus.csv", "--from", "guess", "--out", "x.trace").Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "convert", "gpus.csv", "--out", "x.trace").Code)
	got = clitest.Run(t, "capture", "convert", "gpus.csv", "--from", "amd-smi", "--node", "n", "--out", "x.trace")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "gpus.csv")
}

// Lines that cannot be read are left out up to a limit, and what is left out is said and stands in the bundle.
func TestCaptureConvertSaysWhatIsLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var log strings.Builder
	log.WriteString("timestamp, index, fan.speed [%], power.draw [W]\n")
	for i := range 200 {
		fmt.Fprintf(&log, "2026/07/03 22:%02d:%02d.000, 0, 30 %%, 210.50 W\n", i/60, i%60)
	}
	require.NoError(t, os.WriteFile("gpus.csv", []byte(log.String()+"Unable to determine the device handle for GPU0: Unknown Error\n2026/07/03 22:50\n2026/07/03 22:59:00.000, 0, 30 %, 4294967295 W\n"), 0o600))
	convert := func(args ...string) clitest.Outcome {
		return clitest.Run(t, append([]string{"capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "gpu7", "--out", "gpu7.trace", "--force"}, args...)...)
	}
	got := convert()
	require.Zero(t, got.Code, got.Stderr)
	for _, said := range []string{"Left out lines that cannot be read: 1 of 204", "column fan.speed: no column: 1", "line of nvidia-smi's own: 1", "power: a constant that stands for no value: 1"} {
		require.Contains(t, got.Stderr, said)
	}
	require.Zero(t, clitest.Run(t, "trace", "validate", "gpu7.trace").Code)
	info := clitest.Run(t, "trace", "info", "gpu7.trace", "-o", "json")
	require.Contains(t, info.Stdout, "a constant that stands for no value")
	require.Contains(t, info.Stdout, "unreadable-row")
	require.Equal(t, cli.ExitInput, convert("--strict").Code)
	require.Equal(t, cli.ExitInput, convert("--bad-rows", "0").Code)
	require.Equal(t, cli.ExitUsage, convert("--bad-rows", "some").Code)

	require.NoError(t, os.WriteFile("metrics.prom", []byte("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"a\"} 44\n"), 0o600))
	prom := []string{"capture", "convert", "metrics.prom", "--from", "exposition", "--out", "prom.trace"}
	got = clitest.Run(t, prom...)
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "--at 20")
	require.Zero(t, clitest.Run(t, append(prom, "--at", "2026-07-03T22:11:09Z")...).Code)
	got = clitest.Run(t, "capture", "inspect", "prom.trace", "-o", "json")
	require.Contains(t, got.Stdout, `"energy_kwh": null`, "a GPU whose power is not known did not use 0 kWh")
	require.Contains(t, got.Stdout, `"from_us": 1783116669000000`)

	// Bundles that were converted have no nodes table, and a page for each node all the same.
	require.Zero(t, clitest.Run(t, "capture", "inspect", "gpu7.trace", "prom.trace", "--page", "pages").Code)
	for _, name := range []string{"pages/gpu7.html", "pages/a.html"} {
		require.FileExists(t, name)
	}
	require.NoError(t, os.WriteFile("jobs.swf", []byte("1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n"), 0o600))
	require.Zero(t, clitest.Run(t, "import", "jobs.swf", "--out", "jobs.trace").Code)
	got = clitest.Run(t, "capture", "inspect", "jobs.trace", "--page", "none")
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "no telemetry")
	require.NoDirExists(t, "none")
}

// TestCaptureVerbs runs each verb on bundles of which everything is known.
func TestCaptureVerbs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	clitest.TelemetryFolder(t, "telemetry")
	require.NoError(t, os.WriteFile("key", []byte("0123456789abcdef"), 0o600))

	got := clitest.Run(t, "capture", "inspect", "telemetry", "-o", "csv", "--page", "pages")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "gpu7,0,")
	require.Contains(t, got.Stdout, ",16,50,25,360,360,")
	require.Contains(t, got.Stdout, ",4,hung 4,0\n")
	text, err := os.ReadFile("pages/gpu7.html")
	require.NoError(t, err)
	for _, part := range []string{"<svg", "Power drawn (W)", "SM activity", "held down", "<td>GPU 1</td><td>hung</td><td class=\"n\">4</td><td class=\"n\">1</td>"} {
		require.Contains(t, string(text), part)
	}
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "inspect", "telemetry", "--page", "pages").Code, "a page is not replaced without --force")

	got = clitest.Run(t, "capture", "merge", "telemetry", "--out", "all.trace", "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `"rows": 36`)
	for _, args := range [][]string{{"trace", "validate", "all.trace"}, {"trace", "info", "all.trace"}, {"trace", "head", "all.trace", "--table", "telemetry"}} {
		require.Zero(t, clitest.Run(t, args...).Code, args)
	}
	require.Zero(t, clitest.Run(t, "capture", "anonymise", "all.trace", "--key-file", "key", "--out", "shared.trace").Code)
	got = clitest.Run(t, "trace", "export", "shared.trace", "--table", "telemetry", "-o", "csv")
	require.NotContains(t, got.Stdout, "gpu7")
	require.NotContains(t, got.Stdout, "train")
	require.Contains(t, got.Stdout, "n0001")

	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "merge", "telemetry", "--out", "all.trace").Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "anonymise", "telemetry", "--out", "x.trace").Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "capture", "shoot").Code)
	require.Equal(t, cli.ExitInput, clitest.Run(t, "capture", "inspect", "nothing").Code)
	require.NoError(t, os.Mkdir("empty", 0o700))
	require.Equal(t, cli.ExitInput, clitest.Run(t, "capture", "merge", "empty", "--out", "y.trace").Code)
	require.Contains(t, clitest.Run(t, "capture", "nvml", "--help").Stdout, "orrery-agent")
}
