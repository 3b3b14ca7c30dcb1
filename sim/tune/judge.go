package tune

import (
	"fmt"
	"slices"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// finalists is how many candidates are held against what runs now on the
// acceptance windows. Each one makes the proof of the others harder.
const finalists = 3

// judge runs the finalists on windows that had no part in finding them.
func (t *tuner) judge() error {
	ahead := t.raced
	if i := slices.Index(ahead, 0); i >= 0 {
		ahead = ahead[:i]
	}
	ahead = ahead[:min(len(ahead), finalists)]
	if len(ahead) == 0 {
		t.out.Decision, t.out.Why = Keep, "nothing that was tried is better on the tuning windows"
		return nil
	}
	t.stage("accepting: %d finalists on %d windows", len(ahead), len(t.acceptance))
	var subjects []stat.Subject
	for _, i := range ahead {
		c := t.candidates[i]
		if _, err := t.run(on(c, t.acceptance)); err != nil {
			return err
		}
		for _, o := range t.goal.Objectives {
			s, err := t.subject(c, read(o.Metric), better(o.Direction))
			if err != nil {
				return err
			}
			subjects = append(subjects, s)
		}
	}
	rows, err := stat.Compare(subjects, t.opt.Stat)
	if err != nil {
		return err
	}
	n := len(t.goal.Objectives)
	for k, i := range ahead {
		f, err := t.finalist(t.candidates[i], rows[k*n:(k+1)*n])
		if err != nil {
			return err
		}
		f.at = i
		t.out.Finalists = append(t.out.Finalists, f)
	}
	return nil
}

// finalist says what became of a candidate on the acceptance windows.
func (t *tuner) finalist(c *candidate, rows []stat.Row) (Finalist, error) {
	f := Finalist{Name: c.name, Role: c.role}
	for i, o := range t.goal.Objectives {
		f.Lines = append(f.Lines, lineOf(rows[i]))
		tuned, err := t.pairs(c, read(o.Metric), t.tuning, 0)
		if err != nil {
			return f, err
		}
		accepted, err := t.pairs(c, read(o.Metric), t.acceptance, t.opt.Replicas)
		if err != nil {
			return f, err
		}
		over, err := stat.Overfit(tuned, accepted, better(o.Direction), t.opt.Stat)
		if err != nil {
			return f, err
		}
		f.Fits = append(f.Fits, fitOf(o.Metric, over))
	}
	return f, t.hold(c, &f)
}

// hold says which constraints a candidate keeps, and why it is out whatever its
// gain. A constraint that is broken now may be broken as far, with the slack of the
// defaults.
func (t *tuner) hold(c *candidate, f *Finalist) error {
	var sides [2][]*task.Result
	for i, side := range []*candidate{t.candidates[0], c} {
		var err error
		if sides[i], err = t.run(on(side, t.acceptance)); err != nil {
			return err
		}
	}
	var why []string
	spare, err := t.spare(t.acceptance)
	if err != nil {
		return err
	}
	if n := count(sides[1], overloaded); n > spare && slices.ContainsFunc(t.goal.Objectives, func(o search.Objective) bool { return metric.Lengthens(o.Metric) }) {
		why = append(why, fmt.Sprintf("overloaded in %d of %d windows, in which what runs now is not, and %d may be chance", n, len(sides[1]), spare))
	}
	for _, k := range t.goal.written {
		kept := t.held(k, sides[0], sides[1])
		if f.Constraints = append(f.Constraints, kept); !kept.Holds {
			why = append(why, fmt.Sprintf("%s comes to %s in its worst window, %s %s was to hold%s", k.Metric, said(kept.Then, k.Metric), k.Relation, said(kept.Bound, k.Metric), kept.by()))
		}
	}
	f.Broken = strings.Join(why, "; ")
	return nil
}

// held holds a constraint against the windows of what runs now and of a candidate.
func (t *tuner) held(k search.Constraint, before, after []*task.Result) Kept {
	now, then := worstBeside(before, before, k), worstBeside(before, after, k)
	out := Kept{Metric: k.Metric, Relation: k.Relation, Asked: k.Value, Now: metric.Number(now), Then: metric.Number(then), Bound: metric.Number(k.Value), Beyond: metric.Undefined}
	if silent(then) { // no window says anything
		out.Now, out.Then, out.Holds = metric.Undefined, metric.Undefined, true
		return out
	}
	if !silent(now) {
		if t.opt.Constraints == nil {
			now *= slack
		}
		if k.Beyond(now) > 0 {
			k.Value, out.Bound = now, metric.Number(now)
		}
	}
	out.Holds = k.Beyond(then) <= 0
	out.Beyond = metric.Number(k.Beyond(then))
	return out
}

func count(results []*task.Result, is func(*task.Result) bool) int {
	n := 0
	for _, r := range results {
		if is(r) {
			n++
		}
	}
	return n
}

// settle decides: the first finalist, as the tuning windows rank them, that is
// better in the first objective, worse in none and breaks nothing.
func (t *tuner) settle() error {
	if t.out.Decision != "" {
		return nil
	}
	unsure := false
	for i := range t.out.Finalists {
		f := &t.out.Finalists[i]
		if f.Broken != "" {
			continue
		}
		worse := slices.ContainsFunc(f.Lines, func(l Line) bool { return l.Verdict == stat.Worse })
		if f.Lines[0].Verdict == stat.Better && !worse {
			t.out.Decision, t.out.Chosen, t.out.at = Change, f.Name, f.at
			t.out.Why = "on windows that had no part in finding it, it is better by more than the noise"
			return nil
		}
		unsure = unsure || f.Lines[0].Verdict == stat.NotEnoughEvidence && !worse
	}
	t.out.Decision, t.out.Why = Keep, "nothing beats it beyond the noise on windows that had no part in finding it"
	if unsure {
		t.out.Decision, t.out.Why = Unsure, "what looked better on the tuning windows may be so, and the acceptance windows do not suffice to say"
	}
	return nil
}

// refuse ends with too little to say anything.
func (t *tuner) refuse(why string) {
	t.stop = true
	t.out.Decision, t.out.Why = Unsure, why
}

// chosen is what is recommended, nil when nothing is.
func (t *tuner) chosen() *candidate {
	if t.out.Decision != Change {
		return nil
	}
	return t.candidates[t.out.at]
}

// besides are figures that people ask for, whatever the objective.
var besides = []string{
	"bounded_slowdown_mean", "wait_mean", "wait_p50", "wait_p95", "wait_max", "utilisation",
	"share_deviation_max", "within_target_wait", "preemptions", "useful_fraction",
}

// explain says what else the chosen candidate, or the one that came closest,
// would change, for whom, and what it costs.
func (t *tuner) explain() error {
	c := t.chosen()
	if c == nil {
		if len(t.out.Finalists) == 0 {
			return nil
		}
		c = t.candidates[t.out.Finalists[0].at]
	}
	t.out.About = c.name
	results, err := t.run(on(t.candidates[0], t.acceptance))
	if err != nil {
		return err
	}
	var readings []stat.Subject
	for _, name := range besides {
		if slices.ContainsFunc(t.goal.Objectives, func(o search.Objective) bool { return o.Metric == name }) {
			continue
		}
		s, err := t.subject(c, read(name), better(DirectionOf(name)))
		if err == nil && len(s.Pairs.Window) > 0 { // the machine has such a metric
			readings = append(readings, s)
		} else if cause := t.ctx.Err(); cause != nil {
			return cause
		}
	}
	rows, err := stat.Compare(readings, t.opt.Stat)
	if err != nil {
		return err
	}
	for _, r := range rows {
		t.out.Besides = append(t.out.Besides, lineOf(r))
	}
	if err := t.whom(c, results); err != nil {
		return err
	}
	t.holdings(c)
	return t.cost(c)
}

// cost is what the passes had to look at.
func (t *tuner) cost(c *candidate) error {
	for i, side := range []*candidate{t.candidates[0], c} {
		results, err := t.run(on(side, t.acceptance))
		if err != nil {
			return err
		}
		w := &t.out.Work[i]
		for _, r := range results {
			w.Instants += r.Work.Instants
			w.Passes += r.Work.Passes
			w.Examined += r.Work.Examined
		}
	}
	return nil
}
