package tune

import (
	"fmt"
	"slices"

	"orrery/sim/search"
	"orrery/sim/stat"
)

// judge holds the finalists against the current policy on windows that had no part
// in finding them, with jittered replicas of both sides.
func (t *tuner) judge() error {
	if t.out.Decision != "" {
		return nil
	}
	var subjects []stat.Subject
	var at []int // of Finalists
	for i := range t.out.Finalists {
		if t.out.Finalists[i].Broken == "" {
			at = append(at, i)
		}
	}
	t.stage("accepting on %d windows, with %d jittered replicas of the current policy and of each finalist (%d)", len(t.acceptance), t.opt.Replicas, len(at))
	for _, i := range at {
		c := t.candidates[t.out.Finalists[i].at]
		if err := t.wholly(c); err != nil {
			return err
		}
		for _, o := range t.goal.Objectives {
			s, err := t.subject(c, o.Metric, better(o.Direction))
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
	for k, i := range at {
		f := &t.out.Finalists[i]
		if err := t.finalist(f, rows[k*n:(k+1)*n]); err != nil {
			return err
		}
		f.Broken = t.broken(t.candidates[f.at], f, tuningScope)
	}
	return nil
}

// finalist enters what the windows say of a finalist.
func (t *tuner) finalist(f *Finalist, rows []stat.Row) error {
	c := t.candidates[f.at]
	for i, o := range t.goal.Objectives {
		f.Lines = append(f.Lines, lineOf(rows[i]))
		tuned, err := t.pairs(c, o.Metric, t.tuning)
		if err != nil {
			return err
		}
		accepted, err := t.pairs(c, o.Metric, t.acceptance)
		if err != nil {
			return err
		}
		over, err := stat.Overfit(tuned, accepted, better(o.Direction), t.opt.Stat)
		if err != nil {
			return err
		}
		f.Fits = append(f.Fits, fitOf(o.Metric, over))
	}
	return nil
}

// settle decides: of the finalists that are better in the first objective, worse in
// none, break nothing and are better from end to end too, the one with the best
// value.
func (t *tuner) settle() error {
	if t.out.Decision != "" {
		return nil
	}
	var pass []int
	unsure, against := false, ""
	for i := range t.out.Finalists {
		f := &t.out.Finalists[i]
		if f.Broken != "" {
			continue
		}
		worse := slices.ContainsFunc(f.Lines, func(l Line) bool { return l.Verdict == stat.Worse })
		switch claimed := f.Lines[0].Verdict == stat.Better && !worse; {
		case claimed && t.gains(f):
			pass = append(pass, i)
		case claimed:
			against = fmt.Sprintf("%s is better on the acceptance windows, and the replay of the whole trace says otherwise", f.Name)
		default:
			unsure = unsure || f.Lines[0].Verdict == stat.NotEnoughEvidence && !worse
		}
	}
	if len(pass) > 0 {
		f := &t.out.Finalists[t.bestOf(pass)]
		t.out.Decision, t.out.Chosen, t.out.at = Change, f.Name, f.at
		for _, i := range pass {
			t.passed = append(t.passed, t.out.Finalists[i].Name)
		}
		t.out.Why = t.reason(f)
		return nil
	}
	t.out.Decision, t.out.Why = Keep, "nothing beats the current policy on the acceptance windows, which have no part in the search"
	if unsure || against != "" {
		t.out.Decision, t.out.Why = Unsure, "what looked better on the tuning windows may be so, and the acceptance windows do not suffice to say"
	}
	if against != "" {
		t.out.Why = against
	}
	t.blame()
	return nil
}

// reason says why a finalist is recommended, and how far it may be relied on.
func (t *tuner) reason(f *Finalist) string {
	text := "it is better on the acceptance windows, which have no part in the search, and from end to end"
	switch {
	case len(f.Constraints) == 0:
	case slices.ContainsFunc(f.Constraints, func(k Kept) bool { return k.Broken() }):
		text += "; of its bounds it breaks no more than is allowed, see below"
	default:
		text += "; it keeps its bounds on both"
	}
	gain := better(t.goal.Objectives[0].Direction).Gain
	least := min(gain(float64(f.Lines[0].Relative.Low)), gain(float64(f.Lines[0].Relative.High)))
	for _, l := range f.Whole {
		if x := gain(float64(l.Relative)); l.Metric == t.goal.Objectives[0].Metric && x < least {
			text += fmt.Sprintf(". From end to end it gains less than the interval of the windows says (%s): jobs outside of these windows gain little, so expect no more", percent(l.Relative))
			break
		}
	}
	return text
}

// blame says which finalists are out for their bounds, where none is recommended: a
// bound that is in the way is said before all else.
func (t *tuner) blame() {
	n := 0
	for i := range t.out.Finalists {
		if t.out.Finalists[i].Broken != "" {
			n++
		}
	}
	switch n {
	case 0:
	case len(t.out.Finalists):
		t.out.Decision = Keep
		t.out.Why = fmt.Sprintf("no candidate that is better on the tuning windows keeps its bounds; of %d, the nearest is %s", n, t.nearest())
	default:
		t.out.Why = fmt.Sprintf("%d of the %d candidates that are better on the tuning windows break a bound, the nearest to keeping it is %s. Of the others, %s", n, len(t.out.Finalists), t.nearest(), t.out.Why)
	}
}

// gains says whether a finalist is better in the first objective on each whole trace,
// as it stands.
func (t *tuner) gains(f *Finalist) bool {
	o := t.goal.Objectives[0]
	for _, l := range f.Whole {
		if l.Metric == o.Metric && !(better(o.Direction).Gain(float64(l.Then-l.Now)) > 0) {
			return false
		}
	}
	return true
}

// bestOf is the finalist with the best first objective on the acceptance windows.
func (t *tuner) bestOf(list []int) int {
	worth := func(i int) float64 {
		x := float64(t.out.Finalists[i].Lines[0].Then.Estimate)
		if t.goal.Objectives[0].Direction == search.Maximise {
			return -x
		}
		return x
	}
	best := list[0]
	for _, i := range list[1:] {
		if worth(i) < worth(best) {
			best = i
		}
	}
	return best
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
