// Package steam reads charts of players of games on Steam, as SteamDB exports them: a
// CSV with the column DateTime and one column for each game. It knows nothing of what a
// replay makes of a number of players.
//
// A filled cell is a sample of the load table: so many players of the game (the
// service) from DateTime on. An empty cell is none: the game was not out yet, or it was
// not counted. Times have no zone and are taken as UTC. The width of a sample is the
// smallest step between two rows, most often a day. A chart by the day holds the most
// players of it, and says so nowhere.
package steam

import (
	"strconv"
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// Players is the format.
var Players = &format.Format{
	Name: "steam", Version: 2, Files: 1, Zoned: true, What: "players of games on Steam (DateTime and a column for each game)", Sniff: sniff, Scan: scan,
}

const columnTime = "DateTime"

// sniff wants DateTime in quotation marks, as the export writes it, a date, and whole
// numbers: other tables call a column so, too.
func sniff(h format.Head) format.Match {
	m := format.HeaderMatch(h, ',', columnTime)
	lines := format.Lines(h)
	if m.Err != nil || len(lines) == 0 {
		return m
	}
	other := func(line int64, found string) format.Match {
		return format.Match{Percent: 60, Err: &traces.DataError{Line: line, Found: format.Excerpt(found), Expected: "a chart as SteamDB exports it",
			Mend: "for another table name the columns: --table load --column time=DateTime:text --column concurrent=NAME"}}
	}
	if !strings.HasPrefix(lines[0], `"`+columnTime+`",`) {
		return other(1, lines[0])
	}
	first, odd := 0, 0
	seen := lines[1:min(len(lines), 20)]
	for i, line := range seen {
		if isSample(line) {
			continue
		}
		if odd++; odd == 1 {
			first = i + 1
		}
	}
	if 2*odd > len(seen) { // fewer are rows that cannot be read
		return other(int64(first)+1, lines[first])
	}
	return m
}

// isSample says whether a line is a time and whole numbers.
func isSample(line string) bool {
	cells, err := format.Split(line, ',')
	if err != nil || len(cells) < 2 {
		return false
	}
	for _, c := range cells[1:] {
		if _, err := strconv.ParseUint(c, 10, 63); c != "" && err != nil {
			return false
		}
	}
	return true
}

func scan(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	t := format.NewTable(f, files, format.Layout{Comma: ',', Columns: []string{columnTime}})
	t.Clock.Distinct = true
	a := &t.Log.Account
	t.Clock.Zone = a.OrUTC(o.Zone, "the file names none; --time-zone gives another")
	a.Assume("load.concurrent", "the number of each cell", "the file does not say whether it is the mean or the most of its time")
	t.Row = func(c *format.Cells, s *format.Sink) error {
		at := c.When(0, &t.Clock)
		for i := range c.Fields { // all of a row, or none
			c.Uses(i)
			if i == c.At[0] || c.Empty(i) {
				continue
			}
			if _, err := c.Int(i); err != nil {
				return err
			}
		}
		for i := range c.Fields {
			if c.Err != nil || i == c.At[0] || c.Empty(i) {
				continue
			}
			n, err := c.Int(i)
			if err != nil {
				return err
			}
			l := traces.Load{Service: c.Header[i], Time: at, Width: s.Step(), Concurrent: traces.Some(float64(n))}
			if err := s.Load(c.Place(""), &l, ""); err != nil {
				return err
			}
			c.Repaired = c.Repaired[:0] // they are of the row
		}
		return c.Err
	}
	return t.Scan()
}
