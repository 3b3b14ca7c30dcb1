package format

import (
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces/localtime"
)

// Clock reads instants that are written as text, one in a row. A log is read twice or more: while it is read for the
// first time the clock learns the order of its texts, by which it decides afterwards, see Decide.
type Clock struct {
	// Zone is that of texts without one. A text without a zone is no instant when it is
	// nil.
	Zone *time.Location
	// Unordered says that texts do not come in the order of time, so that their order says nothing of a local time
	// that occurred twice.
	Unordered bool
	// Distinct says that no two texts are of one instant, as in a series.
	Distinct bool

	zone     localtime.Zone
	order    localtime.Order
	row      int64 // number of the text
	deciding bool
}

// Rules by which instants are mended.
const (
	RuleRounded     = "rounded-to-microsecond"
	RuleAmbiguous   = localtime.RuleAmbiguous
	RuleNonexistent = localtime.RuleSkipped
)

// layouts are the forms of an instant; a fraction of a second may follow the seconds.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02"}

// zoned are those with a zone in the text.
var zoned = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05-0700"}

// InstantForms says what Instant reads.
const InstantForms = "a date and time such as 2006-01-02 15:04:05"

// Decide ends learning: the texts come again, from the first one.
func (c *Clock) Decide() { c.row, c.deciding = 0, true }

// Turn says that the next text is that of row n, for logs whose rows come in another order when they are written.
func (c *Clock) Turn(n int64) { c.row = n - 1 }

// Repeated says whether a text was learned that is a local time that occurred twice.
func (c *Clock) Repeated() bool { return c.order.Repeated() }

// Instant is the µs since 1970 of a text, or not ok; needZone says that it would be
// one if its zone were known. Rules name what was not plain.
func (c *Clock) Instant(text string) (at model.Time, rules []string, needZone, ok bool) {
	r, rules, needZone, ok := c.read(text)
	if !ok {
		return 0, nil, needZone, false
	}
	if r = c.ordered(r); r.How != localtime.Plain {
		rules = append(rules, r.How.Rule())
	}
	return r.Instant(), rules, false, true
}

// ordered is what the order of the texts leaves of a reading.
func (c *Clock) ordered(r localtime.Reading) localtime.Reading {
	c.row++
	switch {
	case c.Unordered:
		return r
	case c.deciding:
		return c.order.Next(c.row, r)
	}
	c.order.Distinct = c.Distinct
	c.order.Learn(c.row, r)
	return c.order.Next(c.row, r)
}

// read says which instants a text may be.
func (c *Clock) read(text string) (r localtime.Reading, rules []string, needZone, ok bool) {
	text = strings.TrimSpace(text)
	wall, local := plainInstant(text)
	if !local {
		for _, layout := range zoned {
			if t, err := time.Parse(layout, text); err == nil {
				return localtime.Known(model.Time(t.UnixMicro())), rounded(t), false, true
			}
		}
		for _, layout := range layouts {
			var err error
			if wall, err = time.Parse(layout, text); err == nil {
				local = true
				break
			}
		}
	}
	if !local || c.Zone == nil {
		return r, nil, local, false
	}
	if !c.zone.Is(c.Zone) {
		c.zone = localtime.In(c.Zone)
	}
	return c.zone.Read(wall), rounded(wall), false, true
}

func rounded(t time.Time) []string {
	if t.Nanosecond()%1000 != 0 {
		return []string{RuleRounded}
	}
	return nil
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

// At is the instant in a field; one without a zone needs Clock.Zone.
func (c *Clock) At(r *Row, column int) (model.Time, error) {
	at, rules, needZone, ok := c.Instant(r.Fields[column])
	if !ok {
		return 0, noInstant(r, column, needZone)
	}
	for _, rule := range rules {
		r.Repair(rule)
	}
	return at, nil
}

func noInstant(r *Row, column int, needZone bool) error {
	if needZone {
		return Whole(r.Wrong(column, NeedsZone, MendZone))
	}
	return r.Wrong(column, InstantForms, "correct the value, or leave the row out")
}

// What an error about a local time without a zone expects, and how it is mended.
const (
	NeedsZone = "an instant with its zone"
	MendZone  = "name the zone of the file with --time-zone, for example UTC or Europe/Berlin"
)
