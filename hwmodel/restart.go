package hwmodel

import (
	"errors"
	"fmt"
	"math"

	"orrery/scheduler/model"
)

// Restart is the time that a cluster loses where a scheduler hands out GPUs by rounds, and
// jobs are stopped and started between them:
//
//	round = length + PerRound + PerRestart · restarts
//
// restarts is the number of jobs of the round that run on other GPUs than in the round before,
// or did not run in it. A job is done Final · length after the start of its last round. Final
// has no meaning of its own: it takes up how far ahead rounds are planned, and may be negative.
// Source of the form: runs of Shockwave's prototype (NSDI 2023) on 32 V100.
type Restart struct {
	PerRound   model.Duration // c0, not negative
	PerRestart model.Duration // c1, not negative
	Final      float64        // f, part of the length of a round, -5 to 5
}

// Validate says which parameter is outside its range.
func (r Restart) Validate() error {
	err := number("end of a job in its last round", r.Final, -5, 5)
	for _, d := range []model.Duration{r.PerRound, r.PerRestart} {
		if d < 0 {
			err = errors.Join(err, fmt.Errorf("restart: found %v lost, want no negative time", d))
		}
	}
	return err
}

// Round is how long a round takes that is to last length, with that many restarts.
func (r Restart) Round(length model.Duration, restarts int) model.Duration {
	lost := model.Plus(int64(r.PerRound), r.PerRestart.Of(int64(max(0, restarts))))
	return model.Duration(model.Plus(int64(max(0, length)), lost))
}

// End is when a job is done, counted from the start of its last round.
func (r Restart) End(length model.Duration) model.Duration {
	end := span(float64(math.Abs(r.Final) * float64(length)))
	if r.Final < 0 {
		return -end
	}
	return end
}
