package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/sim/stat"
)

// columns are the tools of the reference in the order of the table.
var columns = []string{"optuna-gp", "optuna-tpe", "pycma", "pymoo-ga", "pymoo20", "pymoo100", "scipy-sobol", "numpy-random", "random"}

// inCube is the function of weights searched in the coordinates that other tools
// search it in; they have no weights.
const inCube = "simplex (cube)"

// of are the outcomes of a tool in a cell.
func (o outcomes) of(tool string, at cell) []float64 {
	if at.function == inCube && slices.Contains(columns, tool) {
		at.function = "simplex"
	}
	return o[tool][at]
}

// show writes the table: medians, and for each method the difference of the medians
// of the logarithm to the tool that it is compared with.
func (o outcomes) show(w io.Writer, f options, cells []cell) error {
	tools := slices.Clone(f.methods)
	for _, m := range f.methods {
		if len(o[m+" before"]) > 0 {
			tools = append(tools, m+" before")
		}
	}
	for _, t := range columns {
		there := func(c cell) bool { return len(o.of(t, c)) > 0 }
		if !slices.Contains(tools, t) && slices.ContainsFunc(cells, there) {
			tools = append(tools, t)
		}
	}
	head := append([]string{"function", "d", "trials"}, tools...)
	var compared []string
	for _, t := range tools {
		if t != f.against && (slices.Contains(f.methods, t) || strings.HasSuffix(t, " before")) {
			compared = append(compared, t)
			head = append(head, t+" to "+f.against, "better")
		}
	}
	out := doc.New(head...)
	for _, c := range cells {
		row := []any{c.function, c.dimensions, c.trials}
		for _, t := range tools {
			row = append(row, figure(middle(o.of(t, c))))
		}
		for _, t := range compared {
			d, err := difference(o.of(t, c), o.of(f.against, c))
			if err != nil {
				return err
			}
			row = append(row, d.text(), d.wins())
		}
		out.Row(row...)
	}
	return table.Write(w, out, table.Markdown, table.Options{})
}

// figure is a number with two digits.
func figure(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case x != 0 && math.Abs(x) < 0.001:
		return fmt.Sprintf("%.1e", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// versus compares a tool with another one, seed by seed.
type versus struct {
	interval stat.Interval // of the difference of the medians of log10
	better   int
	seeds    int
}

// tiny is added to what a logarithm is taken of.
const tiny = 1e-12

// difference is by a bootstrap over the seeds that both have; there is none of fewer
// than six.
func difference(own, other []float64) (versus, error) {
	v := versus{seeds: min(len(own), len(other))}
	logs := func(x []float64) []float64 {
		out := make([]float64, v.seeds)
		for i := range out {
			out[i] = math.Log10(x[i] + tiny)
		}
		return out
	}
	a, b := logs(own), logs(other)
	for i := range a {
		if a[i] < b[i] {
			v.better++
		}
	}
	if v.seeds < 6 {
		return v, nil
	}
	var err error
	v.interval, err = stat.Defaults().Bootstrap(v.seeds, func(rows []int) float64 { return median(a, rows) - median(b, rows) })
	return v, err
}

// middle is the median, NaN of nothing.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	rows := make([]int, len(values))
	for i := range rows {
		rows[i] = i
	}
	return median(values, rows)
}

// median of some of the values.
func median(values []float64, rows []int) float64 {
	chosen := make([]float64, len(rows))
	for i, r := range rows {
		chosen[i] = values[r]
	}
	slices.Sort(chosen)
	return (chosen[(len(chosen)-1)/2] + chosen[len(chosen)/2]) / 2
}

func (v versus) text() string {
	if v.seeds < 6 {
		return ""
	}
	text := func(x float64) string { return strings.ReplaceAll(fmt.Sprintf("%+.2f", x), "-", "−") }
	out := fmt.Sprintf("%s [%s, %s]", text(v.interval.Estimate), text(v.interval.Low), text(v.interval.High))
	if v.interval.Low > 0 || v.interval.High < 0 {
		return "**" + out + "**"
	}
	return out
}

func (v versus) wins() string {
	if v.seeds == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", v.better, v.seeds)
}
