package tune

import (
	"fmt"
	"math"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
)

// levels of the screening's grid.
const levels = 4

// rounding is the part of a value below which a difference is that of the last
// digits of weights.
const rounding = 1e-9

// Sensitivity says what each setting does to one objective, over the whole space.
type Sensitivity struct {
	Metric string        `json:"metric"`
	Unit   string        `json:"unit,omitempty"`
	Floor  metric.Number `json:"floor"` // of the noise, on these windows
	Runs   int           `json:"windows"`
	Spread *Spread       `json:"variance,omitempty"` // behind First and Total of the parts
	Parts  []PartMove    `json:"parts"`
}

// PartMove is what one setting does.
type PartMove struct {
	Setting string `json:"setting"`
	// Change is the mean absolute change of the objective when the setting moves
	// by two thirds of its range (Morris); unknown without a screening.
	Change Range `json:"change"`
	// Mean is the mean change with its sign, per whole range.
	Mean metric.Number `json:"mean"`
	// Sigma is how much the effect differs from place to place, per whole range.
	Sigma metric.Number `json:"sigma"`
	// First and Total are the parts of the variance of the objective that the
	// setting explains alone, and together with all others (Sobol indices);
	// unknown when they were not asked for. They are 0 of a setting that changed
	// nothing in the screening.
	First Range `json:"first"`
	Total Range `json:"total"`
	// Influence goes by all that is known of the two.
	Influence sensitivity.Influence `json:"influence"`

	effect sensitivity.Effect
	again  bool // it did something in the second look
}

// screen moves every setting from many places, and names those that do nothing. Those
// that change nothing at all, there and in a second look, are left as they are written.
func (t *tuner) screen() error {
	if t.problem.Cluster == nil {
		return nil
	}
	if t.opt.Trajectories == 0 || len(t.space.Space) == 0 {
		return nil
	}
	if !t.pays(t.opt.Trajectories*(len(t.space.columns())+1), "the screening of settings") {
		return nil
	}
	design, err := sensitivity.NewMorris(t.space.design(), t.opt.Trajectories, levels, t.opt.Seed)
	if err != nil {
		return err
	}
	results, err := t.points(design.Points(), "screening the settings")
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
			idle[p.Setting] = idle[p.Setting] && p.Influence == sensitivity.Inert && float64(p.Change.High) <= rounding*scale(t.objectives(results, o.Metric))
		}
		t.out.Sensitivity = append(t.out.Sensitivity, s)
	}
	if err := t.lookAgain(design, results, idle); err != nil {
		return err
	}
	t.space = t.space.without(func(column string) bool { return idle[column] })
	return nil
}

// lookAgain moves the settings that have changed nothing by other strides: what
// repeats with the step of a screening is not seen by it.
func (t *tuner) lookAgain(design *sensitivity.Morris, results []*candidate, idle map[string]bool) error {
	columns := t.space.columns()
	var parts []int
	for i, column := range columns {
		if idle[column] {
			parts = append(parts, i)
		}
	}
	looks := design.SecondLook(parts)
	if len(looks) == 0 {
		return nil
	}
	var points [][]float64
	for _, l := range looks {
		points = append(points, l.Point)
	}
	if !t.pays(len(points), "a second look at settings that changed nothing") {
		clear(idle) // for what it would have shown
		return nil
	}
	moved, err := t.points(points, "a second look at settings that changed nothing")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for k, o := range t.goal.Objectives {
		before, after := t.objectives(results, o.Metric), t.objectives(moved, o.Metric)
		none := rounding * max(scale(before), scale(after))
		for i, l := range looks {
			column, change := columns[l.Part], math.Abs(after[i]-before[l.From])
			if math.IsNaN(before[l.From]) && math.IsNaN(after[i]) {
				continue // overloaded both times, which says nothing
			}
			seen[column] = true
			if !(change <= none) {
				idle[column] = false
			}
			if s := &t.out.Sensitivity[k]; !(change <= max(float64(s.Floor), none)) {
				s.Parts[l.Part].Influence, s.Parts[l.Part].again = sensitivity.Unclear, true
			}
		}
	}
	for _, i := range parts {
		idle[columns[i]] = idle[columns[i]] && seen[columns[i]]
	}
	return nil
}

// pays says whether the budget pays for so many points of the sensitivity, and notes what is
// left out where it does not.
func (t *tuner) pays(points int, what string) bool {
	n := t.affordable(screeningScope)
	if points > n {
		t.out.LeftOut = append(t.out.LeftOut, fmt.Sprintf("%s: the budget pays for %d of %d points", what, n, points))
	}
	return points <= n
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

// points runs points of the design on the first quarter of the windows, and the current
// policy, beside which they may be overloaded.
func (t *tuner) points(points [][]float64, what string) ([]*candidate, error) {
	t.stage("%s: %d points on %d windows", what, len(points), len(t.screening))
	var out []*candidate
	asked := t.on(t.base(), screeningScope)
	for _, point := range points {
		c, err := t.found("", t.space, t.space.valuesAt(point), true)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		asked = append(asked, t.on(c, screeningScope)...)
	}
	return out, t.run(asked)
}

// objectives are the means of a metric over those windows, by point; NaN where a
// point is overloaded and the metric is a wait.
func (t *tuner) objectives(points []*candidate, name string) []float64 {
	out := make([]float64, len(points))
	for i, c := range points {
		out[i] = math.NaN()
		if metric.Lengthens(name) && t.piling(c, screeningScope) {
			continue
		}
		out[i] = stat.Mean(t.values(c, screeningScope, name, t.screening, 0))
	}
	return out
}

func (t *tuner) moves(design *sensitivity.Morris, results []*candidate, name string) (Sensitivity, error) {
	floor, err := t.floor(name, t.screening)
	if err != nil {
		return Sensitivity{}, err
	}
	values := t.objectives(results, name)
	effects, err := design.Analyse(values, t.opt.Stat)
	if err != nil {
		return Sensitivity{}, err
	}
	s := Sensitivity{Metric: name, Unit: unitOf(name), Floor: metric.Number(floor.High), Runs: len(t.screening)}
	least := max(floor.High, rounding*scale(values))
	loud := t.drowned(name, floor)
	for i, column := range t.space.columns() {
		e := effects[i]
		s.Parts = append(s.Parts, PartMove{
			Setting: column, Change: rangeOf(e.Change), Mean: metric.Number(e.Mu), Sigma: metric.Number(e.Sigma), First: unknown, Total: unknown,
			Influence: influence(e, least), effect: e,
		})
		if p := &s.Parts[i]; loud && p.Influence == sensitivity.Inert {
			p.Influence = sensitivity.Unclear
		}
	}
	return s, nil
}

// drowned says that the noise may be half of the number itself, as it may where few
// replicas measure it: what does not rise above it may still matter.
func (t *tuner) drowned(name string, floor stat.Floor) bool {
	return floor.High > math.Abs(stat.Mean(t.values(t.base(), wholeScope, name, t.screening, 0)))/2
}

// influence goes by the screening alone: inert is what changes the objective by no
// more than the noise wherever it was moved, with its whole interval.
func influence(e sensitivity.Effect, floor float64) sensitivity.Influence {
	if e.Count < 2 {
		return sensitivity.Unclear
	}
	return sensitivity.InfluenceOf(e.Change, floor)
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
