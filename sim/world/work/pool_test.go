package work_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/world/work"
)

// TestPool tells of transfers at 10 B/s together.
func TestPool(t *testing.T) {
	p := work.NewPool(10)
	require.Equal(t, model.Never, p.Next())
	p.Join(0, 7, 10*sec, 10)
	require.Equal(t, 10*at, p.Next())
	p.Join(4*at, 3, 1*sec, 10) // 6 s are left of 7
	require.Equal(t, 6*at, p.Next())
	require.Equal(t, []model.Ref{3}, p.Take(6*at, nil))
	require.Equal(t, 11*at, p.Next())
	p.Join(7*at, 1, 4*sec, 5) // 10 and 5 of 10: two thirds of their speed, 4 s alone each
	require.Equal(t, 13*at, p.Next())
	p.SetCapacity(10*at, 15) // no more than asked for
	require.Equal(t, 12*at, p.Next())
	require.Empty(t, p.Take(11*at, nil))
	require.Equal(t, 1*sec, p.Leave(11*at, 1))
	require.Equal(t, []model.Ref{7}, p.Take(12*at, nil))
	require.Zero(t, p.Len())

	p.Join(20*at, 9, sec, 30)
	p.Join(20*at, 2, sec, 30) // a quarter of their speed
	require.Equal(t, 24*at, p.Next())
	p.SetCapacity(21*at, 0)
	require.Equal(t, model.Never, p.Next())
	p.SetCapacity(31*at, 15)
	require.Equal(t, []model.Ref{2, 9}, p.Take(34*at, nil), "those of one instant by ref")
}

// TestPoolBeyondSum: the demands together may exceed what 64 bits hold; each of n members
// goes on at an n-th of its speed, rounded to some 60 bits.
func TestPoolBeyondSum(t *testing.T) {
	const n, most = 1000, math.MaxInt64
	p := work.NewPool(most)
	for i := range n {
		p.Join(0, model.Ref(i), sec, most)
	}
	require.InDelta(t, n*float64(at), float64(p.Next()), 1)
	for i := range n - 1 {
		p.Leave(at, model.Ref(i))
	}
	require.InDelta(t, float64(2*at)-float64(at)/n, float64(p.Next()), 1)
}

// sharing is a pool by fractions, each member settled at every change.
type sharing struct {
	capacity int64
	at       model.Time
	left     map[model.Ref]*big.Rat // alone
	demand   map[model.Ref]int64
}

func (s *sharing) factor() *big.Rat {
	drawn := int64(0)
	for _, d := range s.demand {
		drawn += d
	}
	if drawn <= s.capacity {
		return rat(1)
	}
	return big.NewRat(s.capacity, drawn)
}

func (s *sharing) settle(now model.Time) {
	d := new(big.Rat).Mul(rat(int64(now-s.at)), s.factor())
	for _, left := range s.left {
		left.Sub(left, d)
	}
	s.at = now
}

// next is when the first of them is done, not rounded.
func (s *sharing) next() *big.Rat {
	var first *big.Rat
	for _, left := range s.left {
		end := new(big.Rat).Quo(left, s.factor())
		if end.Add(end, rat(int64(s.at))); first == nil || end.Cmp(first) < 0 {
			first = end
		}
	}
	return first
}

// TestPoolAgainstFractions: members come, go and are done; each is done within a µs of
// when it is by exact fractions, though the pool touches no member but the next.
func TestPoolAgainstFractions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		capacity := rapid.Int64Range(1, 1<<40).Draw(rt, "capacity")
		p := work.NewPool(capacity)
		s := &sharing{capacity: capacity, left: map[model.Ref]*big.Rat{}, demand: map[model.Ref]int64{}}
		now := model.Time(0)
		// By how much the end of any member may be off: half a µs for each end that was rounded.
		slack := rat(1)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += model.Time(rapid.Int64Range(0, 1<<rapid.IntRange(0, 30).Draw(rt, "bits")).Draw(rt, "gap"))
			for p.Next() <= now {
				end := p.Next()
				want := s.next()
				diff := new(big.Rat).Sub(want, rat(int64(end)))
				require.LessOrEqual(rt, diff.Abs(diff).Cmp(slack), 0, "%s, %d", want.FloatString(3), end)
				s.settle(end)
				done := p.Take(end, nil)
				require.NotEmpty(rt, done)
				for _, ref := range done {
					over := new(big.Rat).Quo(s.left[ref], s.factor())
					require.LessOrEqual(rt, over.Abs(over).Cmp(slack), 0)
				}
				for _, ref := range done {
					delete(s.left, ref)
					delete(s.demand, ref)
				}
				slack.Add(slack, rat(1))
			}
			s.settle(now)
			ref := model.Ref(rapid.Int64Range(0, 12).Draw(rt, "ref"))
			if left := s.left[ref]; left != nil {
				got := rat(int64(p.Leave(now, ref)))
				diff := got.Sub(got, left)
				require.LessOrEqual(rt, diff.Abs(diff).Cmp(slack), 0)
				delete(s.left, ref)
				delete(s.demand, ref)
				continue
			}
			alone := rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(rt, "bits")).Draw(rt, "alone")
			demand := rapid.Int64Range(1, 2*capacity).Draw(rt, "demand")
			p.Join(now, ref, model.Duration(alone), demand)
			s.left[ref], s.demand[ref] = rat(alone), demand
			require.Equal(rt, len(s.left), p.Len())
		}
	})
}

// station is a queue with processor sharing: customers arrive at random and share one
// server, a pool.
type station struct {
	pool     *work.Pool
	events   des.Queue
	handled  int64      // events taken from the queue
	set      model.Time // of the event of the pool that counts
	sum      []float64  // responses of each busy period, and its customers
	arrived  []model.Time
	count    []float64
	response float64
	served   float64
}

const (
	isArrival = des.RankChange
	isDone    = des.RankEnd
)

var (
	arrivals = draw.StreamOf("arrivals of a test")
	services = draw.StreamOf("service of a test")
)

func exponential(stream draw.Stream, i int, mean float64) model.Duration {
	src := draw.New(1, stream, uint64(i), 0)
	return model.Duration(math.Round(float64(src.Exponential() * mean)))
}

// plan sets the one event of the pool.
func (s *station) plan() {
	if next := s.pool.Next(); next != s.set {
		if s.set = next; next != model.Never {
			s.events.Push(des.NewEvent(next, isDone, 0, 0))
		}
	}
}

// serve lets n customers of a mean service go through at a load.
func (s *station) serve(n int, mean model.Duration, load float64, service func(i int) model.Duration) {
	s.pool, s.set, s.arrived = work.NewPool(1), model.Never, make([]model.Time, n)
	gap := float64(mean) / load
	s.events.Push(des.NewEvent(0, isArrival, 0, 0))
	var batch []des.Event
	var done []model.Ref
	for s.events.Len() > 0 {
		now := s.events.Next()
		batch = s.events.Take(now, des.RankRecord, batch[:0])
		for _, e := range batch {
			s.handled++
			if e.Rank() == isArrival {
				i := int(e.Job())
				if s.arrived[i] = now; s.pool.Len() == 0 && i > 0 { // a busy period is over
					s.sum, s.count = append(s.sum, s.response), append(s.count, s.served)
					s.response, s.served = 0, 0
				}
				s.pool.Join(now, model.Ref(i), service(i), 1)
				if i+1 < n {
					s.events.Push(des.NewEvent(now.Add(exponential(arrivals, i, gap)), isArrival, model.JobID(i+1), 0))
				}
				s.plan()
				continue
			}
			if e.At != s.pool.Next() {
				continue // overtaken
			}
			done = s.pool.Take(now, done[:0])
			for _, ref := range done {
				s.response += float64(now - s.arrived[ref])
				s.served++
			}
			s.plan()
		}
	}
	s.sum, s.count = append(s.sum, s.response), append(s.count, s.served)
}

// mean is the mean response with the half-width of its 99 % interval, by the regenerative
// method (Crane, Iglehart: Simulating stable stochastic systems, III, Operations Research
// 23(1), 1975): busy periods are independent.
func (s *station) mean() (mean, half float64) {
	var sum, count, squares float64
	for i := range s.sum {
		sum, count = sum+s.sum[i], count+s.count[i]
	}
	mean = sum / count
	for i := range s.sum {
		d := s.sum[i] - mean*s.count[i]
		squares += d * d
	}
	return mean, distuv.UnitNormal.Quantile(0.995) * math.Sqrt(squares) / count
}

// TestProcessorSharing: with Poisson arrivals at load 0.7 the mean response under processor
// sharing is service ÷ (1 - 0.7), whatever the distribution of the service (Kleinrock:
// Queueing Systems, volume II, 1976, section 4.4). One event per pool, of which some are
// overtaken, makes no more than four events for a customer with its arrival.
func TestProcessorSharing(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	const mean, load = 100 * model.Millisecond, 0.7
	for _, c := range []struct {
		name    string
		service func(i int) model.Duration
	}{
		{"exponential", func(i int) model.Duration { return exponential(services, i, float64(mean)) }},
		{"deterministic", func(int) model.Duration { return mean }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s station
			s.serve(n, mean, load, c.service)
			got, half := s.mean()
			want := float64(mean) / (1 - load)
			t.Logf("mean response %.4f of a service, ± %.2f %%, expected %.4f; %.3f events for each of %d customers",
				got/float64(mean), 100*half/got, want/float64(mean), float64(s.handled)/float64(n), n)
			require.InDelta(t, want, got, half)
			if n == 1_000_000 {
				require.Less(t, half/got, 0.02)
			}
			require.LessOrEqual(t, s.handled, 4*int64(n))
			require.Equal(t, n, int(total(s.count)))
		})
	}
}

func total(x []float64) (sum float64) {
	for _, v := range slices.All(x) {
		sum += v
	}
	return sum
}

// BenchmarkPool: one member joins and one is done, among so many.
func BenchmarkPool(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(big.NewInt(int64(n)).String(), func(b *testing.B) {
			p, now := work.NewPool(10), model.Time(0)
			for i := range n {
				p.Join(now, model.Ref(i), model.Duration(i)*sec, 10)
			}
			var done []model.Ref
			for b.Loop() {
				now = p.Next()
				done = p.Take(now, done[:0])
				for _, ref := range done {
					p.Join(now, ref, model.Duration(n)*sec, 10)
				}
			}
		})
	}
}
