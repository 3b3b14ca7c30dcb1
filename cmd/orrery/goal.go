package main

import (
	"strings"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/tune"
)

// measureFlag reads the measure that a flag names: METRIC, or METRIC of KIND NAME.
func measureFlag(flag, text, measure string) (string, error) {
	m, err := metric.ParseMeasure(measure)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return "", usagef("%s %q: %v", flag, text, err)
	}
	return m.String(), nil
}

// objectiveOf reads a measure, with min: or max: before it.
func objectiveOf(text string) (search.Objective, error) {
	way, name, given := strings.Cut(text, ":")
	if !given {
		way, name = "", text
	}
	name, err := measureFlag("--objective", text, name)
	if err != nil {
		return search.Objective{}, err
	}
	switch way {
	case "":
		return search.Objective{Metric: name, Direction: tune.DirectionOf(name)}, nil
	case "min":
		return search.Objective{Metric: name, Direction: search.Minimise}, nil
	case "max":
		return search.Objective{Metric: name, Direction: search.Maximise}, nil
	}
	return search.Objective{}, usagef("--objective %q: found %s: before the metric, want min: or max:, or none of them", text, way)
}

// constraintOf reads a measure, a relation and a bound with the unit of the measure.
func constraintOf(text string) (search.Constraint, error) {
	for _, relation := range []search.Relation{search.AtMost, search.AtLeast} {
		name, value, ok := strings.Cut(text, string(relation))
		if !ok {
			continue
		}
		name, err := measureFlag("--subject-to", text, name)
		if err != nil {
			return search.Constraint{}, err
		}
		c := search.Constraint{Metric: name, Relation: relation}
		bound, err := profiles.ParseAmount(strings.TrimSpace(value))
		if err == nil {
			c.Value, err = bound.In(metric.UnitOf(name))
		}
		if err != nil {
			return c, usagef("--subject-to %q: %v behind %s", text, err, relation)
		}
		return c, nil
	}
	return search.Constraint{}, usagef("--subject-to %q: want METRIC <= VALUE or METRIC >= VALUE, or METRIC of KIND NAME <= VALUE", text)
}
