package order

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"orrery/scheduler/model"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

func (a wide) big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return x.Add(x, new(big.Int).SetUint64(a.lo))
}

func requireSame(t *testing.T, want, got *big.Int) {
	t.Helper()
	if want.Cmp(got) != 0 {
		t.Fatalf("want %v, got %v", want, got)
	}
}

// some are numbers of every length.
func some(rng *rand.Rand) uint64 { return rng.Uint64() >> uint(rng.IntN(64)) }

func TestWideAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a := wideMul(some(rng)>>2, some(rng)>>2)
		b := wideMul(some(rng)>>2, some(rng)>>2)
		if rng.IntN(2) == 0 {
			b = wideOf(0).sub(b)
		}
		if rng.IntN(9) == 0 {
			b = a
		}
		requireSame(t, new(big.Int).Add(a.big(), b.big()), a.add(b).big())
		requireSame(t, new(big.Int).Sub(a.big(), b.big()), a.sub(b).big())
		require.Equal(t, a.big().Cmp(b.big()), a.cmp(b))
		n := uint(1 + rng.IntN(63))
		requireSame(t, new(big.Int).Rsh(b.big(), n), b.shr(n).big()) // towards minus infinity
		if small := wideOf(int64(some(rng) >> 2)); n < 60 {          // 122 bits
			requireSame(t, new(big.Int).Lsh(small.big(), n), small.shl(n).big())
		}
		x := int64(some(rng))
		requireSame(t, big.NewInt(x), wideOf(x).big())
	}
}

func TestProductsAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	make7 := func() ([]uint64, *big.Int) {
		n := 1 + rng.IntN(7)
		f, want := make([]uint64, n), big.NewInt(1)
		for i := range f {
			f[i] = some(rng)
			want.Mul(want, new(big.Int).SetUint64(f[i]))
		}
		return f, want
	}
	for range 20000 {
		a, x := make7()
		b, y := make7()
		p, q := productOf(a...), productOf(b...)
		require.Equal(t, x.Cmp(y), p.cmp(&q))
	}
}

// TestLogarithmsKeepTheirBound checks the stated errors: two units of the last
// place, and powers of two exactly.
func TestLogarithmsKeepTheirBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	check := func(x uint64) {
		// 2^(got/2^57) <= x < 2^((got+2)/2^57), by repeated square roots.
		got := log2Fixed(x)
		require.LessOrEqual(t, bigPow2(got).Cmp(new(big.Float).SetUint64(x)), 0, "log2(%d)", x)
		require.Positive(t, bigPow2(got+2).Cmp(new(big.Float).SetUint64(x)), "log2(%d)", x)
		ten := float64(log10Fixed(x)) / (1 << log2Bits)
		require.InDelta(t, math.Log10(float64(x)), ten, 1e-14)
	}
	for i := range uint(64) {
		require.Equal(t, uint64(i)<<log2Bits, log2Fixed(1<<i))
	}
	for range 300 {
		check(1 + some(rng)>>1)
	}
	for x := range uint64(200) {
		check(x + 1)
	}
	// log10 of powers of ten, which is known exactly, from below.
	for i, x := uint64(0), uint64(1); i <= 18; i, x = i+1, x*10 {
		low := i<<log2Bits - log10Fixed(x)
		require.LessOrEqual(t, low, uint64(2), "log10(10^%d)", i)
	}
}

// bigPow2 is 2^(f/2^57) with 300 bits.
func bigPow2(f uint64) *big.Float {
	x := new(big.Float).SetPrec(300).SetInt64(1)
	root := new(big.Float).SetPrec(300).SetInt64(2)
	for bit := log2Bits - 1; bit >= 0; bit-- {
		root = new(big.Float).SetPrec(300).Sqrt(root)
		if f>>uint(bit)&1 == 1 {
			x.Mul(x, root)
		}
	}
	return x.SetMantExp(x, int(f>>log2Bits))
}

func TestSqrtRoundsDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		hi, lo := some(rng), some(rng)
		want := new(big.Int).SetUint64(hi)
		want.Lsh(want, 64).Add(want, new(big.Int).SetUint64(lo))
		require.Equal(t, want.Sqrt(want).Uint64(), sqrtFixed(hi, lo))
	}
	require.Equal(t, uint64(math.MaxUint64), sqrtFixed(math.MaxUint64, math.MaxUint64))
}

func TestOrderNames(t *testing.T) {
	for i, name := range Names() {
		o, err := Parse(name)
		require.NoError(t, err)
		require.Equal(t, Order(i), o)
		require.Equal(t, name, o.String())
	}
	for alias, name := range map[string]string{"exp": "expansion", "F1": "dirlab-f1", "f2": "dirlab-f2", "f3": "dirlab-f3", "f4": "dirlab-f4", "FCFS": "fcfs"} {
		o, err := Parse(alias)
		require.NoError(t, err)
		require.Equal(t, name, o.String())
	}
	for _, bad := range []string{"", "lifo", "f5", "dirlab"} {
		_, err := Parse(bad)
		require.ErrorContains(t, err, "want one of fcfs")
	}
	for i, name := range BackfillNames() {
		b, err := ParseBackfill(name)
		require.NoError(t, err)
		require.Equal(t, Backfill(i), b)
	}
	_, err := ParseBackfill("aggressive")
	require.ErrorContains(t, err, "first-fit")
}

// Ranks that tell agree with the exact order, and keys that are far apart are told.
func TestRanksAgreeWithTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom([]Order{WFP3, Unicef, Expansion}).Draw(t, "order")
		now := model.Time(rapid.Int64Range(1, 1<<45).Draw(t, "now"))
		draw := func(id model.JobID) (a Asked, k Key) {
			a = Asked{
				ID: id, Submit: now - model.Time(rapid.Int64Range(0, int64(now)).Draw(t, "wait")), Walltime: model.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "walltime")),
				Request: model.Request{Units: rapid.Int32Range(1, 1<<20).Draw(t, "units")},
			}
			if rapid.Bool().Draw(t, "close") && id > 0 {
				a.Submit, a.Walltime, a.Request.Units = now-1<<30+model.Time(rapid.Int64Range(0, 2).Draw(t, "off")), 1<<30, 64
			}
			o.Prepare(&a, &k)
			o.Refresh(&a, &k, now)
			return a, k
		}
		a, ka := draw(0)
		b, kb := draw(1)
		if apart := ka.Rank() - kb.Rank(); apart > RankNear || apart < -RankNear {
			require.Equal(t, apart > 0, o.Before(&a, &ka, &b, &kb, now))
		} else if max(ka.float, kb.float) > 0 {
			require.InEpsilon(t, ka.float+1e-300, kb.float+1e-300, 1e-12)
		}
	})
}
