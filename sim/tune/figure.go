package tune

import (
	"fmt"
	"math"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/metric"
)

// figure writes a number in four digits.
func figure(x float64) string {
	if s := doc.Digits(x, 4); s != "-" {
		return s
	}
	return "–"
}

// amount writes a number in its unit: spans as days, hours, minutes and seconds.
func amount(n metric.Number, unit string) string {
	if unit != "s" || !n.Defined() {
		return figure(float64(n))
	}
	step := model.Second
	if math.Abs(float64(n)) < 60 {
		step = 10 * model.Millisecond
	}
	return (model.Duration(math.Round(float64(n)*float64(model.Second)/float64(step))) * step).String()
}

// leastPercent is the least part of a whole that is written in digits.
const leastPercent = 0.0001

// said writes a value of a metric: parts of a whole in percent.
func said(n metric.Number, name string) string {
	if metric.IsFraction(name) && n.Defined() {
		if x := 100 * math.Abs(float64(n)); x > 0 && x < leastPercent {
			if n < 0 {
				return fmt.Sprintf("> -%g %%", leastPercent)
			}
			return fmt.Sprintf("< %g %%", leastPercent)
		}
		return figure(100*float64(n)) + " %"
	}
	return amount(n, unitOf(name))
}

// percent writes a part with its sign, and no -0.0.
func percent(n metric.Number) string {
	if !n.Defined() {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", math.Round(1000*float64(n))/10+0)
}

// percents writes an interval of a part.
func percents(r Range) string {
	return span(r, func(x float64) string { return percent(metric.Number(x)) })
}
