// Package fidelity lays replays of a recorded trace beside the record: how far waits, starts and
// their order in the replay are from those that the site had, with the interval of each figure over
// several draws of what the record does not say. docs/FIDELITY.md defines every figure.
//
// It must not know where a trace comes from, what a policy does, or how its figures are shown.
package fidelity

import (
	"errors"
	"fmt"

	"orrery/scheduler/model"
	"orrery/traces/transform"
)

// Job is a job as the site recorded it. Times are relative to the epoch of the trace.
type Job struct {
	Name, User, Partition, QOS string

	Submit     model.Time
	Start, End model.Time // AbsentTime where it never started, or the record does not say
	Walltime   model.Duration
	Nodes      int32 // held, else asked for; 0 where the record does not say
	CPUs       int32 // likewise
}

// Wait is from the submission to the start.
func (j *Job) Wait() model.Duration { return j.Start.Sub(j.Submit) }

// Times are when a job started and ended in a replay, AbsentTime where it did not.
type Times struct{ Start, End model.Time }

// Record is what a site recorded of a workload, in the order of submission.
type Record struct {
	Name string
	Hash string // of the content of the trace
	Jobs []Job
	// Resolution is the step of the clock of the record, and Epoch the instant from which Times count.
	Resolution model.Duration
	Epoch      model.Time
}

// NothingRecordedError says that a trace has no job of which the record knows when it started.
type NothingRecordedError struct{ Trace string }

// Error is the text for people.
func (e *NothingRecordedError) Error() string {
	return fmt.Sprintf("%s: no job with a recorded start and end, so there is nothing to compare a replay with: capture the trace with start and end, as sacct has them", e.Trace)
}

// clocks are the steps that a record may have been written in, coarsest first.
var clocks = [...]model.Duration{model.Second, model.Millisecond}

// ReadRecord takes the record out of a trace. Where resolution is 0, the step of the clock is found: the
// coarsest of 1 s, 1 ms and 1 µs in which every submission and start is whole.
func ReadRecord(set *transform.Set, resolution model.Duration) (*Record, error) {
	r := &Record{Name: set.Name, Resolution: resolution, Epoch: set.Meta.Epoch}
	for row, err := range set.Rows() {
		if err != nil {
			return nil, err
		}
		j := Job{
			Name: row.Name, User: row.User, Partition: row.Partition, QOS: row.QOS,
			Submit: row.Submit, Start: model.AbsentTime, End: model.AbsentTime, Walltime: model.AbsentDuration,
			Nodes: row.NodesMin.V, CPUs: row.ProcsRequested.V,
		}
		if row.Walltime.OK {
			j.Walltime = row.Walltime.V
		}
		if row.NodesAllocated.OK {
			j.Nodes = row.NodesAllocated.V
		}
		if row.ProcsAllocated.OK {
			j.CPUs = row.ProcsAllocated.V
		} else if j.CPUs == 0 {
			j.CPUs = row.CPUsPerNode.V * max(j.Nodes, 1)
		}
		if row.Start.OK {
			j.Start = max(row.Start.V, row.Submit)
			switch {
			case row.End.OK:
				j.End = max(row.End.V, j.Start)
			case row.Runtime.OK:
				j.End = j.Start.Add(row.Runtime.V)
			}
		}
		r.Jobs = append(r.Jobs, j)
	}
	if r.Resolution == 0 {
		r.Resolution = r.clock()
	}
	return r, nil
}

// clock finds the step of the clock.
func (r *Record) clock() model.Duration {
	for _, step := range clocks {
		if r.inSteps(step) {
			return step
		}
	}
	return model.Microsecond
}

// inSteps says whether every submission and start is a whole number of steps after 1970.
func (r *Record) inSteps(step model.Duration) bool {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if r.read(j.Submit, step) != j.Submit || j.started() && r.read(j.Start, step) != j.Start {
			return false
		}
	}
	return true
}

// read is an instant as a clock of such a step shows it.
func (r *Record) read(t model.Time, step model.Duration) model.Time {
	past := (int64(r.Epoch) + int64(t)) % int64(step)
	if past < 0 {
		past += int64(step)
	}
	return t.Add(-model.Duration(past))
}

// started says whether the record knows when the job started and ended.
func (j *Job) started() bool { return j.Start != model.AbsentTime && j.End != model.AbsentTime }

// MeanWait is the mean recorded wait in seconds of the jobs that have one, and how many these are.
func (r *Record) MeanWait() (seconds float64, jobs int) {
	sum := int64(0)
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.started() {
			sum, jobs = sum+int64(j.Wait()), jobs+1
		}
	}
	return float64(sum) / float64(model.Second) / float64(max(jobs, 1)), jobs
}

// errNoDraw is a mistake of the caller.
var errNoDraw = errors.New("a comparison with no draw: want one replay or more")
