// Package studypage turns what came of the points of an experiment into tables, documents
// and the report of a study. It must not know flags, nor how points are computed.
package studypage

import (
	"fmt"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/study"
	"orrery/sim/experiment"
	"orrery/sim/metric"
	"orrery/sim/stat"
)

// Report is a sweep as reports draw it. Its study lies in dir; of names the files of a
// point.
func Report(dir string, p *experiment.Plan, rows []experiment.Row, of func(*experiment.Point) Files) *study.Study {
	s := &study.Study{Name: studyName(p), Kind: "sweep", Unheeded: experiment.Unheeded(rows), Warn: slices.Clone(p.Remarks), Facts: []doc.Fact{
		{Name: "points", Value: plot.Count(int64(len(p.Points)))}, {Name: "scenarios", Value: plot.Count(int64(len(p.Scenarios)))},
	}}
	if p.Description != "" {
		s.Summary = append(s.Summary, p.Description)
	}
	for _, t := range p.Traces {
		s.Facts = append(s.Facts, doc.Fact{Name: "trace", Value: fmt.Sprintf("%s, %s jobs, %s", t.Name, plot.Count(t.Jobs), t.Hash[:12])})
	}
	if files := p.Files(); len(files) > 0 {
		s.Facts = append(s.Facts, doc.Fact{Name: "scenario files", Value: strings.Join(files, "; ")})
	}
	s.Sections = underSection(p, rows)
	for j := range p.Parameters {
		s.Parameters = append(s.Parameters, reportParameter(p, j))
	}
	columns := p.Columns()
	for i := range columns {
		s.Metrics = append(s.Metrics, reportMetric(&columns[i]))
	}
	for i := range rows {
		r := &rows[i]
		q := &p.Points[r.Point]
		row := study.Row{ID: q.ID, Name: q.Name, Feasible: r.Feasible, Front: r.Front, State: state(p, r).Text, Evidence: r.Done}
		if row.State == "front" {
			row.State = ""
		}
		if i == 0 && len(rows) > 1 && slices.ContainsFunc(rows, func(o experiment.Row) bool { return o.Behind.Known() }) {
			row.Verdict = "first"
		} else {
			row.Verdict = Behind(r, &columns[0])
		}
		if row.Name == "" && len(q.Values) <= mostNaming {
			row.Name = settingsOf(p, q)
		}
		row.Commands = Commands(".", q.ID, of(q))
		if len(q.Tasks) > 0 { // a window of a point is made when there are several
			row.Link = RunPage(dir, "", q.Tasks[0])
		}
		for j, i := range r.Ranges {
			low, high := possible(i, r.Values[j], s.Metrics[j].Share)
			row.Low, row.High = append(row.Low, metric.Number(low)), append(row.High, metric.Number(high))
		}
		for j := range p.Parameters {
			row.Values = append(row.Values, reportValue(&s.Parameters[j], q, j))
		}
		for j := range columns {
			v := metric.Undefined
			if r.Have[j] {
				v = metric.Number(r.Values[j])
			}
			row.Metrics = append(row.Metrics, v)
		}
		s.Rows = append(s.Rows, row)
	}
	if text := firstSentence(s, rows); text != "" {
		s.Summary = append(s.Summary, text)
	}
	return s
}

// mostNaming settings name a point that has no name.
const mostNaming = 4

// possible cuts an interval off where the values end: no metric that is positive can be
// below 0, and no share above 1.
func possible(i stat.Interval, value float64, share bool) (low, high float64) {
	low, high = i.Low, i.High
	if value >= 0 {
		low = max(low, 0)
	}
	if share && value <= 1 {
		high = min(high, 1)
	}
	return low, high
}

// firstSentence says which point is first, and for how many there is no
// evidence of a difference.
func firstSentence(s *study.Study, rows []experiment.Row) string {
	Behind, alike := 0, 0
	for i := range s.Rows {
		switch s.Rows[i].Verdict {
		case NotTold:
			alike++
		case stat.Worse.String():
			Behind++
		}
	}
	if Behind+alike == 0 || len(s.Metrics) == 0 {
		if len(rows) < 2 {
			return ""
		}
		return fmt.Sprintf("Whether the points differ by more than noise is not known: it takes %d windows or more (orrery sweep --windows).", experiment.LeastWindows)
	}
	out := fmt.Sprintf("By %s the first is %s. Over %d windows %s worse; for %s there is no evidence of a difference.", s.Metrics[0].Name, s.Rows[0].Name, rows[0].Load.Windows, are(Behind), others(alike))
	return out + " Each point is compared with the first window by window, by its own 95 % interval; the intervals in the table are of the means, over the windows."
}

func others(n int) string {
	if n == 1 {
		return "1 other"
	}
	return fmt.Sprintf("%d others", n)
}

func are(n int) string {
	if n == 1 {
		return others(n) + " is"
	}
	return others(n) + " are"
}

// ByFlags is the name of an experiment that flags make.
const ByFlags = "flags"

// studyName is the name of an experiment; one that was made by flags has those of its logs.
func studyName(p *experiment.Plan) string {
	if p.Name != ByFlags || len(p.Traces) == 0 {
		return p.Name
	}
	names := make([]string, len(p.Traces))
	for i, t := range p.Traces {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

func reportParameter(p *experiment.Plan, j int) study.Parameter {
	q := &p.Parameters[j]
	out := study.Parameter{Name: q.Name, Unit: q.Unit, Low: q.Low, High: q.High, Log: q.Log}
	switch {
	case q.Weight:
		out.Kind = study.KindWeight
	case q.Whole:
		out.Kind = study.KindInteger
	case q.Numeric:
		out.Kind = study.KindReal
	default:
		out.Kind, out.Unit = study.KindChoice, ""
		for i := range p.Points {
			if v := p.Points[i].Values[j]; v != "" && !slices.Contains(out.Choices, v) {
				out.Choices = append(out.Choices, v)
			}
		}
		if len(out.Choices) == 0 {
			out.Choices = []string{"-"}
		}
	}
	return out
}

func reportValue(s *study.Parameter, q *experiment.Point, j int) metric.Number {
	switch {
	case q.Values[j] == "":
		return metric.Undefined
	case s.Kind == study.KindChoice:
		return metric.Number(slices.Index(s.Choices, q.Values[j]))
	}
	return metric.Number(q.At[j])
}

// unitWord is a unit as pages have it: none of a plain number.
func unitWord(unit string) string {
	if unit == "1" {
		return ""
	}
	return unit
}

func reportMetric(c *experiment.Column) study.Metric {
	out := study.Metric{Name: c.Name(), Unit: unitWord(c.Unit), Objective: c.Objective, Direction: direction(c), Share: metric.IsFraction(c.Metric)}
	switch {
	case c.AtMost != nil:
		out.Bound = &study.Bound{Relation: "<=", Value: *c.AtMost}
	case c.AtLeast != nil:
		out.Bound = &study.Bound{Relation: ">=", Value: *c.AtLeast}
	}
	return out
}

// NotTold is the verdict on a point whose interval holds 0.
const NotTold = "no evidence of a difference"

// Behind says how a row of a sweep stands to the first one, by its interval.
func Behind(r *experiment.Row, c *experiment.Column) string {
	switch {
	case !r.Behind.Known():
		return ""
	case c.Maximise && r.Behind.High < 0, !c.Maximise && r.Behind.Low > 0:
		return stat.Worse.String()
	case c.Maximise && r.Behind.Low > 0, !c.Maximise && r.Behind.High < 0:
		return stat.Better.String()
	}
	return NotTold
}
