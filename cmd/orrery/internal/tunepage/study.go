// Package tunepage turns the report of a tune into tables and the page of its study. It must
// not know flags, nor how a recommendation came about.
package tunepage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orrery/cmd/orrery/internal/studypage"
	"orrery/internal/doc"
	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/sweep"
	"orrery/sim/tune"
)

// tracesOf are the names of the traces.
func tracesOf(r *tune.Report) string {
	var names []string
	for _, t := range r.Traces {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// Study is a report in the words of the pages. Its runs are in the study below dir.
func Study(r *tune.Report, dir string) *study.Study {
	s := &study.Study{
		Schema: study.Schema, Name: tracesOf(r), Kind: "tune", Unheeded: r.Unheeded, Summary: r.Summary(), Verdict: r.Title(), Good: r.Verdict != tune.Unsure,
		Headlines: r.Headlines(), Sections: r.Deciding(),
		Facts: []doc.Fact{
			{Name: "windows", Value: fmt.Sprint(r.Counted())},
			{Name: "replayed jobs", Value: fmt.Sprintf("%d of a budget of %d", r.Replayed, r.Budget)},
			{Name: "replicas", Value: fmt.Sprint(r.Replicas)},
			{Name: "runs", Value: fmt.Sprint(r.Runs)},
			{Name: "seed", Value: fmt.Sprint(r.Seed)},
		},
	}
	for _, t := range r.Traces {
		s.Facts = append(s.Facts, doc.Fact{Name: "trace " + t.Name, Value: t.Hash})
	}
	if r.Scenario != "" {
		s.Facts = append(s.Facts, doc.Fact{Name: "scenario", Value: r.Scenario})
	}
	if r.Method != "" {
		s.Facts = append(s.Facts, doc.Fact{Name: "search", Value: fmt.Sprintf("%s, %s in batches of %d", r.Method, table.Counted(len(r.Search), "point"), r.Batch)})
	}
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Aside != "" {
			s.Warn = append(s.Warn, fmt.Sprintf("window %d is left out: %s", i+1, w.Aside))
		}
	}
	addColumns(s, r)
	addRows(s, r, dir)
	addHistory(s, r)
	addSensitivity(s, r)
	addShares(s, r)
	return s
}

// addColumns names the settings and the metrics.
func addColumns(s *study.Study, r *tune.Report) {
	if len(r.Space()) == 0 {
		s.Parameters = plainSettings(r)
	}
	for _, p := range r.Space() {
		switch p.Kind {
		case search.Simplex:
			for _, part := range p.Parts {
				s.Parameters = append(s.Parameters, study.Parameter{Name: p.Name + "." + part, Kind: study.KindWeight, High: 1})
			}
		case search.Choice:
			s.Parameters = append(s.Parameters, study.Parameter{Name: p.Name, Kind: study.KindChoice, Choices: p.Choices})
		default:
			kind := study.KindReal
			if p.Kind == search.Integer {
				kind = study.KindInteger
			}
			s.Parameters = append(s.Parameters, study.Parameter{Name: p.Name, Kind: kind, Unit: r.UnitOf(p.Name), Low: p.Low, High: p.High, Log: p.Log})
		}
	}
	for _, o := range r.Goal.Objectives {
		s.Metrics = append(s.Metrics, study.Metric{Name: o.Metric, Unit: unitOf(o.Metric), Share: metric.IsFraction(o.Metric), Direction: string(o.Direction), Objective: true})
	}
	for _, c := range r.Goal.Constraints {
		direction := study.Minimise
		if c.Relation == search.AtLeast {
			direction = study.Maximise
		}
		s.Metrics = append(s.Metrics, study.Metric{
			Name: c.Metric + " (bound)", Unit: unitOf(c.Metric), Direction: direction, Share: metric.IsFraction(c.Metric), Bound: &study.Bound{Relation: string(c.Relation), Value: c.Value},
		})
	}
	s.Metrics = append(s.Metrics,
		study.Metric{Name: worstGroup, Share: true, Direction: study.Minimise, Objective: true},
		study.Metric{Name: "gain", Share: true, Direction: study.Maximise},
		study.Metric{Name: "p", Direction: study.Minimise})
}

// worstGroup is the other axis of the figure of what is gained at whose expense.
const worstGroup = "worst group waits longer by"

// unitOf is the unit of a measure, "" of one without.
func unitOf(name string) string {
	if unit := metric.UnitOf(name); unit != "1" {
		return unit
	}
	return ""
}

// addRows are the candidates.
func addRows(s *study.Study, r *tune.Report, dir string) {
	for i := range r.Tried {
		t := &r.Tried[i]
		row := study.Row{ID: fmt.Sprint(i + 1), Name: t.Name, Feasible: t.Out == "", Evidence: r.Counted()}
		switch {
		case r.Verdict == tune.Change && t.Name == r.About:
			row.Role = study.RoleChosen
		case t.Role == tune.Current:
			row.Role = study.RoleCurrent
		case t.Role == tune.Baseline:
			row.Role = study.RoleBaseline
		}
		switch {
		case t.Out != "":
			row.Verdict = t.Out
		case t.WorstGroup != "":
			row.Verdict = "harms " + t.WorstGroup + " most"
		}
		if t.Overloaded {
			row.State = "overloaded"
		}
		row.Values = metric.Numbers(t.Values()...)
		for len(row.Values) < len(s.Parameters) {
			row.Values = append(row.Values, metric.Undefined)
		}
		worse := t.Worse
		if t.Role == tune.Current {
			worse = 0
		}
		row.Metrics = append(slices.Clone(t.Metrics), worse, t.Gain, t.P)
		run := t.Task()
		id := sweep.DigestOf(run.JSON()).String()
		row.Commands, row.Link = studypage.Commands("study", id[:12], studypage.FilesOf(&run.Spec)), studypage.RunPage(dir, "study", id)
		if len(run.Spec.Site) == 0 {
			row.Values = plainValues(s, &run.Spec)
		}
		s.Rows = append(s.Rows, row)
	}
}

// plainSettings are what differs between the candidates of a plain cluster.
func plainSettings(r *tune.Report) []study.Parameter {
	order, backfill := study.Parameter{Name: "order", Kind: study.KindChoice}, study.Parameter{Name: "backfill", Kind: study.KindChoice}
	for i := range r.Tried {
		run := r.Tried[i].Task()
		if run.Spec.Trace == "" || len(run.Spec.Site) > 0 {
			return nil
		}
		a, b := plainOf(&run.Spec)
		if !slices.Contains(order.Choices, a) {
			order.Choices = append(order.Choices, a)
		}
		if !slices.Contains(backfill.Choices, b) {
			backfill.Choices = append(backfill.Choices, b)
		}
	}
	if len(order.Choices) == 0 {
		return nil
	}
	return []study.Parameter{order, backfill}
}

// plainOf are the order and the backfilling of a plain cluster.
func plainOf(spec *plan.Spec) (order, backfill string) {
	order, backfill = cmp.Or(spec.Order, "fcfs"), cmp.Or(spec.Backfill, "easy")
	if spec.Depth > 0 {
		backfill += fmt.Sprintf(":%d", spec.Depth)
	}
	return order, backfill
}

// plainValues are the settings of a candidate of a plain cluster.
func plainValues(s *study.Study, spec *plan.Spec) []metric.Number {
	order, backfill := plainOf(spec)
	return metric.Numbers(float64(slices.Index(s.Parameters[0].Choices, order)), float64(slices.Index(s.Parameters[1].Choices, backfill)))
}

// addHistory is how the search went, for its first objective.
func addHistory(s *study.Study, r *tune.Report) {
	if len(r.Search) == 0 {
		return
	}
	curve := study.HistoryCurve{Name: r.Method}
	for i := range r.Search {
		h := &r.Search[i]
		curve.Best, curve.Each = append(curve.Best, h.Best), append(curve.Each, h.Metrics[0])
	}
	first := &s.Metrics[0]
	history := study.History{Metric: first.Name, Unit: first.Unit, Curves: []study.HistoryCurve{curve}}
	if x := r.Tried[0].Metrics[0]; x.Defined() {
		history.Lines = append(history.Lines, study.HistoryLine{Name: r.Current, Value: x})
	}
	s.Histories = append(s.Histories, history)
}
