package score

import (
	"fmt"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// closeTo requires equality with a printed figure to the six digits that are shown.
func closeTo(t testing.TB, want float64, got model.Fixed, about ...any) {
	t.Helper()
	require.InDelta(t, want, got.Float(), 6e-7, about...)
}

// ulps is how far got is from the exact value, in units of the last place.
func ulps(got model.Fixed, exact *big.Float) float64 {
	units := new(big.Float).SetMantExp(exact, model.FractionBits)
	d, _ := units.Sub(units, new(big.Float).SetInt64(int64(got))).Float64()
	return d
}

func number(x int64) *big.Float { return new(big.Float).SetPrec(160).SetInt64(x) }

// exactLn is ln(p/q) for p >= q > 0 to some 140 bits: halved until it is near 1,
// then by the series of the inverse hyperbolic tangent.
func exactLn(p, q *big.Float) *big.Float {
	x := number(0).Quo(p, q)
	twos := int64(x.MantExp(nil))
	x.SetMantExp(x, int(-twos))
	if twos == 0 {
		return artanh2(x)
	}
	ln2 := artanh2(number(2))
	return ln2.Mul(ln2, number(twos)).Add(ln2, artanh2(x))
}

// artanh2 is ln x = 2 artanh((x-1)/(x+1)) for x from 1/2 to 2.
func artanh2(x *big.Float) *big.Float {
	z := number(0).Quo(number(0).Sub(x, number(1)), number(0).Add(x, number(1)))
	square, sum := number(0).Mul(z, z), number(0)
	for k := int64(1); k < 100; k += 2 {
		sum.Add(sum, number(0).Quo(z, number(k)))
		z.Mul(z, square)
	}
	return sum.Add(sum, sum)
}

func exactWait(waited, reference model.Duration) *big.Float {
	ref := number(int64(reference))
	return exactLn(number(0).Add(ref, number(int64(waited))), ref)
}

func TestWaitOf(t *testing.T) {
	for _, c := range []struct {
		waited model.Duration
		want   float64
	}{
		{0, 0},
		{model.Minute, 0.016529},
		{10 * model.Minute, 0.154151},
		{model.Hour, 0.693147},
		{2 * model.Hour, 1.098612},
		{6 * model.Hour, 1.945910},
		{24 * model.Hour, 3.218876},
		{7 * model.Day, 5.129899},
		{-model.Hour, 0},
		{model.Forever, 21.664073}, // 2^63 µs of 3.6e9 an hour: 63 ln 2 - ln 3.6e9
	} {
		closeTo(t, c.want, WaitOf(c.waited, model.Hour), c.waited.String())
	}
	require.Equal(t, WaitOf(model.Second, 1), WaitOf(model.Second, 0))
}

// durations has every magnitude of span alike, and the edges of binary octaves.
func durations(least model.Duration) *rapid.Generator[model.Duration] {
	return rapid.Custom(func(t *rapid.T) model.Duration {
		d := model.Duration(rapid.Uint64Range(0, 1<<63-1).Draw(t, "bits") >> rapid.IntRange(0, 62).Draw(t, "shift"))
		if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
			d = 1<<rapid.IntRange(0, 62).Draw(t, "power") + model.Duration(rapid.IntRange(-2, 2).Draw(t, "off"))
		}
		return max(d, least)
	})
}

// The stated bound, over all waits and references there are.
func TestWaitOfIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waited, ref := durations(0).Draw(t, "waited"), durations(1).Draw(t, "reference")
		got := WaitOf(waited, ref)
		off := ulps(got, exactWait(waited, ref))
		require.True(t, -0.52 < off && off < 0.52, "off by %g units", off)
		require.Equal(t, got, CurveOf(ref).Of(waited))
	})
	rng := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 2_000 {
		waited := model.Duration(rng.Uint64() >> (1 + rng.IntN(62)))
		off := ulps(WaitOf(waited, model.Hour), exactWait(waited, model.Hour))
		worst = max(worst, off, -off)
	}
	require.Less(t, worst, 0.52)
}

// ln never falls: over each cell of the table and each octave, where it might,
// and between neighbours anywhere.
func TestWaitNeverFalls(t *testing.T) {
	for k := range 64 {
		for i := range uint64(cells) {
			edge := (cells + i) << 55 >> (63 - k)
			last := ln(max(edge, 4) - 3)
			for n := max(edge, 4) - 2; n < edge+3; n++ {
				if last > ln(n) {
					t.Fatalf("ln falls before %d", n)
				}
				last = ln(n)
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2_000_000 {
		if n := rng.Uint64()>>rng.IntN(63) | 1; ln(n) > ln(n+1) {
			t.Fatalf("ln falls from %d on", n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ref, a, b := durations(1).Draw(t, "reference"), durations(0).Draw(t, "a"), durations(0).Draw(t, "b")
		require.LessOrEqual(t, WaitOf(min(a, b), ref), WaitOf(max(a, b), ref))
	})
}

// The last bits belong to the meaning of a spec: a change on purpose
// raises the semantics of the release.
func TestBitsStayTheSame(t *testing.T) {
	h := fnv.New64a()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		waited := model.Duration(rng.Uint64() >> (1 + rng.IntN(62)))
		used := freeUntil + model.Fixed(rng.Int64N(int64(floorFrom-freeUntil)))
		fmt.Fprintln(h, WaitOf(waited, model.Hour), Penalty(used))
	}
	require.Equal(t, "e730a33530735d86", strconv.FormatUint(h.Sum64(), 16))
}

func TestWaitUntil(t *testing.T) {
	for _, c := range []struct {
		target model.Fixed
		want   model.Duration
	}{
		{-1, 0}, {0, 0}, {22 * model.One, model.Forever},
	} {
		require.Equal(t, c.want, WaitUntil(c.target, model.Hour))
	}
	// (e-1) hours: where the default weight of the wait outgrows that of the class
	require.InDelta(t, 6185.81, WaitUntil(model.One, model.Hour).Seconds(), 0.01)
	rapid.Check(t, func(t *rapid.T) {
		ref := durations(1).Draw(t, "reference")
		target := model.Fixed(rapid.Int64Range(-5, int64(45*model.One)).Draw(t, "target"))
		if rapid.Bool().Draw(t, "value") {
			target = WaitOf(durations(0).Draw(t, "waited"), ref)
		}
		got := WaitUntil(target, ref)
		require.True(t, got == model.Forever || WaitOf(got, ref) >= target, "reached")
		require.True(t, got == 0 || WaitOf(got-1, ref) < target, "and not before")
	})
}

// Compare by benchstat, of -count 10 before and after.
func BenchmarkWaitOf(b *testing.B) {
	sum, waited := model.Fixed(0), model.Duration(0)
	b.Run("reference", func(b *testing.B) {
		for b.Loop() {
			waited += 7_654_321
			sum += WaitOf(waited, model.Hour)
		}
	})
	b.Run("curve", func(b *testing.B) {
		c := CurveOf(model.Hour)
		for b.Loop() {
			waited += 7_654_321
			sum += c.Of(waited)
		}
	})
	b.Run("until", func(b *testing.B) {
		for b.Loop() {
			sum += model.Fixed(WaitUntil(model.One, model.Hour))
		}
	})
	_ = sum
}
