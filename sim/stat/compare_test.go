package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model/draw"
)

func rowOf(t require.TestingT, p Pairs, s Settings) Row {
	rows, err := Compare([]Subject{{Pairs: p}}, s)
	require.NoError(t, err)
	return rows[0]
}

// world is a synthetic metric of a trace: windows of very different level, and
// noise of each run, as a part of the level, for no reason.
type world struct {
	windows int
	noise   float64
	key     uint64
}

// run is one replica of a configuration whose values are factor times the level.
func (w world) run(configuration, replica uint64, factor float64) []Observation {
	level := draw.New(11, testStream, w.key, 0)
	noise := draw.New(12, testStream, w.key, configuration<<32|replica)
	values := make([]float64, w.windows)
	for i := range values {
		values[i] = 3600 * math.Exp(0.5*level.Normal()) * factor * (1 + w.noise*noise.Normal())
	}
	return withSeed(int(configuration<<32|replica), values...)
}

// pair has so many replicas of both sides.
func (w world) pair(t require.TestingT, a, b, replicas uint64, factor float64) Pairs {
	var sides [2][]Observation
	for r := range replicas {
		sides[0] = append(sides[0], w.run(a, r, 1)...)
		sides[1] = append(sides[1], w.run(b, r, factor)...)
	}
	p, err := Pair(sides[0], sides[1])
	require.NoError(t, err)
	return p
}

// TestPlantedDifferences: of 20 windows with a noise of 5 % in each run, a gain of
// 5 % is claimed as a rule when five replicas of either side are averaged, and
// always when it is 20 %. The noise is not counted twice: the interval of five
// replicas is narrower than that of one.
func TestPlantedDifferences(t *testing.T) {
	const worlds = 60
	called := map[float64]map[Verdict]int{}
	narrower := 0
	for key := range uint64(worlds) {
		w := world{20, 0.05, key}
		for i, factor := range []float64{0.8, 0.95, 1, 1.05, 1.2} {
			row := rowOf(t, w.pair(t, 0, uint64(i)+1, 5, factor), Defaults())
			require.Equal(t, NoiseOfBoth, row.Noise.Measured)
			require.Greater(t, row.Noise.Share, 0.1, "all of it is noise")
			if called[factor] == nil {
				called[factor] = map[Verdict]int{}
			}
			called[factor][row.Verdict]++
			if one := rowOf(t, w.pair(t, 0, uint64(i)+1, 1, factor), Defaults()); row.Relative.High-row.Relative.Low < one.Relative.High-one.Relative.Low {
				narrower++
			}
		}
	}
	t.Log(called, narrower)
	require.Equal(t, worlds, called[0.8][Better], "%v", called)
	require.Equal(t, worlds, called[1.2][Worse], "%v", called)
	require.GreaterOrEqual(t, called[0.95][Better], worlds*3/4, "%v", called)
	require.GreaterOrEqual(t, called[1.05][Worse], worlds*3/4, "%v", called)
	require.LessOrEqual(t, called[1][Better]+called[1][Worse], 7, "4 of 60 have a chance of 0.35, 8 one of 0.01: %v", called)
	require.Greater(t, narrower, 5*worlds*9/10)
}

// TestAgreementByChanceDoesNotCount: windows whose means happen to agree to the last
// digit still have the noise of their replicas in the interval.
func TestAgreementByChanceDoesNotCount(t *testing.T) {
	var a, b []Observation
	for w := range 10 {
		a = append(a, Observation{w, 0, 90}, Observation{w, 1, 110})
		b = append(b, Observation{w, 2, 91}, Observation{w, 3, 111})
	}
	p, err := Pair(a, b)
	require.NoError(t, err)
	row := rowOf(t, p, Defaults())
	require.InDelta(t, 0.01, row.Relative.Estimate, 1e-12)
	require.InDelta(t, math.Sqrt(2*200.0/2/10), row.Noise.Error, 1e-9, "200 between two replicas of either side, of 10 windows")
	require.Equal(t, 1.0, row.Noise.Share)
	require.Equal(t, NotEnoughEvidence, row.Verdict, row.Reason)

	bare := rowOf(t, pairsOf(t, p.Baseline, p.Candidate), Defaults())
	require.Equal(t, Worse, bare.Verdict, "for the jobs exactly as submitted")
	require.Equal(t, NoNoise, bare.Noise.Measured)
	require.True(t, math.IsNaN(bare.Noise.Error))
}

// TestNothingPlanted: of tables that compare a configuration with itself under
// ten metrics, no more than one in twenty claims anything, with replicas and
// without. 21 of 200 is four standard deviations above.
func TestNothingPlanted(t *testing.T) {
	judge, err := NewJudge(Defaults())
	require.NoError(t, err)
	for _, replicas := range []uint64{1, 3} {
		const tables = 200
		claims := 0
		for key := range uint64(tables) {
			w := world{12, 0.05, key}
			var subjects []Subject
			for metric := range uint64(10) {
				subjects = append(subjects, Subject{Pairs: w.pair(t, 2*metric, 2*metric+1, replicas, 1)})
			}
			rows, err := judge.Compare(subjects)
			require.NoError(t, err)
			for _, row := range rows {
				if row.Verdict == Better || row.Verdict == Worse {
					claims++
					break
				}
			}
		}
		require.LessOrEqual(t, claims, 21, "%d replicas", replicas)
	}
}

// TestARelativeIntervalStaysWithinWhatIsPossible: a slowdown of some hundreds in
// one window and little in the others. The mean difference spreads over more than
// the mean itself, the ratio does not.
func TestARelativeIntervalStaysWithinWhatIsPossible(t *testing.T) {
	baseline := []float64{4, 5, 900, 3, 6, 700, 5, 4, 3, 1200, 6, 5}
	candidate := []float64{3, 4, 30, 3, 5, 20, 4, 4, 2, 45, 5, 4}
	r := rowOf(t, pairsOf(t, baseline, candidate), Defaults())
	require.InDelta(t, 129./2841-1, r.Relative.Estimate, 1e-12)
	require.True(t, r.Withheld(), "as parts of the mean its interval would be more than all")
	require.InDelta(t, (129.-2841)/12, r.Difference.Estimate, 1e-9)
	require.True(t, math.IsNaN(r.Difference.Low) && math.IsNaN(r.Difference.High))
	require.Equal(t, "the interval lies beyond 0; difference in the unit withheld: uneven windows", r.Reason)
	require.Greater(t, r.Relative.Low, -1.)
	require.Less(t, r.Relative.High, 0.)
	require.Zero(t, rowOf(t, pairsOf(t, []float64{0, 0, 0, 0, 0, 0, 900, 0}, candidate[:8]), Defaults()).Baseline.Low, "a mean of what is never below 0")

	same := rowOf(t, pairsOf(t, baseline, baseline), Defaults())
	require.Equal(t, Interval{Confidence: 0.95}, same.Relative)
	require.Equal(t, 1.0, same.P)
	require.Equal(t, NoDifference, same.Verdict)
	require.True(t, math.IsNaN(same.Difference.High), "withheld of equal sides too, and never 0")
	for name, p := range map[string]Pairs{
		"nothing":                            pairsOf(t, nil, nil),
		"a baseline of 0":                    pairsOf(t, make([]float64, 12), candidate),
		"one window that holds the baseline": pairsOf(t, []float64{0, 0, 0, 0, 0, 0, 0, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}),
		"less than 0":                        pairsOf(t, []float64{1, 2, 3, 4, 5, 6, -1, 8}, []float64{1, 2, 3, 4, 5, 6, 7, 8}),
		"a candidate like it":                pairsOf(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1, 2, 3, 4, -5, 6, 7, 8}),
		"nothing left":                       pairsOf(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, make([]float64, 8)),
	} {
		row := rowOf(t, p, Defaults())
		require.False(t, row.Relative.Known() || row.Withheld(), "%s: without a ratio nothing is withheld", name)
		require.Equal(t, name != "nothing", row.Difference.Known(), name)
	}
}

// TestUnevenWindowsHaveNoDifference: of lognormal windows with σ = 0.8 and more nearly
// all rows have the ratio alone, and with σ = 0.3 nearly all have both. At most one row in
// twenty-five shows a difference whose interval misses the truth.
func TestUnevenWindowsHaveNoDifference(t *testing.T) {
	judge, err := NewJudge(Defaults())
	require.NoError(t, err)
	const n, rows = 40, 800
	for _, c := range []struct {
		sigma       float64
		least, most int // rows that show the difference
	}{{0.3, 790, rows}, {0.8, 0, 80}, {1.2, 0, 8}} {
		shown, missed := 0, 0
		for k := range uint64(rows) {
			levels, noise := series(n, 0, 2*k), series(n, 0, 2*k+1)
			p := Pairs{Window: make([]int, n)}
			for i := range levels {
				level := math.Exp(c.sigma * levels[i])
				p.Baseline = append(p.Baseline, level)
				p.Candidate = append(p.Candidate, 0.7*level*(1+0.05*noise[i]))
			}
			row, err := judge.Compare([]Subject{{Pairs: p}})
			require.NoError(t, err)
			require.True(t, row[0].Relative.Known())
			if row[0].Withheld() {
				continue
			}
			shown++
			truth := -0.3 * math.Exp(c.sigma*c.sigma/2)
			if d := row[0].Difference; truth < d.Low || d.High < truth {
				missed++
			}
		}
		require.True(t, c.least <= shown && shown <= c.most, "σ %v: %d of %d shown", c.sigma, shown, rows)
		if c.sigma >= 0.8 {
			require.LessOrEqual(t, missed, rows/25, "σ %v", c.sigma)
		}
	}
}

// TestIntervalsAndPAgree: p is at most 0.05 exactly when 0 lies outside of the
// interval, and the two intervals never say different things of the sign.
func TestIntervalsAndPAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "windows")
		value := rapid.Custom(func(t *rapid.T) float64 {
			return math.Ldexp(float64(rapid.IntRange(0, 64).Draw(t, "m")), rapid.IntRange(0, 6).Draw(t, "e"))
		})
		r := rowOf(t, pairsOf(t, rapid.SliceOfN(value, n, n).Draw(t, "baseline"), rapid.SliceOfN(value, n, n).Draw(t, "candidate")), Defaults())
		if !r.Relative.Known() {
			require.Equal(t, r.P <= 0.05, r.Difference.side() != 0)
			return
		}
		require.GreaterOrEqual(t, r.Relative.Low, -1.)
		require.LessOrEqual(t, r.Relative.Low, r.Relative.Estimate)
		require.GreaterOrEqual(t, r.Relative.High, r.Relative.Estimate)
		require.Equal(t, r.P <= 0.05, r.Relative.side() != 0)
		if r.Withheld() {
			require.True(t, Finite(r.Difference.Estimate))
			return
		}
		if d := r.Difference.side(); d != r.Relative.side() {
			require.Zero(t, d)
			require.True(t, r.Difference.Low == 0 || r.Difference.High == 0)
		}
	})
}

// comparisons draws a table of a few subjects with values above 0.
func comparisons(t *rapid.T) []Subject {
	var out []Subject
	whole := func(from, to int, name string) float64 { return float64(rapid.IntRange(from, to).Draw(t, name)) }
	for range rapid.IntRange(1, 3).Draw(t, "subjects") {
		n := rapid.IntRange(0, 16).Draw(t, "windows")
		var sides [2][]Observation
		shift := whole(0, 300, "shift")
		for w := range n {
			base := whole(1, 1000, "baseline")
			for seed := range rapid.IntRange(1, 3).Draw(t, "replicas") {
				sides[0] = append(sides[0], Observation{w, seed, base + whole(0, 30, "noise")})
				sides[1] = append(sides[1], Observation{w, seed + 5, base + shift + whole(0, 30, "noise")})
			}
		}
		p, err := Pair(sides[0], sides[1])
		require.NoError(t, err)
		out = append(out, Subject{Better: Direction(rapid.IntRange(0, 1).Draw(t, "better")), Pairs: p})
	}
	return out
}

// TestSwapMirrors: exchanging baseline and candidate swaps better and worse,
// mirrors the interval and leaves p as it is.
func TestSwapMirrors(t *testing.T) {
	mirror := map[Verdict]Verdict{Better: Worse, Worse: Better, NoDifference: NoDifference, NotEnoughEvidence: NotEnoughEvidence}
	rapid.Check(t, func(t *rapid.T) {
		subjects := comparisons(t)
		rows, err := Compare(subjects, Defaults())
		require.NoError(t, err)
		for i := range subjects {
			p := &subjects[i].Pairs
			p.Baseline, p.Candidate = p.Candidate, p.Baseline
			p.BaselineVariance, p.CandidateVariance = p.CandidateVariance, p.BaselineVariance
			p.BaselineRuns, p.CandidateRuns = p.CandidateRuns, p.BaselineRuns
		}
		swapped, err := Compare(subjects, Defaults())
		require.NoError(t, err)
		const tolerance = 1e-9
		for i, row := range rows {
			require.Equal(t, mirror[row.Verdict], swapped[i].Verdict, row.Reason)
			require.Equal(t, row.Reason, swapped[i].Reason)
			if row.Windows < 2 {
				continue
			}
			require.Equal(t, row.Withheld(), swapped[i].Withheld())
			if !row.Withheld() {
				require.InDelta(t, row.Difference.Low, swapped[i].Difference.Times(-1).Low, tolerance)
			}
			require.InDelta(t, row.P, swapped[i].P, tolerance)
			require.InDelta(t, row.Noise.Share, swapped[i].Noise.Share, tolerance)
			if row.Relative.Known() {
				require.InEpsilon(t, 1/(1+row.Relative.Estimate), 1+swapped[i].Relative.Estimate, tolerance)
				if row.Relative.High < 1e3 { // beyond, what is left to -100 % is lost in rounding
					require.InEpsilon(t, 1/(1+row.Relative.High), 1+swapped[i].Relative.Low, 1e-6)
				}
			}
		}
	})
}

// TestUnitsDoNotMatter: seconds or hours give the same verdict.
func TestUnitsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subjects := comparisons(t)
		rows, err := Compare(subjects, Defaults())
		require.NoError(t, err)
		unit := rapid.SampledFrom([]float64{1.0 / 3600, 1e-6, 0.1, 7, 1e9}).Draw(t, "unit")
		for i := range subjects {
			p := &subjects[i].Pairs
			for w := range p.Window {
				p.Baseline[w] *= unit
				p.Candidate[w] *= unit
				p.BaselineVariance[w] *= unit * unit
				p.CandidateVariance[w] *= unit * unit
			}
		}
		scaled, err := Compare(subjects, Defaults())
		require.NoError(t, err)
		for i, row := range rows {
			require.Equal(t, row.Verdict, scaled[i].Verdict, row.Reason)
			if row.Windows < 2 {
				continue
			}
			require.InDelta(t, row.P, scaled[i].P, 1e-9)
			require.Equal(t, row.Withheld(), scaled[i].Withheld())
			if !row.Withheld() {
				require.InDelta(t, row.Difference.Low, scaled[i].Difference.Low/unit, 1e-6)
			}
			require.InDelta(t, row.Noise.Share, scaled[i].Noise.Share, 1e-9)
		}
	})
}
