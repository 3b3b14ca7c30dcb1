package logfile

import (
	"fmt"
	"strings"
	"time"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Account prints what became of the rows of a log: dropped and kept are the
// words for those that did not pass and those that did.
func Account(p *cli.Printer, r traces.Report, dropped, kept string) error {
	if p.JSON() {
		return p.Document(r)
	}
	t := doc.New("rows", "rule", "count", "first")
	t.Row("read", "", r.Read, r.File)
	one := func(of string, repaired, lost []traces.Rule) {
		for _, d := range repaired {
			t.Row("repaired"+of, d.Rule, d.Count, d.Example)
		}
		for _, d := range lost {
			t.Row(dropped+of, d.Rule, d.Count, d.Example)
		}
	}
	if len(r.Tables) > 1 {
		for i := range r.Tables {
			of := &r.Tables[i]
			t.Row("read of "+of.Table, "", of.Read, "")
			one(" of "+of.Table, of.Repaired, of.Dropped)
			t.Row(kept+" of "+of.Table, "", of.Kept, "")
		}
	} else {
		one("", r.Repaired, r.Dropped)
	}
	t.Row(kept, "", r.Kept, "")
	if err := p.Table(t); err != nil {
		return err
	}
	if err := p.Section("As recorded", AsRecorded(r.Tables)); err != nil {
		return err
	}
	for _, a := range r.Assumed {
		p.App.Say("Assumed %s: %s (%s)", a.What, a.Value, a.Why)
	}
	return nil
}

// AsRecorded is what the tables of an import state of time, of what was in use and of requests.
func AsRecorded(tables []traces.TableReport) *doc.Table {
	t := doc.New("table", "figure", "value")
	for i := range tables {
		of := &tables[i]
		if of.FirstUS != nil && of.LastUS != nil {
			t.Row(of.Table, "first time", instant(*of.FirstUS, of.Times))
			t.Row(of.Table, "last time", instant(*of.LastUS, of.Times))
			t.Row(of.Table, "times are", of.Times)
		}
		for _, u := range of.Use {
			stated := "of an unknown number"
			if u.Stated > 0 {
				stated = "of " + plot.Count(u.Stated) + " stated"
			}
			what := "peak of " + u.What + " in use"
			if u.What == "nodes" {
				what += ", shared ones once for each job"
			}
			t.Row(of.Table, what, doc.Quantity(amount(u.Peak)+" "+stated, u.Peak))
		}
		if q := of.Requests; q != nil {
			text := fmt.Sprintf("%s of %s (%.2f %%)", plot.Count(q.Exceeded), plot.Count(q.Jobs), 100*q.Share)
			if q.Without > 0 {
				text += fmt.Sprintf("; %s without a run time or a request", plot.Count(q.Without))
			}
			t.Row(of.Table, "ran longer than requested", text)
		}
	}
	return t
}

// instant is a time of a report: a date, or where the date is not known the time since the zero of the source.
func instant(us int64, times string) doc.Cell {
	if strings.HasPrefix(times, traces.TimesRelative) {
		return doc.Quantity(model.Time(us).String(), us)
	}
	return doc.Quantity(time.UnixMicro(us).UTC().Format(time.RFC3339Nano), us)
}

// amount is a number of processors, nodes or GPUs, of which thousandths are shared.
func amount(x float64) string {
	if x == float64(int64(x)) {
		return plot.Count(int64(x))
	}
	return fmt.Sprintf("%.3f", x)
}
