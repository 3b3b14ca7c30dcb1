package draw

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValues pins draws: a change here changes the result of every seed.
func TestValues(t *testing.T) {
	require.Equal(t, Stream(0xaf63dc4c8601ec8c), StreamOf("a"), "FNV-1a's published value")
	require.Equal(t, Stream(0xcbf29ce484222325), StreamOf(""))
	for k, want := range []uint64{0x9cde1b3abeac69c1, 0x9afae3355b36f1bb, 0x9f283f34b5e8ce2b} {
		require.Equal(t, want, At(1, StreamOf("test"), 2, 3, uint64(k)), "k=%d: %#x", k, At(1, StreamOf("test"), 2, 3, uint64(k)))
	}
}

// TestAtEqualsSource: a draw depends on its key and not on the draws before.
func TestAtEqualsSource(t *testing.T) {
	s := New(5, 6, 7, 8)
	for k := range uint64(100) {
		require.Equal(t, At(5, 6, 7, 8, k), s.Uint64())
	}
}

// coordinates enumerate keys along one coordinate each, the others small: what
// callers do, and where a weak mixing shows.
var coordinates = map[string]func(i uint64) uint64{
	"seed":    func(i uint64) uint64 { return At(i, 1, 1, 1, 1) },
	"stream":  func(i uint64) uint64 { return At(1, Stream(i), 1, 1, 1) },
	"entity":  func(i uint64) uint64 { return At(1, 1, i, 1, 1) },
	"attempt": func(i uint64) uint64 { return At(1, 1, 1, i, 1) },
	"k":       func(i uint64) uint64 { return At(1, 1, 1, 1, i) },
	"grid":    func(i uint64) uint64 { return At(0, 0, i>>4, 0, i&15) },
	"square":  func(i uint64) uint64 { return At(i%317, 0, i/317, 0, 0) },
	"stride":  func(i uint64) uint64 { return At(0, 0, i<<32, 0, 0) },
}

// sigmas is how far a count of n trials of probability p may be off: five
// standard deviations, which all the fixed keys of these tests keep.
func sigmas(n, p float64) float64 { return 5 * math.Sqrt(n*p*(1-p)) }

// TestBits: each of the 64 bits is set in half of the draws.
func TestBits(t *testing.T) {
	const n = 100_000
	for name, at := range coordinates {
		var ones [64]int
		for i := range uint64(n) {
			for x := at(i); x != 0; x &= x - 1 {
				ones[bits.TrailingZeros64(x)]++
			}
		}
		for b, c := range ones {
			require.InDelta(t, n/2, c, sigmas(n, 0.5), "%s, bit %d", name, b)
		}
	}
}

// TestBytes: the values of the lowest and of the highest byte, and those of
// the XOR of neighbouring draws, are equally frequent (chi-square with 255
// degrees of freedom, mean 255, deviation 22.6).
func TestBytes(t *testing.T) {
	const n = 100_000
	for name, at := range coordinates {
		var low, high, xor [256]float64
		for i := range uint64(n) {
			x := at(i)
			low[x&255]++
			high[x>>56]++
			xor[(x^at(i+1))>>28&255]++
		}
		for which, count := range map[string]*[256]float64{"low": &low, "high": &high, "xor": &xor} {
			chi := 0.0
			for _, c := range count {
				chi += (c - n/256.0) * (c - n/256.0) / (n / 256.0)
			}
			require.InDelta(t, 255, chi, 5*22.6, "%s, %s byte", name, which)
		}
	}
}

// TestSerialCorrelation: neighbouring keys have uncorrelated draws.
func TestSerialCorrelation(t *testing.T) {
	const n = 100_000
	for name, at := range coordinates {
		for _, lag := range []uint64{1, 2, 16, 317} {
			sum := 0.0
			for i := range uint64(n) {
				a, b := float64(at(i)>>11)*0x1p-53-0.5, float64(at(i+lag)>>11)*0x1p-53-0.5
				sum += a * b
			}
			require.InDelta(t, 0, sum*12/n, 5/math.Sqrt(n), "%s, lag %d", name, lag)
		}
	}
}

// TestAvalanche: flipping any bit of any coordinate flips each bit of the draw
// half of the time.
func TestAvalanche(t *testing.T) {
	const n = 1000
	at := func(c [5]uint64) uint64 { return At(c[0], Stream(c[1]), c[2], c[3], c[4]) }
	for coordinate := range 5 {
		for b := range 64 {
			var flips [64]int
			for i := range uint64(n) {
				c := [5]uint64{i, i * 3, i * 5, i & 3, i & 7}
				x := at(c)
				c[coordinate] ^= 1 << b
				for d := x ^ at(c); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			total := 0
			for out, f := range flips {
				require.InDelta(t, n/2, f, sigmas(n, 0.5)*1.2, "coordinate %d, bit %d to %d", coordinate, b, out)
				total += f
			}
			require.InDelta(t, 64*n/2, total, sigmas(64*n, 0.5))
		}
	}
}

// TestNoKeyTwice: no two keys of a large grid share their draws.
func TestNoKeyTwice(t *testing.T) {
	seen := make(map[uint64]string, 200_000)
	for seed := range uint64(4) {
		for stream := range uint64(5) {
			for entity := range uint64(1000) {
				for attempt := range uint64(3) {
					for k := range uint64(3) {
						x := At(seed, Stream(stream), entity, attempt, k)
						key := fmt.Sprint(seed, stream, entity, attempt, k)
						require.Empty(t, seen[x], key)
						seen[x] = key
					}
				}
			}
		}
	}
}

// TestMoments compares means and variances over entities with the formulas.
func TestMoments(t *testing.T) {
	const n = 200_000
	z := NewZipf(10, 1.2)
	var zMean, zSquare, zSum float64
	for r := range 10 {
		p := math.Pow(float64(r+1), -1.2)
		zSum += p
		zMean += p * float64(r)
		zSquare += p * float64(r*r)
	}
	zMean, zSquare = zMean/zSum, zSquare/zSum
	for name, c := range map[string]struct {
		draw           func(*Source) float64
		mean, variance float64
	}{
		"float":         {(*Source).Float64, 0.5, 1.0 / 12},
		"open":          {(*Source).Open, 0.5, 1.0 / 12},
		"bool":          {func(s *Source) float64 { return map[bool]float64{true: 1}[s.Bool(0.3)] }, 0.3, 0.21},
		"int":           {func(s *Source) float64 { return float64(s.IntN(7)) }, 3, 4},
		"uniform":       {func(s *Source) float64 { return s.Uniform(-2, 4) }, 1, 3},
		"exponential":   {(*Source).Exponential, 1, 1},
		"normal":        {(*Source).Normal, 0, 1},
		"gamma 4.2":     {func(s *Source) float64 { return s.Gamma(4.2, 0.94) }, 4.2 * 0.94, 4.2 * 0.94 * 0.94},
		"gamma 312":     {func(s *Source) float64 { return s.Gamma(312, 0.03) }, 9.36, 312 * 0.03 * 0.03},
		"gamma 1":       {func(s *Source) float64 { return s.Gamma(1, 2) }, 2, 4},
		"gamma below 1": {func(s *Source) float64 { return s.Gamma(0.4, 3) }, 1.2, 3.6},
		"zipf":          {func(s *Source) float64 { return float64(z.Rank(s)) }, zMean, zSquare - zMean*zMean},
	} {
		var sum, square, fourth float64
		for i := range uint64(n) {
			s := New(42, StreamOf(name), i, 0)
			x := c.draw(&s) - c.mean
			sum += x
			square += x * x
			fourth += x * x * x * x
		}
		require.InDelta(t, 0, sum/n, 5*math.Sqrt(c.variance/n), "mean of %s", name)
		deviation := math.Sqrt((fourth/n - c.variance*c.variance) / n)
		require.InDelta(t, c.variance, square/n, 5*deviation, "variance of %s", name)
	}
}

func TestBounds(t *testing.T) {
	s := New(0, 0, 0, 0)
	z := NewZipf(3, 0)
	for range 10_000 {
		u := s.Open()
		require.True(t, u > 0 && u < 1)
		require.Less(t, s.Float64(), 1.0)
		require.Less(t, s.IntN(3), int64(3))
		require.Zero(t, s.IntN(1))
		require.Less(t, z.Rank(&s), 3)
		require.False(t, s.Bool(0))
		require.True(t, s.Bool(1))
		require.GreaterOrEqual(t, s.IntN(math.MaxInt64), int64(0))
	}
	require.Equal(t, 2, index([]float64{0.2, 0.5, 0.9}, 0.95), "rounding of the table's end is no way out of it")
	require.Panics(t, func() { s.IntN(0) })
	require.Panics(t, func() { s.Gamma(0, 1) })
	require.Panics(t, func() { s.Gamma(1, math.NaN()) })
	require.Panics(t, func() { NewZipf(0, 1) })
}

func BenchmarkUint64(b *testing.B) {
	var sum, i uint64
	b.ReportAllocs()
	for b.Loop() {
		s := New(1, 2, i, 0)
		sum += s.Uint64()
		i++
	}
	_ = sum
}

func BenchmarkGamma(b *testing.B) {
	var i uint64
	b.ReportAllocs()
	for b.Loop() {
		s := New(1, 2, i, 0)
		s.Gamma(4.2, 0.94)
		i++
	}
}
