package fit

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
)

// siaJobs are the models with measurements on several nodes. The pipeline model is left out:
// its synchronisation is longer than its step, and both come from a formula.
var siaJobs = []string{"bert", "cifar10", "imagenet", "ncf"}

var siaSystems = []string{"aws", "rtx", "dgx", "dgx-ext"}

// sia are the steps of a model on a system. A placement is a digit for each node.
func sia(t *testing.T, job, system string) (out []StepRow) {
	t.Helper()
	s := openSheet(t, refdata.Path(t, "traces", "hardware", "sia-placements", job+"__placements-"+system+".csv"))
	for _, row := range s.rows {
		text := s.text(row, "placement")
		batch, err := strconv.Atoi(s.text(row, "local_bsz"))
		require.NoError(t, err)
		r := StepRow{Batch: batch, Nodes: len(text), Step: s.number(row, "step_time"), Sync: s.number(row, "sync_time")}
		for _, digit := range text {
			r.Fullest = max(r.Fullest, int(digit-'0'))
			r.GPUs += int(digit - '0')
		}
		out = append(out, r)
	}
	return out
}

// cases calls do for each model on each system with the models beside it.
func cases(t *testing.T, do func(name string, rows []StepRow, others [][]StepRow)) {
	for _, system := range siaSystems {
		for _, job := range siaJobs {
			if system == "dgx-ext" && job == "ncf" {
				continue // its file is that of dgx
			}
			var others [][]StepRow
			for _, other := range siaJobs {
				if other != job {
					others = append(others, sia(t, other, system))
				}
			}
			do(system+" "+job, sia(t, job, system), others)
		}
	}
}

// stepModel predicts a step of a batch from its packed rows and its row on two nodes.
type stepModel func(r StepRow, batch []StepRow) float64

// judged is what a model comes to over all cases: the means of the medians and of the p90 of
// its distances; how often it has the right sign, against packed GPUs of the same number, where
// it says and the record shows a change of more than 15 %; and in which part of the changes
// that the record shows it says the right sign, of whatever size.
type judged struct{ median, p90, sign, signSeen float64 }

func judge(t *testing.T, model func(rows []StepRow, others [][]StepRow) stepModel) judged {
	t.Helper()
	var medians, p90s []float64
	right, signs, seenRight, seen := 0, 0, 0, 0
	cases(t, func(name string, rows []StepRow, others [][]StepRow) {
		predict := model(rows, others)
		var errs []float64
		for _, batch := range batches(rows) {
			_, packed := inputs(batch)
			for _, r := range batch {
				if r.Nodes == 1 || r.spread() {
					continue
				}
				step := predict(r, batch)
				errs = append(errs, math.Abs(step/r.Step-1))
				same, has := packed[r.GPUs]
				if !has || math.Abs(r.Step/same.Step-1) <= 0.15 {
					continue
				}
				agrees := (step > same.Step) == (r.Step > same.Step)
				seen++
				if agrees {
					seenRight++
				}
				if math.Abs(step/same.Step-1) > 0.15 {
					signs++
					if agrees {
						right++
					}
				}
			}
		}
		medians, p90s = append(medians, Median(errs)), append(p90s, Quantile(0.9, errs))
	})
	t.Logf("%d changes above 15 %%, %d of them said", seen, signs)
	require.Greater(t, seen, 300)
	return judged{mean(medians), mean(p90s), float64(right) / float64(max(1, signs)), float64(seenRight) / float64(seen)}
}

// TestPlacementsOfAnotherModel: packed rows and one row on two nodes, with the factors of other
// models, predict how long a step takes on any placement.
func TestPlacementsOfAnotherModel(t *testing.T) {
	const medianBar, p90Bar, signBar = 0.07, 0.18, 0.95
	form := judge(t, func(rows []StepRow, others [][]StepRow) stepModel {
		factors, err := NetworkFactors(others)
		require.NoError(t, err)
		c, err := CheckPlacement(rows, factors)
		require.NoError(t, err)
		require.Zero(t, c.Refused)
		t.Logf("%.1f %% median, %.1f %% p90 of %d rows", 100*c.Median(), 100*c.P90(), len(c.Errors))
		return func(r StepRow, batch []StepRow) float64 {
			p, err := Placement(batch, factors, 0, 0)
			require.NoError(t, err)
			b, known := p.Step(r.Nodes, r.Fullest)
			require.True(t, known)
			return b.Value
		}
	})
	t.Logf("form: %+v", form)
	require.LessOrEqual(t, form.median, medianBar)
	require.LessOrEqual(t, form.p90, p90Bar)
	require.GreaterOrEqual(t, form.sign, signBar)

	for name, model := range map[string]func(rows []StepRow, others [][]StepRow) stepModel{
		"packed alone": func([]StepRow, [][]StepRow) stepModel {
			return func(r StepRow, batch []StepRow) float64 { _, packed := inputs(batch); return packed[r.Fullest].Step }
		},
		"step(11) for each": func([]StepRow, [][]StepRow) stepModel {
			return func(_ StepRow, batch []StepRow) float64 {
				return batch[slices.IndexFunc(batch, StepRow.spread)].Step
			}
		},
		"one factor for a system": func(_ []StepRow, others [][]StepRow) stepModel {
			factor := oneFactor(others)
			return func(r StepRow, batch []StepRow) float64 {
				_, packed := inputs(batch)
				return factor * packed[r.Fullest].Step
			}
		},
	} {
		wrong := judge(t, model)
		t.Logf("%s: %+v", name, wrong)
		require.Greater(t, wrong.median, medianBar, name)
		require.Greater(t, wrong.p90, p90Bar, name)
		if name != "one factor for a system" { // which says slower of each placement, as most are
			require.Less(t, wrong.sign, signBar, name)
		}
		require.Less(t, wrong.signSeen, form.signSeen, name)
	}
}

// TestSpreadBands: the width that the other models of a system tell holds nine in ten steps of
// most models. The noise of packed steps as the width does not.
func TestSpreadBands(t *testing.T) {
	held, heldNarrow := map[string]float64{}, []float64{}
	var all []float64
	cases(t, func(name string, rows []StepRow, others [][]StepRow) {
		width, err := SpreadError(others)
		require.NoError(t, err)
		factors, err := NetworkFactors(others)
		require.NoError(t, err)
		in, narrow, n := 0.0, 0.0, 0.0
		for _, batch := range batches(rows) {
			p, err := Placement(batch, factors, PackedNoise, width)
			require.NoError(t, err)
			for _, r := range batch {
				if r.Nodes == 1 || r.spread() {
					continue
				}
				b, known := p.Step(r.Nodes, r.Fullest)
				require.True(t, known)
				n++
				if r.Step >= b.Low && r.Step <= b.High {
					in++
				}
				if math.Abs(b.Value/r.Step-1) <= PackedNoise {
					narrow++
				}
			}
		}
		held[name], all, heldNarrow = in/n, append(all, in/n), append(heldNarrow, narrow/n)
	})
	t.Logf("in the band: mean %.2f, median %.2f, %v; in one as narrow as packed steps: %.2f", mean(all), Median(all), held, mean(heldNarrow))
	require.GreaterOrEqual(t, Median(all), 0.9)
	require.Less(t, Median(heldNarrow), 0.9)
	_, err := SpreadError([][]StepRow{sia(t, "bert", "aws")})
	require.ErrorIs(t, err, ErrTooFew)
	_, err = SpreadError([][]StepRow{sia(t, "bert", "quad"), sia(t, "ncf", "quad")})
	require.ErrorContains(t, err, "steps on several nodes: found 0", "a system of one node")
}

// oneFactor is the median of step ÷ packed step over jobs on several nodes.
func oneFactor(jobs [][]StepRow) float64 {
	var ratios []float64
	for _, rows := range jobs {
		for _, batch := range batches(rows) {
			_, packed := inputs(batch)
			for _, r := range batch {
				if r.Nodes > 1 {
					ratios = append(ratios, r.Step/packed[r.Fullest].Step)
				}
			}
		}
	}
	return Median(ratios)
}

// TestWithoutSpreadMeasurement: packed rows alone give no answer on several nodes, with any
// factors.
func TestWithoutSpreadMeasurement(t *testing.T) {
	factors, err := NetworkFactors([][]StepRow{sia(t, "cifar10", "aws")})
	require.NoError(t, err)
	require.NotEmpty(t, factors)
	rows := slices.DeleteFunc(sia(t, "bert", "aws"), StepRow.spread)
	c, err := CheckPlacement(rows, factors)
	require.NoError(t, err)
	require.Empty(t, c.Errors)
	require.Greater(t, c.Refused, 500)
	p, err := Placement(batches(rows)[0], factors, 0.02, 0.2)
	require.NoError(t, err)
	_, known := p.Step(2, 1)
	require.False(t, known)
	b, known := p.Step(1, 2)
	require.True(t, known)
	require.Less(t, b.Low, b.Value)
}

// TestPackedNoise: one system was measured twice. Packed steps differ by the noise that bars
// stand above.
func TestPackedNoise(t *testing.T) {
	var differences []float64
	for _, job := range []string{"bert", "cifar10", "imagenet"} {
		again := map[StepRow]float64{}
		key := func(r StepRow) StepRow { return StepRow{Batch: r.Batch, GPUs: r.GPUs} }
		for _, r := range sia(t, job, "dgx-ext") {
			if r.Nodes == 1 {
				again[key(r)] = r.Step
			}
		}
		for _, r := range sia(t, job, "dgx") {
			if second, has := again[key(r)]; has && r.Nodes == 1 {
				differences = append(differences, math.Abs(second/r.Step-1))
			}
		}
	}
	t.Logf("%d steps measured twice: %.1f %% median, %.1f %% p90", len(differences), 100*Median(differences), 100*Quantile(0.9, differences))
	require.Greater(t, len(differences), 50)
	require.Less(t, Median(differences), 0.03)
	require.InDelta(t, PackedNoise, Quantile(0.9, differences), 0.005)
}

func TestBadPlacements(t *testing.T) {
	good := []StepRow{{Batch: 8, Nodes: 1, Fullest: 1, GPUs: 1, Step: 1}}
	for _, c := range []struct {
		row  StepRow
		says string
	}{
		{StepRow{Batch: 8, Nodes: 0, Fullest: 1, GPUs: 1, Step: 1}, "row 1: found 1 GPUs on 0 nodes"},
		{StepRow{Batch: 8, Nodes: 2, Fullest: 1, GPUs: 3, Step: 1}, "want a placement"},
		{StepRow{Batch: 8, Nodes: 1, Fullest: 1, GPUs: 2, Step: 1}, "want a placement"},
		{StepRow{Batch: 8, Nodes: 1, Fullest: 2, GPUs: 2, Step: 0}, "a step of 0 s"},
		{StepRow{Batch: 8, Nodes: 1, Fullest: 2, GPUs: 2, Step: 1, Sync: 1.5}, "with 1.5 s of synchronisation"},
		{StepRow{Batch: 9, Nodes: 1, Fullest: 2, GPUs: 2, Step: 1}, "found the batch 9 after 8"},
	} {
		_, err := Placement(append(slices.Clone(good), c.row), nil, 0, 0)
		require.ErrorContains(t, err, c.says)
	}
	_, err := NetworkFactors([][]StepRow{good, {{}}})
	require.ErrorContains(t, err, "job 1: row 0")
	_, err = Placement(nil, nil, 0, 0)
	require.ErrorContains(t, err, "no step on one node")
	_, err = Placement(append(good, good...), nil, 0, 0)
	require.ErrorContains(t, err, "ascending", "a packed step that was measured twice")
}
