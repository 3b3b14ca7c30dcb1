package studypage

import (
	"cmp"
	"fmt"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim/experiment"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/task"
)

// Plan is what an experiment comes to, before it is computed.
func Plan(p *experiment.Plan, there int) *doc.Table {
	t := doc.New("what", "count", "remark")
	t.Row("points", len(p.Points), "profiles with settings"+Merged(p))
	var names []string
	for _, s := range p.Scenarios[:min(len(p.Scenarios), 8)] {
		names = append(names, s.Name)
	}
	if len(p.Scenarios) > len(names) {
		names = append(names, "…")
	}
	t.Row("scenarios", len(p.Scenarios), strings.Join(names, "; "))
	if n := len(p.Aside); n > 0 {
		t.Row("windows set aside", n, Aside(p))
	}
	for _, text := range p.Remarks {
		t.Row("begin idle", "", text)
	}
	t.Row("tasks", p.Size(), "")
	t.Row("computed", there, "they are in the study already")
	t.Row("to compute", p.Size()-there, "")
	return t
}

// Merged says how many combinations are left out, as the end of a sentence.
func Merged(p *experiment.Plan) string {
	switch p.Merged {
	case 0:
		return ""
	case 1:
		return "; one combination is like another and left out"
	}
	return fmt.Sprintf("; %d combinations are like others and left out", p.Merged)
}

// Aside names the windows that are no scenarios.
func Aside(p *experiment.Plan) string {
	var names []string
	for _, a := range p.Aside[:min(len(p.Aside), 8)] {
		name := a.Window
		if len(p.Traces) > 1 {
			name = a.Trace + ", " + name
		}
		names = append(names, fmt.Sprintf("%s (%s)", name, table.Counted(a.Jobs, "job")))
	}
	if len(p.Aside) > len(names) {
		names = append(names, "…")
	}
	return fmt.Sprintf("fewer than %d jobs in %s", task.LeastJobs, strings.Join(names, "; "))
}

// Rows is a study for people. Parameters in which no two points differ are
// left out.
func Rows(p *experiment.Plan, rows []experiment.Row) *doc.Table {
	columns := p.Columns()
	varies := make([]bool, len(p.Parameters))
	named := false
	for i := range p.Points {
		named = named || p.Points[i].Name != ""
		for j := range varies {
			varies[j] = varies[j] || p.Points[i].Values[j] != p.Points[0].Values[j]
		}
	}
	heads := []string{"point"}
	if named {
		heads = append(heads, "name")
	}
	for j, v := range varies {
		if v {
			heads = append(heads, p.Parameters[j].Name)
		}
	}
	for j := range columns {
		heads = append(heads, columns[j].Name())
	}
	t := doc.New(append(heads, "state")...)
	for j := len(columns) - 1; j >= 0; j-- { // those that decide nothing
		if c := &columns[j]; !c.Objective && c.AtMost == nil && c.AtLeast == nil {
			t.Optional(c.Name())
		}
	}
	for i := range rows {
		r := &rows[i]
		q := &p.Points[r.Point]
		cells := []any{q.ID}
		if named {
			cells = append(cells, q.Name)
		}
		for j, v := range varies {
			if v {
				cells = append(cells, cmp.Or(q.Values[j], "-"))
			}
		}
		for j := range columns {
			cells = append(cells, measured(&columns[j], r, j))
		}
		t.Row(append(cells, state(p, r))...)
	}
	return t
}

// measured is a metric of a row.
func measured(c *experiment.Column, r *experiment.Row, j int) doc.Cell {
	if !r.Have[j] {
		return doc.Cell{}
	}
	return cellOf(c, r.Values[j])
}

// cellOf spells a value of a column.
func cellOf(c *experiment.Column, v float64) doc.Cell {
	switch {
	case c.Unit == "s":
		return doc.Quantity(table.Span(v), v)
	case metric.IsFraction(c.Metric):
		return doc.Quantity(fmt.Sprintf("%.2f %%", 100*v), v)
	}
	return doc.Float(v, 2)
}

// state says how a row is to be read.
func state(p *experiment.Plan, r *experiment.Row) doc.Cell {
	var words []string
	if r.Front && len(p.Objectives) > 1 {
		words = append(words, "front")
	}
	if r.Unranked {
		words = append(words, fmt.Sprintf("overloaded in %d of %s: not ranked by waits", r.Load.Over, table.Counted(r.Load.Windows, "window")))
	}
	if r.Failed > 0 {
		words = append(words, fmt.Sprintf("%d of %d failed", r.Failed, len(p.Scenarios)))
	}
	if missing := len(p.Scenarios) - r.Done - r.Failed; missing > 0 {
		words = append(words, fmt.Sprintf("%d of %d to compute", missing, len(p.Scenarios)))
	}
	columns := p.Columns()
	for _, j := range r.Broken {
		words = append(words, "breaks "+brokenText(p, &columns[j], r, j))
	}
	if !r.Feasible && len(words) == 0 {
		words = append(words, "not measured")
	}
	text := strings.Join(words, ", ")
	c := doc.Cell{Text: text, JSON: text}
	if !r.Feasible {
		return c.In(doc.Bad)
	}
	return c
}

// brokenText says which bound a row breaks, where and by how much.
func brokenText(p *experiment.Plan, c *experiment.Column, r *experiment.Row, j int) string {
	k, _ := c.Constraint()
	text := fmt.Sprintf("%s %s %s by %s", c.Metric, k.Relation, cellOf(c, k.Value).Text, search.Beyond(k.Beyond(r.Values[j])))
	if len(p.Scenarios) > 1 {
		text += " in " + p.Scenarios[r.Worst[j]].Name
	}
	return text
}

// Points is what -o json prints.
type Points struct {
	Schema    int                `json:"schema"` // 3
	Name      string             `json:"name"`
	Scenarios []string           `json:"scenarios"`
	Files     []string           `json:"files,omitempty"`    // scenario files, as the experiment names them
	Aside     []experiment.Aside `json:"aside,omitempty"`    // windows with too few jobs, which are no scenarios
	LeftOut   int                `json:"left_out,omitempty"` // scenarios in which every point is overloaded
	Unheeded  []string           `json:"unheeded,omitempty"` // what was asked for and not met, to be read before the figures
	Remarks   []string           `json:"remarks,omitempty"`  // to be read beside the figures
	Settings  []setting          `json:"settings"`           // that points set
	Points    []point            `json:"points"`             // the best first
	Columns   []column           `json:"columns"`
}

type setting struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // of its numbers
}

type column struct {
	Metric    string   `json:"metric"`
	Window    string   `json:"window"`
	Unit      string   `json:"unit"`
	Value     string   `json:"value"` // mean or worst, over the scenarios
	Objective string   `json:"objective,omitempty"`
	AtMost    *float64 `json:"at_most,omitempty"`
	AtLeast   *float64 `json:"at_least,omitempty"`
}

type point struct {
	ID       string         `json:"id"`
	Name     string         `json:"name,omitempty"`
	Set      map[string]any `json:"set"`    // spans in seconds, words as they are
	Values   []*float64     `json:"values"` // by column
	Broken   []broken       `json:"broken,omitempty"`
	Verdict  metric.Verdict `json:"verdict"`
	Feasible bool           `json:"feasible"`
	Front    bool           `json:"front"`
	Done     int            `json:"done"`
	Failed   int            `json:"failed"`
	Tasks    []string       `json:"tasks"` // by scenario
	Under    []under        `json:"under,omitempty"`
}

// under is what came of a point under one scenario file.
type under struct {
	File   string     `json:"file"`
	Values []*float64 `json:"values"` // by column
}

// broken is a constraint that a point does not keep.
type broken struct {
	Metric   string  `json:"metric"`
	Beyond   float64 `json:"beyond"`   // as a fraction of the bound, of 1 where that is 0
	Scenario string  `json:"scenario"` // in which it is furthest beyond
}

// Document is what -o json prints of a study.
func Document(p *experiment.Plan, rows []experiment.Row) Points {
	out := Points{Schema: 3, Name: p.Name, Aside: p.Aside, Unheeded: experiment.Unheeded(rows), Remarks: p.Remarks, Files: p.Files(), Points: []point{}}
	if len(rows) > 0 {
		out.LeftOut = rows[0].Aside
	}
	for _, s := range p.Scenarios {
		out.Scenarios = append(out.Scenarios, s.Name)
	}
	for _, q := range p.Parameters {
		out.Settings = append(out.Settings, setting{q.Name, q.Unit})
	}
	columns := p.Columns()
	for i := range columns {
		c := &columns[i]
		value := "mean"
		if _, bound := c.Constraint(); bound {
			value = "worst"
		}
		out.Columns = append(out.Columns, column{c.Metric, c.Window, c.Unit, value, direction(c), c.AtMost, c.AtLeast})
	}
	for i := range rows {
		r := &rows[i]
		q := &p.Points[r.Point]
		x := point{ID: q.ID, Name: q.Name, Set: map[string]any{}, Verdict: r.Verdict, Feasible: r.Feasible, Front: r.Front, Done: r.Done, Failed: r.Failed, Tasks: q.Tasks}
		for j, v := range q.Values {
			if v != "" {
				x.Set[p.Parameters[j].Name] = settingValue(&p.Parameters[j], v, q.At[j])
			}
		}
		for j := range columns {
			var v *float64
			if r.Have[j] {
				v = &r.Values[j]
			}
			x.Values = append(x.Values, v)
		}
		for _, j := range r.Broken {
			k, _ := columns[j].Constraint()
			x.Broken = append(x.Broken, broken{columns[j].Metric, k.Beyond(r.Values[j]), p.Scenarios[r.Worst[j]].Name})
		}
		for k := range r.Under {
			u := under{File: r.Under[k].File}
			for j := range columns {
				var v *float64
				if r.Under[k].Have[j] {
					v = &r.Under[k].Values[j]
				}
				u.Values = append(u.Values, v)
			}
			x.Under = append(x.Under, u)
		}
		out.Points = append(out.Points, x)
	}
	return out
}

// settingValue is the value of a setting as a number, or the word that it is: all,
// off, easy.
func settingValue(q *experiment.Parameter, text string, number float64) any {
	if q.Numeric && strings.ContainsAny(text[:1], "-+.0123456789") {
		return number
	}
	return text
}

func direction(c *experiment.Column) string {
	switch {
	case !c.Objective:
		return ""
	case c.Maximise:
		return study.Maximise
	}
	return study.Minimise
}
