package main

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

// level of the tests that all tables are about.
const level = 0.05

var meanStream = draw.StreamOf("coverage.mean")

// held says in how many of so many series the interval of the mean holds 0.
func held(of maker, n int, phi float64, series int) (int, error) {
	judge, err := stat.NewJudge(stat.Defaults())
	if err != nil {
		return 0, err
	}
	x := make([]float64, n)
	hits := 0
	for k := range series {
		source := draw.New(1, meanStream, uint64(k), uint64(n))
		of(x, phi, &source)
		if holds(judge.Interval(x), 0) {
			hits++
		}
	}
	return hits, nil
}

// meanRow is a line of the table.
type meanRow struct {
	name, leans string
	phi         float64
	of          maker
}

func meanRows() []meanRow {
	var out []meanRow
	for _, k := range kinds {
		for _, phi := range []float64{0, 0.3, 0.5, 0.8} {
			name := "shocks"
			if phi == 0 {
				name = ""
			}
			out = append(out, meanRow{k.name, name, phi, k.innovations})
			if k.marginal != nil && phi > 0 {
				out = append(out, meanRow{k.name, "values", phi, k.marginal})
			}
		}
	}
	return out
}

// meanTable is the coverage of 95 % intervals of the mean of dependent series.
func meanTable(o *options) (*doc.Table, error) {
	rows := meanRows()
	cells, err := o.fill(len(rows), len(windows), func(r, c int) (string, error) {
		hits, err := held(rows[r].of, windows[c], rows[r].phi, o.series)
		return percent(hits, o.series), err
	})
	t := doc.New(append([]string{"series", "φ", "shape is that of the"}, heads(windows)...)...)
	for r, row := range rows {
		t.Row(append([]any{row.name, fmt.Sprint(row.phi), row.leans}, cells[r]...)...)
	}
	return t, err
}

func heads(windows []int) []string {
	out := make([]string, len(windows))
	for i, n := range windows {
		out[i] = fmt.Sprintf("%d windows", n)
	}
	return out
}
