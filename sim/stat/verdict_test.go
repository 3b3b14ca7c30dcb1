package stat

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model/draw"
)

// TestJudge is the table of the rules: 12 windows unless said otherwise, a
// floor of 2 whose interval ends at 3.
func TestJudge(t *testing.T) {
	floor := Floor{Value: 2, Low: 1, High: 3}
	of := func(low, high float64) Interval { return Interval{(low + high) / 2, low, high, 0.95} }
	for _, c := range []struct {
		gain           Interval
		windows, block int
		p              float64
		want           Verdict
		reason         string
	}{
		{of(4, 6), 12, 1, 0.01, Better, "the interval lies beyond the noise floor"},
		{of(-6, -4), 12, 1, 0.01, Worse, "the interval lies beyond the noise floor"},
		{of(4, 6), 12, 2, 0.05, Better, "the interval lies beyond the noise floor"},
		{of(4, 6), 12, 1, 0.051, NotEnoughEvidence, "p = 0.051 after correction (Holm), above 0.05"},
		{of(4, 6), 5, 1, 0.01, NotEnoughEvidence, "5 windows, 6 needed"},
		{of(4, 6), 11, 2, 0.01, NotEnoughEvidence, "11 windows in blocks of 2 are 5 blocks, 6 needed"},
		{of(-1, 1), 5, 1, 1, NotEnoughEvidence, "5 windows, 6 needed"},
		{of(0, 0), 12, 1, 1, NoDifference, "the interval lies within the noise floor"},
		{of(-3, 3), 12, 1, 1, NoDifference, "the interval lies within the noise floor"},
		{of(0.5, 1.5), 12, 1, 0.001, NoDifference, "the interval lies within the noise floor"},
		{of(1, 3.5), 12, 1, 0.001, NotEnoughEvidence, "the interval reaches into the noise floor"},
		{of(3, 5), 12, 1, 0.001, NotEnoughEvidence, "the interval reaches into the noise floor"},
		{of(-1, 9), 12, 1, 0.2, NotEnoughEvidence, "the interval holds zero and is wider than the noise floor"},
		{of(nan, nan), 12, 1, nan, NotEnoughEvidence, "the difference is undefined"},
		{of(nan, nan), 0, 1, nan, NotEnoughEvidence, "0 windows, 6 needed"},
	} {
		got, reason := Defaults().judge(evidence{c.windows, c.block, c.gain, floor, c.p})
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.reason, reason, "%+v", c)
	}
	text, err := Better.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "better", string(text))
}

// world is a synthetic metric of a trace: windows of very different level, and
// noise of 2 % of the level in each run for no reason.
type world struct {
	windows int
	key     uint64
}

func (w world) run(configuration, replica uint64, factor float64) []float64 {
	level := draw.New(11, testStream, w.key, 0)
	noise := draw.New(12, testStream, w.key, configuration<<32|replica)
	out := make([]float64, w.windows)
	for i := range out {
		out[i] = 3600 * math.Exp(0.5*level.Normal()) * factor * (1 + 0.02*noise.Normal())
	}
	return out
}

func (w world) floor(t *testing.T) Floor {
	var replicas [][]float64
	for r := range uint64(12) {
		replicas = append(replicas, w.run(0, r+1, 1))
	}
	f, err := ReplicaFloor(replicas, Mean, 0.95, 0.95)
	require.NoError(t, err)
	return f
}

// TestPlantedDifferences: a difference of 1 % lies below the noise floor of
// these worlds and is not called a gain in any of them, nor is none at all; one
// of 5 % is called what it is.
func TestPlantedDifferences(t *testing.T) {
	s := Defaults()
	s.Draws = 999
	called := map[float64]map[Verdict]int{}
	factors := []float64{0.95, 0.99, 1, 1.01, 1.05}
	const worlds = 40
	for key := range uint64(worlds) {
		w := world{24, key}
		floor := w.floor(t)
		for i, factor := range factors {
			pairs := pairsOf(t, w.run(0, 0, 1), w.run(uint64(i)+1, 0, factor))
			rows, err := Compare([]Subject{{"planted", "wait_mean", Lower, pairs, floor}}, s)
			require.NoError(t, err)
			if called[factor] == nil {
				called[factor] = map[Verdict]int{}
			}
			called[factor][rows[0].Verdict]++
		}
	}
	for _, factor := range []float64{0.99, 1, 1.01} {
		require.Zero(t, called[factor][Better], "factor %v: %v", factor, called[factor])
		require.Zero(t, called[factor][Worse], "factor %v: %v", factor, called[factor])
	}
	require.GreaterOrEqual(t, called[0.95][Better], worlds-2, "%v", called[0.95])
	require.GreaterOrEqual(t, called[1.05][Worse], worlds-2, "%v", called[1.05])
	require.Zero(t, called[0.95][Worse]+called[1.05][Better])
	t.Log(called)
}

// TestNothingPlanted: of tables that compare a configuration with itself under
// five metrics, no more than one in twenty claims anything, even where nobody
// measured a floor. The band is three standard deviations of 200 tables.
func TestNothingPlanted(t *testing.T) {
	s := Defaults()
	s.Draws = 499
	const tables = 200
	claims := 0
	for key := range uint64(tables) {
		w := world{12, key}
		var subjects []Subject
		for metric := range uint64(5) {
			subjects = append(subjects, Subject{Pairs: pairsOf(t, w.run(2*metric, 0, 1), w.run(2*metric+1, 0, 1))})
		}
		rows, err := Compare(subjects, s)
		require.NoError(t, err)
		for _, row := range rows {
			if row.Verdict == Better || row.Verdict == Worse {
				claims++
				break
			}
		}
	}
	t.Logf("%d of %d tables claim a difference that is not there", claims, tables)
	require.LessOrEqual(t, claims, 19)
}

// TestBelowTheFloor: a difference of 1 % that is certain, to the last window,
// is still none when equal configurations lie 2 % apart.
func TestBelowTheFloor(t *testing.T) {
	w := world{24, 1}
	base := w.run(0, 0, 1)
	better := func(percent float64) []float64 {
		out := make([]float64, len(base))
		for i := range out {
			out[i] = base[i] * (1 - percent/100)
		}
		return out
	}
	two := 0.02 * Mean.Of(base)
	floor := Floor{Value: two, Low: two, High: two}
	var subjects []Subject
	for _, percent := range []float64{0, 1, 5, -5} {
		subjects = append(subjects, Subject{fmt.Sprint(percent), "wait_mean", Lower, pairsOf(t, base, better(percent)), floor})
	}
	rows, err := Compare(subjects, Defaults())
	require.NoError(t, err)
	for i, want := range []Verdict{NoDifference, NoDifference, Better, Worse} {
		require.Equal(t, want, rows[i].Verdict, "%s %%: %s", rows[i].Candidate, rows[i].Reason)
	}
	require.InDelta(t, -0.05, rows[2].Relative.Estimate, 1e-9)
	require.Equal(t, 1.0, rows[0].P)
	require.Equal(t, Interval{0, 0, 0, 0.95}, rows[0].Difference)
	require.InDelta(t, 4.0/10000, rows[2].Corrected, 1e-12, "the least of four p-values, times four")
}

// TestManyComparisons: a p-value that passes alone does not pass among many.
func TestManyComparisons(t *testing.T) {
	pairs := pairsOf(t, []float64{9, 8, 9, 8, 9, 8}, []float64{5, 5, 4, 5, 4, 5})
	subject := Subject{"c", "m", Lower, pairs, Floor{}}
	rows, err := Compare([]Subject{subject}, Defaults())
	require.NoError(t, err)
	require.Equal(t, 2.0/64, rows[0].P)
	require.Equal(t, Better, rows[0].Verdict)
	rows, err = Compare([]Subject{subject, subject}, Defaults())
	require.NoError(t, err)
	require.Equal(t, 4.0/64, rows[0].Corrected)
	require.Equal(t, NotEnoughEvidence, rows[0].Verdict)
	s := Defaults()
	s.Correction = ByBenjaminiHochberg
	rows, err = Compare([]Subject{subject, subject, {Pairs: Pairs{}}}, s)
	require.NoError(t, err)
	require.Equal(t, 2.0/64, rows[0].Corrected, "both are claimed, so the share of false ones is that of one")
	require.Equal(t, Better, rows[0].Verdict)
	require.Equal(t, NotEnoughEvidence, rows[2].Verdict, "no pair, not counted")
	require.True(t, math.IsNaN(rows[2].Corrected))
}

// comparisons draws a table of a few subjects. Values are whole and floors are
// not, so that no edge lies on another and last bits decide nothing.
func comparisons(t *rapid.T) []Subject {
	var out []Subject
	whole := func(from, to int, name string) float64 { return float64(rapid.IntRange(from, to).Draw(t, name)) }
	for range rapid.IntRange(1, 3).Draw(t, "subjects") {
		n := rapid.IntRange(0, 16).Draw(t, "windows")
		base, shift := make([]float64, n), whole(-300, 300, "shift")
		other := make([]float64, n)
		for i := range base {
			base[i] = whole(1, 1000, "baseline")
			other[i] = base[i] + shift + whole(-50, 50, "noise")
		}
		floor := whole(0, 100, "floor") + 0.0123
		out = append(out, Subject{
			Better: Direction(rapid.IntRange(0, 1).Draw(t, "better")), Pairs: pairsOf(t, base, other),
			Floor: Floor{Value: floor, Low: floor / 2, High: floor * 1.5},
		})
	}
	return out
}

func quick(t *rapid.T) Settings {
	s := Defaults()
	s.Draws = 199
	s.Method = Method(rapid.IntRange(0, 1).Draw(t, "method"))
	s.Scheme = Scheme(rapid.IntRange(0, 1).Draw(t, "scheme"))
	s.Centre = Centre(rapid.IntRange(0, 1).Draw(t, "centre"))
	return s
}

// TestSwapMirrors: exchanging baseline and candidate swaps better and worse,
// mirrors the interval and leaves p as it is.
func TestSwapMirrors(t *testing.T) {
	mirror := map[Verdict]Verdict{Better: Worse, Worse: Better, NoDifference: NoDifference, NotEnoughEvidence: NotEnoughEvidence}
	rapid.Check(t, func(t *rapid.T) {
		subjects, s := comparisons(t), quick(t)
		rows, err := Compare(subjects, s)
		require.NoError(t, err)
		for i := range subjects {
			p := &subjects[i].Pairs
			p.Baseline, p.Candidate = p.Candidate, p.Baseline
		}
		swapped, err := Compare(subjects, s)
		require.NoError(t, err)
		for i, row := range rows {
			require.Equal(t, mirror[row.Verdict], swapped[i].Verdict, row.Reason)
			require.Equal(t, row.Reason, swapped[i].Reason)
			if row.Windows == 0 {
				continue
			}
			require.Equal(t, row.Difference, swapped[i].Difference.Times(-1))
			require.Equal(t, row.P, swapped[i].P)
			require.Equal(t, row.Corrected, swapped[i].Corrected)
		}
	})
}

// TestUnitsDoNotMatter: seconds or hours, and less of a bad thing or more of a
// good one, give the same verdict.
func TestUnitsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subjects, s := comparisons(t), quick(t)
		rows, err := Compare(subjects, s)
		require.NoError(t, err)
		unit := rapid.SampledFrom([]float64{1.0 / 3600, 1e-6, 0.1, 7, 1e9, -1, -60}).Draw(t, "unit")
		for i := range subjects {
			x := &subjects[i]
			for w := range x.Pairs.Window {
				x.Pairs.Baseline[w] *= unit
				x.Pairs.Candidate[w] *= unit
			}
			if unit < 0 {
				x.Better = Higher - x.Better
			}
			size := math.Abs(unit)
			x.Floor = Floor{Value: x.Floor.Value * size, Low: x.Floor.Low * size, High: x.Floor.High * size}
		}
		scaled, err := Compare(subjects, s)
		require.NoError(t, err)
		for i, row := range rows {
			require.Equal(t, row.Verdict, scaled[i].Verdict, row.Reason)
			require.Equal(t, row.Block, scaled[i].Block)
			if row.Windows == 0 {
				continue
			}
			require.Equal(t, row.P, scaled[i].P)
			const near = 1e-9
			require.InDelta(t, row.Difference.Low, scaled[i].Difference.Times(1/unit).Low, near)
			require.InDelta(t, row.Difference.High, scaled[i].Difference.Times(1/unit).High, near)
		}
	})
}

func TestNotWorse(t *testing.T) {
	base := []float64{10, 12, 9, 11, 10, 12, 9, 11}
	plus := func(d ...float64) []float64 {
		out := make([]float64, len(base))
		for i := range out {
			out[i] = base[i] + d[i%len(d)]
		}
		return out
	}
	for _, c := range []struct {
		name      string
		candidate []float64
		better    Direction
		margin    float64
		want      Bound
		reason    string
	}{
		{"unchanged, no margin", base, Lower, 0, Holds, "the lower bound of the gain is within the margin"},
		{"1 longer, 1 allowed", plus(1), Lower, 1, Holds, "the lower bound of the gain is within the margin"},
		{"1 longer, 0.9 allowed", plus(1), Lower, 0.9, Violated, "the upper bound of the gain is beyond the margin"},
		{"1 more of what is good", plus(1), Higher, 0, Holds, "the lower bound of the gain is within the margin"},
		{"0 to 2 longer, 1 allowed", plus(0, 2), Lower, 1, Undecided, "the margin lies between the bounds of the gain"},
		{"0 to 2 longer, 3 allowed", plus(0, 2), Lower, 3, Holds, "the lower bound of the gain is within the margin"},
		{"too few windows", base[:5], Lower, 1, Undecided, "5 windows, 6 needed"},
		{"none", nil, Lower, 1, Undecided, "0 windows, 6 needed"},
	} {
		s := Defaults()
		got, err := NotWorse(pairsOf(t, base, c.candidate), c.better, c.margin, s)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.Outcome, "%s: %+v", c.name, got)
		require.Equal(t, c.reason, got.Reason, c.name)
	}
	_, err := NotWorse(Pairs{}, Lower, -1, Defaults())
	require.EqualError(t, err, "stat: margin -1 of a non-inferiority check; give 0 or a positive number")
}

// TestOneSidedCoverage: the lower bound of the gain lies above the truth in no
// more than about 5 % of simulated comparisons.
func TestOneSidedCoverage(t *testing.T) {
	s := Defaults()
	s.Draws = 399
	wrong := 0
	const runs = 300
	for k := range uint64(runs) {
		zero := make([]float64, 20)
		got, err := NotWorse(pairsOf(t, zero, series(20, 0, k, normal)), Higher, 0, s)
		require.NoError(t, err)
		if got.AtLeast > 0 {
			wrong++
		}
	}
	require.InDelta(t, 0.05, float64(wrong)/runs, 0.038)
}

func TestOverfit(t *testing.T) {
	window := func(first int, values ...float64) []Observation {
		out := oneSeed(values...)
		for i := range out {
			out[i].Window += first
		}
		return out
	}
	pair := func(first int, base, other []float64) Pairs {
		p, err := Pair(window(first, base...), window(first, other...))
		require.NoError(t, err)
		return p
	}
	tuning := pair(0, []float64{100, 104, 98, 101, 99, 98}, []float64{80, 83, 79, 81, 78, 79})          // 20 % less
	accept := pair(6, []float64{200, 204, 198, 201, 199, 198}, []float64{190, 195, 187, 191, 188, 189}) // 5 % less
	got, err := Overfit(tuning, accept, Lower, Floor{Value: 2, High: 2}, Defaults())
	require.NoError(t, err)
	require.InDelta(t, 0.2, got.Tuning.Estimate, 1e-12)
	require.InDelta(t, 0.05, got.Acceptance.Estimate, 1e-12)
	require.InDelta(t, 0.15, got.Gap.Estimate, 1e-12)
	require.InDelta(t, 0.25, got.Kept, 1e-12)
	require.True(t, got.Shown)
	require.InDelta(t, 0.15-math.Hypot(0.2-got.Tuning.Low, got.Acceptance.High-0.05), got.Gap.Low, 1e-12)

	got, err = Overfit(tuning, accept, Lower, Floor{Value: 30, High: 30}, Defaults())
	require.NoError(t, err)
	require.False(t, got.Shown, "30 of 200 is the gap itself")

	got, err = Overfit(tuning, pair(6, []float64{0, 0, 0}, []float64{1, 1, 1}), Lower, Floor{}, Defaults())
	require.NoError(t, err)
	require.False(t, got.Shown)
	require.False(t, got.Gap.Known(), "a part of nothing")

	_, err = Overfit(tuning, pair(5, []float64{1}, []float64{1}), Lower, Floor{}, Defaults())
	require.EqualError(t, err, "stat: window 5 is both for tuning and for acceptance; a gain must be confirmed on windows that had no part in finding it")
}
