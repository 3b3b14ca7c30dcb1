package reports

import (
	"strings"

	"orrery/reports/plot"
	"orrery/sim/metric"
)

// Names of the metrics that reports speak of by themselves.
const (
	metricUtilisation  = "utilisation"
	metricWaitMean     = "wait_mean"
	metricWaitMedian   = "wait_p50"
	metricWaitP95      = "wait_p95"
	metricSlowdown     = "bounded_slowdown_mean"
	metricWindowBegin  = "window_begin"
	metricWindowLength = "window_length"
)

// shares are metrics of unit 1 that people read in percent.
var shares = map[string]bool{metricUtilisation: true, "loss_of_capacity": true, "waited_fraction": true,
	"useful_fraction": true, "goodput": true, "share_deviation_max": true, "within_target_wait": true, "starved_fraction": true}

// directions says which way a metric is better, by the beginning of its name:
// -1 when less is, +1 when more is, 0 when it is neither. A test holds it
// against all definitions.
var directions = []struct {
	prefix string
	better int
}{
	{"jobs_completed", +1}, {"jobs_timeout", -1}, {"jobs_unfinished", -1}, {"jobs_failed", -1}, {"jobs_suspended", -1}, {"jobs_", 0},
	{"preemptions", -1}, {"requeues", -1}, {"gpu_hours_useful", +1}, {"gpu_hours_lost", -1}, {"gpu_hours_allocated", 0},
	{"useful_fraction", +1}, {"goodput", +1}, {"node_hours_", 0}, {"share_deviation_", -1}, {"within_target_wait", +1},
	{"starved_fraction", -1}, {"quota_hold", -1}, {"energy", -1},
	{"wait", -1}, {"turnaround_", -1}, {"slowdown_", -1}, {"bounded_slowdown_", -1}, {"per_processor_bounded_slowdown_", -1},
	{"area_weighted_", -1}, {"makespan", -1}, {"window_", 0}, {"throughput", +1}, {metricUtilisation, +1},
	{"loss_of_capacity", -1}, {"queue_growth", 0}, {"queue_", -1}, {"jain_", +1},
}

// direction is the entry of directions; known is false when there is none.
func direction(name string) (better int, known bool) {
	for _, d := range directions {
		if strings.HasPrefix(name, d.prefix) {
			return d.better, true
		}
	}
	return 0, false
}

// lengthens says whether a metric grows with the length of the log when the
// machine is overloaded, so that such a run is not ranked by it.
func lengthens(name string) bool {
	for _, prefix := range []string{"wait", "turnaround_", "slowdown_", "bounded_slowdown_", "per_processor_bounded_slowdown_", "area_weighted_", "queue_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// steady is the steady window, empty when the run has none.
func (r *run) steady() plot.Window {
	begin, ok := r.table.Value(metricWindowBegin, metric.Steady)
	length, also := r.table.Value(metricWindowLength, metric.Steady)
	if !ok || !also {
		return plot.Window{}
	}
	return plot.Window{FromUS: int64(begin * 1e6), ToUS: int64((begin + length) * 1e6)}
}
