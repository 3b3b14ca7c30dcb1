package main

import (
	"fmt"

	"orrery/internal/doc"
	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var boundStream = draw.StreamOf("coverage.bound")

// limit is the margin of the checks.
const limit = 0.03

// truths are true changes for the worse of a candidate.
var truths = []float64{0, limit, 0.06, 0.10, 0.20}

// fixedTable says how often a check on fixed windows calls a candidate good and how
// often bad, by its true change. Windows have lognormal levels (σ 0.8), the noise of
// a run is lognormal.
func fixedTable(o *options) (*doc.Table, error) {
	type line struct {
		windows, replicas int
		noise             float64
	}
	var lines []line
	for _, n := range []int{1, 8, 20} {
		for _, r := range []int{2, 5, 10} {
			lines = append(lines, line{n, r, 0.05})
		}
	}
	lines = append(lines, line{8, 5, 0.3}, line{20, 5, 0.3}, line{20, 10, 0.3})
	cells, err := o.fill(len(lines), len(truths), func(r, c int) (string, error) {
		l := lines[r]
		return judged(o.series, stat.FixedWindows, func(source *draw.Source) (stat.Pairs, error) {
			return fixedPairs(source, l.windows, l.replicas, l.noise, 1+truths[c])
		})
	})
	t := doc.New(append([]string{"windows", "replicas of each side", "noise of a run, σ"}, ofTruths()...)...)
	for r, l := range lines {
		t.Row(append([]any{fmt.Sprint(l.windows), fmt.Sprint(l.replicas), fmt.Sprint(l.noise)}, cells[r]...)...)
	}
	return t, err
}

// fixedPairs has the same levels in each series: the windows are the question.
func fixedPairs(source *draw.Source, windows, replicas int, noise, factor float64) (stat.Pairs, error) {
	levels := draw.New(2, boundStream, 0, uint64(windows))
	var sides [2][]stat.Observation
	for w := range windows {
		level := libm.Exp(0.8 * levels.Normal())
		for r := range replicas {
			for s, f := range [2]float64{1, factor} {
				value := level * f * libm.Exp(noise*source.Normal()-noise*noise/2)
				sides[s] = append(sides[s], stat.Observation{Window: w, Seed: 2*r + s, Value: value})
			}
		}
	}
	return stat.Pair(sides[0], sides[1])
}

// randomTable is the same over windows that stand for others.
func randomTable(o *options) (*doc.Table, error) {
	type line struct {
		windows int
		phi     float64
	}
	var lines []line
	for _, n := range windows {
		lines = append(lines, line{n, 0}, line{n, 0.5})
	}
	cells, err := o.fill(len(lines), len(truths), func(r, c int) (string, error) {
		l := lines[r]
		w := world{sigma: 0.8, noise: 0.1, both: true, phi: l.phi, ratio: 1 + truths[c]}
		p, scratch := pairs(l.windows), make([]float64, l.windows)
		return judged(o.series, stat.RandomWindows, func(source *draw.Source) (stat.Pairs, error) {
			w.draw(&p, scratch, source)
			return p, nil
		})
	})
	t := doc.New(append([]string{"windows", "φ"}, ofTruths()...)...)
	for r, l := range lines {
		t.Row(append([]any{fmt.Sprint(l.windows), fmt.Sprint(l.phi)}, cells[r]...)...)
	}
	return t, err
}

func ofTruths() []string {
	out := make([]string, len(truths))
	for i, x := range truths {
		out[i] = fmt.Sprintf("%.0f %% worse", 100*x)
	}
	return out
}

// judged is how many of the pairs a check calls good, and how many bad.
func judged(series int, reading stat.Reading, of func(*draw.Source) (stat.Pairs, error)) (string, error) {
	count := [3]int{}
	for k := range series {
		source := draw.New(1, boundStream, uint64(k), 1)
		p, err := of(&source)
		if err != nil {
			return "", err
		}
		n, err := stat.NotWorse(p, stat.Lower, stat.Margin{Relative: limit}, reading, stat.Defaults())
		if err != nil {
			return "", err
		}
		count[n.Outcome]++
	}
	return percent(count[stat.Holds], series) + " / " + percent(count[stat.Violated], series), nil
}
