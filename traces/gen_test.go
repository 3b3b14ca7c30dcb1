package traces_test

import (
	"math"

	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/traces"
)

// names are few, so that dictionaries repeat, and awkward.
var names = []string{"", "", "ann", "bob", "späte Ärztin", "a,b\"c", "\x00", "0", "-1", "名"}

func text(t *rapid.T, label string) string { return rapid.SampledFrom(names).Draw(t, label) }

func opt[T any](t *rapid.T, label string, g *rapid.Generator[T]) traces.Opt[T] {
	if rapid.IntRange(0, 2).Draw(t, label+"?") == 0 {
		return traces.Opt[T]{}
	}
	return traces.Some(g.Draw(t, label))
}

var (
	anyTime = rapid.Map(rapid.Int64Range(-1<<59, 1<<59), func(n int64) model.Time { return model.Time(n) })
	anySpan = rapid.Map(rapid.Int64Range(-1<<61+1, 1<<61-1), func(n int64) model.Duration { return model.Duration(n) })
	any64   = rapid.Int64Min(math.MinInt64 + 1)
	any32   = rapid.Int32Min(math.MinInt32 + 1)
	anyReal = rapid.Float64()

	finiteReal = rapid.Float64Range(-1e300, 1e300)
)

// anyJob draws a row with every column at its extremes; it need not make
// sense.
func anyJob(t *rapid.T) traces.Job {
	return traces.Job{
		ID: any64.Draw(t, "id"), Name: text(t, "name"), User: text(t, "user"), Tenant: text(t, "tenant"),
		VCluster: text(t, "vcluster"), Kind: rapid.SampledFrom([]string{"bounded", "service", "odd"}).Draw(t, "kind"),
		Submit: anyTime.Draw(t, "submit"), Start: opt(t, "start", anyTime), End: opt(t, "end", anyTime),
		Runtime: opt(t, "runtime", anySpan), Walltime: opt(t, "walltime", anySpan),
		NodesMin: opt(t, "nodes_min", any32), NodesMax: opt(t, "nodes_max", any32), GPUsPerNode: opt(t, "gpus", any32),
		GPUType: text(t, "gpu_type"), GPUMem: opt(t, "gpu_mem", any64), CPUsPerNode: opt(t, "cpus", any32),
		MemPerNode: opt(t, "mem", any64), Features: text(t, "features"), Topology: text(t, "topology"),
		Class: opt(t, "class", any32), Sensitive: opt(t, "sensitive", rapid.Bool()), Checkpoint: text(t, "checkpoint"),
		CkptBytes: opt(t, "ckpt", any64), Requeue: text(t, "requeue"), RequeueMax: opt(t, "requeue_max", any32),
		Mounts: text(t, "mounts"), IODemand: opt(t, "io", any64), Power: opt(t, "power", any64),
		CommFraction: opt(t, "comm", anyReal), Group: text(t, "group"), Index: opt(t, "index", any32),
		MaxConcurrent: opt(t, "max_concurrent", any32), DAG: text(t, "dag"), ExitState: text(t, "state"),
		ExitCode: opt(t, "code", any32), ProcsRequested: opt(t, "procs", any32), ProcsAllocated: opt(t, "alloc", any32),
		Eligible: opt(t, "eligible", anyTime), CancelledAt: opt(t, "cancelled", anyTime), Partition: text(t, "partition"),
		QOS: text(t, "qos"), Account: text(t, "account"), Priority: opt(t, "priority", any64),
		RecordedNodes: text(t, "nodes"), Reservation: text(t, "reservation"), Exclusive: opt(t, "exclusive", rapid.Bool()),
		NodeInclude: text(t, "include"), NodeExclude: text(t, "exclude"), AfterJob: opt(t, "after", any64),
		ThinkTime: opt(t, "think", anySpan), Extra: text(t, "extra"),
		Hold: opt(t, "hold", rapid.Bool()), Released: opt(t, "released", anyTime), Nice: opt(t, "nice", any32),
		GPUMilli: opt(t, "gpu_milli", any32), GPUTypes: text(t, "gpu_types"), GPUsTotal: opt(t, "gpus_total", any32),
		SiteFactor: opt(t, "site_factor", any64), NodesAllocated: opt(t, "nodes_allocated", any32), GPUsAllocated: opt(t, "gpus_allocated", any32),
		Deadline: opt(t, "deadline", anyTime), ScaleMetric: text(t, "metric"), ScaleTarget: opt(t, "target", finiteReal),
	}
}

func anyNode(t *rapid.T) traces.Node {
	return traces.Node{Name: text(t, "name"), Group: text(t, "group"), Type: text(t, "type"), GPUModel: text(t, "model"),
		GPUs: any32.Draw(t, "gpus"), CPUs: any32.Draw(t, "cpus"), Memory: any64.Draw(t, "memory"),
		Fingerprint: text(t, "print"), VCluster: text(t, "vcluster"), Up: rapid.Bool().Draw(t, "up")}
}

func anyTenant(t *rapid.T) traces.Tenant {
	return traces.Tenant{Name: text(t, "name"), MaxNodes: opt(t, "max_nodes", any32), MaxConcurrent: opt(t, "max_concurrent", any32),
		FairShare: opt(t, "share", finiteReal), Burst: opt(t, "burst", finiteReal),
		GPUHours: opt(t, "gpu_hours", finiteReal), NodeHours: opt(t, "node_hours", finiteReal)}
}

func anyEvent(t *rapid.T) traces.Event {
	return traces.Event{Time: anyTime.Draw(t, "time"), Kind: text(t, "kind"), Subject: text(t, "subject"), Value: text(t, "value")}
}

func anyPrice(t *rapid.T) traces.Price {
	return traces.Price{Time: anyTime.Draw(t, "time"), Price: finiteReal.Draw(t, "price"), Carbon: opt(t, "carbon", finiteReal), Supply: opt(t, "supply", rapid.Int64Range(0, 1<<50))}
}

func anyLoad(t *rapid.T) traces.Load {
	return traces.Load{Service: text(t, "service"), Time: anyTime.Draw(t, "time"), Width: anySpan.Draw(t, "width"),
		Arrivals: opt(t, "arrivals", finiteReal), Concurrent: opt(t, "concurrent", finiteReal), Work: opt(t, "work", anySpan),
		WorkCV: opt(t, "cv", finiteReal), TokensIn: opt(t, "in", finiteReal), TokensOut: opt(t, "out", finiteReal)}
}

// microseconds are spans that telemetry counts as whole numbers.
var microseconds = rapid.Map(anySpan, func(d model.Duration) int64 { return int64(d) })

func anyTelemetry(t *rapid.T) traces.Telemetry {
	return traces.Telemetry{Node: text(t, "node"), GPU: opt(t, "gpu", any32), Time: anyTime.Draw(t, "time"),
		SMUtil: opt(t, "sm", finiteReal), MemUtil: opt(t, "mem", finiteReal), MemUsed: opt(t, "used", any64),
		Power: opt(t, "power", finiteReal), Energy: opt(t, "energy", any64), SMClock: opt(t, "smclock", any32),
		MemClock: opt(t, "memclock", any32), Throttle: opt(t, "throttle", any64), Temperature: opt(t, "temperature", finiteReal),
		ECCCorrected: opt(t, "corrected", any64), ECCUncorrected: opt(t, "uncorrected", any64), NVLinkRx: opt(t, "nvrx", any64),
		NVLinkTx: opt(t, "nvtx", any64), PCIeRx: opt(t, "rx", any64), PCIeTx: opt(t, "tx", any64), Processes: text(t, "processes"),
		SMActive: opt(t, "active", finiteReal), MemTemperature: opt(t, "memtemperature", finiteReal), RetiredPages: opt(t, "retired", any64),
		Stat: text(t, "stat"), Width: opt(t, "width", anySpan), TensorActive: opt(t, "tensor", finiteReal), DRAMActive: opt(t, "dram", finiteReal),
		PowerViolation: opt(t, "powerviolation", microseconds), ThermalViolation: opt(t, "thermalviolation", microseconds), NVLinkErrors: opt(t, "nverrors", any64),
		CPUUtil: opt(t, "cpu", finiteReal), CPUEnergy: opt(t, "cpuenergy", any64), DiskRead: opt(t, "read", any64), DiskWritten: opt(t, "written", any64),
		NetRx: opt(t, "netrx", any64), NetTx: opt(t, "nettx", any64)}
}

func anyInstance(t *rapid.T) traces.Instance {
	return traces.Instance{Node: text(t, "node"), GPU: any32.Draw(t, "gpu"), GPUUUID: text(t, "gpuuuid"), GPUInstance: any32.Draw(t, "gpuinstance"),
		UUID: text(t, "uuid"), Profile: text(t, "profile"), Time: anyTime.Draw(t, "time"), Multiprocessors: opt(t, "multiprocessors", any32),
		MemTotal: opt(t, "total", any64), MemUsed: opt(t, "used", any64), SMActive: opt(t, "active", finiteReal), TensorActive: opt(t, "tensor", finiteReal),
		DRAMActive: opt(t, "dram", finiteReal), Processes: text(t, "processes"), Stat: text(t, "stat"), Width: opt(t, "width", anySpan)}
}

// reader is the naive implementation of the column path: it makes the batch that a
// Source should give from whole rows.
type reader struct {
	users []string
	ids   map[string]int32
}

func (r *reader) add(b *traces.Batch, j *traces.Job) {
	b.ID = append(b.ID, j.ID)
	b.Submit = append(b.Submit, j.Submit)
	b.Start = append(b.Start, or(j.Start, model.AbsentTime))
	b.Runtime = append(b.Runtime, or(j.Runtime, model.AbsentDuration))
	b.Walltime = append(b.Walltime, or(j.Walltime, model.AbsentDuration))
	b.CancelledAt = append(b.CancelledAt, or(j.CancelledAt, model.AbsentTime))
	b.ProcsRequested = append(b.ProcsRequested, or(j.ProcsRequested, traces.Absent))
	b.ProcsAllocated = append(b.ProcsAllocated, or(j.ProcsAllocated, traces.Absent))
	b.NodesMin = append(b.NodesMin, or(j.NodesMin, traces.Absent))
	b.CPUsPerNode = append(b.CPUsPerNode, or(j.CPUsPerNode, traces.Absent))
	b.GPUsPerNode = append(b.GPUsPerNode, or(j.GPUsPerNode, traces.Absent))
	user := int32(-1)
	if j.User != "" {
		id, ok := r.ids[j.User]
		if !ok {
			id = int32(len(r.users))
			r.users, r.ids[j.User] = append(r.users, j.User), id
		}
		user = id
	}
	b.User = append(b.User, user)
}

func or[T any](o traces.Opt[T], absent T) T {
	if o.OK {
		return o.V
	}
	return absent
}
