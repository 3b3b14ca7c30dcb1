package transform

import (
	"math/big"
	"math/bits"

	"orrery/scheduler/model"
)

// ratio is a positive rational by which instants and spans are multiplied.
type ratio struct{ num, den uint64 }

// precision bounds the denominator of ratios that were measured: they are
// rounded to multiples of 2^-40, which moves an instant of a year by 15 µs at
// most.
const precision = 40

// ratioOf is r, exact when its terms fit, else rounded.
func ratioOf(r *big.Rat) ratio {
	if r.Num().IsUint64() && r.Denom().IsUint64() && r.Num().BitLen() <= 60 && r.Denom().BitLen() <= 60 {
		return ratio{r.Num().Uint64(), r.Denom().Uint64()}
	}
	n := new(big.Int).Lsh(r.Num(), precision+1)
	n.Quo(n, r.Denom())
	n.Add(n, big.NewInt(1)).Rsh(n, 1)
	return ratio{max(1, n.Uint64()), 1 << precision}
}

// of is x times the ratio, rounded half away from zero. It saturates just beyond what a
// trace can hold, so that the rows which do are found.
func (r ratio) of(x int64) int64 {
	if x < 0 {
		return -r.of(-x)
	}
	const limit = 1 << 61
	hi, lo := bits.Mul64(uint64(x), r.num)
	lo, carry := bits.Add64(lo, r.den/2, 0)
	if hi += carry; hi >= r.den {
		return limit
	}
	q, _ := bits.Div64(hi, lo, r.den)
	return int64(min(q, limit))
}

// span is a positive span times the ratio; Forever stays so.
func (r ratio) span(d int64) int64 {
	if d == int64(model.Forever) {
		return d
	}
	return r.of(d)
}

// decimal is x with a few digits, for notes.
func decimal(x *big.Rat) string { return x.FloatString(4) }
