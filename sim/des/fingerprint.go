package des

import (
	"encoding/hex"
	"math/bits"
)

// Fingerprint is a rolling 128-bit hash of a sequence of words. Each word is
// multiplied into two lanes with different odd constants (the golden ratio and
// the constants of Blackman and Vigna's mixers), so that order matters and
// every bit of every word reaches every bit of the sum. It detects accidents,
// not adversaries. The zero value is ready.
type Fingerprint struct {
	a, b uint64
	n    uint64
}

// Add mixes one word in.
func (f *Fingerprint) Add(x uint64) { *f = f.With(x) }

// With is f with one word more: for several in a row, which then stay in registers.
func (f Fingerprint) With(x uint64) Fingerprint {
	hi, lo := bits.Mul64(f.a^x^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	a := hi ^ lo
	hi, lo = bits.Mul64(f.b+x+0x94d049bb133111eb, 0xd6e8feb86659fd93)
	return Fingerprint{a, bits.RotateLeft64(hi^lo, 31) + a, f.n + 1}
}

// Words is the number of words mixed in.
func (f *Fingerprint) Words() uint64 { return f.n }

// String is the hash in 32 hexadecimal digits.
func (f *Fingerprint) String() string {
	g := *f
	g.Add(g.n)
	g.Add(0)
	var raw [16]byte
	for i := range 8 {
		raw[i] = byte(g.a >> (56 - 8*i))
		raw[8+i] = byte(g.b >> (56 - 8*i))
	}
	return hex.EncodeToString(raw[:])
}
