package main

import (
	"fmt"
	"math"

	"orrery/internal/doc"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var powerStream = draw.StreamOf("coverage.power")

// deltas are true changes, in units of σ: the standard deviation of the difference
// of one window when each side has run once.
var deltas = []float64{0.25, 0.5, 1, 1.5, 2, 3, 5}

// design is how a comparison is made.
type design struct {
	windows  int
	share    float64 // part of the variance of a window's difference that is noise of the runs
	replicas int     // of each side
	phi      float64 // of the part that is not
}

// powerTable is the chance that a true change is claimed, alone and as one of ten
// rows, of which the others do not differ.
func powerTable(o *options) (*doc.Table, error) {
	var designs []design
	for _, n := range windows {
		designs = append(designs, design{n, 0, 1, 0}, design{n, 0, 1, 0.3}, design{n, 0, 1, 0.5}, design{n, 0.5, 5, 0}, design{n, 0.9, 5, 0}, design{n, 0.9, 20, 0})
	}
	cells := make([][]any, len(designs))
	_, err := o.fill(len(designs), 1, func(r, _ int) (string, error) {
		var err error
		cells[r], err = designs[r].power(o.series)
		return "", err
	})
	head := []string{"windows", "noise", "replicas", "φ"}
	for _, d := range deltas {
		head = append(head, fmt.Sprintf("%v σ", d))
	}
	t := doc.New(head...)
	for r, d := range designs {
		share, replicas := fmt.Sprintf("%.0f %%", 100*d.share), fmt.Sprint(d.replicas)
		if d.replicas == 1 {
			share, replicas = "any", "none"
		}
		t.Row(append([]any{fmt.Sprint(d.windows), share, replicas, fmt.Sprint(d.phi)}, cells[r]...)...)
	}
	return t, err
}

// power is by delta. The half width of an interval does not depend on the change,
// so one series serves all of them. As one of ten rows a change is counted when it
// passes the first step of Holm, p at most a tenth of the level.
func (d *design) power(series int) ([]any, error) {
	var judges [2]*stat.Judge // alone, and as one of the rows of a table
	for i, of := range []float64{level, level / rowsOfTable} {
		s := stat.Defaults()
		s.Confidence = 1 - of
		var err error
		if judges[i], err = stat.NewJudge(s); err != nil {
			return nil, err
		}
	}
	var found [2][]int
	for i := range found {
		found[i] = make([]int, len(deltas))
	}
	for k := range series {
		source := draw.New(1, powerStream, uint64(k), uint64(d.windows))
		p, err := d.draw(&source)
		if err != nil {
			return nil, err
		}
		for i, j := range judges {
			rows, err := j.Compare([]stat.Subject{{Pairs: p}})
			if err != nil {
				return nil, err
			}
			for q, delta := range deltas {
				if rows[0].Difference.Low+delta > 0 {
					found[i][q]++
				}
			}
		}
	}
	out := make([]any, len(deltas))
	for i := range deltas {
		out[i] = fmt.Sprintf("%.0f / %.0f", 100*float64(found[0][i])/float64(series), 100*float64(found[1][i])/float64(series))
	}
	return out, nil
}

// draw makes differences of variance 1 and mean 0, of which a share is the noise of
// both sides. The baseline lies around 0, so that there is no ratio.
func (d *design) draw(source *draw.Source) (stat.Pairs, error) {
	own := make([]float64, d.windows)
	lean(own, d.phi, source)
	var sides [2][]stat.Observation
	for w, z := range own {
		for r := range d.replicas {
			for s := range sides {
				value := math.Sqrt(d.share/2) * source.Normal()
				if s == 1 {
					value += math.Sqrt(1-d.share) * z
				}
				sides[s] = append(sides[s], stat.Observation{Window: w, Seed: 2*r + s, Value: value})
			}
		}
	}
	return stat.Pair(sides[0], sides[1])
}
