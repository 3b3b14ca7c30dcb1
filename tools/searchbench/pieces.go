package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"orrery/scheduler/model/draw"
)

// pieces are the searches of a run, by method, function, trials and seed.
func (o options) pieces() ([]piece, error) {
	var out []piece
	for _, method := range o.methods {
		for _, trials := range o.trials {
			var err error
			switch o.functions {
			case "fronts":
				out, err = o.ofFronts(out, method, trials)
			case "other":
				out = o.ofOthers(out, method, trials)
			default:
				out, err = o.ofReference(out, method, trials)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no function is called %q", o.only)
	}
	return out, nil
}

func (o options) ofReference(out []piece, method string, trials int) ([]piece, error) {
	places := map[int]planted{4: drawn(4, o.seeds), 9: drawn(9, o.seeds)}
	if o.minima == "reference" {
		var err error
		if places, err = readPlanted(filepath.Join(o.data, "oracle", "search")); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"sphere", "rosenbrock", "ackley", "rastrigin", "simplex", inCube, "noisysphere"} {
		for _, d := range []int{4, 9} {
			if !strings.Contains(name, o.only) {
				continue
			}
			for seed := range o.seeds {
				f, err := places[d].function(name, seed)
				if err != nil {
					return nil, err
				}
				out = append(out, piece{method, cell{name, d, trials}, seed, f.regret})
			}
		}
	}
	return out, nil
}

func (o options) ofOthers(out []piece, method string, trials int) []piece {
	for i, first := range others(0) {
		if !strings.Contains(first.name, o.only) {
			continue
		}
		for seed := range o.seeds {
			f := others(uint64(seed))[i]
			out = append(out, piece{method, cell{f.name, f.space.Dim(), trials}, seed, f.regret})
		}
	}
	return out
}

func (o options) ofFronts(out []piece, method string, trials int) ([]piece, error) {
	for _, c := range []cell{{"zdt1", 6, trials}, {"zdt2", 6, trials}, {"dtlz2", 7, trials}, {"zdt1", 30, trials}, {"zdt2", 30, trials}} {
		if !strings.Contains(c.function, o.only) || c.dimensions == 30 && trials < 256 {
			continue
		}
		f, err := frontOf(c.function, c.dimensions)
		if err != nil {
			return nil, err
		}
		for seed := range o.seeds {
			out = append(out, piece{method, c, seed, f.missed})
		}
	}
	return out, nil
}

// drawn are minima that are not those of the reference: in the middle six tenths of
// each side, and of weights some that are 0.
func drawn(d, seeds int) planted {
	var p planted
	for seed := range seeds {
		source := draw.New(uint64(seed), draw.StreamOf("searchbench.drawn"), uint64(d), 0)
		shift, weights, scale := make([]float64, d), make([]float64, d+1), make([]float64, d+1)
		for i := range shift {
			shift[i] = 0.2 + 0.6*source.Float64()
		}
		sum := 0.0
		for i := range weights {
			if scale[i] = 1 + 9*source.Float64(); i%3 != 2 {
				weights[i] = source.Exponential()
			}
			sum += weights[i]
		}
		for i := range weights {
			weights[i] /= sum
		}
		p.Shift, p.Simplex, p.Scale = append(p.Shift, shift), append(p.Simplex, weights), append(p.Scale, scale)
	}
	return p
}
