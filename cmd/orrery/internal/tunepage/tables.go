package tunepage

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/sim/losers"
	"orrery/sim/metric"
	"orrery/sim/tune"
)

// Payers is a table of the groups of jobs that wait longer, those that lose most hours first,
// and behind them of those that wait less.
func Payers(r *tune.Report) *doc.Table {
	several := len(r.Traces) > 1
	heads := []string{"jobs by", "group", "of the work", "mean wait", "then", "change", "hours"}
	if several {
		heads = append([]string{"log"}, heads...)
	}
	t := doc.New(heads...)
	for _, list := range [][]tune.LoserLine{r.Losers, r.Gainers} {
		for i := range list[:min(len(list), mostPayers)] {
			l := &list[i]
			row := []any{
				l.By, l.Name, percentCell(metric.Number(l.PartOfWork), "%.1f %%"), spanCell(metric.Number(l.WaitNow)), spanCell(metric.Number(l.WaitThen)),
				percentCell(metric.Number(losers.Growth(l.Loser)), "%+.1f %%"), doc.Quantity(fmt.Sprintf("%+.0f", l.Hours), l.Hours),
			}
			if several {
				row = append([]any{r.Traces[l.Trace].Name}, row...)
			}
			t.Row(row...)
		}
	}
	return t
}

// mostPayers of each side stand in the table of the terminal.
const mostPayers = 8

// spanCell is a span that is given in seconds.
func spanCell(seconds metric.Number) doc.Cell {
	if !seconds.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(table.Span(float64(seconds)), float64(seconds))
}

// percentCell is a part in percent.
func percentCell(part metric.Number, format string) doc.Cell {
	if !part.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(fmt.Sprintf(format, 100*float64(part)), float64(part))
}
