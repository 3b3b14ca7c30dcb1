package page

import (
	"math"
	"strconv"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// Names of the metrics that reports speak of by themselves.
const (
	MetricUtilisation = "utilisation"
	MetricWaitMean    = "wait_mean"
	MetricWaitP95     = "wait_p95"
	MetricSlowdown    = "bounded_slowdown_mean"
)

// shares are metrics of unit 1 that people read in percent.
var shares = map[string]bool{MetricUtilisation: true, "loss_of_capacity": true, "waited_fraction": true,
	"useful_fraction": true, "goodput": true, "share_deviation_max": true, "within_target_wait": true, "starved_fraction": true}

// IsShare says whether a metric of unit 1 is read in percent.
func IsShare(name string) bool { return shares[name] }

// Count writes a number of things: "1 job", "2,000 jobs".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return plot.Count(n) + " " + many
}

// Reading writes a metric as people say it: spans as 3.4 h, shares in percent,
// and others to four digits.
func Reading(m metric.Metric) string {
	switch {
	case m.Unit == "s":
		return plot.Span(*m.Value)
	case IsShare(m.Name):
		return strconv.FormatFloat(100**m.Value, 'f', 1, 64) + " %"
	}
	return Number(*m.Value)
}

// Number writes a value to four digits, whole numbers in full.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15:
		return plot.Count(int64(v))
	case a >= 1000:
		return plot.Count(int64(math.Round(v)))
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return doc.Digits(v, 3)
}

// CountCell is a whole number in a table.
func CountCell(n int64) doc.Cell { return doc.Quantity(plot.Count(n), n) }
