package experiment

import (
	"fmt"
	"strconv"

	"orrery/profiles"
	"orrery/sim/search"
)

// variants are what the design makes of each profile, one after another.
type variants struct {
	n  int
	at func(i int) candidate
}

// settings are the variants of a profile that the design asks for: at least the
// one without a setting.
func (x *expander) settings() (variants, error) {
	if x.e.Sampled() && len(x.e.Settings) > 0 {
		return x.sample()
	}
	all := 1
	for i, s := range x.e.Settings {
		p, err := x.parameter(fmt.Sprintf("settings[%d].path", i), s.Path)
		if err := x.note(err); err != nil {
			return variants{}, err
		}
		x.plan.Parameters = append(x.plan.Parameters, p)
		if all *= max(1, len(s.Values)); all > mostTasks {
			return variants{}, x.tooMany(all)
		}
	}
	return variants{all, func(i int) candidate {
		c := newCandidate()
		for k, rest := 0, all; k < len(x.e.Settings); k++ {
			s := &x.e.Settings[k]
			rest /= len(s.Values)
			j := i / rest % len(s.Values)
			c.add(x, fmt.Sprintf("settings[%d].values[%d]", k, j), profiles.Assignment{Path: s.Path, Value: s.Values[j]})
		}
		return c
	}}, nil
}

// tooMany refuses a design of so many points at least.
func (x *expander) tooMany(points int) error {
	key := "settings"
	if x.e.Sampled() {
		key = "points"
	}
	return x.e.Wrong(key, "found %d points or more on %d scenarios, which are %d tasks, want at most %d tasks: give fewer points, values, profiles or windows",
		points, len(x.plan.Scenarios), points*len(x.plan.Scenarios), mostTasks)
}

func newCandidate() candidate {
	return candidate{values: map[string]string{}, numbers: map[string]float64{}}
}

// add gives c one more setting.
func (c *candidate) add(x *expander, where string, a profiles.Assignment) {
	c.set, c.where = append(c.set, a), append(c.where, where)
	c.values[a.Path], c.numbers[a.Path] = a.Value, x.number(a)
}

// axis is a setting of a sample.
type axis struct {
	at      int // in the file
	path    string
	setting profiles.Setting
	values  []string
	parts   []string
	fixed   string // the only value, which is no part of the space
}

// sample spreads points over the ranges of the settings.
func (x *expander) sample() (variants, error) {
	var space search.Space
	var axes []axis
	for i := range x.e.Settings {
		a, p, err := x.axis(i)
		if err != nil {
			if err := x.note(err); err != nil {
				return variants{}, err
			}
			continue
		}
		if a.fixed == "" {
			space = append(space, p)
		}
		axes = append(axes, a)
	}
	points := [][]float64{{}}
	if len(x.faults) > 0 { // what the space lacks would be told a second time
		return variants{}, nil
	}
	if len(space) > 0 {
		var err error
		if points, err = search.Sample(space, x.e.Design, int(x.e.Points), uint64(x.e.Seed)); err != nil {
			return variants{}, x.e.Wrong("settings", "%v", err)
		}
	}
	return variants{len(points), func(i int) candidate {
		c, values := newCandidate(), points[i]
		for k := range axes {
			values = axes[k].enter(&c, x, values)
		}
		return c
	}}, nil
}

// axis is setting i of the file, and what a sample knows of it.
func (x *expander) axis(i int) (a axis, p search.Parameter, err error) {
	s := &x.e.Settings[i]
	where := fmt.Sprintf("settings[%d]", i)
	a, p = axis{at: i, path: s.Path, values: s.Values, parts: s.Parts}, search.Parameter{Name: s.Path}
	if len(s.Parts) > 0 {
		if len(s.Parts) < 2 {
			return a, p, x.e.Wrong(where+".parts", "found one weight, want two at least: its part would always be 1")
		}
		p.Kind, p.Parts = search.Simplex, s.Parts
		for _, part := range s.Parts {
			q, err := x.parameter(where+".parts", "weights."+part)
			if err != nil {
				return a, p, err
			}
			q.Weight, q.High = true, 1
			x.plan.Parameters = append(x.plan.Parameters, q)
		}
		return a, p, nil
	}
	q, err := x.parameter(where+".path", s.Path)
	if err != nil {
		return a, p, err
	}
	if a.setting, err = x.base[0].Setting(s.Path); err != nil {
		return a, p, x.e.Wrong(where+".path", "%v", err)
	}
	switch {
	case len(s.Values) == 1:
		a.fixed = s.Values[0]
	case len(s.Values) > 1:
		p.Kind, p.Choices = search.Choice, s.Values
	case !q.Numeric:
		return a, p, x.e.Wrong(where+".from", "%s is %s, and has no range: give values", s.Path, a.setting.Kind)
	default:
		if p.Low, err = a.setting.Number(s.From); err != nil {
			return a, p, x.e.Wrong(where+".from", "%v", err)
		}
		if p.High, err = a.setting.Number(s.To); err != nil {
			return a, p, x.e.Wrong(where+".to", "%v", err)
		}
		if p.Kind, p.Log = search.Real, s.Log; q.Whole {
			p.Kind = search.Integer
		}
		if !(p.Low < p.High) {
			return a, p, x.e.Wrong(where, "%s: found %s to %s, want a range from a lower to a higher value", s.Path, s.From, s.To)
		}
		if err := (search.Space{p}).Validate(); err != nil {
			return a, p, x.e.Wrong(where, "%s, %s to %s: %v", s.Path, s.From, s.To, err)
		}
		q.Low, q.High, q.Log = p.Low, p.High, p.Log
	}
	x.plan.Parameters = append(x.plan.Parameters, q)
	return a, p, nil
}

// enter gives a point its value of the axis, the first of values, and returns the
// others.
func (a *axis) enter(c *candidate, x *expander, values []float64) []float64 {
	where := fmt.Sprintf("settings[%d]", a.at)
	switch {
	case a.fixed != "":
		c.add(x, where, profiles.Assignment{Path: a.path, Value: a.fixed})
		return values
	case len(a.parts) > 0:
		for _, w := range profiles.WeightNames() {
			path, value := "weights."+w, "0"
			for i, part := range a.parts {
				if part == w {
					value = strconv.FormatFloat(values[i], 'g', 6, 64)
				}
			}
			c.add(x, where, profiles.Assignment{Path: path, Value: value})
		}
		return values[len(a.parts):]
	case len(a.values) > 0:
		c.add(x, where, profiles.Assignment{Path: a.path, Value: a.values[int(values[0])]})
	default:
		c.add(x, where, profiles.Assignment{Path: a.path, Value: a.setting.Text(values[0])})
	}
	return values[1:]
}
