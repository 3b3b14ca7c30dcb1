package score

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"orrery/scheduler/model"
)

// maxRaw is the largest weight that Raw takes.
const maxRaw = 1000

// Normalise scales the weights of a profile to the sum model.One, exactly: each
// share is rounded down and the units that are left go to the largest
// remainders, equal ones to the lower index. A weight is the decimal number that
// people wrote, not its binary neighbour, so vectors that are proportional on
// paper give one result. It is for configuration: it allocates.
func Normalise(raw [NumFactors]float64) (Weights, error) {
	if err := check(raw); err != nil {
		return Weights{}, err
	}
	var parts [NumFactors]*big.Rat
	sum := new(big.Rat)
	for i, x := range raw {
		parts[i], _ = new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
		sum.Add(sum, parts[i])
	}
	sum.Quo(big.NewRat(int64(model.One), 1), sum)

	var w Weights
	left := model.One
	order := make([]Factor, NumFactors)
	for i, p := range parts {
		p.Mul(p, sum)
		whole := new(big.Int).Quo(p.Num(), p.Denom())
		p.Sub(p, new(big.Rat).SetInt(whole))
		w[i] = model.Fixed(whole.Int64())
		left -= w[i]
		order[i] = Factor(i)
	}
	slices.SortStableFunc(order, func(a, b Factor) int { return parts[b].Cmp(parts[a]) })
	for _, f := range order[:left] {
		w[f]++
	}
	return w, nil
}

// Raw takes the weights as they are, up to maxRaw each, rounded to the nearest.
// Scores of different raw vectors are on different scales.
func Raw(raw [NumFactors]float64) (Weights, error) {
	if err := check(raw); err != nil {
		return Weights{}, err
	}
	var w Weights
	for i, x := range raw {
		if x > maxRaw {
			return Weights{}, fmt.Errorf("weight %s is %g, and raw weights are at most %d: divide all nine by one number, "+
				"the order of jobs stays the same", Factor(i), x, maxRaw)
		}
		w[i] = model.FixedOf(x)
	}
	if w == (Weights{}) {
		return w, errors.New("every weight is smaller than 1e-10: multiply all nine by one number, the order of jobs stays the same")
	}
	return w, nil
}

func check(raw [NumFactors]float64) error {
	some := false
	for i, x := range raw {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("weight %s is %g: write a number, 0 to leave the factor out", Factor(i), x)
		case x < 0:
			return fmt.Errorf("weight %s is %g: weights are at least 0, and a higher factor puts a job further in front", Factor(i), x)
		}
		some = some || x > 0
	}
	if !some {
		return fmt.Errorf("all weights from %s to %s are 0: at least one must be positive", Priority, Conformance)
	}
	return nil
}
