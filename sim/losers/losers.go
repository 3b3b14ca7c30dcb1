// Package losers says which groups of jobs wait longer under one policy than under
// another. It compares the waits of two replays of one log, added up by user, size class
// and so on, and picks a short list of groups that do not repeat each other. It must not
// know where the sums come from.
package losers

import (
	"cmp"
	"slices"
	"strings"
)

// Loser is a group of jobs that waits longer under the second policy.
type Loser struct {
	By         string  `json:"by"`           // "user", or "user × size" for jobs that share both
	Name       string  `json:"name"`         // "u17", or "u17 × 2-4"
	Jobs       int64   `json:"jobs"`         // under the first policy, those that never started included
	Hours      float64 `json:"hours"`        // sum of waits under the second policy, minus that under the first
	WaitNow    float64 `json:"wait_now"`     // mean of the jobs that started, in seconds
	WaitThen   float64 `json:"wait_then"`    // the same under the second policy
	PartOfJobs float64 `json:"part_of_jobs"` // of the whole run
	PartOfWork float64 `json:"part_of_work"` // run times × units, of the whole run
}

// Growth is by what part the mean wait of a group grows: 0.5 for one and a half times the
// wait. Waits of less than a minute before count as a minute, so that next to no wait that
// becomes a short one is no growth without bound.
func Growth(l Loser) float64 { return (l.WaitThen - l.WaitNow) / max(l.WaitNow, leastGrowth) }

const (
	leastGrowth = 60   // s by which the mean wait of a loser grows at least
	mostLosers  = 20   // of a list
	leastOfMost = 0.5  // of the most hours unexplained, that the next loser has unexplained
	leastOfOwn  = 0.5  // of the hours of a loser, that are unexplained when it is listed
	leastOfTop  = 0.02 // of the hours of the first loser, that another one loses
	noName      = "(none)"
)

// Rank lists the groups that lose most, by hours. Groups are the values of each dimension
// and the pairs of values of two. docs/METRICS.md says how they are chosen.
func Rank(now, then []Cell) []Loser {
	cells := pairs(now, then)
	groups := slices.DeleteFunc(groupsOf(cells, 2), func(g *group) bool { return !g.loses() })
	of := make([][]*group, len(cells))
	for _, g := range groups {
		for _, i := range g.cells {
			of[i] = append(of[i], g)
		}
	}
	taken := make([]bool, len(cells))
	var list []Loser
	for len(list) < mostLosers {
		g := choose(groups)
		if g == nil {
			break
		}
		list = append(list, g.Loser)
		for _, i := range g.cells {
			if taken[i] {
				continue
			}
			taken[i] = true
			for _, other := range of[i] {
				other.jobs -= cells[i].now.Jobs
				other.loss = other.loss.Minus(cells[i].loss())
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Loser) int {
		return cmp.Or(cmp.Compare(b.Hours, a.Hours), strings.Compare(a.Name, b.Name), strings.Compare(a.By, b.By))
	})
	return slices.DeleteFunc(list, func(l Loser) bool { return l.Hours < float64(leastOfTop*list[0].Hours) })
}

// choose is the group whose own mean loss explains most of what is unexplained: for losses
// d of n jobs, (Σd)²/n. Of equal ones it is the first. It is nil when none is left. Groups
// with few hours come later, for the noise of a single job is large.
func choose(groups []*group) (best *group) {
	most := Sum{}
	for _, g := range groups {
		if g.open() && g.loss.Compare(most) > 0 {
			most = g.loss
		}
	}
	explained := 0.0
	for _, g := range groups {
		loss := g.loss.Seconds()
		if !g.open() || loss < float64(leastOfMost*most.Seconds()) {
			continue
		}
		if x := float64(loss * (loss / float64(g.jobs))); x > explained {
			best, explained = g, x
		}
	}
	return best
}

// Worst is the group of one dimension whose mean wait grows by the largest part, among
// those with at least some part of the work and a mean that grows by a minute. Of equal
// ones it is that with more hours, then by name. It is false where there is none.
func Worst(now, then []Cell, leastPart float64) (worst Loser, found bool) {
	for _, g := range groupsOf(pairs(now, then), 1) {
		if g.PartOfWork < leastPart || !g.grows() {
			continue
		}
		if !found || cmp.Or(cmp.Compare(Growth(g.Loser), Growth(worst)), cmp.Compare(g.Hours, worst.Hours)) > 0 {
			worst, found = g.Loser, true
		}
	}
	return worst, found
}

// pair is a cell under both policies. It may be missing under one: a job whose nodes fail
// may run for less and be in another class.
type pair struct {
	names     *Cell
	now, then Cell
}

func (p *pair) loss() Sum { return p.then.Waits.Minus(p.now.Waits) }

func (p *pair) name(dim int) string { return cmp.Or(dimensions[dim].of(p.names), noName) }

func (p *pair) add(o *pair) {
	p.now.add(&o.now)
	p.then.add(&o.then)
}

// pairs puts the cells of two runs side by side, in the order of their names.
func pairs(now, then []Cell) []pair {
	now, then = slices.Clone(now), slices.Clone(then)
	Sort(now)
	Sort(then)
	var out []pair
	for len(now) > 0 || len(then) > 0 {
		by := 0
		switch {
		case len(now) == 0:
			by = 1
		case len(then) == 0:
			by = -1
		default:
			by = now[0].Compare(&then[0])
		}
		var p pair
		if by <= 0 {
			p.now, p.names, now = now[0], &now[0], now[1:]
		}
		if by >= 0 {
			p.then, p.names, then = then[0], &then[0], then[1:]
		}
		out = append(out, p)
	}
	return out
}

// group is the cells that share a name, or two.
type group struct {
	Loser
	dims  int
	cells []int32
	// jobs and loss are those of the cells that no listed group has.
	jobs int64
	loss Sum
}

// grows says whether the mean wait grows by enough to be told.
func (g *group) grows() bool { return g.WaitThen-g.WaitNow >= leastGrowth }

func (g *group) loses() bool { return g.Hours > 0 && g.grows() }

// open says whether the group may still be listed.
func (g *group) open() bool {
	return g.jobs > 0 && g.loss.Seconds() > 0 && g.loss.Seconds()/3600 >= float64(leastOfOwn*g.Hours)
}

// groupsOf are all groups by one dimension, and by two where most is 2. Those of one
// come first, then they are in the order of their names.
func groupsOf(cells []pair, most int) []*group {
	var total pair
	for i := range cells {
		total.add(&cells[i])
	}
	var dims []int // those of several values
	for k := range dimensions {
		if slices.ContainsFunc(cells, func(p pair) bool { return p.name(k) != cells[0].name(k) }) {
			dims = append(dims, k)
		}
	}
	var out []*group
	for i, k := range dims {
		out = append(out, groupsBy(cells, &total, k)...)
		if most < 2 {
			continue
		}
		for _, l := range dims[i+1:] {
			out = append(out, groupsBy(cells, &total, k, l)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.dims, b.dims), strings.Compare(a.Name, b.Name), strings.Compare(a.By, b.By))
	})
	return out
}

// groupsBy are the groups by one dimension or two.
func groupsBy(cells []pair, total *pair, dims ...int) []*group {
	by := make([]string, len(dims))
	for n, k := range dims {
		by[n] = dimensions[k].by
	}
	at := map[[2]string]*group{}
	var out []*group
	for i := range cells {
		var names [2]string
		for n, k := range dims {
			names[n] = cells[i].name(k)
		}
		g := at[names]
		if g == nil {
			g = &group{dims: len(dims)}
			g.By, g.Name = strings.Join(by, " × "), strings.Join(names[:len(dims)], " × ")
			at[names] = g
			out = append(out, g)
		}
		g.cells = append(g.cells, int32(i))
	}
	for _, g := range out {
		g.measure(cells, total)
	}
	return out
}

func (g *group) measure(cells []pair, total *pair) {
	var sum pair
	for _, i := range g.cells {
		sum.add(&cells[i])
	}
	g.jobs, g.loss = sum.now.Jobs, sum.loss()
	g.Jobs, g.Hours = g.jobs, g.loss.Over(3600)
	g.WaitNow, g.WaitThen = sum.now.meanWait(), sum.then.meanWait()
	g.PartOfJobs, g.PartOfWork = part(sum.now.Jobs, total.now.Jobs), part(sum.now.Work, total.now.Work)
}

func part(of, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(of) / float64(all)
}
