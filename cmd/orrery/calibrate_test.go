package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture/sample"
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
		v := sampleVerb{m: &Main{}, out: name}
		_, err := v.write(sample.Make(&site, 1))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name+"/site.yaml", sample.File("site.yaml"), 0o600))
		o := inProcess(t, "calibrate", name, "--cluster", name+"/site.yaml", "--out", name+"/calibrated.yaml")
		require.Zero(t, o.code, o.stderr)
		o = inProcess(t, "replay", name+"/capture.trace", "--cluster", name+"/calibrated.yaml", "--quiet", "--out", name+"/run", "-o", "json")
		require.Zero(t, o.code, o.stderr)
		var said struct {
			Metrics []struct {
				Name, Window string
				Value        float64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &said))
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
