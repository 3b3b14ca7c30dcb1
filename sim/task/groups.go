package task

import (
	"math/big"
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
)

// share is what one job adds to each of its groups.
type share struct {
	started  bool
	finished int64  // 0 or 1
	wait     uint64 // µs, of one that started
	bounded  uint64 // slowdown in 2^-20, of one that finished
	work     int64  // unit·s that it ran for
}

// Of a run that measures a part of its trace, one that has not left counts with its
// wait so far, as in the table of metrics.
func shareOf(c *record.Columns, i int, measured bool) (s share) {
	st, wait := model.JobState(c.State[i]), c.Wait[i]
	s.work = int64(c.Procs[i]) * (c.Runtime[i] / int64(model.Second))
	turn, finished := uint64(c.End[i]-c.Submit[i]), st == model.Completed || st == model.Timeout
	if measured && !st.Terminal() {
		if wait < 0 {
			wait = c.End[i] - c.Submit[i]
		}
		turn, finished = uint64(wait+c.Runtime[i]), c.Runtime[i] > 0
	}
	if wait < 0 { // it never started
		return s
	}
	s.started, s.wait = true, uint64(wait)
	if !finished {
		return s
	}
	s.finished = 1
	const bound = uint64(10 * model.Second)
	run := max(uint64(c.Runtime[i]), bound)
	s.bounded = 1 << 20
	if turn > run && turn>>44 == 0 {
		s.bounded = (turn<<20 + run/2) / run
	} else if turn > run { // half a year and more: the product takes two words
		hi, lo := bits.Mul64(turn, 1<<20)
		s.bounded, _ = bits.Div64(hi, lo, run)
	}
	return s
}

// slow sums up bounded slowdowns, in 2^-20: integers, so that the order of adding
// does not matter.
type slow struct {
	jobs, finished int64
	work           int64
	bounded        [2]uint64 // high, low
}

func (s *slow) add(j *share) {
	s.jobs++
	s.finished += j.finished
	s.work += j.work
	plus(&s.bounded, j.bounded)
}

func plus(sum *[2]uint64, x uint64) {
	var carry uint64
	sum[1], carry = bits.Add64(sum[1], x, 0)
	sum[0] += carry
}

// mean is sum / (n·scale) rounded once, nil of nothing.
func mean(sum [2]uint64, n, scale int64) *float64 {
	if n == 0 {
		return nil
	}
	num := new(big.Int).Lsh(new(big.Int).SetUint64(sum[0]), 64)
	num.Add(num, new(big.Int).SetUint64(sum[1]))
	x, _ := new(big.Rat).SetFrac(num, new(big.Int).Mul(big.NewInt(n), big.NewInt(scale))).Float64()
	return &x
}

func (s *slow) slowdown() *float64 { return mean(s.bounded, s.finished, 1<<20) }

// hours is the work in unit·h.
func (s *slow) hours() *float64 {
	x := float64(s.work) / 3600
	return &x
}

// whole are the jobs of a group that tables of metrics do not have, with the waits in
// µs of those that started.
type whole struct {
	slow
	waits [2]uint64
	each  []uint64
}

func (w *whole) add(j *share) {
	w.slow.add(j)
	if j.started {
		plus(&w.waits, j.wait)
		w.each = append(w.each, j.wait)
	}
}

// enter gives the numbers of the group, if a job is in it.
func (w *whole) enter(r *Figures, rank *metric.Ranker, by, name string) {
	if w.jobs == 0 {
		return
	}
	jobs, started := float64(w.jobs), float64(len(w.each))
	g := r.group(by, name)
	g.named("jobs", &jobs)
	g.named("started", &started)
	g.named("wait_mean", mean(w.waits, int64(len(w.each)), int64(model.Second)))
	g.named("bounded_slowdown_mean", w.slowdown())
	g.named("work", w.hours())
	if len(w.each) == 0 {
		return
	}
	var waits [len(waitPercents)]uint64
	rank.Percentiles(w.each, waitPercents[:], waits[:])
	for i, name := range waitNames {
		g.named(name, mean([2]uint64{0, waits[i]}, 1, int64(model.Second)))
	}
}

// waitPercents are the percentiles of waits, of which waitNames has the names.
var (
	waitPercents = [...]int{50, 90, 95, 99, 100}
	waitNames    = [...]string{"wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max"}
)

// tally are the groups of some jobs of a run while they are added up.
type tally struct {
	tenants, vclusters, classes []slow
	kinds                       [model.Session + 1]whole
	sizes                       [metric.Sizes]whole
	runtimes                    [metric.Runtimes]whole
	users                       []whole // by place in heavy.names
	rank                        metric.Ranker
}

// reset empties p, and makes room for the groups of a site, nil for a plain cluster,
// and for so many users.
func (p *tally) reset(names *plan.SiteNames, users int) {
	p.tenants, p.vclusters, p.classes = p.tenants[:0], p.vclusters[:0], p.classes[:0]
	if names != nil {
		p.tenants = append(p.tenants, make([]slow, len(names.Tenants))...)
		p.vclusters = append(p.vclusters, make([]slow, len(names.VClusters))...)
		p.classes = append(p.classes, make([]slow, model.SensitiveClass+1)...)
	}
	if len(p.users) != users {
		p.users = make([]whole, users)
	}
	for _, list := range [][]whole{p.kinds[:], p.sizes[:], p.runtimes[:], p.users} {
		for i := range list {
			list[i] = whole{each: list[i].each[:0]}
		}
	}
}

// add adds row i up; user is its place among the heavy users, -1 for none of them.
func (p *tally) add(c *record.Columns, i int, user int32, measured bool) {
	j := shareOf(c, i, measured)
	p.sizes[metric.SizeOf(c.Procs[i])].add(&j)
	p.runtimes[metric.RuntimeOf(model.Duration(c.Runtime[i]))].add(&j)
	if user >= 0 {
		p.users[user].add(&j)
	}
	if !c.OfSite {
		return
	}
	p.kinds[c.Kind[i]].add(&j)
	addTo(p.tenants, c.Tenant[i], &j)
	addTo(p.vclusters, c.VCluster[i], &j)
	addTo(p.classes, c.Class[i], &j)
}

// addTo adds a job to its group, if it is in one.
func addTo(groups []slow, at int32, j *share) {
	if at >= 0 && int(at) < len(groups) {
		groups[at].add(j)
	}
}

// enter gives r what was added up, beside what the table of metrics has given it:
// bounded slowdowns of all groups, and everything of those that tables do not have.
func (p *tally) enter(r *Figures, names *plan.SiteNames, users []string) {
	for i := range p.sizes {
		p.sizes[i].enter(r, &p.rank, metric.BySize, metric.SizeName(i))
	}
	for i := range p.runtimes {
		p.runtimes[i].enter(r, &p.rank, metric.ByRuntime, metric.RuntimeName(i))
	}
	for i, name := range users {
		p.users[i].enter(r, &p.rank, metric.ByUser, name)
	}
	for i := range p.kinds {
		p.kinds[i].enter(r, &p.rank, metric.ByKind, model.Kind(i).String())
	}
	for i := range p.classes {
		if s := &p.classes[i]; s.jobs > 0 {
			p.classes[i].complete(r.group(metric.ByClass, strconv.Itoa(i)))
		}
	}
	for i := range p.tenants {
		p.tenants[i].complete(r.group(metric.ByTenant, names.Tenants[i]))
	}
	for i := range p.vclusters {
		p.vclusters[i].complete(r.group(metric.ByVCluster, names.VClusters[i]))
	}
}

// complete gives a group what tables of metrics do not have.
func (s *slow) complete(g Group) {
	g.named("bounded_slowdown_mean", s.slowdown())
	g.named("work", s.hours())
}
