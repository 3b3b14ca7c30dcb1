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
	var age, depth, least float64 // of the best trial, and its wait
	for !s.Done() {
		for _, trial := range s.Ask(4) {
			a, d := trial.Values[0], trial.Values[2]
			wait := 100*(a-0.3)*(a-0.3) + 100/d
			if d <= 50 && (depth == 0 || wait < least) {
				age, depth, least = a, d, wait
			}
			metrics := map[string]float64{"wait": wait, "cost": d}
			if err := s.Tell([]search.Result{{ID: trial.ID, Metrics: metrics}}); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Printf("age %.1f, depth %.0f\n", age, depth)
	// Output: age 0.3, depth 50
}
