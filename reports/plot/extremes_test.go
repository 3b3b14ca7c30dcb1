package plot

import (
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiguresOfExtremes draws numbers as large and as far apart as there are: figures come to
// an end, with or without them.
func TestFiguresOfExtremes(t *testing.T) {
	for _, x := range []float64{1e308, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1)} {
		two := []Candidate{{Name: "a", Standing: Chosen, At: []float64{-x, x}}, {Name: "b", Standing: Front, At: []float64{x, -x}}, {Name: "c", Standing: Current, At: []float64{x, 1}}}
		axes := []Measure{waitMeasure, {Name: "u", Unit: "s", Log: true}}
		for _, f := range []*Figure{
			TradeOff("a", waitMeasure, useMeasure, two, true), Parallel("b", axes, two), Table("c", axes, two),
			SearchHistory("d", waitMeasure, []Progress{{Name: "p", Each: []float64{x, 1, -x}, Best: []float64{x, 1, -x}, Low: []float64{x, 1, -x}, High: []float64{x, 1, x}}}, []Line{{"x", x}, {"y", 3}}),
			Sensitivity("e", "m", Measure{Name: "effect", Unit: "s"}, "w", []Effect{{"x", x, -x, x, "active"}, {"y", 1, 0, 2, "inert"}}, x),
			Interaction("f", waitMeasure, Lattice{First: axes[0], Second: axes[0], FirstAt: []float64{1, x}, SecondAt: []float64{-x, x}, Values: [][]float64{{x, -x}, {1, 2}}, Joint: x, Floor: x}),
			Shares([]BarRow{{Name: "a", Value: x, Target: -x}, {Name: "b", Value: 0.5, Target: 0.5}}, "of", "all"),
			Reasons([]BarRow{{Name: "a", Value: x}, {Name: "b", Value: 1}}),
			WaitsByGroup([]WaitRow{{"a", 3, x, x, x}, {"b", math.MinInt64, 1, 2, 3}}),
			SharesOverTime("g", "t", "GPU", math.MaxInt64-10, math.MaxInt64, []Tenant{{Name: "a", Target: x, Shares: []float64{x, 0.5, -x}}}, []float64{x, 1, x}, Clock{Known: true}),
		} {
			require.NoError(t, f.WriteSVG(io.Discard), "%s of %g", f.Name, x)
			require.NoError(t, f.WritePNG(io.Discard), "%s of %g", f.Name, x)
		}
	}
}

// TestTimeAxesEnd asks for labels of instants as far away as there are.
func TestTimeAxesEnd(t *testing.T) {
	for _, clock := range []Clock{{}, {Known: true}, {Known: true, EpochUS: 1 << 61}, {Known: true, EpochUS: -1 << 61}} {
		for _, c := range [][2]float64{{0, 2.3e12}, {0, 9.2e12}, {9.2e12, 9.223e12}, {9.2e12, 9.2e12 + 100}, {-2.3e12, 9.2e12}, {0, 1e300}} {
			require.LessOrEqual(t, len(clock.ticks(c[0], c[1], 9)), 20_000, "%v %v", clock, c)
		}
	}
}

// TestCountOfTheSmallest is the number that has no opposite.
func TestCountOfTheSmallest(t *testing.T) {
	require.Equal(t, "-9,223,372,036,854,775,808", Count(math.MinInt64))
}
