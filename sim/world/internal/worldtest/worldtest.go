// Package worldtest makes small sites and rows for tests of worlds.
package worldtest

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Site is n nodes of 4 GPUs and 8 CPUs in one vCluster.
func Site(n int) *model.Site {
	s := &model.Site{
		Groups: []model.Group{{Name: "g0"}}, Fingerprints: 1,
		VClusters: []model.VCluster{{Name: "batch"}}, Tenants: []model.Tenant{{Name: "ada"}, {Name: "bob"}},
	}
	for i := range n {
		s.Nodes = append(s.Nodes, model.Node{
			Name: fmt.Sprintf("n%d", i), Home: 0, GPUs: 4, CPUs: 8, GPUMemory: 25, Memory: 1000, Topology: -1, IdlePower: 100, BusyPower: 300,
		})
	}
	return s
}

// Row is a job of one node for 10 s of at most 20 s, whose work the system saves.
func Row(id int64, submit model.Time, change ...func(*traces.Job)) traces.Job {
	j := traces.Job{
		ID: id, Submit: submit, Runtime: traces.Some(10 * model.Second), Walltime: traces.Some(20 * model.Second), NodesMin: traces.Some[int32](1), Checkpoint: "auto",
	}
	for _, c := range change {
		c(&j)
	}
	return j
}

// Users are the users of rows.
var Users = []string{"dave", "carol"}

// Batch makes a batch of rows.
func Batch(rows ...traces.Job) *traces.Batch {
	b := &traces.Batch{Attr: &traces.Attributes{}}
	or := func(o traces.Opt[int32]) int32 {
		if o.OK {
			return o.V
		}
		return traces.Absent
	}
	for i := range rows {
		r := &rows[i]
		b.ID, b.Submit, b.User = append(b.ID, r.ID), append(b.Submit, r.Submit), append(b.User, int32(slices.Index(Users, r.User)))
		b.Start = append(b.Start, model.AbsentTime)
		runtime, walltime, cancelled := model.AbsentDuration, model.AbsentDuration, model.AbsentTime
		if r.Runtime.OK {
			runtime = r.Runtime.V
		}
		if r.Walltime.OK {
			walltime = r.Walltime.V
		}
		if r.CancelledAt.OK {
			cancelled = r.CancelledAt.V
		}
		b.Runtime, b.Walltime, b.CancelledAt = append(b.Runtime, runtime), append(b.Walltime, walltime), append(b.CancelledAt, cancelled)
		b.ProcsRequested, b.ProcsAllocated = append(b.ProcsRequested, or(r.ProcsRequested)), append(b.ProcsAllocated, or(r.ProcsAllocated))
		b.NodesMin, b.CPUsPerNode, b.GPUsPerNode = append(b.NodesMin, or(r.NodesMin)), append(b.CPUsPerNode, or(r.CPUsPerNode)), append(b.GPUsPerNode, or(r.GPUsPerNode))
		b.Attr.AppendJob(r)
	}
	return b
}
