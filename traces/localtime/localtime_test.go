package localtime

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func zone(t require.TestingT, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

// wall is what a clock in the zone shows, as a time in UTC.
func wall(at model.Time, in *time.Location) time.Time {
	t := time.UnixMicro(int64(at)).In(in)
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	return time.Date(y, mo, d, h, mi, s, t.Nanosecond(), time.UTC)
}

func micro(t require.TestingT, text string) model.Time {
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return model.Time(at.UnixMicro())
}

// Local times by zone, against instants worked out by hand from the rules of the zones.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		zone, local string
		how         How
		want        []string
	}{
		{"UTC", "2026-03-29 02:30:00", Plain, []string{"2026-03-29T02:30:00Z"}},
		{"Europe/Berlin", "2026-07-01 12:00:00", Plain, []string{"2026-07-01T10:00:00Z"}},
		{"Europe/Berlin", "2026-10-25 01:59:59", Plain, []string{"2026-10-24T23:59:59Z"}},
		{"Europe/Berlin", "2026-10-25 02:00:00", Ambiguous, []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"}},
		{"Europe/Berlin", "2026-10-25 02:59:59", Ambiguous, []string{"2026-10-25T00:59:59Z", "2026-10-25T01:59:59Z"}},
		{"Europe/Berlin", "2026-10-25 03:00:00", Plain, []string{"2026-10-25T02:00:00Z"}},
		{"Europe/Berlin", "2026-03-29 01:59:59", Plain, []string{"2026-03-29T00:59:59Z"}},
		{"Europe/Berlin", "2026-03-29 02:30:00", Skipped, []string{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}},
		{"Europe/Berlin", "2026-03-29 03:00:00", Plain, []string{"2026-03-29T01:00:00Z"}},
		{"Australia/Lord_Howe", "2023-04-02 01:45:00", Ambiguous, []string{"2023-04-01T14:45:00Z", "2023-04-01T15:15:00Z"}}, // half an hour
		{"Australia/Lord_Howe", "2023-10-01 02:15:00", Skipped, []string{"2023-09-30T15:15:00Z", "2023-09-30T15:45:00Z"}},
		{"America/New_York", "2026-11-01 01:00:00", Ambiguous, []string{"2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"}},
		{"Antarctica/Troll", "2026-10-25 01:30:00", Ambiguous, []string{"2026-10-24T23:30:00Z", "2026-10-25T01:30:00Z"}}, // two hours
		{"Pacific/Apia", "2011-12-30 12:00:00", Skipped, []string{"2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"}},       // the whole day
		{"Asia/Kathmandu", "2026-10-25 02:30:00", Plain, []string{"2026-10-24T20:45:00Z"}},
		{"Europe/London", "1947-05-11 02:30:00", Plain, []string{"1947-05-11T00:30:00Z"}}, // double summer time
		{"Europe/London", "1947-08-10 02:30:00", Ambiguous, []string{"1947-08-10T00:30:00Z", "1947-08-10T01:30:00Z"}},
		// the last day of a leap year far ahead, and what is around it
		{"Europe/Berlin", "2040-12-30 12:00:00", Plain, []string{"2040-12-30T11:00:00Z"}},
		{"Europe/Berlin", "2040-12-31 00:59:59", Plain, []string{"2040-12-30T23:59:59Z"}},
		{"Europe/Berlin", "2040-12-31 12:00:00", Plain, []string{"2040-12-31T11:00:00Z"}},
		{"Europe/Berlin", "2041-01-01 00:30:00", Plain, []string{"2040-12-31T23:30:00Z"}},
		{"Europe/Berlin", "2621-01-01 01:00:00", Plain, []string{"2621-01-01T00:00:00Z"}},
		{"Australia/Lord_Howe", "2096-12-31 23:30:00", Plain, []string{"2096-12-31T12:30:00Z"}},
		{"Europe/Berlin", "2044-10-30 02:30:00", Ambiguous, []string{"2044-10-30T00:30:00Z", "2044-10-30T01:30:00Z"}},
	} {
		z := In(zone(t, c.zone))
		local, err := time.Parse("2006-01-02 15:04:05", c.local)
		require.NoError(t, err)
		for range 2 { // once anew, once with what was kept of the zone
			r := z.Read(local)
			var got []string
			for _, at := range r.At[:r.N] {
				got = append(got, time.UnixMicro(int64(at)).UTC().Format(time.RFC3339))
			}
			require.Equal(t, c.how, r.How, "%s %s", c.zone, c.local)
			require.Equal(t, c.want, got, "%s %s", c.zone, c.local)
		}
	}
	var z Zone
	r := z.Read(time.Date(2026, 10, 25, 2, 30, 0, 1999, time.UTC))
	require.Equal(t, micro(t, "2026-10-25T02:30:00Z")+1, r.Instant(), "the zero value is UTC; below a µs is cut")
}

// zones have one offset, changes of half an hour, an hour, two hours and a day, changes at midnight and twice within days.
var zones = []string{"UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "America/New_York", "America/Caracas", "America/Goose_Bay", "Australia/Lord_Howe", "Antarctica/Troll", "Antarctica/Casey",
	"Africa/Casablanca", "Africa/Cairo", "Asia/Kathmandu", "Asia/Gaza", "Asia/Manila", "Pacific/Apia", "Pacific/Kwajalein", "Europe/Moscow", "America/Juneau"}

// aroundChange draws instants around a change of the zone's clocks, ascending.
func aroundChange(t *rapid.T, in *time.Location, n int) []model.Time {
	at := time.Unix(rapid.Int64Range(-3e9, 2e10).Draw(t, "about"), 0).In(in) // up to 2603, far beyond the tables of zones
	if _, end := at.ZoneBounds(); !end.IsZero() {
		at = end
	}
	span := rapid.SampledFrom([]int64{600, 3 * 3600, 30 * 3600}).Draw(t, "span")
	out := make([]model.Time, n)
	for i := range out {
		out[i] = model.Time(at.Unix()+rapid.Int64Range(-span, span).Draw(t, "instant")) * model.Time(model.Second)
	}
	slices.Sort(out)
	return out
}

// held fails unless an instant is the true one or is counted as ambiguous.
func held(t *rapid.T, in *time.Location, r *Reading, truth model.Time) {
	if r.How == Ambiguous {
		return
	}
	require.NotEqual(t, Skipped, r.How, "%v occurred", wall(truth, in))
	require.Equal(t, 1, r.N)
	require.Equal(t, time.UnixMicro(int64(truth)).UTC(), time.UnixMicro(int64(r.Instant())).UTC(), "%v in %v by %d", wall(truth, in), in, r.How)
}

// Any instant is among the readings of its local time, and every reading shows it.
func TestReadingsShowTheLocalTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		z := In(in)
		for _, at := range aroundChange(t, in, 3) {
			r := z.Read(wall(at, in))
			require.Contains(t, r.At[:r.N], at)
			require.True(t, slices.IsSorted(r.At[:r.N]))
			for _, other := range r.At[:r.N] {
				require.Equal(t, wall(at, in), wall(other, in))
			}
		}
	})
}

// Instants of a row, written in local time with or without the elapsed time, and read again, are the true ones or are
// counted as ambiguous.
func TestRowsAreNeverSilentlyWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		z := In(in)
		truth := aroundChange(t, in, rapid.IntRange(1, 6).Draw(t, "instants"))
		chain := make([]Link, len(truth))
		for i, at := range truth {
			chain[i].Reading = z.Read(wall(at, in))
			if chain[i].Timed = i > 0 && rapid.Bool().Draw(t, "timed"); chain[i].Timed {
				chain[i].Elapsed = at.Sub(truth[i-1])
			}
		}
		Narrow(chain)
		for i := range chain {
			held(t, in, &chain[i].Reading, truth[i])
		}
		Settle(chain)
		for i := range chain {
			held(t, in, &chain[i].Reading, truth[i])
			if i > 0 {
				require.GreaterOrEqual(t, chain[i].Instant(), chain[i-1].Instant(), "what is taken goes with the rest of the row")
			}
		}
	})
}

// The times of a log in order, written in local time and read again, are the true ones or are counted as ambiguous; so
// are those of a log out of order if its order is broken for all to see.
func TestOrderIsNeverSilentlyWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		z := In(in)
		truth := aroundChange(t, in, rapid.IntRange(1, 12).Draw(t, "instants"))
		distinct := rapid.Bool().Draw(t, "distinct")
		if distinct {
			truth = slices.Compact(truth)
		}
		order := Order{Distinct: distinct}
		var rows [][]Link
		for i, at := range truth {
			end := at.Add(model.Duration(rapid.IntRange(0, 7200).Draw(t, "run")) * model.Second)
			row := []Link{{Reading: z.Read(wall(at, in))}, {Reading: z.Read(wall(end, in)), Elapsed: end.Sub(at), Timed: rapid.Bool().Draw(t, "timed")}}
			Narrow(row)
			order.Learn(int64(i), row[0].Reading)
			rows = append(rows, row)
		}
		for i, row := range rows {
			row[0].Reading = order.Next(int64(i), row[0].Reading)
			Narrow(row)
			Settle(row)
			held(t, in, &row[0].Reading, truth[i])
		}
	})
}

// A log in which clocks were set back after the fourth row.
func TestSeries(t *testing.T) {
	berlin := In(zone(t, "Europe/Berlin"))
	read := func(clocks ...string) (times []Reading) {
		for _, c := range clocks {
			at, err := time.Parse("2006-01-02 15:04", "2026-10-25 "+c)
			require.NoError(t, err)
			times = append(times, berlin.Read(at))
		}
		return times
	}
	show := func(times []Reading) (out []string) {
		for _, r := range times {
			out = append(out, time.UnixMicro(int64(r.Instant())).UTC().Format("15:04")+" "+r.How.Rule())
		}
		return out
	}
	times := read("01:45", "02:05", "02:25", "02:45", "02:05", "02:25", "03:05")
	Series(times, true)
	require.Equal(t, []string{"23:45 ", "00:05 " + RuleByOrder, "00:25 " + RuleByOrder, "00:45 " + RuleByOrder, "01:05 " + RuleByOrder, "01:25 " + RuleByOrder, "02:05 "}, show(times))

	times = read("01:30", "02:30", "02:30", "03:30")
	Series(times, true)
	require.Equal(t, []string{"23:30 ", "00:30 " + RuleByOrder, "01:30 " + RuleByOrder, "02:30 "}, show(times), "no two rows of a series are of one instant")

	times = read("01:30", "02:30", "02:30", "03:30")
	Series(times, false)
	require.Equal(t, []string{"23:30 ", "00:30 " + RuleAmbiguous, "00:30 " + RuleAmbiguous, "02:30 "}, show(times))

	times = read("01:45", "02:05", "02:25", "03:05")
	Series(times, true)
	require.Equal(t, []string{"23:45 ", "00:05 " + RuleAmbiguous, "00:25 " + RuleAmbiguous, "02:05 "}, show(times), "no row says when clocks were set back")

	for name, broken := range map[string][]Reading{"two falls": read("02:40", "02:10", "02:05"), "elsewhere": read("01:45", "02:40", "02:10", "04:00", "03:30")} {
		Series(broken, false)
		for _, r := range broken {
			require.NotEqual(t, ByOrder, r.How, name)
		}
	}
}

// Rows of a job, as accounting writes them: submission, start, end.
func TestNarrow(t *testing.T) {
	berlin := In(zone(t, "Europe/Berlin"))
	for _, c := range []struct {
		submit, start, end string
		elapsed            model.Duration // below 0 for none
		want               string
	}{
		{"01:10", "02:40", "02:15", -1, "23:10 00:40 01:15"},                  // it ended after it began
		{"02:40", "02:20", "03:20", model.Hour, "00:40 01:20 02:20"},          // it began after it was submitted
		{"01:00", "01:40", "02:40", 2 * model.Hour, "23:00 23:40 01:40"},      // it ran for two hours
		{"01:00", "01:40", "02:40", model.Hour, "23:00 23:40 00:40"},          // or for one
		{"01:00", "02:20", "02:50", 30 * model.Minute, "23:00 00:20? 00:50?"}, // in either hour
		{"01:00", "02:20", "02:50", 90 * model.Minute, "23:00 00:20 01:50"},
		{"01:00", "01:40", "02:50", 90 * model.Minute, "23:00 23:40 01:50"}, // suspended for 40 minutes: 70 are too few
		{"02:30", "01:10", "02:10", 2 * model.Hour, "00:30? 23:10 01:10"},   // began before it was submitted: the elapsed time alone counts
		{"02:30", "01:10", "03:10", -1, "00:30? 23:10 02:10"},               // nothing goes together
	} {
		chain := make([]Link, 3)
		for i, text := range []string{c.submit, c.start, c.end} {
			at, err := time.Parse("2006-01-02 15:04", "2026-10-25 "+text)
			require.NoError(t, err)
			chain[i].Reading = berlin.Read(at)
		}
		chain[2].Elapsed, chain[2].Timed = c.elapsed, c.elapsed >= 0
		Narrow(chain)
		Settle(chain)
		got := ""
		for i := range chain {
			got += " " + time.UnixMicro(int64(chain[i].Instant())).UTC().Format("15:04")
			if chain[i].How == Ambiguous {
				got += "?"
			}
		}
		require.Equal(t, " "+c.want, got, "%+v", c)
	}
}
