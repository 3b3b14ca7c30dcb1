package experiment

import (
	"cmp"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/task"
)

// Column is a metric in a window, of the objectives, the constraints and what else
// is shown.
type Column struct {
	Metric    string
	Window    string
	Unit      string
	Objective bool
	Maximise  bool
	AtMost    *float64
	AtLeast   *float64
}

// Name is the metric, with the window where it is not the usual one.
func (c *Column) Name() string {
	if c.Window == metric.All {
		return c.Metric + " (all)"
	}
	return c.Metric
}

// Row is what came of a point: the means of its metrics over the scenarios.
type Row struct {
	Point    int // in Plan.Points
	Values   []float64
	Have     []bool // by column: the value is defined in every scenario that is done
	Done     int    // scenarios with a result
	Failed   int    // that failed
	Verdict  metric.Verdict
	Broken   bool // a constraint is not kept
	Feasible bool // all scenarios are done, none is overloaded, all constraints are kept
	Front    bool // no feasible row is better in every objective
}

// Outcomes looks a task up by its id: its result, or its failure, or neither
// while it is not computed.
type Outcomes func(id string) (r *task.Result, failed bool, err error)

// Columns are the metrics of the rows: objectives first, then the other
// constraints, then what is shown beside.
func (p *Plan) Columns() []Column {
	units := map[string]string{}
	for _, d := range slices.Concat(metric.Definitions(), metric.SiteDefinitions()) {
		units[d.Name] = d.Unit
	}
	var out []Column
	find := func(name, window string) *Column {
		for i := range out {
			if out[i].Metric == name && out[i].Window == window {
				return &out[i]
			}
		}
		out = append(out, Column{Metric: name, Window: window, Unit: units[name]})
		return &out[len(out)-1]
	}
	for _, o := range p.Objectives {
		c := find(o.Metric, o.Window)
		c.Objective, c.Maximise = true, o.Maximise
	}
	for _, b := range p.Constraints {
		c := find(b.Metric, b.Window)
		if b.AtMost != nil {
			c.AtMost = b.AtMost
		}
		if b.AtLeast != nil {
			c.AtLeast = b.AtLeast
		}
	}
	for _, name := range p.Show {
		find(name, metric.Steady)
	}
	return out
}

// Rows works out what came of each point, and puts the best first: feasible rows
// by the first objective, then the others. An overloaded run is not held
// against the rest by its waits: they grow with the length of the log. It
// costs the square of the points for the front.
func (p *Plan) Rows(find Outcomes) ([]Row, error) {
	columns := p.Columns()
	var rows []Row
	for i := range p.Points {
		r, err := p.row(i, columns, find)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	for i := range rows {
		rows[i].Front = rows[i].Feasible && !slices.ContainsFunc(rows, func(o Row) bool { return o.Feasible && beats(&o, &rows[i], columns) })
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Feasible != b.Feasible {
			return cmp.Compare(rank(a.Feasible), rank(b.Feasible))
		}
		if a.Have[0] != b.Have[0] {
			return cmp.Compare(rank(a.Have[0]), rank(b.Have[0]))
		}
		if a.Have[0] && a.Values[0] != b.Values[0] {
			c := cmp.Compare(a.Values[0], b.Values[0])
			if columns[0].Maximise {
				c = -c
			}
			return c
		}
		return cmp.Compare(a.Point, b.Point)
	})
	return rows, nil
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func (p *Plan) row(i int, columns []Column, find Outcomes) (Row, error) {
	r := Row{Point: i, Values: make([]float64, len(columns)), Have: make([]bool, len(columns)), Verdict: metric.Unknown}
	got := make([]int, len(columns))
	for _, id := range p.Points[i].Tasks {
		res, failed, err := find(id)
		if err != nil {
			return r, err
		}
		if failed {
			r.Failed++
		}
		if res == nil {
			continue
		}
		r.Done++
		if worse(res.Verdict, r.Verdict) {
			r.Verdict = res.Verdict
		}
		for j := range columns {
			v, ok := valueOf(res, &columns[j])
			if ok {
				r.Values[j] += v
				got[j]++
			}
		}
	}
	r.Feasible = r.Done == len(p.Points[i].Tasks) && r.Verdict != metric.Overloaded
	for j := range columns {
		c := &columns[j]
		if r.Have[j] = r.Done > 0 && got[j] == r.Done; r.Have[j] {
			r.Values[j] /= float64(got[j])
		}
		bound := c.AtMost != nil || c.AtLeast != nil
		if r.Have[j] && (c.AtMost != nil && r.Values[j] > *c.AtMost || c.AtLeast != nil && r.Values[j] < *c.AtLeast) {
			r.Broken, r.Feasible = true, false
		}
		if (bound || c.Objective) && !r.Have[j] {
			r.Feasible = false
		}
	}
	return r, nil
}

// worse orders verdicts; unknown is none.
func worse(a, b metric.Verdict) bool {
	order := []metric.Verdict{metric.Unknown, metric.Stable, metric.Backlogged, metric.Overloaded}
	return slices.Index(order, a) > slices.Index(order, b)
}

// valueOf is a metric in its window, or in the whole run where there is no
// steady window.
func valueOf(r *task.Result, c *Column) (float64, bool) {
	if c.Window == metric.Steady && r.GroupsOf == metric.Steady {
		return r.Value(c.Metric, metric.Steady)
	}
	return r.Value(c.Metric, metric.All)
}

// beats says that a is no worse than b in every objective, and better in one.
func beats(a, b *Row, columns []Column) bool {
	better := false
	for j := range columns {
		if !columns[j].Objective {
			continue
		}
		x, y := a.Values[j], b.Values[j]
		if columns[j].Maximise {
			x, y = y, x
		}
		if x > y {
			return false
		}
		better = better || x < y
	}
	return better
}
