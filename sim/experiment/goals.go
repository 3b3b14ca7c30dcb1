package experiment

import (
	"fmt"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/plan"
)

// goals checks the names of measures, and sets what is shown where nothing is asked
// for.
func (x *expander) goals() error {
	for i, o := range x.e.Objectives {
		key := fmt.Sprintf("objectives[%d].metric", i)
		name, ok := x.measure(key, metric.Measure{Metric: o.Metric, By: o.By, Group: o.Group})
		better := metric.SenseOf(name).Better()
		if ok && o.Direction == "usual" && better == 0 {
			x.fault(key, "%s is neither better when higher nor when lower: add direction: minimise, or maximise", name)
		}
		x.plan.Objectives = append(x.plan.Objectives, Goal{name, o.Window, o.Direction == "maximise" || o.Direction == "usual" && better > 0})
	}
	for i, c := range x.e.Constraints {
		name, _ := x.measure(fmt.Sprintf("constraints[%d].metric", i), metric.Measure{Metric: c.Metric, By: c.By, Group: c.Group})
		atMost, atLeast := x.bound(i, "at_most", name, c.AtMost), x.bound(i, "at_least", name, c.AtLeast)
		x.plan.Constraints = append(x.plan.Constraints, Constraint{name, c.Window, atMost, atLeast})
	}
	for i, text := range x.e.Show {
		key := fmt.Sprintf("show[%d]", i)
		m, err := metric.ParseMeasure(text)
		if err != nil {
			x.fault(key, "%v", err)
			continue
		}
		name, _ := x.measure(key, m)
		x.plan.Show = append(x.plan.Show, name)
	}
	if len(x.plan.Objectives) == 0 {
		for _, name := range []string{"wait_mean", "bounded_slowdown_mean", "utilisation"} {
			x.plan.Objectives = append(x.plan.Objectives, Goal{name, metric.Steady, metric.SenseOf(name).Better() > 0})
		}
	}
	return nil
}

// fault notes a fault of the file.
func (x *expander) fault(key, format string, args ...any) {
	x.faults = append(x.faults, x.e.Wrong(key, format, args...))
}

// bound is a limit in the unit of its metric, nil where there is none.
func (x *expander) bound(i int, key, name string, a *profiles.Amount) *float64 {
	if a == nil || name == "" { // there is no such metric, as has been said
		return nil
	}
	v, err := a.In(metric.UnitOf(name))
	if err != nil {
		x.fault(fmt.Sprintf("constraints[%d].%s", i, key), "%s: %v", name, err)
		return nil
	}
	return &v
}

// measure is what a measure is called in plans; false of what there is not. Its group
// is looked for once the clusters are known.
func (x *expander) measure(key string, m metric.Measure) (name string, ok bool) {
	if m.By == metric.ByRun {
		m.By = ""
	}
	if err := m.Validate(); err != nil {
		x.fault(key, "%v", err)
		return "", false
	}
	x.measures = append(x.measures, keyed{key, m})
	return m.String(), true
}

// keyed is a measure with the key that names it.
type keyed struct {
	key     string
	measure metric.Measure
}

// groups refuses measures of groups that the cluster of a trace does not have.
func (x *expander) groups() error {
	if len(x.base) < len(x.traces) { // there is no cluster, as has been said
		return nil
	}
	for i := range x.traces {
		parts := plan.PartsOf(x.base[i], x.traces[i].Tab.Tenants())
		for _, k := range x.measures {
			if err := k.measure.In(parts); err != nil {
				x.fault(k.key, "%v", err)
			}
		}
	}
	return nil
}
