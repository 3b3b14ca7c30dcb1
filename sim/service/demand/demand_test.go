package demand

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
)

func all(t require.TestingT, d *Demand, w Draws) (list []Arrival) {
	a, err := NewArrivals(d, w)
	require.NoError(t, err)
	for {
		x, ok := a.Next()
		if !ok {
			return list
		}
		list = append(list, x)
	}
}

// Arrivals ascend, are as many as expected, and only those of a span with another rate move.
func TestArrivals(t *testing.T) {
	hour := model.Time(model.Hour)
	d := &Demand{Segments: []Segment{{At: 0, Rate: 2}, {At: hour, Rate: 0}, {At: 2 * hour, Rate: 5}}, End: 3 * hour}
	w := Draws{Seed: 1, GapCV: 1, Default: Request{Work: model.Second, WorkCV: 1}}
	list := all(t, d, w)
	require.InEpsilon(t, 7*3600, len(list), 0.03)
	require.True(t, slices.IsSortedFunc(list, func(a, b Arrival) int { return int(a.At - b.At) }))
	work := 0.0
	for i, x := range list {
		require.False(t, x.At > hour && x.At < 2*hour)
		require.Equal(t, uint64(i), x.Number)
		work += x.Work.Seconds()
	}
	require.InEpsilon(t, float64(len(list)), work, 0.03)
	faster := *d
	faster.Segments = slices.Clone(d.Segments)
	faster.Segments[2].Rate = 10
	other := all(t, &faster, w)
	for i, x := range list {
		require.Equal(t, x.Work, other[i].Work, "a request keeps its draws")
		if x.At < hour {
			require.Equal(t, x, other[i])
		}
	}
}

// Even arrivals come at equal distances, single ones when they were recorded, and jitter
// moves them no farther than it may.
func TestEvenAndSingle(t *testing.T) {
	second := model.Time(model.Second)
	even := all(t, &Demand{Segments: []Segment{{Rate: 1}}, End: 10 * second}, Draws{})
	require.Len(t, even, 10)
	for i, x := range even {
		require.Equal(t, model.Time(i+1)*second, x.At)
	}
	d := &Demand{Singles: []Single{{At: second, N: 2, Request: Request{In: 5, Out: 7}}, {At: 3 * second, N: 1, Request: Request{In: 1, Out: 2}}}, End: 4 * second}
	list := all(t, d, Draws{TokenCV: 3})
	require.Len(t, list, 3)
	require.Equal(t, []int64{5, 7, 1, 2}, []int64{list[0].In, list[1].Out, list[2].In, list[2].Out}, "recorded tokens are kept")
	moved := all(t, d, Draws{Seed: 2, Jitter: 5 * model.Second})
	require.Len(t, moved, 3)
	require.True(t, slices.IsSortedFunc(moved, func(a, b Arrival) int { return int(a.At - b.At) }))
	require.NotEqual(t, list[0].At, moved[0].At)
}

// The mean rate over steps has all that arrives, whatever the steps.
func TestRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &Demand{}
		at, want := model.Time(0), 0.0
		for range rapid.IntRange(1, 8).Draw(t, "segments") {
			width := model.Duration(rapid.Int64Range(1, 400).Draw(t, "width")) * model.Second
			rate := rapid.Float64Range(0, 9).Draw(t, "rate")
			d.Segments = append(d.Segments, Segment{At: at, Rate: rate})
			at = at.Add(width)
			want += rate * width.Seconds()
		}
		d.End = at
		if rapid.Bool().Draw(t, "single") {
			d.Singles = []Single{{At: at / 2, N: 3}}
			want += 3
		}
		step := model.Duration(rapid.Int64Range(1, 200).Draw(t, "step")) * model.Second
		got := 0.0
		rates := d.Rates(step)
		for i, s := range rates {
			end := d.End
			if i+1 < len(rates) {
				end = rates[i+1].At
			}
			got += s.Rate * model.Duration(end-s.At).Seconds()
		}
		require.InDelta(t, want, got, 1e-6*max(1, want))
	})
}

// Shapes are what they say at instants that tell them apart.
func TestShapes(t *testing.T) {
	minute := model.Minute
	at := func(s Shape, when model.Duration) float64 {
		s.Grain, s.Length = minute, 48*model.Hour
		d, err := Generate(s)
		require.NoError(t, err)
		rate := 0.0
		for _, x := range d.Segments {
			if x.At <= model.Time(when) {
				rate = x.Rate
			}
		}
		return rate
	}
	step := Shape{Kind: Step, Base: 1, Peak: 4, At: 10 * minute, Over: 20 * minute}
	require.Equal(t, []float64{1, 4, 1}, []float64{at(step, 9*minute), at(step, 10*minute), at(step, 30*minute)})
	ramp := Shape{Kind: Ramp, Base: 0, Peak: 10, At: 10 * minute, Over: 20 * minute}
	require.Equal(t, []float64{0, 5, 10}, []float64{at(ramp, 9*minute), at(ramp, 20*minute), at(ramp, 40*minute)})
	sine := Shape{Kind: Sine, Base: 2, Peak: 6, Period: model.Hour}
	require.InDelta(t, 6, at(sine, 30*minute), 1e-9)
	require.InDelta(t, 2, at(sine, 60*minute), 1e-9)
	flash := Shape{Kind: Flash, Base: 1, Peak: 9, At: 60 * minute, Over: 30 * minute}
	require.InDelta(t, 9, at(flash, 63*minute), 1e-9)
	require.InDelta(t, 5, at(flash, 93*minute), 1e-9)
	day := Shape{Kind: Diurnal, Base: 10, Peak: 100}
	require.Greater(t, at(day, 20*model.Hour), at(day, 15*model.Hour))
	require.Less(t, at(day, 4*model.Hour), 20.0)
	noisy := step
	noisy.Noise = 0.3
	require.NotEqual(t, at(step, 9*minute), at(noisy, 9*minute))
	for _, s := range []Shape{{Grain: 1}, {Base: -1, Grain: 1, Length: 1}, {Kind: Sine, Grain: 1, Length: 1}, {Kind: Ramp, Grain: 1, Length: 1}, {Base: math.Inf(1), Grain: 1, Length: 1}} {
		_, err := Generate(s)
		require.Error(t, err)
	}
}

func some(v float64) traces.Opt[float64] { return traces.Opt[float64]{V: v, OK: true} }

// Samples of a load table become rates, single requests, or arrivals that keep so many present.
func TestFromLoad(t *testing.T) {
	minute := model.Minute
	d, err := FromLoad([]traces.Load{{Time: 0, Width: minute, Arrivals: some(120)}, {Time: model.Time(3 * minute), Width: minute, Arrivals: some(60)}}, 0)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 1}, []float64{d.Segments[0].Rate, d.Segments[1].Rate})
	require.Len(t, d.Notes, 1, "a gap is told")
	require.Equal(t, model.Time(4*minute), d.End)

	d, err = FromLoad([]traces.Load{{Time: 5, Arrivals: some(1), TokensIn: some(100), TokensOut: some(20)}}, 0)
	require.NoError(t, err)
	require.Equal(t, []Single{{5, 1, Request{In: 100, Out: 20}}}, d.Singles)

	// 60 sessions at a time for an hour, each of ten minutes: 0.1 come in a second.
	rows := []traces.Load{{Width: 60 * minute, Concurrent: some(60)}, {Time: model.Time(60 * minute), Width: 60 * minute, Concurrent: some(60)}}
	d, err = FromLoad(rows, 10*minute)
	require.NoError(t, err)
	require.Equal(t, 60.0, d.Initial)
	require.InDelta(t, 0.1, d.Segments[0].Rate, 1e-12)
	rows[1].Concurrent = some(0)
	d, err = FromLoad(rows, 10*minute)
	require.NoError(t, err)
	require.InDelta(t, 0.05-60./3600, d.Segments[0].Rate, 1e-12)

	for _, bad := range [][]traces.Load{nil, {{Concurrent: some(1)}}, {{Width: minute, Concurrent: some(1)}}, {{Width: minute, Concurrent: some(1)}, {Time: model.Time(minute), Width: minute, Arrivals: some(1)}}} {
		_, err = FromLoad(bad, 0)
		require.Error(t, err)
	}
	mixed := []traces.Load{{Width: minute, Concurrent: some(1)}, {Time: model.Time(minute), Width: minute, Arrivals: some(1)}}
	_, err = FromLoad(mixed, minute)
	require.Error(t, err)
}

// Recorded use becomes the demand that it was, and the result says so.
func TestInverted(t *testing.T) {
	d, err := Inverted([]Use{{0, 0.5, 8}, {model.Time(model.Minute), 1, 8}}, model.Minute, 2*model.Second)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4}, []float64{d.Segments[0].Rate, d.Segments[1].Rate}, "four and eight units busy with requests of two seconds")
	require.Contains(t, d.Notes[0], "inverted from recorded utilisation")
	require.Contains(t, d.Notes[0], "1 of 2 samples are at their limit")
	_, err = Inverted([]Use{{0, 1.5, 8}}, model.Minute, model.Second)
	require.Error(t, err)
}

// A window begins anew, and a scaled demand has so many times the arrivals.
func TestWindowAndScale(t *testing.T) {
	minute := model.Time(model.Minute)
	d := &Demand{Segments: []Segment{{Rate: 1}, {At: 10 * minute, Rate: 2}}, Singles: []Single{{At: 11 * minute, N: 1}}, End: 20 * minute}
	w, err := d.Window(5*minute, 10*model.Minute)
	require.NoError(t, err)
	require.Equal(t, []Segment{{Rate: 1}, {At: 5 * minute, Rate: 2}}, w.Segments)
	require.Equal(t, []Single{{At: 6 * minute, N: 1}}, w.Singles)
	require.Equal(t, 10*minute, w.End)
	twice, err := d.Scaled(2)
	require.NoError(t, err)
	require.Equal(t, 4.0, twice.Segments[1].Rate)
	require.Equal(t, int64(2), twice.Singles[0].N)
	_, err = d.Scaled(1.5)
	require.Error(t, err)
	_, err = d.Window(30*minute, 0)
	require.Error(t, err)
}
