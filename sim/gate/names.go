package gate

import (
	"fmt"
	"slices"
	"strings"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/metric"
)

// checkNames finds out before anything is replayed whether the checks name
// metrics that there are. Groups are known afterwards only.
func checkNames(g *profiles.Gate) error {
	at := func(kind string, i int) string { return fmt.Sprintf("%s[%d].of", kind, i) }
	for i := range g.Banded {
		if err := checkName(g, &g.Banded[i].Of, at(Banded, i)); err != nil {
			return err
		}
	}
	for i := range g.Paired {
		if err := checkName(g, &g.Paired[i].Of, at(Paired, i)); err != nil {
			return err
		}
		if err := checkParts(g, i); err != nil {
			return err
		}
		if _, err := direction(&g.Paired[i]); err != nil {
			return g.Wrong(at(Paired, i)+".metric", "%v", err)
		}
	}
	for i := range g.Bound {
		if err := checkName(g, &g.Bound[i].Of, at(Bound, i)); err != nil {
			return err
		}
	}
	return nil
}

func checkName(g *profiles.Gate, m *profiles.Measure, at string) error {
	if m.By != metric.ByRun {
		return checkColumn(g, m, at)
	}
	if slices.ContainsFunc(measures, func(d MeasureDefinition) bool { return d.Name == m.Metric }) {
		return nil
	}
	for _, d := range metric.AllDefinitions() {
		if d.Name != m.Metric {
			continue
		}
		if !slices.Contains(d.Windows, m.Over) {
			return g.Wrong(at+".metric", "%s is not measured over the window %s: write over: %s", m.Metric, m.Over, d.Windows[0])
		}
		return nil
	}
	return g.Wrong(at+".metric", "found %q, which is no metric%s: docs/METRICS.md and docs/GATE-FORMAT.md list them", m.Metric, spelling.Hint(m.Metric, metricNames()))
}

// checkParts refuses a metric of a paired check that windows do not have.
func checkParts(g *profiles.Gate, i int) error {
	p := &g.Paired[i]
	at := slices.IndexFunc(g.Runs, func(r profiles.GateRun) bool { return r.Name == p.Run })
	if at < 0 || g.Runs[at].Parts() == 1 || p.Of.By != metric.ByRun {
		return nil
	}
	for _, d := range metric.AllDefinitions() {
		if d.Name == p.Of.Metric && slices.Contains(d.Windows, metric.Steady) {
			return nil
		}
	}
	return g.Wrong(fmt.Sprintf("%s[%d].of.metric", Paired, i), "%s is measured on the whole replay only, and the run has %d windows: give it windows: {count: 1}", p.Of.Metric, g.Runs[at].Parts())
}

// metricNames are those of runs, and the measures of gates.
func metricNames() []string {
	var out []string
	for _, d := range metric.AllDefinitions() {
		out = append(out, d.Name)
	}
	for i := range measures {
		out = append(out, measures[i].Name)
	}
	return out
}

// checkColumn finds out whether groups of a kind have a number in tables of metrics.
func checkColumn(g *profiles.Gate, m *profiles.Measure, at string) error {
	var have []string
	for _, c := range metric.Columns() {
		if c.InTables() && slices.Contains(c.Of, m.By) {
			have = append(have, c.Name)
		}
	}
	if slices.Contains(have, m.Metric) {
		return nil
	}
	return g.Wrong(at+".metric", "found %q, which is no number of a %s%s: want one of %s", m.Metric, m.By, spelling.Hint(m.Metric, have), strings.Join(have, ", "))
}
