package metric

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

const machine = 8

// schedules draws a feasible schedule on a machine of 8 units: jobs start in
// the order drawn, as soon as their units are free and a whim allows.
func schedules(t *rapid.T) []job {
	n := rapid.IntRange(0, 30).Draw(t, "jobs")
	var out []job
	at := int64(0)
	for range n {
		at += rapid.Int64Range(0, 20).Draw(t, "gap")
		j := job{submit: at, start: -1, end: at, procs: rapid.Int32Range(1, machine).Draw(t, "procs"), user: rapid.Int32Range(-1, 3).Draw(t, "user")}
		switch rapid.IntRange(0, 5).Draw(t, "fate") {
		case 0:
			j.state = model.Rejected
		case 1:
			j.state, j.end = model.Cancelled, at+rapid.Int64Range(0, 50).Draw(t, "patience")
		default:
			j.state = model.Completed
			run := rapid.Int64Range(0, 40).Draw(t, "run")
			for j.start = at + rapid.Int64Range(0, 5).Draw(t, "whim"); !fits(out, j.start, j.start+run, j.procs); j.start++ {
			}
			j.end = j.start + run
		}
		out = append(out, j)
	}
	return out
}

func fits(list []job, from, to int64, procs int32) bool {
	for t := from; t < to; t++ {
		free := int32(machine)
		for _, j := range list {
			if j.start >= 0 && j.start <= t && t < j.end {
				free -= j.procs
			}
		}
		if free < procs {
			return false
		}
	}
	return true
}

func configs(t *rapid.T, list []job) Config {
	cfg := Config{Units: machine}
	if rapid.Bool().Draw(t, "by count") {
		cfg.WarmupJobs = rapid.Int64Range(0, 10).Draw(t, "warm-up jobs")
	} else {
		cfg.Warmup = model.Duration(rapid.Int64Range(0, 100).Draw(t, "warm-up")) * model.Second
	}
	if len(list) > 0 && rapid.Bool().Draw(t, "cool") {
		cfg.Cooldown = model.Duration(rapid.Int64Range(1, 100).Draw(t, "cool-down")) * model.Second
		cfg.LastSubmit = model.Time(list[len(list)-1].submit * sec)
	}
	return cfg
}

func compute(t require.TestingT, list []job, cfg Config) Table {
	tab, err := Compute(jobsOf(list), replay(t, list, cfg))
	require.NoError(t, err)
	return tab
}

func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		tab := compute(t, list, configs(t, list))
		for _, m := range tab.Metrics {
			if m.Value != nil {
				require.False(t, math.IsNaN(*m.Value) || math.IsInf(*m.Value, 0), m.Name)
			}
		}
		for _, w := range []string{All, Steady} {
			u, ok := tab.Value("utilisation", w)
			if ok {
				lost, _ := tab.Value("loss_of_capacity", w)
				require.True(t, 0 <= u && u <= 1, "utilisation %v", u)
				require.LessOrEqual(t, lost, 1-u+1e-12, "idle capacity bounds what is lost")
			}
			for _, name := range []string{"jain_wait", "jain_bounded_slowdown"} {
				if j, ok := tab.Value(name, w); ok {
					require.True(t, 0 < j && j <= 1, "%s %v", name, j)
				}
			}
			if p50, ok := tab.Value("wait_p50", w); ok {
				p99, _ := tab.Value("wait_p99", w)
				top, _ := tab.Value("wait_max", w)
				require.True(t, 0 <= p50 && p50 <= p99 && p99 <= top)
				b, ok := tab.Value("bounded_slowdown_mean", w)
				require.True(t, !ok || b >= 1)
			}
		}
	})
}

func TestOutcomesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		tab := compute(t, list, configs(t, list))
		for _, w := range []string{All, Steady} {
			sum := 0.0
			for _, name := range []string{"completed", "timeout", "cancelled", "rejected", "unfinished"} {
				x, _ := tab.Value("jobs_"+name, w)
				sum += x
			}
			all, _ := tab.Value("jobs_submitted", w)
			require.Equal(t, all, sum)
		}
	})
}

// Moving a run in time changes nothing but where its windows begin.
func TestShiftInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		cfg := configs(t, list)
		before := compute(t, list, cfg)
		by := rapid.Int64Range(1, 1e9).Draw(t, "shift")
		for i := range list {
			list[i].submit += by
			list[i].end += by
			if list[i].start >= 0 {
				list[i].start += by
			}
		}
		cfg.LastSubmit += model.Time(by * sec)
		after := compute(t, list, cfg)
		for i, m := range before.Metrics {
			if m.Name == "window_begin" && m.Value != nil {
				*m.Value += float64(by)
			}
			require.Equal(t, m, after.Metrics[i])
		}
		require.Equal(t, before.Verdict, after.Verdict)
	})
}

// The order of rows and the numbering of users do not matter.
func TestOrderInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		cfg := configs(t, list)
		s := replay(t, list, cfg)
		before, err := Compute(jobsOf(list), s)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		names := r.Perm(4)
		for i, j := range list {
			if j.user >= 0 {
				list[i].user = int32(names[j.user])
			}
		}
		after, err := Compute(jobsOf(list), s)
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}

// naive computes job metrics of the window all from float64 slices.
func naive(list []job) map[string]float64 {
	var wait, turn, slow, bounded, perProc []float64
	var area, areaWait, areaTurn float64
	for _, j := range list {
		if j.start < 0 {
			continue
		}
		w, r, run := float64(j.start-j.submit), float64(j.end-j.submit), float64(j.end-j.start)
		n := float64(j.procs)
		wait, turn = append(wait, w), append(turn, r)
		bounded = append(bounded, max(1, r/max(run, 10)))
		perProc = append(perProc, max(1, r/(n*max(run, 10))))
		if run > 0 {
			slow = append(slow, r/run)
		}
		area, areaWait, areaTurn = area+n*run, areaWait+n*run*w, areaTurn+n*run*r
	}
	out := map[string]float64{"area_weighted_wait": areaWait / area, "area_weighted_response": areaTurn / area, "per_processor_bounded_slowdown_mean": mean(perProc), "per_processor_bounded_slowdown_max": percentile(perProc, 100)}
	for name, xs := range map[string][]float64{"wait": wait, "turnaround": turn, "slowdown": slow, "bounded_slowdown": bounded} {
		out[name+"_mean"], out[name+"_max"] = mean(xs), percentile(xs, 100)
		for p, s := range map[int]string{50: "_p50", 90: "_p90", 95: "_p95", 99: "_p99"} {
			out[name+s] = percentile(xs, p)
		}
	}
	return out
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func percentile(xs []float64, p int) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	return xs[(p*len(xs)+99)/100-1]
}

func TestAgainstNaiveImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		tab := compute(t, list, Config{Units: machine})
		want := naive(list)
		for _, m := range tab.Metrics {
			x, ok := want[m.Name]
			if m.Window != All || !ok {
				continue
			}
			if m.Value == nil {
				require.True(t, math.IsNaN(x), "%s is null, the naive implementation says %v", m.Name, x)
				continue
			}
			require.InDelta(t, x, *m.Value, 1e-6, m.Name)
		}
	})
}

// Percentiles of any keys, with ties and huge values, equal those of sorting.
func TestSelectionAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64Range(1<<20, 1<<21), rapid.Uint64Range(1<<47, 1<<49), rapid.Uint64()), 1, 60).Draw(t, "keys")
		for range rapid.IntRange(0, 4).Draw(t, "doublings") {
			keys = append(keys, keys...)
		}
		var of moments
		for _, k := range keys {
			of.add(k)
		}
		percents := []int{1, 50, 90, 95, 99, 100}
		in := &keyBudget{left: rapid.SampledFrom([]int{0, 7, 100, keptKeys}).Draw(t, "room")}
		s := newSelection(percents, rapid.SampledFrom([]uint{smallBits, digitBits}).Draw(t, "digit"), in)
		others := newSelection(percents, s.digit, in)
		first := rapid.IntRange(0, len(keys)).Draw(t, "of others")
		for _, k := range keys[:first] {
			others.add(k)
		}
		for _, k := range keys[first:] {
			s.add(k)
		}
		s.join(others)
		for passes := 1; s.narrow(&of) || passes < 2; passes++ { // others may need more
			for _, k := range keys {
				s.add(k)
			}
		}
		sorted := slices.Sorted(slices.Values(keys))
		for _, p := range percents {
			require.Equal(t, sorted[(p*len(keys)+99)/100-1], s.percentile(p).Uint64(), "p%d", p)
		}
	})
}

func TestSumAgainstBig(t *testing.T) {
	u := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var s, part sum
		want, wantPart := new(big.Int), new(big.Int)
		for i := range 1 + r.IntN(20) {
			shift := r.IntN(64) // large and small alike
			x, y, z := r.Uint64()>>shift, r.Uint64()>>r.IntN(64), r.Uint64()>>1
			s.add(x)
			s.addProduct(x, y)
			s.addProduct3(x, y>>32, z)
			want.Add(want, u(x)).Add(want, product(u(x), u(y))).Add(want, product(u(x), u(y>>32), u(z)))
			if i == 3 {
				part = s
				wantPart.Set(want)
			}
		}
		require.Equal(t, want.String(), s.big().String())
		require.Equal(t, new(big.Int).Sub(want, wantPart).String(), s.minus(part).big().String())
	}
}

func TestFixedPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num, den := rapid.Uint64Range(0, 1<<60).Draw(t, "num"), rapid.Uint64Range(1, 1<<60).Draw(t, "den")
		got := fixed(num, den)
		if got == math.MaxUint64 {
			return
		}
		// half up: 2·num·2^20 + den is in [2·got·den, 2·(got+1)·den)
		lhs := product(new(big.Int).SetUint64(num), big.NewInt(2*one))
		lhs.Add(lhs, new(big.Int).SetUint64(den))
		low := product(new(big.Int).SetUint64(got), new(big.Int).SetUint64(2*den))
		require.True(t, low.Cmp(lhs) <= 0)
		require.True(t, low.Add(low, new(big.Int).SetUint64(2*den)).Cmp(lhs) > 0)
	})
	require.EqualValues(t, one, boundedSlowdown(0, 0))
	require.EqualValues(t, 2*one, boundedSlowdown(20*uint64(sec), 3*uint64(sec)))
	require.EqualValues(t, one, perProcessorSlowdown(math.MaxInt64, math.MaxInt64, math.MaxInt32))
	require.EqualValues(t, uint64(math.MaxUint64), fixed(math.MaxInt64, 1))
}

// observations draws a life of a Series.
type step struct {
	at                     model.Time
	st                     State
	submits, starts, leave int32
}

func steps(t *rapid.T) []step {
	at := model.Time(rapid.Int64Range(-1e9, 1e9).Draw(t, "origin"))
	var out []step
	for range rapid.IntRange(1, 20).Draw(t, "steps") {
		busy := rapid.Int64Range(0, machine).Draw(t, "busy")
		q := rapid.Int32Range(0, 50).Draw(t, "queued")
		st := State{BusyUnits: busy, RunningJobs: int32(busy), QueuedJobs: q, QueuedUnits: int64(q) * 3, MinQueuedUnits: min(q, 3)}
		out = append(out, step{at, st, rapid.Int32Range(0, 3).Draw(t, "submits"), rapid.Int32Range(0, 3).Draw(t, "starts"), rapid.Int32Range(0, 3).Draw(t, "ends")})
		at += model.Time(rapid.OneOf(rapid.Int64Range(0, 3e6), rapid.Int64Range(0, 1e11)).Draw(t, "gap"))
	}
	return out
}

func (s *Series) take(list []step) {
	for _, x := range list {
		s.CountEnd(x.at, x.leave)
		s.CountSubmit(x.at, x.submits)
		s.CountStart(x.at, x.starts)
		s.Observe(x.at, x.st)
	}
}

// Bins that were widened on the way equal bins that were wide from the start,
// and merging neighbours once more equals the next width.
func TestBinsMergeExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := steps(t)
		narrowed, err := NewSeries(Config{Units: machine})
		require.NoError(t, err)
		narrowed.take(list)
		for range 2 {
			wide, err := NewSeries(Config{Units: machine})
			require.NoError(t, err)
			wide.bins.width = narrowed.bins.width
			wide.take(list)
			require.Equal(t, wide.Bins(), narrowed.Bins())
			narrowed.bins.merge()
		}
	})
}

// The bins hold what the exact sums hold.
func TestBinsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := steps(t)
		s, err := NewSeries(Config{Units: machine})
		require.NoError(t, err)
		s.take(list)
		var sum column.Bin
		for _, b := range s.Bins() {
			require.Equal(t, s.bins.width, b.Width)
			sum = joined(&sum, &b)
		}
		require.Equal(t, s.total.busy.big().Int64(), sum.BusyUnitUS)
		require.Equal(t, s.total.queuedJobs.big().Int64(), sum.QueuedJobUS)
		require.Equal(t, s.total.queuedMax, sum.QueuedJobsMax)
		require.LessOrEqual(t, len(s.Bins()), maxBins)
	})
}

func TestSeriesDoesNotAllocate(t *testing.T) {
	s, err := NewSeries(Config{Units: machine})
	require.NoError(t, err)
	at := model.Time(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		at += 7_654_321
		s.CountEnd(at, 1)
		s.CountSubmit(at, 1)
		s.CountStart(at, 1)
		s.Observe(at, State{BusyUnits: 3, QueuedJobs: 2, QueuedUnits: 5, MinQueuedUnits: 1})
	}))
}

func BenchmarkObserve(b *testing.B) {
	s, err := NewSeries(Config{Units: machine})
	require.NoError(b, err)
	at := model.Time(0)
	for b.Loop() {
		at += 7_654_321
		s.CountSubmit(at, 1)
		s.CountStart(at, 1)
		s.Observe(at, State{BusyUnits: 3, QueuedJobs: 2, QueuedUnits: 5, MinQueuedUnits: 1})
	}
}
