package format

import (
	"time"

	"orrery/scheduler/model"
)

// Table imports files of one layout, row by row.
type Table struct {
	Layout Layout
	Log    Log
	// Clock reads the instants that are written as text, one in a row. Later reads further ones of the row,
	// which are in no order.
	Clock, Later Clock
	// Service is what a file of several things is read for, Unit that of its times; both are
	// for the format to use.
	Service string
	Unit    model.Duration
	// Row hands what a row says to the sink.
	Row func(*Cells, *Sink) error
}

// NewTable is a table of the files of a format.
func NewTable(f *Format, files []File, l Layout) *Table {
	return &Table{Layout: l, Log: Log{Format: f, Files: files}}
}

// Scan reads the files through.
func (t *Table) Scan() (Scanned, error) {
	t.Log.Zone = t.Clock.Zone
	t.Later = Clock{Zone: t.Clock.Zone, Unordered: true}
	t.Log.Clocks = append(t.Log.Clocks, &t.Clock)
	t.Log.Read = func(s *Sink) error {
		for _, f := range t.Log.Files {
			err := t.Layout.Rows(f, func(r *Row) error {
				c := Cells{Row: r}
				return t.Row(&c, s)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return t.Log.Scan()
}

// OrUTC is the zone of a format whose times are in UTC unless another was given.
func (a *Account) OrUTC(zone *time.Location, why string) *time.Location {
	if zone != nil {
		return zone
	}
	a.Assume("time zone", "UTC", why)
	return time.UTC
}

// ServiceOr is the name of the service, that of the format unless one was given.
func (a *Account) ServiceOr(given, name string) string {
	if given != "" {
		return given
	}
	a.Assume("load.service", name, "the file names none; --service gives another")
	return name
}
