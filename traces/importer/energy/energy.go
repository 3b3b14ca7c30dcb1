// Package energy reads prices of electricity and its carbon intensity: the day-ahead prices of
// epftoolbox, the scrape of ENTSO-E by country, and carbon intensities of lets-wait-awhile,
// Electricity Maps, the US balancing areas and OpenDC. It knows nothing of what a replay
// makes of a price.
//
//   - epftoolbox: the first column has no name and local time without a zone, 24 hours on every
//     day; Real price in EUR/MWh (PJM: USD/MWh, which is taken as is). The other columns are forecasts.
//   - ENTSO-E scrape: date as dd.mm.yyyy, mtu as "00:00 - 01:00", area, price(eur/mwh). Rows of other areas than
//     that of --service are dropped as other-area, those without a price as no-price.
//   - Files of carbon alone have the price 0, which is noted as assumed.
//
// Sources: https://github.com/jeslago/epftoolbox, https://github.com/laurabejder/european_energy_prices,
// https://github.com/dos-group/lets-wait-awhile, https://github.com/HewlettPackard/dc-rl, https://github.com/atlarge-research/opendc.
package energy

import (
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// EPF is the format of epftoolbox.
var EPF = format.Spec{
	Format: format.Format{Name: "epftoolbox", Version: 2, Zoned: true, What: "day-ahead prices of epftoolbox (a column Real price)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"", "Real price"}},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		t.Clock.Distinct = true
		p := traces.Price{Time: c.When(0, &t.Clock), Price: float64(c.Real(1) / 1000)}
		if c.Err != nil {
			return c.Err
		}
		return s.Price(c.Place(""), &p, "")
	},
}.Build()

// carbon is a file of carbon alone.
func carbon(f format.Format, columns []string) *format.Format {
	return format.Spec{
		Format: f, Layout: format.Layout{Comma: ',', Columns: columns},
		Begin: func(t *format.Table, o format.Options) error {
			noPrice(&t.Log.Account)
			if strings.Contains(columns[0], "UTC") {
				t.Clock.Zone = t.Log.Account.OrUTC(o.Zone, "the name of the column says so")
			}
			return nil
		},
		Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
			t.Clock.Distinct = true
			p := traces.Price{Time: c.When(0, &t.Clock), Carbon: c.OptReal(1)}
			drop := ""
			if !p.Carbon.OK {
				drop = "no-carbon"
			}
			if c.Err != nil {
				return c.Err
			}
			return s.Price(c.Place(""), &p, drop)
		},
	}.Build()
}

func noPrice(a *format.Account) {
	a.Assume("prices.price", "0", "the file has carbon intensity alone")
}

// LetsWait, Maps and US are formats of carbon intensity in g/kWh.
var (
	LetsWait = carbon(format.Format{Name: "lets-wait-awhile", Version: 2, Zoned: true, What: "carbon intensity of lets-wait-awhile (Time,Carbon Intensity)"}, []string{"Time", "Carbon Intensity"})
	Maps     = carbon(format.Format{Name: "electricity-maps", Version: 2, Zoned: true, What: "carbon intensity of Electricity Maps (Datetime (UTC), Carbon intensity of life cycle)"},
		[]string{"Datetime (UTC)", "Carbon intensity gCO₂eq/kWh (Life cycle)"})
	US = carbon(format.Format{Name: "us-carbon", Version: 2, Zoned: true, What: "carbon intensity of US balancing areas (timestamp, MW by fuel, avg_CI)"}, []string{"timestamp", "avg_CI"})
)

// OpenDC is the format of the carbon traces of OpenDC: Parquet with timestamp and carbon_intensity.
var OpenDC = &format.Format{
	Name: "opendc-carbon", Version: 1, Files: 1, Parquet: true, What: "carbon traces of OpenDC (Parquet with timestamp and carbon_intensity)",
	Sniff: func(h format.Head) format.Match { return format.ColumnsMatch(h, opendcColumns...) },
	Scan: func(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
		l := &format.Log{Format: f, Files: files}
		noPrice(&l.Account)
		l.Account.Assume("time zone", "UTC", "instants of the file have none")
		l.Read = func(s *format.Sink) error {
			return format.ParquetRows(files[0], opendcColumns, func(r *format.Row) error {
				c := format.CellsOf(r)
				p := traces.Price{Time: c.Instant(0, model.Microsecond), Carbon: traces.Some(c.Real(1))}
				if c.Err != nil {
					return c.Err
				}
				return s.Price(c.Place(""), &p, "")
			})
		}
		return l.Scan()
	},
}

var opendcColumns = []string{"timestamp", "carbon_intensity"}

// ENTSOE is the format of the scrape of ENTSO-E.
var ENTSOE = format.Spec{
	Format: format.Format{Name: "entsoe", Version: 2, Zoned: true, Served: true, What: "day-ahead prices by area scraped from ENTSO-E (date,country,area,mtu,price(eur/mwh))"},
	Layout: format.Layout{Comma: ',', Columns: []string{"date", "area", "mtu", "price(eur/mwh)"}},
	Begin: func(t *format.Table, o format.Options) error {
		t.Clock.Distinct = true
		if o.Service != "" {
			t.Service = o.Service
			return nil
		}
		area, areas := "", 0
		err := t.Layout.Rows(t.Log.Files[0].Beforehand(), func(r *format.Row) error {
			if a := format.CellsOf(r).Text(1); a != area && areas < 2 {
				area = a
				areas++
			}
			return nil
		})
		if err == nil && areas > 1 {
			err = &traces.DataError{File: t.Log.Files[0].Name, Column: "area", Found: "prices of several areas", Expected: "one, since a trace has one price at a time", Mend: "name it with --service, for example --service " + format.Excerpt(area)}
		}
		t.Service = area
		return err
	},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		if c.Text(1) != t.Service {
			return s.Price(c.Place(""), &traces.Price{}, "other-area")
		}
		day := strings.Split(c.Raw(0), ".")
		from, _, ok := strings.Cut(c.Raw(2), " - ")
		if len(day) != 3 || !ok {
			c.Fail(0, "a date such as 31.12.2022 and an hour such as 00:00 - 01:00")
			return c.Err
		}
		if !c.Has(3) {
			return s.Price(c.Place(""), &traces.Price{}, "no-price")
		}
		at, rules, needZone, ok := t.Clock.Instant(day[2] + "-" + day[1] + "-" + day[0] + " " + from)
		switch {
		case needZone:
			return format.Whole(c.Wrong(c.At[0], format.NeedsZone, "name the zone of the file with --time-zone, for example Europe/Berlin, the zone of the market"))
		case !ok:
			c.Fail(0, "a date such as 31.12.2022")
		}
		for _, r := range rules {
			c.Repair(r)
		}
		p := traces.Price{Time: at, Price: float64(c.Real(3) / 1000)}
		if c.Err != nil {
			return c.Err
		}
		return s.Price(c.Place(""), &p, "")
	},
}.Build()
