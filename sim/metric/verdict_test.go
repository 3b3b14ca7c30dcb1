package metric

import (
	"container/heap"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

var (
	logsOfACell = flag.Int("overload.logs", 60, "logs of a cell of the table of verdicts")
	jobsOfALog  = flag.Int("overload.jobs", 3000, "jobs of each of them")
)

// submitted is a job of the logs below, all of which have one processor; in seconds.
type submitted struct{ submit, runtime int64 }

// stationary is a log at a load of a cluster with so many processors that begins idle:
// single arrivals and exponential run times, or batches of five and a mixture of run
// times with a squared coefficient of variation of 5.
func stationary(servers, n int, load float64, bursty bool, key uint64) []submitted {
	source := draw.New(1, draw.StreamOf("metric.verdict.test"), key, 0)
	gap, batch := 10_000/load/float64(servers), 1
	if bursty {
		gap, batch = 5*gap, 5
	}
	var out []submitted
	for t := 0.0; len(out) < n; t += gap * source.Exponential() {
		for range batch {
			mean := 10_000.0
			if bursty { // each an exponential of another mean: E[x²] = 2·(5²/9 + 0.5²·8/9) = 6
				if mean *= 0.5; source.Bool(1.0 / 9) {
					mean *= 10
				}
			}
			out = append(out, submitted{int64(t), 1 + int64(mean*source.Exponential())})
		}
	}
	return out
}

// free are the instants at which servers become free.
type free []int64

func (f free) Len() int           { return len(f) }
func (f free) Less(i, k int) bool { return f[i] < f[k] }
func (f free) Swap(i, k int)      { f[i], f[k] = f[k], f[i] }
func (f *free) Push(x any)        { *f = append(*f, x.(int64)) }
func (f *free) Pop() any          { x := (*f)[len(*f)-1]; *f = (*f)[:len(*f)-1]; return x }

// served runs a log first come, first served, and measures it.
func served(t require.TestingT, cfg Config, log []submitted) Table {
	servers := make(free, cfg.Units)
	jobs := make([]job, len(log))
	changes := map[int64]int64{} // of the queue, by instant
	var instants free
	note := func(at, by int64) {
		if _, met := changes[at]; !met {
			heap.Push(&instants, at)
		}
		changes[at] += by
	}
	submits := map[int64]int32{}
	for i, j := range log {
		start := max(heap.Pop(&servers).(int64), j.submit)
		heap.Push(&servers, start+j.runtime)
		jobs[i] = job{j.submit, start, start + j.runtime, 1, 0, model.Completed}
		submits[j.submit]++
		note(j.submit, 1)
		note(start, -1)
		note(start+j.runtime, 0)
	}
	s, err := NewSeries(cfg)
	require.NoError(t, err)
	queued := int64(0)
	for len(instants) > 0 {
		at := heap.Pop(&instants).(int64)
		queued += changes[at]
		s.CountSubmit(model.Time(at*sec), submits[at])
		s.Observe(model.Time(at*sec), State{QueuedUnits: queued, QueuedJobs: int32(queued)})
	}
	tab, err := Compute(jobsOf(jobs), s)
	require.NoError(t, err)
	return tab
}

// TestOverloadRates: of logs that begin idle and keep one load, how many are called
// overloaded. docs/METRICS.md has more of them. Bounds are three standard deviations
// about what is stated there.
func TestOverloadRates(t *testing.T) {
	for _, c := range []struct {
		load        float64
		bursty      bool
		least, most float64
	}{
		{0.90, false, 0, 0}, {0.98, false, 0, 0.05}, {1.00, false, 0, 0.15}, {1.05, false, 0.2, 1}, {1.10, false, 0.8, 1}, {1.20, false, 0.95, 1},
		{0.90, true, 0, 0.05}, {0.98, true, 0, 0.05}, {1.00, true, 0, 0.15}, {1.05, true, 0.02, 1}, {1.10, true, 0.2, 1}, {1.20, true, 0.5, 1},
	} {
		over := 0
		for k := range uint64(*logsOfACell) {
			if served(t, Config{Units: 32}, stationary(32, *jobsOfALog, c.load, c.bursty, k)).Verdict == Overloaded {
				over++
			}
		}
		share := float64(over) / float64(*logsOfACell)
		t.Logf("load %.2f, bursty %v: %.1f %%", c.load, c.bursty, 100*share)
		require.True(t, c.least <= share && share <= c.most, "load %v, bursty %v: %.3f called overloaded, stated %v to %v", c.load, c.bursty, share, c.least, c.most)
	}
}

// TestVerdictKnowsNoWarmUp: the verdict is of the run, whatever part counts as steady,
// and of units of any size.
func TestVerdictKnowsNoWarmUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := stationary(8, 200, rapid.SampledFrom([]float64{0.8, 1.1, 2}).Draw(t, "load"), false, rapid.Uint64Range(0, 50).Draw(t, "key"))
		want := served(t, Config{Units: 8}, log).Verdict
		require.NotEqual(t, Unknown, want)
		for _, cfg := range []Config{
			{Units: 8, WarmupJobs: rapid.Int64Range(1, 300).Draw(t, "jobs")},
			{Units: 8, Warmup: model.Duration(rapid.Int64Range(1, 1_000_000*sec).Draw(t, "span"))},
			{Units: 8, Cooldown: model.Duration(rapid.Int64Range(1, 100_000*sec).Draw(t, "cool-down")), LastSubmit: model.Time(log[len(log)-1].submit * sec)},
		} {
			require.Equal(t, want, served(t, cfg, log).Verdict, "%+v", cfg)
		}
	})
}

// TestVerdictByTheQueue alone, where nothing waits at the end: queue(i) units in second i
// of 40, in each of which a job of a second comes.
func TestVerdictByTheQueue(t *testing.T) {
	level := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	for _, c := range []struct {
		name  string
		queue func(i int64) int64
		want  Verdict
	}{
		{"empty", level(0), Stable},
		{"a machine's worth", level(100), Stable},
		{"more than a machine, level", level(101), Backlogged},
		{"rising", func(i int64) int64 { return i * 40 }, Backlogged},
		{"bathtub", func(i int64) int64 { return (i - 20) * (i - 20) }, Backlogged},
		{"one spike", func(i int64) int64 { return 3000 * (1 - min(1, (i-20)*(i-20))) }, Stable},
	} {
		s, err := NewSeries(Config{Units: 100})
		require.NoError(t, err)
		var jobs []job
		for i := range int64(41) {
			s.CountSubmit(model.Time(i*sec), 1)
			s.Observe(model.Time(i*sec), State{QueuedUnits: c.queue(i), QueuedJobs: 1})
			jobs = append(jobs, job{i, i, i + 1, 1, 0, model.Completed})
		}
		tab, err := Compute(jobsOf(jobs), s)
		require.NoError(t, err)
		require.Equal(t, c.want, tab.Verdict, c.name)
	}
}

// TestOverloadNeedsBoth: work that waits at the end beyond chance, and a queue that has
// not drained in the last half.
func TestOverloadNeedsBoth(t *testing.T) {
	run := func(drained int64, late int) Verdict {
		var jobs []job
		s, err := NewSeries(Config{Units: 10})
		require.NoError(t, err)
		for i := range int64(400) {
			start := i
			if int(i) >= 400-late {
				start = 1000
			}
			jobs = append(jobs, job{i, start, start + 10, 1, 0, model.Completed})
			queued := int64(50)
			if i == drained {
				queued = 9
			}
			s.CountSubmit(model.Time(i*sec), 1)
			s.Observe(model.Time(i*sec), State{QueuedUnits: queued, QueuedJobs: 1})
		}
		s.Observe(model.Time(1010*sec), State{})
		tab, err := Compute(jobsOf(jobs), s)
		require.NoError(t, err)
		return tab.Verdict
	}
	require.Equal(t, Overloaded, run(-1, 100), "work comes evenly, so chance explains nothing")
	require.Equal(t, Overloaded, run(100, 100), "it drained in the first half")
	require.Equal(t, Backlogged, run(300, 100), "it drained in the last half")
	require.Equal(t, Backlogged, run(-1, 0), "nothing waits at the end")
}

// TestWaitingWorkThatNeverRan counts with the mean run time of a unit.
func TestWaitingWorkThatNeverRan(t *testing.T) {
	d := demand{from: 0, to: 100}
	d.arrive(&observation{submit: 1, procs: 2, runtime: 10})
	d.arrive(&observation{submit: 99, procs: 6, runtime: 30})
	d.wait(&observation{procs: 3, runtime: 7})
	d.wait(&observation{procs: 4})
	require.Equal(t, "121", d.backlog().RatString(), "21, and 4 units of 200/8")
	require.Equal(t, "20", d.arrived[0].big().String())
	require.Equal(t, "180", d.arrived[19].big().String())
	require.Equal(t, "1621", d.variance().FloatString(0), "of 20, 180 and 18 times 0: (20² + 180² - 20·10²)/19")
}
