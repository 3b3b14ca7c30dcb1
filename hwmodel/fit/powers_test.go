package fit

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/tools/refdata"
)

// servedTypes are GPUs with the draw of a process without work, as teardown and loading show it
// there, and the limit of the data sheet.
var servedTypes = []struct {
	name        string
	held, limit float64
}{{"A100", 92, 400}, {"H100", 110, 700}, {"H200", 112, 700}, {"L40S", 103, 350}}

// served are runs of language models on GPUs: the mean draw of a GPU in all inference phases.
func served(t *testing.T) (rows []PowerRow) {
	t.Helper()
	dir := refdata.Path(t, "traces", "telemetry", "llm-power-traces")
	data, err := os.ReadFile(filepath.Join(dir, "manifest.subset.json"))
	require.NoError(t, err)
	var listed []struct {
		Trace       string   `json:"trace_run_id"`
		Model       string   `json:"model"`
		GPU         string   `json:"gpu_type"`
		GPUs        float64  `json:"n_gpus"`
		Concurrency *float64 `json:"concurrency"`
	}
	require.NoError(t, json.Unmarshal(data, &listed))
	seen := map[string]bool{}
	for _, l := range listed {
		if seen[l.Trace] {
			continue
		}
		seen[l.Trace] = true
		r := PowerRow{Features: []float64{math.Log(parameters(t, l.Model) / l.GPUs), math.NaN()}}
		if l.Concurrency != nil {
			r.Features[1] = math.Log(*l.Concurrency)
		}
		r.Type = slices.IndexFunc(servedTypes, func(g struct {
			name        string
			held, limit float64
		}) bool {
			return strings.HasPrefix(l.GPU, g.name)
		})
		require.GreaterOrEqual(t, r.Type, 0, l.GPU)
		r.Held, r.Limit = servedTypes[r.Type].held, servedTypes[r.Type].limit
		r.Watts = inferencePower(t, filepath.Join(dir, l.Trace)) / l.GPUs
		rows = append(rows, r)
	}
	return rows
}

// parameters of a model, in billions.
func parameters(t *testing.T, model string) float64 {
	t.Helper()
	for _, m := range []struct {
		name string
		size float64
	}{{"0.5B", 0.5}, {"-1B", 1.2}, {"-3B", 3.2}, {"3.5-mini", 3.8}, {"8x7B", 46.7}, {"70B", 70.6}, {"72B", 72.7}, {"-8B", 8}, {"7B", 7.6}} {
		if strings.Contains(model, m.name) {
			return m.size
		}
	}
	t.Fatalf("no size of %s", model)
	return 0
}

func inferencePower(t *testing.T, path string) float64 {
	t.Helper()
	var r io.ReadCloser
	f, err := os.Open(path + ".json")
	r = f
	if err != nil {
		f, err = os.Open(path + ".json.gz")
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		r = z
	}
	defer f.Close()
	var trace struct {
		At     []float64 `json:"ts"`
		Watts  []float64 `json:"pw"`
		Phases []struct {
			Phase string  `json:"phase"`
			From  float64 `json:"t_start"`
			To    float64 `json:"t_end"`
		} `json:"phases"`
	}
	require.NoError(t, json.NewDecoder(r).Decode(&trace))
	var watts []float64
	for _, p := range trace.Phases {
		for i, at := range trace.At {
			if p.Phase == "inference" && at >= p.From && at <= p.To {
				watts = append(watts, trace.Watts[i])
			}
		}
	}
	require.NotEmpty(t, watts, path)
	return mean(watts)
}

// TestDrawOfANewConfiguration: the band of a configuration that was left out holds it, and is
// wide. Wrong is the median of its type of GPU with a tenth on both sides.
func TestDrawOfANewConfiguration(t *testing.T) {
	rows := served(t)
	var errs, halves, ofType []float64
	held, byType := 0, 0
	for i, r := range rows {
		rest := slices.Delete(slices.Clone(rows), i, i+1)
		p, err := NewPowers(rest)
		require.NoError(t, err)
		b, err := p.Watts(r)
		require.NoError(t, err)
		errs, halves = append(errs, math.Abs(b.Value/r.Watts-1)), append(halves, (b.High-b.Low)/2/b.Value)
		if holds(b, r.Watts) {
			held++
		} else {
			t.Logf("%d: %+v %.0f W, band %v", i, r.Features, r.Watts, b)
		}
		var same []float64
		for _, o := range rest {
			if o.Type == r.Type {
				same = append(same, o.Watts)
			}
		}
		middle := Median(same)
		ofType = append(ofType, math.Abs(middle/r.Watts-1))
		if holds(hwmodel.Band{Low: 0.9 * middle, High: 1.1 * middle}, r.Watts) {
			byType++
		}
	}
	n := float64(len(rows))
	t.Logf("%d configurations left out: band holds %.0f %%, half-width %.0f %%, median error %.0f %%; median of the type ± 10 %% holds %.0f %%, median error %.0f %%",
		len(rows), 100*float64(held)/n, 100*Median(halves), 100*Median(errs), 100*float64(byType)/n, 100*Median(ofType))
	require.GreaterOrEqual(t, float64(held)/n, 0.8)
	require.LessOrEqual(t, float64(held)/n, 0.95)
	require.LessOrEqual(t, Median(halves), 0.85)
	require.Less(t, float64(byType)/n, 0.25)
	require.Less(t, Median(errs), Median(ofType))
}
