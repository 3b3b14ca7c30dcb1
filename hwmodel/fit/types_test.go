package fit

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"orrery/tools/refdata"
)

// gpuType is a type of GPU under the name that a file has for it.
type gpuType struct {
	name string
	Peak
}

// lambdaTypes are matched by the first name that a row contains, so longer names come first.
// Peaks are those of the data sheets for dense FP16 on tensor units. Cards for games and Turing
// reach half of theirs where sums are FP32, which training needs.
var lambdaTypes = []gpuType{
	{"H200", Peak{4800, 989}},
	{"H100 80GB SXM5", Peak{3350, 989}},
	{"H100 80GB PCIe", Peak{2040, 756}},
	{"A100 80GB SXM4", Peak{2039, 312}},
	{"A100 80GB PCIe", Peak{1935, 312}},
	{"A100 40GB PCIe", Peak{1555, 312}},
	{"V100 16GB", Peak{900, 125}},
	{"RTX 6000 Ada", Peak{960, 364}},
	{"RTX A6000", Peak{768, 155}},
	{"RTX 4090", Peak{1008, 330}},
	{"RTX 3090", Peak{936, 142}},
	{"Quadro RTX 8000", Peak{672, 130.5}},
	{"A10", Peak{600, 125}},
}

func typeIn(types []gpuType, text string) int {
	text = strings.ReplaceAll(text, "_", " ")
	return slices.IndexFunc(types, func(g gpuType) bool { return strings.Contains(text, g.name) })
}

var lambdaJobs = []string{"ssd", "bert_base_squad", "bert_large_squad", "gnmt", "ncf", "resnet50", "tacotron2", "transformerxlbase", "transformerxllarge", "waveglow"}

// lambdaMedians are the throughputs of single GPUs in a file by type and job. A 0 is a failed run.
func lambdaMedians(t *testing.T, file string, single func(s sheet, row []string) bool) map[[2]int]float64 {
	t.Helper()
	s := openSheet(t, refdata.Path(t, "traces", "hardware", "lambda-throughput", file))
	all := map[[2]int][]float64{}
	for _, row := range s.rows {
		g := typeIn(lambdaTypes, row[0])
		if !single(s, row) {
			continue
		}
		require.NotEqual(t, -1, g, row[0])
		for j, job := range lambdaJobs {
			if _, has := s.column[job]; has && s.number(row, job) > 0 {
				all[[2]int{g, j}] = append(all[[2]int{g, j}], s.number(row, job))
			}
		}
	}
	out := map[[2]int]float64{}
	for k, x := range all {
		out[k] = Median(x)
	}
	return out
}

// lambda are rows of single GPUs. H200 stands in the newer file alone, whose H100 bridge it to
// the older one.
func lambda(t *testing.T) (peaks []Peak, rows []TypeRow) {
	t.Helper()
	older := lambdaMedians(t, "pytorch-train-throughput-fp16.csv", func(s sheet, row []string) bool { return s.number(row, "num_gpu") == 1 })
	newer := lambdaMedians(t, "pytorch-train-throughput-v2-fp16.csv", func(_ sheet, row []string) bool { return strings.Contains(row[0], "_1xH") })
	for j := range lambdaJobs {
		var bridge []float64
		for _, g := range []int{1, 2} {
			if a, b := older[[2]int{g, j}], newer[[2]int{g, j}]; a > 0 && b > 0 {
				bridge = append(bridge, a/b)
			}
		}
		if x := newer[[2]int{0, j}]; x > 0 && len(bridge) > 0 {
			older[[2]int{0, j}] = x * mean(bridge)
		}
	}
	for g := range lambdaTypes {
		peaks = append(peaks, lambdaTypes[g].Peak)
		for j := range lambdaJobs {
			if x := older[[2]int{g, j}]; x > 0 {
				rows = append(rows, TypeRow{g, j, x})
			}
		}
	}
	return peaks, rows
}

// typesJudged is what leaving one type out after the other comes to.
type typesJudged struct {
	median, p90, covered float64
	half                 float64 // median over rows of high ÷ value - 1
	farthest             float64 // covered, of the third of the types that are farthest from the others
	missed               []int   // types with a row outside its band
	halves, distances    []float64
}

// within says whether the bands are held and narrow enough.
func (j typesJudged) within(halfBar float64) bool {
	return j.covered >= 0.85 && j.covered <= 0.95 && j.half <= halfBar
}

func leaveTypesOut(t *testing.T, peaks []Peak, rows []TypeRow, form predictor, own float64) (out typesJudged) {
	t.Helper()
	var errs, halves []float64
	within := map[int][]bool{}
	for _, left := range typesOf(rows) {
		types, err := newTypes(peaks, slices.DeleteFunc(slices.Clone(rows), func(r TypeRow) bool { return r.Type == left }), form, own)
		require.NoError(t, err)
		for _, r := range rows {
			b, known := types.Throughput(r.Job, peaks[left])
			if r.Type != left || !known {
				continue
			}
			require.InEpsilon(t, b.High/b.Value, b.Value/b.Low, 1e-9)
			errs, halves = append(errs, math.Abs(b.Value/r.Throughput-1)), append(halves, b.High/b.Value-1)
			within[left] = append(within[left], r.Throughput >= b.Low && r.Throughput <= b.High)
		}
		if len(within[left]) > 0 {
			out.distances, out.halves = append(out.distances, types.Distance(peaks[left])), append(out.halves, halves[len(halves)-1])
		}
		if slices.Contains(within[left], false) {
			out.missed = append(out.missed, left)
		}
	}
	out.median, out.p90, out.half = Median(errs), Quantile(0.9, errs), Median(halves)
	far := Quantile(0.67, out.distances)
	var all, beyond []float64
	for _, left := range typesOf(rows) {
		distance := distance(peaks, slices.DeleteFunc(typesOf(rows), func(g int) bool { return g == left }), peaks[left])
		for _, in := range within[left] {
			held := 0.0
			if in {
				held = 1
			}
			all = append(all, held)
			if distance >= far {
				beyond = append(beyond, held)
			}
		}
	}
	out.covered, out.farthest = mean(all), mean(beyond)
	return out
}

// wrongForms are predictors that leave something out.
var wrongForms = map[string]predictor{
	"compute alone": func(peaks []Peak, own []TypeRow, of Peak) float64 {
		_, _, _, means := centred(peaks, own)
		return means[2] + math.Log(of.Compute) - means[1]
	},
	"bandwidth alone": func(peaks []Peak, own []TypeRow, of Peak) float64 {
		_, _, _, means := centred(peaks, own)
		return means[2] + math.Log(of.Bandwidth) - means[0]
	},
	"two nearest alone": nearestTwo,
	"one ratio for all": func(peaks []Peak, own []TypeRow, _ Peak) float64 {
		_, _, _, means := centred(peaks, own)
		return means[2]
	},
}

// TestTypesLeftOut: bands of types that were left out hold 85 to 95 % of their rows, are narrow
// enough to be of use, and widen with the distance of the type. Compute alone gives bands that
// are too wide for training. Of inference in large batches it is as good as the form, so there
// bandwidth alone, the two nearest types and one ratio are the wrong models.
func TestTypesLeftOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		types   []gpuType
		read    func(*testing.T) ([]Peak, []TypeRow)
		halfBar float64
		wrong   []string
	}{
		{"lambda", lambdaTypes, lambda, 0.40, []string{"compute alone", "bandwidth alone", "one ratio for all"}},
		{"mlperf", mlperfTypes, mlperf, 0.55, []string{"bandwidth alone", "two nearest alone", "one ratio for all"}},
	} {
		peaks, rows := c.read(t)
		got := leaveTypesOut(t, peaks, rows, middleOfThree, ownDistance)
		t.Logf("%s: %d rows %+v", c.name, len(rows), got)
		for _, g := range got.missed {
			t.Logf("%s: a row outside its band: %s", c.name, c.types[g].name)
		}
		require.True(t, got.within(c.halfBar))
		require.Greater(t, stat.Correlation(got.distances, got.halves, nil), 0.8)
		require.Greater(t, slices.Max(got.halves), 1.5*slices.Min(got.halves))
		even := leaveTypesOut(t, peaks, rows, middleOfThree, 1e6)
		t.Logf("%s, bands of one width: covered %.3f, of the farthest types %.3f, half %.3f, types with a miss %v", c.name, even.covered, even.farthest, even.half, even.missed)
		require.GreaterOrEqual(t, got.farthest, 0.9)
		require.Less(t, even.farthest, 0.9, "bands of one width are too narrow where they extrapolate")
		for name, form := range wrongForms {
			wrong := leaveTypesOut(t, peaks, rows, form, ownDistance)
			t.Logf("%s, %s: median %.3f, p90 %.3f, covered %.3f, half %.3f", c.name, name, wrong.median, wrong.p90, wrong.covered, wrong.half)
			if slices.Contains(c.wrong, name) {
				require.False(t, wrong.within(c.halfBar), "%s, %s", c.name, name)
			}
		}
	}
}

var mlperfTypes = []gpuType{
	{"H200-SXM", Peak{4800, 1979}},
	{"H100-SXM", Peak{3350, 1979}},
	{"H100-NVL", Peak{3940, 1671}},
	{"H100-PCIe", Peak{2040, 1513}},
	{"L40S", Peak{864, 733}},
	{"MI300X", Peak{5300, 2615}},
	{"TPU v5e", Peak{819, 394}},
	{"TPU v6", Peak{1640, 1836}},
}

// mlperf are the best offline submissions of the closed division by accelerator.
func mlperf(t *testing.T) (peaks []Peak, rows []TypeRow) {
	t.Helper()
	f, err := os.Open(refdata.Path(t, "traces", "telemetry", "mlperf-inference-v4.1", "summary_results.json.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var all []struct {
		Category, Suite, Scenario, Accelerator, Model string
		Power                                         bool `json:"has_power"`
		Count                                         any  `json:"a#"`
		Nodes                                         float64
		Result                                        float64 `json:"Performance_Result"`
	}
	require.NoError(t, json.NewDecoder(z).Decode(&all))
	best := map[[2]int]float64{}
	var jobs []string
	for _, r := range all {
		n, counted := r.Count.(float64)
		if r.Category != "closed" || r.Suite != "datacenter" || r.Scenario != "Offline" || r.Power || !counted || !(n*r.Nodes > 0) || !(r.Result > 0) {
			continue
		}
		g := typeIn(mlperfTypes, r.Accelerator)
		if g < 0 {
			continue
		}
		job := strings.TrimSuffix(strings.TrimSuffix(r.Model, ".9"), "-99")
		if !slices.Contains(jobs, job) {
			jobs = append(jobs, job)
		}
		k := [2]int{g, slices.Index(jobs, job)}
		best[k] = max(best[k], r.Result/(n*r.Nodes))
	}
	for g := range mlperfTypes {
		peaks = append(peaks, mlperfTypes[g].Peak)
		for j := range jobs {
			if x := best[[2]int{g, j}]; x > 0 {
				rows = append(rows, TypeRow{g, j, x})
			}
		}
	}
	return peaks, rows
}

// TestPeaksOfOtherSums: with the peaks that cards for games and Turing reach where sums are FP32
// the bands still hold their rows, and are wider than the bar: it rests on the peaks of the
// data sheets.
func TestPeaksOfOtherSums(t *testing.T) {
	peaks, rows := lambda(t)
	for name, compute := range map[string]float64{"RTX 4090": 165, "RTX 3090": 71, "Quadro RTX 8000": 65} {
		peaks[typeIn(lambdaTypes, name)].Compute = compute
	}
	got := leaveTypesOut(t, peaks, rows, middleOfThree, ownDistance)
	t.Logf("all: covered %.3f, half %.3f, median %.3f", got.covered, got.half, got.median)
	require.GreaterOrEqual(t, got.covered, 0.85)
	peaks[typeIn(lambdaTypes, "Quadro RTX 8000")].Compute = 130.5
	got = leaveTypesOut(t, peaks, rows, middleOfThree, ownDistance)
	t.Logf("cards for games alone: covered %.3f, half %.3f, median %.3f", got.covered, got.half, got.median)
	require.GreaterOrEqual(t, got.covered, 0.85)
	require.Greater(t, got.half, 0.40)
}

// TestTypesEdges: what cannot be told is refused.
func TestTypesEdges(t *testing.T) {
	peaks := []Peak{{100, 10}, {200, 20}, {300, 30}, {400, 40}, {500, 50}}
	rows := []TypeRow{{0, 0, 1}, {1, 0, 2}, {2, 0, 3}, {3, 0, 4}, {4, 1, 7}}
	types, err := NewTypes(peaks, rows)
	require.NoError(t, err)
	b, known := types.Throughput(0, Peak{250, 25})
	require.True(t, known)
	require.InDelta(t, 2.5, b.Value, 0.1, "rows on a line")
	_, known = types.Throughput(1, Peak{250, 25})
	require.False(t, known, "one type has run the job")
	_, known = types.Throughput(7, Peak{250, 25})
	require.False(t, known, "an unknown job")
	_, known = types.Throughput(0, Peak{250, 0})
	require.False(t, known, "unknown peaks")
	two, err := NewTypes(peaks, append(slices.Clone(rows), TypeRow{3, 1, 6}))
	require.NoError(t, err)
	b2, known := two.Throughput(1, Peak{450, 45})
	require.True(t, known, "two types have run the job")
	require.Greater(t, b2.Value, 6.0)
	require.Less(t, b2.Value, 7.0)
	require.InDelta(t, math.Log(2.5), roofline(peaks, rows[:4], Peak{250, 25}), 0.1, "bandwidth and compute in proportion tell no weight, and need none")
	far, known := types.Throughput(0, Peak{25000, 2500})
	require.True(t, known)
	require.Greater(t, far.High/far.Value, b.High/b.Value)
	for _, c := range []struct {
		peaks []Peak
		rows  []TypeRow
		says  string
	}{
		{peaks, rows[:3], "found 3, want at least 4"},
		{peaks, append(slices.Clone(rows), TypeRow{0, 0, 2}), "row 5: found type 0 with job 0 again"},
		{peaks, append(slices.Clone(rows), TypeRow{0, 1, 0}), "a failed run is no measurement"},
		{peaks, append(slices.Clone(rows), TypeRow{5, 1, 1}), "want a type below 5"},
		{[]Peak{{0, 1}}, nil, "type 0: found 0 GB/s"},
	} {
		_, err := NewTypes(c.peaks, c.rows)
		require.ErrorContains(t, err, c.says)
	}
}
