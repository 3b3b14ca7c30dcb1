package tune

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// GroupLine is what changes for a group of jobs: the mean wait on the acceptance
// windows with its interval, and the whole distribution on the whole trace.
type GroupLine struct {
	Trace int    `json:"trace,omitempty"`
	By    string `json:"by"` // runtime, size, user, tenant, vcluster or class
	Name  string `json:"name"`
	Jobs  int64  `json:"jobs"` // of the whole trace
	// PartOfJobs and PartOfWork are what the group has of all jobs, and of their units
	// times run time.
	PartOfJobs metric.Number `json:"part_of_jobs"`
	PartOfWork metric.Number `json:"part_of_work"`
	Line                     // of wait_mean
	Whole      []WholeLine   `json:"whole"` // by groupMetrics
}

// groupsBy are the ways to group jobs, in the order of the report.
var groupsBy = []string{metric.ByRuntime, metric.BySize, metric.ByVCluster, metric.ByTenant, metric.ByClass, metric.ByUser}

// mostGroups of a kind are told apart: those with the most jobs.
const mostGroups = 30

// groupMetrics are what is told of a group on the whole trace.
var groupMetrics = []string{"wait_mean", "wait_p95", "wait_p99", "wait_max", "bounded_slowdown_mean"}

// groupEffects says for which groups of jobs it gets better and worse. All lines are
// corrected together.
func (t *tuner) groupEffects(c *candidate) error {
	var subjects []stat.Subject
	for k := range t.problem.Traces {
		windows := t.counting(k, t.acceptance)
		now, then := t.result(t.base(), wholeScope, k, 0), t.result(c, wholeScope, k, 0)
		for _, by := range groupsBy {
			all := parts(&now.Figures, by)
			for _, g := range largest(all) {
				s, err := t.subjectOn(c, metric.Measure{Metric: "wait_mean", By: by, Group: g.name}.String(), stat.Lower, windows)
				if err != nil {
					return err
				}
				s.Metric = "wait_mean"
				subjects = append(subjects, s)
				t.out.Groups = append(t.out.Groups, groupLine(k, by, g, all, now, then))
			}
		}
	}
	rows, err := stat.Compare(subjects, t.opt.Stat)
	if err != nil {
		return err
	}
	for i, r := range rows {
		t.out.Groups[i].Line = lineOf(r)
	}
	return nil
}

// groupLine is all of a line but what the windows say.
func groupLine(trace int, by string, g sized, all []sized, now, then *task.Result) GroupLine {
	jobs, work := 0.0, 0.0
	for _, o := range all {
		jobs, work = jobs+o.jobs, work+o.work
	}
	out := GroupLine{Trace: trace, By: by, Name: g.name, Jobs: int64(g.jobs), PartOfJobs: metric.Number(g.jobs / jobs), PartOfWork: metric.Undefined}
	if work > 0 {
		out.PartOfWork = metric.Number(g.work / work)
	}
	for _, name := range groupMetrics {
		m := metric.Measure{Metric: name, By: by, Group: g.name}
		l := WholeLine{Trace: trace, Metric: name, Unit: m.Unit(), Now: metric.Number(wholeValue(now, m)), Then: metric.Number(wholeValue(then, m)), Relative: metric.Undefined}
		if l.Unit == "1" {
			l.Unit = ""
		}
		if l.Now > 0 && l.Then.Defined() {
			l.Relative = l.Then/l.Now - 1
		}
		out.Whole = append(out.Whole, l)
	}
	return out
}

// Of is a number of the group on the whole trace, one of those that every group has:
// mean, p95, p99 and longest wait, and the mean bounded slowdown.
func (g *GroupLine) Of(name string) WholeLine {
	return g.Whole[slices.Index(groupMetrics, name)]
}

// longerBy is from where a longer mean wait of a group on the whole trace is told
// though the windows do not prove it: what matters to its users is told before it is
// sure.
const longerBy = 0.05

// Harmed are the groups of a kind that wait longer: significantly on the windows, or by
// longerBy on the whole trace.
func (r *Report) Harmed(by string) []*GroupLine {
	var out []*GroupLine
	for i := range r.Groups {
		g := &r.Groups[i]
		if x := g.Of("wait_mean").Relative; g.By == by && (g.Verdict == stat.Worse || x >= longerBy) {
			out = append(out, g)
		}
	}
	return out
}

type sized struct {
	name       string
	jobs, work float64
}

// parts are the groups of a kind, by name.
func parts(f *task.Figures, by string) []sized {
	var out []sized
	for _, name := range slices.Sorted(maps.Keys(f.Groups[by])) {
		g := f.Groups[by][name]
		s := sized{name: name}
		s.jobs, _ = g.Value("jobs")
		s.work, _ = g.Value("work")
		if s.jobs > 0 {
			out = append(out, s)
		}
	}
	return out
}

// largest are the groups of a kind with the most jobs, in the order of their
// names. A kind with a single group says what all say.
func largest(out []sized) []sized {
	if len(out) < 2 {
		return nil
	}
	out = slices.Clone(out)
	slices.SortStableFunc(out, func(a, b sized) int { return cmp.Compare(b.jobs, a.jobs) })
	out = out[:min(len(out), mostGroups)]
	slices.SortStableFunc(out, func(a, b sized) int {
		return cmp.Or(cmp.Compare(leading(a.name), leading(b.name)), cmp.Compare(a.name, b.name))
	})
	return out
}

// leading is the number that a name begins with, so that 5-16 follows 2-4, and 1h-6h
// follows 10m-1h.
func leading(name string) int {
	for class := range metric.Runtimes {
		if metric.RuntimeName(class) == name {
			return class
		}
	}
	n, err := strconv.Atoi(strings.SplitN(name, "-", 2)[0])
	if err != nil {
		return 0
	}
	return n
}
