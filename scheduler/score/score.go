package score

import (
	"math/bits"

	"orrery/scheduler/model"
)

// Term is weight * value, rounded to the nearest: the contribution of one factor
// to the sum, or the score of a sum and its penalty. Neither may be negative and
// the product is below 2^31; it then equals weight.Mul(value).
func Term(weight, value model.Fixed) model.Fixed {
	hi, lo := bits.Mul64(uint64(weight), uint64(value))
	lo, carry := bits.Add64(lo, 1<<(model.FractionBits-1), 0)
	return model.Fixed((hi+carry)<<(64-model.FractionBits) | lo>>model.FractionBits)
}

// sumOf is the sum of the terms of all factors.
func sumOf(w *Weights, v *Values) model.Fixed {
	return Term(w[Priority], v[Priority]) + Term(w[Wait], v[Wait]) + Term(w[FairShare], v[FairShare]) +
		Term(w[Topology], v[Topology]) + Term(w[Data], v[Data]) + Term(w[Backlog], v[Backlog]) +
		Term(w[Energy], v[Energy]) + Term(w[Checkpoint], v[Checkpoint]) + Term(w[Conformance], v[Conformance])
}

// Part is the sum of the terms of one scope. The parts of all scopes add up to
// sumOf, in any order, so each can be kept for as long as its scope says:
//
//	Term(penalty, static+ofTenant+ofSize+global+Term(w[Wait], curve.Of(waited)))
//
// is the score.
func Part(w *Weights, v *Values, scope Scope) model.Fixed {
	switch scope { // written out, for each submission asks
	case PerJob:
		return Term(w[Priority], v[Priority]) + Term(w[Data], v[Data]) + Term(w[Checkpoint], v[Checkpoint])
	case PerTenant:
		return Term(w[FairShare], v[FairShare])
	case PerSize:
		return Term(w[Topology], v[Topology]) + Term(w[Conformance], v[Conformance])
	case Global:
		return Term(w[Backlog], v[Backlog]) + Term(w[Energy], v[Energy])
	}
	return Term(w[Wait], v[Wait])
}

// Score is penalty * sum of weight * factor. Higher comes earlier. penalty is
// from 0 to 1.
func Score(w *Weights, v *Values, penalty model.Fixed) model.Fixed {
	return Term(penalty, sumOf(w, v))
}

// Explanation is a score taken apart. Score is Term(Penalty, Sum), and Sum is the
// sum of the contributions, exactly.
type Explanation struct {
	Factors [NumFactors]Contribution
	Sum     model.Fixed
	Penalty model.Fixed
	Score   model.Fixed
}

// Contribution is the row of one factor: Term is the product of the other two.
type Contribution struct {
	Factor Factor
	Value  model.Fixed
	Weight model.Fixed
	Term   model.Fixed
}

// Explain returns what Score returns, with all that it consists of.
func Explain(w *Weights, v *Values, penalty model.Fixed) Explanation {
	e := Explanation{Penalty: penalty}
	for f := range Factor(NumFactors) {
		e.Factors[f] = Contribution{Factor: f, Value: v[f], Weight: w[f], Term: Term(w[f], v[f])}
		e.Sum += e.Factors[f].Term
	}
	e.Score = Term(penalty, e.Sum)
	return e
}
