package translate

import "orrery/scheduler/model"

// ServiceJob completes the allocation of a service that no row tells of, which is submitted at
// now: of each node it takes the amounts that it states, or the whole.
func (t *Site) ServiceJob(a *model.Allocation, now model.Time) {
	a.Submit, a.Eligible, a.Walltime, a.Kind, a.User = now, now, model.Forever, model.Reactive, -1
	a.Account, a.Partition, a.Reservation, a.TaskGroup, a.Index, a.DAG, a.DataReady = -1, -1, -1, -1, 0, -1, -1
	a.Requeue, a.MaxRequeue, a.Topology = model.RequeueAlways, 1<<31-1, model.Any
	a.Checkpoint = model.CheckpointAuto // it has no work to lose, and leaves as soon as it is asked
	key := constraintKey{gpuType: -1, features: -1, include: -1, exclude: -1, gpus: a.GPUs, cpus: a.CPUs, memory: a.Memory}
	switch {
	case t.site.Amounts && a.Divides():
		key.gpus, key.cpus, key.memory = 0, 0, 0 // a node that has room has as many
		a.CPUs = max(a.CPUs, 1)
	case t.rows.Shared:
		a.CPUs, a.Memory = 0, 0
	default:
		a.GPUs, a.CPUs, a.Memory = 0, 0, 0
	}
	a.Constraint = t.intern(&key)
}
