package experiment

import (
	"fmt"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/task"
)

// scenarios makes every trace with every window of it, and every jitter of that.
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
		for _, group := range windows {
			for _, s := range x.jitters() { // outside of the parts of a replay, so that these stand together
				for k := range x.asked {
					for _, w := range group {
						x.plan.Scenarios = append(x.plan.Scenarios, x.scenario(i, &x.asked[k], s, &w))
					}
				}
			}
		}
	}
	return nil
}

// scenario is a window of a trace with a jitter, nil for none, under a scenario file.
func (x *expander) scenario(trace int, a *asked, s *task.Jitter, w *namedWindow) Scenario {
	out := Scenario{Trace: trace, File: a.name, Window: w.at, Parts: w.parts, Part: w.part, Jitter: s}
	var names []string
	if len(x.traces) > 1 {
		names = append(names, x.traces[trace].Name)
	}
	if w.name != "" {
		names = append(names, w.name)
	}
	if s != nil {
		names = append(names, fmt.Sprintf("seed %d", s.Seed))
	}
	if a.name != "" {
		names = append(names, a.name)
	}
	if out.Name = strings.Join(names, ", "); out.Name == "" {
		out.Name = x.traces[trace].Name
	}
	return out
}

// namedWindow is a window, or a part of one.
type namedWindow struct {
	name  string
	at    *task.Window
	parts []metric.Span // of it
	part  int           // which of them, from 1; 0 for the whole
}

// windows are those of one trace, by what is one replay; one without bounds where
// none is asked for.
func (x *expander) windows(t *Trace) (out [][]namedWindow, err error) {
	if len(x.e.Windows) == 0 {
		return [][]namedWindow{{{}}}, nil
	}
	n := 0
	for i := range x.e.Windows {
		groups, err := x.entry(t, i, &n)
		if err != nil {
			return nil, err
		}
		out = append(out, groups...)
	}
	if len(out) == 0 {
		return nil, x.e.Wrong("windows", "%s: each of %d windows has fewer than %d jobs, of which metrics say nothing: give longer windows, or others", t.Name, n, task.LeastJobs)
	}
	return out, nil
}

// entry are the windows of one entry of the file, of which n were named before.
func (x *expander) entry(t *Trace, i int, n *int) (out [][]namedWindow, err error) {
	w := &x.e.Windows[i]
	spans := []metric.Span{{From: model.Time(w.Begin), To: model.Time(w.Begin).Add(w.Length)}}
	if w.Count > 0 {
		if spans, err = task.Divide(t.Set, int(w.Count), w.Length); err != nil {
			return nil, x.e.Wrong(fmt.Sprintf("windows[%d]", i), "%s: %v", t.Name, err)
		}
	}
	jobs, err := task.Submitted(t.Set, spans)
	if err != nil {
		return nil, err
	}
	var names []string
	var kept []metric.Span
	for j := range spans {
		name := w.Name
		switch *n++; {
		case name == "":
			name = fmt.Sprintf("w%d", *n)
		case len(spans) > 1:
			name = fmt.Sprintf("%s-%d", name, j+1)
		}
		if jobs[j] < task.LeastJobs {
			x.plan.Aside = append(x.plan.Aside, Aside{t.Name, name, jobs[j]})
			continue
		}
		names, kept = append(names, name), append(kept, spans[j])
	}
	switch {
	case len(kept) == 0:
	case w.Lead == 0: // one replay for all of them
		at, group := task.Around(kept, w.Follow), []namedWindow{}
		for k, name := range names {
			group = append(group, namedWindow{name, at, kept, k + 1})
		}
		out = append(out, group)
	default:
		if err := x.beginsIdle(t, w.Lead); err != nil {
			return nil, err
		}
		for k, name := range names {
			at := &task.Window{Begin: kept[k].From, End: kept[k].To, Lead: &w.Lead, Warm: true, Follow: w.Follow}
			out = append(out, []namedWindow{{name, at, nil, 0}})
		}
	}
	return out, nil
}

// beginsIdle remarks that the leads of a trace begin on an idle cluster, where it does
// not say when jobs started. It says so once.
func (x *expander) beginsIdle(t *Trace, lead model.Duration) error {
	started, err := task.Started(t.Set)
	if err != nil || started {
		return err
	}
	text := fmt.Sprintf("%s does not say when its jobs started, so the %s that are replayed before each window begin on an idle cluster: waits may come out too short; lead: all replays what came before from its beginning", t.Name, lead)
	if !slices.Contains(x.plan.Remarks, text) {
		x.plan.Remarks = append(x.plan.Remarks, text)
	}
	return nil
}

func (x *expander) jitters() []*task.Jitter {
	var out []*task.Jitter
	if x.e.Jitter.AsLogged {
		out = append(out, nil)
	}
	for _, seed := range x.e.Jitter.Seeds {
		out = append(out, &task.Jitter{By: x.e.Jitter.By, Seed: uint64(seed)})
	}
	return out
}

// specOf is how tasks are replayed, but for the site.
func specOf(r *profiles.Replay) plan.Spec {
	s := plan.DefaultSpec()
	s.Overrun, s.MissingRequest, s.Infeasible = r.Overrun, r.MissingRequest, r.Infeasible
	if r.MissingRequest == "default" {
		s.DefaultRequest = r.DefaultRequest
	}
	s.AllowUnheeded, s.Feedback = r.AllowUnheeded, r.Feedback
	s.SetWarmup(r.Warmup)
	s.Cooldown, s.Seed = r.Cooldown, uint64(r.Seed)
	return s
}

// tasks are those of all scenarios of all points, scenarios outermost, so that
// workers which take them in order replay the same trace for long. The cluster
// of each point is held against each trace: what no replay would take is refused
// here.
func (x *expander) tasks() ([]Task, error) {
	points := x.plan.Points
	specs := make([]map[specOn][]byte, len(points))
	for i := range points {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if specs[i], err = x.bind(&points[i]); err != nil {
			return nil, err
		}
	}
	out := make([]Task, 0, x.plan.Size())
	for s := range x.plan.Scenarios {
		sc := &x.plan.Scenarios[s]
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		again := s > 0 && sc.shares(&x.plan.Scenarios[s-1])
		for i := range points {
			if again {
				points[i].Tasks[s] = points[i].Tasks[s-1]
				continue
			}
			t := Task{specs[i][specOn{sc.Trace, sc.File}], sc}
			out = append(out, t)
			points[i].Tasks[s] = task.IDOf(t.JSON())
		}
	}
	return out, nil
}

// specOn is what a spec of a point is bound to: a trace, and a scenario file.
type specOn struct {
	trace int
	file  string
}

// bind makes the specs of a point, one for each trace and scenario file.
func (x *expander) bind(p *Point) (map[specOn][]byte, error) {
	p.Tasks = make([]string, len(x.plan.Scenarios))
	specs := make(map[specOn][]byte, len(p.sites)*len(x.asked))
	for j, site := range p.sites {
		for k := range x.asked {
			a := &x.asked[k]
			spec := specOf(&x.e.Replay)
			spec.Site, spec.Scenario = site, a.spec
			bound, err := spec.BindJSON(x.traces[j].Tab)
			switch {
			case err != nil && a.file != nil:
				return nil, fmt.Errorf("point %s on %s under %s: %w", p.label(x.plan), x.traces[j].Name, a.name, a.file.Locate(err, 0))
			case err != nil:
				return nil, fmt.Errorf("point %s on %s: %w", p.label(x.plan), x.traces[j].Name, err)
			}
			specs[specOn{j, a.name}] = bound
		}
	}
	p.sites = nil
	return specs, nil
}

// label is a point in words.
func (p *Point) label(plan *Plan) string {
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
