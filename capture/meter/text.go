package meter

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// ptdaemon reads a line like Time,07-12-2024 07:18:53.356,Watts,2366.2,Volts,….
func (r *reader) ptdaemon(line int64, text string) error {
	cells := strings.Split(text, ",")
	if len(cells) < 4 || cells[0] != "Time" || cells[2] != "Watts" {
		return bad(line, "", text, "Time,…,Watts,…")
	}
	return r.reading(line, cells[1], cells[3])
}

// mllogMark begins the entries of a log of MLPerf.
const mllogMark = ":::MLLOG"

// mllog takes the entries power_reading of a log of MLPerf.
func (r *reader) mllog(line int64, text string) error {
	_, body, found := strings.Cut(text, mllogMark)
	if !found || !strings.Contains(body, `"power_reading"`) {
		return nil
	}
	var entry struct {
		TimeMS float64  `json:"time_ms"`
		Value  *float64 `json:"value"`
	}
	if err := json.Unmarshal([]byte(body), &entry); err != nil {
		return bad(line, "", body, "an entry of MLPerf's log")
	}
	if entry.Value == nil {
		r.Left.Add(leftEmpty, "", 1)
		return nil
	}
	if !(entry.TimeMS > 0 && entry.TimeMS < latest/1e3) {
		return bad(line, "time_ms", strconv.FormatFloat(entry.TimeMS, 'g', -1, 64), "ms since 1970")
	}
	return r.add(line, model.Time(entry.TimeMS*1000), *entry.Value)
}

// layout says in which columns of a table the time and the power are.
type layout struct {
	known       bool
	time, watts int
	factor      float64 // W in its unit
}

var powerUnits = []struct {
	word   string
	factor float64
}{{"kilowatt", 1000}, {"milliwatt", 0.001}, {"[kw]", 1000}, {"(kw)", 1000}, {"_kw", 1000}, {"[mw]", 0.001}, {"(mw)", 0.001}, {"_mw", 0.001}}

// head finds the columns in the first line; false where that is one of readings.
func (l *layout) head(cells []string) bool {
	l.time, l.watts, l.factor = -1, -1, 1
	for i, cell := range cells {
		name := strings.ToLower(strings.Trim(strings.TrimSpace(cell), `"`))
		switch {
		case l.time < 0 && (strings.Contains(name, "time") || strings.Contains(name, "date")):
			l.time = i
		case l.watts < 0 && (strings.Contains(name, "watt") || strings.Contains(name, "power") || strings.HasSuffix(name, "[w]") || name == "w" || strings.HasSuffix(name, "_w")):
			l.watts = i
			for _, u := range powerUnits {
				if strings.Contains(name, u.word) {
					l.factor = u.factor
					break
				}
			}
		}
	}
	return l.time >= 0 && l.watts >= 0
}

// csv reads a table with a head that names a column of time and one of power, or one of two columns without a head.
func (r *reader) csv(line int64, text string) error {
	cells := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' || c == '\t' })
	if empty := strings.Count(text, ","); empty+1 != len(cells) && empty > 0 {
		cells = strings.Split(text, ",")
	}
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), `"`)
	}
	if !r.layout.known {
		r.layout.known = true
		if r.layout.head(cells) {
			return nil
		}
		if len(cells) != 2 {
			return bad(line, "", text, "a head with a column of time and one of watts, or two columns: time and watts")
		}
		r.layout = layout{known: true, time: 0, watts: 1, factor: 1}
	}
	l := r.layout
	if max(l.time, l.watts) >= len(cells) {
		return bad(line, "", text, "as many cells as the first line has")
	}
	return r.reading(line, cells[l.time], cells[l.watts])
}

func (r *reader) reading(line int64, when, power string) error {
	factor := 1.0
	if r.layout.known {
		factor = r.layout.factor
	}
	number, unit, _ := strings.Cut(strings.TrimSpace(power), " ")
	switch strings.ToLower(number) {
	case "", "na", "n/a", "[n/a]", "nan", "null", "none", "-":
		r.Left.Add(leftEmpty, "line "+strconv.FormatInt(line, 10), 1)
		return nil
	}
	watts, err := strconv.ParseFloat(strings.TrimSuffix(number, "W"), 64)
	switch strings.ToLower(unit) {
	case "", "w", "watts", "watt":
	case "kw":
		factor = 1000
	default:
		return bad(line, "watts", power, "a number of watts")
	}
	if err != nil {
		return bad(line, "watts", power, "a number of watts")
	}
	at, err := r.instant(when)
	if err != nil {
		return bad(line, "time", when, err.Error())
	}
	return r.add(line, at, float64(watts*factor))
}

// layouts of local times, of ptdaemon, nvidia-smi and ISO 8601.
var localLayouts = []string{"01-02-2006 15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006/01/02 15:04:05", "01/02/2006 15:04:05"}

type wanted string

func (w wanted) Error() string { return string(w) }

const (
	wantedTime  = wanted("µs, ms or s since 1970, or a time like 2026-07-03T22:11:09.763Z, 2026-07-03 22:11:09 or 07-03-2026 22:11:09.763")
	wantedStart = wanted("a time since 1970; a clock that begins at 0 needs --meter-start FILE")
)

const (
	earliest = 946_684_800e6 // µs: 2000
	latest   = 4_102_444_800e6
)

// instant reads a time.
func (r *reader) instant(text string) (model.Time, error) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && float64(n) >= earliest && float64(n) < latest {
		return model.Time(n), nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		for _, unit := range []float64{1, 1e3, 1e6} { // µs, ms, s
			if us := float64(v * unit); us >= earliest && us < latest {
				return model.Time(math.Round(us)), nil
			}
		}
		if !(v >= 0 && v < 1e9) {
			return 0, wantedTime
		}
		if !r.o.Start.OK {
			return 0, wantedStart
		}
		return r.o.Start.V.Add(model.Duration(math.Round(float64(v * 1e6)))), nil // s
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return bounded(t)
	}
	zone := r.o.Zone
	if zone == nil {
		zone = time.UTC
	}
	for _, l := range localLayouts {
		if t, err := time.ParseInLocation(l, text, zone); err == nil {
			return bounded(t)
		}
	}
	return 0, wantedTime
}

func bounded(t time.Time) (model.Time, error) {
	if us := t.UnixMicro(); float64(us) >= earliest && float64(us) < latest {
		return model.Time(us), nil
	}
	return 0, wantedTime
}

func bad(line int64, column, found, expected string) error {
	return &traces.DataError{Line: line, Column: column, Found: strconv.Quote(found[:min(len(found), 80)]), Expected: expected}
}
