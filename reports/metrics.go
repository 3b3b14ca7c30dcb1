package reports

import (
	"orrery/reports/plot"
	"orrery/sim/metric"
)

// Names of the metrics that the page of a run speaks of, beside those of package page.
const (
	metricWaitMedian   = "wait_p50"
	metricWindowBegin  = "window_begin"
	metricWindowLength = "window_length"
)

// steady is the steady window, empty when the run has none.
func (r *run) steady() plot.Window {
	begin, ok := r.Table.Value(metricWindowBegin, metric.Steady)
	length, also := r.Table.Value(metricWindowLength, metric.Steady)
	if !ok || !also {
		return plot.Window{}
	}
	return plot.Window{FromUS: int64(begin * 1e6), ToUS: int64((begin + length) * 1e6)}
}
