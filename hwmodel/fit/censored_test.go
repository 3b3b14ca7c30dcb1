package fit

import (
	"compress/gzip"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/tools/refdata"
)

// lifetimesOf are draws of a law that are watched for a time of their own each, up to most.
func lifetimesOf(law hwmodel.Lifetime, seed uint64, n int, most model.Duration) []Watched {
	out := make([]Watched, n)
	for i := range out {
		src := draw.New(seed, draw.StreamOf("watched"), uint64(i), 0)
		life, watch := max(1, law.Draw(&src)), max(1, model.Duration(src.Uniform(0.2, 1)*float64(most)))
		out[i] = Watched{min(life, watch), life <= watch}
	}
	return out
}

// TestCensoredLifetimes: the parameters of lifetimes of which half are not watched to their end
// lie in their intervals in 95 % of records. Those of the ended ones alone, and of all as if they
// had ended, do not.
func TestCensoredLifetimes(t *testing.T) {
	t.Parallel()
	exponential := func(f CensoredFit) CensoredLaw { return f.Exponential }
	weibull := func(f CensoredFit) CensoredLaw { return f.Weibull }
	logNormal := func(f CensoredFit) CensoredLaw { return f.LogNormal }
	const most = 160 * model.Day
	for _, c := range []struct {
		name  string
		law   hwmodel.Lifetime
		shape float64
		of    func(CensoredFit) CensoredLaw
		n     int
		most  model.Duration
	}{
		{"exponential", hwmodel.Exponential{Expected: 100 * model.Day}, 0, exponential, 80, most},
		{"Weibull 0.7", hwmodel.Weibull{Shape: 0.7, Scale: 100 * model.Day}, 0.7, weibull, 80, most},
		{"Weibull 2", hwmodel.Weibull{Shape: 2, Scale: 100 * model.Day}, 2, weibull, 80, most},
		{"log-normal", hwmodel.LogNormal{Median: 100 * model.Day, Sigma: 1.2}, 1.2, logNormal, 80, most},
		{"exponential, few parts", hwmodel.Exponential{Expected: 100 * model.Day}, 0, exponential, 20, most},
		{"exponential, few end", hwmodel.Exponential{Expected: 100 * model.Day}, 0, exponential, 300, 10 * model.Day},
		{"Weibull 2, few parts", hwmodel.Weibull{Shape: 2, Scale: 100 * model.Day}, 2, weibull, 50, most},
		{"Weibull 0.7, few end", hwmodel.Weibull{Shape: 0.7, Scale: 100 * model.Day}, 0.7, weibull, 300, 15 * model.Day},
		{"log-normal 0.5, few parts", hwmodel.LogNormal{Median: 100 * model.Day, Sigma: 0.5}, 0.5, logNormal, 50, 180 * model.Day},
	} {
		held, ended, all := covered{}, covered{}, covered{}
		censored, scale := 0.0, float64(100*model.Day)
		for seed := range records {
			sample := lifetimesOf(c.law, seed, c.n, c.most)
			f, err := Censored(sample)
			require.NoError(t, err)
			censored += float64(f.Censored) / float64(c.n) / float64(seeds)
			if !c.of(f).Known() {
				continue
			}
			held.add(c.name, holds(c.of(f).Band, scale))
			if c.shape > 0 {
				held.add(c.name+", shape", holds(c.of(f).Shape.Band, c.shape))
			}
			if seed%4 > 0 {
				continue
			}
			only := slices.DeleteFunc(slices.Clone(sample), func(w Watched) bool { return !w.Ended })
			as := slices.Clone(sample)
			for i := range as {
				as[i].Ended = true
			}
			for _, wrong := range []struct {
				name   string
				sample []Watched
				held   covered
			}{{"ended ones alone", only, ended}, {"all as if they had ended", as, all}} {
				f, err := Censored(wrong.sample)
				require.NoError(t, err)
				wrong.held.add(c.name+", "+wrong.name, c.of(f).Known() && holds(c.of(f).Band, scale))
			}
		}
		t.Logf("%s, %.0f %% censored", c.name, 100*censored)
		require.GreaterOrEqual(t, held[c.name].of, seeds*90/100) // others have too few events
		held.about(t, 93, 97)
		ended.within(t, 0, 60)
		all.within(t, 0, 60)
	}
}

// TestLawOfCensoredLifetimes: the law that lifetimes were drawn from is the one that is chosen
// more often than not, and its survival lies nearer to Kaplan and Meier's than a wrong one.
func TestLawOfCensoredLifetimes(t *testing.T) {
	for _, c := range []struct {
		law  hwmodel.Lifetime
		is   func(hwmodel.Lifetime) bool
		most float64 // censored at this time
	}{
		{hwmodel.Exponential{Expected: model.Hour}, func(l hwmodel.Lifetime) bool { _, is := l.(hwmodel.Exponential); return is }, 4},
		{hwmodel.Weibull{Shape: 2.5, Scale: model.Hour}, func(l hwmodel.Lifetime) bool { _, is := l.(hwmodel.Weibull); return is }, 4},
		{hwmodel.LogNormal{Median: model.Hour, Sigma: 1.5}, func(l hwmodel.Lifetime) bool { _, is := l.(hwmodel.LogNormal); return is }, 20},
	} {
		right, rejected := 0, 0
		for seed := range first(200) {
			f, err := Censored(lifetimesOf(c.law, seed, 150, model.Duration(c.most*float64(model.Hour))))
			require.NoError(t, err)
			if c.is(f.Best) {
				right++
			}
			if f.Exponential.Gap > f.Exponential.Reject {
				rejected++
			}
		}
		t.Logf("%T: chosen in %.1f %%, exponential beyond the gap in %.1f %%", c.law, float64(right)/2, float64(rejected)/2)
		require.Greater(t, right, 160)
		if _, is := c.law.(hwmodel.Exponential); is {
			require.Less(t, rejected, 10)
		} else {
			require.Greater(t, rejected, 100)
		}
	}
}

func TestKaplanMeier(t *testing.T) {
	// The example of Kaplan and Meier (1958): 0.8, 1.0*, 2.7*, 3.1, 5.4, 7.0*, 9.2, 12.1*.
	var sample []Watched
	for _, x := range []struct {
		at    float64
		ended bool
	}{{0.8, true}, {1, false}, {2.7, false}, {3.1, true}, {5.4, true}, {7, false}, {9.2, true}, {12.1, false}} {
		sample = append(sample, Watched{model.Duration(x.at * float64(model.Hour)), x.ended})
	}
	got := KaplanMeier(sample)
	require.Len(t, got, 4)
	for i, want := range []float64{7.0 / 8, 7.0 / 10, 21.0 / 40, 21.0 / 80} {
		require.InDelta(t, want, got[i].Share, 1e-12)
	}
	require.Equal(t, []int{8, 5, 4, 2}, []int{got[0].AtRisk, got[1].AtRisk, got[2].AtRisk, got[3].AtRisk})
	require.Empty(t, KaplanMeier(nil))
}

// TestUncensoredLifetimes: without censoring the laws are those of Lifetimes.
func TestUncensoredLifetimes(t *testing.T) {
	var sample []Watched
	var times []model.Duration
	for i := range 400 {
		src := draw.New(3, draw.StreamOf("uncensored"), uint64(i), 0)
		times = append(times, hwmodel.Weibull{Shape: 0.8, Scale: model.Hour}.Draw(&src))
		sample = append(sample, Watched{times[i], true})
	}
	want := fitOf(t, times)
	got, err := Censored(sample)
	require.NoError(t, err)
	require.InEpsilon(t, want.Exponential.Expected.Seconds(), got.Exponential.Value/1e6, 1e-6)
	few, err := Censored(sample[:6])
	require.NoError(t, err)
	total := 6 * few.Exponential.Value
	require.InEpsilon(t, 2*total/distuv.ChiSquared{K: 13}.Quantile(0.975), few.Exponential.Low, 1e-6)
	require.InEpsilon(t, 2*total/distuv.ChiSquared{K: 13}.Quantile(0.025), few.Exponential.High, 1e-6)
	require.InEpsilon(t, want.Weibull.Shape, got.Weibull.Shape.Value, 1e-6)
	require.InEpsilon(t, want.Weibull.Scale.Seconds(), got.Weibull.Value/1e6, 1e-6)
	require.InEpsilon(t, want.LogNormal.Median.Seconds(), got.LogNormal.Value/1e6, 1e-6)
	require.InEpsilon(t, want.LogNormal.Sigma, got.LogNormal.Shape.Value, 1e-6)
	sum := 0.0
	for _, d := range times {
		l, _ := LogDensity(want.Weibull, d)
		sum += l
	}
	require.InEpsilon(t, sum, got.Weibull.LogLikelihood, 1e-6)
}

func TestRefusedLifetimes(t *testing.T) {
	for _, c := range []struct {
		events, censored int
		mean, shape      string
	}{
		{0, 0, "found 0 events", "found 0 events"},
		{4, 100, "mean lifetime: found 4 events, want at least 5: watch more parts", "found 4 events"},
		{19, 3, "", "law of lifetimes with a shape: found 19 events, want at least 20"},
	} {
		var sample []Watched
		for i := range c.events + c.censored {
			sample = append(sample, Watched{model.Duration(i+1) * model.Hour, i < c.events})
		}
		f, err := Censored(sample)
		require.NoError(t, err)
		if c.mean == "" {
			require.True(t, f.Exponential.Known())
			require.Equal(t, f.Exponential.Law, f.Best)
		} else {
			require.ErrorContains(t, f.Exponential.Refused, c.mean)
			require.Nil(t, f.Best)
		}
		for _, refused := range []*Refusal{f.Weibull.Refused, f.LogNormal.Refused, f.Weibull.Shape.Refused, f.LogNormal.Shape.Refused} {
			require.ErrorContains(t, refused, c.shape)
		}
	}
	same := slices.Repeat([]Watched{{model.Hour, true}}, 30)
	f, err := Censored(same)
	require.NoError(t, err)
	require.ErrorContains(t, f.Weibull.Refused, "found times that do not tell its parameters")
	for _, bad := range []model.Duration{0, -1, model.Forever, model.AbsentDuration} {
		_, err := Censored([]Watched{{model.Hour, true}, {bad, true}})
		require.ErrorContains(t, err, "time 1: found ")
	}
}

func TestHazard(t *testing.T) {
	for _, z := range []float64{-40, -3, 0, 2, 24.9, 25.1, 37} {
		h, log := hazard(z)
		const step = 1e-5
		_, above := hazard(z + step)
		_, below := hazard(z - step)
		if math.Abs(z-25) > 1 || z < 25 {
			require.InDelta(t, -h, (above-below)/2/step, 1e-4*max(1, h), "%v", z)
		}
		require.False(t, math.IsInf(log, 0) || math.IsNaN(log), "%v", z)
	}
	require.InDelta(t, libm.NormalCDF(-2), Survival(hwmodel.LogNormal{Median: 1, Sigma: 1}, 7), 0.01)
	require.True(t, math.IsNaN(Survival(hwmodel.LogNormalTail{}, 1)))
	require.True(t, math.IsNaN(Survival(hwmodel.LogNormal{Median: 1}, 1)))
}

// TestLifetimesOfTitan: times of GPUs of Titan in one place, until they fell off the bus or were
// moved before (99 %). The law of half of the GPUs says how many of the others fail; with the
// ended times alone it is wrong by a large factor.
func TestLifetimesOfTitan(t *testing.T) {
	f, err := os.Open(refdata.Path(t, "traces", "failure", "titan-gpu", "gc_full.csv.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s := readSheet(t, z)
	gpus := map[string]int{}
	var half [2][]Watched
	for _, row := range s.rows {
		if s.text(row, "duration") == "" || s.number(row, "duration") <= 0 {
			continue
		}
		id := s.text(row, "SN")
		if _, seen := gpus[id]; !seen {
			gpus[id] = len(gpus)
		}
		src := draw.New(1, draw.StreamOf("half of titan"), uint64(gpus[id]), 0)
		h := src.IntN(2)
		half[h] = append(half[h], Watched{model.Duration(s.number(row, "duration") * float64(model.Second)), s.text(row, "event") == "OTB"})
	}
	expected := func(law hwmodel.Lifetime, of []Watched) float64 {
		sum := 0.0
		for _, w := range of {
			sum -= math.Log(Survival(law, w.For))
		}
		return sum
	}
	for h := range half {
		c, err := Censored(half[h])
		require.NoError(t, err)
		only, err := Censored(slices.DeleteFunc(slices.Clone(half[h]), func(w Watched) bool { return !w.Ended }))
		require.NoError(t, err)
		failed := 0
		for _, w := range half[1-h] {
			if w.Ended {
				failed++
			}
		}
		year := float64(365 * model.Day)
		got, wrong := expected(c.Best, half[1-h]), expected(only.Best, half[1-h])
		t.Logf("%d events, %d censored: mean %.0f years, Weibull shape %.2f (%.2f to %.2f), best %T, gap %.4f; expects %.0f of the others to fail, %d did; ended ones alone: %.0f",
			c.Events, c.Censored, c.Exponential.Value/year, c.Weibull.Shape.Value, c.Weibull.Shape.Low, c.Weibull.Shape.High, c.Best, c.Weibull.Gap, got, failed, wrong)
		require.InEpsilon(t, failed, got, 0.1)
		require.Greater(t, wrong, 5*float64(failed))
	}
}
