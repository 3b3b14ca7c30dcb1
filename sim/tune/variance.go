package tune

import (
	"math/bits"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
)

// leastRows of a base sample: indices from fewer say nothing.
const leastRows = 8

// Spread is what the Sobol indices of an objective rest on.
type Spread struct {
	Points   int           `json:"points"`            // that were run
	Rows     int           `json:"rows"`              // of the base sample that count
	Dropped  int           `json:"dropped,omitempty"` // rows with a point that is overloaded or has no value
	Mean     metric.Number `json:"mean"`
	Variance metric.Number `json:"variance"`
	// Alone is the sum of the first-order indices: what is left to 1 is due to
	// settings acting together.
	Alone metric.Number `json:"alone"`
}

// rowsOf is how many rows of a base sample a number of points pays for: a power of
// two, for which the sequence is even, and the least number at least.
func rowsOf(points, dimensions int) int {
	rows := max(points/(dimensions+2), leastRows)
	return 1 << (bits.Len(uint(rows)) - 1)
}

// spread parts the variance of each objective among the settings that the
// screening has left. Those that changed nothing in it explain nothing.
func (t *tuner) spread() error {
	if len(t.space.Space) == 0 || t.opt.Points == 0 {
		return nil
	}
	space := t.space.design()
	points := min(t.opt.Points, t.affordable(screeningScope))
	if least := leastRows * (space.Dimensions() + 2); points < least && points < t.opt.Points {
		t.pays(least, "the parts of the variance that settings explain")
		return nil
	}
	rows := rowsOf(points, space.Dimensions())
	base, err := baseSample(2*space.Dimensions(), rows, t.opt.Seed)
	if err != nil {
		return err
	}
	design, err := sensitivity.NewSobol(space, base, false)
	if err != nil {
		return err
	}
	results, err := t.points(design.Points(), "which part of the variance each setting explains")
	if err != nil {
		return err
	}
	for k, o := range t.goal.Objectives {
		if k == len(t.out.Sensitivity) {
			s := Sensitivity{Metric: o.Metric, Unit: unitOf(o.Metric), Runs: len(t.screening)}
			for _, column := range t.space.columns() {
				s.Parts = append(s.Parts, PartMove{Setting: column, Change: unknown, Mean: metric.Undefined, Sigma: metric.Undefined, First: unknown, Total: unknown})
			}
			t.out.Sensitivity = append(t.out.Sensitivity, s)
		}
		if err := t.indices(design, results, rows, &t.out.Sensitivity[k]); err != nil {
			return err
		}
	}
	return nil
}

// baseSample is a scrambled Sobol sequence.
func baseSample(dimensions, rows int, seed uint64) ([][]float64, error) {
	var cube search.Space
	for range dimensions {
		cube = append(cube, search.Parameter{Name: "u" + figure(float64(len(cube))), Kind: search.Real, High: 1})
	}
	base, err := search.Sample(cube, "sobol", rows, seed)
	for _, row := range base {
		for i := range row {
			row[i] = min(row[i], 1-1e-12)
		}
	}
	return base, err
}

// indices fills in what the design says of one objective.
func (t *tuner) indices(design *sensitivity.Sobol, results []*candidate, rows int, s *Sensitivity) error {
	floor, err := t.floor(s.Metric, t.screening)
	if err != nil {
		return err
	}
	s.Floor = metric.Number(floor.High)
	values := t.objectives(results, s.Metric)
	s.Spread = &Spread{Points: len(values), Mean: metric.Undefined, Variance: metric.Undefined, Alone: metric.Undefined}
	for row := range slices.Chunk(values, len(values)/rows) {
		if slices.ContainsFunc(row, func(x float64) bool { return x != x }) {
			s.Spread.Dropped++
		} else {
			s.Spread.Rows++
		}
	}
	if s.Spread.Rows < leastRows {
		return nil
	}
	got, err := design.Analyse(values, t.opt.Stat)
	if err != nil {
		return err
	}
	s.Spread.Mean, s.Spread.Variance = metric.Number(got.Mean), metric.Number(got.Variance)
	columns := t.space.columns()
	alone := 0.0
	var effects []sensitivity.Effect // in the order of the design
	for k := range s.Parts {
		p := &s.Parts[k]
		i := slices.Index(columns, p.Setting)
		if i < 0 { // it changed nothing
			p.First, p.Total = Range{}, Range{}
			continue
		}
		p.First, p.Total = rangeOf(within(got.First[i])), rangeOf(within(got.Total[i]))
		alone += got.First[i].Estimate
		if p.Change.Estimate.Defined() {
			effects = append(effects, p.effect)
		}
	}
	s.Spread.Alone = metric.Number(alone)
	for i, said := range sensitivity.Influences(got, effects, max(floor.High, rounding*scale(values))) {
		p := &s.Parts[slices.IndexFunc(s.Parts, func(p PartMove) bool { return p.Setting == columns[i] })]
		if p.Influence = said; (p.again || t.drowned(s.Metric, floor)) && said == sensitivity.Inert {
			p.Influence = sensitivity.Unclear
		}
	}
	return nil
}

// within is a part of the whole: estimates and ends below 0 and above 1, which a
// sample may give, are cut.
func within(i stat.Interval) stat.Interval {
	cut := func(x float64) float64 { return min(max(x, 0), 1) }
	return stat.Interval{Estimate: cut(i.Estimate), Low: cut(i.Low), High: cut(i.High), Confidence: i.Confidence}
}
