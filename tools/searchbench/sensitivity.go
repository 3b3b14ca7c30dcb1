package main

import (
	"fmt"
	"io"
	"math"

	"orrery/internal/doc"
	"orrery/internal/libm"
	"orrery/reports/table"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
)

// known is a function on the unit cube whose indices have closed forms, with what
// SALib finds: first and total order from 8,192 points, and μ* from 500 trajectories on
// four levels; NaN where it was not asked.
type known struct {
	name         string
	f            func(u []float64) float64
	first, total []float64
	salib        [][3]float64 // S1, ST, μ* by coordinate
}

// Sizes of the samples, those of SALib's.
const (
	basePoints   = 8192
	trajectories = 500
	gridLevels   = 4
)

// knowns are the functions of Ishigami and Homma (a = 7, b = 0.1) and of Sobol
// (a = 0, 1, 4.5, 9, 99, 99, 99, 99).
func knowns() []known {
	const a, b = 7, 0.1
	none := math.NaN()
	pi4 := libm.Pow(math.Pi, 4)
	v1, v2, v13 := libm.Pow(1+b*pi4/5, 2)/2, a*a/8.0, 8*b*b*pi4*pi4/225
	v := v1 + v2 + v13
	ishigami := known{
		name: "Ishigami",
		f: func(u []float64) float64 {
			x := func(i int) float64 { return math.Pi * (2*u[i] - 1) }
			return math.Sin(x(0)) + a*libm.Pow(math.Sin(x(1)), 2) + b*libm.Pow(x(2), 4)*math.Sin(x(0))
		},
		first: []float64{v1 / v, v2 / v, 0}, total: []float64{(v1 + v13) / v, v2 / v, v13 / v},
		salib: [][3]float64{{0.3141, 0.5574, 7.55}, {0.4437, 0.4424, 7.875}, {-0.0002, 0.2437, 5.90}},
	}
	weights := []float64{0, 1, 4.5, 9, 99, 99, 99, 99}
	product := known{
		name: "g-function",
		f: func(u []float64) float64 {
			y := 1.0
			for i, x := range u {
				y *= (math.Abs(4*x-2) + weights[i]) / (1 + weights[i])
			}
			return y
		},
		salib: [][3]float64{{0.7162, none, none}, {0.1790, none, none}, {0.0236, none, none}},
	}
	all := 1.0
	part := func(i int) float64 { return 1 / (3 * (1 + weights[i]) * (1 + weights[i])) }
	for i := range weights {
		all *= 1 + part(i)
	}
	for i := range weights {
		product.first = append(product.first, part(i)/(all-1))
		product.total = append(product.total, part(i)*all/(1+part(i))/(all-1))
	}
	return []known{ishigami, product}
}

// sensitivity writes what the two methods find of the functions, beside what is known.
func (o options) sensitivity(w io.Writer) error {
	out := doc.New("function", "coordinate", "S1", "exact", "SALib", "ST", "exact", "SALib", "μ*", "SALib")
	for _, k := range knowns() {
		indices, effects, err := k.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		for i := range k.first {
			other := [3]float64{math.NaN(), math.NaN(), math.NaN()}
			if i < len(k.salib) {
				other = k.salib[i]
			}
			out.Row(k.name, fmt.Sprint("x", i+1), index(indices.First[i].Estimate), index(k.first[i]), index(other[0]),
				index(indices.Total[i].Estimate), index(k.total[i]), index(other[1]),
				fmt.Sprintf("%.2f [%.2f, %.2f]", effects[i].MuStar.Estimate, effects[i].MuStar.Low, effects[i].MuStar.High), stars(other[2]))
		}
	}
	return table.Write(w, out, table.Markdown, table.Options{})
}

// measure is by a scrambled Sobol sequence and by trajectories.
func (k *known) measure() (sensitivity.Indices, []sensitivity.Effect, error) {
	space := sensitivity.Space{Boxes: len(k.first)}
	settings := stat.Defaults()
	base, err := search.Sample(box(2*space.Boxes, 0, 1), "sobol", basePoints, 1)
	if err != nil {
		return sensitivity.Indices{}, nil, err
	}
	sobol, err := sensitivity.NewSobol(space, base, false)
	if err != nil {
		return sensitivity.Indices{}, nil, err
	}
	quick := settings
	quick.Draws = 100 // of intervals, which are not shown
	indices, err := sobol.Analyse(k.values(sobol.Points()), quick)
	if err != nil {
		return indices, nil, err
	}
	morris, err := sensitivity.NewMorris(space, trajectories, gridLevels, 1)
	if err != nil {
		return indices, nil, err
	}
	effects, err := morris.Analyse(k.values(morris.Points()), settings)
	return indices, effects, err
}

func (k *known) values(points [][]float64) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = k.f(p)
	}
	return out
}

// stars is μ* of another tool; nothing where it is not known.
func stars(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.2f", x)
}

// index is a part of a variance, with four digits; nothing where it is not known.
func index(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4f", x)
}
