package main

import (
	"fmt"

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
	for i := range jobs {
		asked := model.Minute + model.Duration(trait(i, "walltime", 36_000))*model.Second
		j := traces.Job{
			ID: int64(i + 1), User: fmt.Sprint("u", trait(i, "user", instantUsers)), ProcsRequested: traces.Some(int32(1) << trait(i, "size", 7)),
			Walltime: traces.Some(asked), Runtime: traces.Some(asked - asked/7),
		}
		if err := w.WriteJob(&j); err != nil {
			return err
		}
	}
	_, err = w.Close()
	return err
}
