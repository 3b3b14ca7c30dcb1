package score

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// The budget curve: no penalty up to 80 % of the budget, the floor of 0.05 from
// 120 % on.
const (
	freeUntil = 4 * model.One / 5
	floorFrom = (6*model.One + 4) / 5
	floor     = (model.One + 10) / 20
)

// Penalty is what the scores of a tenant are multiplied by that has used so much
// of its budget (1 is all of it): 1 up to 0.8, 0.05 from 1.2 on, and between them
// 0.05 + 0.95 (1 + cos(π (used-0.8)/0.4))/2. It never rises, and differs from the
// exact value by less than 0.51 units of the last place. A tenant without a
// budget has used 0. It is for the accounting tick: some 35 ns.
func Penalty(used model.Fixed) model.Fixed {
	if used <= freeUntil {
		return model.One
	}
	if used >= floorFrom {
		return floor
	}
	// Half a cosine over [0.8, 1.2] is minus a sine over a right angle on either
	// side of 1, so the curve is (21 - 19 sin(π/2 * 5(used-1)))/40.
	const unit = 1 << (sineBits - 5) // leaves room for a factor of 21
	s := sine(5*(used-model.One)) >> 5
	const scale = 40 * unit >> model.FractionBits
	return model.Fixed((21*unit - 19*s + scale/2) / scale)
}

// SamePenalty is a range of what is used of a budget, from least to most, in which the penalty is that of used.
func SamePenalty(used model.Fixed) (least, most model.Fixed) {
	switch {
	case used <= freeUntil:
		return 0, freeUntil
	case used >= floorFrom:
		return floorFrom, math.MaxInt64
	}
	return used, used
}

// sineBits are the fraction bits of sine.
const sineBits = 62

// halfPi is π/2 in units of 2^-62.
const halfPi = 0x6487ED5110B4611A

// sine is sin(π/2 * x) for x from -1 to 1, in units of 2^-62, by the power series:
// its terms alternate, and the sixteenth is below the last unit.
func sine(x model.Fixed) int64 {
	neg := x < 0
	if neg {
		x = -x
	}
	term := times(uint64(x)<<(sineBits-model.FractionBits), halfPi)
	square := times(term, term) // below 2.5
	sum := int64(term)
	for k := uint64(2); term > 0; k += 2 {
		term = times(term, square) / (k * (k + 1))
		if k%4 == 2 {
			sum -= int64(term)
		} else {
			sum += int64(term)
		}
	}
	if neg {
		return -sum
	}
	return sum
}

// times multiplies in units of 2^-62, rounding down; the product is below 4.
func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi<<(64-sineBits) | lo>>sineBits
}
