package preempt

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

// Trial is the cluster as it would be without some of its jobs; the caller, which
// selects nodes, makes it. Fits must be monotone: a job that fits when some victims are
// gone fits when more are. Nothing is kept of v after a call.
type Trial interface {
	// Give frees the nodes of v.
	Give(v *Victim)
	// Take undoes Give for the same v.
	Take(v *Victim)
	// Fits says whether the pending job has room, within its constraints, its
	// topology and its limits.
	Fits() bool
}

// Select chooses which of candidates, all of them running, make room for a
// pending job of the given class: dst, overwritten, with their indices in the
// order of preference, and whether the job fits then. It takes, by class, cost
// per usable node at cfg.Bandwidth, latest start and id, as many as are needed,
// spares those of them without which it still fits, the last first, and gives
// up when more than cfg.MaxVictims remain. When the job fits as it is, none is
// chosen. The trial is left as it was found.
//
// For n candidates of which the first k are enough that is some 3n + k log k comparisons, as many
// calls of Give and Take, and k + 2 log n of Fits; likewise where all are not enough. It allocates
// only to make dst large enough.
func Select(cfg *Config, trigger Trigger, pendingClass int32, now model.Time,
	candidates []Victim, trial Trial, dst []int) ([]int, bool) {
	dst = dst[:0]
	if trial.Fits() {
		return dst, true
	}
	for i := range candidates {
		v := &candidates[i]
		if cfg.Admits(v, trigger, pendingClass) {
			v.cost = cfg.Cost(v, now, cfg.Bandwidth)
			dst = append(dst, i)
		}
	}
	t := taking{candidates: candidates, order: dst, trial: trial}
	if !t.enough() {
		t.move(0)
		return dst[:0], false
	}
	return t.prune(int(cfg.MaxVictims))
}

// MayYield says whether some of candidates, no more than MaxVictims, hold so many usable
// nodes together. Where not, Select chooses none for a job that lacks these.
func (c *Config) MayYield(trigger Trigger, pendingClass int32, candidates []Victim, nodes int32) bool {
	var largest [8]int32 // usable nodes, descending
	most, sum := min(len(largest), int(c.MaxVictims)), int32(0)
	for i := range candidates {
		if !c.Admits(&candidates[i], trigger, pendingClass) {
			continue
		}
		n := candidates[i].Usable
		if sum += n; int(c.MaxVictims) > len(largest) || n <= largest[most-1] {
			continue
		}
		at := most - 1
		for ; at > 0 && largest[at-1] < n; at-- {
			largest[at] = largest[at-1]
		}
		largest[at] = n
	}
	if int(c.MaxVictims) > len(largest) {
		return sum > 0 && sum >= nodes
	}
	sum = 0
	for _, n := range largest[:most] {
		sum += n
	}
	return sum > 0 && sum >= nodes
}

// Shortfall says why Select found no victims: whether the job would fit if all that may be chosen
// left, so that there would be too many of them, and whether it would if those that are protected
// left too. The trial is left as it was found.
func Shortfall(cfg *Config, trigger Trigger, pendingClass int32, candidates []Victim, trial Trial) (tooMany, protected bool) {
	over := pendingClass
	if trigger == Sensitive {
		over = model.SensitiveClass
	}
	t := taking{candidates: candidates, trial: trial}
	for i := range candidates {
		if cfg.Admits(&candidates[i], trigger, pendingClass) {
			t.order = append(t.order, i)
		}
	}
	admitted := len(t.order)
	for i := range candidates {
		v := &candidates[i]
		if !cfg.Admits(v, trigger, pendingClass) && (trigger == Reclaim || cfg.Rule.Over(over, v.Class)) {
			t.order = append(t.order, i)
		}
	}
	t.move(admitted)
	tooMany = trial.Fits()
	t.move(len(t.order))
	protected = trial.Fits()
	t.move(0)
	return tooMany, protected
}

// Admits says whether v may lose its nodes to a job of class pending.
func (c *Config) Admits(v *Victim, trigger Trigger, pending int32) bool {
	if v.Usable <= 0 || !c.Stops(v) {
		return false
	}
	switch trigger {
	case Reclaim:
		return v.Borrowed
	case Sensitive:
		pending = model.SensitiveClass
	}
	return c.Rule.Over(pending, v.Class)
}

// Stops says whether v may be made to leave for the sake of no other job.
func (c *Config) Stops(v *Victim) bool { return !v.Sensitive && v.Preemptible && !c.nearlyDone(v) }

// nearlyDone says whether v is left alone since it reaches its walltime soon.
func (c *Config) nearlyDone(v *Victim) bool {
	return !unbounded(v) && v.Walltime-v.Elapsed <= c.NearCompletion
}

// Over says whether work of class pending may preempt work of class victim.
func (r Rule) Over(pending, victim int32) bool {
	if r == Banded {
		return band(victim) < band(pending)
	}
	return victim < pending
}

// band is 0, 1 to 3, 4 to 6, 7 to 9, and 10.
func band(class int32) int32 { return (class + 2) / 3 }

func compare(a, b *Victim) int {
	switch {
	case a.Class != b.Class:
		return cmp.Compare(a.Class, b.Class)
	case a.cost != b.cost:
		return cmp.Compare(a.cost, b.cost)
	case a.Start != b.Start:
		return cmp.Compare(b.Start, a.Start)
	}
	return cmp.Compare(a.Job, b.Job)
}

// taking is a trial in which the first given of order are gone.
type taking struct {
	candidates []Victim
	order      []int
	trial      Trial
	given      int
}

func (t *taking) move(to int) {
	for ; t.given < to; t.given++ {
		t.trial.Give(&t.candidates[t.order[t.given]])
	}
	for ; t.given > to; t.given-- {
		t.trial.Take(&t.candidates[t.order[t.given-1]])
	}
}

// enough gives the fewest, from the beginning in the order of preference, with which the job
// fits, and leaves these in order; it says whether there are any. It cuts what is in question
// in two as a search for an element of a rank does, so that most are never brought into order:
// few of many candidates are needed as a rule.
func (t *taking) enough() bool {
	low, high := 0, len(t.order) // low are too few, and high are not unless all are
	for high-low > 1 {
		cut := t.cut(low, high)
		if t.move(cut); t.trial.Fits() {
			high = cut
		} else {
			low = cut
		}
	}
	if t.move(high); high == len(t.order) && !t.trial.Fits() {
		return false
	}
	//detlint:total the comparison ends in the job id
	slices.SortFunc(t.order[:high], func(a, b int) int { return compare(&t.candidates[a], &t.candidates[b]) })
	return true
}

// cut brings the candidates in [low, high), of which there are two or more, into two parts, neither of
// them empty, so that each of the first part comes before all of the second, which begins where it
// says.
func (t *taking) cut(low, high int) int {
	s := t.order[low:high]
	before := func(a, b int) bool { return compare(&t.candidates[a], &t.candidates[b]) < 0 }
	middle := len(s) / 2
	for _, x := range [...][2]int{{0, middle}, {middle, len(s) - 1}, {0, middle}} { // the median of three, or the larger of two, is in the middle
		if before(s[x[1]], s[x[0]]) {
			s[x[0]], s[x[1]] = s[x[1]], s[x[0]]
		}
	}
	last := len(s) - 1
	s[middle], s[last] = s[last], s[middle]
	first := 0
	for i, x := range s[:last] {
		if before(x, s[last]) {
			s[i], s[first] = s[first], x
			first++
		}
	}
	s[first], s[last] = s[last], s[first]
	return low + max(first, 1)
}

// prune keeps of the given those that are needed, and takes all back.
func (t *taking) prune(most int) ([]int, bool) {
	kept := t.given // from here to the end of what was given
	end := t.given
	for i := end - 1; i >= 0 && end-kept <= most; i-- {
		v := &t.candidates[t.order[i]]
		t.trial.Take(v)
		if i == end-1 || !t.trial.Fits() {
			t.trial.Give(v)
			kept--
			t.order[kept] = t.order[i]
		}
		t.given = i
	}
	for _, i := range t.order[kept:end] {
		t.trial.Take(&t.candidates[i])
	}
	t.move(0)
	if end-kept > most {
		return t.order[:0], false
	}
	return t.order[:copy(t.order, t.order[kept:end])], true
}
