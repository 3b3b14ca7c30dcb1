package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// mostPairs bounds the objectives of which each pair is drawn: four make six
// figures.
const mostPairs = 4

// mostAxes bounds the axes of a still figure; the page shows the others too.
const mostAxes = 14

// measure is how a figure spells the parameter.
func (s *Study) parameterMeasure(i int) plot.Measure {
	p := &s.Parameters[i]
	m := plot.Measure{Name: p.Name, Unit: p.Unit, Log: p.Log, From: p.Low, To: p.High}
	switch p.Kind {
	case KindChoice:
		m.Labels, m.To = p.Choices, 0
	case KindWeight:
		m.From, m.To = 0, 0
		for k := range s.Rows {
			if v := s.Rows[k].Values[i]; v.Defined() {
				m.To = max(m.To, float64(v))
			}
		}
	}
	return m
}

func (m *Metric) measure() plot.Measure {
	return plot.Measure{Name: m.Name, Unit: m.Unit, Share: m.isShare(), Better: m.sense()}
}

// isShare says whether the metric is said in percent: when it says so, or is
// one of ours that is. A window may stand behind its name.
func (m *Metric) isShare() bool {
	name, _, _ := strings.Cut(m.Name, " (")
	return m.Share || page.IsShare(name)
}

func (m *Metric) sense() int {
	switch m.Direction {
	case Minimise:
		return -1
	case Maximise:
		return 1
	}
	return 0
}

// named is how a figure spells a metric that is named only.
func (s *Study) named(metric, unit string) plot.Measure {
	for i := range s.Metrics {
		if s.Metrics[i].Name == metric {
			return s.Metrics[i].measure()
		}
	}
	return plot.Measure{Name: metric, Unit: unit}
}

// setting is how a figure spells a parameter that is named only.
func (s *Study) setting(name string) plot.Measure {
	for i := range s.Parameters {
		if s.Parameters[i].Name == name {
			return s.parameterMeasure(i)
		}
	}
	return plot.Measure{Name: name}
}

func (r *Row) standing() plot.Standing {
	switch {
	case r.Role == RoleChosen:
		return plot.Chosen
	case r.Role == RoleCurrent:
		return plot.Current
	case r.Role == RoleBaseline:
		return plot.Baseline
	case !r.Feasible:
		return plot.Refused
	case r.Front:
		return plot.Front
	}
	return plot.Tried
}

func (r *Row) label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID
}

// objectives are the indices of the objectives among the metrics.
func (s *Study) objectives() []int {
	var out []int
	for i := range s.Metrics {
		if s.Metrics[i].Objective {
			out = append(out, i)
		}
	}
	return out
}

// ranked are the indices of the rows: what is recommended, what is current,
// baselines, the front, all others; each of these by the first objective, what
// has no value last.
func (s *Study) ranked() []int {
	out := make([]int, len(s.Rows))
	for i := range out {
		out[i] = i
	}
	objectives := s.objectives()
	cost := func(i int) float64 {
		if len(objectives) == 0 {
			return 0
		}
		v := s.Rows[i].Metrics[objectives[0]]
		if !v.Defined() {
			return math.Inf(1)
		}
		return -float64(s.Metrics[objectives[0]].sense()) * float64(v)
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.Rows[b].rank(), s.Rows[a].rank()), cmp.Compare(cost(a), cost(b)))
	})
	return out
}

// rank puts what breaks a bound behind what does not, but for what is current.
func (r *Row) rank() int {
	if !r.Feasible && r.Role == RoleBaseline {
		return int(plot.Refused)
	}
	return int(r.standing())
}

// candidates are the rows in the given order with the values of some
// parameters and metrics.
func (s *Study) candidates(order, parameters, metrics []int) []plot.Candidate {
	out := make([]plot.Candidate, 0, len(order))
	for _, i := range order {
		r := &s.Rows[i]
		c := plot.Candidate{Name: r.label(), Standing: r.standing()}
		for _, k := range parameters {
			c.At = append(c.At, float64(r.Values[k]))
		}
		for _, k := range metrics {
			c.At = append(c.At, float64(r.Metrics[k]))
		}
		out = append(out, c)
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// figures draws what the study has data for, in the order of the page.
func (s *Study) figures() []*plot.Figure {
	out := s.tradeOffs()
	if f := s.parallel(); f != nil {
		out = append(out, f)
	}
	if f := s.heatMap(); f != nil {
		out = append(out, f)
	}
	for i, h := range s.Histories {
		out = append(out, s.history(numbered("history", i), h))
	}
	for i, e := range s.Sensitivity {
		out = append(out, sensitivityFigure(numbered("sensitivity", i), e))
	}
	for i, e := range s.Interactions {
		out = append(out, s.interaction(numbered("interaction", i), e))
	}
	for i, e := range s.Shares {
		out = append(out, sharesFigure(numbered("shares", i), e))
	}
	return out
}

// numbered names the first of its kind plainly and counts the others.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

func (s *Study) tradeOffs() []*plot.Figure {
	var out []*plot.Figure
	objectives := s.objectives()
	if len(s.Rows) == 0 {
		return nil
	}
	if len(objectives) == 1 { // seen beside what may not get worse
		if k := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Bound != nil && !m.Objective && m.Direction != "" }); k >= 0 {
			all := s.candidates(upTo(len(s.Rows)), nil, []int{k, objectives[0]})
			return []*plot.Figure{plot.TradeOff("pareto", s.Metrics[k].measure(), s.Metrics[objectives[0]].measure(), all, false)}
		}
	}
	objectives = objectives[:min(len(objectives), mostPairs)]
	for i, a := range objectives {
		for _, b := range objectives[i+1:] {
			all := s.candidates(upTo(len(s.Rows)), nil, []int{a, b})
			out = append(out, plot.TradeOff(numbered("pareto", len(out)), s.Metrics[a].measure(), s.Metrics[b].measure(), all, len(s.objectives()) == 2))
		}
	}
	return out
}

// axes are the parameters and objectives that a still figure has room for,
// objectives before parameters where there is not.
func (s *Study) axes() (parameters, metrics []int, measures []plot.Measure) {
	metrics = s.objectives()
	metrics = metrics[:min(len(metrics), mostAxes)]
	parameters = upTo(min(len(s.Parameters), mostAxes-len(metrics)))
	for _, i := range parameters {
		measures = append(measures, s.parameterMeasure(i))
	}
	for _, i := range metrics {
		measures = append(measures, s.Metrics[i].measure())
	}
	return parameters, metrics, measures
}

func (s *Study) parallel() *plot.Figure {
	parameters, metrics, measures := s.axes()
	if len(measures) < 2 || len(s.Rows) == 0 {
		return nil
	}
	return plot.Parallel("parallel", measures, s.candidates(upTo(len(s.Rows)), parameters, metrics))
}

func (s *Study) heatMap() *plot.Figure {
	parameters, metrics, measures := s.axes()
	if len(measures) == 0 || len(s.Rows) == 0 {
		return nil
	}
	return plot.Table("settings", measures, s.candidates(s.ranked(), parameters, metrics))
}

func floats(in []metric.Number) []float64 {
	if in == nil {
		return nil
	}
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

func (s *Study) history(name string, h History) *plot.Figure {
	var curves []plot.Progress
	for _, c := range h.Curves {
		curves = append(curves, plot.Progress{Name: c.Name, Best: floats(c.Best), Each: floats(c.Each), Low: floats(c.Low), High: floats(c.High)})
	}
	var lines []plot.Line
	for _, l := range h.Lines {
		lines = append(lines, plot.Line{Name: l.Name, Value: float64(l.Value)})
	}
	return plot.SearchHistory(name, s.named(h.Metric, h.Unit), curves, lines)
}

func sensitivityFigure(name string, e Sensitivity) *plot.Figure {
	var effects []plot.Effect
	for _, p := range e.Parts {
		effects = append(effects, plot.Effect{Name: p.Parameter, Value: float64(p.Effect), Low: float64(p.Low), High: float64(p.High), Influence: p.Influence})
	}
	axis, floor := "effect on "+e.Metric, 0.0 // 0 draws none
	if e.Share {
		axis = "part of the variance of " + e.Metric
	}
	if e.Floor.Defined() {
		floor = float64(e.Floor)
	}
	return plot.Sensitivity(name, e.Metric, plot.Measure{Name: axis, Unit: e.Unit, Share: e.Share}, e.What, effects, floor)
}

func (s *Study) interaction(name string, e Interaction) *plot.Figure {
	g := plot.Lattice{
		First: s.setting(e.First), Second: s.setting(e.Second), FirstAt: e.FirstAt, SecondAt: e.SecondAt,
		Joint: float64(e.JointShare), Floor: float64(e.Floor),
	}
	for _, row := range e.Values {
		g.Values = append(g.Values, floats(row))
	}
	return plot.Interaction(name, s.named(e.Metric, ""), g)
}

func sharesFigure(name string, e ShareSeries) *plot.Figure {
	var tenants []plot.Tenant
	for _, t := range e.Tenants {
		tenants = append(tenants, plot.Tenant{Name: t.Name, Shares: floats(t.Shares), Target: float64(t.Target)})
	}
	title := "What each tenant held over time"
	if e.Title != "" {
		title += ": " + e.Title
	}
	return plot.SharesOverTime(name, title, e.Unit, e.StartUS, e.WidthUS, tenants, floats(e.Held), plot.Clock{EpochUS: e.EpochUS, Known: e.Known})
}
