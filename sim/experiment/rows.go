package experiment

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// Column is a measure in a window, of the objectives, the constraints and what else
// is shown: its mean over the scenarios, of a constraint its worst.
type Column struct {
	Metric    string // as people write a measure
	Window    string
	Unit      string
	Objective bool
	Maximise  bool
	// One of these is set of a constraint.
	AtMost  *float64
	AtLeast *float64

	measure metric.Measure
}

// Name is the metric, with the window where it is not the usual one, and a word
// where it is no mean.
func (c *Column) Name() string {
	var words []string
	if c.Window == metric.All {
		words = append(words, "all")
	}
	if _, bound := c.Constraint(); bound {
		words = append(words, "worst")
	}
	if len(words) == 0 {
		return c.Metric
	}
	return c.Metric + " (" + strings.Join(words, ", ") + ")"
}

// Constraint is what the column bounds; false when it is no constraint.
func (c *Column) Constraint() (search.Constraint, bool) {
	switch {
	case c.AtMost != nil:
		return search.Constraint{Metric: c.Metric, Relation: search.AtMost, Value: *c.AtMost}, true
	case c.AtLeast != nil:
		return search.Constraint{Metric: c.Metric, Relation: search.AtLeast, Value: *c.AtLeast}, true
	}
	return search.Constraint{}, false
}

// Row is what came of a point on the scenarios.
type Row struct {
	Point  int // in Plan.Points
	Values []float64
	// Have says by column that the value is defined in every scenario that is done,
	// but those in which no point has one.
	Have []bool
	// Worst is the scenario of the value of a constraint, by column.
	Worst    []int
	Done     int // scenarios with a result
	Failed   int // that failed
	Verdict  metric.Verdict
	Aside    int           // scenarios set aside, since every point is overloaded there; the same for all rows
	Load     stat.Overload // of the others, by windows
	Unranked bool          // overloaded in too many windows to be ranked by waits
	Broken   []int         // columns of the constraints that are not kept
	Feasible bool          // all scenarios are done, it is not unranked, all constraints are kept
	Front    bool          // no feasible row is better in every objective
	// Ranges are the intervals of the values over the windows, by column: those of other
	// seeds of a window are first joined to their mean. Unknown with fewer than
	// LeastWindows, and of constraints, whose value is that of one scenario.
	Ranges []stat.Interval
	// Unheeded says what more of the work of a scenario asked for than a replay may leave
	// unmet, where it was allowed to: each sentence once.
	Unheeded []string
	// Behind is the mean difference to the first row in the first column, window by
	// window, with its interval; unknown for the first row, and where a window of either
	// has no value.
	Behind stat.Interval
	// Under is what came of it under each scenario file, where there are several.
	Under []UnderFile
}

// Outcomes looks a task up by its id: its result, or its failure, or neither
// while it is not computed.
type Outcomes func(id string) (r *task.Result, failed bool, err error)

// Columns are the measures of the rows: objectives first, then the constraints, each
// a column of its own, then what is shown beside.
func (p *Plan) Columns() []Column {
	var out []Column
	add := func(name, window string) *Column {
		m, err := metric.ParseMeasure(name)
		if err != nil { // of a plan that was not made here
			m = metric.Measure{Metric: name}
		}
		out = append(out, Column{Metric: name, Window: window, Unit: m.Unit(), measure: m})
		return &out[len(out)-1]
	}
	for _, o := range p.Objectives {
		c := add(o.Metric, o.Window)
		c.Objective, c.Maximise = true, o.Maximise
	}
	for _, b := range p.Constraints {
		c := add(b.Metric, b.Window)
		c.AtMost, c.AtLeast = b.AtMost, b.AtLeast
	}
	for _, name := range p.Show {
		shown := func(c Column) bool { return c.Objective && c.Metric == name && c.Window == metric.Steady }
		if !slices.ContainsFunc(out, shown) {
			add(name, metric.Steady)
		}
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
		for s, id := range p.Points[i].Tasks {
			t, err := p.tryOf(s, id, columns, find)
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
	said := spoken(tried, len(p.Scenarios), len(columns))
	windows := p.windows()
	var rows []Row
	for i := range p.Points {
		rows = append(rows, p.row(i, columns, byWaits, tried[i], aside, said, windows))
		rows[i].Under = p.under(columns, tried[i], said)
	}
	for i := range rows {
		rows[i].Front = rows[i].Feasible && !slices.ContainsFunc(rows, func(o Row) bool { return o.Feasible && dominates(&o, &rows[i], columns) })
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return p.order(&a, &b, columns[0].Maximise) })
	err := p.spread(rows, columns, tried, aside)
	return rows, err
}

// Unheeded are the sentences of all rows, each once: what is to be read before any figure.
func Unheeded(rows []Row) []string {
	var out []string
	for i := range rows {
		out = addNew(out, rows[i].Unheeded)
	}
	return out
}

// addNew appends what a list lacks.
func addNew(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// LeastWindows is from how many windows on a row has intervals.
const LeastWindows = 4

// spread fills in the intervals of the rows.
func (p *Plan) spread(rows []Row, columns []Column, tried [][]trial, aside []bool) error {
	settings, windows := stat.Defaults(), p.windows()
	var first []float64
	for i := range rows {
		r := &rows[i]
		r.Ranges, r.Behind = make([]stat.Interval, len(columns)), unknown()
		for j := range columns {
			r.Ranges[j] = unknown()
			if _, bound := columns[j].Constraint(); bound || !r.Have[j] {
				continue
			}
			values, whole := byWindow(tried[r.Point], j, aside, windows)
			var err error
			if len(values) >= LeastWindows {
				if r.Ranges[j], err = settings.Interval(values); err != nil {
					return err
				}
			}
			switch {
			case j > 0 || !whole:
			case i == 0:
				first = values
			case len(values) == len(first) && len(values) >= LeastWindows:
				for k := range values {
					values[k] -= first[k]
				}
				if r.Behind, err = settings.Interval(values); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func unknown() stat.Interval {
	return stat.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
}

// byWindow are the means of a column over the scenarios of each window that counts;
// whole says that none of these is without a value.
func byWindow(tried []trial, j int, aside []bool, windows []int) (out []float64, whole bool) {
	sum, n := make([]float64, len(tried)), make([]float64, len(tried))
	whole = true
	for s, w := range windows {
		t := &tried[s]
		if aside[s] {
			continue
		}
		if !t.done || !t.have[j] {
			whole = false
			continue
		}
		sum[w], n[w] = sum[w]+t.values[j], n[w]+1
	}
	for w := range sum {
		if n[w] > 0 {
			out = append(out, sum[w]/n[w])
		}
	}
	return out, whole
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
	unheeded     []string
}

func (p *Plan) tryOf(scenario int, id string, columns []Column, find Outcomes) (trial, error) {
	res, failed, err := find(id)
	if err != nil || res == nil {
		return trial{failed: failed}, err
	}
	of := p.Scenarios[scenario].figures(res)
	t := trial{done: true, failed: failed, verdict: res.Verdict, unheeded: res.Unheeded, values: make([]float64, len(columns)), have: make([]bool, len(columns))}
	for j := range columns {
		t.values[j], t.have[j] = valueOf(of, &columns[j])
	}
	return t, nil
}

// setAside are the scenarios in which every point is overloaded: they tell none
// from another. One point alone has no neighbour, and where that is so of all
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

// spoken says by scenario, then by column, whether any point has a value: a scenario
// in which none has says nothing, such as one without a job of the group.
func spoken(tried [][]trial, scenarios, columns int) [][]bool {
	out := make([][]bool, scenarios)
	for s := range out {
		out[s] = make([]bool, columns)
		for i := range tried {
			for j, have := range tried[i][s].have {
				out[s][j] = out[s][j] || have
			}
		}
	}
	return out
}

// row sums up what came of a point; byWaits says that waits judge it, said in which
// scenarios a column says something.
func (p *Plan) row(i int, columns []Column, byWaits bool, tried []trial, aside []bool, said [][]bool, windows []int) Row {
	n := len(columns)
	r := Row{Point: i, Values: make([]float64, n), Have: make([]bool, n), Worst: make([]int, n), Verdict: metric.Unknown}
	got, counted := make([]int, n), make([]int, n)
	for s := range tried {
		t := &tried[s]
		if t.failed {
			r.Failed++
		}
		if t.done {
			r.Done++
			r.Unheeded = addNew(r.Unheeded, t.unheeded)
		}
		if aside[s] {
			r.Aside++
		}
		if !t.done || aside[s] {
			continue
		}
		for j := range columns {
			if said[s][j] {
				counted[j]++
			}
			if t.have[j] {
				r.take(&columns[j], j, s, t.values[j], got[j] == 0)
				got[j]++
			}
		}
	}
	r.Load, r.Verdict = load(tried, aside, windows)
	r.Unranked = byWaits && r.Load.Unranked()
	r.Feasible = r.Done == len(p.Points[i].Tasks) && !r.Unranked
	for j := range columns {
		r.Have[j] = counted[j] > 0 && got[j] == counted[j]
		r.settle(&columns[j], j, got[j])
	}
	return r
}

// take counts the value of a scenario: into the sum of a mean, or as the worst of a
// constraint.
func (r *Row) take(c *Column, j, scenario int, value float64, first bool) {
	k, bound := c.Constraint()
	switch {
	case !bound:
		r.Values[j] += value
	case first || k.Beyond(value) > k.Beyond(r.Values[j]):
		r.Values[j], r.Worst[j] = value, scenario
	}
}

// settle ends a column of so many values.
func (r *Row) settle(c *Column, j, got int) {
	k, bound := c.Constraint()
	switch {
	case bound && got > 0 && k.Beyond(r.Values[j]) > 0:
		r.Broken, r.Feasible = append(r.Broken, j), false
	case !bound && r.Have[j]:
		r.Values[j] /= float64(got)
	}
	if c.judged() && !r.Have[j] {
		r.Feasible = false
	}
}

// load counts the windows in which a point is overloaded, and gives the verdict
// of it: the worst of its windows, but OVERLOADED only when chance does not
// explain it.
func load(tried []trial, aside []bool, windows []int) (stat.Overload, metric.Verdict) {
	var o stat.Overload
	worst := metric.Unknown
	done, over := make([]int, len(tried)), make([]int, len(tried)) // by window: runs, and of these overloaded
	for s, w := range windows {
		if !tried[s].done || aside[s] {
			continue
		}
		done[w]++
		v := tried[s].verdict
		if v == metric.Overloaded {
			over[w], v = over[w]+1, metric.Backlogged
		}
		if worse(v, worst) {
			worst = v
		}
	}
	for w := range done {
		if done[w] > 0 {
			o.Windows++
		}
		if stat.Half(over[w], done[w]) {
			o.Over++
		}
	}
	if o.Spare = stat.Spare(o.Windows); o.Unranked() {
		worst = metric.Overloaded
	}
	return o, worst
}

// windows gives for each scenario the first one that is of the same window: its
// other seeds.
func (p *Plan) windows() []int {
	out := make([]int, len(p.Scenarios))
	for i := range out {
		for out[i] = 0; !p.sameWindow(out[i], i); out[i]++ {
		}
	}
	return out
}

// sameWindow says whether two scenarios are seeds of one window, or other scenario files on it: these
// meet the same jobs, and are no further evidence of how windows differ.
func (p *Plan) sameWindow(i, j int) bool {
	a, b := &p.Scenarios[i], &p.Scenarios[j]
	return a.Trace == b.Trace && a.Part == b.Part && slices.Equal(a.Parts, b.Parts) && reflect.DeepEqual(a.Window, b.Window)
}

// worse orders verdicts; unknown is none.
func worse(a, b metric.Verdict) bool {
	order := []metric.Verdict{metric.Unknown, metric.Stable, metric.Backlogged, metric.Overloaded}
	return slices.Index(order, a) > slices.Index(order, b)
}

// valueOf is a metric in its window, or in the whole run where there is no
// steady window.
func valueOf(r *task.Figures, c *Column) (float64, bool) {
	if c.Window == metric.Steady && r.GroupsOf == metric.Steady {
		return r.Of(c.measure, metric.Steady)
	}
	return r.Of(c.measure, metric.All)
}

// dominates says that a is no worse than b in every objective, and better in one.
func dominates(a, b *Row, columns []Column) bool {
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
