package format

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Demand imports a delimited file whose rows are samples of the load table, in the
// order of their instants. A format says how an instant and the samples of a row are
// read.
type Demand struct {
	Format *Format
	File   File
	// Columns are the names of those that must be there; Row.At says where they are.
	Columns []string
	// Instant is that of a row, µs since 1970.
	Instant func(*Row) (model.Time, error)
	// Clock reads the instants.
	Clock Clock
	// Samples appends those of a row, which begin at its instant; step is the smallest
	// one between two rows of the file, 0 when there are not two.
	Samples func(r *Row, at model.Time, step model.Duration, out []traces.Load) ([]traces.Load, error)
	Account Account

	first, last model.Time
	step        model.Duration
	rows        int64
	unsorted    string // the first row out of order, "" when there is none
}

// Scan reads the file through.
func (d *Demand) Scan() error {
	var out []traces.Load
	d.restart()
	err := Rows(d.File, ',', d.Columns, func(r *Row) error {
		at, err := d.Instant(r)
		if err != nil {
			return err
		}
		if out, err = d.Samples(r, at, 0, out[:0]); err != nil {
			return err
		}
		switch {
		case d.rows == 0:
			d.first = at
		case at < d.last && d.unsorted == "":
			d.unsorted = fmt.Sprintf("line %d", r.Line)
		case at > d.last && (d.step == 0 || at.Sub(d.last) < d.step):
			d.step = at.Sub(d.last)
		}
		d.first, d.last = min(d.first, at), at
		d.rows++
		return nil
	})
	if err == nil && d.rows == 0 {
		err = &traces.DataError{File: d.File.Name, Found: "a header without rows", Expected: "at least one row", Mend: "fetch the file again"}
	}
	return err
}

func (d *Demand) restart() {
	d.Clock.Restart()
	d.Clock.Unordered = d.unsorted != ""
}

// Step is the smallest one between two rows, known behind Scan.
func (d *Demand) Step() model.Duration { return d.step }

// epoch is the whole second of the first sample.
func (d *Demand) epoch() model.Time {
	back := d.first % model.Time(model.Second)
	if back < 0 {
		back += model.Time(model.Second)
	}
	return d.first - back
}

// Write implements Scanned.
func (d *Demand) Write(w *traces.Writer) error {
	d.Account.Again()
	table := d.Account.Table("load")
	rules := traces.NewRules()
	var out []traces.Load
	d.restart()
	last := model.AbsentTime
	return InOrder(d.File, ',', d.Columns, d.unsorted == "", d.Instant, func(r *Row, at model.Time) (err error) {
		if out, err = d.Samples(r, at, d.step, out[:0]); err != nil {
			return err
		}
		where := fmt.Sprintf("line %d", r.Line)
		if at < last {
			return changed(d.File.Name)
		}
		last = at
		for _, rule := range r.Repaired {
			table.Repair(rule, where)
		}
		for i := range out {
			out[i].Time -= d.epoch()
			table.Read++
			if rule := rules.Load(&out[i]); rule != "" {
				table.Drop(strings.ReplaceAll(rule, " ", "-"), where)
				continue
			}
			table.Kept++
			if err := w.WriteLoad(&out[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func changed(file string) error {
	return fmt.Errorf("reading %s: %w", file, errors.New("its rows are in another order than at first: it changes while it is read"))
}

// Report implements Scanned.
func (d *Demand) Report() traces.Report {
	r := d.Account.Report([]File{d.File}, d.Format)
	if d.unsorted != "" && len(r.Tables) > 0 {
		r.Tables[0].Repair("sorted", d.unsorted)
		r.Repair("sorted", d.unsorted)
	}
	return r
}

// Meta implements Scanned.
func (d *Demand) Meta() (traces.Meta, error) {
	m, err := Describe([]File{d.File}, d.Report())
	m.Epoch, m.EpochKnown, m.Sorted = d.epoch(), true, true
	m.TimeZone = d.Clock.Zone.String()
	return m, err
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
