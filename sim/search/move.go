package search

import (
	"math"
	"slices"

	"orrery/scheduler/model/draw"
)

// canonical returns the unit coordinates of the values at u: those that a
// model should see, since all coordinates of one value are one point.
func (s Space) canonical(u []float64) []float64 { return s.coordinates(s.FromUnit(u), unitOf) }

// features turns canonical unit coordinates into those in which distance means
// something: a choice becomes one feature for each of its values, so that any
// two are equally far from each other, at distance 1. (Garrido-Merchán and
// Hernández-Lobato: Dealing with categorical and integer-valued variables in
// Bayesian optimization, 2020.)
func (s Space) features(u []float64) []float64 {
	var x []float64
	for i := range s {
		p := &s[i]
		if p.Kind == Choice {
			one := int(p.at(u[0]))
			for c := range p.Choices {
				x = append(x, 0)
				if c == one {
					x[len(x)-1] = math.Sqrt2 / 2
				}
			}
		} else {
			x = append(x, u[:p.dim()]...)
		}
		u = u[p.dim():]
	}
	return x
}

// smooth lists the coordinates that are no choices, and the features they become.
func (s Space) smooth() (coordinates, columns []int) {
	coordinate, column := 0, 0
	for i := range s {
		p := &s[i]
		if p.Kind == Choice {
			coordinate++
			column += len(p.Choices)
			continue
		}
		for range p.dim() {
			coordinates, columns = append(coordinates, coordinate), append(columns, column)
			coordinate++
			column++
		}
	}
	return coordinates, columns
}

// neighbours are the points that differ from one in a single choice, or by one step
// of a whole number, in canonical coordinates.
func (s Space) neighbours(u []float64) [][]float64 {
	var out [][]float64
	add := func(at int, x float64) {
		if v := slices.Clone(u); x > 0 && x < 1 {
			v[at] = x
			out = append(out, s.canonical(v))
		}
	}
	at := 0
	for i := range s {
		p := &s[i]
		switch p.Kind {
		case Choice:
			for c := range p.Choices {
				if float64(c) != p.at(u[at]) {
					add(at, p.unit(float64(c)))
				}
			}
		case Integer:
			for _, v := range []float64{p.at(u[at]) - 1, p.at(u[at]) + 1} {
				if v >= p.Low && v <= p.High {
					add(at, p.unit(v))
				}
			}
		}
		at += p.dim()
	}
	return out
}

func features(s Space, points [][]float64) [][]float64 {
	x := make([][]float64, len(points))
	for i, u := range points {
		x[i] = s.features(u)
	}
	return x
}

// nudge moves about half of the coordinates, one at least, by normal steps
// that are mirrored at the faces of the cube; a choice is drawn anew.
func (s Space) nudge(u []float64, deviation float64, d *draw.Source) {
	sure := int(d.IntN(int64(len(u))))
	at := 0
	for i := range s {
		p := &s[i]
		for range p.dim() {
			if d.Bool(0.5) || at == sure {
				if p.Kind == Choice {
					u[at] = d.Float64()
				} else {
					u[at] = mirror(u[at] + deviation*d.Normal())
				}
			}
			at++
		}
	}
}
