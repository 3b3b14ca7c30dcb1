package compare

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/sim/metric"
)

// powerMetrics are those that have a range, as NAME_low and NAME_high.
var powerMetrics = []string{"energy", "energy_cost", "carbon"}

// PowerTable shows energy, cost and carbon of both runs over the whole run, with the ranges
// within which they lie. The range of the difference is that of both runs at their least and
// at their most, since the powers are wrong in both alike. It is empty where neither run has
// them.
func (c *Comparison) PowerTable() *doc.Table {
	t := doc.New("metric", "unit", "A", "A between", "B", "B between", "difference", "difference between", "relative")
	for _, name := range powerMetrics {
		d := c.overAll(name)
		if d.A == nil && d.B == nil {
			continue
		}
		low, high := c.overAll(name+"_low"), c.overAll(name+"_high")
		relative := doc.Cell{}
		if d.Relative != nil {
			relative = doc.Quantity(fmt.Sprintf("%+.2f %%", 100**d.Relative), *d.Relative)
		}
		t.Row(name, d.Unit, optional(d.A, ""), between(low.A, high.A, ""), optional(d.B, ""), between(low.B, high.B, ""),
			optional(d.Diff, "+"), between(low.Diff, high.Diff, "+"), relative)
	}
	return t
}

// overAll is a metric over the whole run.
func (c *Comparison) overAll(name string) MetricDiff {
	for _, d := range c.Metrics {
		if d.Name == name && d.Window == metric.All {
			return d
		}
	}
	return MetricDiff{Name: name}
}

// between is a range, empty where an end is not known.
func between(low, high *float64, sign string) doc.Cell {
	if low == nil || high == nil {
		return doc.Cell{}
	}
	a, b := min(*low, *high), max(*low, *high)
	text := func(x float64) string {
		if x > 0 {
			return sign + page.Number(x)
		}
		return page.Number(x)
	}
	both := text(a) + " to " + text(b)
	return doc.Cell{Text: both, JSON: both}
}
