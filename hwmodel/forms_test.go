package hwmodel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func of(x float64) *float64 { return &x }

// v100 is as it was fitted on the traces of Zeus.
var v100 = CapResponse{Knee: 1.14, Steepness: 0.87, Error: 0.08, DeepError: 0.2, Floor: 0.4}

func TestCapResponse(t *testing.T) {
	table := CapResponse{Table: []CapPoint{{0.5, 0.6}, {1, 0.9}}, Error: 0.05, DeepError: 0.3, Floor: 0.5}
	for _, c := range []struct {
		name  string
		form  CapResponse
		x     float64
		want  Band
		known bool
	}{
		{"a cap above the knee does nothing", v100, 1.14, Band{1, 1, 1}, true},
		{"nor does none at all", v100, math.Inf(1), Band{1, 1, 1}, true},
		{"it binds below", v100, 0.64, Band{0.7825, 0.7025, 0.8625}, true},
		{"a deep cap has a wide band", v100, 0.5, Band{0.643648, 0.443648, 0.843648}, true},
		{"at the least x", v100, 0.4, Band{0.523588, 0.323588, 0.723588}, true},
		{"below it there is no answer", v100, 0.39, Band{}, false},
		{"zero", v100, 0, Band{}, false},
		{"no number", v100, math.NaN(), Band{}, false},
		{"a speed ends at 0", CapResponse{Knee: 1, Steepness: 20, DeepError: 0.3, Floor: 0.1}, 0.2, Band{0, 0, 0.3}, true},
		{"a table is linear", table, 0.75, Band{0.75, 0.7, 0.8}, true},
		{"its first point", table, 0.5, Band{0.6, 0.3, 0.9}, true},
		{"between its first points", CapResponse{Table: []CapPoint{{0.4, 0.4}, {0.6, 0.6}, {1, 1}}, Error: 0.1, DeepError: 0.1, Floor: 0.4}, 0.7, Band{0.7, 0.6, 0.8}, true},
		{"its last point", table, 1, Band{0.9, 0.85, 0.95}, true},
		{"beyond it", table, 1.01, Band{1, 1, 1}, true},
	} {
		got, known := c.form.Speed(c.x)
		require.Equal(t, c.known, known, c.name)
		closeTo(t, c.want, got, c.name)
		require.NoError(t, c.form.Validate(), c.name)
	}
}

func closeTo(t *testing.T, want, got Band, name string) {
	t.Helper()
	require.InDelta(t, want.Value, got.Value, 2e-6, name)
	require.InDelta(t, want.Low, got.Low, 2e-6, name)
	require.InDelta(t, want.High, got.High, 2e-6, name)
}

func TestClockResponse(t *testing.T) {
	a100 := ClockResponse{Slowdown: 0.86, Knee: 0.96, Static: 0.39, Exponent: 4, TimeError: 0.02, PowerError: 0.05, Least: 0.5}
	table := ClockResponse{Table: []ClockPoint{{0.5, 1.8, 0.5}, {1, 1, 1}}, TimeError: 0.1, Least: 0.5}
	for _, c := range []struct {
		name        string
		form        ClockResponse
		z           float64
		time, power Band
		known       bool
	}{
		{"the top clock", a100, 1, Band{1, 0.98, 1.02}, Band{1, 0.95, 1.05}, true},
		{"a step without loss of time", a100, 0.96, Band{1, 0.98, 1.02}, Band{0.908101, 0.862696, 0.953506}, true},
		{"half the clock", a100, 0.5, Band{1.7912, 1.755376, 1.827024}, Band{0.428125, 0.406719, 0.449531}, true},
		{"below the least", a100, 0.49, Band{}, Band{}, false},
		{"above the top", a100, 1.01, Band{}, Band{}, false},
		{"no number", a100, math.NaN(), Band{}, Band{}, false},
		{"a table", table, 0.75, Band{1.4, 1.26, 1.54}, Band{0.75, 0.75, 0.75}, true},
		{"a table of three", ClockResponse{Table: []ClockPoint{{0.5, 1.8, 0.5}, {0.75, 1.2, 0.7}, {1, 1, 1}}, Least: 0.5}, 0.75, Band{1.2, 1.2, 1.2}, Band{0.7, 0.7, 0.7}, true},
		{"its ends", table, 0.5, Band{1.8, 1.62, 1.98}, Band{0.5, 0.5, 0.5}, true},
	} {
		time, known := c.form.Time(c.z)
		require.Equal(t, c.known, known, c.name)
		closeTo(t, c.time, time, c.name)
		power, known := c.form.Power(c.z)
		require.Equal(t, c.known, known, c.name)
		closeTo(t, c.power, power, c.name)
		require.NoError(t, c.form.Validate(), c.name)
	}
}

func TestPlacement(t *testing.T) {
	packed := []PackedStep{{1, 0.4, 0.01}, {2, 0.5, 0.02}, {4, 0.6, 0.05}}
	full := Placement{Packed: packed, Spread: of(0.3), Factors: []NetworkFactor{{2, 1, 1}, {2, 4, 3}, {3, 1, 0}}, PackedError: 0.02, SpreadError: 0.1}
	fast := Placement{Packed: packed, Spread: of(0.04), SpreadError: 0.1}
	unknown := Placement{Packed: packed}
	zero := Placement{Packed: packed, Spread: of(0)}
	noSingle := Placement{Packed: packed[1:], Spread: of(0)}
	for _, c := range []struct {
		name           string
		form           Placement
		nodes, fullest int
		want           float64
		part           float64
		known          bool
	}{
		{"packed", full, 1, 2, 0.52, 0.02, true},
		{"packed on a number of GPUs that was not measured", full, 1, 3, 0, 0, false},
		{"two nodes", full, 2, 4, 1.55, 0.1, true},
		{"a factor of 0", full, 3, 1, 0.41, 0.1, true},
		{"a pair without a factor", full, 3, 4, 0, 0, false},
		{"no nodes", full, 0, 1, 0, 0, false},
		{"a network that is no bottleneck needs no factor", fast, 3, 4, 0.65, 0.1, true},
		{"without the spread measurement packed is known", unknown, 1, 4, 0.65, 0, true},
		{"and spread is not", unknown, 2, 4, 0, 0, false},
		{"a spread of 0 was measured", zero, 2, 4, 0.65, 0, true},
		{"a network at a tenth of the computation does not matter yet", Placement{Packed: packed, Spread: of(0.04)}, 2, 1, 0.41, 0, true},
		{"and above it needs a factor", Placement{Packed: packed, Spread: of(0.0401)}, 2, 1, 0, 0, false},
		{"without the step on one GPU the network is not judged", noSingle, 2, 4, 0, 0, false},
	} {
		got, known := c.form.Step(c.nodes, c.fullest)
		require.Equal(t, c.known, known, c.name)
		closeTo(t, Band{c.want, c.want * (1 - c.part), c.want * (1 + c.part)}, got, c.name)
		require.NoError(t, c.form.Validate(), c.name)
	}
}

func TestRestart(t *testing.T) {
	r := Restart{PerRound: model.Second, PerRestart: 900 * model.Millisecond, Final: -0.25}
	require.NoError(t, r.Validate())
	for _, c := range []struct {
		length   model.Duration
		restarts int
		want     model.Duration
	}{
		{120 * model.Second, 0, 121 * model.Second},
		{120 * model.Second, 10, 130 * model.Second},
		{120 * model.Second, -1, 121 * model.Second},
		{0, 1, 1900 * model.Millisecond},
		{model.Forever, 1, model.Forever},
		{120 * model.Second, math.MaxInt, model.Forever},
	} {
		require.Equal(t, c.want, r.Round(c.length, c.restarts), "%v", c)
	}
	require.Equal(t, -30*model.Second, r.End(120*model.Second))
	require.Equal(t, 60*model.Second, Restart{Final: 0.5}.End(120*model.Second))
	require.Equal(t, -model.Forever, Restart{Final: -5}.End(model.Forever))
}

// TestValidate: each parameter outside its range is named.
func TestValidate(t *testing.T) {
	good := Placement{Packed: []PackedStep{{1, 1, 0}}}
	for _, c := range []struct {
		form interface{ Validate() error }
		says string
	}{
		{CapResponse{Knee: math.NaN()}, "knee of a cap response: found NaN"},
		{CapResponse{Knee: 1, Steepness: -1}, "steepness"},
		{CapResponse{Knee: 1, Error: 0.3, DeepError: 0.1}, "error of a cap response below 0.6"},
		{CapResponse{Knee: 1, Table: []CapPoint{{1, 1}}, Floor: 1}, "one of both"},
		{CapResponse{Table: []CapPoint{{1, 1}, {1, 1}}, Floor: 1}, "ascending"},
		{CapResponse{Table: []CapPoint{{1, 1.5}}, Floor: 1}, "speed in the table"},
		{CapResponse{Table: []CapPoint{{0.5, 1}}, Floor: 0.4}, "below the first of the table"},
		{ClockResponse{Knee: 1, Least: 0}, "least clock"},
		{ClockResponse{Knee: 1.2, Least: 1}, "knee by clock"},
		{ClockResponse{Knee: 1, Table: []ClockPoint{{1, 1, 1}}, Least: 1}, "one of both"},
		{ClockResponse{Table: []ClockPoint{{0.5, 1, 1}}, Least: 0.5}, "to 1"},
		{ClockResponse{Table: []ClockPoint{{1, 1, 1}, {1, 1, 1}}, Least: 1}, "ascending"},
		{Placement{}, "no step on one node"},
		{Placement{Packed: []PackedStep{{2, 1, 0}, {1, 1, 0}}}, "ascending numbers"},
		{Placement{Packed: []PackedStep{{1, -1, 0}}}, "compute time"},
		{Placement{Packed: good.Packed, Spread: of(-1)}, "two GPUs on two nodes"},
		{Placement{Packed: good.Packed, Factors: []NetworkFactor{{1, 1, 1}}}, "2 nodes or more"},
		{Placement{Packed: good.Packed, Factors: []NetworkFactor{{2, 1, 1}, {2, 1, 2}}}, "two network factors"},
		{Placement{Packed: good.Packed, Factors: []NetworkFactor{{2, 1, 11}}}, "network factor"},
		{Restart{PerRound: -1}, "no negative time"},
		{Restart{Final: math.Inf(1)}, "last round"},
		{Exponential{}, "mean of an exponential lifetime"},
		{Exponential{model.Forever}, "mean of an exponential lifetime"},
		{Weibull{0.5, 0}, "scale"},
		{Weibull{0, 1}, "shape"},
		{LogNormal{1, -1}, "sigma"}, {LogNormal{1, 10.5}, "sigma"}, {Restart{Final: 5.5}, "last round"}, {CapResponse{Knee: 1, Steepness: 20.5}, "steepness"},
		{LogNormal{-1, 1}, "median"},
		{LogNormalTail{Body: LogNormal{5, 1}, From: 4}, "below the median"},
		{LogNormalTail{Body: LogNormal{5, 1}, From: 9, Share: 0.1}, "no lifetimes"},
		{LogNormalTail{Body: LogNormal{5, 1}, From: 9, Share: 0.1, Tail: []model.Duration{9, 8}}, "position 1"},
	} {
		require.ErrorContains(t, c.form.Validate(), c.says, "%+v", c.form)
	}
	require.ErrorContains(t, Band{2, 1, 1.5}.Validate("speed"), "speed: found 1 to 1.5 around 2")
	require.ErrorContains(t, Band{math.NaN(), 1, 1.5}.Validate("speed"), "finite")
	require.NoError(t, Band{1, 1, 1}.Validate("speed"))
}

// TestAnswersAreBands: whatever a valid form is given, it refuses or gives a whole band, which
// is no narrower under a deeper cap.
func TestAnswersAreBands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.Float64Range(0, 0.5).Draw(t, "error")
		c := CapResponse{Knee: rapid.Float64Range(0.5, 2).Draw(t, "knee"), Steepness: rapid.Float64Range(0, 20).Draw(t, "steepness"),
			Error: half, DeepError: half + rapid.Float64Range(0, 0.5).Draw(t, "more"), Floor: rapid.Float64Range(0, 2).Draw(t, "floor")}
		require.NoError(t, c.Validate())
		low, high := rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")
		low, high = min(low, high), max(low, high)
		a, known := c.Speed(low)
		require.Equal(t, low > 0 && low >= c.Floor, known)
		if !known {
			return
		}
		require.NoError(t, a.Validate("speed"))
		b, known := c.Speed(high)
		require.True(t, known)
		require.LessOrEqual(t, a.Value, b.Value+1e-12, "a deeper cap is no faster")
		z := rapid.Float64().Draw(t, "z")
		k := ClockResponse{Slowdown: rapid.Float64Range(0, 10).Draw(t, "slowdown"), Knee: rapid.Float64Range(0.1, 1).Draw(t, "clock knee"),
			Static: half, Exponent: rapid.Float64Range(0, 10).Draw(t, "exponent"), TimeError: half, Least: 0.1}
		require.NoError(t, k.Validate())
		time, known := k.Time(z)
		require.Equal(t, z >= 0.1 && z <= 1, known)
		if known {
			power, _ := k.Power(z)
			require.NoError(t, time.Validate("time"))
			require.NoError(t, power.Validate("power"))
			require.GreaterOrEqual(t, time.Value, 1.0)
			require.LessOrEqual(t, power.Value, 1.0)
		}
	})
}
