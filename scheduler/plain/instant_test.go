package plain_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
)

// cluster is a core on 1,024 processors whose jobs, all of them submitted at one instant, run for a
// part of their requested time.
type cluster struct {
	core    *plain.Core
	jobs    []model.Fact // by ref
	ends    []ending     // of the running jobs, the next one last
	facts   []model.Fact // scratch
	started []model.Ref  // by the last pass
	ended   []model.Ref  // last
}

type ending struct {
	at  model.Time
	ref model.Ref
}

const clusterProcs = 1024

// flood is a cluster to which so many jobs of up to 64 processors, for a minute to ten hours, come at
// once. sizes says how many processors the i-th job asks for.
func flood(by order.Order, fill order.Backfill, jobs int, size func(*rand.Rand) int32) *cluster {
	rng := rand.New(rand.NewPCG(5, 5))
	c := &cluster{
		core: plain.New(plain.Config{Cluster: model.UniformCluster(clusterProcs, 1, true), Order: by, Backfill: fill}),
		jobs: make([]model.Fact, jobs),
	}
	for i := range c.jobs {
		c.jobs[i] = model.Fact{
			Kind: model.FactSubmitted, Job: model.JobID(i), Ref: model.Ref(i), Walltime: model.Minute + model.Duration(rng.IntN(36_000))*model.Second,
			Request: model.Request{Units: size(rng)},
		}
	}
	c.core.Observe(0, c.jobs)
	return c
}

// powers are sizes as most logs have them, and anySize such as none has.
func powers(rng *rand.Rand) int32  { return 1 << rng.IntN(7) }
func anySize(rng *rand.Rand) int32 { return 1 + rng.Int32N(64) }

// runs is for how long a job runs, of those that ask for so much.
func runs(asked model.Duration) model.Duration { return asked - asked/7 }

// pass makes a pass and grants what it proposes.
func (c *cluster) pass(now model.Time) {
	c.facts, c.started = c.facts[:0], c.started[:0]
	proposals := c.core.Plan(now).Proposals
	for i := range proposals {
		p := &proposals[i]
		c.started = append(c.started, p.Ref)
		c.facts = append(c.facts, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
		e := ending{now.Add(runs(c.jobs[p.Ref].Walltime)), p.Ref}
		at, _ := slices.BinarySearchFunc(c.ends, e, func(a, b ending) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.ref, a.ref)) })
		c.ends = slices.Insert(c.ends, at, e)
	}
	c.core.Observe(now, c.facts)
}

// end lets the next jobs end, and says when.
func (c *cluster) end() (now model.Time, ended []model.Ref) {
	now = c.ends[len(c.ends)-1].at
	c.facts, c.ended = c.facts[:0], c.ended[:0]
	for n := len(c.ends); n > 0 && c.ends[n-1].at == now; n-- {
		ref := c.ends[n-1].ref
		c.ends = c.ends[:n-1]
		c.facts = append(c.facts, model.Fact{Kind: model.FactEnded, Job: c.jobs[ref].Job, Ref: ref, Outcome: model.Completed})
		c.ended = append(c.ended, ref)
	}
	c.core.Observe(now, c.facts)
	return now, c.ended
}

// naive is a pass over plain slices.
type naive struct {
	by      order.Order
	fill    order.Backfill
	waiting []model.Fact // in order
	running []model.Fact // their Walltime is when they are predicted to end
}

func (n *naive) pass(now model.Time) (started []model.Ref) {
	free := int32(clusterProcs)
	for _, j := range n.running {
		free -= j.Request.Units
	}
	var left []model.Fact
	at, extra := model.Never, int32(0)
	for _, j := range n.waiting {
		need, end := j.Request.Units, now.Add(j.Walltime)
		fits := need <= free && (len(left) == 0 || n.fill != order.None)
		if fits && len(left) > 0 && n.fill == order.Easy && end > at {
			fits = need <= extra
			if fits {
				extra -= need
			}
		}
		if !fits {
			if left = append(left, j); len(left) == 1 {
				at, extra = n.shadow(need, free)
			}
			continue
		}
		free -= need
		started = append(started, j.Ref)
		j.Walltime = model.Duration(end)
		n.running = append(n.running, j)
	}
	n.waiting = left
	return started
}

// shadow is when so much is free, and what is left over then.
func (n *naive) shadow(need, free int32) (model.Time, int32) {
	slices.SortStableFunc(n.running, func(a, b model.Fact) int { return cmp.Compare(a.Walltime, b.Walltime) })
	for i, j := range n.running {
		free += j.Request.Units
		if last := i+1 == len(n.running) || n.running[i+1].Walltime > j.Walltime; last && free >= need {
			return model.Time(j.Walltime), free - need
		}
	}
	return model.Never, 0
}

func (n *naive) end(refs []model.Ref) {
	n.running = slices.DeleteFunc(n.running, func(j model.Fact) bool { return slices.Contains(refs, j.Ref) })
}

// A thousand jobs that come at one instant start as they do by passes over plain slices.
func TestManyJobsAtOneInstant(t *testing.T) {
	for _, by := range []order.Order{order.FCFS, order.SJF, order.LJF} {
		for _, fill := range []order.Backfill{order.None, order.FirstFit, order.Easy} {
			for i, size := range []func(*rand.Rand) int32{powers, anySize} {
				c := flood(by, fill, 1000, size)
				n := &naive{by: by, fill: fill, waiting: slices.Clone(c.jobs)}
				slices.SortStableFunc(n.waiting, func(a, b model.Fact) int {
					switch by {
					case order.SJF:
						return cmp.Compare(a.Walltime, b.Walltime)
					case order.LJF:
						return cmp.Compare(b.Walltime, a.Walltime)
					}
					return 0
				})
				for now, ended := model.Time(0), []model.Ref(nil); ; now, ended = c.end() {
					c.pass(now)
					n.end(ended)
					require.Equal(t, n.pass(now), append([]model.Ref(nil), c.started...), "%v %v %d at %v", by, fill, i, now)
					if len(c.ends) == 0 {
						break
					}
				}
				require.Empty(t, n.waiting)
				require.Zero(t, c.core.Least())
			}
		}
	}
}

// cpu is what the process has used.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only a wrong argument makes it fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkInstantPass is what a job's end costs, and the pass behind it, while the others of so many
// wait that came at one instant.
func BenchmarkInstantPass(b *testing.B) {
	for _, jobs := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("queue=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			var used time.Duration
			for done := 0; done < b.N; {
				b.StopTimer()
				c := flood(order.FCFS, order.Easy, jobs, powers)
				c.pass(0)
				b.StartTimer()
				begun := cpu()
				for range min(jobs/10, b.N-done) { // then the queue is still about as long
					now, _ := c.end()
					c.pass(now)
					done++
				}
				used += cpu() - begun
			}
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkInstantReplay is all of it, until the last of the jobs has ended, in the core alone.
func BenchmarkInstantReplay(b *testing.B) {
	for _, jobs := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			begun := cpu()
			for range b.N {
				c := flood(order.FCFS, order.Easy, jobs, powers)
				for now := model.Time(0); ; now, _ = c.end() {
					c.pass(now)
					if len(c.ends) == 0 {
						break
					}
				}
			}
			b.ReportMetric(float64((cpu()-begun).Nanoseconds())/float64(b.N*jobs), "cpu-ns/job")
		})
	}
}
