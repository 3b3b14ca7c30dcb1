package sensitivity

import (
	"fmt"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/sim/stat"
)

// Sobol is a design for variance-based indices: two independent samples A and
// B of the unit cube, and mixtures of them in which one column comes from the
// other sample (Saltelli 2002; Saltelli and others 2010). With n rows and d
// dimensions it costs n·(d+2) runs, n·(2d+2) with pairs.
type Sobol struct {
	space Space
	base  [][]float64
	pairs bool
}

// NewSobol makes a design from a base sample, whose rows are points of the
// unit cube of twice the dimensions of the space: of independent draws, or
// better of a Sobol or Halton sequence (whose first rows of zeros are best
// skipped). pairs asks for second-order indices as well.
func NewSobol(space Space, base [][]float64, pairs bool) (*Sobol, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if len(base) < 2 {
		return nil, fmt.Errorf("sensitivity: a base sample of %d rows; give at least 2, some hundreds for intervals that say something", len(base))
	}
	for r, row := range base {
		if len(row) != 2*space.Dimensions() {
			return nil, fmt.Errorf("sensitivity: row %d of the base sample has %d columns; give %d, twice the dimensions", r, len(row), 2*space.Dimensions())
		}
		for c, u := range row {
			if !(u >= 0 && u < 1) {
				return nil, fmt.Errorf("sensitivity: row %d, column %d of the base sample is %v; coordinates lie in [0, 1)", r, c, u)
			}
		}
	}
	return &Sobol{space, base, pairs}, nil
}

// perRow is the number of points that one row of the base sample becomes.
func (s *Sobol) perRow() int {
	if s.pairs {
		return 2*s.space.Dimensions() + 2
	}
	return s.space.Dimensions() + 2
}

// Points are the points to run, row by row of the base sample: A, B, then A
// with column i from B for each i, then B with column i from A.
func (s *Sobol) Points() [][]float64 {
	d := s.space.Dimensions()
	var out [][]float64
	for _, row := range s.base {
		a, b := row[:d], row[d:]
		out = append(out, s.space.Point(a), s.space.Point(b))
		for i := range d {
			out = append(out, s.space.Point(with(a, i, b[i])))
		}
		for i := 0; s.pairs && i < d; i++ {
			out = append(out, s.space.Point(with(b, i, a[i])))
		}
	}
	return out
}

func with(coordinates []float64, i int, value float64) []float64 {
	out := append([]float64{}, coordinates...)
	out[i] = value
	return out
}

// Indices are parts of the variance of an objective over the space. Estimates
// of indices that are 0 may come out a little below it.
type Indices struct {
	Mean, Variance float64 // of the objective over the space
	// First is the part that one coordinate explains alone, Total that which
	// would vanish if it were fixed, interactions with all others included.
	// They are unknown when the objective is the same everywhere.
	First, Total []stat.Interval
	// Pair, of designs with pairs, is what i and j explain together beyond what
	// each explains alone, by i, then j; nil otherwise. The diagonal is 0.
	Pair [][]stat.Interval
	// Rows of the base sample behind all figures; Dropped had a run without a
	// value.
	Rows, Dropped int
}

// Analyse turns the values of the objective at Points into indices. The first
// order is estimated as by Saltelli and others (2010), the total as by Jansen
// (1999), pairs as by Saltelli (2002), after subtracting the mean. Intervals
// are percentiles of a bootstrap over the rows of the base sample; with a
// quasi-random base they are wider than need be. Cost: Draws·rows per index.
func (s *Sobol) Analyse(values []float64, settings stat.Settings) (Indices, error) {
	if err := same(len(values), len(s.base)*s.perRow()); err != nil {
		return Indices{}, err
	}
	var rows [][]float64
	for r := range s.base {
		row := values[r*s.perRow() : (r+1)*s.perRow()]
		if defined(row) {
			rows = append(rows, row)
		}
	}
	out := Indices{Rows: len(rows), Dropped: len(s.base) - len(rows)}
	if len(rows) == 0 {
		return Indices{}, fmt.Errorf("sensitivity: none of the %d rows of the base sample has a value at all its points", len(s.base))
	}
	e := &estimator{rows: rows, d: s.space.Dimensions()}
	out.Mean, out.Variance = e.moments(e.all())
	var err error
	index := func(part func(rows []int, mean float64) float64) stat.Interval {
		if err != nil {
			return stat.Interval{}
		}
		var i stat.Interval
		i, err = settings.Bootstrap(len(rows), func(rows []int) float64 {
			mean, variance := e.moments(rows)
			return part(rows, mean) / variance
		})
		return i
	}
	for i := range e.d {
		out.First = append(out.First, index(func(rows []int, mean float64) float64 { return e.first(rows, mean, i) }))
		out.Total = append(out.Total, index(func(rows []int, _ float64) float64 { return e.total(rows, i) }))
	}
	if s.pairs {
		out.Pair = make([][]stat.Interval, e.d)
		for i := range out.Pair {
			out.Pair[i] = make([]stat.Interval, e.d)
			for j := range i {
				out.Pair[i][j] = index(func(rows []int, mean float64) float64 { return e.pair(rows, mean, i, j) })
				out.Pair[j][i] = out.Pair[i][j]
			}
		}
	}
	return out, err
}

func defined(row []float64) bool {
	for _, y := range row {
		if !stat.Finite(y) {
			return false
		}
	}
	return true
}

// estimator holds the values by row of the base sample: those at A, B, A with
// column i from B, B with column i from A.
type estimator struct {
	rows [][]float64
	d    int
	both []float64
}

func (e *estimator) all() []int {
	out := make([]int, len(e.rows))
	for i := range out {
		out[i] = i
	}
	return out
}

// moments are the mean and the variance over A and B.
func (e *estimator) moments(rows []int) (mean, variance float64) {
	e.both = e.both[:0]
	for _, r := range rows {
		e.both = append(e.both, e.rows[r][0], e.rows[r][1])
	}
	return gonum.PopMeanVariance(e.both, nil)
}

// first is the variance explained by coordinate i alone:
// mean of f(B)·(f(A with i from B) - f(A)).
func (e *estimator) first(rows []int, mean float64, i int) float64 {
	sum := 0.0
	for _, r := range rows {
		y := e.rows[r]
		sum += (y[1] - mean) * (y[2+i] - y[0])
	}
	return sum / float64(len(rows))
}

// total is the variance lost by fixing coordinate i:
// half the mean of (f(A) - f(A with i from B))².
func (e *estimator) total(rows []int, i int) float64 {
	sum := 0.0
	for _, r := range rows {
		change := e.rows[r][0] - e.rows[r][2+i]
		sum += change * change
	}
	return sum / float64(2*len(rows))
}

// pair is the variance of i and j together less that of each alone:
// mean of f(B with i from A)·f(A with j from B) - f(A)·f(B), less the firsts.
func (e *estimator) pair(rows []int, mean float64, i, j int) float64 {
	sum := 0.0
	for _, r := range rows {
		y := e.rows[r]
		sum += (y[2+e.d+i]-mean)*(y[2+j]-mean) - (y[0]-mean)*(y[1]-mean)
	}
	return sum/float64(len(rows)) - e.first(rows, mean, i) - e.first(rows, mean, j)
}
