package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/metric"
)

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return plot.Count(n) + " " + many
}

// duration spells a span like 2d03:15:07.25.
func duration(us int64) string { return model.Duration(us).String() }

// reading spells a metric as people say it: spans as 3.4 h, shares in percent,
// and others to four digits.
func reading(m metric.Metric) string {
	switch {
	case m.Unit == "s":
		return plot.Span(*m.Value)
	case shares[m.Name]:
		return strconv.FormatFloat(100**m.Value, 'f', 1, 64) + " %"
	}
	return number(*m.Value)
}

// number spells a value to four digits, whole numbers in full.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15:
		return plot.Count(int64(v))
	case a >= 1000:
		return plot.Count(int64(math.Round(v)))
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// said is the reading of a metric, or "" when it has no value.
func said(t *metric.Table, name, window string) string {
	m, found := t.Get(name, window)
	if !found || m.Value == nil {
		return ""
	}
	return reading(m)
}

// summary says in three sentences what was replayed, under what, and what came
// out.
func (r *run) summary() []string {
	out := []string{fmt.Sprintf("Replayed %s of %s on %s: %s.", count(r.jobs, "job", "jobs"), r.about.title(), r.about.machine(), r.about.policy())}
	var parts []string
	if s := said(&r.table, metricUtilisation, metric.Steady); s != "" {
		parts = append(parts, "the cluster was "+s+" busy in the steady window")
	} else if s := said(&r.table, metricUtilisation, metric.All); s != "" {
		parts = append(parts, "the cluster was "+s+" busy")
	}
	if s := said(&r.table, metricWaitMedian, metric.All); s != "" {
		if s == "0" {
			s = "half of the jobs did not wait"
		} else {
			s = "half of the jobs waited at most " + s
		}
		if p := said(&r.table, metricWaitP95, metric.All); p != "" {
			s += ", the p95 wait was " + p
		}
		parts = append(parts, s)
	}
	if s := said(&r.table, metricWaitMean, metric.All); s != "" {
		parts = append(parts, "the mean wait was "+s)
	}
	if len(parts) > 0 {
		text := strings.Join(parts, "; ")
		out = append(out, strings.ToUpper(text[:1])+text[1:]+".")
	}
	return out
}

// VerdictWords explains a verdict in one clause without a full stop.
func VerdictWords(v metric.Verdict) string {
	switch v {
	case metric.Stable:
		return "the queue stayed within what the cluster can hold"
	case metric.Backlogged:
		return "on average the waiting jobs asked for more than the whole cluster, but the queue did not keep growing"
	case metric.Unknown:
		return "there is no steady window to judge the queue by, or no job started"
	case metric.Overloaded:
		return "more work arrived than the cluster can do, so the queue kept growing and waits measure the length of the log: do not rank this run by them"
	}
	return ""
}

// warnings are the things to know, beside the verdict, before trusting the
// numbers.
func (r *run) warnings() []string {
	var out []string
	if n := r.states[model.Rejected]; n > 0 {
		out = append(out, count(n, "job was", "jobs were")+" rejected at submission: they ask for more than the cluster has"+r.orAllows()+".")
	}
	withdrawn := r.unstarted[model.Cancelled]
	if withdrawn > 0 {
		out = append(out, count(withdrawn, "job", "jobs")+" left the queue without starting, "+r.withdrawnBecause()+".")
	}
	if n := r.states[model.Cancelled] - withdrawn; n > 0 {
		out = append(out, count(n, "job", "jobs")+" that never ran in the log started here, and ran until the owner withdrew them there: how long they would have run is not known.")
	}
	if n := r.states[model.Failed]; n > 0 {
		out = append(out, count(n, "job", "jobs")+" ended as FAILED: crashed as in the log, or lost their nodes and did not return to the queue.")
	}
	if n := max(r.states[model.Pending]+r.states[model.Running]+r.states[model.Checkpointing]+r.states[model.Suspended], r.about.unfinished); n > 0 {
		out = append(out, count(n, "job", "jobs")+" had not ended when the replay stopped.")
	}
	if n := r.states[model.Timeout]; n > 0 {
		out = append(out, count(n, "job was", "jobs were")+" killed at the requested time.")
	}
	if text := r.about.beginsIdle(); text != "" {
		out = append(out, text)
	}
	if n := r.about.dropped; n > 0 {
		out = append(out, count(n, "row", "rows")+" of the trace did not become jobs: see the table of rows that needed special handling.")
	}
	return out
}

// tile is one of the few numbers shown large.
type tile struct{ Value, Label, Class string }

func (r *run) tiles() []tile {
	var out []tile
	for _, t := range []struct{ name, window, label string }{
		{metricUtilisation, metric.Steady, "utilisation (steady window)"},
		{metricWaitMedian, metric.All, "median wait"},
		{metricWaitMean, metric.All, "mean wait"},
		{metricWaitP95, metric.All, "p95 wait"},
		{metricSlowdown, metric.All, "mean bounded slowdown"},
	} {
		if s := said(&r.table, t.name, t.window); s != "" {
			out = append(out, tile{Value: s, Label: t.label})
		}
	}
	return append([]tile{{Value: plot.Count(r.jobs), Label: "jobs"}}, out...)
}

// metricTable shows each metric once, its windows side by side.
func metricTable(t *metric.Table) *table.Table {
	out := table.New("metric", "unit", "all", "steady", "in words", "jobs", "note")
	seen := map[string]bool{}
	for _, m := range t.Metrics {
		if seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		all, _ := t.Get(m.Name, metric.All)
		steady, _ := t.Get(m.Name, metric.Steady)
		words, note := table.Cell{}, all.Note
		if all.Value != nil && (m.Unit == "s" || shares[m.Name]) {
			s := reading(all)
			words = table.Quantity(s, s)
		}
		if note == "" {
			note = steady.Note
		}
		out.Row(m.Name, m.Unit, metricCell(all), metricCell(steady), words, table.Quantity(plot.Count(all.Count), all.Count), note)
	}
	return out
}

func metricCell(m metric.Metric) table.Cell {
	if m.Value == nil {
		return table.Cell{}
	}
	return table.Quantity(number(*m.Value), *m.Value)
}

func (r *run) awkwardTable() *table.Table {
	out := table.New("rule", "rows", "what was done", "first ids")
	for _, a := range r.about.awkward {
		out.Row(a.rule, table.Quantity(plot.Count(a.count), a.count), a.doc, strings.Trim(fmt.Sprint(a.examples), "[]"))
	}
	return out
}

func (r *run) policyTable() *table.Table {
	out := table.New("setting", "value")
	out.Row("cluster", r.about.machine())
	if r.site != nil {
		return out // each vCluster has its own
	}
	out.Row("queue order", r.about.order)
	out.Row("backfilling", r.about.backfill)
	out.Row("event order", r.about.eventOrder)
	cycle := "whenever something changed"
	if r.about.cycle != "" {
		cycle = "every " + r.about.cycle
	}
	out.Row("scheduling pass", cycle)
	return out
}

func (r *run) stateTable() *table.Table {
	out := table.New("final state", "jobs")
	for s, n := range r.states {
		if n > 0 {
			out.Row(model.JobState(s).String(), table.Quantity(plot.Count(n), n))
		}
	}
	return out
}

func (r *run) provenanceTable() *table.Table {
	out := table.New("key", "value")
	for _, f := range r.about.rest {
		out.Row(f.key, f.value)
	}
	return out
}
