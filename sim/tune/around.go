package tune

import (
	"math"
	"slices"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
)

// ladder holds the steps of the sensitivity at the chosen point, in parts of the
// range of each setting.
var ladder = []float64{0.02, 0.05, 0.1, 0.2}

// Slope is what a setting does beside the chosen point.
type Slope struct {
	Setting string `json:"setting"`
	Metric  string `json:"metric"`
	// To is another choice of a setting that has some; Slope is then the
	// difference that it makes, and there is no step.
	To    string        `json:"to,omitempty"`
	Slope metric.Number `json:"slope"` // of the objective, per whole range
	Noise metric.Number `json:"noise"`
	Step  metric.Number `json:"step"`
	Clear bool          `json:"clear"` // beyond the noise
}

// Joint is an objective over a grid of two settings, all else as at the chosen
// point.
type Joint struct {
	Metric string `json:"metric"`
	First  string `json:"first"`
	Second string `json:"second"`
	// FirstAt and SecondAt are the values of the two, by row and by column: choices
	// by their index; weights as they would be written beside those of the chosen
	// point, which add up to 1.
	FirstAt  []float64         `json:"first_at"`
	SecondAt []float64         `json:"second_at"`
	Values   [][]metric.Number `json:"values"`
	// The parts of the variance over the grid; unknown when a value is missing.
	FirstShare  metric.Number `json:"first_share"`
	SecondShare metric.Number `json:"second_share"`
	JointShare  metric.Number `json:"joint_share"`
	// Largest is the largest part of a value that is due to the two acting
	// together; it compares with Floor, the noise.
	Largest metric.Number `json:"largest"`
	Floor   metric.Number `json:"floor"`
}

// place is the point to look around: what is recommended, or the current policy where
// that is nothing. False when the space has no such point, as for an order without
// weights.
func (t *tuner) place() (c *candidate, values []float64, ok bool, err error) {
	c = t.chosen()
	switch {
	case len(t.space.Space) == 0:
		return nil, nil, false, nil
	case c != nil:
		return c, c.values, c.values != nil, nil
	}
	now := t.inUse()
	if now == nil {
		return t.candidates[0], nil, false, nil
	}
	values, err = t.space.pointOf(now)
	return t.candidates[0], values, true, err
}

// inUse is the profile of the current policy, of several that of the first vCluster that is
// tuned; nil where the weights that are searched do not order its queue.
func (t *tuner) inUse() *profiles.Profile {
	now := t.problem.Cluster.VClusters[t.tuned()[0]].Profile.Inline
	if len(t.space.kept) > 0 && now.Order != t.space.order {
		return nil
	}
	return now
}

// look moves each setting a little from the chosen point, and the ones that matter
// most two by two.
func (t *tuner) look() error {
	c, values, ok, err := t.place()
	if !ok || err != nil {
		return err
	}
	t.out.Around = c.name
	at, err := t.space.pointAt(values)
	if err != nil {
		return err
	}
	design, err := sensitivity.NewLocal(t.space.design(), at, ladder)
	if err != nil {
		return err
	}
	others := t.others(at)
	points := design.Points()
	for _, o := range others {
		points = append(points, o.point)
	}
	if !t.pays(len(points), "what settings do beside "+c.name) {
		return nil
	}
	results, err := t.points(points, "looking around "+c.name)
	if err != nil {
		return err
	}
	n := len(design.Points())
	for _, o := range t.goal.Objectives {
		floor, err := t.floor(o.Metric, t.screening)
		if err != nil {
			return err
		}
		values := t.objectives(results, o.Metric)
		slopes, err := design.Analyse(values[:n], floor.High)
		if err != nil {
			return err
		}
		for i, column := range t.space.columns() {
			if t.space.choices(column) != nil {
				continue
			}
			s := slopes[i]
			t.out.Slopes = append(t.out.Slopes, Slope{
				Setting: column, Metric: o.Metric, Slope: metric.Number(s.Slope), Noise: metric.Number(s.Noise), Step: metric.Number(s.Step), Clear: s.Clear,
			})
		}
		for k, other := range others {
			change := values[n+k] - values[0]
			t.out.Slopes = append(t.out.Slopes, Slope{
				Setting: other.setting, Metric: o.Metric, To: other.to, Slope: metric.Number(change), Noise: metric.Number(floor.High), Step: metric.Undefined,
				Clear: math.Abs(change) > max(2*floor.High, rounding*math.Abs(values[0])),
			})
		}
	}
	return t.together(at)
}

// other is the chosen point with another choice.
type other struct {
	setting, to string
	point       []float64
}

func (t *tuner) others(at []float64) []other {
	var out []other
	for i, column := range t.space.columns() {
		choices := t.space.choices(column)
		for k, word := range choices {
			u := sensitivity.Place(k, len(choices))
			if math.Abs(u-at[i])*float64(len(choices)) < 0.5 {
				continue
			}
			point := slices.Clone(at)
			point[i] = u
			out = append(out, other{column, word, point})
		}
	}
	return out
}

// choices are the words of a setting; nil of one that is a number.
func (s space) choices(column string) []string {
	i := slices.IndexFunc(s.Space, func(p search.Parameter) bool { return p.Name == column })
	if i < 0 {
		return nil
	}
	return s.Space[i].Choices
}

// Settings that are looked at two by two, and the places of each.
const (
	mostTogether = 3
	side         = 5
)

// together runs grids of the settings that matter most.
func (t *tuner) together(at []float64) error {
	matter := t.mattering()
	for k, i := range matter {
		for _, j := range matter[k+1:] {
			if err := t.grid(at, i, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// mattering are the columns of the settings with the most influence on the first
// objective, by their total index or, without one, by their mean change.
func (t *tuner) mattering() []int {
	if len(t.out.Sensitivity) == 0 {
		return nil
	}
	weight := func(p PartMove) float64 {
		if p.Total.Estimate.Defined() {
			return float64(p.Total.Estimate)
		}
		return float64(p.Change.Estimate)
	}
	parts := slices.DeleteFunc(slices.Clone(t.out.Sensitivity[0].Parts), func(p PartMove) bool { return !(weight(p) > 0) || p.Influence == sensitivity.Inert })
	slices.SortStableFunc(parts, func(a, b PartMove) int {
		switch {
		case weight(a) > weight(b):
			return -1
		case weight(a) < weight(b):
			return 1
		}
		return 0
	})
	var out []int
	for _, p := range parts[:min(len(parts), mostTogether)] {
		out = append(out, slices.Index(t.space.columns(), p.Setting))
	}
	return slices.DeleteFunc(out, func(i int) bool { return i < 0 })
}

// grid runs two settings, by their columns, over a grid.
func (t *tuner) grid(at []float64, i, j int) error {
	first, second := t.axis(at, i), t.axis(at, j)
	design, err := sensitivity.NewGrid(t.space.design(), at, i, j, len(first), len(second))
	if err != nil {
		return err
	}
	columns := t.space.columns()
	what := columns[i] + " and " + columns[j] + " together"
	if !t.pays(len(design.Points()), what) {
		return nil
	}
	results, err := t.points(design.Points(), what)
	if err != nil {
		return err
	}
	for _, o := range t.goal.Objectives {
		floor, err := t.floor(o.Metric, t.screening)
		if err != nil {
			return err
		}
		values := t.objectives(results, o.Metric)
		g := Joint{
			Metric: o.Metric, First: columns[i], Second: columns[j], FirstAt: first, SecondAt: second,
			FirstShare: metric.Undefined, SecondShare: metric.Undefined, JointShare: metric.Undefined, Largest: metric.Undefined, Floor: metric.Number(floor.High),
		}
		for row := range slices.Chunk(values, len(second)) {
			g.Values = append(g.Values, metric.Numbers(row...))
		}
		if !slices.ContainsFunc(values, math.IsNaN) {
			s, err := design.Analyse(values)
			if err != nil {
				return err
			}
			g.FirstShare, g.SecondShare, g.JointShare, g.Largest = metric.Number(s.FirstShare), metric.Number(s.SecondShare), metric.Number(s.JointShare), metric.Number(s.LargestJoint)
		}
		t.out.Joint = append(t.out.Joint, g)
	}
	return nil
}

// axis are the values of a setting at the places of a grid around a point.
func (t *tuner) axis(at []float64, column int) []float64 {
	n := len(t.space.kept)
	var out []float64
	if column < n {
		for k := range side {
			out = append(out, -math.Log1p(-sensitivity.Place(k, side))/float64(n))
		}
		return out
	}
	boxes := slices.DeleteFunc(slices.Clone(t.space.Space), func(p search.Parameter) bool { return p.Kind == search.Simplex })
	p := boxes[column-n]
	places := side
	switch p.Kind {
	case search.Choice:
		places = len(p.Choices)
	case search.Integer:
		places = min(side, int(p.High-p.Low)+1)
	}
	for k := range places {
		out = append(out, search.Space{p}.FromUnit([]float64{sensitivity.Place(k, places)})...)
	}
	return out
}
