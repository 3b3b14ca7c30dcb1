package search

import (
	"math"
	"slices"

	"orrery/internal/libm"
)

// A chart turns coordinates into values and back. There are two. In the unit
// chart each coordinate lies in [0, 1] and uniform coordinates are the prior:
// uniform in a box (or in its logarithm), equal chances for choices, and for
// the simplex the logistic normal distribution that comes closest to the
// uniform one. In the real chart, which CMA-ES uses, coordinates are unbounded
// and have the same scale: a box continues beyond its faces as its mirror
// image, a simplex needs no faces.

// spread is the standard deviation of the log-ratio coordinates of weights
// drawn uniformly from the simplex, π/√6 in each direction whatever their
// number: the logarithms of gamma(1) variables have that variance, ψ'(1), and
// the coordinates are an orthonormal image of them. (Aitchison and Shen:
// Logistic-normal distributions, 1980.)
var spread = math.Pi / math.Sqrt(6)

// unitScale turns the scale of a standard normal coordinate into that of a
// uniform one, whose standard deviation is 1/√12.
var unitScale = 1 / math.Sqrt(12)

// edge keeps unit coordinates off 0 and 1, where log-ratios are infinite.
const edge = 1e-12

// FromUnit returns the values at unit coordinates u, Dim numbers in [0, 1]
// (those outside count as 0 or 1). It panics on another number of them.
func (s Space) FromUnit(u []float64) []float64 {
	return s.values(u, func(p *Parameter, u float64) float64 {
		if p.Kind != Simplex {
			return min(max(u, 0), 1)
		}
		return spread * quantile(u)
	})
}

// ToUnit returns the unit coordinates of values; FromUnit of them gives the
// values again, whole numbers exactly and others but for rounding. Weights of
// 0 count as half the floor. (Multiplicative replacement: Martín-Fernández,
// Barceló-Vidal, Pawlowsky-Glahn, 2003.) It errs where Check does.
func (s Space) ToUnit(values []float64) ([]float64, error) {
	if err := s.Check(values); err != nil {
		return nil, err
	}
	return s.coordinates(values, unitOf), nil
}

// unitOf is the unit coordinate of a log-ratio.
func unitOf(z float64) float64 { return min(max(normal(z/spread), edge), 1-edge) }

// fromReal returns the values at real coordinates.
func (s Space) fromReal(x []float64) []float64 {
	return s.values(x, func(p *Parameter, x float64) float64 {
		if p.Kind != Simplex {
			return mirror(x)
		}
		return (x - 0.5) / unitScale * spread
	})
}

// toReal returns the real coordinates of values that are a point of the space.
func (s Space) toReal(values []float64) []float64 {
	return s.coordinates(values, func(z float64) float64 { return 0.5 + z/spread*unitScale })
}

// values walks over the parameters; in turns a coordinate of the chart into a
// unit coordinate of a box or a log-ratio of a simplex.
func (s Space) values(x []float64, in func(p *Parameter, x float64) float64) []float64 {
	if len(x) != s.Dim() {
		panic("search: a point of another dimension")
	}
	var values []float64
	for i := range s {
		p := &s[i]
		if p.Kind == Simplex {
			z := make([]float64, p.dim())
			for j := range z {
				z[j] = in(p, x[j])
			}
			values = append(values, weightsOf(z, p.floor())...)
		} else {
			values = append(values, p.at(in(p, x[0])))
		}
		x = x[p.dim():]
	}
	return values
}

// coordinates is the way back; out turns a log-ratio into a coordinate.
func (s Space) coordinates(values []float64, out func(z float64) float64) []float64 {
	x := make([]float64, 0, s.Dim())
	for i := range s {
		p := &s[i]
		if p.Kind == Simplex {
			for _, z := range logRatios(values[:p.width()], p.floor()) {
				x = append(x, out(z))
			}
		} else {
			x = append(x, p.unit(values[0]))
		}
		values = values[p.width():]
	}
	return x
}

// at is the value of a box or a choice at u in [0, 1].
func (p *Parameter) at(u float64) float64 {
	low, high := p.edges()
	v := low + u*(high-low)
	if p.Log {
		v = libm.Exp(math.Log(low) + u*(math.Log(high)-math.Log(low)))
	}
	if p.Kind == Real {
		return min(max(v, p.Low), p.High)
	}
	return min(max(math.Round(v), low+0.5), high-0.5)
}

// unit is the coordinate of a value of a box or a choice.
func (p *Parameter) unit(v float64) float64 {
	low, high := p.edges()
	if p.Log {
		return (math.Log(v) - math.Log(low)) / (math.Log(high) - math.Log(low))
	}
	return (v - low) / (high - low)
}

// edges are the bounds of the coordinate: each whole number owns the interval
// of half a step around it.
func (p *Parameter) edges() (low, high float64) {
	switch p.Kind {
	case Integer:
		return p.Low - 0.5, p.High + 0.5
	case Choice:
		return -0.5, float64(len(p.Choices)) - 0.5
	default:
		return p.Low, p.High
	}
}

// mirror folds the line onto [0, 1].
func mirror(x float64) float64 {
	x = math.Abs(math.Mod(x, 2))
	return min(x, 2-x)
}

// weightsOf turns isometric log-ratio coordinates into weights. Parts are kept
// from the largest down as long as each has at least the floor among those
// kept; the others become 0. (Egozcue, Pawlowsky-Glahn, Mateu-Figueras, Barceló-Vidal: Isometric logratio
// transformations for compositional data analysis, 2003.)
func weightsOf(z []float64, floor float64) []float64 {
	w := make([]float64, len(z)+1)
	for i, c := range z {
		k := float64(i + 1)
		step := c / math.Sqrt(k*(k+1))
		for j := range i + 1 {
			w[j] += step
		}
		w[i+1] -= k * step
	}
	top := slices.Max(w)
	order := make([]int, len(w))
	for i := range w {
		w[i] = libm.Exp(w[i] - top)
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case w[a] > w[b]:
			return -1
		case w[a] < w[b]:
			return 1
		}
		return 0
	})
	kept := 0.0
	for _, i := range order {
		if w[i] < floor*(kept+w[i]) {
			w[i] = 0
		}
		kept += w[i]
	}
	for i := range w {
		w[i] /= kept
	}
	return w
}

// logRatios is the inverse of weightsOf: coordinate i compares the geometric
// mean of the first i+1 weights with the next one.
func logRatios(w []float64, floor float64) []float64 {
	z := make([]float64, len(w)-1)
	logs := 0.0
	for i := range w {
		l := math.Log(floor / 2)
		if w[i] >= floor*(1-1e-9) {
			l = math.Log(w[i])
		}
		if i > 0 {
			k := float64(i)
			z[i-1] = math.Sqrt(k/(k+1)) * (logs/k - l)
		}
		logs += l
	}
	return z
}

// quantile is the inverse of the standard normal distribution function.
func quantile(u float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*min(max(u, edge), 1-edge)-1)
}

// normal is the standard normal distribution function.
func normal(x float64) float64 { return libm.NormalCDF(x) }

// density is the standard normal density.
func density(x float64) float64 { return libm.Exp(-0.5*x*x) / math.Sqrt(2*math.Pi) }
