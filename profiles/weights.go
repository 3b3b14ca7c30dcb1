package profiles

import (
	"math/big"
	"strconv"

	"orrery/scheduler/model"
)

// Factors is the number of weights.
const Factors = 9

// FactorNames are the keys of the weights, f1 to f9.
func FactorNames() [Factors]string {
	return [Factors]string{"priority", "wait_time", "fair_share", "topology", "data_readiness", "backlog", "energy", "checkpoint", "conformance"}
}

// Balanced are the weights of a profile that names none: those that the public
// Lattice sources have as their default.
func Balanced() Weights {
	return Weights{Priority: 0.20, WaitTime: 0.20, FairShare: 0.20, Topology: 0.15, DataReadiness: 0.10, Backlog: 0.05, Checkpoint: 0.05, Conformance: 0.10}
}

// Vector is w as written, w1 to w9.
func (w Weights) Vector() [Factors]float64 {
	return [Factors]float64{w.Priority, w.WaitTime, w.FairShare, w.Topology, w.DataReadiness, w.Backlog, w.Energy, w.Checkpoint, w.Conformance}
}

// Fixed is w as written, w1 to w9, each rounded to the nearest.
func (w Weights) Fixed() [Factors]model.Fixed {
	var out [Factors]model.Fixed
	for i, x := range w.Vector() {
		out[i] = model.FixedOf(x)
	}
	return out
}

// Normalised is w divided by its sum, each weight rounded to the nearest on its
// own. It is computed with the decimals as they are written, so that a vector
// and ten times that vector give the same. All zero stays so.
func (w Weights) Normalised() [Factors]model.Fixed {
	var out [Factors]model.Fixed
	var exact [Factors]*big.Rat
	sum := new(big.Rat)
	for i, x := range w.Vector() {
		exact[i] = decimal(x)
		sum.Add(sum, exact[i])
	}
	if sum.Sign() <= 0 {
		return out
	}
	for i, x := range exact {
		share := new(big.Rat).Quo(x, sum)
		share.Mul(share, new(big.Rat).SetInt64(int64(model.One)))
		out[i] = model.Fixed(nearest(share))
	}
	return out
}

// EffectiveWeights are the weights that scores are made with: normalised in
// documented mode, as written in as-coded mode.
func (p *Profile) EffectiveWeights() [Factors]model.Fixed {
	if p.Mode == "as-coded" {
		return p.Weights.Fixed()
	}
	return p.Weights.Normalised()
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
func (w *Weights) setDefault() { *w = Balanced() }
