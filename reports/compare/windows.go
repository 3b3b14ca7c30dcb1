package compare

import (
	"fmt"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/paired"
	"orrery/sim/stat"
)

// WindowTable shows a comparison by windows in the manner of benchstat: both values,
// the change with its interval, p and what may be said. JSON output has the result
// itself instead.
func WindowTable(r *paired.Result) *doc.Table {
	t := doc.New("run", "metric", "unit", "first", "this", "change", "95 % interval", "p", "noise", "verdict", "reason")
	for i := range r.Rows {
		row := &r.Rows[i]
		t.Row(row.Run, row.Metric, row.Unit, short(row.First.Estimate), short(row.This.Estimate),
			change(row), interval(row), probability(row.Corrected), noiseOf(row), verdictCell(row), row.Reason)
	}
	return t
}

// change is the change as a part of the first side, or in the unit where there is no
// such part.
func change(row *paired.Row) doc.Cell {
	if row.Relative.Estimate.Defined() {
		return doc.Quantity(signedPart(row.Relative.Estimate), float64(row.Relative.Estimate))
	}
	if !row.Difference.Estimate.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(signed(row.Difference.Estimate)+" "+unitAfter(row.Unit), float64(row.Difference.Estimate))
}

// interval is that of change.
func interval(row *paired.Row) string {
	switch {
	case row.Relative.Low.Defined() && row.Relative.High.Defined():
		return signedPart(row.Relative.Low) + " to " + signedPart(row.Relative.High)
	case row.Difference.Low.Defined() && row.Difference.High.Defined():
		return strings.TrimSpace(signed(row.Difference.Low) + " to " + signed(row.Difference.High) + " " + unitAfter(row.Unit))
	}
	return "-"
}

// signed is a difference in four digits.
func signed(x metric.Number) string {
	if x < 0 {
		return doc.Digits(float64(x), 4)
	}
	return "+" + doc.Digits(float64(x), 4)
}

func unitAfter(unit string) string {
	if unit == "1" {
		return ""
	}
	return unit
}

// signedPart is a part in per cent.
func signedPart(x metric.Number) string { return fmt.Sprintf("%+.2f %%", 100*float64(x)) }

func short(x metric.Number) doc.Cell {
	if !x.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(page.Number(float64(x)), float64(x))
}

func probability(p metric.Number) doc.Cell {
	if !p.Defined() {
		return doc.Cell{}
	}
	return doc.Quantity(doc.Chance(float64(p)), float64(p))
}

// noiseOf is the part of the variance of the change that the noise explains.
func noiseOf(row *paired.Row) doc.Cell {
	if row.Noise.Measured == stat.NoNoise {
		return doc.Cell{}
	}
	return doc.Quantity(fmt.Sprintf("%.0f %%", 100*row.Noise.Share), row.Noise.Share)
}

func verdictCell(row *paired.Row) doc.Cell {
	c := doc.Cell{Text: row.Verdict, JSON: row.Verdict}
	switch row.Verdict {
	case stat.Better.String():
		return c.In(doc.Good)
	case stat.Worse.String():
		return c.In(doc.Bad)
	case paired.Differs:
		return c
	}
	return c.In(doc.Faint)
}

// AboutWindows says what the intervals of a comparison rest on and hold for.
func AboutWindows(r *paired.Result) string {
	if len(r.Rows) == 0 {
		return ""
	}
	row := &r.Rows[0]
	says := fmt.Sprintf("Means over %d windows of submission of %s each, with 95 %% intervals; p is corrected for %d rows.", row.Windows, row.Length/model.Second*model.Second, len(r.Rows))
	if !r.Measured() {
		return says + " No noise was measured: the intervals hold for the jobs exactly as submitted, and a difference has no rank."
	}
	return says + fmt.Sprintf(" The noise is measured by %d runs of the first side and %d of the other, and is in the intervals; its column says what part of their variance it is.", row.Runs[0], row.Runs[1])
}
