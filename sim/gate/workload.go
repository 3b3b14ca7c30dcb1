package gate

import (
	"cmp"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/transform"
)

var streamJobs = draw.StreamOf("gate.jobs")

// workload is the trace that streams of jobs make with a seed. Draws are keyed by
// the name of the stream and the number of the job, so a stream that is added
// moves no other; all are integers, so the rows are the same on every computer.
func workload(name string, streams []profiles.GateJobs, seed uint64) (*transform.Set, error) {
	var rows []traces.Job
	for i := range streams {
		s := &streams[i]
		for n := range int(s.Count) {
			rows = append(rows, job(s, n, seed))
		}
	}
	slices.SortStableFunc(rows, func(a, b traces.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range rows {
		rows[i].ID = int64(i) + 1
	}
	return transform.FromTables(name, traces.Meta{Source: "streams of jobs of a gate", Sorted: true}, traces.Tables{Jobs: rows})
}

// job is job n of a stream.
func job(s *profiles.GateJobs, n int, seed uint64) traces.Job {
	d := draw.New(seed, streamJobs, uint64(draw.StreamOf(s.Name)), uint64(n))
	at, size, span := d.IntN(max(int64(s.Over/model.Second), 1)), d.IntN(max(int64(len(s.Nodes)), 1)), int64(0)
	if s.Longest > s.Runtime {
		span = d.IntN(int64((s.Longest-s.Runtime)/model.Second) + 1)
	}
	if s.Arrivals == "even" {
		at = int64(s.Over/model.Second) * int64(n) / int64(s.Count)
	}
	nodes := int32(1)
	if len(s.Nodes) > 0 {
		nodes = s.Nodes[size]
	}
	run := s.Runtime + model.Duration(span)*model.Second
	j := traces.Job{
		Name: s.Name, VCluster: s.VCluster, Tenant: s.Tenant, User: s.Name, Kind: s.Kind, Requeue: s.Requeue,
		Submit: model.Time(0).Add(s.Start + model.Duration(at)*model.Second), Runtime: traces.Some(run),
		NodesMin: traces.Some(nodes), ProcsRequested: traces.Some(nodes), Class: traces.Some(s.Class),
	}
	if s.Kind != "service" {
		requested := run / 100 * model.Duration(s.Request)
		j.Walltime = traces.Some((requested + model.Minute - 1) / model.Minute * model.Minute)
	}
	if s.GPUs > 0 {
		j.GPUsPerNode = traces.Some(s.GPUs)
	}
	if s.Sensitive {
		j.Sensitive = traces.Some(true)
	}
	if s.Checkpoint != "none" {
		j.Checkpoint = s.Checkpoint
	}
	if s.CheckpointSize > 0 {
		j.CkptBytes = traces.Some(int64(s.CheckpointSize))
	}
	return j
}

// seedName is a workload with its seed, for messages.
func seedName(run string, seed uint64) string { return run + ", seed " + strconv.FormatUint(seed, 10) }
