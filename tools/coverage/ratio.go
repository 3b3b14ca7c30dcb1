package main

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var ratioStream = draw.StreamOf("coverage.ratio")

// world draws a metric that both sides share but for noise of their own, as waits
// are: windows of very different level, lognormal with σ of their logarithm.
type world struct {
	sigma float64 // of the levels
	noise float64 // σ of the noise of a side in a window
	both  bool    // the baseline has noise too
	phi   float64 // of levels and of noise
	ratio float64 // of the candidate to the baseline
}

// draw fills pairs; scratch has room for a series.
func (w *world) draw(p *stat.Pairs, scratch []float64, source *draw.Source) {
	lean(scratch, w.phi, source)
	for i, z := range scratch {
		p.Baseline[i] = libm.Exp(w.sigma * z)
		p.Candidate[i] = w.ratio * p.Baseline[i]
	}
	w.times(p.Candidate, scratch, source)
	if w.both {
		w.times(p.Baseline, scratch, source)
	}
}

// times is the noise of a side, of mean 1.
func (w *world) times(x, scratch []float64, source *draw.Source) {
	lean(scratch, w.phi, source)
	for i, z := range scratch {
		x[i] *= libm.Exp(w.noise*z - w.noise*w.noise/2)
	}
}

// pairs has room for n windows.
func pairs(n int) stat.Pairs {
	p := stat.Pairs{Window: make([]int, n), Baseline: make([]float64, n), Candidate: make([]float64, n)}
	for i := range p.Window {
		p.Window[i] = i
	}
	return p
}

// ratioTable is the coverage of 95 % intervals of the change as a part of the
// baseline. Beside it stand how many rows show an interval in the unit of the metric
// as well, and how many show one that misses the expected difference.
func ratioTable(o *options) (*doc.Table, error) {
	worlds := []world{
		{0.3, 0.05, true, 0, 0.7}, {0.3, 0.05, true, 0.5, 0.7}, {0.5, 0.05, true, 0, 0.7}, {0.5, 0.05, true, 0.5, 0.7},
		{0.8, 0.3, false, 0, 0.7}, {0.8, 0.3, false, 0.5, 0.7}, {0.8, 0.3, true, 0, 0.7}, {0.8, 0.3, true, 0.5, 0.7}, {0.8, 0.3, true, 0.8, 0.7},
		{0.8, 0.05, true, 0, 0.95}, {0.8, 0.05, true, 0.5, 0.95}, {1.2, 0.3, true, 0, 0.7}, {1.2, 0.3, true, 0.5, 0.7},
	}
	cells, err := o.fill(len(worlds), len(windows), func(r, c int) (string, error) {
		w, n := worlds[r], windows[c]
		j, err := stat.NewJudge(stat.Defaults())
		if err != nil {
			return "", err
		}
		p, scratch := pairs(n), make([]float64, n)
		relative, shown, missed := 0, 0, 0
		expected := (w.ratio - 1) * libm.Exp(w.sigma*w.sigma/2)
		for k := range o.series {
			source := draw.New(1, ratioStream, uint64(k), uint64(n))
			w.draw(&p, scratch, &source)
			rows, err := j.Compare([]stat.Subject{{Pairs: p}})
			if err != nil {
				return "", err
			}
			if holds(rows[0].Relative, w.ratio-1) {
				relative++
			}
			if rows[0].Difference.Known() {
				shown++
				if !holds(rows[0].Difference, expected) {
					missed++
				}
			}
		}
		return fmt.Sprintf("%s (%s / %s)", percent(relative, o.series), percent(shown, o.series), percent(missed, o.series)), nil
	})
	t := doc.New(append([]string{"σ of the levels", "noise", "of", "φ", "candidate / baseline"}, heads(windows)...)...)
	for r, w := range worlds {
		side := "the candidate"
		if w.both {
			side = "both"
		}
		t.Row(append([]any{fmt.Sprint(w.sigma), fmt.Sprint(w.noise), side, fmt.Sprint(w.phi), fmt.Sprint(w.ratio)}, cells[r]...)...)
	}
	return t, err
}

func holds(i stat.Interval, truth float64) bool { return i.Low <= truth && truth <= i.High }
