package experiment

import (
	"fmt"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/task"
	"orrery/traces/transform"
)

// scenarios makes every trace with every window of it, and every shake of that.
func (x *expander) scenarios() error {
	for i := range x.traces {
		t := &x.traces[i]
		if j := slices.IndexFunc(x.traces[:i], func(o Trace) bool { return o.Hash == t.Hash }); j >= 0 {
			return x.e.Wrong(fmt.Sprintf("traces[%d]", i), "found the same jobs as in traces[%d], want each trace once: leave one out", j)
		}
		x.plan.Traces = append(x.plan.Traces, TraceRef{t.Name, t.Hash, t.Jobs})
		windows, err := x.windows(t)
		if err != nil {
			return err
		}
		for _, w := range windows {
			for _, s := range x.shakes() {
				sc := Scenario{Trace: i, Window: w.at, Shake: s}
				var names []string
				if len(x.traces) > 1 {
					names = append(names, t.Name)
				}
				if w.name != "" {
					names = append(names, w.name)
				}
				if s != nil {
					names = append(names, fmt.Sprintf("seed %d", s.Seed))
				}
				if sc.Name = strings.Join(names, ", "); sc.Name == "" {
					sc.Name = t.Name
				}
				x.plan.Scenarios = append(x.plan.Scenarios, sc)
			}
		}
	}
	return nil
}

type namedWindow struct {
	name string
	at   *task.Window
}

// windows are those of one trace; one without bounds where none is asked for.
func (x *expander) windows(t *Trace) (out []namedWindow, err error) {
	if len(x.e.Windows) == 0 {
		return []namedWindow{{}}, nil
	}
	n := 0
	submits, err := submissions(t.Set)
	if err != nil {
		return nil, err
	}
	for i, w := range x.e.Windows {
		at := []task.Window{{Begin: model.Time(w.Begin), End: model.Time(w.Begin).Add(w.Length), Warm: w.Warm}}
		if w.Count > 0 {
			spans, err := t.Set.Spans(w.Length, int(w.Count))
			if err != nil {
				return nil, x.e.Wrong(fmt.Sprintf("windows[%d]", i), "%s: %v", t.Name, err)
			}
			at = at[:0]
			for _, s := range spans {
				at = append(at, task.Window{Begin: s.Begin, End: s.End, Warm: w.Warm})
			}
		}
		for j := range at {
			name := w.Name
			switch n++; {
			case name == "":
				name = fmt.Sprintf("w%d", n)
			case len(at) > 1:
				name = fmt.Sprintf("%s-%d", name, j+1)
			}
			from, _ := slices.BinarySearch(submits, at[j].Begin)
			to, _ := slices.BinarySearch(submits, at[j].End)
			if to-from < task.LeastJobs {
				x.plan.Aside = append(x.plan.Aside, Aside{t.Name, name, to - from})
				continue
			}
			out = append(out, namedWindow{name, &at[j]})
		}
	}
	if len(out) == 0 {
		return nil, x.e.Wrong("windows", "%s: each of %d windows has fewer than %d jobs, of which metrics say nothing: give longer windows, or others", t.Name, n, task.LeastJobs)
	}
	return out, nil
}

// submissions are the instants at which jobs are submitted, ascending: 8 bytes a
// job.
func submissions(set *transform.Set) ([]model.Time, error) {
	var out []model.Time
	for job, err := range set.Rows() {
		if err != nil {
			return nil, err
		}
		out = append(out, job.Submit)
	}
	slices.Sort(out)
	return out, nil
}

func (x *expander) shakes() []*task.Shake {
	var out []*task.Shake
	if x.e.Shake.Unshaken {
		out = append(out, nil)
	}
	for _, seed := range x.e.Shake.Seeds {
		out = append(out, &task.Shake{By: x.e.Shake.By, Seed: uint64(seed)})
	}
	return out
}

// specOf is how tasks are replayed, but for the site.
func specOf(r *profiles.Replay) sim.Spec {
	s := sim.DefaultSpec()
	s.Overrun, s.MissingRequest, s.Infeasible = r.Overrun, r.MissingRequest, r.Infeasible
	if r.MissingRequest == "default" {
		s.DefaultRequest = r.DefaultRequest
	}
	s.Feedback = r.Feedback
	s.Warmup, s.Cooldown, s.Seed = r.Warmup, r.Cooldown, uint64(r.Seed)
	return s
}

// tasks are those of all scenarios of all points, scenarios outermost, so that
// workers which take them in order replay the same trace for long. The cluster
// of each point is held against each trace: what no replay would take is refused
// here.
func (x *expander) tasks() ([]Task, error) {
	points := x.plan.Points
	specs := make([][][]byte, len(points)) // by trace
	for i := range points {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.bind(&points[i], &specs[i]); err != nil {
			return nil, err
		}
	}
	out := make([]Task, 0, x.plan.Size())
	for s := range x.plan.Scenarios {
		sc := &x.plan.Scenarios[s]
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		for i := range points {
			t := Task{specs[i][sc.Trace], sc}
			out = append(out, t)
			points[i].Tasks[s] = task.IDOf(t.JSON())
		}
	}
	return out, nil
}

// bind makes the specs of a point, one for each trace.
func (x *expander) bind(p *Point, specs *[][]byte) error {
	p.Tasks = make([]string, len(x.plan.Scenarios))
	for j, site := range p.sites {
		spec := specOf(&x.e.Replay)
		spec.Site = site
		bound, err := spec.BindJSON(x.traces[j].Tab)
		if err != nil {
			return fmt.Errorf("point %s on %s: %w", p.Label(x.plan), x.traces[j].Name, err)
		}
		*specs = append(*specs, bound)
	}
	p.sites = nil
	return nil
}

// Label is a point in words.
func (p *Point) Label(plan *Plan) string {
	if p.Name != "" {
		return p.Name
	}
	var words []string
	for i, v := range p.Values {
		if v != "" {
			words = append(words, plan.Parameters[i].Name+"="+v)
		}
	}
	return strings.Join(words, " ")
}
