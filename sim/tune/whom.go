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

// GroupLine is what changes for a part of the work.
type GroupLine struct {
	By   string `json:"by"` // vcluster, tenant, class or size
	Name string `json:"name"`
	Jobs int64  `json:"jobs"` // in the acceptance windows
	Line
}

// groupsBy are the ways to part the work, in the order of the report.
var groupsBy = []string{"vcluster", "tenant", "class", "size"}

// mostGroups of a kind are told apart: those with the most jobs.
const mostGroups = 30

// groupMetrics are what is told of a group.
var groupMetrics = []string{"wait_mean", "bounded_slowdown_mean"}

// whom says for whom it gets better and worse. All lines are corrected together.
func (t *tuner) whom(c *candidate, now []*task.Result) error {
	var subjects []stat.Subject
	var lines []GroupLine
	for _, by := range groupsBy {
		for _, g := range largest(now, by) {
			for _, name := range groupMetrics {
				s, err := t.subject(c, read(metric.Measure{Metric: name, By: by, Group: g.name}.String()), stat.Lower)
				if err != nil {
					if cause := t.ctx.Err(); cause != nil {
						return cause
					}
					continue // too rare for a noise floor
				}
				s.Metric = name
				subjects = append(subjects, s)
				lines = append(lines, GroupLine{By: by, Name: g.name, Jobs: g.jobs})
			}
		}
	}
	rows, err := stat.Compare(subjects, t.opt.Stat)
	if err != nil {
		return err
	}
	for i, r := range rows {
		lines[i].Line = lineOf(r)
	}
	t.out.Groups = lines
	return nil
}

type sized struct {
	name string
	jobs int64
}

// largest are the groups of a kind with the most jobs, in the order of their
// names. A kind with a single group says what all say.
func largest(results []*task.Result, by string) []sized {
	jobs := map[string]int64{}
	for _, r := range results {
		for name, g := range r.Groups[by] { //detlint:ordered sums of counts
			n, _ := g.Value("jobs")
			jobs[name] += int64(n)
		}
	}
	var out []sized
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		out = append(out, sized{name, jobs[name]})
	}
	if len(out) < 2 {
		return nil
	}
	slices.SortStableFunc(out, func(a, b sized) int { return cmp.Compare(b.jobs, a.jobs) })
	out = out[:min(len(out), mostGroups)]
	slices.SortStableFunc(out, func(a, b sized) int {
		return cmp.Or(cmp.Compare(leading(a.name), leading(b.name)), cmp.Compare(a.name, b.name))
	})
	return out
}

// leading is the number that a name begins with, so that 5-16 follows 2-4.
func leading(name string) int {
	n, err := strconv.Atoi(strings.SplitN(name, "-", 2)[0])
	if err != nil {
		return 0
	}
	return n
}
