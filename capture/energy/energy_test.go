package energy_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/capture"
	"orrery/capture/energy"
	"orrery/capture/join"
	"orrery/capture/review"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
)

const day = model.Time(1_790_000_000_000_000)

func at(seconds int) model.Time { return day.Add(model.Duration(seconds) * model.Second) }

// reading is a sample: at so many s, W and J.
type reading struct {
	at     int
	watts  traces.Opt[float64]
	joules traces.Opt[float64]
}

func rows(node string, list []reading) (out []traces.Telemetry) {
	for _, r := range list {
		out = append(out, traces.Telemetry{Node: node, GPU: traces.Some[int32](0), Time: at(r.at), Power: r.watts, Energy: traces.Opt[int64]{V: int64(r.joules.V * 1000), OK: r.joules.OK},
			Processes: capture.Encode([]capture.Process{{PID: 1, Job: "1"}})})
	}
	return out
}

func read(t require.TestingT, list []reading, events ...traces.Event) (joules, byPower, unknown float64, doubts energy.Doubts) {
	stands := energy.NewStretches(events)
	m := energy.Meter[int]{Settle: func(p energy.Part[int]) {
		require.Positive(t, p.Seconds)
		joules += p.Joules.V
		switch {
		case !p.Joules.OK:
			unknown += p.Seconds
		case p.Power:
			byPower += p.Seconds
		}
	}}
	all := rows("n", list)
	for i := range all {
		m.Row(stands.Of(&all[i]), i, &all[i])
	}
	m.End()
	return joules, byPower, unknown, m.Doubts
}

func TestByHand(t *testing.T) {
	w, j, none := traces.Some[float64], traces.Some[float64], traces.Opt[float64]{}
	steady := func(change func(i int, r *reading)) (list []reading) {
		for i := range 8 {
			r := reading{i * 20, w(250), j(1e6 + float64(i)*5000)}
			change(i, &r)
			list = append(list, r)
		}
		return list
	}
	for _, c := range []struct {
		name                     string
		list                     []reading
		joules, byPower, unknown float64
		doubts                   energy.Doubts
	}{
		{"counter", steady(func(int, *reading) {}), 35_000, 0, 0, energy.Doubts{}},
		{"reads 0 once", steady(func(i int, r *reading) {
			if i == 4 {
				r.joules = j(0)
			}
		}), 35_000, 40, 0, energy.Doubts{Back: 1, Jumped: 1}},
		{"begins anew", steady(func(i int, r *reading) {
			if i >= 4 {
				r.joules = j(float64(i-4) * 5000)
			}
		}), 35_000, 20, 0, energy.Doubts{Back: 1}},
		{"wraps at 2^32 mJ", steady(func(i int, r *reading) {
			if r.joules = j(4_294_000 + float64(i)*5000 - 18_000); r.joules.V > 4_294_967.295 {
				r.joules.V -= 4_294_967.296
			}
		}), 35_000, 20, 0, energy.Doubts{Back: 1}},
		{"jumps", steady(func(i int, r *reading) {
			if i >= 4 {
				r.joules.V += 4_294_967
			}
		}), 35_000, 20, 0, energy.Doubts{Jumped: 1}},
		{"is missing once", steady(func(i int, r *reading) {
			if i == 4 {
				r.joules = none
			}
		}), 35_000, 0, 0, energy.Doubts{}},
		{"power is missing", steady(func(_ int, r *reading) { r.watts = none }), 35_000, 0, 0, energy.Doubts{}},
		{"power is missing and it reads 0 once", steady(func(i int, r *reading) {
			if r.watts = none; i == 4 {
				r.joules = j(0)
			}
		}), 25_000, 0, 40, energy.Doubts{Back: 1, Jumped: 1}},
		{"power alone", steady(func(_ int, r *reading) { r.joules = none }), 35_000, 140, 0, energy.Doubts{}},
		{"power alone, missing twice", steady(func(i int, r *reading) {
			if r.joules = none; i == 4 || i == 5 {
				r.watts = none
			}
		}), 25_000, 100, 40, energy.Doubts{}},
		{"neither", steady(func(_ int, r *reading) { r.joules, r.watts = none, none }), 0, 0, 140, energy.Doubts{}},
		{"stands still", steady(func(_ int, r *reading) { r.joules = j(5) }), 35_000, 140, 0, energy.Doubts{Stopped: 1}},
		{"is in J for mJ", steady(func(i int, r *reading) { r.joules.V /= 1000 }), 35_000, 140, 0, energy.Doubts{Stopped: 7}},
		{"a hole", []reading{{0, w(300), none}, {30, w(300), none}, {3000, w(300), none}, {3030, w(300), none}}, 30*300 + 90*300 + 30*300, 150, 2970 - 90, energy.Doubts{}},
		{"a hole with a counter", []reading{{0, w(300), j(1)}, {30, w(300), j(9001)}, {3000, w(300), j(900_001)}, {3030, w(300), j(909_001)}}, 909_000, 0, 0, energy.Doubts{}},
	} {
		joules, byPower, unknown, doubts := read(t, c.list)
		require.InDelta(t, c.joules, joules, 1e-6, c.name)
		require.InDelta(t, c.byPower, byPower, 1e-6, c.name)
		require.InDelta(t, c.unknown, unknown, 1e-6, c.name)
		require.Equal(t, c.doubts, doubts, c.name)
	}
}

// An agent that samples faster than the driver renews its counter gets the same value several times.
func TestARepeatedCounter(t *testing.T) {
	mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Second}
	var list []reading
	for i := range 300 {
		list = append(list, reading{i, traces.Some(400.0), traces.Some(float64(i/30*30) * 400)})
	}
	joules, byPower, _, doubts := read(t, list, mode.Event(day, "n"))
	require.InDelta(t, 300*400, joules, 1e-6)
	require.InDelta(t, 30, byPower, 1e-6, "behind the last change")
	require.Zero(t, doubts)
}

// What join gives a job that had a GPU all the time, what a review says of the GPU, and the sum of the parts are the same energy, on any series:
// samples of agents and of others, windows, holes, counters that begin anew, jump, wrap, are missing.
func TestOneEnergy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, events := anySeries(t)
		summary, err := review.Of(review.Source{Events: events, Telemetry: func() iter.Seq2[*traces.Telemetry, error] { return iterate(list) }})
		require.NoError(t, err)
		j, err := join.New(day, func(yield func(*traces.Job, error) bool) { yield(&traces.Job{ID: 1}, nil) }, events)
		require.NoError(t, err)
		stands := energy.NewStretches(events)
		sum, seconds, known := 0.0, 0.0, false
		m := energy.Meter[int]{Settle: func(p energy.Part[int]) {
			sum, seconds, known = sum+p.Joules.V, seconds+p.Seconds, known || p.Joules.OK
			require.False(t, p.Joules.V < 0)
		}}
		first, last := model.Never, -model.Never
		for i := range list {
			require.NoError(t, j.Row(&list[i]))
			s := stands.Of(&list[i])
			m.Row(s, i, &list[i])
			first, last = min(first, s.From, s.Read), max(last, s.To)
		}
		m.End()
		s := &summary.Series[0]
		require.Equal(t, known, s.Energy.OK)
		require.InEpsilon(t, 1+sum, 1+s.Energy.V, 1e-9)
		require.InDelta(t, last.Sub(first).Seconds(), seconds, 1e-6, "each instant is in one part")
		if job := j.Job(1, 0); job != nil {
			require.Equal(t, known, job.Joules().OK)
			require.InEpsilon(t, 1+sum, 1+job.Joules().V, 1e-9)
		} else {
			require.False(t, known)
		}
	})
}

func iterate(list []traces.Telemetry) iter.Seq2[*traces.Telemetry, error] {
	return func(yield func(*traces.Telemetry, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
	}
}

func anySeries(t *rapid.T) (list []traces.Telemetry, events []traces.Event) {
	every := rapid.SampledFrom([]int{1, 15, 60}).Draw(t, "every")
	kind := rapid.SampledFrom([]string{"agent", "window", "other"}).Draw(t, "kind")
	if kind == "agent" {
		mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Duration(every) * model.Second}
		events = append(events, mode.Event(day, "n"))
	}
	now, counter := 0, rapid.Int64Range(0, 1<<50).Draw(t, "counter")
	for range rapid.IntRange(1, 60).Draw(t, "rows") {
		watts := rapid.Float64Range(0, 700).Draw(t, "watts")
		row := rows("n", []reading{{at: now, watts: traces.Some(watts)}})[0]
		row.Energy = traces.Some(counter)
		step := every
		switch rapid.IntRange(0, 20).Draw(t, "event") {
		case 0:
			row.Energy.V = 0
		case 1:
			counter = 0
		case 2:
			counter += rapid.Int64Range(0, 1<<40).Draw(t, "jump")
		case 3:
			row.Energy = traces.Opt[int64]{}
		case 4:
			row.Power = traces.Opt[float64]{}
		case 5:
			step += every * rapid.IntRange(1, 100).Draw(t, "hole")
		}
		counter += int64(watts*1000) * int64(step)
		if kind == "window" {
			row.Stat, row.Width = "mean", traces.Some(model.Duration(every)*model.Second)
		}
		list = append(list, row)
		now += step
	}
	return list, events
}

// FuzzMeter hands a meter rows in any order of time and with any values.
func FuzzMeter(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := 0.0
		m := energy.Meter[int]{Settle: func(p energy.Part[int]) {
			require.Positive(t, p.Seconds)
			require.False(t, p.Joules.V < 0 || p.Joules.V != p.Joules.V)
			sum += p.Joules.V
		}}
		stands := energy.NewStretches(nil)
		now := day
		for i := 0; i+3 < len(b); i += 4 {
			now = now.Add(model.Duration(b[i]) * model.Duration(b[i]) * 10_000)
			row := traces.Telemetry{Node: "n", GPU: traces.Opt[int32]{OK: b[i+3]&1 == 0}, Time: now, Power: traces.Opt[float64]{V: float64(b[i+1]) * 3, OK: b[i+3]&2 == 0},
				Energy: traces.Opt[int64]{V: int64(b[i+2]) << (b[i+3] >> 3), OK: b[i+3]&4 == 0}}
			m.Row(stands.Of(&row), i, &row)
		}
		m.End()
		require.False(t, sum != sum)
	})
}
