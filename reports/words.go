package reports

import (
	"fmt"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim/metric"
)

// said is the reading of a metric, or "" when it has no value.
func said(t *metric.Table, name, window string) string {
	m, found := t.Get(name, window)
	if !found || m.Value == nil {
		return ""
	}
	return page.Reading(m)
}

// summary says in three sentences what was replayed, under what, and what came
// out.
func (r *run) summary() []string {
	out := []string{fmt.Sprintf("Replayed %s of %s on %s: %s.", page.Count(r.jobs, "job", "jobs"), r.About.Title(), r.About.Machine(), r.About.Policy())}
	var parts []string
	if s := said(&r.Table, page.MetricUtilisation, metric.Steady); s != "" {
		parts = append(parts, "the cluster was "+s+" busy in the steady window")
	} else if s := said(&r.Table, page.MetricUtilisation, metric.All); s != "" {
		parts = append(parts, "the cluster was "+s+" busy")
	}
	if s := said(&r.Table, metricWaitMedian, metric.All); s != "" {
		if s == "0" {
			s = "half of the jobs did not wait"
		} else {
			s = "half of the jobs waited at most " + s
		}
		if p := said(&r.Table, page.MetricWaitP95, metric.All); p != "" {
			s += ", the p95 wait was " + p
		}
		parts = append(parts, s)
	}
	if s := said(&r.Table, page.MetricWaitMean, metric.All); s != "" {
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
		return "on average the waiting jobs asked for more than the whole cluster, and the log does not show that the queue grows without end"
	case metric.Unknown:
		return "there is no time between the first submission and the last to judge the queue by, or no job started"
	case metric.Overloaded:
		return "the queue never drained in the last half, and more work waits at the end than chance explains: waits measure the length of the log, so do not rank this run by them"
	}
	return ""
}

// unheeded is what stands before the verdict: which requests the replay has left unmet.
func (r *run) unheeded() []string {
	var out []string
	for _, text := range r.Table.Unheeded {
		out = append(out, text+". Waits and use of the cluster are those of another workload to that extent.")
	}
	return out
}

// warnings are the things to know, beside the verdict, before trusting the
// numbers.
func (r *run) warnings() []string {
	var out []string
	if n := r.states[model.Rejected]; n > 0 {
		out = append(out, page.Count(n, "job was", "jobs were")+" rejected at submission: they ask for more than the cluster has"+r.orAllows()+".")
	}
	withdrawn := r.unstarted[model.Cancelled]
	if withdrawn > 0 {
		out = append(out, page.Count(withdrawn, "job", "jobs")+" left the queue without starting, "+r.withdrawnBecause()+".")
	}
	if n := r.states[model.Cancelled] - withdrawn; n > 0 {
		out = append(out, page.Count(n, "job", "jobs")+" that never ran in the log started here, and ran until the owner withdrew them there: how long they would have run is not known.")
	}
	if n := r.states[model.Failed]; n > 0 {
		out = append(out, page.Count(n, "job", "jobs")+" ended as FAILED: crashed as in the log, or lost their nodes and did not return to the queue.")
	}
	if n := max(r.states[model.Pending]+r.states[model.Running]+r.states[model.Checkpointing]+r.states[model.Suspended], r.About.Unfinished); n > 0 {
		out = append(out, page.Count(n, "job", "jobs")+" had not ended when the replay stopped.")
	}
	if n := r.states[model.Timeout]; n > 0 {
		out = append(out, page.Count(n, "job was", "jobs were")+" killed at the requested time.")
	}
	if r.power != nil && r.power.modelled {
		out = append(out, fmt.Sprintf("Run times are modelled: all that counts was known of %.1f %% of the GPU time at work. What was not known counts as recorded.", float64(100*r.power.part)))
	}
	if text := r.About.BeginsIdle(); text != "" {
		out = append(out, text)
	}
	if n := r.About.Dropped; n > 0 {
		out = append(out, page.Count(n, "row", "rows")+" of the trace did not become jobs: see the table of rows that needed special handling.")
	}
	return out
}

func (r *run) tiles() []doc.Tile {
	var out []doc.Tile
	for _, t := range []struct{ name, window, label string }{
		{page.MetricUtilisation, metric.Steady, "utilisation (steady window)"},
		{metricWaitMedian, metric.All, "median wait"},
		{page.MetricWaitMean, metric.All, "mean wait"},
		{page.MetricWaitP95, metric.All, "p95 wait"},
		{page.MetricSlowdown, metric.All, "mean bounded slowdown"},
	} {
		if s := said(&r.Table, t.name, t.window); s != "" {
			out = append(out, doc.Tile{Value: s, Label: t.label})
		}
	}
	return append([]doc.Tile{{Value: plot.Count(r.jobs), Label: "jobs"}}, out...)
}

// metricTable shows each metric once, its windows side by side.
func metricTable(t *metric.Table) *doc.Table {
	out := doc.New("metric", "unit", "all", "steady", "in words", "jobs", "note")
	seen := map[string]bool{}
	for _, m := range t.Metrics {
		if seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		all, _ := t.Get(m.Name, metric.All)
		steady, _ := t.Get(m.Name, metric.Steady)
		words, note := doc.Cell{}, all.Note
		if all.Value != nil && (m.Unit == "s" || page.IsShare(m.Name)) {
			s := page.Reading(all)
			words = doc.Quantity(s, s)
		}
		if note == "" {
			note = steady.Note
		}
		out.Row(m.Name, m.Unit, metricCell(all), metricCell(steady), words, doc.Quantity(plot.Count(all.Count), all.Count), note)
	}
	return out
}

func metricCell(m metric.Metric) doc.Cell {
	if m.Value == nil {
		return doc.Cell{}
	}
	return doc.Quantity(page.Number(*m.Value), *m.Value)
}

func (r *run) awkwardTable() *doc.Table {
	out := doc.New("rule", "rows", "what was done", "first ids")
	for _, a := range r.About.Awkward {
		out.Row(a.Rule, doc.Quantity(plot.Count(a.Count), a.Count), a.Doc, strings.Trim(fmt.Sprint(a.Examples), "[]"))
	}
	return out
}

func (r *run) policyTable() *doc.Table {
	out := doc.New("setting", "value")
	out.Row("cluster", r.About.Machine())
	if r.site != nil {
		return out // each vCluster has its own
	}
	out.Row("queue order", r.About.Order)
	out.Row("backfilling", r.About.Backfill)
	out.Row("event order", r.About.EventOrder)
	cycle := "whenever something changed"
	if r.About.Cycle != "" {
		cycle = "every " + r.About.Cycle
	}
	out.Row("scheduling pass", cycle)
	return out
}

func (r *run) stateTable() *doc.Table {
	out := doc.New("final state", "jobs")
	for s, n := range r.states {
		if n > 0 {
			out.Row(model.JobState(s).String(), doc.Quantity(plot.Count(n), n))
		}
	}
	return out
}

func (r *run) provenanceTable() *doc.Table {
	out := doc.New("key", "value")
	for _, f := range r.About.Rest {
		out.Row(f.Key, f.Value)
	}
	return out
}
