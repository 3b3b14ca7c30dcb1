package workload

import "orrery/traces"

// Allocated is by how much more than they asked for jobs were allocated. Under --exclusive, and where nodes are
// allocated whole, a job holds all that its nodes have.
type Allocated struct {
	Jobs           int64   `json:"jobs"` // allocated more processors, nodes or GPUs than they requested
	First          int64   `json:"first_id"`
	ProcessorHours float64 `json:"processor_hours"` // beyond the request; likewise the two below
	NodeHours      float64 `json:"node_hours"`
	GPUHours       float64 `json:"gpu_hours"`
	Share          float64 `json:"share"`     // of the processor hours that all jobs held
	Exclusive      int64   `json:"exclusive"` // jobs that share no node with others

	held float64 // processor hours of all jobs
}

// add counts a job. Hours are of its run time; what the log does not tell of both counts as no difference.
func (a *Allocated) add(j *traces.Job) {
	const hour = 3600e6
	if j.Exclusive.V {
		a.Exclusive++
	}
	gpus := j.GPUsTotal
	if !gpus.OK && j.GPUsPerNode.OK && j.NodesMin.OK {
		gpus = traces.Some(j.GPUsPerNode.V * j.NodesMin.V)
	}
	ran := float64(j.Runtime.V) / hour
	more := false
	for _, x := range []struct {
		asked, held traces.Opt[int32]
		hours       *float64
	}{{j.ProcsRequested, j.ProcsAllocated, &a.ProcessorHours}, {j.NodesMin, j.NodesAllocated, &a.NodeHours}, {gpus, j.GPUsAllocated, &a.GPUHours}} {
		if x.asked.OK && x.held.OK && x.held.V > x.asked.V {
			more = true
			*x.hours += float64(float64(x.held.V-x.asked.V) * ran)
		}
	}
	a.held += float64(float64(max(j.ProcsAllocated.V, 0)) * ran)
	if more {
		if a.Jobs == 0 {
			a.First = j.ID
		}
		a.Jobs++
	}
	if a.held > 0 {
		a.Share = a.ProcessorHours / a.held
	}
}

// endedByPolicy says whether a row is of an attempt that the recorded scheduler ended.
func endedByPolicy(j *traces.Job) bool {
	return j.ExitState == "PREEMPTED" || j.ExitState == "REQUEUED" || j.ExitState == "REVOKED"
}
