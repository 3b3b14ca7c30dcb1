package libm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// arguments are those of every size and sign, and every exception.
func arguments(n int) []float64 {
	draw := rand.New(rand.NewPCG(7, 1))
	out := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, math.Inf(1), math.Inf(-1), math.NaN(), 709.782712893384, 709.78271289338399, 710, -708.4, -745.1332191019411, -745.14, -746, -1e300, 1e300,
		5e-324, 1.25, -1.25, 28, -28, -6, 6, 1 / 0.35, 1e18, 1 << 63, math.MaxFloat64}
	for range n {
		out = append(out, 1500*(draw.Float64()-0.5), draw.NormFloat64(), math.Ldexp(draw.Float64()-0.5, draw.IntN(140)-70), -700-50*draw.Float64())
	}
	return out
}

// same fails unless two functions agree in every bit, and knows one NaN.
func same(t *testing.T, want, got float64, of ...float64) {
	if math.Float64bits(want) != math.Float64bits(got) && !(math.IsNaN(want) && math.IsNaN(got)) {
		t.Fatalf("of %v: want %b, got %b", of, want, got)
	}
}

// fused says whether math.Exp is that of a processor that multiplies and adds in one rounding: on others every seventh
// argument has another last bit.
func fused() bool {
	for x := range 1000 {
		if math.Exp(float64(x)/1000) != Exp(float64(x)/1000) {
			return false
		}
	}
	return runtime.GOARCH == "amd64"
}

// Where math has the processor for it, the functions agree with math in every bit: results do not change by them.
func TestAsMath(t *testing.T) {
	if !fused() {
		t.Skip("math.Exp of this processor rounds otherwise")
	}
	all := arguments(200_000)
	for _, x := range all {
		same(t, math.Exp(x), Exp(x), x)
		same(t, math.Erfc(x), Erfc(x), x)
	}
	for i, x := range all[1:] {
		y := all[i]
		same(t, math.Pow(x, y), Pow(x, y), x, y)
		same(t, math.Pow(math.Abs(x), y/100), Pow(math.Abs(x), y/100), x, y)
	}
}

// Distributions agree with those of gonum to twelve digits, or as far as 1 less a small share goes.
func TestAsGonum(t *testing.T) {
	agree := func(want, got, slack float64, of ...float64) {
		t.Helper()
		if math.Abs(want-got) > slack*math.Abs(want)+1e-15 {
			t.Fatalf("of %v: want %v, got %v", of, want, got)
		}
	}
	draw := rand.New(rand.NewPCG(3, 9))
	for _, nu := range []float64{1, 2, 3, 4.5, 7, 11, 19, 29, 49, 99, 365, 1000, 1e5} {
		of, slack := distuv.StudentsT{Sigma: 1, Nu: nu}, 1e-11
		if nu > 100 {
			slack = 1e-8 // gonum subtracts logarithms of large gamma functions
		}
		for range 200 {
			x, p := 6*draw.NormFloat64(), draw.Float64()
			agree(of.Survival(x), StudentSurvival(x, nu), slack, x, nu)
			agree(1, StudentSurvival(StudentQuantile(p, nu), nu)/(1-p), 1e-8, p, nu)
		}
		for _, p := range []float64{0.005, 0.025, 0.05, 0.2, 0.8, 0.95, 0.975, 0.995, 0.9995} {
			agree(of.Quantile(p), StudentQuantile(p, nu), 1e-9, p, nu)
			agree(distuv.ChiSquared{K: nu}.Quantile(p), ChiSquaredQuantile(p, nu), 1e-10, p, nu)
		}
		for range 50 {
			x, d := 4*draw.Float64(), 1+float64(draw.IntN(40))
			agree(distuv.F{D1: d, D2: nu}.Survival(x), FSurvival(x, d, nu), slack, x, d, nu)
		}
	}
	for range 1000 {
		x := 5 * draw.NormFloat64()
		same(t, NormalCDF(x), 0.5*Erfc(-x/math.Sqrt2), x)
		agree(distuv.UnitNormal.CDF(x), NormalCDF(x), 1e-13, x)
	}
	require.Zero(t, StudentQuantile(0.5, 3))
	require.Equal(t, []float64{math.Inf(-1), math.Inf(1)}, []float64{StudentQuantile(0, 3), StudentQuantile(1, 3)})
	for _, p := range []float64{0.01, 0.3, 0.6, 0.975} { // closed forms
		require.InEpsilon(t, math.Tan(math.Pi*(p-0.5)), StudentQuantile(p, 1), 1e-13)
		require.InEpsilon(t, (2*p-1)/math.Sqrt(2*p*(1-p)), StudentQuantile(p, 2), 1e-13)
		require.InEpsilon(t, -2*math.Log1p(-p), ChiSquaredQuantile(p, 2), 1e-13)
	}
}
