package main

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim/whatif"
)

// show prints what differs from the fork on.
func (v *forkVerb) show(f *forked) error {
	if v.print.json() {
		return v.print.document(f)
	}
	if v.quiet && v.print.format == "table" {
		return nil
	}
	if err := v.print.table(f.countTable()); err != nil {
		return err
	}
	if f.Preferred != nil {
		if err := v.print.section(fmt.Sprintf("Job %d at the head of its queue", f.Preferred.ID), regretTable(f.Preferred)); err != nil {
			return err
		}
	}
	if len(f.Gained) > 0 {
		if err := v.print.section("Jobs that gain most", movedTable(f.Gained)); err != nil {
			return err
		}
	}
	if len(f.Lost) > 0 {
		if err := v.print.section("Jobs that lose most", movedTable(f.Lost)); err != nil {
			return err
		}
	}
	v.m.say("orrery: before %s the fork is the run: %s", f.At, equalText(f))
	return nil
}

// equalText says what was held to be equal.
func equalText(f *forked) string {
	if f.EqualBy == "facts" {
		return plot.Count(f.Equal) + " entries of the log of facts are equal"
	}
	return plot.Count(f.Equal) + " starts are equal"
}

// countTable is how starts moved, and what jobs wait.
func (f *forked) countTable() *doc.Table {
	t := doc.New("from "+f.At.String()+" on", "run", "fork")
	count := func(name string, n int64) {
		if n > 0 {
			t.Row(name, "", doc.Quantity(plot.Count(n), n))
		}
	}
	n := &f.Jobs
	t.Row("jobs that start earlier", "", doc.Quantity(plot.Count(n.Earlier), n.Earlier))
	t.Row("jobs that start later", "", doc.Quantity(plot.Count(n.Later), n.Later))
	t.Row("jobs that start at the same time", "", doc.Quantity(plot.Count(n.Same), n.Same))
	count("jobs that start in the fork alone", n.OnlyFork)
	count("jobs that start in the run alone", n.OnlyFirst)
	count("jobs that start in neither", n.Never)
	count("jobs that are left out", f.LeftOut)
	if w := &f.Wait; w.Jobs > 0 {
		t.Row("mean wait", wait(*w.Mean), wait(*w.Fork))
		t.Row("p95 wait", wait(*w.P95), wait(*w.P95Fork))
		t.Row("hours gained in all", "", hoursCell(w.Gained))
		t.Row("hours lost in all", "", hoursCell(w.Lost))
	}
	for _, m := range f.Metrics {
		cell := func(x *float64) doc.Cell {
			if x == nil {
				return doc.Cell{}
			}
			return doc.Float(*x, 4)
		}
		t.Row(m.Name+" of the whole run ("+m.Unit+")", cell(m.A), cell(m.B))
	}
	return t
}

func regretTable(p *whatif.Preferred) *doc.Table {
	t := doc.New("", "hours")
	t.Row("it waits less by", hoursCell(p.Gain))
	t.Row("all others wait more by", hoursCell(p.Cost))
	t.Row("regret", hoursCell(p.Regret))
	return t
}

func movedTable(list []whatif.Moved) *doc.Table {
	t := doc.New("job", "user", "procs", "wait", "wait in the fork", "hours")
	for i := range list {
		m := &list[i]
		t.Row(fmt.Sprint(m.ID), m.User, fmt.Sprint(m.Procs), wait(m.Wait), wait(m.Fork), hoursCell(m.Wait-m.Fork))
	}
	return t
}

// wait is a span of seconds as the tables write it.
func wait(s float64) doc.Cell {
	d := model.Duration(s * float64(model.Second))
	return doc.Quantity(d.String(), s)
}

// hoursCell is a span of seconds in hours.
func hoursCell(s float64) doc.Cell { return doc.Float(s/3600, 2) }
