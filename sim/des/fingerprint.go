package des

import (
	"encoding/hex"
	"math/bits"
)

// Fingerprint is a rolling 128-bit hash of a sequence of pairs of words. Both words of a
// pair are multiplied into two sums, each time one word with one sum in it and the other
// with a constant (of the mixers of Stafford and of Blackman and Vigna), so
// that order matters and every bit of every word reaches every bit of the hash. It detects
// accidents, not adversaries. The zero value is ready.
type Fingerprint struct {
	a, b uint64
	n    uint64
}

// Pair is f with two words more: for several pairs in a row, which then stay in registers.
func (f Fingerprint) Pair(x, y uint64) Fingerprint {
	hi, lo := bits.Mul64(f.a^x, y^0xbf58476d1ce4e5b9)
	a := hi ^ lo
	hi, lo = bits.Mul64(f.b+y, x^0xd6e8feb86659fd93)
	return Fingerprint{a + f.b, bits.RotateLeft64(hi^lo, 31) + f.a, f.n + 2}
}

// Words is the number of words mixed in.
func (f *Fingerprint) Words() uint64 { return f.n }

// String is the hash in 32 hexadecimal digits.
func (f *Fingerprint) String() string {
	g := f.Pair(f.n, 0).Pair(0, f.n)
	var raw [16]byte
	for i := range 8 {
		raw[i] = byte(g.a >> (56 - 8*i))
		raw[8+i] = byte(g.b >> (56 - 8*i))
	}
	return hex.EncodeToString(raw[:])
}
