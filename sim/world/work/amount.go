package work

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// amount is work, not negative, in 2^-32 µs at speed 1: 128 bits, so that the product
// of a span and a rate is exact.
type amount struct{ hi, lo uint64 }

// micros is so many whole µs.
func micros(d model.Duration) amount { return amount{uint64(d) >> 32, uint64(d) << 32} }

// product is the work done in d at a rate.
func product(d model.Duration, rate model.Fixed) amount {
	hi, lo := bits.Mul64(uint64(d), uint64(rate))
	return amount{hi, lo}
}

func (a amount) add(b amount) amount {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return amount{a.hi + b.hi + carry, lo}
}

// sub is a-b, 0 where b is larger.
func (a amount) sub(b amount) amount {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return amount{}
	}
	return amount{hi, lo}
}

func (a amount) less(b amount) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

// floor is the whole µs of a.
func (a amount) floor() model.Duration { return model.Duration(a.hi<<32 | a.lo>>32) }

// over is how long a takes at a rate, rounded half up to the µs; Forever at rate 0.
func (a amount) over(rate model.Fixed) model.Duration {
	if rate == model.One {
		return a.floor() + model.Duration(a.lo>>31&1)
	}
	r := uint64(rate)
	switch {
	case a == amount{}:
		return 0
	case rate <= 0 || a.hi >= r:
		return model.Forever
	}
	d, rest := bits.Div64(a.hi, a.lo, r)
	if rest >= r-rest {
		d++
	}
	if d > math.MaxInt64 {
		return model.Forever
	}
	return model.Duration(d)
}

// times is a·num/den in µs, rounded half up; Forever where it is longer than that. den
// must not be 0.
func (a amount) times(num, den uint64) model.Duration {
	// Three words by one: the product is below 2^192.
	hi, w0 := bits.Mul64(a.lo, num)
	w2, w1 := bits.Mul64(a.hi, num)
	w1, carry := bits.Add64(w1, hi, 0)
	w2 += carry
	if w2 >= den {
		return model.Forever
	}
	q1, rest := bits.Div64(w2, w1, den)
	q0, _ := bits.Div64(rest, w0, den)
	q0, carry = bits.Add64(q0, 1<<31, 0)
	if q1 += carry; q1 >= 1<<31 {
		return model.Forever
	}
	return amount{q1, q0}.floor()
}
