package search

import (
	"fmt"
	"math"
	"slices"
)

// Kind says which values a parameter takes.
type Kind string

// The kinds of parameters.
const (
	Real    Kind = "real"    // any number from Low to High
	Integer Kind = "integer" // a whole number from Low to High, both included
	Choice  Kind = "choice"  // one of Choices, without an order
	Simplex Kind = "simplex" // one weight for each of Parts: none negative, 1 in sum
)

// Parameter is one thing that a search may choose. Fields that do not belong
// to its kind stay zero.
type Parameter struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`

	// Low and High bound a real or an integer.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Log spreads a real or an integer evenly over its orders of magnitude, as
	// suits delays, capacities and counts. Low must be positive.
	Log bool `json:"log,omitempty"`

	// Choices names the values of a choice, two at least.
	Choices []string `json:"choices,omitempty"`

	// Parts names the weights of a simplex, two at least.
	Parts []string `json:"parts,omitempty"`
	// Floor is the least weight above 0: a part that would be smaller is 0
	// exactly. From 0.001 to just below the average weight; 0 stands for 0.005,
	// or a quarter of the average weight where that is less.
	Floor float64 `json:"floor,omitempty"`
}

// Space is what a search chooses from. The values of a point are one list of
// numbers, in the order of Columns: weights and reals as they are, integers as
// whole numbers, choices as the index of the choice.
type Space []Parameter

// Columns names the values of a point: the parameter, or for the weights of a
// simplex the parameter, a dot and the part.
func (s Space) Columns() []string {
	var names []string
	for i := range s {
		if s[i].Kind != Simplex {
			names = append(names, s[i].Name)
		}
		for _, part := range s[i].Parts {
			names = append(names, s[i].Name+"."+part)
		}
	}
	return names
}

// Dim is the number of coordinates that a method moves: one for each
// parameter, and for a simplex one less than it has weights.
func (s Space) Dim() int {
	d := 0
	for i := range s {
		d += s[i].dim()
	}
	return d
}

// width is the number of values of the parameter.
func (p *Parameter) width() int {
	if p.Kind == Simplex {
		return len(p.Parts)
	}
	return 1
}

// dim is the number of coordinates of the parameter.
func (p *Parameter) dim() int {
	if p.Kind == Simplex {
		return len(p.Parts) - 1
	}
	return 1
}

// floor is the least weight above 0.
func (p *Parameter) floor() float64 {
	if p.Floor > 0 {
		return p.Floor
	}
	return min(0.005, 0.25/float64(len(p.Parts)))
}

// steps is the number of values of an integer or a choice, 0 for the others.
func (p *Parameter) steps() float64 {
	switch p.Kind {
	case Integer:
		return p.High - p.Low + 1
	case Choice:
		return float64(len(p.Choices))
	default:
		return 0
	}
}

// Validate says what is wrong with the space, naming the parameter.
func (s Space) Validate() error {
	if len(s) == 0 {
		return fmt.Errorf("search: the space has no parameters: name at least one")
	}
	for i := range s {
		if err := s[i].validate(); err != nil {
			return fmt.Errorf("search: parameter %d (%q): %w", i+1, s[i].Name, err)
		}
	}
	columns := s.Columns()
	slices.Sort(columns)
	for i := 1; i < len(columns); i++ {
		if columns[i] == columns[i-1] {
			return fmt.Errorf("search: %q is in the space twice", columns[i])
		}
	}
	return nil
}

func (p *Parameter) validate() error {
	if p.Name == "" {
		return fmt.Errorf("has no name")
	}
	if err := p.foreign(); err != nil {
		return err
	}
	switch p.Kind {
	case Real, Integer:
		return p.validateBox()
	case Choice:
		return distinct("choices", p.Choices)
	case Simplex:
		if err := distinct("parts", p.Parts); err != nil {
			return err
		}
		return p.validateFloor()
	default:
		return fmt.Errorf("unknown kind %q: use real, integer, choice or simplex", p.Kind)
	}
}

// validateFloor also bounds the number of weights: with more, a point whose
// weights are all alike would lie at the floor.
func (p *Parameter) validateFloor() error {
	const most, least = 200, 0.001
	average := 1 / float64(len(p.Parts))
	switch {
	case len(p.Parts) > most:
		return fmt.Errorf("%d parts: %d at most", len(p.Parts), most)
	case p.Floor != 0 && !(p.Floor >= least && p.Floor < average):
		return fmt.Errorf("floor %v: %d weights allow %v up to below %v, or 0 for the default", p.Floor, len(p.Parts), least, average)
	}
	return nil
}

// foreign finds fields of another kind, which would be ignored.
func (p *Parameter) foreign() error {
	box := p.Kind == Real || p.Kind == Integer
	switch {
	case !box && (p.Low != 0 || p.High != 0 || p.Log):
		return fmt.Errorf("low, high and log belong to kinds real and integer, not %q", p.Kind)
	case p.Kind != Choice && len(p.Choices) > 0:
		return fmt.Errorf("choices belong to kind choice, not %q", p.Kind)
	case p.Kind != Simplex && (len(p.Parts) > 0 || p.Floor != 0):
		return fmt.Errorf("parts and floor belong to kind simplex, not %q", p.Kind)
	}
	return nil
}

func (p *Parameter) validateBox() error {
	const exact = 1 << 53
	switch {
	case !(p.Low < p.High) || math.IsInf(p.Low, 0) || math.IsInf(p.High, 0):
		return fmt.Errorf("bounds %v to %v: low must be a number below high; leave a fixed value out of the space", p.Low, p.High)
	case p.Log && p.Low <= 0:
		return fmt.Errorf("low %v with log: a logarithm needs bounds above 0", p.Low)
	case p.Kind == Integer && (p.Low != math.Floor(p.Low) || p.High != math.Floor(p.High)):
		return fmt.Errorf("bounds %v to %v of an integer: give whole numbers", p.Low, p.High)
	case p.Kind == Integer && (p.Low < -exact || p.High > exact):
		return fmt.Errorf("bounds %v to %v of an integer: numbers beyond 2^53 are not exact", p.Low, p.High)
	}
	return nil
}

func distinct(what string, names []string) error {
	if len(names) < 2 {
		return fmt.Errorf("%d %s: give two at least", len(names), what)
	}
	sorted := slices.Sorted(slices.Values(names))
	for i := range sorted {
		if sorted[i] == "" || i > 0 && sorted[i] == sorted[i-1] {
			return fmt.Errorf("%s have %q twice or empty", what, sorted[i])
		}
	}
	return nil
}

// Check says whether values are a point of the space: as many as columns,
// within bounds, whole where they must be, weights 1 in sum (to 1e-6) and none
// negative. Weights between 0 and the floor are allowed: they are what a user
// wrote, and a starting point is tried as written; a search sees 0 in them.
func (s Space) Check(values []float64) error {
	width := 0
	for i := range s {
		width += s[i].width()
	}
	if len(values) != width {
		return fmt.Errorf("search: %d values for %d columns (%v)", len(values), width, s.Columns())
	}
	for i := range s {
		p := &s[i]
		if err := p.check(values[:p.width()]); err != nil {
			return fmt.Errorf("search: parameter %q: %w", p.Name, err)
		}
		values = values[p.width():]
	}
	return nil
}

func (p *Parameter) check(v []float64) error {
	low, high := p.Low, p.High
	switch p.Kind {
	case Choice:
		low, high = 0, float64(len(p.Choices)-1)
	case Simplex:
		low, high = 0, 1
	}
	sum := 0.0
	for _, x := range v {
		if !(x >= low && x <= high) {
			return fmt.Errorf("value %v is outside %v to %v", x, low, high)
		}
		if p.steps() > 0 && x != math.Floor(x) {
			return fmt.Errorf("value %v is not a whole number", x)
		}
		sum += x
	}
	if p.Kind == Simplex && math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the weights sum to %v, not 1", sum)
	}
	return nil
}
