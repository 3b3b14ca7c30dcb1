package profiles

import (
	"fmt"
	"slices"
)

// manyPoints are more than most studies can compute.
const manyPoints = 100_000

// Remarks says what of a valid experiment has no effect, or one that may surprise.
func (e *Experiment) Remarks() []Problem {
	all := problems{src: e.source}
	if len(e.Jitter.Seeds) == 0 && e.source.has("jitter.by") {
		all.add("jitter.by", "has no effect without seeds: give jitter: {by: %s, seeds: [1, 2, 3]}", formatSpan(e.Jitter.By))
	}
	if len(e.Scenarios) == 1 && e.Scenarios[0] == NoScenario {
		all.add("scenarios", "none alone is what there is without the key: list a scenario file beside it")
	}
	for i, p := range e.Profiles {
		if slices.Contains(e.Profiles[:i], p) {
			all.add(fmt.Sprintf("profiles[%d]", i), "%s is there already: its points are the same", p)
		}
	}
	for i := range e.Settings {
		if len(e.Settings[i].Values) == 1 {
			all.add(fmt.Sprintf("settings[%d].values", i), "one value varies nothing: all points have it")
		}
	}
	for i, o := range e.Objectives {
		if slices.ContainsFunc(e.Objectives[:i], func(p Objective) bool {
			return p.Metric == o.Metric && p.By == o.By && p.Group == o.Group && p.Window == o.Window
		}) {
			all.add(fmt.Sprintf("objectives[%d]", i), "%s is an objective already: it decides nothing more", o.Metric)
		}
	}
	if n := e.combinations(); n > manyPoints {
		all.add("settings", "they make more than %d points: consider a design that samples them, design: sobol and points: 1000", manyPoints)
	}
	return all.sorted()
}

// combinations is how many points a cartesian design has, before those that are alike
// are left out, counted to a little above manyPoints; 0 of other designs.
func (e *Experiment) combinations() int {
	if e.Design != "cartesian" {
		return 0
	}
	n := max(len(e.Profiles), 1)
	for i := range e.Settings {
		if n *= max(len(e.Settings[i].Values), 1); n > manyPoints {
			break
		}
	}
	return n
}
