package gate

import "orrery/sim/metric"

// Overload makes the first windows of a run overloaded, and no others.
func Overload(e *Evidence, run string, windows int) {
	for _, x := range e.of(run) {
		x.Verdict = string(metric.Stable)
		if x.Window < windows {
			x.Verdict = string(metric.Overloaded)
		}
	}
}
