package gate

import (
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/sim/metric"
)

// scale is what numbers of a measure are in.
type scale struct {
	unit  string // as docs/METRICS.md has it
	share bool   // read in percent
}

// bare is the scale of ratios and counts of work.
var bare = scale{unit: "1"}

// scaleOf is the scale of a measure that there is.
func scaleOf(m *profiles.Measure) scale {
	for i := range measures {
		if measures[i].Name == m.Metric && m.By == metric.ByRun {
			return scale{measures[i].Unit, slices.Contains(sharesOfGates, m.Metric)}
		}
	}
	x := metric.Measure{Metric: m.Metric, By: m.By, Group: m.Group}
	if m.By == metric.ByRun {
		x.By = ""
	}
	return scale{x.Unit(), x.Fraction()}
}

// sharesOfGates are the measures of gates that people read in percent.
var sharesOfGates = []string{"flaps", "checkpoint_success"}

// say is a number with its unit.
func (s scale) say(x float64) string { return profiles.Say(x, s.unit, s.share) }

func (s scale) text(v *float64) string {
	if v == nil {
		return "undefined"
	}
	return s.say(*v)
}

// limit is an amount in the unit of the measure, nil where there is none. checkAmounts
// has seen that it can be.
func (s scale) limit(a *profiles.Amount) *float64 {
	if a == nil {
		return nil
	}
	x := s.of(*a)
	return &x
}

// of is an amount in the unit of the measure.
func (s scale) of(a profiles.Amount) float64 {
	x, err := a.In(s.unit)
	if err != nil {
		panic(err) // checkAmounts has refused it
	}
	return x
}

// checkAmounts finds out before anything is replayed whether bounds and tolerances
// are in the units of their metrics, which there are: see checkNames.
func checkAmounts(g *profiles.Gate) error {
	for i := range g.Banded {
		if err := inUnit(g, &g.Banded[i].Of, &g.Banded[i].Absolute, fmt.Sprintf("%s[%d].absolute", Banded, i)); err != nil {
			return err
		}
	}
	for i := range g.Paired {
		if err := inUnit(g, &g.Paired[i].Of, g.Paired[i].Absolute, fmt.Sprintf("%s[%d].absolute", Paired, i)); err != nil {
			return err
		}
	}
	for i := range g.Bound {
		b := &g.Bound[i]
		if err := inUnit(g, &b.Of, b.AtLeast, fmt.Sprintf("%s[%d].at_least", Bound, i)); err != nil {
			return err
		}
		if err := inUnit(g, &b.Of, b.AtMost, fmt.Sprintf("%s[%d].at_most", Bound, i)); err != nil {
			return err
		}
	}
	return nil
}

func inUnit(g *profiles.Gate, m *profiles.Measure, a *profiles.Amount, at string) error {
	if a == nil {
		return nil
	}
	if _, err := a.In(scaleOf(m).unit); err != nil {
		return g.Wrong(at, "%s: %v", m.Metric, err)
	}
	return nil
}
