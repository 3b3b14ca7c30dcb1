package metric

import "strings"

// senses says which way a metric is better, by the beginning of its name: -1 when
// less is, +1 when more is, 0 when neither is good. A test holds it against all
// definitions, and against the columns of groups.
var senses = []struct {
	prefix string
	better int
}{
	{"jobs_completed", +1}, {"jobs_timeout", -1}, {"jobs_unfinished", -1}, {"jobs_failed", -1}, {"jobs_suspended", -1}, {"jobs_", 0},
	{"preemptions", -1}, {"requeues", -1}, {"gpu_hours_useful", +1}, {"gpu_hours_lost", -1}, {"gpu_hours_allocated", 0},
	{"useful_fraction", +1}, {"goodput", +1}, {"node_hours_", 0}, {"share_deviation_", -1}, {"within_target", +1},
	{"service_jitter", 0}, {"service_served_hours", 0}, {"service_", -1},
	{"starved", -1}, {"quota_hold", -1}, {"energy", -1}, {"carbon", -1},
	{"wait", -1}, {"turnaround_", -1}, {"slowdown_", -1}, {"bounded_slowdown_", -1}, {"per_processor_bounded_slowdown_", -1},
	{"area_weighted_", -1}, {"makespan", -1}, {"window_", 0}, {"throughput", +1}, {"utilisation", +1},
	{"loss_of_capacity", -1}, {"queue_growth", 0}, {"queue_", -1}, {"jain_", +1},
	{"jobs", 0}, {"started", 0}, {"work", 0}, {"share", 0}, {"deviation", 0}, // of groups
}

// Better says which way a metric is better: 1 when more is, -1 when less is, 0
// when neither is good; known is false of what is no metric.
func Better(name string) (better int, known bool) {
	for _, s := range senses {
		if strings.HasPrefix(name, s.prefix) {
			return s.better, true
		}
	}
	return 0, false
}

// longer begins the names of metrics that are made of waits and queues.
var longer = []string{
	"wait", "turnaround_", "slowdown_", "bounded_slowdown_", "per_processor_bounded_slowdown_", "area_weighted_", "queue_", "jain_wait", "jain_bounded_slowdown",
}

// Lengthens says whether a metric goes with the length of the log when the
// cluster is OVERLOADED, so that such a run is not ranked by it.
func Lengthens(name string) bool {
	for _, prefix := range longer {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// OverJobs says whether a metric is a mean over jobs, so that the mean over two
// windows is that of their jobs.
func OverJobs(name string) bool {
	switch name {
	case "wait_mean", "turnaround_mean", "slowdown_mean", "bounded_slowdown_mean", "per_processor_bounded_slowdown_mean",
		"waited_fraction", "within_target_wait", "starved_fraction", "within_target", "starved":
		return true
	}
	return false
}
