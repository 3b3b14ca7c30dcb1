package task

import (
	"math/big"
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// slow sums up bounded slowdowns, in 2^-20, and waits in µs: integers, so that the
// order of adding does not matter.
type slow struct {
	jobs, started, finished int64
	waits, bounded          [2]uint64 // high, low
}

func (s *slow) add(c *record.Columns, i int) {
	s.jobs++
	if c.Wait[i] < 0 { // it never started
		return
	}
	s.started++
	plus(&s.waits, uint64(c.Wait[i]))
	if st := model.JobState(c.State[i]); st != model.Completed && st != model.Timeout {
		return
	}
	s.finished++
	const bound = uint64(10 * model.Second)
	turn, run := uint64(c.End[i]-c.Submit[i]), max(uint64(c.Runtime[i]), bound)
	x := uint64(1 << 20)
	if turn > run && turn>>44 == 0 {
		x = (turn<<20 + run/2) / run
	} else if turn > run { // half a year and more: the product takes two words
		hi, lo := bits.Mul64(turn, 1<<20)
		x, _ = bits.Div64(hi, lo, run)
	}
	plus(&s.bounded, x)
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

// sizes are classes of jobs by the units that they ask for, each up to a power of
// four.
const sizes = 17

func sizeOf(units int32) int {
	if units <= 1 {
		return 0
	}
	return (bits.Len32(uint32(units-1)) + 1) / 2
}

// sizeName is "1", "2-4", "5-16" and so on.
func sizeName(class int) string {
	if class == 0 {
		return "1"
	}
	return strconv.FormatInt(1<<(2*(class-1))+1, 10) + "-" + strconv.FormatInt(1<<(2*class), 10)
}

// groups adds what the table of metrics does not have: bounded slowdowns of all
// groups, and everything of sizes.
func (w *worker) groups(r *Result, res *sim.Result) {
	from, to := model.AbsentTime, model.Never
	if r.GroupsOf == metric.Steady {
		from, to, _ = res.Series.Steady()
	}
	var tenants, vclusters, classes, bySize []slow
	if names := res.Site; names != nil {
		tenants, vclusters, classes = make([]slow, len(names.Tenants)), make([]slow, len(names.VClusters)), make([]slow, model.SensitiveClass+1)
	}
	bySize = make([]slow, sizes)
	c := &w.jobs.Jobs
	for i := range c.Len() {
		if t := model.Time(c.Submit[i]); t < from || t > to {
			continue
		}
		bySize[sizeOf(c.Procs[i])].add(c, i)
		if !c.OfSite {
			continue
		}
		for _, g := range [...]struct {
			sums []slow
			at   int32
		}{{tenants, c.Tenant[i]}, {vclusters, c.VCluster[i]}, {classes, c.Class[i]}} {
			if g.at >= 0 && int(g.at) < len(g.sums) {
				g.sums[g.at].add(c, i)
			}
		}
	}
	for i := range bySize {
		if s, name := &bySize[i], sizeName(i); s.jobs > 0 {
			jobs := float64(s.jobs)
			r.put("size", name, "jobs", &jobs)
			r.put("size", name, "wait_mean", mean(s.waits, s.started, int64(model.Second)))
			r.put("size", name, "bounded_slowdown_mean", s.slowdown())
		}
	}
	for i := range classes {
		if s := &classes[i]; s.jobs > 0 {
			r.put(metric.ByClass, strconv.Itoa(i), "bounded_slowdown_mean", s.slowdown())
		}
	}
	for i := range tenants {
		r.put(metric.ByTenant, res.Site.Tenants[i], "bounded_slowdown_mean", tenants[i].slowdown())
	}
	for i := range vclusters {
		r.put(metric.ByVCluster, res.Site.VClusters[i], "bounded_slowdown_mean", vclusters[i].slowdown())
	}
}

func (s *slow) slowdown() *float64 { return mean(s.bounded, s.finished, 1<<20) }
