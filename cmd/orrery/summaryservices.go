package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"orrery/reports/plot"
	"orrery/sim/rundir"
)

// servedWords says what a service held and what it did not get; its value is the share of the
// requests that were late or lost.
func servedWords(s *rundir.Service) string {
	if s.Rejected != "" {
		return "rejected at submission: " + s.Rejected
	}
	text := fmt.Sprintf("of its requests missed; by %s, %.0f node hours, size changed %s times up and %s down", s.Policy, float64(s.NodeUS)/3.6e9, plot.Count(s.Ups), plot.Count(s.Downs))
	unmet := int64(0)
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(s.Unmet)) {
		unmet += s.Unmet[reason]
		why = append(why, fmt.Sprintf("%s %s", reason, plot.Count(s.Unmet[reason])))
	}
	if unmet > 0 {
		text += fmt.Sprintf("; %s of %s demands not met (%s)", plot.Count(unmet), plot.Count(s.Demands), strings.Join(why, ", "))
	}
	if s.Reclaimed > 0 {
		text += fmt.Sprintf("; %s replicas went home with borrowed nodes", plot.Count(s.Reclaimed))
	}
	if s.Preempted > 0 {
		text += fmt.Sprintf("; asked to leave %s times", plot.Count(s.Preempted))
	}
	return text
}
