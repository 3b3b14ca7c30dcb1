package tunepage

import (
	"math"

	"orrery/reports/study"
	"orrery/sim/metric"
	"orrery/sim/sensitivity"
	"orrery/sim/tune"
)

// addSensitivity is what the settings do, for the page: over the whole space by
// both methods, beside the chosen point, and two by two.
func addSensitivity(s *study.Study, r *tune.Report) {
	for i := range r.Sensitivity {
		x := &r.Sensitivity[i]
		if known(x, func(p tune.PartMove) tune.Range { return p.Change }) {
			s.Sensitivity = append(s.Sensitivity, effects(x, "mean change when it moves by two thirds of its range, from anywhere (Morris)", false,
				func(p tune.PartMove) tune.Range { return p.Change }))
		}
		if known(x, func(p tune.PartMove) tune.Range { return p.Total }) {
			s.Sensitivity = append(s.Sensitivity,
				effects(x, "part of the variance in all, together with the others (total Sobol index)", true, func(p tune.PartMove) tune.Range { return p.Total }),
				effects(x, "part of the variance that it explains alone (first-order Sobol index)", true, func(p tune.PartMove) tune.Range { return p.First }))
		}
	}
	for _, o := range r.Goal.Objectives {
		if one := besideChosen(r, o.Metric); len(one.Parts) > 0 {
			s.Sensitivity = append(s.Sensitivity, one)
		}
	}
	for i := range r.Joint {
		g := &r.Joint[i]
		one := study.Interaction{
			Metric: g.Metric + " (tuning)", First: g.First, Second: g.Second, FirstAt: g.FirstAt, SecondAt: g.SecondAt, Values: g.Values,
			JointShare: g.JointShare, Floor: g.Floor,
		}
		s.Interactions = append(s.Interactions, one)
	}
}

func known(s *tune.Sensitivity, of func(tune.PartMove) tune.Range) bool {
	for _, p := range s.Parts {
		if of(p).Estimate.Defined() {
			return true
		}
	}
	return false
}

// effects are one figure of all settings.
func effects(s *tune.Sensitivity, what string, share bool, of func(tune.PartMove) tune.Range) study.Sensitivity {
	one := study.Sensitivity{Metric: s.Metric, Unit: s.Unit, What: what, Share: share, Floor: s.Floor}
	if share {
		one.Unit, one.Floor = "", metric.Undefined
		if v := s.Spread; v != nil && v.Variance > 0 { // changes within the noise explain no more
			one.Floor = s.Floor * s.Floor / (2 * v.Variance)
		}
	}
	for _, p := range s.Parts {
		x := of(p)
		one.Parts = append(one.Parts, study.SensitivityPart{
			Parameter: p.Setting, Effect: x.Estimate, Low: x.Low, High: x.High, Influence: p.Influence.String(),
		})
	}
	return one
}

// tenth of its range is how far a setting moves in the figure of the chosen point.
const tenth = 0.1

// besideChosen is what moves an objective beside the chosen point.
func besideChosen(r *tune.Report, objective string) study.Sensitivity {
	one := study.Sensitivity{
		Metric: objective, What: "change beside " + r.Around + " when it moves by a tenth of its range, or to another choice", Floor: metric.Undefined,
	}
	for i := range r.Sensitivity {
		if r.Sensitivity[i].Metric == objective {
			one.Unit = r.Sensitivity[i].Unit
		}
	}
	for _, x := range r.Slopes {
		if x.Metric != objective {
			continue
		}
		name, by := x.Setting, tenth
		if x.To != "" {
			name, by = name+": "+x.To, 1
		}
		change, noise := by*math.Abs(float64(x.Slope)), by*float64(x.Noise)
		said := sensitivity.Unclear
		if x.Clear {
			said = sensitivity.Active
		}
		one.Parts = append(one.Parts, study.SensitivityPart{
			Parameter: name, Effect: metric.Number(change), Low: metric.Number(max(0, change-noise)), High: metric.Number(change + noise), Influence: said.String(),
		})
	}
	return one
}

// addShares are the shares of the tenants in parts of the log, before and after, each part
// a stretch.
func addShares(s *study.Study, r *tune.Report) {
	for i := range r.Shares {
		x := &r.Shares[i]
		one := study.ShareSeries{Title: x.Of, Unit: x.Unit, EpochUS: int64(x.Epoch), Known: x.EpochKnown, StartUS: int64(x.Begin), WidthUS: int64(x.Every), Held: x.Held}
		for _, t := range x.Tenants {
			one.Tenants = append(one.Tenants, study.ShareLine{Name: t.Name, Shares: t.Shares, Target: t.Target})
		}
		s.Shares = append(s.Shares, one)
	}
}
