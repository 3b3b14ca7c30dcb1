package fit

import (
	"math"
	"slices"
	"testing"

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
	resting, working     int64   // µs
	law                  law     // of spans and jobs
	together             float64 // correlation of the noise of values that follow each other
}

// card is a sensor as of an A100, with an agent that reads twice as often as it shows.
var card = planted{
	idle: 70, held: 110, active: 500, betweenSpans: 0.01, betweenJobs: 0.12, law: normal,
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
			add(StateIdle, 0, p.idle*(1+p.betweenSpans*p.law(&src)), p.resting)
			add(StateHeld, 0, p.held*(1+p.betweenSpans*p.law(&src)), p.resting)
		}
		if i < p.jobs {
			add(StateActive, i, p.active*libm.Exp(p.betweenJobs*p.law(&src)), p.working)
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
	shown, at, noise := before*p.gain, from-from%p.period, src.Normal()
	pause := from + src.IntN(to-from)
	for t := from; t < to; t += p.step {
		for at+p.period <= t {
			at += p.period
			noise = p.together*noise + math.Sqrt(1-p.together*p.together)*src.Normal()
			part := min(1, float64(at-from)/float64(p.window))
			shown = p.gain * (part*power(state, level, at-p.window/2-from) + (1-part)*before) * (1 + p.noise*noise)
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

// noisy is a worse sensor on cards with fewer and shorter spans that differ by more, and fewer jobs.
var noisy = planted{
	idle: 70, held: 110, active: 500, betweenSpans: 0.03, betweenJobs: 0.25, law: normal,
	period: 100_000, window: 100_000, step: 30_000, gain: 0.95, noise: 0.05, outliers: 0.1,
	rests: 8, jobs: 12, resting: 5_000_000, working: 7_000_000,
}

// quick is a sensor as of a V100, whose readings are noisy for some seconds together, with gaps and wild spans.
var quick = planted{
	idle: 40, held: 55, active: 250, betweenSpans: 0.02, betweenJobs: 0.15, law: heavy,
	period: 20_000, window: 10_000, step: 30_000, gain: 0.95, noise: 0.02, outliers: 0.03, together: 0.95,
	rests: 20, jobs: 16, resting: 4_000_000, working: 7_000_000,
}

// TestDrawsOfStates: intervals of what is drawn by state hold the planted truth in 95 % of
// records. Those of readings that are taken as independent do not, since a sensor shows each
// reading several times, and jobs differ by more than readings do.
func TestDrawsOfStates(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		name string
		planted
	}{{"card", card}, {"noisy", noisy}, {"quick", quick}} {
		truths := map[string]float64{"idle": w.idle, "held": w.held, "active": w.active, "class": w.active, "mean": w.active * libm.Exp(w.betweenJobs*w.betweenJobs/2)}
		if w.name == "quick" {
			delete(truths, "mean") // jobs of such a law have none
		}
		known, readings, unmetered := covered{}, covered{}, covered{}
		further := covered{}
		for seed := range records {
			if w.name != "card" && seed%4 > 1 { // half of them
				continue
			}
			spans := w.spans(seed, seed%2 == 1)
			f, err := States(spans, w.sensor())
			require.NoError(t, err)
			require.Len(t, f.Classes, 1)
			figures := func(f StateFit) map[string]Figure {
				return map[string]Figure{"idle": f.Idle, "held": f.Held, "active": f.Active, "class": f.Classes[0].Median, "mean": f.Classes[0].Mean}
			}
			got := figures(f)
			for name, truth := range truths { //detlint:ordered they are counted
				require.True(t, got[name].Known(), name)
				known.add(name, holds(got[name].Band, truth))
			}
			next := draw.New(seed, draw.StreamOf("further job"), 0, 0)
			job := w.active * libm.Exp(w.betweenJobs*w.law(&next))
			further.add("job", job >= f.Active.Spread.Low && job <= f.Active.Spread.High)
			if seed%8 > 1 {
				continue
			}
			raw, err := States(spans, Unmetered(model.Duration(w.period), model.Duration(w.window)))
			require.NoError(t, err)
			got = figures(raw)
			for name, truth := range truths { //detlint:ordered they are counted
				unmetered.add(name, holds(got[name].Band, truth))
			}
			for name, state := range map[string]State{"idle": StateIdle, "held": StateHeld, "active": StateActive} { //detlint:ordered they are counted
				readings.add(name, holds(asIndependent(spans, state, w.gain), truths[name]))
			}
		}
		t.Log(w.name)
		if w.name == "card" {
			known.asked(t, 93, 97, chance)
		} else {
			known.about(t, 93, 97)
		}
		t.Log("the range of a further job")
		further.about(t, 76, 84)
		t.Log("readings taken as independent")
		readings.within(t, 0, 75)
		t.Log("without a meter, in the range")
		unmetered.about(t, 97, 100)
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
	t.Parallel()
	for _, w := range []struct {
		gpus               int
		between, gainError float64
		law                law
		spans              int // of a card at most
	}{{12, 0.05, 0.005, normal, 3}, {2, 0.05, 0, normal, 9}, {5, 0.1, 0.005, normal, 5}, {9, 0.08, 0.01, heavy, 9}} {
		one := card
		one.jobs, one.resting = 0, 2_000_000
		cards, asSpans := covered{}, covered{}
		for seed := range records {
			var spans []Span
			src := draw.New(seed, draw.StreamOf("cards"), uint64(w.gpus), 0)
			metered := one.sensor()
			metered.Gain.Value *= 1 + w.gainError*src.Normal()
			reach := 1.96 * w.gainError * metered.Gain.Value
			metered.Gain.Low, metered.Gain.High = metered.Gain.Value-reach, metered.Gain.Value+reach
			for g := range w.gpus {
				p := one
				p.idle, p.held = one.idle*max(0.4, 1+w.between*w.law(&src)), one.held*max(0.4, 1+w.between*w.law(&src))
				p.rests = 3
				if w.spans > 3 {
					p.rests = 3 + int(src.IntN(int64(w.spans-2)))
				}
				for _, s := range p.spans(seed*100+uint64(g), false) {
					s.GPU = g
					spans = append(spans, s)
				}
			}
			f, err := States(spans, metered)
			require.NoError(t, err)
			require.Equal(t, w.gpus, f.Idle.N)
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
			asSpans.add("idle by spans", holds(metered.corrected(middle(medians, "spans")).Band, one.idle))
		}
		t.Logf("%d cards that differ by %.0f %%", w.gpus, 100*w.between)
		cards.about(t, 93, 97)
		asSpans.within(t, 0, 88)
	}
}

// TestDrawsOfFewSpans: one idle span of a minute gives a figure of that span by its parts, as the
// units say. It says nothing of other spans, which differ.
func TestDrawsOfFewSpans(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		name        string
		p           planted
		between     float64
		length      int64
		least, most float64
	}{
		{"card", card, 0, 60_000_000, 93, 97}, {"noisy", noisy, 0, 45_000_000, 93, 97}, {"quick", quick, 0, 60_000_000, 93, 97},
		{"card, others differ by 1 %", card, 0.01, 60_000_000, 0, 60},
	} {
		w.p.rests, w.p.jobs, w.p.resting, w.p.betweenSpans = 1, 0, w.length, w.between
		held := covered{}
		for seed := range records {
			if w.between > 0 && seed%5 > 0 || w.name != "card" && seed%4 > 1 { // a part of them
				continue
			}
			f, err := States(w.p.spans(seed, seed%2 == 1), w.p.sensor())
			require.NoError(t, err)
			require.Equal(t, "parts of spans", f.Idle.Units)
			held.add(w.name, holds(f.Idle.Band, w.p.idle))
		}
		held.about(t, w.least, w.most)
	}
}

// TestDrawsThatDrift: spans of one card that follow each other in 5 minutes each are worth less
// than as many independent ones.
func TestDrawsThatDrift(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		units       int
		r           float64
		law         law
		least, most float64 // per cent covered
	}{
		{60, 0, normal, 93, 97}, {60, 0.5, normal, 93, 97}, {40, 0.3, normal, 93, 97}, {120, 0.8, normal, 93, 97}, {24, 0, heavy, 93, 97}, {12, 0, skewed, 93, 97}, {60, 0.5, heavy, 93, 97},
		{24, 0.5, normal, 89, 95}, {12, 0.5, normal, 84, 93}, {60, 0.8, normal, 90, 96}, // too few to tell how alike they are
	} {
		held, plain := covered{}, covered{}
		for seed := range first(1000) {
			src := draw.New(seed, draw.StreamOf("drift"), uint64(w.units), 0)
			x, level := make([]float64, w.units), w.law(&src)
			for range 20 { // until it is steady
				level = w.r*level + math.Sqrt(1-w.r*w.r)*w.law(&src)
			}
			for i := range x {
				x[i] = 70 + level
				level = w.r*level + math.Sqrt(1-w.r*w.r)*w.law(&src)
			}
			e := middle(x, "spans")
			plain.add("as if independent", holds(e.Band, 70))
			held.add("widened", holds(widened(e, x).Band, 70))
		}
		t.Logf("%d units, r %.1f", w.units, w.r)
		held.about(t, w.least, w.most)
		if w.r > 0 {
			plain.within(t, 0, 91)
		}
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
