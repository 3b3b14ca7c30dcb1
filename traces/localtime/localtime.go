// Package localtime finds the instants that local times of logs mean. When clocks are set back, the local
// times of an hour occur twice; when they are set forward, those of an hour never occur. A Zone says which
// instants a local time may be, Narrow keeps those that the other times of its row allow, and Order those that
// the order of the log allows. What neither decides is counted as ambiguous. It knows no files and no formats.
package localtime

import (
	"time"

	"orrery/scheduler/model"
)

// How says how an instant was found.
type How uint8

// Ways to find an instant.
const (
	Plain     How = iota // the local time is of one instant, or the text names its zone
	ByRow                // it occurred twice, and the other times of the row leave one of them
	ByOrder              // it occurred twice, and the order of the log leaves one of them
	Ambiguous            // it occurred twice, and nothing says which is meant: the first is taken
	Skipped              // it never occurred, since clocks were set forward: moved forward by as much
)

// Rules under which imports count what was not plain.
const (
	RuleByRow     = "repeated-local-time-by-row"
	RuleByOrder   = "repeated-local-time-by-order"
	RuleAmbiguous = "ambiguous-local-time"
	RuleSkipped   = "nonexistent-local-time"
)

// Rule is the rule under which an import counts it, "" for Plain.
func (h How) Rule() string {
	return [...]string{"", RuleByRow, RuleByOrder, RuleAmbiguous, RuleSkipped}[h]
}

// mostReadings is how often one local time can occur: three times where clocks are set back twice within hours.
const mostReadings = 4

// Reading is what a local time may mean: N instants, in µs since 1970 and ascending. With N = 1 it is known.
type Reading struct {
	At  [mostReadings]model.Time
	N   int
	How How

	// fold is when clocks were set back between the two readings, 0 where there are not two.
	fold model.Time
}

// Known is a reading of one instant, as of a text that names its zone.
func Known(at model.Time) Reading { return Reading{At: [mostReadings]model.Time{at}, N: 1} }

// Instant is the instant that is meant, or taken: the first of those that occurred, the last of those that were skipped.
func (r *Reading) Instant() model.Time {
	if r.How == Skipped {
		return r.At[r.N-1]
	}
	return r.At[0]
}

func (r *Reading) first() model.Time { return r.At[0] }
func (r *Reading) last() model.Time  { return r.At[r.N-1] }

// keep leaves the instants that ok accepts, if there are any, and says whether that changed it.
func (r *Reading) keep(ok func(model.Time) bool) bool {
	n := 0
	kept := r.At
	for _, at := range r.At[:r.N] {
		if ok(at) {
			kept[n] = at
			n++
		}
	}
	if n == 0 || n == r.N {
		return false
	}
	r.At, r.N = kept, n
	return true
}

// Zone reads local times of one zone. The zero value reads UTC.
type Zone struct {
	of *time.Location

	// Between these seconds of local time the zone has one offset, in s east of Greenwich.
	from, until, offset int64
}

// In reads local times of a zone, nil for UTC.
func In(zone *time.Location) Zone {
	if zone == nil {
		zone = time.UTC
	}
	return Zone{of: zone}
}

// margin is more than any offset from UTC, in s.
const margin = 26 * 3600

// Read says which instants a local time may be. It is given as a time in UTC that shows the same date and clock. A
// fraction below a µs is left out.
func (z *Zone) Read(wall time.Time) Reading {
	if z.of == nil {
		z.of = time.UTC
	}
	local, fraction := wall.Unix(), model.Time(wall.Nanosecond()/1000)
	instant := func(offset int64) model.Time { return model.Time(local-offset)*model.Time(model.Second) + fraction }
	if local >= z.from && local < z.until {
		return Known(instant(z.offset))
	}
	var r Reading
	var skipped [2]model.Time
	var before int64 // offset of the zone up to start
	gap := false
	for t, begin := time.Unix(local-margin, 0).In(z.of), true; ; begin = false {
		start, end := zoneBounds(t)
		if !begin {
			start = t
		}
		_, east := t.Zone()
		offset := int64(east)
		if begin && (end.IsZero() || end.Unix() > local+margin) {
			z.from, z.until, z.offset = bound(start, -1<<40)+margin, bound(end, 1<<40)-margin, offset
			return Known(instant(offset))
		}
		at := local - offset
		if (start.IsZero() || at >= start.Unix()) && (end.IsZero() || at < end.Unix()) && r.N < mostReadings {
			if r.N == 1 {
				r.fold = model.Time(start.Unix()) * model.Time(model.Second)
			}
			r.At[r.N] = instant(offset)
			r.N++
		}
		if !begin && local-before >= start.Unix() && at < start.Unix() {
			skipped, gap = [2]model.Time{instant(offset), instant(before)}, true
		}
		if end.IsZero() || end.Unix() > local+margin {
			break
		}
		t, before = end, offset
	}
	if r.N == 0 && gap {
		r.At[0], r.At[1], r.N, r.How = skipped[0], skipped[1], 2, Skipped
	}
	if r.N > 1 && r.How == Plain {
		r.How = Ambiguous
	}
	if r.N != 2 || r.How == Skipped {
		r.fold = 0
	}
	return r
}

// zoneBounds is since when and until when a zone has the offset that it has at t. Beyond the years that the rules of zones list, the library
// ends each year as well, after 365 days: on the last day of a leap year it gives an end that is past.
func zoneBounds(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = end.AddDate(0, 0, 1)
	}
	return start, end
}

// bound is the second at which a zone changes, or far away if it does not.
func bound(t time.Time, far int64) int64 {
	if t.IsZero() {
		return far
	}
	return t.Unix()
}

// Is says whether it reads local times of that zone.
func (z *Zone) Is(zone *time.Location) bool { return z.of == zone }
