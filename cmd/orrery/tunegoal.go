package main

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
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

// constraintOf reads a measure, a relation and a number, a percentage or a span.
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
		if c.Value, ok = boundOf(strings.TrimSpace(value)); !ok {
			return c, usagef("--subject-to %q: want a number, a percentage such as 5%% or a span such as 3d behind %s", text, relation)
		}
		return c, nil
	}
	return search.Constraint{}, usagef("--subject-to %q: want METRIC <= VALUE or METRIC >= VALUE, or METRIC of KIND NAME <= VALUE", text)
}

// boundOf reads a number, a percentage, or a span in seconds.
func boundOf(text string) (float64, bool) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x, true
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		x, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		return x / 100, err == nil
	}
	d, err := model.ParseDuration(text)
	return d.Seconds(), err == nil
}
