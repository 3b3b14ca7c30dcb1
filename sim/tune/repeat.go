package tune

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// Again is the decision between the finalists once more, over other windows or
// other replicas of the runs that were made.
type Again struct {
	Windows  string `json:"windows"`  // how what is accepted on is divided
	Replicas string `json:"replicas"` // which of the jittered ones count
	Choice   string `json:"choice"`   // "" for none
}

// mostOther is the part of the repetitions that may end without a choice, or with
// another one, for a single candidate to be recommended.
const mostOther = 0.2

// repeat decides again between the finalists, by the same rules, over other ways to
// divide what is accepted on, and over each half of the replicas. Where the choice
// changes, those that were chosen are equally good; where often none is, there is
// not enough evidence.
func (t *tuner) repeat() error {
	if t.out.Decision != Change {
		return nil
	}
	half := t.opt.Replicas / 2
	groups := []struct {
		name string
		list []int
	}{
		{"all", seeds(0, t.opt.Replicas)}, {fmt.Sprintf("1 to %d", half), seeds(1, half)}, {fmt.Sprintf("%d to %d", half+1, t.opt.Replicas), seeds(half+1, t.opt.Replicas)},
	}
	var chosen []string
	without, other, unproved, failed := 0, 0, "", 0
	for p := -1; p < len(t.plans); p++ {
		for g, group := range groups {
			if p < 0 && g == 0 || len(group.list) == 0 { // that was the decision
				continue
			}
			a := Again{Windows: fmt.Sprintf("%d windows", len(t.acceptance)/len(t.problem.Traces)), Replicas: group.name}
			if p >= 0 {
				a.Windows = t.plans[p].name
			}
			var err error
			if a.Choice, err = t.choice(p, group.list); err != nil {
				return err
			}
			if t.out.Again = append(t.out.Again, a); a.Choice == "" {
				without++
				continue
			}
			if a.Choice != t.out.Chosen {
				other++
			}
			if !slices.Contains(t.passed, a.Choice) {
				unproved = a.Choice
				failed++
				continue
			}
			if !slices.Contains(chosen, a.Choice) {
				chosen = append(chosen, a.Choice)
			}
		}
	}
	n := len(t.out.Again)
	if float64(without) > mostOther*float64(n) {
		t.out.Decision, t.out.Chosen = Unsure, ""
		t.out.Why = fmt.Sprintf("%s is better on the acceptance windows, and in %d of %d repetitions over other windows and replicas no candidate is", t.candidates[t.out.at].name, without, n)
		return nil
	}
	switch {
	case float64(failed) > mostOther*float64(n):
		t.out.Decision, t.out.Chosen = Unsure, ""
		t.out.Why = fmt.Sprintf("which candidate is best changes with the windows and replicas: %s is better on the acceptance windows, and in %d of %d repetitions the choice is one of which these do not show it, such as %s", t.candidates[t.out.at].name, failed, n, unproved)
	case float64(other) > mostOther*float64(n):
		t.equals(chosen)
	}
	return nil
}

// equals are the finalists between which nothing decides: of these the one under which
// the longest wait of a whole trace is shortest comes first.
func (t *tuner) equals(chosen []string) {
	var list []int
	for i := range t.out.Finalists {
		if f := &t.out.Finalists[i]; f.Name == t.out.Chosen || slices.Contains(chosen, f.Name) {
			list = append(list, i)
		}
	}
	longest := func(i int) float64 {
		out := 0.0
		for _, l := range t.out.Finalists[i].Whole {
			if l.Metric == "wait_max" {
				out = max(out, float64(l.Then))
			}
		}
		return out
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(longest(a), longest(b)) })
	if len(list) < 2 {
		return
	}
	for _, i := range list {
		t.out.Equal = append(t.out.Equal, t.out.Finalists[i].Name)
	}
	f := &t.out.Finalists[list[0]]
	t.out.Chosen, t.out.at = f.Name, f.at
	t.out.Why = fmt.Sprintf("which of them is best changes with the windows and replicas; each is better than the current policy on the acceptance windows. Under %s the longest wait of the whole trace is shortest, so it stands first", f.Name)
}

// choice decides between the finalists over a plan of windows, -1 for that of the
// acceptance windows, and some replicas; "" is none.
func (t *tuner) choice(plan int, replicas []int) (string, error) {
	var subjects []stat.Subject
	var list []*Finalist
	for i := range t.out.Finalists {
		f := &t.out.Finalists[i]
		if f.Broken != "" || !t.gains(f) {
			continue
		}
		list = append(list, f)
		for _, o := range t.goal.Objectives {
			pairs, err := t.planPairs(t.candidates[f.at], plan, replicas, o.Metric)
			if err != nil {
				return "", err
			}
			subjects = append(subjects, stat.Subject{Candidate: f.Name, Metric: o.Metric, Better: better(o.Direction), Pairs: pairs})
		}
	}
	rows, err := stat.Compare(subjects, t.opt.Stat)
	if err != nil {
		return "", err
	}
	best, value := "", 0.0
	n := len(t.goal.Objectives)
	for k, f := range list {
		own := rows[k*n : (k+1)*n]
		x := own[0].CandidateValue.Estimate
		if t.goal.Objectives[0].Direction == search.Maximise {
			x = -x
		}
		worse := slices.ContainsFunc(own, func(r stat.Row) bool { return r.Verdict == stat.Worse })
		if own[0].Verdict == stat.Better && !worse && (best == "" || x < value) {
			best, value = f.Name, x
		}
	}
	return best, nil
}

// planPairs are the pairs of a candidate and the current policy over a plan.
func (t *tuner) planPairs(c *candidate, plan int, replicas []int, name string) (stat.Pairs, error) {
	var traces, names []int
	var now []*task.Figures
	figures := func(c *candidate, k, replica int) *task.Figures {
		return t.figures(c, wholeScope, t.acceptance[k], replica)
	}
	if plan < 0 {
		for k, w := range t.acceptance {
			traces, names, now = append(traces, t.windows[w].Trace), append(names, k), append(now, figures(t.base(), k, 0))
		}
	} else {
		var places []int // in the plan of the trace
		for trace, spans := range t.plans[plan].spans {
			for i := range spans {
				traces, places, names = append(traces, trace), append(places, i), append(names, len(names))
			}
		}
		figures = func(c *candidate, k, replica int) *task.Figures {
			return t.inPlan(c, plan, traces[k], places[k], replica)
		}
		for k := range traces {
			now = append(now, figures(t.base(), k, 0))
		}
	}
	of := t.weighed(name, traces, now)
	return pairUp([2]*candidate{t.base(), c}, names, replicas, func(side *candidate, k, r int) float64 {
		return of.of(figures(side, k, r)) * of.factor[k]
	})
}
