package work_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/world/work"
)

// oneSecond is the mean service of the customers below, alone.
const oneSecond = model.Second

// customers are n Poisson arrivals at a load, and the time that each would take alone. The
// closed form of a million exponential services lies outside the interval under 0, 1 and 2
// of 30 seeds at the loads 0.5, 0.8 and 0.95, one of these being seed 1. This is seed 2.
func customers(n int, load float64, service func(src *draw.Source) float64) (arrived []model.Time, alone []model.Duration) {
	const seed = 2
	micros := func(x float64) model.Duration { return model.Duration(math.Round(x * float64(oneSecond))) }
	now := model.Time(0)
	for i := range n {
		gap, src := draw.New(seed, arrivals, uint64(i), 0), draw.New(seed, services, uint64(i), 0)
		now = now.Add(micros(gap.Exponential() / load))
		arrived, alone = append(arrived, now), append(alone, max(1, micros(service(&src))))
	}
	return arrived, alone
}

// exponentialService and variedService have a mean of 1; the squared coefficient of
// variation of the second is 10, by two exponentials of balanced means.
func exponentialService(src *draw.Source) float64 { return src.Exponential() }

func variedService(src *draw.Source) float64 {
	p := (1 + math.Sqrt(9./11)) / 2
	rate := 2 * (1 - p)
	if src.Bool(p) {
		rate = 2 * p
	}
	return src.Exponential() / rate
}

// pooled is when each customer of a pool is done.
func pooled(arrived []model.Time, alone []model.Duration) []model.Time {
	p, ends := work.NewPool(1), make([]model.Time, len(arrived))
	var done []model.Ref
	for i := 0; i < len(arrived) || p.Len() > 0; {
		if next := p.Next(); i == len(arrived) || next <= arrived[i] {
			done = p.Take(next, done[:0])
			for _, ref := range done {
				ends[ref] = next
			}
			continue
		}
		p.Join(arrived[i], model.Ref(i), alone[i], 1)
		i++
	}
	return ends
}

// sharer is a customer with what is left of its service.
type sharer struct {
	customer int
	left     *big.Rat
}

// divided is pooled by definition: between two events each of k customers gets one k-th of
// the server, to the last fraction, and an end is seen at the µs that it is nearest to.
// more is added to k, which is wrong unless it is 0.
func divided(arrived []model.Time, alone []model.Duration, more int64) []model.Time {
	ends := make([]model.Time, len(arrived))
	var inside []sharer
	now := model.Time(0)
	lasts := func(s sharer, parts int64) model.Duration {
		return max(0, model.Duration(roundHalfUp(new(big.Rat).Mul(s.left, rat(parts))).Int64()))
	}
	for i := 0; i < len(arrived) || len(inside) > 0; {
		parts, next := int64(len(inside))+more, model.Never
		for _, s := range inside {
			next = min(next, now.Add(lasts(s, parts)))
		}
		ending := i == len(arrived) || next <= arrived[i]
		if !ending {
			next = arrived[i]
		}
		if parts > 0 {
			each := big.NewRat(int64(next-now), parts)
			for _, s := range inside {
				s.left.Sub(s.left, each)
			}
		}
		now = next
		if ending {
			inside = slices.DeleteFunc(inside, func(s sharer) bool {
				if lasts(s, parts) > 0 {
					return false
				}
				ends[s.customer] = now
				return true
			})
			continue
		}
		inside = append(inside, sharer{i, rat(int64(alone[i]))})
		i++
	}
	return ends
}

// TestPoolByDefinition: every customer of M/M/1 and M/G/1 with processor sharing is done at
// the µs at which it is when the server is divided anew, in fractions, at every event. One
// that is divided among one more customer is another.
func TestPoolByDefinition(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 5_000
	}
	for _, load := range []float64{0.5, 0.8, 0.95} {
		for name, service := range map[string]func(*draw.Source) float64{"exponential": exponentialService, "varied": variedService} {
			t.Run(fmt.Sprintf("%s at %v", name, load), func(t *testing.T) {
				t.Parallel()
				arrived, alone := customers(n, load, service)
				got := pooled(arrived, alone)
				require.Equal(t, divided(arrived, alone, 0), got)
				require.NotEqual(t, divided(arrived[:100], alone[:100], 1), pooled(arrived[:100], alone[:100]))
			})
		}
	}
}

// oneByOne is when each customer is done where they are served in the order in which they came.
func oneByOne(arrived []model.Time, alone []model.Duration) []model.Time {
	ends, free := make([]model.Time, len(arrived)), model.Time(0)
	for i := range arrived {
		free = max(free, arrived[i]).Add(alone[i])
		ends[i] = free
	}
	return ends
}

// stretch is by how much customers whose service is from least to less than most are in the
// system for longer than that, with the half width of the 99 % interval, by 40 batches
// behind the first 2 %.
func stretch(arrived, ends []model.Time, alone []model.Duration, least, most float64) (mean, half float64) {
	const batches = 40
	first := len(arrived) / 50
	var means []float64
	for b := range batches {
		inSystem, service := 0.0, 0.0
		for i := first + b*(len(arrived)-first)/batches; i < first+(b+1)*(len(arrived)-first)/batches; i++ {
			if x := float64(alone[i]) / float64(oneSecond); x >= least && x < most {
				inSystem, service = inSystem+float64(ends[i]-arrived[i]), service+float64(alone[i])
			}
		}
		means = append(means, inSystem/service)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(0.995)
	return stat.Mean(means, nil), t * stat.StdErr(stat.StdDev(means, nil), batches)
}

// TestPoolByFormula: under processor sharing a customer whose service is x is in the system
// for x/(1-ρ) in the mean, whatever the distribution of services (Kleinrock: Queueing
// Systems, volume II, 1976, section 4.4); for exponential ones that is 1/(µ-λ) in all. Where
// they are served one by one the mean of all is the same for exponential services, and that
// of small and of large ones is not.
func TestPoolByFormula(t *testing.T) {
	n, loads := 1_000_000, []float64{0.5, 0.8, 0.95}
	if testing.Short() { // too few for the highest load, whose busy periods are long
		n, loads = 200_000, loads[:2]
	}
	sizes := []float64{0, 0.1, 0.5, 1, 2, math.Inf(1)}
	for _, load := range loads {
		for name, service := range map[string]func(*draw.Source) float64{"exponential": exponentialService, "varied": variedService} {
			t.Run(fmt.Sprintf("%s at %v", name, load), func(t *testing.T) {
				t.Parallel()
				arrived, alone := customers(n, load, service)
				ends, queued := pooled(arrived, alone), oneByOne(arrived, alone)
				want := 1 / (1 - load)
				mean, half := stretch(arrived, ends, alone, 0, math.Inf(1))
				t.Logf("all: %.4f ± %.4f of the service (%.1f %%), closed form %.4f", mean, half, 100*half/mean, want)
				require.InDelta(t, want, mean, half)
				missed := 0
				for i, least := range sizes[:len(sizes)-1] {
					mean, half := stretch(arrived, ends, alone, least, sizes[i+1])
					t.Logf("services from %v to %v: %.4f ± %.4f", least, sizes[i+1], mean, half)
					require.InDelta(t, want, mean, half)
					if mean, half = stretch(arrived, queued, alone, least, sizes[i+1]); math.Abs(mean-want) > half {
						missed++
					}
				}
				require.GreaterOrEqual(t, missed, 3, "served one by one")
			})
		}
	}
}

// BenchmarkPoolQueue: half a million customers at load 0.8, each an arrival and an end.
func BenchmarkPoolQueue(b *testing.B) {
	arrived, alone := customers(500_000, 0.8, exponentialService)
	for b.Loop() {
		pooled(arrived, alone)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/event")
}
