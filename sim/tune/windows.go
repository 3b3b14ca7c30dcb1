package tune

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/task"
)

// Sets of windows.
const (
	ForTuning     = "tuning"
	ForAcceptance = "acceptance"
)

// Window is a part of a trace on which candidates are compared: its jobs are those
// that are submitted in it. All windows of a trace are measured in one replay, which
// begins with the trace, so each meets the backlog that the candidate itself has
// left, and the load goes on behind it.
type Window struct {
	Trace int        `json:"trace,omitempty"` // place among the traces
	Set   string     `json:"set"`
	Begin model.Time `json:"begin_us"`
	End   model.Time `json:"end_us"`
	Jobs  int64      `json:"jobs"` // submitted in it
	// Aside says why the window is in no figure; "" when it counts.
	Aside string `json:"aside,omitempty"`
}

func (w *Window) span() metric.Span { return metric.Span{From: w.Begin, To: w.End} }

// start takes the problem as it is, and refuses what is asked of it in vain.
func (t *tuner) start() error {
	base, err := t.current()
	if err != nil {
		return err
	}
	t.candidates = []*candidate{base}
	if err := t.groups(); err != nil {
		return err
	}
	if t.problem.Cluster != nil {
		if t.space, err = t.wholeSpace(); err != nil {
			return err
		}
		t.out.Varied = t.space.described()
	} else if len(t.opt.Vary) > 0 {
		return usagef("--vary %s: a plain cluster has no profile: give one, or a cluster file", t.opt.Vary[0])
	}
	return nil
}

// cut places the windows: those for tuning first, those for acceptance after them,
// as a recommendation is used after the log it is from.
func (t *tuner) cut() (err error) {
	n := t.opt.Tuning + t.opt.Acceptance
	if n > mostWindows {
		return usagef("%d windows: give %d or fewer", n, mostWindows)
	}
	for k := range t.problem.Traces {
		set := t.problem.Traces[k].Set
		spans, err := task.Divide(set, n, t.opt.Length)
		if err != nil {
			return usagef("%s: %v", set.Name, err)
		}
		jobs, err := task.Submitted(set, spans)
		if err != nil {
			return err
		}
		for i, s := range spans {
			w := Window{Trace: k, Set: ForTuning, Begin: s.From, End: s.To, Jobs: int64(jobs[i])}
			if i >= t.opt.Tuning {
				w.Set = ForAcceptance
			}
			if w.Jobs < task.LeastJobs {
				w.Aside = fmt.Sprintf("%d jobs, %d needed", w.Jobs, task.LeastJobs)
			}
			t.windows = append(t.windows, w)
		}
	}
	if t.sort(); !t.enough() {
		return nil
	}
	t.plans, err = t.otherPlans()
	return err
}

// mostWindows of a trace: each is a part of every run.
const mostWindows = 10_000

// enough says whether there are windows enough to say anything, and refuses where there
// are not.
func (t *tuner) enough() bool {
	if len(t.tuning) > 0 && len(t.acceptance) >= t.opt.Stat.MinWindows {
		return true
	}
	t.refuse(fmt.Sprintf("only %d windows to tune on and %d to accept on count, and 1 and %d are needed%s", len(t.tuning), len(t.acceptance), t.opt.Stat.MinWindows, asideWords(t.windows)))
	return false
}

// asideWords say which windows are left out for having no value, since more windows would not
// help there; "" where there are none.
func asideWords(windows []Window) string {
	first, n := "", 0
	for i := range windows {
		if w := &windows[i]; strings.HasPrefix(w.Aside, noValue) {
			if n++; first == "" {
				first = w.Aside
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d are left out for having %s under the current policy)", n, first)
}

// sort lists the windows that count.
func (t *tuner) sort() {
	t.tuning, t.acceptance, t.screening = nil, nil, nil
	for i := range t.windows {
		switch w := &t.windows[i]; {
		case w.Aside != "":
		case w.Set == ForTuning:
			t.tuning = append(t.tuning, i)
		default:
			t.acceptance = append(t.acceptance, i)
		}
	}
	for _, i := range t.tuning {
		if t.inTrace(i) < t.screened() {
			t.screening = append(t.screening, i)
		}
	}
}

// inTrace is the place of a window among those of its trace.
func (t *tuner) inTrace(i int) int { return i % (t.opt.Tuning + t.opt.Acceptance) }

// screened is how many of the tuning windows of a trace the search looks at: the
// first half, where there are enough.
func (t *tuner) screened() int {
	if t.opt.Tuning < 8 {
		return t.opt.Tuning
	}
	return (t.opt.Tuning + 1) / 2
}

// scope is how much of each trace a run is about.
type scope int

const (
	screeningScope scope = iota // up to the last window that the search looks at
	tuningScope                 // up to the last tuning window
	wholeScope                  // the whole trace, as orrery replay has it
)

// of are the windows of a trace that a scope holds, those that are set aside
// included.
func (s scope) of(t *tuner, trace int) []Window {
	n := t.opt.Tuning + t.opt.Acceptance
	all := t.windows[trace*n : (trace+1)*n]
	switch s {
	case screeningScope:
		return all[:t.screened()]
	case tuningScope:
		return all[:t.opt.Tuning]
	}
	return all
}

// begin replays the whole traces under the current policy. Windows in which it has
// no value of an objective are set aside: that is decided before anything else is
// looked at, so no candidate is favoured.
func (t *tuner) begin() error {
	base := t.base()
	t.stage("replaying %s under the current policy, and %d times with jittered arrivals", t.traceWords(), t.opt.Replicas)
	if err := t.wholly(base); err != nil {
		return err
	}
	for i := range t.windows {
		w := &t.windows[i]
		f := t.figures(base, wholeScope, i, 0)
		for _, m := range t.opt.Objectives {
			if _, ok := f.Of(measureOf(m.Metric), metric.Steady); !ok && w.Aside == "" {
				w.Aside = noValue + m.Metric
			}
		}
	}
	t.sort()
	if !t.enough() {
		return nil
	}
	return t.sane()
}

// noValue is what the remark on a window without a value begins with.
const noValue = "no value of "

// wholly runs a candidate on the whole of all traces, with all replicas.
func (t *tuner) wholly(c *candidate) error {
	var asked []runRequest
	for k := range t.problem.Traces {
		for r := range t.opt.Replicas + 1 {
			asked = append(asked, runRequest{of: c, trace: k, scope: wholeScope, replica: r})
		}
	}
	return t.run(asked)
}

// sane notes the traces on which the current policy is overloaded, where an objective is
// made of waits. It refuses objectives that are 0 under the current policy where several
// traces are weighed, for no gain can be a part of that.
func (t *tuner) sane() error {
	for k := range t.problem.Traces {
		name := t.problem.Traces[k].Set.Name
		if t.aboutWaits() && t.overloaded(t.base(), wholeScope, k) {
			t.out.Overloaded = append(t.out.Overloaded, name)
		}
		if len(t.problem.Traces) == 1 {
			continue
		}
		windows := slices.Concat(t.counting(k, t.tuning), t.counting(k, t.acceptance))
		for _, o := range t.opt.Objectives {
			of := measureOf(o.Metric)
			if !slices.ContainsFunc(t.all(t.base(), wholeScope, windows), func(f *task.Figures) bool { return valueOf(f, of) != 0 }) {
				t.refuse(fmt.Sprintf("%s is 0 on the trace %s under the current policy, so no gain there can be a part of it: leave that trace out", o.Metric, name))
			}
		}
	}
	return nil
}

// overloaded says whether the queue of a run grows without end.
func (t *tuner) overloaded(c *candidate, s scope, trace int) bool {
	r := t.known[runRequest{of: c, trace: trace, scope: s}.key()]
	return r != nil && r.Verdict == metric.Overloaded
}

// traceWords name the traces.
func (t *tuner) traceWords() string {
	if n := len(t.problem.Traces); n > 1 {
		return fmt.Sprintf("%d traces", n)
	}
	return "the trace"
}

// groups refuses goals about groups that there are not.
func (t *tuner) groups() error {
	for k := range t.problem.Traces {
		var parts *metric.Parts
		if c := t.problem.Cluster; c != nil {
			parts = plan.PartsOf(c, t.problem.Traces[k].Set.Tenants)
		}
		goal := search.Goal{Objectives: t.opt.Objectives, Constraints: t.opt.Constraints}
		if err := (services{t.problem.Cluster}).asked(&goal); err != nil {
			return err
		}
		for _, name := range goal.Metrics() {
			if err := measureOf(name).In(parts); err != nil {
				return usagef("%v", err)
			}
		}
	}
	return nil
}

// windowPlan is another way to divide what is accepted on into windows: for the question
// whether the answer hangs on where windows begin.
type windowPlan struct {
	name  string
	spans [][]metric.Span // by trace
}

// otherPlans have fewer and more windows, and windows that begin in the middle of
// the others.
func (t *tuner) otherPlans() (plans []windowPlan, err error) {
	least := t.opt.Stat.MinWindows
	n := t.opt.Acceptance
	add := func(count int, later bool) error {
		p, n, err := t.divided(count, later)
		if p.name = fmt.Sprintf("%d windows", n); later {
			p.name += ", half a window later"
		}
		if n >= least {
			plans = append(plans, p)
		}
		return err
	}
	for _, count := range []int{max(n*2/3, least), n * 3 / 2} {
		if count != n {
			if err := add(count, false); err != nil {
				return nil, err
			}
		}
	}
	return plans, add(n, true)
}

// divided divides the acceptance part of each trace into so many windows, or has
// them begin half a window later and leaves out the last. Windows with few jobs are
// left out, as among those that the decision is made on. Counted is how many are left,
// over all traces.
func (t *tuner) divided(count int, later bool) (p windowPlan, counted int, err error) {
	for k := range t.problem.Traces {
		list := wholeScope.of(t, k)[t.opt.Tuning:]
		from, to := list[0].Begin, list[len(list)-1].End
		at := func(i, half int64) model.Time {
			return from + model.Time((2*i+half)*int64(to-from)/(2*int64(count)))
		}
		var spans []metric.Span
		half, n := int64(0), count
		if later {
			half, n = 1, count-1
		}
		for i := range int64(n) {
			spans = append(spans, metric.Span{From: at(i, half), To: at(i+1, half)})
		}
		jobs, err := task.Submitted(t.problem.Traces[k].Set, spans)
		if err != nil {
			return p, 0, err
		}
		var kept []metric.Span
		for i, s := range spans {
			if jobs[i] >= task.LeastJobs {
				kept = append(kept, s)
			}
		}
		p.spans = append(p.spans, kept)
		counted += len(kept)
	}
	return p, counted, nil
}

// brief are the windows of all other plans of a trace, one plan behind the other.
func (t *tuner) brief(trace int) []metric.Span {
	var out []metric.Span
	for _, p := range t.plans {
		out = append(out, p.spans[trace]...)
	}
	return out
}

// counting are the windows of a trace among some.
func (t *tuner) counting(trace int, windows []int) []int {
	return slices.DeleteFunc(slices.Clone(windows), func(i int) bool { return t.windows[i].Trace != trace })
}
