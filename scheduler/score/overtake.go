package score

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
)

// Rate is an upper bound on the growth per microsecond of weight * WaitOf(waited),
// now and at any later time, in units of 2^-64 (the lower 32 are finer than a
// model.Fixed). The growth is weight/(reference+waited), which only falls; Rate
// exceeds it by less than one unit. math.MaxUint64 when there are too many.
func Rate(weight model.Fixed, waited, reference model.Duration) uint64 {
	den := uint64(max(reference, 1)) + uint64(max(waited, 0))
	hi, lo := uint64(weight)>>model.FractionBits, uint64(weight)<<model.FractionBits
	if hi >= den {
		return math.MaxUint64
	}
	rate, rest := bits.Div64(hi, lo, den)
	if rest > 0 {
		rate++
	}
	return rate
}

// Overtake is a lower bound on the time until the score of job A can reach that
// of job B, which is ahead by gap > 0, when only their waiting goes on: before
// that, A is behind. w2 is the weight of the wait; penalties are from 0 to 1 and
// waits at least 0. Forever when A never gets there, 0 when it may at once, as
// with gaps within the rounding of scores (some 2e-9 for weights of sum 1). Cost:
// two divisions, and two logarithms when B is older.
//
// With c = penalty * w2 and a = reference + waited, the lead that A wins within t
// is D(t) = cA ln(1+t/a) - cB ln(1+t/b), and D' = cA/(a+t) - cB/(b+t).
//
// When B is no older than A, D' is at most (cA-cB)/a: A wins nothing unless B is
// penalised more.
//
// When B is older, D' is at most D'(0) wherever it is positive: if cA >= cB, D' is
// (cA-cB)/(a+t) + cB (b-a)/(a+t)(b+t), which falls; else D' (a+t)(b+t) falls,
// being cA b - cB a - (cB-cA) t, and A wins in all no more than cA ln(b/a).
func Overtake(gap, w2, penaltyA, penaltyB model.Fixed, waitedA, waitedB, reference model.Duration) model.Duration {
	switch {
	case gap <= 0:
		return 0
	case w2 == 0 || penaltyA == model.One && penaltyB == model.One && waitedA == waitedB:
		return model.Forever // the distance of the scores stays the same, to the last bit
	}
	// Four scores are rounded: each wait by 0.52 units, then its term and the
	// score by half a unit.
	gap -= 5 + 3*(w2>>model.FractionBits+1)
	switch {
	case gap <= 0:
		return 0
	case waitedB <= waitedA:
		if penaltyA <= penaltyB {
			return model.Forever
		}
		return reach(gap, Rate(Term(w2, penaltyA-penaltyB)+1, waitedA, reference))
	}
	growth := Term(w2, penaltyA) + 1
	if penaltyA <= penaltyB {
		ahead := WaitOf(waitedB, reference) - WaitOf(waitedA, reference) + 2
		if Term(growth, ahead) < gap {
			return model.Forever
		}
	}
	loses := Rate(max(Term(w2, penaltyB)-1, 0), waitedB, reference) // less a unit, a lower bound
	wins := Rate(growth, waitedA, reference)
	if wins == math.MaxUint64 || loses == 0 {
		return reach(gap, wins)
	}
	if wins <= loses-1 {
		return model.Forever
	}
	return reach(gap, wins-(loses-1))
}

// reach is the time in which a growth of at most rate (see Rate) makes gap,
// rounded down.
func reach(gap model.Fixed, rate uint64) model.Duration {
	hi, lo := uint64(gap)>>model.FractionBits, uint64(gap)<<model.FractionBits
	if rate == math.MaxUint64 {
		return 0
	}
	if hi >= rate {
		return model.Forever
	}
	t, _ := bits.Div64(hi, lo, rate)
	return model.Duration(min(t, uint64(model.Forever)))
}
