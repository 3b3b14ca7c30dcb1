package main

import (
	"fmt"
	"math/rand/v2"

	"orrery/scheduler/model"
	"orrery/traces"
)

// instantUsers is how many users the jobs of one instant have.
const instantUsers = 64

// writeInstant generates a log of jobs that are all submitted at its beginning: of 1 to 64
// processors, for a minute to ten hours, of which they run six sevenths.
func writeInstant(path string, jobs int) error {
	w, err := traces.NewWriter(path, traces.Meta{Source: "jobs of one instant", Sorted: true})
	if err != nil {
		return err
	}
	defer w.Abort()
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range jobs {
		asked := model.Minute + model.Duration(rng.IntN(36_000))*model.Second
		j := traces.Job{
			ID: int64(i + 1), User: fmt.Sprint("u", rng.IntN(instantUsers)), ProcsRequested: traces.Some(int32(1) << rng.IntN(7)),
			Walltime: traces.Some(asked), Runtime: traces.Some(asked - asked/7),
		}
		if err := w.WriteJob(&j); err != nil {
			return err
		}
	}
	_, err = w.Close()
	return err
}
