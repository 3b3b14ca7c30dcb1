package sim

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/service/queueing"
	"orrery/traces"
)

// station is a queue of the theory: Poisson arrivals, equal servers, first come first
// served. Times are in mean services.
type station struct {
	name    string
	servers int64
	scv     float64 // squared coefficient of variation of the services; 1 is exponential
	load    float64 // of one server
}

// meanService is long beside the µs to which arrivals and services are rounded.
const meanService = 100 * model.Second

// stations are M/M/1, M/M/8 and M/G/1 at three loads.
func stations() (out []station) {
	for _, load := range []float64{0.5, 0.8, 0.95} {
		out = append(out, station{"M/M/1", 1, 1, load}, station{"M/M/8", 8, 1, load}, station{"M/G/1", 1, 10, load})
	}
	return out
}

func (s station) String() string { return fmt.Sprintf("%s at %v", s.name, s.load) }

// phases are the two exponentials that a service is of: the probability of the first, and
// the rates. Their means are balanced, so that both make half of the load. (Whitt:
// Approximating a point process by a renewal process, Operations Research 30(1), 1982.)
func (s station) phases() (p, first, second float64) {
	p = (1 + math.Sqrt((s.scv-1)/(s.scv+1))) / 2
	return p, 2 * p, 2 * (1 - p)
}

var (
	stationGaps     = draw.StreamOf("gaps between arrivals at a station")
	stationServices = draw.StreamOf("services of a station")
)

// draws are the arrivals and services of n jobs in µs, no service being 0.
func (s station) draws(n int) (arrivals []model.Time, services []model.Duration) {
	micros := func(x float64) model.Duration { return model.Duration(math.Round(x * float64(meanService))) }
	p, first, second := s.phases()
	now := model.Time(0)
	for i := range n {
		gap := draw.New(1, stationGaps, uint64(i), 0)
		now = now.Add(micros(gap.Exponential() / (s.load * float64(s.servers))))
		service, rate := draw.New(1, stationServices, uint64(i), 0), second
		if service.Bool(p) {
			rate = first
		}
		arrivals, services = append(arrivals, now), append(services, max(1, micros(service.Exponential()/rate)))
	}
	return arrivals, services
}

// recursion is when each job starts: as soon as it is there and one of the servers is free.
// With one server it is the recursion of Lindley (The theory of queues with a single
// server, 1952), with several that of Kiefer and Wolfowitz (1955).
func recursion(servers int64, arrivals []model.Time, services []model.Duration) []model.Time {
	free, starts := make([]model.Time, servers), make([]model.Time, len(arrivals))
	for i, arrival := range arrivals {
		next := slices.Index(free, slices.Min(free))
		starts[i] = max(arrival, free[next])
		free[next] = starts[i].Add(services[i])
	}
	return starts
}

// queueStarts is when each job starts in a replay.
func queueStarts(t *testing.T, spec plan.Spec, servers int64, arrivals []model.Time, services []model.Duration) []model.Time {
	t.Helper()
	m := &memory{size: 1000, info: traces.Info{Name: "queue", Hash: "queue", MaxProcs: int32(servers), Sorted: true}}
	for i := range arrivals {
		m.add(row{nodes: 1})
		b := &m.all
		b.Submit[i], b.Runtime[i], b.Walltime[i] = arrivals[i], services[i], services[i]
	}
	sink := record.NewMemory()
	res, err := Run(t.Context(), spec, m.open, Options{Sink: sink})
	require.NoError(t, err)
	require.Zero(t, res.Unfinished)
	require.Equal(t, len(arrivals), sink.Jobs.Len())
	starts := make([]model.Time, len(arrivals))
	for i, id := range sink.Jobs.ID {
		starts[id-1] = model.Time(sink.Jobs.Start[i])
	}
	return starts
}

// plainQueue and siteQueue schedule first come first served, on one-core nodes and on the
// whole nodes of a site.
func plainQueue(*testing.T, int64) plan.Spec {
	return plan.Spec{Semantics: plan.Semantics, Order: "fcfs", Backfill: "none"}
}

func siteQueue(t *testing.T, servers int64) plan.Spec {
	return siteOf(t, fmt.Sprintf(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: %d}]
vclusters: [{name: all, home: all, profile: {order: fcfs, backfill: none}}]
`, servers))
}

// differing is the number of jobs that start at another µs.
func differing(a, b []model.Time) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// TestQueueingTheory holds replays of queues against their theory. With ORRERY_LONG it does so for a
// million jobs each.
func TestQueueingTheory(t *testing.T) {
	t.Parallel()
	t.Run("by recursion", queuesByRecursion)
	t.Run("by formula", queuesByFormula)
}

// queuesByRecursion: every job of a replay starts at the µs that the recursion of the
// theory has for the same arrivals and services. A recursion that has the services of the
// jobs before, or one server more, differs.
func queuesByRecursion(t *testing.T) {
	t.Parallel()
	for _, core := range []struct {
		name string
		spec func(t *testing.T, servers int64) plan.Spec
		jobs int
	}{{"plain", plainQueue, 100_000}, {"site", siteQueue, 20_000}} {
		if os.Getenv("ORRERY_LONG") != "" {
			core.jobs = 1_000_000
		} else if testing.Short() {
			core.jobs /= 10
		}
		for _, s := range stations() {
			t.Run(core.name+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				arrivals, services := s.draws(core.jobs)
				got := queueStarts(t, core.spec(t, s.servers), s.servers, arrivals, services)
				require.Zero(t, differing(recursion(s.servers, arrivals, services), got))

				shifted := append(services[1:len(services):len(services)], services[0])
				for _, wrong := range []struct {
					name   string
					starts []model.Time
				}{
					{"services of the next job", recursion(s.servers, arrivals, shifted)},
					{"one server more", recursion(s.servers+1, arrivals, services)},
				} {
					n := differing(wrong.starts, got)
					t.Logf("%s: %d of %d starts differ", wrong.name, n, core.jobs)
					require.Greater(t, n, core.jobs/100, wrong.name)
				}
			})
		}
	}
}

// law is the distribution of waits in the long run: P(wait > t) is the sum of terms
// weight·e^(-rate·t).
type law struct{ weights, rates []float64 }

// law of the waits. That of M/M/c is one exponential. With services of two exponentials the
// transform of Pollaczek and Khinchine, (1-ρ)s/(s-λ+λB(s)), is a quotient of polynomials of
// degree 2, and so the waits are of two exponentials (Kleinrock: Queueing Systems, volume I,
// 1975, section 5.7).
func (s station) law(t *testing.T) law {
	if s.scv == 1 {
		q := queueing.Queue{Arrivals: s.load * float64(s.servers), Service: 1, Servers: s.servers}
		steady, err := q.Steady()
		require.NoError(t, err)
		return law{[]float64{steady.ErlangC}, []float64{float64(s.servers) - q.Arrivals}}
	}
	p, a, b := s.phases()
	half := (a + b - s.load) / 2
	root := math.Sqrt(half*half - (a*b - s.load*((1-p)*a+p*b)))
	x, y := half-root, half+root
	return law{[]float64{
		(1 - s.load) * (a - x) * (b - x) / (y - x) / x,
		(1 - s.load) * (a - y) * (b - y) / (x - y) / y,
	}, []float64{x, y}}
}

func (l law) mean() (mean float64) {
	for i, w := range l.weights {
		mean += w / l.rates[i]
	}
	return mean
}

// later is the probability of a wait of more than t.
func (l law) later(t float64) (p float64) {
	for i, w := range l.weights {
		p += w * math.Exp(-l.rates[i]*t)
	}
	return p
}

// percentile is the wait that so few jobs exceed, by halving.
func (l law) percentile(exceeded float64) float64 {
	low, high := 0.0, 1e6
	for range 100 {
		if mid := (low + high) / 2; l.later(mid) > exceeded {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// TestLawOfWaits: the mean of the two exponentials is that of Pollaczek and Khinchine, and
// as many jobs wait as find the server busy.
func TestLawOfWaits(t *testing.T) {
	for _, s := range stations() {
		l := s.law(t)
		if s.servers == 1 {
			require.InEpsilon(t, s.load*(1+s.scv)/2/(1-s.load), l.mean(), 1e-9, s)
			require.InEpsilon(t, s.load, l.later(0), 1e-9, s)
		}
		require.InEpsilon(t, 0.01, l.later(l.percentile(0.01)), 1e-9, s)
	}
}

// batches of a run, and the part of it at the beginning that is in none.
const (
	batches = 40
	dropped = 0.02
)

// batchMeans is the mean of values in the order of the jobs with the half width of its 99 %
// interval, by batches so long that they hardly depend on each other (Law: Simulation
// Modeling and Analysis, section 9.5.3).
func batchMeans(values []float64) (mean, half float64) {
	values = values[int(dropped*float64(len(values))):]
	means := make([]float64, batches)
	for i := range means {
		means[i] = stat.Mean(values[i*len(values)/batches:(i+1)*len(values)/batches], nil)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(0.995)
	return stat.Mean(means, nil), t * stat.StdErr(stat.StdDev(means, nil), batches)
}

// exceeds is 1 for each wait of more than t, else 0.
func exceeds(waits []float64, t float64) []float64 {
	out := make([]float64, len(waits))
	for i, w := range waits {
		if w > t {
			out[i] = 1
		}
	}
	return out
}

// queuesByFormula: the closed forms lie within the intervals of a replay: the mean wait,
// and the share of jobs that wait for longer than the median, the 95th and the 99th
// percentile. Those of a station with one server more do not, nor do those of exponential
// services where they vary more. At a load of 0.95 waits depend on each other over
// thousands of jobs, so that it takes a million.
func queuesByFormula(t *testing.T) {
	t.Parallel()
	for _, s := range stations() {
		jobs := 200_000
		if s.load > 0.9 && testing.Short() {
			continue
		}
		if s.load > 0.9 || os.Getenv("ORRERY_LONG") != "" {
			jobs = 1_000_000
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			arrivals, services := s.draws(jobs)
			waits := make([]float64, jobs)
			for i, start := range queueStarts(t, plainQueue(t, s.servers), s.servers, arrivals, services) {
				waits[i] = float64(start-arrivals[i]) / float64(meanService)
			}
			l := s.law(t)
			mean, half := batchMeans(waits)
			t.Logf("mean wait %.4f ± %.4f (%.1f %%), closed form %.4f", mean, half, 100*half/mean, l.mean())
			require.InDelta(t, l.mean(), mean, half)
			for _, exceeded := range []float64{0.5, 0.05, 0.01} {
				if l.later(0) < exceeded+0.01 {
					continue // hardly as many wait at all
				}
				wait := l.percentile(exceeded)
				share, half := batchMeans(exceeds(waits, wait))
				t.Logf("%.5f ± %.5f of jobs wait for more than %.4f, closed form %.2f", share, half, wait, exceeded)
				require.InDelta(t, exceeded, share, half)
			}

			wrong := s
			wrong.servers++
			wrong.load *= float64(s.servers) / float64(wrong.servers)
			wrong.scv = 1
			require.Greater(t, math.Abs(wrong.law(t).mean()-mean), half, "one server more")
			if s.scv > 1 {
				wrong = s
				wrong.scv = 1
				require.Greater(t, math.Abs(wrong.law(t).mean()-mean), half, "exponential services")
			}
		})
	}
}
