package scheduler

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Standing is how a waiting job stands at an instant.
type Standing struct {
	Job      model.JobID
	VCluster model.VClusterID
	// Position in the queue of its vCluster from 1 on; 0 of a job that is in no queue: it
	// depends on others, is on hold or not eligible yet, or its start is proposed.
	Position int32
	Proposed bool // its start, which the quorum has not answered yet
	// Reason and Behind are as of Answer: ReasonNone and -1 where nothing but the next pass is missing.
	Reason model.Reason
	Behind model.JobID
	// Start is when it is predicted to start, by its reservation or the plan, if running jobs
	// leave at their predicted ends; AbsentTime where nothing is reserved for it.
	Start model.Time
	// Scored and Score are as of Note, but of now.
	Scored bool
	Score  score.Explanation
}
