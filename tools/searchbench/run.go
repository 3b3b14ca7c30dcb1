package main

import (
	"fmt"

	"orrery/scheduler/model/draw"
	"orrery/sim/search"
)

var (
	noiseStream = draw.StreamOf("searchbench.noise")
	least       = search.Goal{Objectives: []search.Objective{{Metric: "f", Direction: search.Minimise}}}
)

// evaluated runs a search to its end.
func evaluated(c search.Config, of func(t search.Trial) map[string]float64) error {
	s, err := search.New(c)
	if err != nil {
		return err
	}
	for !s.Done() {
		for _, t := range s.Ask(c.Trials) {
			if err := s.Tell([]search.Result{{ID: t.ID, Values: t.Values, Metrics: of(t)}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// regret runs a search and returns how far the true value of the point with the
// best observation is above the least value.
func (f *function) regret(c search.Config) (float64, error) {
	c.Space, c.Goal = f.space, least
	first, seen, found := true, 0.0, 0.0
	err := evaluated(c, func(t search.Trial) map[string]float64 {
		value := f.value(t.Values)
		d := draw.New(c.Seed, noiseStream, uint64(t.ID), 0)
		told := value + f.noise*d.Normal()
		if first || told < seen {
			first, seen, found = false, told, value
		}
		return map[string]float64{"f": told}
	})
	return found - f.least, err
}

// piece is one search.
type piece struct {
	method string
	at     cell
	seed   int
	do     func(c search.Config) (float64, error)
}

func (p *piece) run() (float64, error) {
	method, batch, err := methodOf(p.method)
	if err != nil {
		return 0, err
	}
	got, err := p.do(search.Config{Method: method, Trials: p.at.trials, Seed: uint64(p.seed), Batch: batch})
	if err != nil {
		return 0, fmt.Errorf("%s on %s, seed %d: %w", p.method, p.at.function, p.seed, err)
	}
	return got, nil
}
