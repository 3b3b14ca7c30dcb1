package tune

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/task"
)

// Sets of windows.
const (
	ForTuning     = "tuning"
	ForAcceptance = "acceptance"
)

// Window is a part of the trace that is replayed by itself, beginning with what
// ran and waited then.
type Window struct {
	Set   string     `json:"set"`
	Begin model.Time `json:"begin_us"`
	End   model.Time `json:"end_us"`
	Jobs  int64      `json:"jobs"` // submitted in it
	// Aside says why the window counts for nobody; "" when it counts.
	Aside string `json:"aside,omitempty"`
}

// gap is the part of a window's length that is left free beside it, so that the
// queue of one has mostly gone when the next begins.
const gap = 4 // a quarter

// longest window that is chosen without being asked for.
const longest = 14 * model.Day

// cut places the windows with equal gaps: those for tuning first, those for
// acceptance after them, as a recommendation is used after the log it is from.
func (t *tuner) cut() error {
	first, last, ok, err := t.problem.Trace.Bounds()
	if err != nil {
		return err
	}
	n := t.opt.Tuning + t.opt.Acceptance
	span := int64(last.Sub(first)) + 1
	length := int64(t.opt.Length)
	if length == 0 && ok {
		length = whole(min(span*gap/(int64(n)*(gap+1)+1), int64(longest)))
	}
	if !ok || length < 1 || length*int64(n) > span {
		return usagef("%d windows of %s do not fit into the trace, which has submissions over %s: give fewer or shorter windows",
			n, model.Duration(length), model.Duration(span))
	}
	between := whole((span - length*int64(n)) / int64(n+1))
	for i := range n {
		begin := first.Add(model.Duration(between + int64(i)*(length+between)))
		w := Window{Set: ForTuning, Begin: begin, End: begin.Add(model.Duration(length))}
		if i >= t.opt.Tuning {
			w.Set = ForAcceptance
		}
		t.windows = append(t.windows, w)
	}
	return t.count()
}

// whole leaves out fractions of seconds, that nobody wants to read.
func whole(us int64) int64 {
	if us < int64(model.Minute) {
		return us
	}
	return us - us%int64(model.Second)
}

// count counts the submissions of each window, and sets those aside that have
// next to none.
func (t *tuner) count() error {
	for job, err := range t.problem.Trace.Rows() {
		if err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(t.windows, job.Submit, func(w Window, at model.Time) int { return int(min(max(int64(w.End-at), -1), 1)) })
		if found { // the instant at which one ends
			i++
		}
		if i < len(t.windows) && job.Submit >= t.windows[i].Begin {
			t.windows[i].Jobs++
		}
	}
	for i := range t.windows {
		w := &t.windows[i]
		if w.Jobs < task.LeastJobs {
			w.Aside = fmt.Sprintf("%d jobs, %d needed", w.Jobs, task.LeastJobs)
		}
	}
	t.sort()
	return nil
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
	for k, i := range t.tuning {
		if k%2 == 0 || len(t.tuning) < 8 {
			t.screening = append(t.screening, i)
		}
	}
}

// begin runs what is there now on all windows. Those in which it is overloaded
// or has no value count for nobody: that is decided before anything else is
// looked at, so no candidate is favoured.
func (t *tuner) begin() error {
	base, err := t.current()
	if err != nil {
		return err
	}
	t.candidates = []*candidate{base}
	if err := t.groups(); err != nil {
		return err
	}
	if base.cluster != nil {
		if t.space, err = t.wholeSpace(); err != nil {
			return err
		}
		t.out.Varied = t.space.spelled()
	} else if len(t.opt.Vary) > 0 {
		return usagef("--vary %s: a plain machine has no profile: give one, or a cluster file", t.opt.Vary[0])
	}
	all := slices.Concat(t.tuning, t.acceptance)
	t.stage("what runs now, on %d windows", len(all))
	results, err := t.run(on(base, all))
	if err != nil {
		return err
	}
	for k, r := range results {
		w := &t.windows[all[k]]
		for _, m := range t.opt.Objectives {
			if _, ok := r.Of(measureOf(m.Metric), metric.Steady); !ok {
				w.Aside = "no value of " + m.Metric
			}
			if r.Verdict == metric.Overloaded && metric.Lengthens(m.Metric) {
				w.Aside = "overloaded under what runs now: its waits say how long the window is"
			}
		}
	}
	t.sort()
	if len(t.tuning) == 0 || len(t.acceptance) < t.opt.Stat.MinWindows {
		t.refuse(fmt.Sprintf("only %d windows to tune on and %d to accept on count, and 1 and %d are needed", len(t.tuning), len(t.acceptance), t.opt.Stat.MinWindows))
		return nil
	}
	return t.replicas()
}

// groups refuses goals about groups that there are not.
func (t *tuner) groups() error {
	var parts *metric.Parts
	if c := t.problem.Cluster; c != nil {
		parts = sim.PartsOf(c, t.problem.Trace.Tenants)
	}
	goal := search.Goal{Objectives: t.opt.Objectives, Constraints: t.opt.Constraints}
	for _, name := range goal.Metrics() {
		if err := measureOf(name).In(parts); err != nil {
			return usagef("%v", err)
		}
	}
	return nil
}

// replicas runs what is there now with shaken arrivals.
func (t *tuner) replicas() error {
	all := slices.Concat(t.tuning, t.acceptance)
	t.stage("the noise: %d shaken replicas on %d windows", t.opt.Replicas, len(all))
	var asked []ask
	for r := range t.opt.Replicas {
		asked = append(asked, t.shaken(all, r)...)
	}
	_, err := t.run(append(asked, t.otherOrder(all)...))
	return err
}

// shaken are the runs of a replica of what runs now, from 0.
func (t *tuner) shaken(windows []int, replica int) []ask {
	out := on(t.candidates[0], windows)
	for k := range out {
		out[k].replica = replica + 1
	}
	return out
}

// otherOrder is what runs now with the events of an instant one by one, nil where
// that cannot be.
func (t *tuner) otherOrder(windows []int) []ask {
	base := t.candidates[0].spec
	if len(base.Site) > 0 || base.Cycle > 0 || base.QuorumLatency+base.QuorumJitter > 0 || base.EventOrder == "sequential" {
		return nil
	}
	out := on(t.candidates[0], windows)
	for k := range out {
		out[k].sequential = true
	}
	return out
}
