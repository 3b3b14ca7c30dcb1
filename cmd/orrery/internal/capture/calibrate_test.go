package capture_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture/sample"
	"orrery/cmd/orrery/internal/capture"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
)

// TestCalibratedDrawMovesEnergyAlone: GPUs that draw a fifth more at work, all through from the
// telemetry to a replay, move energy by the part that is theirs, and without a cap no start.
func TestCalibratedDrawMovesEnergyAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("captures, calibrates and replays twice: the long tests do")
	}
	t.Chdir(t.TempDir())
	energy, schedule := map[string]float64{}, map[string]string{}
	for name, more := range map[string]float64{"usual": 1, "more": 1.2} {
		site := sample.Small
		site.Days = 1
		for g := range site.GPUs {
			for c := range site.GPUs[g].Draw {
				site.GPUs[g].Draw[c] *= more
			}
		}
		require.NoError(t, os.Mkdir(name, 0o755))
		err := capture.WriteSample(name, sample.Make(&site, 1))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name+"/site.yaml", sample.File("site.yaml"), 0o600))
		o := clitest.Run(t, "calibrate", name, "--cluster", name+"/site.yaml", "--out", name+"/calibrated.yaml")
		require.Zero(t, o.Code, o.Stderr)
		o = clitest.Run(t, "replay", name+"/capture.trace", "--cluster", name+"/calibrated.yaml", "--quiet", "--out", name+"/run", "-o", "json")
		require.Zero(t, o.Code, o.Stderr)
		var said struct {
			Metrics []struct {
				Name, Window string
				Value        float64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(o.Stdout), &said))
		for _, m := range said.Metrics {
			if m.Name == "energy" && m.Window == "all" {
				energy[name] = m.Value
			}
		}
		var run struct{ Fingerprint string }
		text, err := os.ReadFile(name + "/run/run.json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &run))
		schedule[name] = run.Fingerprint
	}
	require.NotEmpty(t, schedule["usual"])
	require.Equal(t, schedule["usual"], schedule["more"])
	// Of the draw at work most is that of GPUs, and a third of the time they are idle.
	require.InDelta(t, 1.12, energy["more"]/energy["usual"], 0.05)
}

// sampled writes the capture of a day of the sample site, with its cluster file, into cap.
func sampled(t *testing.T) *sample.Capture {
	t.Helper()
	site := sample.Small
	site.Days = 1
	c := sample.Make(&site, 1)
	require.NoError(t, os.Mkdir("cap", 0o755))
	err := capture.WriteSample("cap", c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("cap/site.yaml", sample.File("site.yaml"), 0o600))
	return c
}

// TestCalibrateByMeter: a meter at a node gives its draw in place of the sensor of the node, which
// here reads 5 % high, and a meter of another day is refused.
func TestCalibrateByMeter(t *testing.T) {
	if testing.Short() {
		t.Skip("captures and calibrates a day four times: the long tests do")
	}
	t.Chdir(t.TempDir())
	c := sampled(t)
	clitest.MeterAt(t, c, "watts.csv", 0)
	clitest.MeterAt(t, c, "moved.csv", 5*model.Hour)
	figures := func(more ...string) map[string]float64 {
		o := clitest.Run(t, append([]string{"calibrate", "cap", "--cluster", "cap/site.yaml", "--out", "out.yaml", "--force", "-o", "json"}, more...)...)
		require.Zero(t, o.Code, o.Stderr)
		var rows []struct {
			Key   string
			Value float64
		}
		require.NoError(t, json.Unmarshal([]byte(o.Stdout), &rows))
		out := map[string]float64{}
		for _, r := range rows {
			out[r.Key] = r.Value
		}
		return out
	}
	own, metered := figures(), figures("--meter", "new-1=watts.csv")
	require.NotContains(t, own, "new-1: own sensor ÷ meter")
	require.InDelta(t, 1.05, metered["new-1: own sensor ÷ meter"], 0.002)
	require.InEpsilon(t, own["node_types[new].idle_power"]/1.05, metered["node_types[new].idle_power"], 0.01)
	require.Less(t, metered["node_types[new].busy_power"], own["node_types[new].busy_power"])
	require.InDelta(t, own["node_types[old].busy_power"], metered["node_types[old].busy_power"], 1e-9, "of the other type there is no meter")
	o := clitest.Run(t, "calibrate", "cap", "--cluster", "cap/site.yaml", "--out", "x.yaml", "--meter", "new-1=moved.csv")
	require.Equal(t, cli.ExitInput, o.Code, o.Stderr)
	require.Contains(t, o.Stderr, "moved.csv: found a meter of new-1 that does not follow its GPUs")
	require.NoFileExists(t, "x.yaml")
}

// TestLockedClocks: GPUs locked to a lower clock do the same work in more time with less energy, by
// the table of their class; a class without one runs and draws as before, and is counted.
func TestLockedClocks(t *testing.T) {
	t.Chdir(t.TempDir())
	sampled(t)
	const site = `power_cap: none
node_types:
  - {name: new, gpu: H100, gpus: 4, idle_power: 300W, busy_power: 3kW, gpu_idle_power: 70W%s}
  - {name: old, gpu: A100, gpus: 4, idle_power: 300W, busy_power: 2kW, gpu_idle_power: 50W}
groups: [{name: a, nodes: "new-[1-4]", type: new}, {name: b, nodes: "old-[1-2]", type: old}]
runtime: modelled
workloads:
  - name: all
    columns: [name=*]
    throughput: [{gpu: H100, value: 1}, {gpu: A100, value: 0.5}]
    power: [{gpu: H100, value: 500W}, {gpu: A100, value: 300W}]
    clocks: [{gpu: %s, clock: 0.8, throughput: 0.8, power: 0.5}]
`
	type term struct {
		Term string
		Time int64 `json:"gpu_us"`
	}
	run := func(name, lock, gpu string) (energy float64, lost, unknown int64) {
		require.NoError(t, os.WriteFile(name+".yaml", fmt.Appendf(nil, site, lock, gpu), 0o600))
		o := clitest.Run(t, "replay", "cap/capture.trace", "--cluster", name+".yaml", "--quiet", "--out", name, "-o", "json")
		require.Zero(t, o.Code, o.Stderr)
		var said struct {
			Metrics []struct {
				Name, Window string
				Value        float64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(o.Stdout), &said))
		for _, m := range said.Metrics {
			if m.Name == "energy" && m.Window == "all" {
				energy = m.Value
			}
		}
		var of struct {
			Hardware struct {
				Lost    []term `json:"lost_us"`
				Unknown []term `json:"unknown_us"`
			}
		}
		text, err := os.ReadFile(name + "/run.json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &of))
		byCap := func(x term) bool { return x.Term == "cap" }
		return energy, of.Hardware.Lost[slices.IndexFunc(of.Hardware.Lost, byCap)].Time, of.Hardware.Unknown[slices.IndexFunc(of.Hardware.Unknown, byCap)].Time
	}
	free, lost, unknown := run("free", "", "H100")
	require.NotZero(t, free)
	require.Zero(t, lost+unknown)
	locked, lost, unknown := run("locked", ", gpu_clock: 0.8", "H100")
	require.Less(t, locked, free, "in spite of more hours of idle nodes")
	require.Positive(t, lost)
	require.Zero(t, unknown)
	other, lost, unknown := run("other", ", gpu_clock: 0.8", "A100")
	require.InEpsilon(t, free, other, 1e-9, "what a lock costs is of another card")
	require.Zero(t, lost)
	require.Positive(t, unknown)
}
