package scheduler

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/score"
)

// Points is Slurm's priority taken apart; what reaches 2^31 points is cut off there.
func Points(w *multifactor.Weights, in *multifactor.Inputs) score.Explanation {
	const most = 1<<31 - 1
	fixed := func(n int64) model.Fixed { return model.Fixed(max(min(n, most), -most) << model.FractionBits) }
	e := score.Explanation{Penalty: model.One, Score: fixed(multifactor.Priority(w, in))}
	for i, t := range multifactor.Explain(w, in) {
		e.Factors[i] = score.Contribution{Factor: score.Factor(i), Value: t.Value, Weight: fixed(t.Weight), Term: t.Adds}
		e.Sum += t.Adds
	}
	return e
}
