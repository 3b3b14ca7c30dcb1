package main

import (
	"fmt"
	"math"

	"orrery/internal/doc"
	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var claimsStream = draw.StreamOf("coverage.claims")

// rowsOfTable is how many metrics or candidates a table has.
const rowsOfTable = 10

// sameness is how much of the variance of a difference all rows of a correlated
// table share.
const sameness = 0.9

// nothing is a kind of table in which nothing differs. draw fills the pairs of all
// rows.
type nothing struct {
	name string
	draw func(p []stat.Pairs, phi float64, alike bool, x *scratch)
}

// scratch is what drawing tables needs again and again.
type scratch struct {
	source       draw.Source
	shared, side [2][]float64
}

// nothings are normal differences of values without a ratio, and values like waits
// whose sides differ by noise.
var nothings = []nothing{
	{"normal differences", func(p []stat.Pairs, phi float64, alike bool, x *scratch) {
		lean(x.shared[0], phi, &x.source)
		for r := range p {
			own := p[r].Candidate
			lean(own, phi, &x.source)
			if alike {
				mix(own, x.shared[0])
			}
		}
	}},
	{"lognormal levels (σ 0.8) and noise (σ 0.3)", func(p []stat.Pairs, phi float64, alike bool, x *scratch) {
		lean(x.shared[0], phi, &x.source) // of the noise of either side
		lean(x.shared[1], phi, &x.source)
		for r := range p {
			level := x.side[0]
			lean(level, phi, &x.source)
			for s, values := range [2][]float64{p[r].Baseline, p[r].Candidate} {
				noise := x.side[1]
				lean(noise, phi, &x.source)
				if alike {
					mix(noise, x.shared[s])
				}
				for i := range values {
					values[i] = libm.Exp(0.8*level[i] + 0.3*noise[i])
				}
			}
		}
	}},
}

// mix makes own share most of its variance with other.
func mix(own, other []float64) {
	for i := range own {
		own[i] = math.Sqrt(1-sameness)*own[i] + math.Sqrt(sameness)*other[i]
	}
}

// claimsTable says how many of tables of ten rows in which nothing differs claim
// anything.
func claimsTable(o *options) (*doc.Table, error) {
	type line struct {
		of    nothing
		alike bool
		phi   float64
	}
	var lines []line
	for _, of := range nothings {
		for _, alike := range []bool{false, true} {
			for _, phi := range []float64{0, 0.3, 0.5} {
				lines = append(lines, line{of, alike, phi})
			}
		}
	}
	cells, err := o.fill(len(lines), len(windows), func(r, c int) (string, error) {
		claims, err := claimed(lines[r].of, windows[c], lines[r].phi, lines[r].alike, o.series)
		return percent(claims, o.series), err
	})
	t := doc.New(append([]string{"rows", "are", "φ"}, heads(windows)...)...)
	for r, l := range lines {
		how := "independent"
		if l.alike {
			how = fmt.Sprintf("correlated, %v", sameness)
		}
		t.Row(append([]any{l.of.name, how, fmt.Sprint(l.phi)}, cells[r]...)...)
	}
	return t, err
}

// claimed is how many of so many tables claim anything. They have no margin, so
// that no row is called the same.
func claimed(of nothing, n int, phi float64, alike bool, tables int) (int, error) {
	s := stat.Defaults()
	s.Margin = 0
	j, err := stat.NewJudge(s)
	if err != nil {
		return 0, err
	}
	subjects := make([]stat.Subject, rowsOfTable)
	drawn := make([]stat.Pairs, rowsOfTable)
	for i := range drawn {
		drawn[i] = pairs(n)
		subjects[i].Pairs = drawn[i]
	}
	var x scratch
	for i := range x.shared {
		x.shared[i], x.side[i] = make([]float64, n), make([]float64, n)
	}
	claims := 0
	for k := range tables {
		x.source = draw.New(1, claimsStream, uint64(k), uint64(n))
		of.draw(drawn, phi, alike, &x)
		rows, err := j.Compare(subjects)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if row.Verdict == stat.Better || row.Verdict == stat.Worse {
				claims++
				break
			}
		}
	}
	return claims, nil
}
