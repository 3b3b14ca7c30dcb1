// Package elastic measures how well the size of a service followed its demand, from two
// series of samples at equal steps: what would have been enough, and what was supplied.
// It must not know where the series come from, nor which policy made the supply.
//
// The definitions follow the elasticity metrics of the SPEC Research Group (Herbst, Kounev,
// Reussner: Elasticity in cloud computing, ICAC 2013; Bauer, Herbst, Spinner, Ali-Eldin,
// Kounev: Chameleon, TPDS 2019) and, for the mean shortfall and the split of the
// instability, those of Ilyushkin and others (An experimental performance evaluation of
// autoscalers for complex workflows, TOMPECS 2018). docs/METRICS.md has the formulas.
package elastic

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model"
)

// Series is demand and supply at equal steps, each sample held for one step. Both are
// amounts of one unit, such as nodes or replicas, and none is negative.
type Series struct {
	Step           model.Duration
	Demand, Supply []float64
}

// Values are the metrics of a series.
type Values struct {
	UnderPct, OverPct         float64 // θ: mean lack and surplus relative to demand, in percent
	UnderTimePct, OverTimePct float64 // τ: time share with too little and too much, in percent
	InstabilityPct            float64 // υ: steps in which demand and supply went different ways, in percent
	SupplyAhead, DemandAhead  float64 // k and k': steps in which supply moved above the demand's direction, and below
	Shortfall, Surplus        float64 // mean lack and surplus, in units
	SupplyChanges             int64
	DemandChanges             int64
	JitterPerHour             float64 // changes of supply beyond those of demand, per hour
	Reversals                 int64   // changes of direction of the supply
	UnitHours                 float64 // supply over time, in unit hours
	DeviationPct              float64 // σ: fifth root of the sum of fifth powers of θ, τ and υ, in percent
}

// errEmpty is that there is nothing to measure.
var errEmpty = errors.New("no samples")

func (s *Series) validate() error {
	switch {
	case len(s.Demand) == 0:
		return errEmpty
	case len(s.Demand) != len(s.Supply):
		return fmt.Errorf("%d samples of demand and %d of supply: want as many", len(s.Demand), len(s.Supply))
	case s.Step <= 0:
		return fmt.Errorf("step %v: want more than 0", s.Step)
	}
	for i, d := range s.Demand {
		if !(d >= 0 && s.Supply[i] >= 0) || math.IsInf(d, 0) || math.IsInf(s.Supply[i], 0) {
			return fmt.Errorf("demand %v and supply %v of sample %d: want amounts of 0 or more", d, s.Supply[i], i)
		}
	}
	return nil
}

// Measure computes all metrics in one reading. Samples without demand do not enter θ but
// stay in its number of samples. One sample alone has no instability.
func Measure(s Series) (Values, error) {
	if err := s.validate(); err != nil {
		return Values{}, err
	}
	var v Values
	n := float64(len(s.Demand))
	under, over, short, long := 0, 0, 0.0, 0.0
	for i, d := range s.Demand {
		lack, rest := max(d-s.Supply[i], 0), max(s.Supply[i]-d, 0)
		short, long = short+lack, long+rest
		if lack > 0 {
			under++
		}
		if rest > 0 {
			over++
		}
		if d > 0 {
			v.UnderPct += lack / d
			v.OverPct += rest / d
		}
		v.UnitHours += s.Supply[i]
	}
	v.UnderPct, v.OverPct = v.UnderPct*100/n, v.OverPct*100/n
	v.UnderTimePct, v.OverTimePct = float64(100*under)/n, float64(100*over)/n
	v.Shortfall, v.Surplus = short/n, long/n
	hours := float64(s.Step) / float64(model.Hour)
	v.UnitHours = float64(v.UnitHours * hours)
	v.moves(&s)
	v.JitterPerHour = float64(v.SupplyChanges-v.DemandChanges) / float64(n*hours)
	v.DeviationPct = deviation(v.UnderPct, v.OverPct, v.UnderTimePct, v.OverTimePct, v.InstabilityPct)
	return v, nil
}

// moves counts what changes from sample to sample.
func (v *Values) moves(s *Series) {
	var apart, ahead, behind int64
	last := 0 // direction of the supply
	for i := 1; i < len(s.Demand); i++ {
		demand, supply := cmp.Compare(s.Demand[i], s.Demand[i-1]), cmp.Compare(s.Supply[i], s.Supply[i-1])
		switch {
		case supply > demand:
			apart, ahead = apart+1, ahead+1
		case supply < demand:
			apart, behind = apart+1, behind+1
		}
		if demand != 0 {
			v.DemandChanges++
		}
		if supply == 0 {
			continue
		}
		v.SupplyChanges++
		if supply == -last {
			v.Reversals++
		}
		last = supply
	}
	if steps := float64(len(s.Demand) - 1); steps > 0 {
		v.InstabilityPct, v.SupplyAhead, v.DemandAhead = float64(100*apart)/steps, float64(ahead)/steps, float64(behind)/steps
	}
}

// deviation is the distance from the perfect policy, which has 0 of each.
func deviation(percents ...float64) float64 {
	sum := 0.0
	for _, x := range percents {
		square := float64(x * x)
		sum += float64(float64(square*square) * x)
	}
	return libm.Pow(sum, 0.2) //detlint:inexact a figure of a report; no decision depends on it
}
