package experiment

import (
	"cmp"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/stat"
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
	Aside    int           // scenarios set aside, since every point is overloaded there; the same for all rows
	Load     stat.Overload // of the others, by windows
	Unranked bool          // overloaded in too many windows to be ranked by waits
	Broken   bool          // a constraint is not kept
	Feasible bool          // all scenarios are done, it is not unranked, all constraints are kept
	Front    bool          // no feasible row is better in every objective
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
// by the first objective, then the others, and at last those that have no rank,
// by name: waits of overloaded runs grow with the length of the log. It costs the
// square of the points for the front, and 8 bytes for each number of a result.
func (p *Plan) Rows(find Outcomes) ([]Row, error) {
	columns := p.Columns()
	tried := make([][]trial, len(p.Points))
	for i := range p.Points {
		for _, id := range p.Points[i].Tasks {
			t, err := tryOf(id, columns, find)
			if err != nil {
				return nil, err
			}
			tried[i] = append(tried[i], t)
		}
	}
	aside := make([]bool, len(p.Scenarios))
	byWaits := slices.ContainsFunc(columns, func(c Column) bool { return c.judged() && metric.Lengthens(c.Metric) })
	if byWaits {
		aside = setAside(tried, len(p.Scenarios))
	}
	var rows []Row
	for i := range p.Points {
		rows = append(rows, p.row(i, columns, byWaits, tried[i], aside))
	}
	for i := range rows {
		rows[i].Front = rows[i].Feasible && !slices.ContainsFunc(rows, func(o Row) bool { return o.Feasible && beats(&o, &rows[i], columns) })
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return p.order(&a, &b, columns[0].Maximise) })
	return rows, nil
}

// order puts the better of two rows first.
func (p *Plan) order(a, b *Row, maximise bool) int {
	if c := cmp.Or(cmp.Compare(rank(!a.Unranked), rank(!b.Unranked)), cmp.Compare(rank(a.Feasible), rank(b.Feasible)), cmp.Compare(rank(a.Have[0]), rank(b.Have[0]))); c != 0 {
		return c
	}
	if a.Unranked {
		x, y := &p.Points[a.Point], &p.Points[b.Point]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	}
	if a.Have[0] && a.Values[0] != b.Values[0] {
		c := cmp.Compare(a.Values[0], b.Values[0])
		if maximise {
			c = -c
		}
		return c
	}
	return cmp.Compare(a.Point, b.Point)
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// judged says whether points are ranked or refused by the column.
func (c *Column) judged() bool { return c.Objective || c.AtMost != nil || c.AtLeast != nil }

// trial is what came of a point on one scenario.
type trial struct {
	done, failed bool
	verdict      metric.Verdict
	values       []float64 // by column
	have         []bool
}

func tryOf(id string, columns []Column, find Outcomes) (trial, error) {
	res, failed, err := find(id)
	if err != nil || res == nil {
		return trial{failed: failed}, err
	}
	t := trial{done: true, failed: failed, verdict: res.Verdict, values: make([]float64, len(columns)), have: make([]bool, len(columns))}
	for j := range columns {
		t.values[j], t.have[j] = valueOf(res, &columns[j])
	}
	return t, nil
}

// setAside are the scenarios in which every point is overloaded: they tell none
// from another. One point alone has nobody beside it, and where that is so of all
// scenarios, none is set aside.
func setAside(tried [][]trial, scenarios int) []bool {
	out := make([]bool, scenarios)
	if len(tried) < 2 {
		return out
	}
	for s := range out {
		out[s] = !slices.ContainsFunc(tried, func(of []trial) bool { return of[s].verdict != metric.Overloaded })
	}
	if !slices.Contains(out, false) {
		clear(out)
	}
	return out
}

// row sums up what came of a point; byWaits says that waits judge it.
func (p *Plan) row(i int, columns []Column, byWaits bool, tried []trial, aside []bool) Row {
	r := Row{Point: i, Values: make([]float64, len(columns)), Have: make([]bool, len(columns)), Verdict: metric.Unknown}
	got, counted := make([]int, len(columns)), 0
	for s := range tried {
		t := &tried[s]
		if t.failed {
			r.Failed++
		}
		if t.done {
			r.Done++
		}
		if aside[s] {
			r.Aside++
		}
		if !t.done || aside[s] {
			continue
		}
		counted++
		for j := range columns {
			if t.have[j] {
				r.Values[j] += t.values[j]
				got[j]++
			}
		}
	}
	r.Load, r.Verdict = p.load(tried, aside)
	r.Unranked = byWaits && r.Load.Unranked()
	r.Feasible = r.Done == len(p.Points[i].Tasks) && !r.Unranked
	for j := range columns {
		c := &columns[j]
		if r.Have[j] = counted > 0 && got[j] == counted; r.Have[j] {
			r.Values[j] /= float64(got[j])
		}
		if r.Have[j] && (c.AtMost != nil && r.Values[j] > *c.AtMost || c.AtLeast != nil && r.Values[j] < *c.AtLeast) {
			r.Broken, r.Feasible = true, false
		}
		if c.judged() && !r.Have[j] {
			r.Feasible = false
		}
	}
	return r
}

// load counts the windows in which a point is overloaded, and gives the verdict
// of it: the worst of its windows, but OVERLOADED only when chance does not
// explain it.
func (p *Plan) load(tried []trial, aside []bool) (stat.Overload, metric.Verdict) {
	var o stat.Overload
	worst := metric.Unknown
	for s := 0; s < len(tried); {
		done, over, begin := 0, 0, s
		for ; s < len(tried) && p.sameWindow(begin, s); s++ {
			if !tried[s].done || aside[s] {
				continue
			}
			done++
			v := tried[s].verdict
			if v == metric.Overloaded {
				over, v = over+1, metric.Backlogged
			}
			if worse(v, worst) {
				worst = v
			}
		}
		if done > 0 {
			o.Windows++
		}
		if stat.Half(over, done) {
			o.Over++
		}
	}
	if o.Spare = stat.Spare(o.Windows); o.Unranked() {
		worst = metric.Overloaded
	}
	return o, worst
}

// sameWindow says whether two scenarios are seeds of one window.
func (p *Plan) sameWindow(i, j int) bool {
	a, b := &p.Scenarios[i], &p.Scenarios[j]
	return a.Trace == b.Trace && (a.Window == b.Window || a.Window != nil && b.Window != nil && *a.Window == *b.Window)
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
