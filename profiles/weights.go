package profiles

import (
	"reflect"

	"math/big"
	"strconv"

	"orrery/scheduler/score"
)

// balanced are the weights of a profile that names none: those that the public
// Lattice sources have as their default.
func balanced() Weights {
	return Weights{Priority: 0.20, WaitTime: 0.20, FairShare: 0.20, Topology: 0.15, DataReadiness: 0.10, Backlog: 0.05, Conformance: 0.10}
}

// vector is w as written, w1 to w9.
func (w Weights) vector() [score.NumFactors]float64 {
	return [score.NumFactors]float64{w.Priority, w.WaitTime, w.FairShare, w.Topology, w.DataReadiness, w.Backlog, w.Energy, w.Checkpoint, w.Conformance}
}

// scoreWeights are the weights that scores are made with: normalised in
// documented mode, as written in as-coded mode.
func (p *Profile) scoreWeights() (score.Weights, error) {
	if p.Mode == "as-coded" {
		return score.Raw(p.Weights.vector())
	}
	return score.Normalise(p.Weights.vector())
}

// decimal is the shortest decimal that reads as x, exactly.
func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'f', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// nearest rounds a number that is not negative, halves up.
func nearest(r *big.Rat) int64 {
	twice := new(big.Int).Add(new(big.Int).Lsh(r.Num(), 1), r.Denom())
	return twice.Quo(twice, new(big.Int).Lsh(r.Denom(), 1)).Int64()
}

// setDefault implements block.
func (w *Weights) setDefault() { *w = balanced() }

// WeightNames lists the keys of the block weights, f1 to f9.
func WeightNames() []string { return keysIn(fieldsOf(reflect.TypeFor[Weights]())) }
