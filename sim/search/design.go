package search

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"orrery/scheduler/model/draw"
)

// design is a method that looks at no result: all its trials are known from
// the beginning.
type design struct {
	size   int
	values [][]float64
}

func newDesign(c *Config) (method, error) {
	values, err := Sample(c.Space, c.Method, max(0, c.Trials-len(c.Start)), c.Seed)
	if err != nil {
		return nil, err
	}
	d := &design{size: c.Trials, values: append(append([][]float64{}, c.Start...), values...)}
	if c.Batch > 0 {
		d.size = c.Batch
	}
	return d, nil
}

func (d *design) propose(first, n int) [][]float64 {
	return d.values[first:min(first+n, len(d.values))]
}
func (*design) learn(int, [][]float64, []Score) {}
func (d *design) batch() int                    { return d.size }

// Sample returns the values of n points spread over the space by a design:
// "random", "sobol" and "halton", of which more points go on where fewer ended,
// or "latin", a Latin hypercube of just n points. Sobol sequences have a
// largest dimension, maxSobol.
func Sample(space Space, design string, n int, seed uint64) ([][]float64, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, nil
	}
	u, err := cube(space.Dim(), design, n, seed)
	if err != nil {
		return nil, err
	}
	values := make([][]float64, n)
	for i := range values {
		values[i] = space.FromUnit(u.RawRowView(i))
	}
	return values, nil
}

// cube returns n points of the unit cube as rows.
func cube(dim int, design string, n int, seed uint64) (*mat.Dense, error) {
	u := mat.NewDense(n, dim, nil)
	source := draw.New(seed, draw.StreamOf("search/design/"+design), 0, 0)
	uniform := distmv.NewUnitUniform(dim, &source)
	switch design {
	case "random":
		for i := range n {
			point := draw.New(seed, draw.StreamOf("search/design/random"), uint64(i), 0)
			for j := range dim {
				u.Set(i, j, point.Open())
			}
		}
	case "sobol":
		s, err := newSobol(dim, seed)
		if err != nil {
			return nil, err
		}
		for i := range n {
			s.Point(uint32(i), u.RawRowView(i))
		}
	case "halton":
		samplemv.Halton{Kind: samplemv.Owen, Q: uniform, Src: &source}.Sample(u)
	case "latin":
		samplemv.LatinHypercube{Q: uniform, Src: &source}.Sample(u)
	default:
		return nil, fmt.Errorf("search: unknown design %q: use random, sobol, halton or latin", design)
	}
	return u, nil
}
