package reports

import (
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// Names of the metrics that reports speak of by themselves.
const (
	metricUtilisation  = "utilisation"
	metricWaitMean     = "wait_mean"
	metricWaitMedian   = "wait_p50"
	metricWaitP95      = "wait_p95"
	metricWaitMax      = "wait_max"
	metricSlowdown     = "bounded_slowdown_mean"
	metricWindowBegin  = "window_begin"
	metricWindowLength = "window_length"
)

// shares are metrics of unit 1 that people read in percent.
var shares = map[string]bool{metricUtilisation: true, "loss_of_capacity": true, "waited_fraction": true,
	"useful_fraction": true, "goodput": true, "share_deviation_max": true, "within_target_wait": true, "starved_fraction": true}

// steady is the steady window, empty when the run has none.
func (r *run) steady() plot.Window {
	begin, ok := r.table.Value(metricWindowBegin, metric.Steady)
	length, also := r.table.Value(metricWindowLength, metric.Steady)
	if !ok || !also {
		return plot.Window{}
	}
	return plot.Window{FromUS: int64(begin * 1e6), ToUS: int64((begin + length) * 1e6)}
}
