package stat

import (
	"math"

	"orrery/scheduler/model/draw"
)

// exactBlocks is the number of blocks up to which all sign patterns are tried.
const exactBlocks = 14

// SignFlip is the two-sided p-value of the paired sign-flip (permutation) test
// of differences given in the order of time: how often a mean as far from zero
// would be seen, were baseline and candidate exchanged at random in each block
// of that many windows. Up to 14 blocks all patterns are tried; beyond, Draws
// random ones, and the pattern seen counts as one of them (Phipson and Smyth
// 2010), so p is never 0. It is NaN of no differences, and 1 when all of them
// are zero. block is at least 1.
//
// With k blocks no p-value is below 2^(1-k).
func (s Settings) SignFlip(differences []float64, block int) float64 {
	if len(differences) == 0 {
		return math.NaN()
	}
	sums := blockSums(differences, block)
	observed, size := 0.0, 0.0
	for _, x := range sums {
		observed += x
		size += math.Abs(x)
	}
	// Sums in another order differ in their last bits and still count as equal.
	reach := math.Abs(observed) - 1e-12*size
	if len(sums) <= exactBlocks {
		return exactFlips(sums, reach)
	}
	hits := 1
	for b := range s.Draws {
		source := draw.New(s.Seed, flipStream, uint64(b), 0)
		if math.Abs(flipped(sums, source.Uint64)) >= reach {
			hits++
		}
	}
	return float64(hits) / float64(s.Draws+1)
}

func blockSums(differences []float64, block int) []float64 {
	sums := make([]float64, (len(differences)+block-1)/block)
	for i, d := range differences {
		sums[i/block] += d
	}
	return sums
}

// exactFlips tries all patterns in which the last sign is kept: the others are
// their mirror images.
func exactFlips(sums []float64, reach float64) float64 {
	patterns := uint64(1) << (len(sums) - 1)
	hits := 0
	for p := range patterns {
		if math.Abs(flipped(sums, func() uint64 { return p })) >= reach {
			hits++
		}
	}
	return float64(hits) / float64(patterns)
}

// flipped is the sum with the signs that bits give, 64 at a time.
func flipped(sums []float64, bits func() uint64) float64 {
	total, word := 0.0, uint64(0)
	for i, x := range sums {
		if i%64 == 0 {
			word = bits()
		}
		if word&1 == 1 {
			x = -x
		}
		total += x
		word >>= 1
	}
	return total
}
