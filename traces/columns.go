package traces

import "orrery/scheduler/model"

// The tables below are the only place where columns are listed. The writer,
// the reader, the schema check, the content hash and the test of
// docs/TRACE-FORMAT.md all walk them. Appending an optional column is
// compatible; anything else raises SchemaVersion.

const (
	columnKind     = "kind"
	columnAfterJob = "after_job"
	kindBounded    = "bounded"

	microseconds = "µs"
	byteCount    = "B"
)

var jobFields = []field[Job]{
	numberField("id", "", "job number in the source; most often unique", delta, func(j *Job) *int64 { return &j.ID }),
	textField("name", true, "job or executable name", func(j *Job) *string { return &j.Name }),
	textField("user", true, "user that submitted it", func(j *Job) *string { return &j.User }),
	textField("tenant", true, "tenant it is charged to", func(j *Job) *string { return &j.Tenant }),
	textField("vcluster", true, "vCluster it was submitted to", func(j *Job) *string { return &j.VCluster }),
	kindField(),
	numberField("submit", microseconds, "submission", delta, func(j *Job) *model.Time { return &j.Submit }),
	optField("start", microseconds, "recorded start; null when it never started", delta, func(j *Job) *Opt[model.Time] { return &j.Start }),
	optField("end", microseconds, "recorded end", delta, func(j *Job) *Opt[model.Time] { return &j.End }),
	optField("runtime", microseconds, "true run time; null when it never ran", delta, func(j *Job) *Opt[model.Duration] { return &j.Runtime }),
	optField("walltime", microseconds, "requested run time; null when not stated", dict, func(j *Job) *Opt[model.Duration] { return &j.Walltime }),
	optField("nodes_min", "nodes", "fewest nodes requested; null when only processors are known", dict, func(j *Job) *Opt[int32] { return &j.NodesMin }),
	optField("nodes_max", "nodes", "most nodes requested", dict, func(j *Job) *Opt[int32] { return &j.NodesMax }),
	optField("gpus_per_node", "GPUs", "GPUs requested on each node", dict, func(j *Job) *Opt[int32] { return &j.GPUsPerNode }),
	textField("gpu_type", true, "GPU model requested", func(j *Job) *string { return &j.GPUType }),
	optField("gpu_mem", byteCount, "memory requested on each GPU", dict, func(j *Job) *Opt[int64] { return &j.GPUMem }),
	optField("cpus_per_node", "processors", "processors requested on each node", dict, func(j *Job) *Opt[int32] { return &j.CPUsPerNode }),
	optField("mem_per_node", byteCount, "memory requested on each node", dict, func(j *Job) *Opt[int64] { return &j.MemPerNode }),
	textField("features", true, "node features requested, as the source writes them", func(j *Job) *string { return &j.Features }),
	textField("topology", true, "tight, spread or any", func(j *Job) *string { return &j.Topology }),
	optField("class", "", "priority class, 0 to 10", dict, func(j *Job) *Opt[int32] { return &j.Class }),
	boolField("sensitive", "must run on nodes of one known fingerprint", func(j *Job) *Opt[bool] { return &j.Sensitive }),
	textField("checkpoint", true, "auto, manual or none", func(j *Job) *string { return &j.Checkpoint }),
	optField("ckpt_bytes", byteCount, "size of a checkpoint", delta, func(j *Job) *Opt[int64] { return &j.CkptBytes }),
	textField("requeue", true, "requeue policy: never, on-node-failure, always or another word of the source", func(j *Job) *string { return &j.Requeue }),
	optField("requeue_max", "", "most requeues", dict, func(j *Job) *Opt[int32] { return &j.RequeueMax }),
	textField("mounts", true, "JSON object: bytes staged in by storage tier", func(j *Job) *string { return &j.Mounts }),
	optField("io_demand", "B/s", "storage bandwidth while running", delta, func(j *Job) *Opt[int64] { return &j.IODemand }),
	optField("power", "W", "mean power while running of its nodes as a whole, in all: processors, memory and fans as well as GPUs", delta, func(j *Job) *Opt[int64] { return &j.Power }),
	doubleField("comm_fraction", "", "share of the run time spent communicating, 0 to 1", func(j *Job) *Opt[float64] { return &j.CommFraction }),
	textField("group", true, "task group", func(j *Job) *string { return &j.Group }),
	optField("index", "", "index within the task group", delta, func(j *Job) *Opt[int32] { return &j.Index }),
	optField("max_concurrent", "jobs", "most jobs of the group that run at once", dict, func(j *Job) *Opt[int32] { return &j.MaxConcurrent }),
	textField("dag", true, "workflow it belongs to", func(j *Job) *string { return &j.DAG }),
	textField("exit_state", true, "how it ended: COMPLETED, FAILED, CANCELLED, PARTIAL or another word of the source", func(j *Job) *string { return &j.ExitState }),
	optField("exit_code", "", "exit code", dict, func(j *Job) *Opt[int32] { return &j.ExitCode }),
	optField("procs_requested", "processors", "processors requested in all", dict, func(j *Job) *Opt[int32] { return &j.ProcsRequested }),
	optField("procs_allocated", "processors", "processors held in all", dict, func(j *Job) *Opt[int32] { return &j.ProcsAllocated }),
	optField("eligible", microseconds, "recorded instant from which it could have started", delta, func(j *Job) *Opt[model.Time] { return &j.Eligible }),
	optField("cancelled_at", microseconds, "withdrawn while it waited", delta, func(j *Job) *Opt[model.Time] { return &j.CancelledAt }),
	textField("partition", true, "partition", func(j *Job) *string { return &j.Partition }),
	textField("qos", true, "quality of service or queue", func(j *Job) *string { return &j.QOS }),
	textField("account", true, "account or group", func(j *Job) *string { return &j.Account }),
	optField("priority", "", "priority that the source's scheduler had given it when it was last seen", delta, func(j *Job) *Opt[int64] { return &j.Priority }),
	textField("recorded_nodes", true, "nodes it ran on, as the source writes them", func(j *Job) *string { return &j.RecordedNodes }),
	textField("reservation", true, "reservation it ran in", func(j *Job) *string { return &j.Reservation }),
	boolField("exclusive", "shares no node with other jobs", func(j *Job) *Opt[bool] { return &j.Exclusive }),
	textField("node_include", true, "nodes it must have", func(j *Job) *string { return &j.NodeInclude }),
	textField("node_exclude", true, "nodes it must not have", func(j *Job) *string { return &j.NodeExclude }),
	optField(columnAfterJob, "", "id of the job it follows (SWF field 17)", delta, func(j *Job) *Opt[int64] { return &j.AfterJob }),
	optField("think_time", microseconds, "pause between the end of after_job and this submission", delta, func(j *Job) *Opt[model.Duration] { return &j.ThinkTime }),
	textField("extra", true, "JSON object: what the source says beyond these columns, keys ascending", func(j *Job) *string { return &j.Extra }),
	boolField("hold", "submitted on hold: not started before it is released", func(j *Job) *Opt[bool] { return &j.Hold }),
	optField("released", microseconds, "when its hold was lifted; null when it never was", delta, func(j *Job) *Opt[model.Time] { return &j.Released }),
	optField("nice", "", "Slurm's nice: points taken off its priority, below zero to raise it", dict, func(j *Job) *Opt[int32] { return &j.Nice }),
	optField("gpu_milli", "1/1000 GPU", "share requested of one GPU, 1 to 1000", dict, func(j *Job) *Opt[int32] { return &j.GPUMilli }),
	textField("gpu_types", true, "GPU models of which any will do, with a bar between them", func(j *Job) *string { return &j.GPUTypes }),
	optField("gpus_total", "GPUs", "GPUs requested in all", dict, func(j *Job) *Opt[int32] { return &j.GPUsTotal }),
	optField("deadline", microseconds, "instant by which it is to have ended", delta, func(j *Job) *Opt[model.Time] { return &j.Deadline }),
	textField("scale_metric", true, "series by which the service is scaled", func(j *Job) *string { return &j.ScaleMetric }),
	doubleField("scale_target", "", "value of that series that scaling aims at, in the unit of the series", func(j *Job) *Opt[float64] { return &j.ScaleTarget }),
	optField("site_factor", "points", "Slurm's site factor: points that the site adds to its priority", delta, func(j *Job) *Opt[int64] { return &j.SiteFactor }),
	optField("nodes_allocated", "nodes", "nodes held", dict, func(j *Job) *Opt[int32] { return &j.NodesAllocated }),
	optField("gpus_allocated", "GPUs", "GPUs held in all", dict, func(j *Job) *Opt[int32] { return &j.GPUsAllocated }),
}

var depFields = []field[Dep]{
	numberField("job", "", "id of the job that waits", delta, func(d *Dep) *int64 { return &d.Job }),
	numberField("on", "", "id of the job it waits for", delta, func(d *Dep) *int64 { return &d.On }),
	textField("condition", false, "success, failure, any, corresponding or mutex", func(d *Dep) *string { return &d.Condition }),
}

var nodeFields = []field[Node]{
	textField("name", false, "node name; the row's place in the table is its dense id", func(n *Node) *string { return &n.Name }),
	textField("group", true, "topology group", func(n *Node) *string { return &n.Group }),
	textField("type", true, "node type", func(n *Node) *string { return &n.Type }),
	textField("gpu_model", true, "GPU model", func(n *Node) *string { return &n.GPUModel }),
	numberField("gpus", "GPUs", "GPUs", dict, func(n *Node) *int32 { return &n.GPUs }),
	numberField("cpus", "processors", "processors", dict, func(n *Node) *int32 { return &n.CPUs }),
	numberField("memory", byteCount, "main memory; 0 when not known", dict, func(n *Node) *int64 { return &n.Memory }),
	textField("fingerprint", true, "conformance fingerprint", func(n *Node) *string { return &n.Fingerprint }),
	textField("vcluster", true, "home vCluster", func(n *Node) *string { return &n.VCluster }),
	upField(),
}

var tenantFields = []field[Tenant]{
	textField("name", false, "tenant name, as in the jobs table", func(t *Tenant) *string { return &t.Name }),
	optField("max_nodes", "nodes", "most nodes held at once; null when not limited", dict, func(t *Tenant) *Opt[int32] { return &t.MaxNodes }),
	optField("max_concurrent", "jobs", "most running jobs; null when not limited", dict, func(t *Tenant) *Opt[int32] { return &t.MaxConcurrent }),
	doubleField("fair_share", "", "share of the nodes it is entitled to, 0 to 1", func(t *Tenant) *Opt[float64] { return &t.FairShare }),
	doubleField("burst", "", "multiple of its share while the site is idle, 1 or more", func(t *Tenant) *Opt[float64] { return &t.Burst }),
	doubleField("gpu_hours", "h", "GPU time budget of a budget window", func(t *Tenant) *Opt[float64] { return &t.GPUHours }),
	doubleField("node_hours", "h", "node time budget of a budget window", func(t *Tenant) *Opt[float64] { return &t.NodeHours }),
}

var eventFields = []field[Event]{
	numberField("time", microseconds, "when it happens", delta, func(e *Event) *model.Time { return &e.Time }),
	textField("kind", false, "what happens, see below", func(e *Event) *string { return &e.Kind }),
	textField("subject", true, "name of what it happens to", func(e *Event) *string { return &e.Subject }),
	textField("value", true, "what changes, written as the kind says", func(e *Event) *string { return &e.Value }),
}

var priceFields = []field[Price]{
	numberField("time", microseconds, "from when it holds, until the next row", delta, func(p *Price) *model.Time { return &p.Time }),
	realField("price", "EUR/kWh", "price of energy, below zero when one is paid to use it", func(p *Price) *float64 { return &p.Price }),
	doubleField("carbon", "g/kWh", "carbon dioxide emitted for the energy", func(p *Price) *Opt[float64] { return &p.Carbon }),
	optField("supply", "W", "power that is to be had for the nodes, as from wind and sun at the site; it limits nothing", delta, func(p *Price) *Opt[int64] { return &p.Supply }),
}

var loadFields = []field[Load]{
	textField("service", false, "name of the service", func(l *Load) *string { return &l.Service }),
	numberField("time", microseconds, "beginning of the sample", delta, func(l *Load) *model.Time { return &l.Time }),
	numberField("width", microseconds, "length of the sample; 0 for what came at one instant", dict, func(l *Load) *model.Duration { return &l.Width }),
	doubleField("arrivals", "requests", "requests that arrived in it", func(l *Load) *Opt[float64] { return &l.Arrivals }),
	doubleField("concurrent", "sessions", "mean number of sessions (players, rooms, users) present in it", func(l *Load) *Opt[float64] { return &l.Concurrent }),
	optField("work", microseconds, "mean work of a request, as time on one replica at speed 1", delta, func(l *Load) *Opt[model.Duration] { return &l.Work }),
	doubleField("work_cv", "", "coefficient of variation of that work: standard deviation over mean", func(l *Load) *Opt[float64] { return &l.WorkCV }),
	doubleField("tokens_in", "tokens", "mean tokens read by a request", func(l *Load) *Opt[float64] { return &l.TokensIn }),
	doubleField("tokens_out", "tokens", "mean tokens generated by a request", func(l *Load) *Opt[float64] { return &l.TokensOut }),
}

var telemetryFields = []field[Telemetry]{
	textField("node", false, "node name, as in the nodes table", func(t *Telemetry) *string { return &t.Node }),
	optField("gpu", "", "index of the GPU in its node, from 0; null for the node as a whole", dict, func(t *Telemetry) *Opt[int32] { return &t.GPU }),
	numberField("time", microseconds, "when it was measured", delta, func(t *Telemetry) *model.Time { return &t.Time }),
	doubleField("sm_util", "", "share of the time in which a kernel ran, 0 to 1", func(t *Telemetry) *Opt[float64] { return &t.SMUtil }),
	doubleField("mem_util", "", "share of the time in which memory was read or written, 0 to 1", func(t *Telemetry) *Opt[float64] { return &t.MemUtil }),
	optField("mem_used", byteCount, "memory in use", delta, func(t *Telemetry) *Opt[int64] { return &t.MemUsed }),
	doubleField("power", "W", "power drawn: by the board of the GPU, in a row without gpu by the whole node", func(t *Telemetry) *Opt[float64] { return &t.Power }),
	optField("energy", "mJ", "energy consumed, a counter: of what power is of", delta, func(t *Telemetry) *Opt[int64] { return &t.Energy }),
	optField("sm_clock", "MHz", "clock of the multiprocessors", dict, func(t *Telemetry) *Opt[int32] { return &t.SMClock }),
	optField("mem_clock", "MHz", "clock of the memory", dict, func(t *Telemetry) *Opt[int32] { return &t.MemClock }),
	optField("throttle", "", "why clocks are held down: the bits of NVML's clocks event reasons", dict, func(t *Telemetry) *Opt[int64] { return &t.Throttle }),
	doubleField("temperature", "°C", "temperature of the chip", func(t *Telemetry) *Opt[float64] { return &t.Temperature }),
	optField("ecc_corrected", "", "memory errors that were corrected, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.ECCCorrected }),
	optField("ecc_uncorrected", "", "memory errors that were not, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.ECCUncorrected }),
	optField("nvlink_rx", byteCount, "received over NVLink, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.NVLinkRx }),
	optField("nvlink_tx", byteCount, "sent over NVLink, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.NVLinkTx }),
	optField("pcie_rx", byteCount, "received over PCIe, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.PCIeRx }),
	optField("pcie_tx", byteCount, "sent over PCIe, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.PCIeTx }),
	textField("processes", true, "JSON array of objects, one for each process on the GPU: pid, and where known name, memory in B, job, container, pod, instance of MIG, and read and written, counters in B", func(t *Telemetry) *string { return &t.Processes }),
	doubleField("sm_active", "", "share of the multiprocessors that had work, averaged over them and over time, 0 to 1; no other measure of utilisation", func(t *Telemetry) *Opt[float64] { return &t.SMActive }),
	doubleField("mem_temperature", "°C", "temperature of the memory", func(t *Telemetry) *Opt[float64] { return &t.MemTemperature }),
	optField("retired_pages", "", "pages of memory retired and rows remapped so far", delta, func(t *Telemetry) *Opt[int64] { return &t.RetiredPages }),
	textField("stat", true, "null for a sample; else what the row says of the samples of a window: mean, p50, p95, p99 or max", func(t *Telemetry) *string { return &t.Stat }),
	optField("width", microseconds, "length of that window, from time on", dict, func(t *Telemetry) *Opt[model.Duration] { return &t.Width }),
	doubleField("tensor_active", "", "share of the cycles in which the tensor cores worked, averaged over the multiprocessors, 0 to 1", func(t *Telemetry) *Opt[float64] { return &t.TensorActive }),
	doubleField("dram_active", "", "bytes moved to and from the memory of the GPU, of the most that it could move in the time, 0 to 1", func(t *Telemetry) *Opt[float64] { return &t.DRAMActive }),
	optField("power_violation", microseconds, "time in which clocks were held down for power, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.PowerViolation }),
	optField("thermal_violation", microseconds, "time in which clocks were held down for heat, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.ThermalViolation }),
	optField("nvlink_errors", "", "CRC errors of flits and of data, replays and recoveries over all NVLinks, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.NVLinkErrors }),
	doubleField("cpu_util", "", "of a node: share of the time in which its processors worked, averaged over them, 0 to 1", func(t *Telemetry) *Opt[float64] { return &t.CPUUtil }),
	optField("cpu_energy", "mJ", "of a node: energy consumed by its processor packages alone, a counter; a part of what energy is of", delta, func(t *Telemetry) *Opt[int64] { return &t.CPUEnergy }),
	optField("disk_read", byteCount, "of a node: read from its disks, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.DiskRead }),
	optField("disk_written", byteCount, "of a node: written to its disks, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.DiskWritten }),
	optField("net_rx", byteCount, "of a node: received by its network adapters, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.NetRx }),
	optField("net_tx", byteCount, "of a node: sent by its network adapters, a counter", delta, func(t *Telemetry) *Opt[int64] { return &t.NetTx }),
}

var instanceFields = []field[Instance]{
	textField("node", false, "node name, as in the nodes table", func(i *Instance) *string { return &i.Node }),
	numberField("gpu", "", "index in its node of the GPU that it is a part of, as in telemetry", dict, func(i *Instance) *int32 { return &i.GPU }),
	textField("gpu_uuid", true, "UUID of that GPU", func(i *Instance) *string { return &i.GPUUUID }),
	numberField("gpu_instance", "", "id of the GPU instance in its GPU", dict, func(i *Instance) *int32 { return &i.GPUInstance }),
	textField("uuid", true, "UUID of its MIG device; of an instance that is divided into compute instances those of all, with commas between them", func(i *Instance) *string { return &i.UUID }),
	textField("profile", true, "profile of the GPU instance, such as 1g.10gb", func(i *Instance) *string { return &i.Profile }),
	numberField("time", microseconds, "when it was measured", delta, func(i *Instance) *model.Time { return &i.Time }),
	optField("multiprocessors", "", "that it has", dict, func(i *Instance) *Opt[int32] { return &i.Multiprocessors }),
	optField("mem_total", byteCount, "memory that it has", dict, func(i *Instance) *Opt[int64] { return &i.MemTotal }),
	optField("mem_used", byteCount, "memory in use; a part of that of its GPU", delta, func(i *Instance) *Opt[int64] { return &i.MemUsed }),
	doubleField("sm_active", "", "share of its multiprocessors that had work, as the driver says it of the instance, 0 to 1", func(i *Instance) *Opt[float64] { return &i.SMActive }),
	doubleField("tensor_active", "", "the same of the cycles of its tensor cores", func(i *Instance) *Opt[float64] { return &i.TensorActive }),
	doubleField("dram_active", "", "the same of the bandwidth of its memory", func(i *Instance) *Opt[float64] { return &i.DRAMActive }),
	textField("processes", true, "as in telemetry: those in the instance, which stand with the GPU too", func(i *Instance) *string { return &i.Processes }),
	textField("stat", true, "as in telemetry", func(i *Instance) *string { return &i.Stat }),
	optField("width", microseconds, "as in telemetry", dict, func(i *Instance) *Opt[model.Duration] { return &i.Width }),
}

func kindField() field[Job] {
	f := textField(columnKind, false, "bounded, service, reactive or session", func(j *Job) *string { return &j.Kind })
	f.fallback = &cell{s: kindBounded}
	return f
}

func upField() field[Node] {
	return field[Node]{
		Column: Column{Name: "up", Type: Bool, Doc: "up at the start"},
		layout: plain,
		load:   func(n *Node) cell { return cell{n: boolBit(n.Up)} },
		store:  func(n *Node, c cell) { n.Up = c.n != 0 },
	}
}
