// Package draw is the only source of randomness. A draw is a function of its
// key: (seed, stream, entity, attempt, k). Nothing is remembered between draws
// of different keys, so a new consumer moves no other draws, rows can be
// made in any order, and two policies replayed with one seed meet the same
// faults and noise. It must not know what is drawn, nor keep state anywhere but in a
// Source on the caller's stack.
//
// Bits, integers and uniform numbers are the same on every machine. Draws that
// go through a logarithm, a power or a cosine may differ in the last bits
// between architectures: a caller that promises equal bytes rounds them first.
package draw

import (
	"math"
	"math/bits"

	"orrery/internal/libm"
)

// Stream names one purpose of randomness, such as the run times of jobs. Draws
// of different streams are independent for the same entity.
type Stream uint64

// StreamOf is the stream of a name: its 64-bit FNV-1a hash. Use one name for
// one purpose, for good: changing it changes every result.
func StreamOf(name string) Stream {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return Stream(h)
}

// weyl is 2^64 divided by the golden ratio, made odd: its multiples are spread
// evenly, so that the small neighbouring numbers that ids are differ in many
// bits before they are mixed.
const weyl = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64 with the constants of David Stafford's
// variant 13, a bijection of 64 bits in which flipping one bit of the input
// flips each bit of the output with a probability close to one half.
// (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014; Stafford: Better bit mixing, 2011.)
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// absorb adds a word to a key. For a fixed key it is a bijection of the word:
// two entities of one stream never share a key.
func absorb(key, word uint64) uint64 { return mix((key + weyl) ^ bits.RotateLeft64(word*weyl, 32)) }

// Source gives the draws k = 0, 1, 2 ... of one (seed, stream, entity,
// attempt). It is a small value: make it where it is used and let it go. The
// zero Source is that of no key; use New.
type Source struct {
	key uint64
	k   uint64
}

// New returns the source of a key. entity is the dense id of what the draw is
// about; attempt tells its repetitions apart, 0 when there are none.
func New(seed uint64, stream Stream, entity, attempt uint64) Source {
	key := absorb(0, seed)
	key = absorb(key, uint64(stream))
	key = absorb(key, entity)
	return Source{key: absorb(key, attempt)}
}

// At is draw k of a key by itself.
func At(seed uint64, stream Stream, entity, attempt, k uint64) uint64 {
	s := New(seed, stream, entity, attempt)
	s.k = k
	return s.Uint64()
}

// Uint64 returns the next 64 random bits.
func (s *Source) Uint64() uint64 {
	x := absorb(s.key, s.k)
	s.k++
	return x
}

// Float64 returns a multiple of 2^-53 in [0, 1).
func (s *Source) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Open returns an odd multiple of 2^-54 in (0, 1), for where a logarithm is
// taken. Its mean is exactly one half.
func (s *Source) Open() float64 { return (float64(s.Uint64()>>11) + 0.5) * 0x1p-53 }

// Bool is true with probability p: never for p <= 0, always for p >= 1.
func (s *Source) Bool(p float64) bool { return s.Float64() < p }

// IntN returns an unbiased integer in [0, n). It panics unless n > 0.
// (Lemire: Fast random integer generation in an interval, 2019.)
func (s *Source) IntN(n int64) int64 {
	if n <= 0 {
		panic("draw: IntN needs a positive bound")
	}
	hi, lo := bits.Mul64(s.Uint64(), uint64(n))
	if lo < uint64(n) {
		for least := -uint64(n) % uint64(n); lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), uint64(n))
		}
	}
	return int64(hi)
}

// Uniform returns a number in [low, high).
func (s *Source) Uniform(low, high float64) float64 { return low + float64((high-low)*s.Float64()) }

// Exponential returns an exponentially distributed number of mean 1.
func (s *Source) Exponential() float64 { return -math.Log(s.Open()) }

// Normal returns a normally distributed number of mean 0 and variance 1. It
// takes two draws, always. (Box and Muller, 1958, the cosine of the pair.)
func (s *Source) Normal() float64 {
	radius := math.Sqrt(-2 * math.Log(s.Open()))
	return radius * math.Cos(2*math.Pi*s.Float64())
}

// Gamma returns a gamma distributed number of mean shape*scale and variance
// shape*scale². Both must be positive. (Marsaglia and Tsang: A simple method
// for generating gamma variables, 2000; below shape 1 with their power of a
// uniform.)
func (s *Source) Gamma(shape, scale float64) float64 {
	if !(shape > 0 && scale > 0) {
		panic("draw: Gamma needs a positive shape and scale")
	}
	boost := 1.0
	if shape < 1 {
		boost = libm.Pow(s.Open(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(s.Open()) < float64(x*x/2)+d-float64(d*v)+float64(d*math.Log(v)) {
			return d * v * boost * scale
		}
	}
}

// Zipf picks ranks 0 to n-1 with probability proportional to 1/(rank+1)^s by
// inversion of a table of n numbers.
type Zipf struct{ upTo []float64 }

// NewZipf makes the table for n ranks. It panics unless n > 0 and s >= 0.
func NewZipf(n int, s float64) *Zipf {
	if n <= 0 || !(s >= 0) {
		panic("draw: NewZipf needs ranks and a non-negative exponent")
	}
	z := &Zipf{upTo: make([]float64, n)}
	sum := 0.0
	for i := range z.upTo {
		sum += libm.Pow(float64(i+1), -s)
		z.upTo[i] = sum
	}
	for i := range z.upTo {
		z.upTo[i] /= sum
	}
	return z
}

// Rank takes one draw and returns a rank; it costs log n steps.
func (z *Zipf) Rank(s *Source) int { return index(z.upTo, s.Float64()) }

// index is the first i with u < upTo[i], or the last i.
func index(upTo []float64, u float64) int {
	low, high := 0, len(upTo)-1
	for low < high {
		mid := int(uint(low+high) / 2)
		if u < upTo[mid] {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
