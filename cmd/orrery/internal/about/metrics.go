package about

import (
	"fmt"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/doc"
	"orrery/sim/gate"
	"orrery/sim/metric"
)

func metricsPage(app *cli.App) string {
	var b strings.Builder
	b.WriteString("Metrics, as in metrics.json and replay -o json\n\n")
	symbols(&b)
	for _, d := range metric.AllDefinitions() {
		fmt.Fprintf(&b, "\n%s [%s], windows: %s\n  %s\n", d.Name, d.Unit, strings.Join(d.Windows, ", "), d.Formula)
		if d.Edge != "" {
			fmt.Fprintf(&b, "  %s\n", d.Edge)
		}
		if d.Source != "" {
			fmt.Fprintf(&b, "  source: %s\n", d.Source)
		}
	}
	b.WriteString(`
METRIC of KIND NAME is a number of a part of the work: wait_p95 of tenant physics,
within_target of class 10. Gates know it by vcluster, tenant and class; sweep and
tune by kind (bounded, service, reactive, session) and size (1, 2-4, 5-16, …) too.

`)
	t := doc.New("number", "unit", "formula", "of")
	for _, c := range metric.Columns() {
		t.Row(c.Name, c.Unit, c.Formula, strings.Join(c.Of, ", "))
	}
	b.WriteString(pageTable(app, t))
	return b.String()
}

// metricPage is the definition of one metric: of a run, of the parts of its work, and
// of gates; "" of what is none.
func metricPage(name string) string {
	var b strings.Builder
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", what, text)
		}
	}
	for _, d := range metric.AllDefinitions() {
		if d.Name != name {
			continue
		}
		fmt.Fprintf(&b, "%s, of a run\n\n", name)
		line("unit", unitInWords(d.Unit))
		line("formula", d.Formula)
		line("edges", d.Edge)
		line("windows", strings.Join(d.Windows, ", "))
		line("better", d.Sense.String())
		line("source", d.Source)
		b.WriteString("\nSymbols\n\n")
		symbols(&b)
	}
	if c := metric.ColumnOf(name); c != nil {
		separate(&b)
		fmt.Fprintf(&b, "%s of KIND NAME, of a part of the work\n\n", name)
		line("unit", unitInWords(c.Unit))
		line("formula", c.Formula)
		line("better", c.Sense.String())
		line("kinds", strings.Join(c.Of, ", "))
		line("example", fmt.Sprintf("%s of %s %s", name, c.Of[0], exampleGroup[c.Of[0]]))
	}
	for _, d := range gate.Measures() {
		if d.Name != name {
			continue
		}
		separate(&b)
		fmt.Fprintf(&b, "%s, in gate files, over the whole run\n\n", name)
		line("unit", unitInWords(d.Unit))
		line("formula", d.Formula)
		line("edges", d.Edge)
		line("better", d.Sense.String())
	}
	return b.String()
}

// exampleGroup is the name of a part of the work, for an example.
var exampleGroup = map[string]string{metric.ByVCluster: "hpc", metric.ByTenant: "physics"}

func separate(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
}

func unitInWords(unit string) string {
	if unit == "1" {
		return "none (a bound on it takes a number or a percentage)"
	}
	return unit
}

// symbols explains those of the formulas.
func symbols(b *strings.Builder) {
	for line := range strings.SplitSeq(strings.TrimSpace(metric.Legend), "\n") {
		b.WriteString("  " + line + "\n")
	}
}
