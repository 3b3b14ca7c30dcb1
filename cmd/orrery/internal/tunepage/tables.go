package tunepage

import (
	"fmt"
	"slices"

	"orrery/reports/table"
	"orrery/sim/metric"
	"orrery/sim/tune"
)

// Groups is a table of what changes for the jobs by run time, and for groups of
// other kinds that wait longer.
func Groups(r *tune.Report) *table.Table {
	several := len(r.Traces) > 1
	heads := []string{"jobs by", "group", "of the work", "mean wait", "then", "change", "longest", "longest then", "on windows"}
	if several {
		heads = append([]string{"log"}, heads...)
	}
	t := table.New(heads...)
	t.Optional("of the work").Optional("longest", "longest then")
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.By != metric.ByRuntime && !slices.Contains(r.Harmed(g.By), g) {
			continue
		}
		mean, longest := g.Of("wait_mean"), g.Of("wait_max")
		row := []any{
			g.By, g.Name, percentCell(g.PartOfWork, "%.1f %%"), spanCell(mean.Now), spanCell(mean.Then), percentCell(mean.Relative, "%+.1f %%"),
			spanCell(longest.Now), spanCell(longest.Then), g.Verdict.String(),
		}
		if several {
			row = append([]any{r.Traces[g.Trace].Name}, row...)
		}
		t.Row(row...)
	}
	return t
}

// Costs is what the passes of the scheduler come to.
func Costs(r *tune.Report) *table.Table {
	t := table.New("what", "now", "then", "change")
	now, then := r.Work[0], r.Work[1]
	for _, row := range []struct {
		what string
		a, b uint64
	}{{"passes", now.Passes, then.Passes}, {"waiting jobs examined", now.Examined, then.Examined}} {
		if row.a > 0 {
			t.Row(row.what, int64(row.a), int64(row.b), percentCell(metric.Number(float64(row.b)/float64(row.a)-1), "%+.1f %%"))
		}
	}
	return t
}

// spanCell is a span that is given in seconds.
func spanCell(seconds metric.Number) table.Cell {
	if !seconds.Defined() {
		return table.Cell{}
	}
	return table.Quantity(table.Span(float64(seconds)), float64(seconds))
}

// percentCell is a part in percent.
func percentCell(part metric.Number, format string) table.Cell {
	if !part.Defined() {
		return table.Cell{}
	}
	return table.Quantity(fmt.Sprintf(format, 100*float64(part)), float64(part))
}
