package metric

import (
	"container/heap"
	"flag"
	"math"
	"slices"
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

// process is how jobs come.
type process int

const (
	single  process = iota // one by one, with exponential run times
	batches                // of five, with run times of a squared coefficient of variation of 5
	waves                  // one by one, at rates that differ from twentieth to twentieth by 20 % and depend on the one before by 0.5
)

// stationary is a log at a load of a cluster with so many processors that begins idle.
func stationary(servers, n int, load float64, p process, key uint64) []submitted {
	source := draw.New(1, draw.StreamOf("metric.verdict.test"), key, 0)
	gap, batch, rate := 10_000/load/float64(servers), 1, 0.0
	if p == batches {
		gap, batch = 5*gap, 5
	}
	var out []submitted
	for t, part := 0.0, -1; len(out) < n; {
		if p == waves && len(out)*20/n > part {
			part = len(out) * 20 / n
			rate = 0.5*rate + math.Sqrt(0.75)*source.Normal()
		}
		for range batch {
			mean := 10_000.0
			if p == batches { // each an exponential of another mean: E[x²] = 2·(5²/9 + 0.5²·8/9) = 6
				if mean *= 0.5; source.Bool(1.0 / 9) {
					mean *= 10
				}
			}
			out = append(out, submitted{int64(t), 1 + int64(mean*source.Exponential())})
		}
		t += gap / max(1+0.2*rate, 0.2) * source.Exponential()
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
// overloaded. docs/METRICS.md has 1,000 logs of 10,000 jobs; of 60 of 3,000 jobs the bounds
// are three standard deviations about what 1,000 of such gave.
func TestOverloadRates(t *testing.T) {
	for _, c := range []struct {
		load        float64
		process     process
		least, most float64
	}{
		{0.90, single, 0, 0.02}, {0.98, single, 0, 0.05}, {1.00, single, 0, 0.12}, {1.05, single, 0.15, 0.75}, {1.10, single, 0.75, 1}, {1.20, single, 0.95, 1},
		{0.90, batches, 0, 0.02}, {0.98, batches, 0, 0.05}, {1.00, batches, 0, 0.12}, {1.05, batches, 0, 0.35}, {1.10, batches, 0.1, 0.65}, {1.20, batches, 0.6, 1},
		{0.90, waves, 0, 0.05}, {0.98, waves, 0, 0.15}, {1.20, waves, 0.6, 1},
	} {
		over := 0
		for k := range uint64(*logsOfACell) {
			if served(t, Config{Units: 32}, stationary(32, *jobsOfALog, c.load, c.process, k)).Verdict == Overloaded {
				over++
			}
		}
		share := float64(over) / float64(*logsOfACell)
		t.Logf("load %.2f, process %d: %.1f %%", c.load, c.process, 100*share)
		if *jobsOfALog == 3000 {
			require.True(t, c.least <= share && share <= c.most, "load %v, process %d: %.3f called overloaded, stated %v to %v", c.load, c.process, share, c.least, c.most)
		}
	}
}

// TestVerdictKnowsNoWarmUp: the verdict is of the run, whatever part counts as steady.
func TestVerdictKnowsNoWarmUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := stationary(8, 200, rapid.SampledFrom([]float64{0.8, 1.1, 2}).Draw(t, "load"), single, rapid.Uint64Range(0, 50).Draw(t, "key"))
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

// TestVerdictsOfParts: a part begins with what the load before it has left. While the
// cluster works that off it is not overloaded, although the queue never drains; a part
// in which it grows is. Units of any size and measured parts say the same.
func TestVerdictsOfParts(t *testing.T) {
	for _, units := range []int64{1, 7} {
		var jobs []job
		add := func(from, to, every int64) {
			for at := from; at < to; at += every {
				jobs = append(jobs, job{at, 0, 0, int32(units), 0, model.Completed})
			}
		}
		add(0, 1000, 1)    // twice what ten processors can do with jobs of 20 s
		add(1000, 3000, 4) // half of it
		for i, free := 0, make([]int64, 10); i < len(jobs); i++ {
			slices.Sort(free)
			jobs[i].start = max(free[0], jobs[i].submit)
			jobs[i].end = jobs[i].start + 20
			free[0] = jobs[i].end
		}
		for _, c := range []struct {
			from, to int64
			want     Verdict
		}{{0, 1000, Overloaded}, {200, 1000, Overloaded}, {1000, 1800, Backlogged}, {1200, 1600, Backlogged}} {
			span := Span{model.Time(c.from * sec), model.Time(c.to * sec)}
			parts, err := ComputeParts(jobsOf(jobs), replay(t, jobs, Config{Units: 10 * units, Marks: MarksOf([]Span{span})}), []Span{span})
			require.NoError(t, err)
			require.Equal(t, c.want, parts[0].Verdict, "%d units, part from %d to %d s", units, c.from, c.to)
			measured, err := Compute(jobsOf(jobs), replay(t, jobs, Config{Units: 10 * units, Measured: &span}))
			require.NoError(t, err)
			require.Equal(t, c.want, measured.Verdict, "%d units, measured from %d to %d s", units, c.from, c.to)
		}
	}
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
		{"rising by less than a machine", func(i int64) int64 { return i * 3 }, Stable},
		{"rising by more than a machine", func(i int64) int64 { return i * 40 }, Backlogged},
		{"bathtub", func(i int64) int64 { return (i - 20) * (i - 20) }, Backlogged},
		{"hump", func(i int64) int64 { return 4 * i * (40 - i) }, Backlogged},
		{"falling", func(i int64) int64 { return 4000 - 100*i }, Backlogged},
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

// TestDemandByHand: what never ran counts with the mean run time of a unit, services not at
// all, and what waits before the span is no growth of it.
func TestDemandByHand(t *testing.T) {
	d := newDemands([]Span{{0, 101}, {50, 101}})
	never := int64(math.MaxInt64)
	d.add(&observation{submit: -5, leftQueue: 0, procs: 100, runtime: 100}, nil)
	d.add(&observation{submit: 1, leftQueue: 1, procs: 2, runtime: 10}, []int{0})
	d.add(&observation{submit: 99, leftQueue: 100, procs: 6, runtime: 30}, []int{0, 1})
	d.add(&observation{submit: 99, leftQueue: 100, procs: 6, runtime: 1 << 40, service: true}, []int{0, 1})
	d.add(&observation{submit: 10, leftQueue: 101, procs: 3, runtime: 7}, nil)
	d.add(&observation{submit: 60, leftQueue: never, procs: 4}, []int{0, 1})
	d.close()
	all, last := &d.list[0], &d.list[1]
	require.Equal(t, "121", all.workOf(&all.end).RatString(), "21, and 4 units of 200/8")
	require.Equal(t, "10000", all.workOf(&all.begin).RatString())
	require.Equal(t, "141", last.workOf(&last.end).RatString(), "21, and 4 units of 180/6")
	require.Equal(t, "21", last.workOf(&last.begin).RatString())
	require.Equal(t, "20", all.arrived[0].big().String())
	require.Equal(t, "180", all.arrived[19].big().String())
	require.Equal(t, "1621", all.variance().FloatString(0), "of 20, 180 and 18 times 0: (20² + 180² - 20·10²)/19; distant bins add nothing")
	require.False(t, all.beyond(), "it has fallen")
}

// TestLongRunVariance: of bins with 1 and 3 in turn that of single ones, 20/19, as their sum
// varies less; of ten with 1 and then ten with 3, (20 + 2·(⅔·17 + ⅓·14))/19.
func TestLongRunVariance(t *testing.T) {
	turns, rows := demand{}, demand{}
	for i := range arrivalBins {
		turns.arrived[i].add(uint64(1 + 2*(i%2)))
		rows.arrived[i].add(uint64(1 + 2*(i/10)))
	}
	turns.ran.add(40)
	rows.ran.add(40)
	require.Equal(t, "20/19", turns.variance().RatString())
	require.Equal(t, "52/19", rows.variance().RatString())
}
