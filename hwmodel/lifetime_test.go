package hwmodel

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

var laws = []struct {
	name string
	law  Lifetime
	// cdf is the law by a library, of minutes; nil where it has none.
	cdf func(float64) float64
	// pinned are draws that must not change.
	pinned []model.Duration
}{
	{"exponential", Exponential{100 * model.Minute}, distuv.Exponential{Rate: 0.01}.CDF, []model.Duration{8582688890, 6514235206, 8411148135}},
	{"weibull", Weibull{0.7, 100 * model.Minute}, distuv.Weibull{K: 0.7, Lambda: 100}.CDF, []model.Duration{10005856699, 6747900303, 9721391604}},
	{"log-normal", LogNormal{60 * model.Minute, 1.4}, distuv.LogNormal{Mu: math.Log(60), Sigma: 1.4}.CDF, []model.Duration{1284289106, 4328826994, 2003356660}},
	{"log-normal with a tail", LogNormalTail{LogNormal{60 * model.Minute, 1.4}, 1500 * model.Minute, 0.02, []model.Duration{1500 * model.Minute, 90000 * model.Minute}}, nil, []model.Duration{22787520800, 2878053503, 2321693758}},
}

func drawn(law Lifetime, n int) []model.Duration {
	out := make([]model.Duration, n)
	for i := range out {
		s := draw.New(1, draw.StreamOf("test"), uint64(i), 0)
		out[i] = law.Draw(&s)
	}
	return out
}

// TestDraws: draws follow the law, and their mean is its mean.
func TestDraws(t *testing.T) {
	const n = 200_000
	for _, c := range laws {
		require.NoError(t, c.law.Validate(), c.name)
		all := drawn(c.law, n)
		sum, square := 0.0, 0.0
		below := make([]int, 4)
		marks := []float64{10, 60, 300, 1400} // min
		for _, d := range all {
			require.GreaterOrEqual(t, d, model.Duration(0), c.name)
			m := d.Seconds() / 60
			sum += m
			square += m * m
			for i, mark := range marks {
				if m <= mark {
					below[i]++
				}
			}
		}
		mean := sum / n
		deviation := math.Sqrt((square/n - mean*mean) / n)
		require.InDelta(t, c.law.Mean().Seconds()/60, mean, 5*deviation, c.name)
		for i, mark := range marks {
			if c.cdf == nil {
				continue
			}
			p := c.cdf(mark)
			require.InDelta(t, p, float64(below[i])/n, 5*math.Sqrt(p*(1-p)/n)+1e-9, "%s below %v min", c.name, mark)
		}
		for i, want := range c.pinned {
			require.Equal(t, want, all[i], "%s, draw %d", c.name, i)
		}
	}
}

// TestMeans: closed means agree with a library, and the tail is in the mean.
func TestMeans(t *testing.T) {
	closeTo := func(want float64, law Lifetime) {
		t.Helper()
		require.InEpsilon(t, want, law.Mean().Seconds()/60, 1e-9)
	}
	closeTo(distuv.Weibull{K: 0.7, Lambda: 100}.Mean(), Weibull{0.7, 100 * model.Minute})
	closeTo(distuv.Weibull{K: 3, Lambda: 100}.Mean(), Weibull{3, 100 * model.Minute})
	for _, shape := range []float64{0.3, 0.7, 1, 3} {
		require.InEpsilon(t, 266*24*60, WeibullOf(266*model.Day, shape).Mean().Seconds()/60, 1e-9, "shape %v", shape)
	}
	require.InEpsilon(t, 352, LogNormalOf(352*model.Minute, 1.4).Mean().Seconds()/60, 1e-7)
	closeTo(distuv.LogNormal{Mu: math.Log(60), Sigma: 1.4}.Mean(), LogNormal{60 * model.Minute, 1.4})
	closeTo(60+0.1*(600-60), LogNormalTail{LogNormal{60 * model.Minute, 0}, 60 * model.Minute, 0.1, []model.Duration{600 * model.Minute}})
	require.InEpsilon(t, distuv.LogNormal{Mu: math.Log(60), Sigma: 1.4}.Quantile(0.99), LogNormal{60 * model.Minute, 1.4}.Quantile99().Seconds()/60, 1e-9)
}

// TestEdges: lifetimes without end saturate, and a body that is never drawn ends at the tail.
func TestEdges(t *testing.T) {
	require.Equal(t, model.Forever, Weibull{0.05, model.Forever / 2}.Mean())
	require.Equal(t, model.Forever, LogNormal{model.Forever / 2, 10}.Mean())
	s := draw.New(1, 1, 1, 1)
	require.Equal(t, model.Minute, LogNormalTail{Body: LogNormal{60 * model.Day, 0}, From: model.Minute}.Draw(&s), "not valid, and still not without end")
	require.Equal(t, model.Minute, LogNormalTail{Body: LogNormal{model.Minute, 0}, From: model.Minute, Share: 1}.Draw(&s), "a tail without values")
}

// TestSameBits makes draws as processors would that do not multiply and add in one rounding.
// math.Exp is what would differ there.
func TestSameBits(t *testing.T) {
	var lines []string
	for _, c := range laws {
		sum := uint64(0)
		for _, d := range drawn(c.law, 20_000) {
			sum = sum*31 + uint64(d)
		}
		lines = append(lines, strconv.FormatUint(sum, 16))
	}
	wrong := uint64(0)
	for _, d := range drawn(wrongLogNormal{}, 20_000) {
		wrong = wrong*31 + uint64(d)
	}
	here, differs := strings.Join(lines, " "), strconv.FormatUint(wrong, 16)
	const name = "ORRERY_TEST_DRAWN"
	if out := os.Getenv(name); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(here+"\n"+differs), 0o600))
		return
	}
	for _, off := range []string{"cpu.fma=off", "cpu.all=off"} {
		out := t.TempDir() + "/drawn"
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSameBits$")
		cmd.Env = append(os.Environ(), "GODEBUG="+off, name+"="+out)
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		there, other, _ := strings.Cut(string(text), "\n")
		require.Equal(t, here, there, off)
		if fused() {
			require.NotEqual(t, differs, other, "%s: the draws through math.Exp, which this test would find", off)
		}
	}
}

// fused says whether this processor multiplies and adds in one rounding, and math.Exp with it.
func fused() bool {
	for x := range 1000 {
		if math.Exp(float64(x)/1000) != libm.Exp(float64(x)/1000) {
			return false
		}
	}
	return runtime.GOARCH == "amd64"
}

// wrongLogNormal goes through math.Exp, and is not rounded to the microsecond.
type wrongLogNormal struct{}

func (wrongLogNormal) Draw(s *draw.Source) model.Duration {
	return model.Duration(math.Float64bits(60e6 * math.Exp(1.4*s.Normal())))
}
func (wrongLogNormal) Mean() model.Duration { return 0 }
func (wrongLogNormal) Validate() error      { return nil }
