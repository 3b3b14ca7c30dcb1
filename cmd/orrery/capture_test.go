package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// telemetryFolder makes a folder of two bundles, as an agent on a node of two GPUs leaves it: ten seconds each, with a
// gap of one GPU in the second.
func telemetryFolder(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	const day = model.Time(1_795_000_000_000_000) // µs since 1970
	for part := range 2 {
		begin := day.Add(model.Duration(part*10) * model.Second)
		w, err := traces.NewWriter(filepath.Join(dir, fmt.Sprintf("gpu7-%d.trace", part)), traces.Meta{Source: "test", Epoch: begin, EpochKnown: true})
		require.NoError(t, err)
		v := &capture.Inventory{GPUs: []capture.GPU{{Index: 0}, {Index: 1}}}
		v.Add(capture.FactDriver, "550.54.15")
		require.NoError(t, w.WriteNode(traces.Node{Name: "gpu7", GPUs: 2, GPUModel: "Small GPU", Fingerprint: capture.Fingerprint(v), Up: true}))
		records := []capture.Record{{Record: capture.RecordInventory, Fingerprint: capture.Fingerprint(v), Inventory: v}, {Record: capture.RecordMode, Mode: "debug", Interval: model.Second}}
		for i := range records {
			require.NoError(t, w.WriteEvent(records[i].Event(0, "gpu7")))
		}
		if part == 1 {
			gap := capture.Record{Record: capture.RecordGap, Samples: 4, Span: 4 * model.Second, Reason: capture.GapHung}
			require.NoError(t, w.WriteEvent(gap.Event(model.Time(3*model.Second), "gpu7/1")))
		}
		for s := range 10 {
			for gpu := range int32(2) {
				if part == 1 && gpu == 1 && s >= 3 && s < 7 {
					continue
				}
				n := int64(part*10 + s)
				require.NoError(t, w.WriteTelemetry(&traces.Telemetry{Node: "gpu7", GPU: traces.Some(gpu), Time: model.Time(model.Duration(s) * model.Second), SMUtil: traces.Some(0.5),
					SMActive: traces.Some(0.25), Power: traces.Some(360.0), Energy: traces.Some(n * 360_000), MemUsed: traces.Some(int64(8 << 30)), Temperature: traces.Some(60.0),
					Throttle: traces.Some(int64(s%2) * 4), Processes: `[{"pid":77,"name":"train","job":"1"}]`}))
			}
		}
		_, err = w.Close()
		require.NoError(t, err)
	}
}

// TestCaptureJoin gives job 1, which the processes of both GPUs name, the power of both.
func TestCaptureJoin(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	telemetryFolder(t, "telemetry")
	w, err := traces.NewWriter("jobs.trace", traces.Meta{Source: "test", Epoch: 1_795_000_000_000_000, EpochKnown: true, Sorted: true})
	require.NoError(t, err)
	for id := range int64(2) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: id + 1, Name: fmt.Sprint("j", id+1), Submit: 0, Runtime: traces.Some(20 * model.Second), NodesMin: traces.Some[int32](1)}))
	}
	require.NoError(t, w.WriteTenant(traces.Tenant{Name: "t"}))
	_, err = w.Close()
	require.NoError(t, err)
	got := inProcess(t, "capture", "join", "telemetry", "--jobs", "jobs.trace", "--out", "measured.trace", "-o", "csv")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "of a job by its processes,36\n")
	require.Contains(t, got.stdout, "jobs measured,1\n")
	b, err := traces.Open("measured.trace")
	require.NoError(t, err)
	defer b.Close()
	for job, err := range b.Rows() {
		require.NoError(t, err)
		require.False(t, job.Power.OK, "nothing was measured of the node as a whole")
		require.Equal(t, job.ID == 1, strings.Contains(job.Extra, `"measured_gpu_power":720,`), "2 GPUs at 360 W, also by the counter in the 4 s in which one was not measured: %s", job.Extra)
	}
	require.Contains(t, got.stderr, "column power is left as it was")
	require.Len(t, b.Tenants(), 1)
	require.Zero(t, inProcess(t, "trace", "validate", "measured.trace").code)
	require.Equal(t, exitUsage, inProcess(t, "capture", "join", "telemetry", "--out", "x.trace").code)
	require.Equal(t, exitInput, inProcess(t, "capture", "join", "nothing", "--jobs", "jobs.trace", "--out", "x.trace").code)
}

// gpusCSV is what nvidia-smi says of two GPUs.
const gpusCSV = `timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB]
2026/07/03 22:11:09.763, 0, 100 %, 627.40 W, 32362 MiB
2026/07/03 22:11:09.763, 1, [N/A], 80.00 W, 1 MiB
`

func TestCaptureConvert(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NoError(t, os.WriteFile("gpus.csv", []byte(gpusCSV), 0o600))
	got := inProcess(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "gpu7", "--out", "gpu7.trace", "-o", "json")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, `"rows": 2`)
	require.Zero(t, inProcess(t, "trace", "validate", "gpu7.trace").code)
	got = inProcess(t, "trace", "export", "gpu7.trace", "--table", "telemetry", "-o", "csv")
	require.Contains(t, got.stdout, "627.4")
	require.Equal(t, exitUsage, inProcess(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--out", "x.trace").code, "no node")
	require.Equal(t, exitUsage, inProcess(t, "capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "n", "--node-label", "instance", "--out", "x.trace").code, "CSV has no labels")
	require.Equal(t, exitUsage, inProcess(t, "capture", "convert", "gpus.csv", "--from", "guess", "--out", "x.trace").code)
	require.Equal(t, exitUsage, inProcess(t, "capture", "convert", "gpus.csv", "--out", "x.trace").code)
	got = inProcess(t, "capture", "convert", "gpus.csv", "--from", "amd-smi", "--node", "n", "--out", "x.trace")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "gpus.csv")
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
	convert := func(args ...string) outcome {
		return inProcess(t, append([]string{"capture", "convert", "gpus.csv", "--from", "smi-csv", "--node", "gpu7", "--out", "gpu7.trace", "--force"}, args...)...)
	}
	got := convert()
	require.Zero(t, got.code, got.stderr)
	for _, said := range []string{"Left out lines that cannot be read: 1 of 204", "column fan.speed: no column: 1", "line of nvidia-smi's own: 1", "power: a constant that stands for no value: 1"} {
		require.Contains(t, got.stderr, said)
	}
	require.Zero(t, inProcess(t, "trace", "validate", "gpu7.trace").code)
	info := inProcess(t, "trace", "info", "gpu7.trace", "-o", "json")
	require.Contains(t, info.stdout, "a constant that stands for no value")
	require.Contains(t, info.stdout, "unreadable-row")
	require.Equal(t, exitInput, convert("--strict").code)
	require.Equal(t, exitInput, convert("--bad-rows", "0").code)
	require.Equal(t, exitUsage, convert("--bad-rows", "some").code)

	require.NoError(t, os.WriteFile("metrics.prom", []byte("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"a\"} 44\n"), 0o600))
	prom := []string{"capture", "convert", "metrics.prom", "--from", "exposition", "--out", "prom.trace"}
	got = inProcess(t, prom...)
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "--at 20")
	require.Zero(t, inProcess(t, append(prom, "--at", "2026-07-03T22:11:09Z")...).code)
	got = inProcess(t, "capture", "inspect", "prom.trace", "-o", "json")
	require.Contains(t, got.stdout, `"energy_kwh": null`, "a GPU whose power is not known did not use 0 kWh")
	require.Contains(t, got.stdout, `"from_us": 1783116669000000`)

	// Bundles that were converted have no nodes table, and a page for each node all the same.
	require.Zero(t, inProcess(t, "capture", "inspect", "gpu7.trace", "prom.trace", "--page", "pages").code)
	for _, name := range []string{"pages/gpu7.html", "pages/a.html"} {
		require.FileExists(t, name)
	}
	require.NoError(t, os.WriteFile("jobs.swf", []byte("1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n"), 0o600))
	require.Zero(t, inProcess(t, "import", "jobs.swf", "--out", "jobs.trace").code)
	got = inProcess(t, "capture", "inspect", "jobs.trace", "--page", "none")
	require.Equal(t, exitInput, got.code)
	require.Contains(t, got.stderr, "no telemetry")
	require.NoDirExists(t, "none")
}

// TestCaptureVerbs runs each verb on bundles of which everything is known.
func TestCaptureVerbs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	telemetryFolder(t, "telemetry")
	require.NoError(t, os.WriteFile("key", []byte("0123456789abcdef"), 0o600))

	got := inProcess(t, "capture", "inspect", "telemetry", "-o", "csv", "--page", "pages")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "gpu7,0,")
	require.Contains(t, got.stdout, ",16,50,25,360,360,")
	require.Contains(t, got.stdout, ",4,hung 4,0\n")
	text, err := os.ReadFile("pages/gpu7.html")
	require.NoError(t, err)
	for _, part := range []string{"<svg", "Power drawn (W)", "SM activity", "held down", "<td>GPU 1</td><td>hung</td><td class=\"n\">4</td><td class=\"n\">1</td>"} {
		require.Contains(t, string(text), part)
	}
	require.Equal(t, exitUsage, inProcess(t, "capture", "inspect", "telemetry", "--page", "pages").code, "a page is not replaced without --force")

	got = inProcess(t, "capture", "merge", "telemetry", "--out", "all.trace", "-o", "json")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, `"rows": 36`)
	for _, args := range [][]string{{"trace", "validate", "all.trace"}, {"trace", "info", "all.trace"}, {"trace", "head", "all.trace", "--table", "telemetry"}} {
		require.Zero(t, inProcess(t, args...).code, args)
	}
	require.Zero(t, inProcess(t, "capture", "anonymise", "all.trace", "--key-file", "key", "--out", "shared.trace").code)
	got = inProcess(t, "trace", "export", "shared.trace", "--table", "telemetry", "-o", "csv")
	require.NotContains(t, got.stdout, "gpu7")
	require.NotContains(t, got.stdout, "train")
	require.Contains(t, got.stdout, "n0001")

	require.Equal(t, exitUsage, inProcess(t, "capture", "merge", "telemetry", "--out", "all.trace").code)
	require.Equal(t, exitUsage, inProcess(t, "capture", "anonymise", "telemetry", "--out", "x.trace").code)
	require.Equal(t, exitUsage, inProcess(t, "capture", "shoot").code)
	require.Equal(t, exitInput, inProcess(t, "capture", "inspect", "nothing").code)
	require.NoError(t, os.Mkdir("empty", 0o700))
	require.Equal(t, exitInput, inProcess(t, "capture", "merge", "empty", "--out", "y.trace").code)
	require.Contains(t, inProcess(t, "capture", "nvml", "--help").stdout, "orrery-agent")
}
