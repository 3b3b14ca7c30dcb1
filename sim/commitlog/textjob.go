package commitlog

import (
	"orrery/scheduler/model"
)

// Defaults of an allocation, which rows have that say nothing else.
const (
	usualClass    = 5
	usualRequeues = 3
)

// size says where a job is to run, and on how much.
func (t *Text) size(a *model.Allocation) {
	t.vcluster(a.VCluster)
	if a.NodesMax == a.NodesMin {
		t.say(", %s", counted(a.NodesMin, "node"))
	} else {
		t.say(", %d to %d nodes", a.NodesMin, a.NodesMax)
	}
	if a.GPUs != 0 {
		t.say(" with %s each", counted(a.GPUs, "GPU"))
	}
	t.amounts(" ", &a.Amounts)
	if a.Tasks != 0 {
		t.say(", %s", counted(a.Tasks, "task"))
	}
}

// allocation says what else differs from the defaults of a row, and from the fact that a points
// from.
func (t *Text) allocation(f *model.Fact, a *model.Allocation) {
	if a.Job != f.Job {
		t.say(", of job %s", t.called(a.Job))
	}
	if a.Job < 0 || int(a.Job) >= len(t.names.Jobs) || a.ID != t.names.Jobs[a.Job] {
		t.say(", id %d", a.ID)
	}
	t.instants(f, a)
	if a.Kind != model.Bounded {
		t.say(", %s", spelled(a.Kind))
	}
	t.owner(a)
	t.tally("class", int64(a.Class), usualClass)
	t.flag("sensitive", a.Sensitive)
	if a.Topology != model.Tight {
		t.say(", topology %s", spelled(a.Topology))
	}
	t.flag("on hold", a.Hold)
	t.flag("scaled", a.Scaled)
	if a.Checkpoint != model.CheckpointNone {
		t.say(", checkpoint %s", spelled(a.Checkpoint))
	}
	t.tally("checkpoint bytes", a.CkptBytes, 0)
	if a.Requeue != model.RequeueOnNodeFailure {
		t.say(", requeue %s", spelled(a.Requeue))
	}
	t.tally("most requeues", int64(a.MaxRequeue), usualRequeues)
	t.tally("W", a.Power, 0)
	t.tally("B/s", a.IODemand, 0)
	t.fixed("data ready", a.DataReady, -1)
	t.tally("priority", a.Priority, 0)
	t.tally("nice", a.Nice, 0)
	t.workflow(a)
	t.tally("constraint", int64(a.Constraint), 0)
}

// instants are said where they are not those of the fact, and the eligible time where it is
// not the submission.
func (t *Text) instants(f *model.Fact, a *model.Allocation) {
	if a.Submit != f.Submit {
		t.say(", queued since %s", a.Submit)
	}
	if a.Eligible != a.Submit {
		t.say(", eligible %s", a.Eligible)
	}
	if a.Walltime != f.Walltime {
		t.say(", allocation for %s", a.Walltime)
	}
}

// owner says whose job it is, and under which rules.
func (t *Text) owner(a *model.Allocation) {
	t.name("tenant", t.names.Tenants, int32(a.Tenant))
	t.name("user", t.names.Users, a.User)
	t.name("account", nil, a.Account)
	t.name("qos", t.names.QOS, int32(a.QOS))
	t.name("partition", t.names.Partitions, int32(a.Partition))
	t.name("reservation", t.names.Reservations, int32(a.Reservation))
}

// workflow says what other jobs have to do with it.
func (t *Text) workflow(a *model.Allocation) {
	t.name("task group", nil, a.TaskGroup)
	t.tally("index", int64(a.Index), 0)
	t.tally("most running of the group", int64(a.MaxConcurrent), 0)
	t.name("dag", nil, a.DAG)
	for _, d := range a.Deps {
		if d.Condition == model.Mutex {
			t.say(", mutex #%d", d.Mutex)
			if d.On != -1 {
				t.say(" on job %s", t.called(d.On))
			}
			continue
		}
		t.say(", after %s of job %s", spelled(d.Condition), t.called(d.On))
		if d.Mutex != 0 {
			t.say(" with mutex #%d", d.Mutex)
		}
	}
	t.flag("awaited", a.Awaited)
}

// constraint says what is asked of each node.
func (t *Text) constraint(c *model.Constraint) {
	t.name("GPU type", nil, c.GPUType)
	t.tally("GPU memory", c.GPUMemory, 0)
	t.tally("memory", c.Memory, 0)
	t.tally("CPUs", int64(c.CPUs), 0)
	for _, f := range c.Features {
		t.say(", feature %q", f)
	}
	t.flag("unified memory", c.Unified)
	t.flag("CXL allowed", c.AllowCXL)
	t.set("of", c.Include)
	t.set("not on", c.Exclude)
}

// set is left out where it is nil.
func (t *Text) set(what string, s model.NodeSet) {
	if s == nil {
		return
	}
	t.say(", %s ", what)
	if s.Len() == 0 {
		t.say("no nodes")
		return
	}
	t.out = t.nodes.Append(t.out, runs(s))
}
