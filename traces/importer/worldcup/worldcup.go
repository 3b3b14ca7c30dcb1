// Package worldcup reads the requests to the web site of the football World Cup of
// 1998, counted by minute: a CSV with the columns period and count. It knows nothing
// of what a replay makes of a count.
//
// A row is a sample of the load table: count arrivals in the time from period on. Times
// have no zone and are in UTC, as those of the log that was counted. The width of a
// sample is the smallest step between two rows, most often a minute; minutes that the
// file lacks are not made up.
//
// Source of the log: M. Arlitt and T. Jin, 1998 World Cup Web Site Access Logs, Internet
// Traffic Archive.
package worldcup

import (
	"strings"

	"orrery/traces"
	"orrery/traces/importer/format"
)

// Counts is the format.
var Counts = &format.Format{
	Name: "worldcup98", Version: 2, Files: 1, Zoned: true, Served: true, What: "requests of the World Cup 1998 by period (period,count)",
	Sniff: sniff, Scan: scan,
}

var columns = []string{columnPeriod: "period", columnCount: "count"}

const (
	columnPeriod = iota
	columnCount
)

// sniff wants the two columns and a first row of 1998: counts by period of other sites
// have the same names.
func sniff(h format.Head) format.Match {
	m := format.HeaderMatch(h, ',', columns...)
	if m.Err != nil {
		return m
	}
	if lines := format.Lines(h); len(lines) > 1 && !strings.Contains(lines[1], "1998-") {
		m.Percent, m.Err = 90, &traces.DataError{Line: 2, Found: format.Excerpt(lines[1]), Expected: "a period of 1998",
			Mend: "for counts of another site name the columns: --table load --column time=period:text --column arrivals=count"}
	}
	return m
}

func scan(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	t := format.NewTable(f, files, format.Layout{Comma: ',', Columns: columns})
	t.Clock.Distinct = true
	t.Clock.Zone = t.Log.Account.OrUTC(o.Zone, "times of the log are; --time-zone gives another")
	service := t.Log.Account.ServiceOr(o.Service, "web")
	t.Row = func(c *format.Cells, s *format.Sink) error {
		l := traces.Load{Service: service, Time: c.When(columnPeriod, &t.Clock), Width: s.Step(), Arrivals: c.Number(columnCount)}
		if c.Err != nil {
			return c.Err
		}
		return s.Load(c.Place(""), &l, "")
	}
	return t.Scan()
}
