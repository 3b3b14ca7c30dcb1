package study

import (
	"strings"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// mostBest bounds the rows of the still table.
const mostBest = 40

// tiles are the figures at the head of the page.
func (s *Study) tiles() []doc.Tile {
	if len(s.Headlines) > 0 {
		return s.Headlines
	}
	feasible, front := int64(0), int64(0)
	for i := range s.Rows {
		if s.Rows[i].Feasible {
			feasible++
		}
		if s.Rows[i].Front {
			front++
		}
	}
	out := []doc.Tile{{Value: plot.Count(int64(len(s.Rows))), Label: "candidates"}}
	if feasible < int64(len(s.Rows)) {
		out = append(out, doc.Tile{Value: plot.Count(feasible), Label: "keep all bounds"})
	}
	if len(s.objectives()) > 1 {
		out = append(out, doc.Tile{Value: plot.Count(front), Label: "on the front"})
	}
	for _, k := range s.objectives() {
		m := s.Metrics[k].measure()
		chosen, current := s.first(RoleChosen), s.first(RoleCurrent)
		switch {
		case chosen != nil && current != nil:
			out = append(out, doc.Tile{Value: m.Say(float64(chosen.Metrics[k])), Label: m.Name + " as recommended, now " + m.Say(float64(current.Metrics[k]))})
		case chosen != nil:
			out = append(out, doc.Tile{Value: m.Say(float64(chosen.Metrics[k])), Label: m.Name + " as recommended"})
		case current != nil:
			out = append(out, doc.Tile{Value: m.Say(float64(current.Metrics[k])), Label: m.Name + " now"})
		}
	}
	return out
}

// first is the first row of a role, nil when there is none.
func (s *Study) first(role string) *Row {
	for i := range s.Rows {
		if s.Rows[i].Role == role {
			return &s.Rows[i]
		}
	}
	return nil
}

// measured is a number as the page spells it.
func measured(m plot.Measure, v metric.Number) doc.Cell {
	if !v.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(m.Say(float64(v)), float64(v))
}

// bestTable are the best rows, and how many it leaves out.
func (s *Study) bestTable() (t *doc.Table, more int) {
	heads := []string{"candidate"}
	var measures []plot.Measure
	for i := range s.Parameters {
		measures = append(measures, s.parameterMeasure(i))
	}
	for i := range s.Metrics {
		measures = append(measures, s.Metrics[i].measure())
	}
	for _, m := range measures {
		heads = append(heads, m.Name)
	}
	heads = append(heads, "verdict")
	if s.commanded() {
		heads = append(heads, "commands")
	}
	t = doc.New(heads...)
	order := s.ranked()
	for k := range measures {
		all := make([]float64, len(s.Rows))
		for i := range s.Rows {
			if all[i] = float64(metric.Undefined); k < len(s.Parameters) {
				all[i] = float64(s.Rows[i].Values[k])
			} else {
				all[i] = float64(s.Rows[i].Metrics[k-len(s.Parameters)])
			}
		}
		measures[k] = measures[k].Separating(all)
	}
	for _, i := range order[:min(len(order), mostBest)] {
		r := &s.Rows[i]
		cells := []any{r.label()}
		for k, v := range append(append([]metric.Number{}, r.Values...), r.Metrics...) {
			c := measured(measures[k], v)
			if j := k - len(s.Parameters); j >= 0 && len(r.Low) > 0 && r.Low[j].Defined() && r.High[j].Defined() {
				c.Text += " (" + measures[k].Say(float64(r.Low[j])) + " to " + measures[k].Say(float64(r.High[j])) + ")"
			}
			cells = append(cells, c)
		}
		cells = append(cells, r.says())
		if s.commanded() {
			cells = append(cells, strings.Join(r.Commands, "; "))
		}
		t.Row(cells...)
	}
	return t, len(order) - t.Len()
}

// addTables adds what the page shows below the figures.
func (s *Study) addTables(p *page.Page) {
	bounds := doc.New("metric", "wanted", "bound")
	for i := range s.Metrics {
		m := &s.Metrics[i]
		want := doc.Cell{}
		if m.Objective {
			want = doc.Cell{Text: m.Direction, JSON: m.Direction}
		}
		if m.Objective || m.Bound != nil {
			bounds.Row(m.Name, want, m.bound())
		}
	}
	facts := doc.New("what", "value")
	for _, f := range s.Facts {
		facts.Row(f.Name, f.Value)
	}
	p.Add("groups", "For which jobs", doc.Show(s.groupTable()))
	p.Add("influence", "What each setting does", doc.Show(s.sensitivityTable()))
	p.Add("goal", "What was asked for", doc.Show(bounds))
	p.Add("facts", "Provenance", doc.Show(facts))
}

func (s *Study) groupTable() *doc.Table {
	t := doc.New("group", "name", "jobs", "metric", "before", "after", "change", "interval of the change", "verdict")
	for _, g := range s.Groups {
		m := s.named(g.Metric, g.Unit)
		change, interval := doc.Cell{}, ""
		if g.Before.Defined() && g.After.Defined() {
			change = doc.Quantity(signed(m, float64(g.After-g.Before)), float64(g.After-g.Before))
		}
		if g.Low.Defined() && g.High.Defined() {
			interval = signed(m, float64(g.Low)) + " to " + signed(m, float64(g.High))
		}
		t.Row(g.By, g.Name, page.CountCell(g.Jobs), g.Metric, measured(m, g.Before), measured(m, g.After), change, interval, g.Verdict)
	}
	return t
}

// signed spells a difference.
func signed(m plot.Measure, v float64) string {
	if v > 0 {
		return "+" + m.Say(v)
	}
	return m.Say(v)
}

func (s *Study) sensitivityTable() *doc.Table {
	t := doc.New("metric", "setting", "effect", "interval", "influence", "what an effect is")
	for _, e := range s.Sensitivity {
		m := plot.Measure{Unit: e.Unit, Share: e.Share}
		for _, p := range e.Parts {
			interval := ""
			if p.Low.Defined() && p.High.Defined() {
				interval = m.Say(float64(p.Low)) + " to " + m.Say(float64(p.High))
			}
			t.Row(e.Metric, p.Parameter, measured(m, p.Effect), interval, p.Influence, e.What)
		}
	}
	return t
}
