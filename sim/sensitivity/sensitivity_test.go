package sensitivity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var testStream = draw.StreamOf("sensitivity test")

// random is a base sample of independent draws.
func random(rows, columns int, seed uint64) [][]float64 {
	out := make([][]float64, rows)
	for r := range out {
		source := draw.New(seed, testStream, uint64(r), 0)
		for range columns {
			out[r] = append(out[r], source.Float64())
		}
	}
	return out
}

// halton is a quasi-random base sample.
func halton(rows, columns int) [][]float64 {
	batch := mat.NewDense(rows, columns, nil)
	source := rand.NewPCG(1, 2)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(columns, source), Src: source}.Sample(batch)
	out := make([][]float64, rows)
	for r := range out {
		out[r] = batch.RawRowView(r)
	}
	return out
}

func quick() stat.Settings {
	s := stat.Defaults()
	s.Draws = 199
	return s
}

func evaluate(points [][]float64, f func([]float64) float64) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = f(p)
	}
	return out
}

func indicesOf(t *testing.T, space Space, base [][]float64, pairs bool, f func([]float64) float64) Indices {
	t.Helper()
	design, err := NewSobol(space, base, pairs)
	require.NoError(t, err)
	got, err := design.Analyse(evaluate(design.Points(), f), quick())
	require.NoError(t, err)
	return got
}

// ishigami is the function of Ishigami and Homma (1990) with a = 7, b = 0.1,
// on the unit cube. Its indices are known in closed form.
func ishigami(u []float64) float64 {
	x := func(i int) float64 { return math.Pi * (2*u[i] - 1) }
	return math.Sin(x(0)) + 7*math.Pow(math.Sin(x(1)), 2) + 0.1*math.Pow(x(2), 4)*math.Sin(x(0))
}

func TestIshigami(t *testing.T) {
	const a, b = 7, 0.1
	pi4 := math.Pow(math.Pi, 4)
	v1, v2, v13 := math.Pow(1+b*pi4/5, 2)/2, a*a/8.0, 8*b*b*pi4*pi4/225
	v := v1 + v2 + v13
	got := indicesOf(t, Space{Boxes: 3}, halton(2048, 6), true, ishigami)
	require.InDelta(t, a/2.0, got.Mean, 0.1)
	require.InDelta(t, v, got.Variance, 0.4)
	for i, want := range []float64{v1 / v, v2 / v, 0} {
		require.InDelta(t, want, got.First[i].Estimate, 0.03, "first order of %d", i)
	}
	for i, want := range []float64{(v1 + v13) / v, v2 / v, v13 / v} {
		require.InDelta(t, want, got.Total[i].Estimate, 0.03, "total of %d", i)
		require.Less(t, got.Total[i].Low, want)
		require.Greater(t, got.Total[i].High, want)
	}
	require.InDelta(t, 0, got.Pair[0][1].Estimate, 0.06)
	require.InDelta(t, v13/v, got.Pair[0][2].Estimate, 0.06)
	require.InDelta(t, 0, got.Pair[1][2].Estimate, 0.06)
	require.Equal(t, got.Pair[0][2], got.Pair[2][0])
}

// TestSobolG: the function of Sobol with a = 0, 1, 4.5, 9, 99, 99, 99, 99: the product
// of (|4u-2|+a)/(1+a). V_i = 1/(3(1+a)²), V = Π(1+V_i)-1, and the total of i is
// V_i·Π(1+V_j) over the others.
func TestSobolG(t *testing.T) {
	a := []float64{0, 1, 4.5, 9, 99, 99, 99, 99}
	g := func(u []float64) float64 {
		y := 1.0
		for i, x := range u {
			y *= (math.Abs(4*x-2) + a[i]) / (1 + a[i])
		}
		return y
	}
	all := 1.0
	part := make([]float64, len(a))
	for i := range a {
		part[i] = 1 / (3 * (1 + a[i]) * (1 + a[i]))
		all *= 1 + part[i]
	}
	got := indicesOf(t, Space{Boxes: 8}, halton(2048, 16), false, g)
	for i := range a {
		require.InDelta(t, part[i]/(all-1), got.First[i].Estimate, 0.03, "first order of %d", i)
		require.InDelta(t, part[i]*all/(1+part[i])/(all-1), got.Total[i].Estimate, 0.03, "total of %d", i)
	}
	require.Nil(t, got.Pair)
}

// TestLinear: of Σc·u the indices are c²/Σc², first and total alike; Morris
// finds the slopes exactly, with no spread; so do local differences.
func TestLinear(t *testing.T) {
	c := []float64{3, -2, 1, 0}
	f := func(u []float64) float64 {
		y := 10.0
		for i, x := range u {
			y += c[i] * x
		}
		return y
	}
	space := Space{Boxes: 4}
	got := indicesOf(t, space, halton(1024, 8), false, f)
	for i := range c {
		require.InDelta(t, c[i]*c[i]/14, got.First[i].Estimate, 0.02)
		require.InDelta(t, c[i]*c[i]/14, got.Total[i].Estimate, 0.02)
	}
	require.Equal(t, stat.Interval{Confidence: 0.95}, got.Total[3], "exactly nothing")

	morris, err := NewMorris(space, 10, 4, 1)
	require.NoError(t, err)
	require.Len(t, morris.Points(), 50)
	effects, err := morris.Analyse(evaluate(morris.Points(), f), quick())
	require.NoError(t, err)
	for i, e := range effects {
		require.InDelta(t, c[i], e.Mu, 1e-12)
		require.InDelta(t, math.Abs(c[i]), e.MuStar.Estimate, 1e-12)
		require.InDelta(t, math.Abs(c[i])*2/3, e.Change.High, 1e-12)
		require.InDelta(t, 0, e.Sigma, 1e-12)
		require.Equal(t, 10, e.Count)
	}
	require.Equal(t, []Influence{Active, Active, Active, Inert}, Influences(got, effects, 0))

	local, err := NewLocal(space, []float64{0.5, 0.5, 1, 0.01}, []float64{0.05})
	require.NoError(t, err)
	slopes, err := local.Analyse(evaluate(local.Points(), f), 0)
	require.NoError(t, err)
	for i, s := range slopes {
		require.InDelta(t, c[i], s.Slope, 1e-9, "also at an edge")
	}
	require.InDelta(t, 0, slopes[0].Curvature, 1e-9)
	require.True(t, math.IsNaN(slopes[2].Curvature) && math.IsNaN(slopes[3].Curvature), "one side is missing")
}

// TestMorrisProduct: the elementary effect of u in u·v is v: its mean is a
// half, and over the four levels 0, 1/3, 2/3, 1 its deviation is √5/6.
func TestMorrisProduct(t *testing.T) {
	morris, err := NewMorris(Space{Boxes: 2}, 2000, 4, 5)
	require.NoError(t, err)
	effects, err := morris.Analyse(evaluate(morris.Points(), func(u []float64) float64 { return u[0] * u[1] }), quick())
	require.NoError(t, err)
	for _, e := range effects {
		require.InDelta(t, 0.5, e.Mu, 0.02)
		require.InDelta(t, 0.5, e.MuStar.Estimate, 0.02)
		require.InDelta(t, math.Sqrt(5)/6, e.Sigma, 0.01)
		require.True(t, e.MuStar.Low < 0.5 && 0.5 < e.MuStar.High)
	}
}

// TestMorrisTrajectories: each step moves one coordinate by two thirds of the range,
// each coordinate once, and effects of both signs cancel in Mu alone.
func TestMorrisTrajectories(t *testing.T) {
	morris, err := NewMorris(Space{Weights: 3, Boxes: 2}, 40, 4, 3)
	require.NoError(t, err)
	for trajectory, order := range morris.moved {
		require.ElementsMatch(t, []int{0, 1, 2, 3, 4}, order)
		for k, moved := range order {
			at := trajectory*6 + k
			for i := range 5 {
				step := math.Abs(morris.grid[at+1][i] - morris.grid[at][i])
				if i == moved {
					require.InDelta(t, 2.0/3, step, 1e-15)
				} else {
					require.Zero(t, step)
				}
				require.Contains(t, []float64{0, 1.0 / 3, 2.0 / 3, 1}, morris.grid[at][i])
			}
		}
	}
	longer, err := NewMorris(Space{Weights: 3, Boxes: 2}, 50, 4, 3)
	require.NoError(t, err)
	require.Equal(t, morris.Points(), longer.Points()[:240], "more trajectories leave the first as they are")

	values := evaluate(morris.Points(), func(p []float64) float64 { return math.Cos(2*math.Pi*p[3]) + p[4] })
	values[0], values[239] = math.NaN(), math.Inf(1)
	effects, err := morris.Analyse(values, quick())
	require.NoError(t, err)
	count := 0
	for _, e := range effects {
		count += e.Count
	}
	require.Equal(t, 198, count, "two steps have an undefined end")
	require.Less(t, math.Abs(effects[3].Mu), effects[3].MuStar.Estimate/2)
}

// TestMorrisIshigami: over all places of the grid μ* is 7.704, 7.875 and 6.249 (for
// SALib's 500 trajectories: 7.55, 7.875, 5.90); a step of half the range would find
// 0 for the second, whose period it is.
func TestMorrisIshigami(t *testing.T) {
	places := []float64{0, 1.0 / 3, 2.0 / 3, 1}
	truth := make([]float64, 3)
	for k := range 64 {
		u := []float64{places[k%4], places[k/4%4], places[k/16]}
		for i := range u {
			to := places[(slices.Index(places, u[i])+2)%4]
			truth[i] += math.Abs((ishigami(with(u, i, to))-ishigami(u))/(to-u[i])) / 64
		}
	}
	morris, err := NewMorris(Space{Boxes: 3}, 500, 4, 1)
	require.NoError(t, err)
	effects, err := morris.Analyse(evaluate(morris.Points(), ishigami), quick())
	require.NoError(t, err)
	for i, salib := range []float64{7.55, 7.875, 5.90} {
		require.InDelta(t, salib, effects[i].MuStar.Estimate, 0.6, "%d", i)
		require.LessOrEqual(t, effects[i].MuStar.Low, truth[i]+1e-9)
		require.GreaterOrEqual(t, effects[i].MuStar.High, truth[i]-1e-9)
	}
	require.InDelta(t, 7.875, effects[1].MuStar.Estimate, 1e-9)
}

// TestSecondLook: a wave that repeats with the step of the screening changes nothing
// in it, and is seen by a second look; what does nothing changes nothing there either,
// and other parts are where they were.
func TestSecondLook(t *testing.T) {
	f := func(p []float64) float64 { return math.Pow(math.Sin(1.5*math.Pi*p[3]), 2) + p[0]/(p[0]+p[1]) }
	morris, err := NewMorris(Space{Weights: 3, Boxes: 2}, 10, 4, 1)
	require.NoError(t, err)
	points := morris.Points()
	effects, err := morris.Analyse(evaluate(points, f), quick())
	require.NoError(t, err)
	for _, i := range []int{2, 3, 4} {
		require.InDelta(t, 0, effects[i].Change.High, 1e-12)
	}
	looks := morris.SecondLook([]int{2, 3, 4})
	require.Len(t, looks, 12)
	most := make([]float64, 5)
	for _, l := range looks {
		require.NoError(t, morris.space.check(l.Point))
		most[l.Part] = max(most[l.Part], math.Abs(f(l.Point)-f(points[l.From])))
		for j := 3; j < 5; j++ {
			require.Equal(t, j != l.Part, l.Point[j] == points[l.From][j])
		}
	}
	require.InDelta(t, 0, most[2], 1e-12)
	require.Greater(t, most[3], 0.1)
	require.Zero(t, most[4])
	require.Empty(t, morris.SecondLook(nil))
}

// TestMoveKeepsRatios: however a weight moves, the others keep their ratios and
// all still add up to 1: by Move, and by its coordinate in a design.
func TestMoveKeepsRatios(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := Space{Weights: rapid.IntRange(2, 9).Draw(t, "weights"), Boxes: rapid.IntRange(0, 3).Draw(t, "boxes")}
		u := rapid.SliceOfN(rapid.Float64Range(0.001, 0.999), space.Dimensions(), space.Dimensions()).Draw(t, "u")
		point := space.Point(u)
		require.NoError(t, space.check(point))
		back := space.Point(space.Coordinates(point))
		for i := range point {
			require.InDelta(t, point[i], back[i], 1e-9)
		}
		i := rapid.IntRange(0, len(u)-1).Draw(t, "part")
		to := rapid.Float64Range(0, 0.99).Draw(t, "to")
		moved := space.Move(point, i, to)
		require.Equal(t, to, moved[i])
		for _, other := range [][]float64{moved, space.Point(with(u, i, to))} {
			require.NoError(t, space.check(other))
			for j := range u {
				for k := range space.Weights {
					if j < space.Weights && j != i && k != i {
						require.InDelta(t, point[j]*other[k], point[k]*other[j], 1e-12)
					}
				}
				if j >= space.Weights && j != i {
					require.Equal(t, point[j], other[j])
				}
			}
		}
	})
	space := Space{Weights: 3}
	require.Equal(t, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}, space.Point([]float64{0, 0, 0}))
	require.InDeltaSlice(t, []float64{0.8, 0.1, 0.1}, space.Move([]float64{1, 0, 0}, 0, 0.8), 1e-15, "from a corner the rest is shared equally")
	require.InDeltaSlice(t, []float64{0.45, 0.1, 0.45}, space.Move([]float64{0.5, 0, 0.5}, 1, 0.1), 1e-15, "from a face")
}

// wait is a synthetic objective of four weights and a box: it depends on the
// ratio of the first two, on the fourth and on the box, and not on the third.
// Noise moves it by 1 % (standard deviation) for no reason.
func wait(noise float64, seed uint64) func([]float64) float64 {
	run := uint64(0)
	return func(p []float64) float64 {
		run++
		source := draw.New(seed, testStream, run, 1)
		others := p[0] + p[1] + p[3]
		return 1000 * (1 + p[0]/(p[0]+p[1]) + p[3]/others - 0.5*p[4] + noise*source.Normal())
	}
}

// TestPlantedInertWeight: the weight that acts on nothing is named, with and
// without noise, and no other is.
func TestPlantedInertWeight(t *testing.T) {
	space := Space{Weights: 4, Boxes: 1}
	for _, noise := range []float64{0, 0.01} {
		floor := 1000 * noise * math.Sqrt2 * 1.96 // the 95 % quantile of |difference| between equal configurations
		got := indicesOf(t, space, halton(256, 10), false, wait(noise, 1))
		morris, err := NewMorris(space, 20, 4, 1)
		require.NoError(t, err)
		effects, err := morris.Analyse(evaluate(morris.Points(), wait(noise, 2)), quick())
		require.NoError(t, err)
		require.Equal(t, []Influence{Active, Active, Inert, Active, Active}, Influences(got, effects, floor), "noise %v", noise)
		if noise == 0 {
			require.InDelta(t, 0, effects[2].MuStar.High, 1e-9)
			continue
		}
		wide := Influences(got, effects, 1e6)
		require.Equal(t, []Influence{Inert, Inert, Inert, Inert, Inert}, wide, "nothing stands out of such a noise")
		require.Equal(t, Unclear, Influences(got, effects, floor/2.2)[2], "the noise is larger than said: not inert, and not shown to act")
	}
	flat := indicesOf(t, Space{Boxes: 2}, random(20, 4, 1), true, func([]float64) float64 { return 3 })
	require.Zero(t, flat.Variance)
	require.False(t, flat.Total[0].Known())
	require.Equal(t, []Influence{Inert, Inert}, Influences(flat, make([]Effect, 2), 0))
	require.Equal(t, "inert active unclear", Inert.String()+" "+Active.String()+" "+Unclear.String())
}

// TestIndexIntervals: intervals of indices hold the true value about as often
// as they say, with bases of independent draws.
func TestIndexIntervals(t *testing.T) {
	f := func(u []float64) float64 { return u[0] + u[1]*u[1] } // V: 1/12, 4/45
	truth := (1.0 / 12) / (1.0/12 + 4.0/45)
	const runs = 150
	first, total := 0, 0
	for k := range uint64(runs) {
		got := indicesOf(t, Space{Boxes: 2}, random(128, 4, k), false, f)
		if got.First[0].Low <= truth && truth <= got.First[0].High {
			first++
		}
		if got.Total[0].Low <= truth && truth <= got.Total[0].High {
			total++
		}
	}
	require.InDelta(t, 0.95, float64(first)/runs, 0.06)
	require.InDelta(t, 0.95, float64(total)/runs, 0.06)
}

// TestLocalStepsFollowTheNoise: without noise the smallest step is read; with
// it the smallest that stands out.
func TestLocalStepsFollowTheNoise(t *testing.T) {
	space := Space{Weights: 2, Boxes: 1}
	at := []float64{0.25, 0.75, 0.5}
	steps := []float64{0.01, 0.02, 0.05, 0.1, 0.2}
	local, err := NewLocal(space, at, steps)
	require.NoError(t, err)
	require.Len(t, local.Points(), 1+3*2*5)
	require.Equal(t, at, local.Points()[0])
	f := func(p []float64) float64 { return 100*p[0] + 1000*p[2]*p[2] }
	values := evaluate(local.Points(), f)
	for _, c := range []struct {
		floor float64
		steps []float64
		clear []bool
	}{
		{0, []float64{0.01, 0.01, 0.01}, []bool{true, true, true}},
		{1.5, []float64{0.02, 0.02, 0.01}, []bool{true, true, true}}, // needs 3: weights give 2, 4; the box 20
		{15, []float64{0.2, 0.2, 0.02}, []bool{true, true, true}},    // needs 30: 20, 40; 20, 40
		{50, []float64{0.2, 0.2, 0.1}, []bool{false, false, true}},   // needs 100: 40 at most; 200
	} {
		slopes, err := local.Analyse(values, c.floor)
		require.NoError(t, err)
		for i, s := range slopes {
			require.Equal(t, c.steps[i], s.Step, "floor %v, part %d", c.floor, i)
			require.Equal(t, c.clear[i], s.Clear, "floor %v, part %d", c.floor, i)
			require.InDelta(t, []float64{100, -100, 1000}[i], s.Slope, 1e-9)
			require.InDelta(t, []float64{0, 0, 2000}[i], s.Curvature, 1e-6)
			require.InDelta(t, c.floor/(2*s.Step), s.Noise, 1e-9)
		}
	}
	for i := range values {
		values[i] = math.NaN()
	}
	slopes, err := local.Analyse(values, 0)
	require.NoError(t, err)
	require.True(t, math.IsNaN(slopes[0].Slope) && slopes[0].Step == 0 && !slopes[0].Clear)
}

// TestInteraction: a sum has nothing joint; of the product of two coordinates
// centred on their means, everything is.
func TestInteraction(t *testing.T) {
	space := Space{Boxes: 3}
	grid, err := NewGrid(space, []float64{0.5, 0.5, 0.3}, 0, 2, 4, 4)
	require.NoError(t, err)
	require.Len(t, grid.Points(), 16)
	require.Equal(t, []float64{0.125, 0.5, 0.375}, grid.Points()[1])

	sum, err := grid.Analyse(evaluate(grid.Points(), func(u []float64) float64 { return 3*u[0] + u[2] }))
	require.NoError(t, err)
	require.InDelta(t, 0.9, sum.FirstShare, 1e-12)
	require.InDelta(t, 0.1, sum.SecondShare, 1e-12)
	require.InDelta(t, 0, sum.LargestJoint, 1e-12)
	require.InDelta(t, 2, sum.Mean, 1e-12)
	require.InDelta(t, -3*0.375, sum.First[0], 1e-12)

	product, err := grid.Analyse(evaluate(grid.Points(), func(u []float64) float64 { return (u[0] - 0.5) * (u[2] - 0.5) }))
	require.NoError(t, err)
	require.InDelta(t, 1, product.JointShare, 1e-12)
	require.InDelta(t, 0.375*0.375, product.LargestJoint, 1e-12)

	choice, err := NewGrid(space, []float64{0.5, 0.5, 0.3}, 2, 0, 2, 5) // the first has two choices
	require.NoError(t, err)
	require.Equal(t, []float64{0.9, 0.5, 0.75}, choice.Points()[9])
	apart, err := choice.Analyse(evaluate(choice.Points(), func(u []float64) float64 { return 4*math.Floor(2*u[2]) + 10*u[0] }))
	require.NoError(t, err)
	require.InDelta(t, 4./12, apart.FirstShare, 1e-12, "variances 4 and 8")
	require.InDelta(t, 0, apart.LargestJoint, 1e-12)

	weights, err := NewGrid(Space{Weights: 3}, []float64{0.2, 0.3, 0.5}, 0, 1, 5, 3)
	require.NoError(t, err)
	for _, p := range weights.Points() {
		require.NoError(t, Space{Weights: 3}.check(p))
	}
	_, err = grid.Analyse(append(make([]float64, 15), math.NaN()))
	require.EqualError(t, err, "sensitivity: the grid has no value at row 3, column 3")
}

func TestDesignsSayWhatIsWrong(t *testing.T) {
	two := Space{Boxes: 2}
	for want, make := range map[string]func() error{
		"sensitivity: a space of 1 weights and 2 other parameters; give no weights or at least two, and one parameter at least": func() error {
			return Space{Weights: 1, Boxes: 2}.Validate()
		},
		"sensitivity: 5 trajectories on 3 levels; give at least 2, and an even number of levels": func() error {
			_, err := NewMorris(two, 5, 3, 0)
			return err
		},
		"sensitivity: row 1 of the base sample has 3 columns; give 4, twice the dimensions": func() error {
			_, err := NewSobol(two, [][]float64{{0, 0, 0, 0}, {0, 0, 0}}, false)
			return err
		},
		"sensitivity: row 1, column 2 of the base sample is 1; coordinates lie in [0, 1)": func() error {
			_, err := NewSobol(two, [][]float64{{0, 0, 0, 0}, {0, 0, 1, 0}}, false)
			return err
		},
		"sensitivity: the weights of the point add up to 0.75; scale them to 1": func() error {
			_, err := NewLocal(Space{Weights: 2}, []float64{0.25, 0.5}, []float64{0.1})
			return err
		},
		"sensitivity: steps [0.2 0.1]; give rising numbers above 0 and up to 0.5": func() error {
			_, err := NewLocal(two, []float64{0.25, 0.5}, []float64{0.2, 0.1})
			return err
		},
		"sensitivity: a grid of 3 by 3 over parts 1 and 1 of 2; give two different parts and sides of 2 or more": func() error {
			_, err := NewGrid(two, []float64{0.25, 0.5}, 1, 1, 3, 3)
			return err
		},
		"sensitivity: 1 values for a design of 8 points; give one per point, in order, NaN for a run without a value": func() error {
			s, err := NewSobol(two, random(2, 4, 1), false)
			require.NoError(t, err)
			_, err = s.Analyse([]float64{1}, quick())
			return err
		},
	} {
		require.EqualError(t, make(), want)
	}
}

// TestDroppedRows: a run without a value takes its row of the base sample with
// it, and no more.
func TestDroppedRows(t *testing.T) {
	base := random(50, 4, 7)
	f := func(u []float64) float64 { return u[0] * (1 + u[1]) }
	whole, err := NewSobol(Space{Boxes: 2}, append(append([][]float64{}, base[:20]...), base[21:]...), true)
	require.NoError(t, err)
	want, err := whole.Analyse(evaluate(whole.Points(), f), quick())
	require.NoError(t, err)
	holed, err := NewSobol(Space{Boxes: 2}, base, true)
	require.NoError(t, err)
	values := evaluate(holed.Points(), f)
	values[20*6+3] = math.NaN()
	got, err := holed.Analyse(values, quick())
	require.NoError(t, err)
	require.Equal(t, 1, got.Dropped)
	got.Dropped = 0
	require.Equal(t, want, got)
}
