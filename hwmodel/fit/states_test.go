package fit

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// planted is what GPUs truly draw and what a sensor makes of it.
type planted struct {
	idle, held, active   float64 // W, medians
	betweenSpans         float64 // deviation of the level of spans, a part
	betweenJobs          float64 // of the logarithm of jobs
	period, window, step int64   // µs, of sensor and agent
	gain, noise          float64
	outliers             float64 // share of readings
	rests, jobs          int
	resting, working     int64 // µs
}

// card is a sensor as of an A100, with an agent that reads twice as often as it shows.
var card = planted{
	idle: 70, held: 110, active: 500, betweenSpans: 0.01, betweenJobs: 0.12,
	period: 100_000, window: 25_000, step: 50_000, gain: 0.95, noise: 0.02, outliers: 0.05,
	rests: 12, jobs: 30, resting: 8_000_000, working: 12_600_000,
}

var plantedStream = draw.StreamOf("planted power")

// spans are those of one GPU: idle, held and a job by turns. With counter, readings are those of
// a counter of energy that is reset once.
func (p *planted) spans(seed uint64, counter bool) (out []Span) {
	src := draw.New(seed, plantedStream, 0, 0)
	now, before := int64(0), p.idle
	add := func(state State, job int, level float64, length int64) {
		s := Span{State: state, Job: job, From: now, To: now + length}
		s.Samples = p.readings(&src, state, before, level, now, now+length)
		if counter {
			s.Samples = p.counted(&src, state, level, now, now+length)
		}
		out = append(out, s)
		now, before = now+length, level
	}
	for i := range max(p.rests, p.jobs) {
		if i < p.rests {
			add(StateIdle, 0, p.idle*(1+p.betweenSpans*src.Normal()), p.resting)
			add(StateHeld, 0, p.held*(1+p.betweenSpans*src.Normal()), p.resting)
		}
		if i < p.jobs {
			add(StateActive, i, p.active*libm.Exp(p.betweenJobs*src.Normal()), p.working)
		}
	}
	return out
}

// power is what a GPU draws: jobs go up and down by 15 % each 0.7 s.
func power(state State, level float64, sinceStart int64) float64 {
	if state != StateActive {
		return level
	}
	if sinceStart/700_000%2 == 0 {
		return level * 1.15
	}
	return level * 0.85
}

// readings are what the agent sees. The sensor shows a new value each period: the mean over the
// window before it, in which the state before may still be. Some values are wild, and the agent
// pauses once in a span.
func (p *planted) readings(src *draw.Source, state State, before, level float64, from, to int64) (out []Sample) {
	shown, at := before*p.gain, from-from%p.period
	pause := from + src.IntN(to-from)
	for t := from; t < to; t += p.step {
		for at+p.period <= t {
			at += p.period
			part := min(1, float64(at-from)/float64(p.window))
			shown = p.gain * (part*power(state, level, at-p.window/2-from) + (1-part)*before) * (1 + p.noise*src.Normal())
			if src.Bool(p.outliers) {
				shown *= []float64{0, 0.3, 2, 3}[src.IntN(4)]
			}
		}
		if t < pause || t > pause+1_000_000 {
			out = append(out, Sample{t, shown})
		}
	}
	return out
}

func (p *planted) counted(src *draw.Source, state State, level float64, from, to int64) []Sample {
	var counts []Count
	reset, total := from+src.IntN(to-from), float64(src.IntN(1<<40))
	for t := from; t < to; t += p.period {
		counts = append(counts, Count{t, uint64(total)})
		total += p.gain * power(state, level, t-from) * (1 + p.noise*src.Normal()) * float64(p.period) / 1000
		if t <= reset && reset < t+p.period {
			total = 0
		}
	}
	out, _ := OfCounter(counts)
	return out
}

// sensor is one with the gain that a meter has told.
func (p *planted) sensor() Sensor {
	gain := hwmodel.Band{Value: p.gain, Low: p.gain, High: p.gain}
	return Sensor{Period: model.Duration(p.period), Window: model.Duration(p.window), Gain: gain, Metered: true}
}

// covered counts how many intervals hold the truth.
type covered map[string]int

func (c covered) add(name string, held bool) {
	if held {
		c[name]++
	} else {
		c[name] += 0
	}
}

const seeds = 1000

// within93to97 asks for the coverage that intervals of 95 % are to have, of all names.
func (c covered) within93to97(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, c)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%s: %.1f %%", name, 100*float64(c[name])/seeds)
		assert.GreaterOrEqual(t, c[name], seeds*93/100, name)
		assert.LessOrEqual(t, c[name], seeds*97/100, name)
	}
}

func holds(b hwmodel.Band, truth float64) bool { return b.Low <= truth && truth <= b.High }

// TestDrawsOfStates: intervals of what is drawn by state hold the planted truth in 95 % of
// records. Those of readings that are taken as independent do not, since a sensor shows each
// reading several times, and jobs differ by more than readings do.
func TestDrawsOfStates(t *testing.T) {
	truths := map[string]float64{"idle": card.idle, "held": card.held, "active": card.active, "class": card.active,
		"mean": card.active * libm.Exp(card.betweenJobs*card.betweenJobs/2)}
	known, readings, further, unmetered := covered{}, covered{}, 0, covered{}
	for seed := range uint64(seeds) {
		spans := card.spans(seed, seed%2 == 1)
		f, err := States(spans, card.sensor())
		require.NoError(t, err)
		require.Len(t, f.Classes, 1)
		raw, err := States(spans, Unmetered(model.Duration(card.period), model.Duration(card.window)))
		require.NoError(t, err)
		for i, name := range []string{"idle", "held", "active", "class", "mean"} {
			figures := func(f StateFit) Figure {
				return []Figure{f.Idle, f.Held, f.Active, f.Classes[0].Median, f.Classes[0].Mean}[i]
			}
			require.True(t, figures(f).Known(), name)
			known.add(name, holds(figures(f).Band, truths[name]))
			unmetered.add(name, holds(figures(raw).Band, truths[name]))
		}
		next := draw.New(seed, draw.StreamOf("further job"), 0, 0)
		if w := card.active * libm.Exp(card.betweenJobs*next.Normal()); w >= f.Active.Spread.Low && w <= f.Active.Spread.High {
			further++
		}
		if seed%2 == 0 {
			for name, state := range map[string]State{"idle": StateIdle, "held": StateHeld, "active": StateActive} {
				readings.add(name, holds(asIndependent(spans, state, card.gain), truths[name]))
			}
		}
	}
	known.within93to97(t)
	t.Logf("the range of a further job holds it in %.1f %%", 100*float64(further)/seeds)
	require.InDelta(t, 0.8, float64(further)/seeds, 0.04)
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		n := readings[name]
		t.Logf("%s, readings taken as independent: %.1f %%", name, 100*float64(n)/(seeds/2))
		require.Less(t, n, seeds/2*70/100, name)
	}
	for _, name := range slices.Sorted(maps.Keys(unmetered)) {
		n := unmetered[name]
		t.Logf("%s, without a meter: %.1f %% in the range", name, 100*float64(n)/seeds)
		require.GreaterOrEqual(t, n, seeds*99/100, name)
	}
}

// asIndependent is the wrong model: the interval of the median of all readings of a state.
func asIndependent(spans []Span, state State, gain float64) hwmodel.Band {
	var watts []float64
	for _, s := range spans {
		for _, r := range s.Samples {
			if s.State == state {
				watts = append(watts, r.Watts/gain)
			}
		}
	}
	return middle(watts, "readings").Band
}

// TestDrawsOfManyCards: idle cards differ by more than spans of one card. With spans as units the
// interval is too narrow for the type of GPU. A gain that a meter told with an error widens it.
func TestDrawsOfManyCards(t *testing.T) {
	const between, gainError = 0.05, 0.005
	one := card
	one.rests, one.jobs, one.resting = 3, 0, 3_000_000
	cards, asSpans := covered{}, 0
	for seed := range uint64(seeds) {
		var spans []Span
		src := draw.New(seed, draw.StreamOf("cards"), 0, 0)
		metered := one.sensor()
		metered.Gain.Value *= 1 + gainError*src.Normal()
		reach := 1.96 * gainError * metered.Gain.Value
		metered.Gain.Low, metered.Gain.High = metered.Gain.Value-reach, metered.Gain.Value+reach
		for g := range 12 {
			p := one
			p.idle, p.held = one.idle*(1+between*src.Normal()), one.held*(1+between*src.Normal())
			for _, s := range p.spans(seed*100+uint64(g), false) {
				s.GPU = g
				spans = append(spans, s)
			}
		}
		f, err := States(spans, metered)
		require.NoError(t, err)
		require.Equal(t, 12, f.Idle.N)
		require.Equal(t, "GPUs", f.Idle.Units)
		cards.add("idle", holds(f.Idle.Band, one.idle))
		cards.add("held", holds(f.Held.Band, one.held))
		var medians []float64
		var counts StateCounts
		for i := range spans {
			if s := &spans[i]; s.State == StateIdle {
				rest := restSpan{s.GPU, s.From, s.To, readingsOf(s, &metered, &counts)}
				for _, u := range rest.units(longSpan) {
					medians = append(medians, u.watts)
				}
			}
		}
		if e := metered.corrected(middle(medians, "spans")); holds(e.Band, one.idle) {
			asSpans++
		}
	}
	cards.within93to97(t)
	t.Logf("idle, spans of twelve cards as units: %.1f %%", 100*float64(asSpans)/seeds)
	require.Less(t, asSpans, seeds*85/100)
}

// TestDrawsOfFewSpans: one idle span of two minutes gives a figure of that span by its parts, as the
// units say. It says nothing of other spans, which differ.
func TestDrawsOfFewSpans(t *testing.T) {
	one := card
	one.rests, one.jobs, one.resting = 1, 0, 120_000_000
	for _, c := range []struct{ between, least, most float64 }{{0, 93, 97}, {0.01, 0, 60}} {
		one.betweenSpans = c.between
		held := 0
		for seed := range uint64(seeds) {
			f, err := States(one.spans(seed, seed%2 == 1), one.sensor())
			require.NoError(t, err)
			require.Equal(t, "parts of spans", f.Idle.Units)
			if holds(f.Idle.Band, one.idle) {
				held++
			}
		}
		t.Logf("one span, others differ by %.0f %%: %.1f %%", 100*c.between, 100*float64(held)/seeds)
		require.GreaterOrEqual(t, float64(held), c.least*seeds/100)
		require.LessOrEqual(t, float64(held), c.most*seeds/100)
	}
}

// TestDrawsThatDrift: spans of one card that follow each other in 5 minutes each are worth less
// than as many independent ones.
func TestDrawsThatDrift(t *testing.T) {
	drift := func(r float64, f func(x []float64)) {
		for seed := range uint64(seeds) {
			src := draw.New(seed, draw.StreamOf("drift"), 0, 0)
			x, level := make([]float64, 60), src.Normal()
			for i := range x {
				x[i] = 70 + level
				level = r*level + math.Sqrt(1-r*r)*src.Normal()
			}
			f(x)
		}
	}
	for _, c := range []struct {
		r           float64
		least, most float64 // per cent covered
		plain       float64 // covered at most, as if independent
	}{{0, 93, 97, 97}, {0.5, 89, 97, 80}} {
		held, plain := 0, 0
		drift(c.r, func(x []float64) {
			e := middle(x, "spans")
			if holds(e.Band, 70) {
				plain++
			}
			if holds(widened(e, x).Band, 70) {
				held++
			}
		})
		t.Logf("r %.1f: %.1f %% covered, %.1f %% as if independent", c.r, 100*float64(held)/seeds, 100*float64(plain)/seeds)
		require.GreaterOrEqual(t, float64(held), c.least*seeds/100)
		require.LessOrEqual(t, float64(held), c.most*seeds/100)
		require.LessOrEqual(t, float64(plain), c.plain*seeds/100)
	}
}

// TestPhasesOfAJob: a job that computes and waits draws the mean of both on average, where the
// median of its readings is one of them. Its phases are no outliers.
func TestPhasesOfAJob(t *testing.T) {
	var s Span
	s.State, s.From, s.To = StateActive, 0, 60_000_000
	for at := int64(0); at < s.To; at += 100_000 {
		watts := 600 + float64(at/100_000%7)
		if at%5_000_000 >= 3_000_000 {
			watts -= 450
		}
		s.Samples = append(s.Samples, Sample{at, watts})
	}
	var counts StateCounts
	sensor := Unmetered(100*model.Millisecond, 25*model.Millisecond)
	joules, seconds := energy(readingsOf(&s, &sensor, &counts))
	require.InEpsilon(t, 0.6*603+0.4*153, joules/seconds, 0.01)
	require.Zero(t, counts.Outliers)
	s.Samples[100].Watts, s.Samples[310].Watts = 0, 3000
	readingsOf(&s, &sensor, &counts)
	require.Equal(t, 2, counts.Outliers)
	s.Samples = slices.Delete(s.Samples, 250, 290)
	counts = StateCounts{}
	_, shorter := energy(readingsOf(&s, &sensor, &counts))
	require.Equal(t, 1, counts.Gaps)
	require.InDelta(t, seconds-4, shorter, 0.5, "a gap has no energy and no time")
	joules, seconds = energy([]Sample{{0, 100}, {3_000_000, 500}, {4_000_000, 100}, {7_000_000, 500}, {8_000_000, 100}, {11_000_000, 500}, {12_000_000, 500}})
	require.InDelta(t, 9*100+3*500+3*500, joules, 1e-9, "a reading holds until the next one, and the last one for a usual step of 3 s")
	require.InDelta(t, 15, seconds, 1e-9)
}

func TestCounterOfEnergy(t *testing.T) {
	got, resets := OfCounter([]Count{{0, 1000}, {1_000_000, 71_000}, {1_000_000, 71_000}, {2_000_000, 30}, {4_000_000, 140_030}})
	require.Equal(t, 1, resets)
	require.Equal(t, []Sample{{1_000_000, 70}, {4_000_000, 70}}, got)
	got, resets = OfCounter(nil)
	require.Empty(t, got)
	require.Zero(t, resets)
}

func TestRefusedDraws(t *testing.T) {
	few := card
	few.rests, few.jobs, few.resting = 3, 5, 4_000_000
	f, err := States(few.spans(1, false), few.sensor())
	require.NoError(t, err)
	for _, c := range []struct {
		figure Figure
		says   string
	}{
		{f.Idle, "idle draw: found 3 spans, want at least 6: record some minutes without a job"},
		{f.Held, "held draw: found 3 spans, want at least 6: let a process hold memory"},
		{f.Active, "active draw: found 5 jobs, want at least 6: record more jobs"},
		{f.Classes[0].Mean, "mean active draw of a class: found 5 jobs"},
	} {
		require.False(t, c.figure.Known())
		require.ErrorContains(t, c.figure.Refused, c.says)
		require.ErrorIs(t, c.figure.Refused, ErrTooFew)
	}
	require.Equal(t, Range{f.Active.Of[0], f.Active.Of[4]}, f.Active.Spread, "a range of five jobs is known")
	require.InDelta(t, 4.0/6, f.Active.Share, 1e-12)
	long := Span{State: StateIdle, To: int64(40 * model.Minute)}
	for at := int64(0); at < long.To; at += int64(model.Second) {
		long.Samples = append(long.Samples, Sample{at, 70 + float64(at/1_000_000%5)})
	}
	long.Samples[9].Watts, long.Samples[10].Watts = math.NaN(), -1
	f, err = States([]Span{long, {State: StateIdle, To: 1_000_000}}, few.sensor())
	require.NoError(t, err)
	require.Equal(t, 8, f.Idle.N, "5 minutes of a long span are a unit")
	require.Len(t, f.Idle.Of, 8)
	require.InDelta(t, f.Idle.Value, f.Idle.Of[3], 1e-9, "the units are corrected as the figure is")
	require.Equal(t, 2, f.Counts.Invalid)
	require.Equal(t, 1, f.Counts.Short)
	require.InDelta(t, 72/0.95, f.Idle.Value, 1e-9)
}

func TestBadSpans(t *testing.T) {
	sensor := Unmetered(100*model.Millisecond, model.Second)
	good := Span{State: StateActive, To: 1}
	for _, c := range []struct {
		change func(*Span)
		says   string
	}{
		{func(s *Span) { s.State = 3 }, "found state 3, want 0 to 2"},
		{func(s *Span) { s.GPU = -1 }, "found GPU -1"},
		{func(s *Span) { s.Class = -1 }, "job 0 of class -1"},
		{func(s *Span) { s.To = 0 }, "want an end after the start"},
		{func(s *Span) { s.From, s.To = math.MinInt64, math.MaxInt64 }, "want an end after the start"},
		{func(s *Span) { s.Samples = []Sample{{5, 1}, {4, 1}} }, "sample 1: found 4 µs after 5"},
	} {
		s := good
		c.change(&s)
		_, err := States([]Span{good, s}, sensor)
		require.ErrorContains(t, err, "span 1: ")
		require.ErrorContains(t, err, c.says)
	}
	first, second := good, good
	for at := range int64(40) {
		first.Samples = append(first.Samples, Sample{at * 1_000_000, 500 + float64(at)})
	}
	first.To, second.To, second.Samples, second.Class = 40_000_000, 40_000_000, first.Samples, 1
	_, err := States([]Span{first, second}, sensor)
	require.ErrorContains(t, err, "span 1: found job 0 in class 1, want class 0")
	for _, c := range []struct {
		change func(*Sensor)
		says   string
	}{
		{func(s *Sensor) { s.Period = -1 }, "found a period of"},
		{func(s *Sensor) { s.Window = model.Forever }, "want times from 0 to 1h"},
		{func(s *Sensor) { s.Gain = hwmodel.Band{} }, "found 0 to 0, want numbers from 0.2 to 5"},
		{func(s *Sensor) { s.Gain.Low = math.NaN() }, "gain of the sensor"},
		{func(s *Sensor) { s.Offset.Low = 1 }, "offset of the sensor"},
	} {
		s := sensor
		c.change(&s)
		_, err := States(nil, s)
		require.ErrorContains(t, err, c.says)
	}
}

// TestAnySpans: bands are in order whatever the spans and the sensor, and nothing panics.
func TestAnySpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watts := rapid.OneOf(rapid.Float64Range(0, 800), rapid.SampledFrom([]float64{0, 70, math.NaN(), math.Inf(1), -5, 1e300}))
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Span {
			from := rapid.Int64Range(0, 1e9).Draw(t, "from")
			s := Span{GPU: rapid.IntRange(0, 8).Draw(t, "GPU"), State: State(rapid.IntRange(0, 2).Draw(t, "state")), Job: rapid.IntRange(0, 9).Draw(t, "job"), From: from,
				To: rapid.OneOf(rapid.Just(int64(math.MaxInt64)), rapid.Int64Range(from+1, from+4e9)).Draw(t, "to")}
			at := from
			for range rapid.IntRange(6, 14).Draw(t, "samples") {
				at += rapid.Int64Range(0, 4e8).Draw(t, "step")
				s.Samples = append(s.Samples, Sample{at, watts.Draw(t, "W")})
			}
			return s
		}), 0, 30).Draw(t, "spans")
		sensor := Unmetered(model.Duration(rapid.Int64Range(0, 1e6).Draw(t, "period")), model.Duration(rapid.Int64Range(0, 1e6).Draw(t, "window")))
		sensor.Metered = rapid.Bool().Draw(t, "metered")
		offset := rapid.Float64Range(-100, 100).Draw(t, "offset")
		sensor.Offset = hwmodel.Band{Value: offset, Low: offset - 1, High: offset + 1}
		f, err := States(spans, sensor)
		require.NoError(t, err)
		figures := []Figure{f.Idle, f.Held, f.Active}
		for _, c := range f.Classes {
			figures = append(figures, c.Median)
		}
		for _, x := range figures {
			if x.Known() {
				require.NoError(t, x.Validate("draw"))
			}
		}
	})
}

// TestSettling: a sensor that averages over a second still shows the job before in the first
// readings of an idle span, and one that is read twice as often as it changes shows each twice.
func TestSettling(t *testing.T) {
	slow := Unmetered(100*model.Millisecond, model.Second)
	s := Span{State: StateIdle, From: 5_000_000, To: 8_000_000}
	for i := range int64(60) {
		shown := i / 2 * 100_000
		s.Samples = append(s.Samples, Sample{s.From + i*50_000, 70 + max(0, 430*(1-float64(shown)/1e6)) + float64(i/2%5)/100})
	}
	var counts StateCounts
	got := readingsOf(&s, &slow, &counts)
	require.Equal(t, StateCounts{Samples: 60, Settling: 22, Repeated: 19}, counts)
	require.Len(t, got, 19)
	for _, r := range got {
		require.InDelta(t, 70, r.Watts, 0.05)
	}
	fast := Unmetered(0, 0)
	counts = StateCounts{}
	require.Len(t, readingsOf(&s, &fast, &counts), 60-counts.Outliers, "nothing is known of the sensor")
	require.Zero(t, counts.Repeated)
}

// TestCorrected: gain and offset are taken out, and what is not known of them widens the interval.
func TestCorrected(t *testing.T) {
	reading := Estimate{Band: hwmodel.Band{Value: 480, Low: 470, High: 490}, Spread: Range{385, 575}, Of: []float64{385, 480, 575}}
	exact := Sensor{Gain: hwmodel.Band{Value: 0.95, Low: 0.95, High: 0.95}, Offset: hwmodel.Band{Value: 5, Low: 5, High: 5}, Metered: true}
	got := exact.corrected(reading)
	for i, want := range []float64{500, 465 / 0.95, 485 / 0.95, 400, 600, 400, 600} {
		require.InDelta(t, want, []float64{got.Value, got.Low, got.High, got.Spread.Low, got.Spread.High, got.Of[0], got.Of[2]}[i], 1e-9)
	}
	vague := exact
	vague.Gain.Low, vague.Gain.High = 0.93, 0.97
	vague.Offset.Low, vague.Offset.High = 2, 8
	got = vague.corrected(reading)
	require.InDelta(t, 500-math.Sqrt(math.Pow(10/0.95, 2)+math.Pow(500-475/0.97, 2)+math.Pow(3/0.95, 2)), got.Low, 1e-9)
	require.InDelta(t, 500+math.Sqrt(math.Pow(10/0.95, 2)+math.Pow(475/0.93-500, 2)+math.Pow(3/0.95, 2)), got.High, 1e-9)
	vague.Metered = false
	got = vague.corrected(reading)
	require.InDelta(t, 462/0.97, got.Low, 1e-9, "a range adds all of itself")
	require.InDelta(t, 488/0.93, got.High, 1e-9)
}
