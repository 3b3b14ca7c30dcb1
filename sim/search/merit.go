package search

import (
	"math"
	"slices"
)

// models are the processes given the history.
type models struct {
	costs []*process
	gaps  []*process
	kept  []float64 // the target of the bound of each constraint
	tried []int     // points told that are expected to be feasible
	least []float64 // the least expected target of any of them, by objective
	spans []float64 // the unit of each objective beside others
}

// models fits and conditions the processes. Past modelPoints results, the
// better half of them are the best ones and the others are spread evenly over
// the rest.
func (b *bayes) models() *models {
	rows := spreadOf(b.ranked(), modelPoints)
	x, m, bends := pick(b.x, rows), &models{}, bends
	if len(b.config.Goal.Objectives) > 1 {
		bends = gentle
	}
	for o := range b.config.Goal.Objectives {
		cost := make([]float64, len(rows))
		for i, r := range rows {
			cost[i] = b.scores[r].Costs[o]
		}
		cost = imputed(cost)
		m.costs, m.spans = append(m.costs, chosen(x, cost, bends)), append(m.spans, span(cost))
	}
	for c := range b.config.Goal.Constraints {
		gap := make([]float64, len(rows))
		for i, r := range rows {
			gap[i] = b.scores[r].Gaps[c]
		}
		process, zero := ofGaps(x, imputed(gap))
		m.gaps, m.kept = append(m.gaps, process), append(m.kept, zero)
	}
	for i, r := range rows {
		feasible := !b.scores[r].failed()
		for c, p := range m.gaps {
			feasible = feasible && p.already[i] <= m.kept[c]
		}
		if feasible {
			m.tried = append(m.tried, i)
		}
	}
	for _, p := range m.costs {
		least := math.Inf(1)
		for _, i := range m.tried {
			least = min(least, p.already[i])
		}
		m.least = append(m.least, least)
	}
	return m
}

// sketch is the models given a part of the points, chosen as theirs are: what they
// expect costs the square of their number. Hyperparameters are those of all.
func (m *models) sketch() *models { return m.each((*process).sketch) }

// believing is the models after a point has turned out as expected.
func (m *models) believing(at []float64) *models {
	return m.each(func(p *process) *process { return p.believing(at) })
}

func (m *models) each(change func(p *process) *process) *models {
	out := *m
	out.costs, out.gaps = nil, nil
	for _, p := range m.costs {
		out.costs = append(out.costs, change(p))
	}
	for _, p := range m.gaps {
		out.gaps = append(out.gaps, change(p))
	}
	return &out
}

func (p *process) sketch() *process {
	if len(p.x) <= sketchPoints {
		return p
	}
	rows := spreadOf(countTo(len(p.x)), sketchPoints) // the best come first
	q := condition(p.kernel, pick(p.x, rows), pick(p.y, rows))
	q.warp = p.warp
	return q
}

// merit is the logarithm of the expected improvement on what an aim has reached times
// the probability of keeping each constraint, and its slope by the features of the
// point; the latter alone while no point is expected to be feasible. It costs n²
// for each process.
func (m *models) merit(a *aim, at []float64) (value float64, slope []float64) {
	slope = make([]float64, len(at))
	if len(m.tried) > 0 {
		beliefs := make([]belief, len(m.costs))
		for j, p := range m.costs {
			beliefs[j] = p.expect(at)
		}
		gain, byMean, byDeviation := m.gain(a, beliefs)
		value = gain
		for j, b := range beliefs {
			b.chain(slope, byMean[j], byDeviation[j])
		}
	}
	for c, p := range m.gaps {
		b := p.expect(at)
		z := (m.kept[c] - b.mean) / b.deviation
		chance, steepness := logNormal(z)
		value += chance
		b.chain(slope, -steepness/b.deviation, -steepness*z/b.deviation)
	}
	return value, slope
}

// chain adds what a change of the features does through mean and deviation.
func (b *belief) chain(slope []float64, byMean, byDeviation float64) {
	for f := range slope {
		slope[f] += byMean*b.meanSlope[f] + byDeviation*b.spreadSlope[f]
	}
}

// merits are those of many points, without slopes.
func (m *models) merits(a *aim, at [][]float64) []float64 {
	out := make([]float64, len(at))
	if len(m.tried) > 0 {
		var beliefs [][]belief
		for _, p := range m.costs {
			beliefs = append(beliefs, p.expectAll(at))
		}
		point := make([]belief, len(m.costs))
		for i := range at {
			for j := range beliefs {
				point[j] = beliefs[j][i]
			}
			out[i], _, _ = m.gain(a, point)
		}
	}
	for c, p := range m.gaps {
		for i, b := range p.expectAll(at) {
			chance, _ := logNormal((m.kept[c] - b.mean) / b.deviation)
			out[i] += chance
		}
	}
	return out
}

// climb moves a point of the unit cube to where the merit is locally greatest, as
// if whole numbers were any numbers; choices stay.
func (m *models) climb(s Space, a *aim, u []float64) []float64 {
	coordinates, columns := s.smooth()
	if len(coordinates) == 0 {
		return u
	}
	at := slices.Clone(u)
	f := func(x, gradient []float64) float64 {
		for i, c := range coordinates {
			at[c] = x[i]
		}
		value, slope := m.merit(a, s.features(at))
		for i, c := range columns {
			gradient[i] = -slope[c]
		}
		return -value
	}
	n := len(coordinates)
	x, _ := minimise(f, pick(u, coordinates), make([]float64, n), slices.Repeat([]float64{1}, n), climbSteps)
	out := slices.Clone(u)
	for i, c := range coordinates {
		out[c] = x[i]
	}
	return out
}
