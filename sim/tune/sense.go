package tune

import (
	"math"
	"slices"

	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// levels of the screening's grid.
const levels = 4

// ladder holds the steps of the sensitivity at the chosen point, in parts of the
// range of each setting.
var ladder = []float64{0.02, 0.05, 0.1, 0.2}

// rounding is the part of a value below which a difference is that of the last
// digits of weights.
const rounding = 1e-9

// Sensitivity says what each setting does to one objective, over the whole space.
type Sensitivity struct {
	Metric string     `json:"metric"`
	Unit   string     `json:"unit,omitempty"`
	Floor  Number     `json:"floor"` // of the noise, on these windows
	Runs   int        `json:"windows"`
	Parts  []PartMove `json:"parts"`
}

// PartMove is what one setting does.
type PartMove struct {
	Setting string `json:"setting"`
	// Change is the mean absolute change of the objective when the setting moves
	// by half its range.
	Change Range `json:"change"`
	// Mean is the mean change with its sign, per whole range.
	Mean Number `json:"mean"`
	// Sigma is how much the effect differs from place to place, per whole range.
	Sigma     Number                `json:"sigma"`
	Influence sensitivity.Influence `json:"influence"`
}

// Slope is what a setting does beside the chosen point.
type Slope struct {
	Setting string `json:"setting"`
	Metric  string `json:"metric"`
	Slope   Number `json:"slope"` // of the objective, per whole range
	Noise   Number `json:"noise"`
	Step    Number `json:"step"`
	Clear   bool   `json:"clear"` // beyond the noise
}

// screen moves every setting from many places, and names those that do nothing.
func (t *tuner) screen() error {
	if t.problem.Cluster == nil {
		return nil
	}
	t.space = t.wholeSpace()
	if t.opt.Trajectories == 0 {
		return nil
	}
	design, err := sensitivity.NewMorris(t.space.design(), t.opt.Trajectories, levels, t.opt.Seed)
	if err != nil {
		return err
	}
	results, err := t.points(design.Points(), t.screening, "screening the settings")
	if err != nil {
		return err
	}
	idle := map[string]bool{}
	for _, column := range t.space.columns() {
		idle[column] = true
	}
	for _, o := range t.goal.Objectives {
		s, err := t.moves(design, results, o.Metric)
		if err != nil {
			return err
		}
		for _, p := range s.Parts {
			idle[p.Setting] = idle[p.Setting] && p.Influence == sensitivity.Inert && float64(p.Change.High) <= rounding*scale(objectives(results, o.Metric, t.goal.spare))
		}
		t.out.Sensitivity = append(t.out.Sensitivity, s)
	}
	t.space = t.space.without(func(column string) bool { return idle[column] })
	return nil
}

// columns are the names of the settings in the order of the design.
func (s space) columns() []string {
	var out []string
	for _, p := range s.Space {
		if p.Kind == search.Simplex {
			out = append(out, search.Space{p}.Columns()...)
		}
	}
	for _, p := range s.Space {
		if p.Kind != search.Simplex {
			out = append(out, p.Name)
		}
	}
	return out
}

// points runs points of the design on windows; results are by point, then window.
func (t *tuner) points(points [][]float64, windows []int, what string) ([][]*task.Result, error) {
	t.stage("%s: %d points on %d windows", what, len(points), len(windows))
	var asked []ask
	for _, point := range points {
		c, err := t.found("", t.space, t.space.valuesAt(point), true)
		if err != nil {
			return nil, err
		}
		asked = append(asked, on(c, windows)...)
	}
	results, err := t.run(asked)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(results, len(windows))), nil
}

// objective is the mean of a metric over windows; NaN where a run is overloaded
// and the metric is a wait.
func objective(results []*task.Result, name string, spare int) float64 {
	if lengthens(name) && count(results, overloaded) > spare {
		return math.NaN()
	}
	return stat.Mean.Of(valuesOf(results, name))
}

func objectives(results [][]*task.Result, name string, spare int) []float64 {
	out := make([]float64, len(results))
	for i := range results {
		out[i] = objective(results[i], name, spare)
	}
	return out
}

func (t *tuner) moves(design *sensitivity.Morris, results [][]*task.Result, name string) (Sensitivity, error) {
	floor, err := t.floor(read(name), "screening", t.screening)
	if err != nil {
		return Sensitivity{}, err
	}
	values := objectives(results, name, t.goal.spare)
	effects, err := design.Analyse(values, t.opt.Stat)
	if err != nil {
		return Sensitivity{}, err
	}
	s := Sensitivity{Metric: name, Unit: unitOf(name), Floor: Number(floor.High), Runs: len(t.screening)}
	least := max(floor.High, rounding*scale(values))
	for i, column := range t.space.columns() {
		e := effects[i]
		s.Parts = append(s.Parts, PartMove{
			Setting: column, Change: rangeOf(e.Change), Mean: Number(e.Mu), Sigma: Number(e.Sigma), Influence: influence(e, least),
		})
	}
	return s, nil
}

// influence goes by the screening alone: inert is what changes the objective by no
// more than the noise wherever it was moved, with its whole interval.
func influence(e sensitivity.Effect, floor float64) sensitivity.Influence {
	switch {
	case e.Count < 2:
		return sensitivity.Unclear
	case e.Change.High <= floor:
		return sensitivity.Inert
	case e.Change.Low > floor:
		return sensitivity.Active
	}
	return sensitivity.Unclear
}

// scale is the largest absolute value.
func scale(values []float64) float64 {
	out := 0.0
	for _, v := range values {
		if math.Abs(v) > out {
			out = math.Abs(v)
		}
	}
	return out
}

// look moves each setting a little from the chosen point.
func (t *tuner) look() error {
	c := t.chosen()
	if c == nil || c.values == nil || len(t.space.Space) == 0 {
		return nil
	}
	at, err := t.space.pointAt(c.values)
	if err != nil {
		return err
	}
	design, err := sensitivity.NewLocal(t.space.design(), at, ladder)
	if err != nil {
		return err
	}
	results, err := t.points(design.Points(), t.screening, "looking around the chosen point")
	if err != nil {
		return err
	}
	for _, o := range t.goal.Objectives {
		floor, err := t.floor(read(o.Metric), "screening", t.screening)
		if err != nil {
			return err
		}
		slopes, err := design.Analyse(objectives(results, o.Metric, t.goal.spare), floor.High)
		if err != nil {
			return err
		}
		for i, column := range t.space.columns() {
			s := slopes[i]
			t.out.Slopes = append(t.out.Slopes, Slope{
				Setting: column, Metric: o.Metric, Slope: Number(s.Slope), Noise: Number(s.Noise), Step: Number(s.Step), Clear: s.Clear,
			})
		}
	}
	return nil
}
