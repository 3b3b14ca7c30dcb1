package format

import (
	"strings"
	"time"

	"orrery/scheduler/model"
)

// Clock reads instants that are written as text.
type Clock struct {
	// Zone is that of texts without one. A text without a zone is no instant when it is
	// nil.
	Zone *time.Location
	// Unordered says that texts do not come in the order of time.
	Unordered bool
	// Distinct says that no two texts are of one instant, as in a series.
	Distinct bool

	last model.Time
	read bool

	// Between these seconds since 1970 the zone has one offset, and no change is near.
	from, until, offset int64
}

// Rules by which instants are mended.
const (
	RuleRounded     = "rounded-to-microsecond"
	RuleAmbiguous   = "ambiguous-local-time"
	RuleNonexistent = "nonexistent-local-time"
)

// layouts are the forms of an instant; a fraction of a second may follow the seconds.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02"}

// zoned are those with a zone in the text.
var zoned = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05-0700"}

// InstantForms says what Instant reads.
const InstantForms = "a date and time such as 2006-01-02 15:04:05"

// Instant is the µs since 1970 of a text, or not ok; needZone says that it would be
// one if its zone were known. Rules name how it was mended: of a local time that
// occurred twice, when clocks were set back, the first is meant, unless the text before
// it was between the two and texts come in order; one that was skipped, when clocks were set forward, is moved by as much.
func (c *Clock) Instant(text string) (at model.Time, rules []string, needZone, ok bool) {
	text = strings.TrimSpace(text)
	if wall, usual := plainInstant(text); usual {
		if c.Zone == nil {
			return 0, nil, true, false
		}
		return c.local(wall)
	}
	for _, layout := range zoned {
		if t, err := time.Parse(layout, text); err == nil {
			return c.micro(t, nil)
		}
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if c.Zone == nil {
			return 0, nil, true, false
		}
		return c.local(t)
	}
	return 0, nil, false, false
}

// plainInstant reads the most usual form, 2006-01-02T15:04:05 or with a blank for the T;
// whatever else is left to package time.
func plainInstant(text string) (wall time.Time, ok bool) {
	if len(text) != len("2006-01-02T15:04:05") || text[10] != 'T' && text[10] != ' ' || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':' {
		return wall, false
	}
	var v [6]int
	for i, part := range [...][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		for _, d := range []byte(text[part[0]:part[1]]) {
			if d < '0' || d > '9' {
				return wall, false
			}
			v[i] = 10*v[i] + int(d-'0')
		}
	}
	wall = time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], 0, time.UTC)
	_, month, day := wall.Date()
	return wall, int(month) == v[1] && day == v[2] && v[3] < 24 && v[4] < 60 && v[5] < 60
}

// local puts a wall clock into the zone.
func (c *Clock) local(wall time.Time) (model.Time, []string, bool, bool) {
	if u := wall.Unix(); u >= c.from && u < c.until {
		return c.micro(wall.Add(-time.Duration(c.offset)*time.Second), nil)
	}
	y, mo, d := wall.Date()
	h, mi, s := wall.Clock()
	t := time.Date(y, mo, d, h, mi, s, wall.Nanosecond(), c.Zone)
	if h2, mi2, s2 := t.Clock(); h != h2 || mi != mi2 || s != s2 {
		return c.micro(t, []string{RuleNonexistent})
	}
	// The same wall clock before and behind a change of the offset.
	first, second := t, t
	start, end := t.ZoneBounds()
	_, offset := t.Zone() // s east of Greenwich
	if !end.IsZero() {
		_, next := end.Zone()
		if u := t.Add(time.Duration(offset-next) * time.Second); !u.Before(end) {
			second = u
		}
	}
	if !start.IsZero() {
		_, before := start.Add(-1).Zone()
		if u := t.Add(time.Duration(offset-before) * time.Second); u.Before(start) {
			first = u
		}
	}
	if first.Equal(second) {
		c.keepZone(start, end, offset)
		return c.micro(t, nil)
	}
	one, two := model.Time(first.UnixMicro()), model.Time(second.UnixMicro())
	if passed := one < c.last || c.Distinct && one == c.last; c.read && passed && c.last <= two && !c.Unordered {
		return c.micro(second, []string{RuleAmbiguous})
	}
	return c.micro(first, []string{RuleAmbiguous})
}

// keepZone keeps the wall clocks between two changes of the offset, but for two days next
// to each.
func (c *Clock) keepZone(start, end time.Time, offset int) {
	const margin, ever = 2 * 86400, 1 << 40
	c.from, c.until, c.offset = -ever, ever, int64(offset)
	if !start.IsZero() {
		c.from = start.Unix() + margin
	}
	if !end.IsZero() {
		c.until = end.Unix() - margin
	}
}

func (c *Clock) micro(t time.Time, rules []string) (model.Time, []string, bool, bool) {
	if t.Nanosecond()%1000 != 0 {
		rules = append(rules, RuleRounded)
	}
	at := model.Time(t.UnixMicro())
	c.last, c.read = at, true
	return at, rules, false, true
}

// Restart forgets which instants were read, for another reading of the file.
func (c *Clock) Restart() { c.last, c.read = 0, false }

// At is the instant in a field; one without a zone needs Clock.Zone.
func (c *Clock) At(r *Row, column int) (model.Time, error) {
	at, rules, needZone, ok := c.Instant(r.Fields[column])
	switch {
	case ok:
		for _, rule := range rules {
			r.Repair(rule)
		}
		return at, nil
	case needZone:
		return 0, Whole(r.Wrong(column, "an instant with its zone", "name the zone of the file with --time-zone of orrery import, for example UTC or Europe/Berlin"))
	}
	return 0, r.Wrong(column, InstantForms, "correct the value, or leave the row out")
}
