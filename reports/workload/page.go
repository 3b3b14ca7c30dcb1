package workload

import (
	"fmt"
	"strings"
	"time"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/scheduler/model"
)

// Write writes the page of a trace into dir, which is made when it is missing: report.html, which opens without a
// network, and figures/*.svg and *.png, replacing older ones.
func Write(dir string, s *Stats, made page.Made) error {
	drawn := figures(s)
	p := page.Page{Made: made, Figures: drawn, Document: doc.Document{Title: s.Trace + ": the workload as recorded", By: "orrery trace stats"}}
	for _, text := range About(s) {
		p.Head = append(p.Head, doc.Part{Text: text})
	}
	p.Add("figures", "Figures", doc.Part{Figures: page.Names(drawn)})
	p.Add("numbers", "Numbers", doc.Show(Table(s)))
	if s.Tenants.By != "" {
		p.Add("tenants", "By "+s.Tenants.By, doc.Say("Those that held most; the rest is one row."), doc.Show(TenantTable(s)))
	}
	return p.Write(dir)
}

// figures draws what there is to draw.
func figures(s *Stats) (all []*plot.Figure) {
	clock := plot.Clock{}
	if s.EpochUS != nil {
		clock = plot.Clock{EpochUS: *s.EpochUS, Known: true}
	}
	if s.Idle.Known {
		var loads []plot.Load
		for _, b := range s.Load {
			loads = append(loads, plot.Load{StartUS: b.StartUS, WidthUS: b.WidthUS, Busy: b.Held, Queued: b.Waiting, QueuedMax: float64(b.WaitingMax)})
		}
		f := plot.State(loads, s.Unit, clock, plot.Window{}, plot.ShownUntil(s.FirstUS, s.LastUS, s.EndUS))
		f.Name, f.Title = "load", "What was held, and the queue, as recorded"
		f.Note = strings.Replace(f.Note, "over the whole run", "of "+plot.Count(s.Capacity)+" "+s.Unit+" ("+s.CapacityBy+")", 1)
		all = append(all, f)
	}
	jobs := "of " + page.Count(s.Jobs, "job", "jobs")
	var hours []plot.Column
	for h, n := range s.Hours {
		hours = append(hours, plot.Column{Label: fmt.Sprint(h), Value: float64(n)})
	}
	where := "hour of the day (" + s.TimeZone + ")"
	days := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	if s.EpochUS == nil {
		where, days = "hour of the day of the log, whose date is not known", []string{"day 1", "day 2", "day 3", "day 4", "day 5", "day 6", "day 7"}
	}
	all = append(all, plot.Columns("arrivals-by-hour", "Submissions by hour", jobs, where, "jobs", hours))
	var week []plot.Column
	for d, n := range s.Weekdays {
		week = append(week, plot.Column{Label: days[d], Value: float64(n)})
	}
	all = append(all, plot.Columns("arrivals-by-weekday", "Submissions by weekday", jobs, "weekday", "jobs", week),
		plot.Columns("sizes", "Sizes of jobs", known(&s.Sizes, "size"), s.Unit+", up to", "jobs", buckets(&s.Sizes, func(v int64) string { return plot.Count(v) })))
	if s.Runtimes.Known > 0 {
		all = append(all, plot.Columns("runtimes", "Runtimes of jobs", known(&s.Runtimes, "runtime"), "runtime, up to", "jobs", buckets(&s.Runtimes, spanLabel)))
	}
	if s.Accuracy.Jobs > 0 {
		var tenths []plot.Column
		for i, n := range s.Accuracy.Tenths {
			label := fmt.Sprintf("%d–%d %%", i*10, i*10+10)
			if i == 9 {
				label = "90 % and more"
			}
			tenths = append(tenths, plot.Column{Label: label, Value: float64(n)})
		}
		note := fmt.Sprintf("of %s with a request; %s ran longer than requested", page.Count(s.Accuracy.Jobs, "job", "jobs"), plot.Count(s.Accuracy.Exceeded))
		all = append(all, plot.Columns("accuracy", "How much of the requested time jobs used", note, "runtime ÷ requested time", "jobs", tenths))
	}
	return all
}

func known(d *Distribution, what string) string {
	text := "of " + page.Count(d.Known, "job", "jobs")
	if d.Unknown > 0 {
		text += "; " + plot.Count(d.Unknown) + " have no " + what
	}
	return text
}

func buckets(d *Distribution, label func(int64) string) (out []plot.Column) {
	for _, b := range d.Buckets {
		out = append(out, plot.Column{Label: label(b.UpTo), Value: float64(b.Jobs)})
	}
	return out
}

func spanLabel(us int64) string {
	if us == 1<<63-1 {
		return "more"
	}
	for _, unit := range []struct {
		us   int64
		name string
	}{{int64(model.Day), "d"}, {int64(model.Hour), "h"}, {int64(model.Minute), "min"}, {int64(model.Second), "s"}} {
		if us%unit.us == 0 {
			return fmt.Sprintf("%d %s", us/unit.us, unit.name)
		}
	}
	return span(us)
}

func span(us int64) string { return plot.Span(float64(us) / float64(model.Second)) }

// one is a unit in front of another word.
func one(unit string) string { return strings.TrimSuffix(unit, "s") }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// About says in sentences what matters most.
func About(s *Stats) (out []string) {
	text := fmt.Sprintf("%s over %s, on %s %s (by %s).", page.Count(s.Jobs, "job", "jobs"), span(s.EndUS-s.FirstUS), plot.Count(s.Capacity), s.Unit, s.CapacityBy)
	if s.EpochUS != nil {
		text = time.UnixMicro(*s.EpochUS+s.FirstUS).UTC().Format("From 2006-01-02 15:04 UTC on: ") + text
	}
	out = append(out, text)
	if i := &s.Idle; i.Known && i.WaitingUS > 0 {
		out = append(out, fmt.Sprintf("Jobs waited in %s of the time. Meanwhile %s of the %s stood idle, and for %s of it the smallest job that waited was no larger than what was idle.",
			percent(share(i.WaitingUS, s.EndUS-s.FirstUS)), percent(i.Share), s.Unit, percent(share(i.FitsUS, i.WaitingUS))))
	}
	if a := &s.Accuracy; a.Jobs > 0 {
		out = append(out, fmt.Sprintf("Half of the jobs used less than %s of the time that they asked for; %s ran longer.", percent(a.Median), percent(share(a.Exceeded, a.Jobs))))
	}
	if g := &s.GPUs; g.Known {
		out = append(out, fmt.Sprintf("On average %.1f of %s GPUs were idle, %s of them on nodes that were in use in part.", g.Idle, plot.Count(g.GPUs), percent(g.Scattered)))
	}
	return out
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Table has the numbers one by one.
func Table(s *Stats) *doc.Table {
	t := doc.New("what", "value", "remark")
	t.Row("jobs", page.CountCell(s.Jobs), plot.Count(s.Started)+" with a recorded start")
	t.Row("span", span(s.EndUS-s.FirstUS), "from the first submission to the last end")
	t.Row("capacity", page.CountCell(s.Capacity), s.Unit+", by "+s.CapacityBy)
	t.Row("most held at once", page.CountCell(s.PeakHeld), overfull(s))
	offered, held := 0.0, 0.0
	for _, b := range s.Load {
		offered, held = offered+b.Offered/float64(len(s.Load)), held+b.Held/float64(len(s.Load))
	}
	t.Row("load", percent(offered), "work submitted ÷ what the capacity can do in the time")
	if s.Idle.Known {
		t.Row("held", percent(held), "mean, as recorded")
		t.Row("time with waiting jobs", percent(share(s.Idle.WaitingUS, s.EndUS-s.FirstUS)), "")
		t.Row("idle meanwhile", percent(s.Idle.Share), page.Number(s.Idle.UnitHours)+" "+one(s.Unit)+" hours")
		t.Row("a waiting job was no larger", percent(share(s.Idle.FitsUS, s.Idle.WaitingUS)), "of that time: the smallest that waited, and what was idle")
	} else {
		t.Row("idle while jobs wait", "", "not known: "+s.Idle.Why)
	}
	quantiles(t, "recorded wait", &s.Waits, span)
	if s.MeanWait != nil {
		t.Row("mean recorded wait", span(int64(*s.MeanWait)), "from the submission to the recorded start, of "+page.Count(s.Waits.Known, "job", "jobs"))
	}
	quantiles(t, "size", &s.Sizes, func(v int64) string { return plot.Count(v) })
	quantiles(t, "runtime", &s.Runtimes, span)
	quantiles(t, "requested time", &s.Requests, span)
	if a := &s.Accuracy; a.Jobs > 0 {
		t.Row("runtime ÷ requested time", percent(a.Median), fmt.Sprintf("median; mean %s", percent(a.Mean)))
		t.Row("ran longer than requested", page.CountCell(a.Exceeded), percent(share(a.Exceeded, a.Jobs))+" of those with a request")
	}
	if g := &s.GPUs; g.Known {
		t.Row("idle GPUs", fmt.Sprintf("%.1f", g.Idle), "mean, of "+plot.Count(g.GPUs))
		t.Row("of these on nodes in part use", percent(g.Scattered), "by the nodes of "+page.Count(g.Jobs, "job", "jobs"))
	} else {
		t.Row("GPU fragmentation", "", "not known: "+g.Why)
	}
	return t
}

func overfull(s *Stats) string {
	if s.PeakHeld > s.Capacity {
		return "more than the capacity: the record has jobs that cannot all have run at once"
	}
	return ""
}

func quantiles(t *doc.Table, what string, d *Distribution, say func(int64) string) {
	if d.Known == 0 {
		t.Row(what, "", "no job has one")
		return
	}
	t.Row(what, say(d.P50), fmt.Sprintf("median; 10 %% up to %s, 90 %% up to %s, 99 %% up to %s, most %s", say(d.P10), say(d.P90), say(d.P99), say(d.Max)))
}

// TenantTable has a row for each of those that held most.
func TenantTable(s *Stats) *doc.Table {
	t := doc.New("name", "jobs", one(s.Unit)+" hours", "share", "fair share")
	for _, r := range s.Tenants.Rows {
		fair := ""
		if r.FairShare != nil {
			fair = percent(*r.FairShare)
		}
		name := r.Name
		if name == "" {
			name = "(none)"
		}
		t.Row(name, page.CountCell(r.Jobs), doc.Quantity(page.Number(r.UnitHours), r.UnitHours), percent(r.Share), fair)
	}
	return t
}
