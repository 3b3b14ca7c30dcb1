// Package failure reads logs of failures: the outages of LANL's clusters, the Failure Trace
// Archive of Grid'5000, the GPUs of Titan. It knows nothing of what a replay makes of an
// event.
//
// LANL: 26 columns, one row for each outage with the instants of its beginning and of
// the repair as m/d/yyyy H:MM, local without a zone. A row is two events of its node,
// SYSTEM-NODE: down and up. One that was repaired before it began is dropped.
//
// Grid'5000: event_trace.tab, columns between tabs and blanks. An interval of type 0 is an
// outage, two events; one of type 1 is the time between and is dropped as available. Unavailable includes planned
// absence.
//
// Titan: gc_full.csv, one row for each GPU and place. A GPU that left for a double bit error or
// fell off the bus is the event degraded of its node at the time when it left; others are dropped as no-failure,
// for they left for no failure or were still there.
//
// Sources: https://www.usenix.org/cfdr-data (LA-UR-05-7318), http://fta.scem.westernsydney.edu.au,
// https://github.com/olcf/TitanGPULife.
package failure

import (
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

const (
	lanlSystem = iota
	lanlNode
	lanlStart
	lanlEnd
)

var lanlColumns = []string{lanlSystem: "System", lanlNode: "nodenum", lanlStart: "Prob Started", lanlEnd: "Prob Fixed"}

// LANL is the format of LANL's outages.
var LANL = format.Spec{
	Format: format.Format{Name: "lanl", Version: 2, Zoned: true, What: "outages of LANL's clusters (LA-UR-05-7318)"},
	Layout: format.Layout{Comma: ',', Columns: lanlColumns},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		node := c.Text(lanlSystem) + "-" + c.Text(lanlNode)
		begin, end := lanlTime(c, lanlStart, &t.Later), lanlTime(c, lanlEnd, &t.Later)
		c.Decide(traces.Opt[model.Duration]{}, &begin, &end)
		down, up := begin.At().V, end.At().V
		if c.Err != nil {
			return c.Err
		}
		return outage(c, s, node, down, up)
	},
}.Build()

// lanlTime reads 6/21/2005 10:54.
func lanlTime(c *format.Cells, k int, clock *format.Clock) format.Moment {
	wall, err := time.Parse("1/2/2006 15:04", c.Raw(k))
	if err != nil {
		c.Fail(k, "a date and time such as 6/21/2005 10:54")
		return format.Moment{}
	}
	at, _, needZone, _ := clock.Moment(wall.Format("2006-01-02 15:04:05"))
	if needZone && c.Err == nil {
		c.Err = format.Whole(c.Wrong(c.At[k], format.NeedsZone, "name the zone of the file with --time-zone, for example US/Mountain"))
	}
	return at
}

// outage is two events of a node.
func outage(c *format.Cells, s *format.Sink, node string, down, up model.Time) error {
	drop := ""
	if up < down {
		drop = "up-before-down"
	}
	place := c.Place(node)
	if err := s.Event(place, &traces.Event{Time: down, Kind: "down", Subject: node}, drop); err != nil {
		return err
	}
	place.Repaired = nil // they are of the row
	return s.Event(place, &traces.Event{Time: up, Kind: "up", Subject: node}, drop)
}

// FTA is the format of the Failure Trace Archive.
var FTA = &format.Format{
	Name: "fta", Version: 1, Files: 1, What: "events of the Failure Trace Archive, as of Grid'5000 (event_trace.tab)",
	Sniff: func(h format.Head) format.Match {
		for n, line := range format.Lines(h) {
			if strings.HasPrefix(line, "#") {
				if n == 0 && !strings.Contains(line, "event_start_time") {
					return format.No(5+35*strings.Count(line, "_id")/2, 1, format.Excerpt(line), "the table of events of the Failure Trace Archive (event_trace.tab)", "name that table: this one describes what the events are of")
				}
				continue
			}
			if f := strings.Fields(line); len(f) < 8 || strings.Trim(f[6]+f[7], "0123456789") != "" || f[5] != "0" && f[5] != "1" {
				return format.No(0, int64(n)+1, format.Excerpt(line), "9 columns of the Failure Trace Archive", "name another file")
			}
			return format.Match{Percent: 100}
		}
		return format.No(0, 1, "no row", "9 columns of the Failure Trace Archive", "name another file")
	},
	Scan: scanFTA,
}

var ftaColumns = []string{"event_id", "component_id", "node_id", "platform_id", "node_name", "event_type", "event_start_time", "event_stop_time", "event_end_reason"}

func scanFTA(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files}
	l.Read = func(s *format.Sink) error {
		row, err := format.NewRow(files[0], ftaColumns, ftaColumns, "")
		if err != nil {
			return err
		}
		return format.EachLine(files[0], func(n int64, text string) error {
			if strings.HasPrefix(text, "#") || strings.TrimSpace(text) == "" {
				return nil
			}
			fields := strings.Fields(text)
			if len(fields) < 8 {
				return format.LineError(files[0], n, format.Excerpt(text), "9 columns", "correct the line, or fetch the file again if it was cut short")
			}
			row.Next(n, fields)
			c := format.CellsOf(row)
			kind := c.Word(5, "0", "down", "1", "available")
			down, up := c.Instant(6, model.Second), c.Instant(7, model.Second)
			node := c.Text(4)
			if c.Err != nil {
				return c.Err
			}
			if kind == "available" {
				return s.Event(c.Place(node), &traces.Event{}, "available")
			}
			return outage(c, s, node, down, up)
		})
	}
	return l.Scan()
}

// Titan is the format of the lives of Titan's GPUs.
var Titan = format.Spec{
	Format: format.Format{Name: "titan-gpus", Version: 1, Zoned: true, What: "lives of the GPUs of Titan (gc_full.csv)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"SN", "location", "remove", "event", "insert?", "duration?", "out?"}},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		t.Clock.Unordered = true
		node := c.Text(1)
		at := c.OptWhen(2, &t.Clock)
		drop := ""
		if c.Raw(3) == "" || !at.OK {
			drop = "no-failure"
		}
		if c.Err != nil {
			return c.Err
		}
		return s.Event(c.Place(c.Raw(0)), &traces.Event{Time: at.V, Kind: "degraded", Subject: node}, drop)
	},
}.Build()
