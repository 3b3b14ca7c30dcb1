package search_test

import (
	"fmt"

	"orrery/sim/search"
)

// A search for two weights and a depth, by a formula in place of a replay.
func Example() {
	s, err := search.New(search.Config{
		Space: search.Space{
			{Name: "weights", Kind: search.Simplex, Parts: []string{"age", "share"}},
			{Name: "depth", Kind: search.Integer, Low: 1, High: 500, Log: true},
		},
		Goal: search.Goal{
			Objectives:  []search.Objective{{Metric: "wait", Direction: search.Minimise}},
			Constraints: []search.Constraint{{Metric: "cost", Relation: search.AtMost, Value: 50}},
		},
		Method: "bayes",
		Trials: 40,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for !s.Done() {
		for _, trial := range s.Ask(4) {
			age, depth := trial.Values[0], trial.Values[2]
			metrics := map[string]float64{"wait": 100*(age-0.3)*(age-0.3) + 100/depth, "cost": depth}
			if err := s.Tell([]search.Result{{ID: trial.ID, Metrics: metrics}}); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	best := s.Best()[0]
	fmt.Printf("age %.1f, depth %.0f\n", best.Values[0], best.Values[2])
	// Output: age 0.3, depth 50
}
