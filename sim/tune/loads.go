package tune

import (
	"math"

	"orrery/sim/metric"
)

// LoadLine is the first objective under another load, over all jobs of the whole
// traces: the mean of the ratios of the traces, where there are several.
type LoadLine struct {
	Load float64 `json:"load"` // of that of the trace
	// Now and Then are means over the replicas; undefined where there are several
	// traces.
	Now  metric.Number `json:"now"`
	Then metric.Number `json:"then"`
	// Relative is the change as a part of the current policy, from Low to High over
	// the replicas: it says how far chance moves it, and is no interval.
	Relative Range `json:"relative"`
	// Overloaded says that the queue grows without end under the current policy, or
	// under the candidate: then and now are as long as the trace.
	Overloaded string `json:"overloaded,omitempty"`
}

// loadReplicas is how many jittered replicas are replayed under each other load.
const loadReplicas = 2

// load measures the gain of the recommendation, or of what came closest, under other
// loads: the same jobs, more or less close to each other.
func (t *tuner) load() error {
	c := t.about()
	if c == nil || len(t.opt.Loads) == 0 {
		return nil
	}
	t.stage("the gain of %s under %d loads", c.name, len(t.opt.Loads))
	var asked []runRequest
	for _, load := range t.opt.Loads {
		for k := range t.problem.Traces {
			for r := range loadReplicas + 1 {
				asked = append(asked, loaded(t.base(), k, load, r), loaded(c, k, load, r))
			}
		}
	}
	if err := t.run(asked); err != nil {
		return err
	}
	for _, load := range t.opt.Loads {
		t.out.Loads = append(t.out.Loads, t.loadLine(c, load))
	}
	return nil
}

// loaded is a run under a load; that of the trace is the run that there is already.
func loaded(c *candidate, trace, load, replica int) runRequest {
	a := runRequest{of: c, trace: trace, scope: wholeScope, replica: replica}
	if load != 1000 {
		a.load = load
	}
	return a
}

func (t *tuner) loadLine(c *candidate, load int) LoadLine {
	out := LoadLine{Load: float64(load) / 1000, Relative: Range{metric.Undefined, metric.Undefined, metric.Undefined}}
	m := measureOf(t.goal.Objectives[0].Metric)
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	var level [2]float64
	for r := range loadReplicas + 1 {
		ratio := 0.0
		for k := range t.problem.Traces {
			now, then := t.known[loaded(t.base(), k, load, r).key()], t.known[loaded(c, k, load, r).key()]
			a, b := wholeValue(now, m), wholeValue(then, m)
			ratio += (b/a - 1) / float64(len(t.problem.Traces))
			level[0], level[1] = level[0]+a, level[1]+b
			switch {
			case now.Verdict == metric.Overloaded:
				out.Overloaded = "current policy"
			case then.Verdict == metric.Overloaded && out.Overloaded == "":
				out.Overloaded = "candidate"
			}
		}
		low, high, sum = min(low, ratio), max(high, ratio), sum+ratio
	}
	n := float64(loadReplicas + 1)
	out.Now, out.Then = metric.Undefined, metric.Undefined
	if len(t.problem.Traces) == 1 {
		out.Now, out.Then = metric.Number(level[0]/n), metric.Number(level[1]/n)
	}
	if !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		out.Relative = Range{metric.Number(sum / n), metric.Number(low), metric.Number(high)}
	}
	return out
}

// turns says under which loads the recommendation is no gain.
func (r *Report) turns() []LoadLine {
	var out []LoadLine
	for _, l := range r.Loads {
		if x := l.Relative.Estimate; x.Defined() && l.Overloaded != "candidate" && !(better(r.Goal.Objectives[0].Direction).Gain(float64(x)) > 0) {
			out = append(out, l)
		}
	}
	return out
}
