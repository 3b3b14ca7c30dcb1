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

// Window is a part of a trace: its jobs are those that are submitted in it. All windows
// of a trace are measured in one replay, which begins with the trace, so each meets the
// backlog that the candidate itself has left, and the load goes on behind it.
type Window struct {
	Trace int        `json:"trace,omitempty"` // place among the traces
	Begin model.Time `json:"begin_us"`
	End   model.Time `json:"end_us"`
	Jobs  int64      `json:"jobs"` // submitted in it
	// Aside says why the window is in no figure; "" when it counts.
	Aside string `json:"aside,omitempty"`
}

func (w *Window) span() metric.Span { return metric.Span{From: w.Begin, To: w.End} }

// How many windows there are, and how many jobs each holds at least. leastWindows and
// leastJobs are those with which the joint test was measured (docs/STATISTICS.md).
const (
	leastWindows = 20
	mostWindows  = 200
	leastJobs    = 30
)

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

// cut divides each trace into windows of equal numbers of jobs, from the first submission to
// the last: quiet weeks, in which no policy differs from another, then weigh as little as
// they hold. Where the first objective is of services the windows are of equal length, for
// the jobs say nothing of their load.
func (t *tuner) cut() error {
	for k := range t.problem.Traces {
		set := t.problem.Traces[k].Set
		at, err := task.Submissions(set)
		if err != nil {
			return err
		}
		spans := task.EqualJobs(at, min(t.opt.Windows, len(at)/leastJobs))
		ofServices := ofAService(t.opt.Objectives[0].Metric)
		if ofServices {
			spans = task.EqualLengths(at, t.opt.Windows)
		}
		if len(spans) < leastWindows {
			t.refuse(tooShort(set.Name, len(at), len(spans), ofServices))
			return nil
		}
		windows := counted(spans, at)
		for i := range windows {
			windows[i].Trace = k
		}
		t.windows = append(t.windows, windows...)
	}
	t.sort()
	return nil
}

// tooShort says what a log lacks.
func tooShort(name string, jobs, windows int, ofServices bool) string {
	switch {
	case ofServices:
		return fmt.Sprintf("the jobs of the log %s are submitted within so little time that it makes %d windows, and %d are needed: take a longer log", name, windows, leastWindows)
	case jobs < leastWindows*leastJobs:
		return fmt.Sprintf("the log %s has %d jobs, and %d windows of %d jobs need %d: take a longer log", name, jobs, leastWindows, leastJobs, leastWindows*leastJobs)
	}
	return fmt.Sprintf("the %d jobs of the log %s are submitted in so few instants that they fill %d of the windows, and %d are needed: take a longer log", jobs, name, windows, leastWindows)
}

// counted are windows with the jobs that were submitted in them, at times that ascend.
func counted(spans []metric.Span, at []model.Time) (out []Window) {
	for i, n := range task.SubmittedAt(at, spans) {
		out = append(out, Window{Begin: spans[i].From, End: spans[i].To, Jobs: int64(n)})
	}
	return out
}

// sort lists the windows that count, and of these the first quarter of each trace, which
// the sensitivity looks at.
func (t *tuner) sort() {
	t.counting, t.screening = nil, nil
	for i := range t.windows {
		if w := &t.windows[i]; w.Aside == "" {
			t.counting = append(t.counting, i)
			if t.inTrace(i) < screened(len(t.of(w.Trace))) {
				t.screening = append(t.screening, i)
			}
		}
	}
}

// screened is how many of the windows of a trace the sensitivity looks at.
func screened(windows int) int { return (windows + 3) / 4 }

// of are the windows of a trace.
func (t *tuner) of(trace int) []Window {
	from, _ := slices.BinarySearchFunc(t.windows, trace, func(w Window, trace int) int { return w.Trace - trace })
	to, _ := slices.BinarySearchFunc(t.windows, trace+1, func(w Window, trace int) int { return w.Trace - trace })
	return t.windows[from:to]
}

// inTrace is the place of a window among those of its trace.
func (t *tuner) inTrace(i int) int {
	first, _ := slices.BinarySearchFunc(t.windows, t.windows[i].Trace, func(w Window, trace int) int { return w.Trace - trace })
	return i - first
}

// scope is how much of each trace a run is about.
type scope int

const (
	screeningScope scope = iota // up to the last window that the sensitivity looks at
	wholeScope                  // the whole trace, as orrery replay has it
	detailScope                 // the same, in parts of equal length of which groups are told
)

// details is how many parts a trace has in detailScope.
const details = 30

// windows are those of a trace that a scope holds.
func (s scope) windows(t *tuner, trace int) []Window {
	all := t.of(trace)
	if s == screeningScope {
		return all[:screened(len(all))]
	}
	return all
}

// spans are the parts of a trace that a scope measures.
func (s scope) spans(t *tuner, trace int) []metric.Span {
	windows := s.windows(t, trace)
	var out []metric.Span
	if s == detailScope {
		first, last := windows[0].Begin, windows[len(windows)-1].End
		each := int64(last.Sub(first)) / details
		for i := range int64(details) {
			if span := (metric.Span{From: first.Add(model.Duration(i * each)), To: first.Add(model.Duration((i + 1) * each))}); span.To > span.From {
				out = append(out, span)
			}
		}
		return out
	}
	for i := range windows {
		out = append(out, windows[i].span())
	}
	return out
}

// begin replays the whole traces under the current policy. Windows in which it has
// no value of an objective are set aside: that is decided before anything else is
// looked at, so no candidate is favoured.
func (t *tuner) begin() error {
	base := t.base()
	if jobs := t.jobsIn(wholeScope); jobs > t.opt.Budget {
		return usagef("--budget %d: one replay of %s takes %d jobs: give as many or more", t.opt.Budget, t.traceWords(), jobs)
	}
	t.stage("replaying %s under the current policy", t.traceWords())
	if err := t.run(t.on(base, wholeScope)); err != nil {
		return err
	}
	if len(t.space.Space) > 0 { // the noise of settings is wanted before they are searched
		if err := t.wholly(t.opt.Replicas, base); err != nil {
			return err
		}
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
	if t.sort(); len(t.counting) < leastWindows*len(t.problem.Traces) {
		t.refuse(fmt.Sprintf("only %d windows count, and %d are needed%s", len(t.counting), leastWindows*len(t.problem.Traces), asideWords(t.windows)))
		return nil
	}
	return t.sane()
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

// noValue is what the remark on a window without a value begins with.
const noValue = "no value of "

// wholly runs candidates on the whole of all traces, as they are and in so many replicas.
func (t *tuner) wholly(replicas int, list ...*candidate) error {
	var asked []runRequest
	for _, c := range list {
		for k := range t.problem.Traces {
			for r := range replicas + 1 {
				asked = append(asked, runRequest{of: c, trace: k, scope: wholeScope, replica: r})
			}
		}
	}
	return t.run(asked)
}

// sane notes the traces on which the current policy is overloaded, where an objective is
// made of waits. It ends where an objective is 0 under the current policy, for no gain is a part of
// that.
func (t *tuner) sane() error {
	for k := range t.problem.Traces {
		name := t.problem.Traces[k].Set.Name
		if t.aboutWaits() && t.overloaded(t.base(), wholeScope, k) {
			t.out.Overloaded = append(t.out.Overloaded, name)
		}
		for i, o := range t.opt.Objectives {
			if wholeValue(t.result(t.base(), wholeScope, k, 0), measureOf(o.Metric)) != 0 || i > 0 && len(t.problem.Traces) == 1 {
				continue
			}
			if len(t.problem.Traces) == 1 && o.Direction == search.Minimise {
				t.end(Keep, fmt.Sprintf("%s is 0 under the current policy: there is nothing to gain", o.Metric))
				continue
			}
			t.end(Unsure, fmt.Sprintf("%s is 0 on %s under the current policy, and no gain is a part of that: take another objective or leave the log out", o.Metric, name))
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
