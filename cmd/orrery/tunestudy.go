package main

import (
	"fmt"
	"slices"
	"strings"

	"orrery/reports"
	"orrery/reports/table"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/tune"
)

// tuneChanges is a table of the settings that change. A plain cluster has no
// vClusters.
func tuneChanges(r *tune.Report) *table.Table {
	if !slices.ContainsFunc(r.Changes, func(c tune.SettingChange) bool { return c.VCluster != "" }) {
		t := table.New("key", "now", "then")
		for _, c := range r.Changes {
			t.Row(c.Key, c.Before, c.After)
		}
		return t
	}
	t := table.New("vcluster", "key", "now", "then")
	for _, c := range r.Changes {
		t.Row(c.VCluster, c.Key, c.Before, c.After)
	}
	return t
}

// tracesOf are the names of the traces.
func tracesOf(r *tune.Report) string {
	var names []string
	for _, t := range r.Traces {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// tuneStudy is a report in the words of the pages.
func tuneStudy(r *tune.Report) *reports.Study {
	s := &reports.Study{
		Schema: reports.StudySchema, Name: tracesOf(r), Kind: "tune", Summary: r.Summary(), Verdict: r.Title(), Good: r.Decision != tune.Unsure,
		Facts: []reports.Fact{
			{Name: "windows", Value: fmt.Sprintf("%d to tune on, %d to accept on", r.Counted(tune.ForTuning), r.Counted(tune.ForAcceptance))},
			{Name: "replicas", Value: fmt.Sprint(r.Replicas)},
			{Name: "runs", Value: fmt.Sprint(r.Runs)},
			{Name: "seed", Value: fmt.Sprint(r.Seed)},
		},
	}
	for _, t := range r.Traces {
		s.Facts = append(s.Facts, reports.Fact{Name: "trace " + t.Name, Value: t.Hash})
	}
	if r.Method != "" {
		s.Facts = append(s.Facts, reports.Fact{Name: "search", Value: fmt.Sprintf("%s, %d points", r.Method, len(r.Search))})
	}
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Aside != "" {
			s.Warn = append(s.Warn, fmt.Sprintf("window %d (%s) is left out: %s", i+1, w.Set, w.Aside))
		}
	}
	tuneColumns(s, r)
	tuneRows(s, r)
	tuneHistory(s, r)
	tuneSensitivity(s, r)
	tuneShares(s, r)
	for i := range r.Groups {
		g := &r.Groups[i]
		s.Groups = append(s.Groups, reports.GroupChange{
			By: g.By, Name: g.Name, Jobs: g.Jobs, Metric: g.Metric, Unit: g.Unit, Before: g.Now.Estimate, After: g.Then.Estimate,
			Low: g.Difference.Low, High: g.Difference.High, Verdict: groupVerdict(g.Verdict),
		})
	}
	return s
}

func groupVerdict(v stat.Verdict) string {
	if v == stat.NoDifference {
		return "same"
	}
	return v.String()
}

// tuneColumns names the settings and the metrics.
func tuneColumns(s *reports.Study, r *tune.Report) {
	for _, p := range r.Space() {
		switch p.Kind {
		case search.Simplex:
			for _, part := range p.Parts {
				s.Parameters = append(s.Parameters, reports.StudyParameter{Name: p.Name + "." + part, Kind: reports.KindWeight, High: 1})
			}
		case search.Choice:
			s.Parameters = append(s.Parameters, reports.StudyParameter{Name: p.Name, Kind: reports.KindChoice, Choices: p.Choices})
		default:
			kind := reports.KindReal
			if p.Kind == search.Integer {
				kind = reports.KindInteger
			}
			s.Parameters = append(s.Parameters, reports.StudyParameter{Name: p.Name, Kind: kind, Unit: r.UnitOf(p.Name), Low: p.Low, High: p.High, Log: p.Log})
		}
	}
	for _, o := range r.Goal.Objectives {
		s.Metrics = append(s.Metrics, reports.StudyMetric{Name: o.Metric + " (tuning)", Unit: unitOf(o.Metric), Share: isShare(o.Metric), Direction: string(o.Direction), Objective: true})
	}
	for _, c := range r.Goal.Constraints {
		direction := reports.Minimise
		if c.Relation == search.AtLeast {
			direction = reports.Maximise
		}
		s.Metrics = append(s.Metrics, reports.StudyMetric{
			Name: c.Metric + " (worst tuning window)", Unit: unitOf(c.Metric), Direction: direction, Share: isShare(c.Metric), Bound: &reports.Bound{Relation: string(c.Relation), Value: c.Value},
		})
	}
	for _, o := range r.Goal.Objectives {
		s.Metrics = append(s.Metrics, reports.StudyMetric{Name: o.Metric + " (acceptance)", Unit: unitOf(o.Metric), Share: isShare(o.Metric), Direction: string(o.Direction)})
	}
}

// unitOf is the unit of a measure, "" of one without.
func unitOf(name string) string {
	if unit := metric.UnitOf(name); unit != "1" {
		return unit
	}
	return ""
}

// isShare says that a measure is a part of a whole, shown in percent.
func isShare(name string) bool {
	m, err := metric.ParseMeasure(name)
	return err == nil && m.Fraction()
}

// tuneRows are the candidates of the race.
func tuneRows(s *reports.Study, r *tune.Report) {
	lines := map[string]*tune.Finalist{}
	for i := range r.Finalists {
		lines[r.Finalists[i].Name] = &r.Finalists[i]
	}
	for i := range r.Tried {
		t := &r.Tried[i]
		row := reports.StudyRow{ID: fmt.Sprint(i + 1), Name: t.Name, Feasible: t.Feasible, Evidence: t.Windows, Rung: t.Windows}
		switch {
		case t.Name == r.Chosen:
			row.Role = reports.RoleChosen
		case t.Role == tune.Current:
			row.Role = reports.RoleCurrent
		case t.Role == tune.Baseline:
			row.Role = reports.RoleBaseline
		}
		if t.Overloaded {
			row.State = "overloaded"
		}
		row.Values = metric.Numbers(t.Values()...)
		for len(row.Values) < len(s.Parameters) {
			row.Values = append(row.Values, metric.Undefined)
		}
		row.Metrics = slices.Clone(t.Metrics)
		for k := range r.Goal.Objectives {
			x := metric.Undefined
			if f := lines[t.Name]; f != nil && len(f.Lines) > 0 {
				x, row.Verdict = f.Lines[k].Then.Estimate, f.Lines[0].Verdict.String()
			} else if i := slices.IndexFunc(r.Finalists, func(f tune.Finalist) bool { return len(f.Lines) > 0 }); t.Role == tune.Current && i >= 0 {
				x = r.Finalists[i].Lines[k].Now.Estimate
			}
			row.Metrics = append(row.Metrics, x)
		}
		s.Rows = append(s.Rows, row)
	}
}

// tuneHistory is how the search went, for its first objective.
func tuneHistory(s *reports.Study, r *tune.Report) {
	if len(r.Search) == 0 {
		return
	}
	curve := reports.HistoryCurve{Name: r.Method}
	for i := range r.Search {
		h := &r.Search[i]
		curve.Best, curve.Each = append(curve.Best, h.Best), append(curve.Each, h.Metrics[0])
	}
	history := reports.History{Metric: s.Metrics[0].Name, Unit: s.Metrics[0].Unit, Curves: []reports.HistoryCurve{curve}}
	if x := r.SearchNow[0]; x.Defined() {
		history.Lines = append(history.Lines, reports.HistoryLine{Name: r.Current + " on the same windows", Value: x})
	}
	s.Histories = append(s.Histories, history)
}
