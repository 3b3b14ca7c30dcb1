package tune

import (
	"fmt"
	"strings"

	"orrery/internal/doc"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
)

// pageSensitivity says what each setting does: everywhere, beside the chosen
// point, and two by two.
func (r *Report) pageSensitivity(p *draft) {
	if len(r.Sensitivity) == 0 && len(r.Slopes) == 0 {
		return
	}
	p.head("Which settings matter")
	for i := range r.Sensitivity {
		s := &r.Sensitivity[i]
		p.say("%s", s.says())
		p.add(doc.Show(s.Table()))
	}
	r.pageSlopes(p)
	for i := range r.Joint {
		r.pageJoint(p, &r.Joint[i])
	}
}

// Table has what each setting does to the metric.
func (s *Sensitivity) Table() *doc.Table {
	t := doc.New("setting", "change", "its interval", "sigma per range", "alone", "between", "in all", "at least to at most", "influence").Optional("sigma per range").Optional("between", "its interval")
	say := func(x float64) string { return said(metric.Number(x), s.Metric) }
	part := func(n metric.Number, text string) doc.Cell { return doc.Quantity(text, n) }
	for k, m := range s.Parts {
		t.Row(m.Setting, part(m.Change.Estimate, say(float64(m.Change.Estimate))), span(m.Change, say), part(m.Sigma, say(float64(m.Sigma))),
			part(m.First.Estimate, share(m.First.Estimate)), span(m.First, shareOf), part(m.Total.Estimate, share(m.Total.Estimate)), span(m.Total, shareOf), s.said(k))
	}
	return t
}

// says what the figures of a table are.
func (s *Sensitivity) says() string {
	var out []string
	if len(s.Parts) > 0 && s.Parts[0].Change.Estimate.Defined() {
		out = append(out, "the mean change when a setting moves by two thirds of its range, from anywhere (Morris)")
	}
	if v := s.Spread; v != nil && v.Rows >= leastRows {
		out = append(out, fmt.Sprintf("the part of its variance that a setting explains alone and in all, together with the others (Sobol indices from %d points, %d rows); all settings alone explain %s of it",
			v.Points, v.Rows, share(v.Alone)))
	}
	text := fmt.Sprintf("What each setting does to %s on the first %d windows: %s. A setting is inert when the whole interval lies within the noise, %s: parts of the variance are then parts of noise.",
		s.Metric, s.Runs, strings.Join(out, "; "), said(s.Floor, s.Metric))
	if v := s.Spread; v != nil && v.Dropped > 0 {
		text += fmt.Sprintf(" %d rows of the base sample are left out, since a point of theirs is overloaded or has no value", v.Dropped)
		if v.Rows < leastRows {
			text += ", and too few are left for Sobol indices"
		}
		text += "."
	}
	return text
}

func (r *Report) pageSlopes(p *draft) {
	if len(r.Slopes) == 0 {
		return
	}
	p.say("Beside %s, per whole range of a setting, or the difference that another choice makes:", r.Around)
	t := doc.New("setting", "metric", "slope", "noise", "at a step of", "")
	for _, s := range r.Slopes {
		word := "not clear of the noise"
		if s.Clear {
			word = "clear of the noise"
		}
		name := s.Setting
		if s.To != "" {
			name += ": " + s.To
		}
		t.Row(name, s.Metric, said(s.Slope, s.Metric), said(s.Noise, s.Metric), figure(float64(s.Step)), word)
	}
	p.add(doc.Show(t))
}

// pageJoint is the table of a grid.
func (r *Report) pageJoint(p *draft, g *Joint) {
	joint := ""
	if g.JointShare.Defined() {
		joint = fmt.Sprintf(" The two acting together make up %s of the variation, %s at most; the noise is %s.", share(g.JointShare), said(g.Largest, g.Metric), said(g.Floor, g.Metric))
	}
	p.say("%s over %s (rows) and %s (columns), all else as in %s.%s", g.Metric, g.First, g.Second, r.Around, joint)
	head := []string{""}
	for _, x := range g.SecondAt {
		head = append(head, r.valueText(g.Second, x))
	}
	t := doc.New(head...)
	for i, values := range g.Values {
		row := []any{r.valueText(g.First, g.FirstAt[i])}
		for _, v := range values {
			row = append(row, said(v, g.Metric))
		}
		t.Row(row...)
	}
	p.add(doc.Show(t))
}

// valueText is a value of a setting of the space.
func (r *Report) valueText(setting string, x float64) string {
	for _, p := range r.space {
		if p.Name == setting && p.Kind == search.Choice {
			return p.Choices[int(x)]
		}
	}
	return amount(metric.Number(x), r.UnitOf(setting))
}

// shareOf writes a part in percent.
func shareOf(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func share(n metric.Number) string {
	if !n.Defined() {
		return "–"
	}
	return shareOf(float64(n))
}

// span writes an interval.
func span(r Range, valueText func(float64) string) string {
	if !r.Low.Defined() || !r.High.Defined() {
		return "–"
	}
	return valueText(float64(r.Low)) + " to " + valueText(float64(r.High))
}

// said is what is said of a setting: of one that changed something, and nothing that
// rises above the noise, that.
func (s *Sensitivity) said(k int) string {
	if s.Parts[k].Influence == sensitivity.Inert && !s.idle(k) {
		return "within the noise"
	}
	return s.Parts[k].Influence.String()
}
