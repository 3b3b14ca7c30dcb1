package score

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// racer is a job of which only the wait goes on.
type racer struct {
	rest, penalty model.Fixed
	waited        model.Duration
}

func (r racer) score(w2 model.Fixed, t, reference model.Duration) model.Fixed {
	return Term(r.penalty, r.rest+Term(w2, WaitOf(min(r.waited, model.Forever-t)+t, reference)))
}

// first is the least time at which a reaches b, by bisection: it is right where
// the lead grows all along, up to limit.
func first(a, b racer, w2 model.Fixed, reference, limit model.Duration) model.Duration {
	low, high := model.Duration(0), limit
	for low < high {
		if mid := (low + high) / 2; a.score(w2, mid, reference) < b.score(w2, mid, reference) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func anyRacer(t *rapid.T, name string) racer {
	r := racer{
		rest:    model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(t, name)),
		penalty: model.One,
		waited:  model.Duration(rapid.Int64Range(0, 1<<44).Draw(t, name) >> rapid.IntRange(0, 44).Draw(t, name)),
	}
	if rapid.Bool().Draw(t, name) {
		r.penalty = anyPenalty(t, name)
	}
	return r
}

// Until the bound, at no instant the job behind has reached the one ahead.
func TestOvertakeIsALowerBound(t *testing.T) {
	const century = 36525 * model.Day
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRacer(t, "a"), anyRacer(t, "b")
		if rapid.IntRange(0, 2).Draw(t, "near") == 0 { // close by in score and in age
			b = racer{max(0, a.rest+model.Fixed(rapid.Int64Range(-99, 99).Draw(t, "units"))), a.penalty,
				max(0, a.waited+model.Duration(rapid.Int64Range(-9, 9).Draw(t, "us")))}
		}
		w2 := model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(t, "w2") << rapid.SampledFrom([]int{0, 0, 0, 9}).Draw(t, "raw"))
		reference := model.Duration(rapid.Int64Range(1, int64(model.Day)).Draw(t, "reference") >> rapid.IntRange(0, 30).Draw(t, "short"))
		reference = max(reference, 1)
		gap := b.score(w2, 0, reference) - a.score(w2, 0, reference)
		if gap <= 0 {
			a, b, gap = b, a, -gap
		}
		bound := Overtake(gap, w2, a.penalty, b.penalty, a.waited, b.waited, reference)
		if gap == 0 {
			require.Zero(t, bound)
			return
		}
		hold := func(at model.Duration) {
			if at >= 0 && at < bound {
				require.Less(t, a.score(w2, at, reference), b.score(w2, at, reference), "at %s before %s", at, bound)
			}
		}
		end := min(bound, century)
		for _, at := range []model.Duration{0, 1, end / 2, end - 1} {
			hold(at)
		}
		for at := model.Duration(1); at < end; at *= 2 {
			hold(at)
			hold(at + at/3)
		}
		for range 8 {
			hold(model.Duration(rapid.Int64Range(0, int64(end)).Draw(t, "at")))
		}
	})
}

// The cases of a night, and how near the bound is to the truth.
func TestOvertake(t *testing.T) {
	const hour, minute, second = model.Hour, model.Minute, model.Second
	w2, floor := fixed(.2), Penalty(2*model.One)
	for _, c := range []struct {
		name                 string
		lead                 float64 // of the other terms of B over those of A
		penaltyA, penaltyB   model.Fixed
		waitedA, waitedB     model.Duration
		earliest, atMostLate model.Duration // of the bound; late is the truth
	}{
		{"a fresh job gains on one that waits for an hour", -.1, model.One, model.One, 0, hour, 23 * minute, 33 * minute},
		{"but not within the lead of the wait", .001, model.One, model.One, 0, hour, model.Forever, model.Forever},
		{"close behind", -.1385, model.One, model.One, 0, hour, 4 * second, 5 * second},
		{"equal ages keep their distance", 1e-9, model.One, model.One, hour, hour, model.Forever, model.Forever},
		{"the younger ahead", .2, model.One, model.One, 2 * hour, hour, model.Forever, model.Forever},
		{"the one ahead is penalised", 22, model.One, floor, hour, hour, 11 * minute, 13 * minute},
		{"the one behind is", .1, floor, model.One, hour, hour, model.Forever, model.Forever},
		{"within the rounding", -.1386294358, model.One, model.One, 0, hour, 0, model.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := racer{model.One, c.penaltyA, c.waitedA}, racer{model.One + fixed(c.lead), c.penaltyB, c.waitedB}
			gap := b.score(w2, 0, hour) - a.score(w2, 0, hour)
			require.Positive(t, gap)
			bound := Overtake(gap, w2, c.penaltyA, c.penaltyB, c.waitedA, c.waitedB, hour)
			if c.earliest == model.Forever {
				require.Equal(t, model.Forever, bound)
				return
			}
			require.GreaterOrEqual(t, bound, c.earliest)
			truth := first(a, b, w2, hour, 4000*model.Day)
			require.LessOrEqual(t, bound, truth)
			require.LessOrEqual(t, truth, c.atMostLate)
		})
	}
	require.Zero(t, Overtake(0, w2, model.One, model.One, 0, 0, hour))
	require.Equal(t, model.Forever, Overtake(1, 0, model.One, model.One, 0, hour, hour), "the wait does not count")
	require.Zero(t, Overtake(model.One, 1000*model.One, model.One, model.One, 0, hour, 1), "too fast to say")
	require.Equal(t, model.Forever, Overtake(math.MaxInt64, 1<<20, model.One, floor, 0, 0, model.Forever), "too slow to come")
}

// Rate is the growth of the wait term from above, by less than a unit of 2^-64.
func TestRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := model.Fixed(rapid.Int64Range(0, 1000*int64(model.One)).Draw(t, "weight"))
		waited, reference := durations(0).Draw(t, "waited"), durations(1).Draw(t, "reference")
		rate := new(big.Int).SetUint64(Rate(weight, waited, reference))
		den := new(big.Int).Add(big.NewInt(int64(waited)), big.NewInt(int64(reference)))
		num := new(big.Int).Lsh(big.NewInt(int64(weight)), 32)
		if rate.Cmp(new(big.Int).SetUint64(math.MaxUint64)) == 0 {
			require.GreaterOrEqual(t, num.Cmp(rate.Mul(rate, den)), 0, "saturated")
			return
		}
		over := rate.Sub(rate.Mul(rate, den), num)
		require.True(t, over.Sign() >= 0 && over.Cmp(den) < 0)
	})
}

func BenchmarkOvertake(b *testing.B) {
	sum, waited := model.Duration(0), model.Duration(0)
	for b.Loop() {
		waited += 7_654_321
		sum += Overtake(model.One/100, model.One/5, model.One, model.One, waited, waited+model.Hour, model.Hour) & 1
	}
	_ = sum
}
