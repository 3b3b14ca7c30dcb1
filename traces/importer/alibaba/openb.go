// Package alibaba reads the public cluster traces of Alibaba: so far openb, the GPU
// cluster of 2023 (cluster-trace-gpu-v2023), whose pods and nodes are two CSVs. They are
// imported together into one bundle, or each alone. It knows nothing of what a replay
// makes of a pod.
//
// Pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase and
// the seconds creation_time, deletion_time and scheduled_time from an arbitrary zero,
// so that the epoch is not known. A pod is a job on one node:
//
//   - CPUs are rounded up to whole ones, counted as cpus-rounded-up; extra.cpu_milli has
//     the exact number.
//   - gpu_milli below 1000 is a share of one GPU; else the pod has num_gpu whole ones.
//   - gpu_spec names one model (gpu_type) or several (gpu_types).
//   - qos is the QOS and the tenant: pods have no users.
//   - It ran from scheduled_time to deletion_time. One that was never scheduled was
//     withdrawn at deletion_time. Pods in the phase Running still ran when the trace was
//     taken, at the latest: their end is that of the trace.
//
// The variants of the pod list without times (cpu050, gpushare40, multigpu50 and the
// like) are no workload: there is nothing to say when their pods come.
//
// Nodes: sn, cpu_milli, memory_mib, gpu, model. A node is up at the start.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2023.
package alibaba

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Openb is the format.
var Openb = &format.Format{
	Name: "openb", Version: 2, Sequenced: true, Files: 2, What: "pods and nodes of Alibaba's GPU cluster of 2023 (openb)", Sniff: sniff, Scan: scan,
}

// Columns of pods, by their place in podColumns.
const (
	podName = iota
	podCPU
	podMemory
	podGPUs
	podMilli
	podSpec
	podQOS
	podPhase
	podCreated
	podDeleted
	podScheduled
)

var podColumns = []string{podName: "name", podCPU: "cpu_milli", podMemory: "memory_mib", podGPUs: "num_gpu", podMilli: "gpu_milli", podSpec: "gpu_spec",
	podQOS: "qos", podPhase: "pod_phase", podCreated: "creation_time", podDeleted: "deletion_time", podScheduled: "scheduled_time"}

// Columns of nodes, by their place in nodeColumns.
const (
	nodeName = iota
	nodeCPU
	nodeMemory
	nodeGPUs
	nodeModel
)

var nodeColumns = []string{nodeName: "sn", nodeCPU: "cpu_milli", nodeMemory: "memory_mib", nodeGPUs: "gpu", nodeModel: "model"}

func sniff(h format.Head) format.Match {
	pods, nodes := format.HeaderMatch(h, ',', podColumns...), format.HeaderMatch(h, ',', nodeColumns...)
	if nodes.Err == nil || pods.Err != nil && nodes.Percent > pods.Percent {
		return nodes
	}
	if pods.Err != nil && isUntimed(h) {
		return format.Match{Percent: 100}
	}
	return pods
}

// isUntimed says whether a file is a list of pods without times.
func isUntimed(h format.Head) bool {
	return format.HeaderMatch(h, ',', podColumns...).Err != nil && format.HeaderMatch(h, ',', podColumns[:podSpec]...).Err == nil
}

func scan(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	var pods, nodes *format.File
	for i := range files {
		role, at := "pods", &pods
		if format.HeaderMatch(files[i].Head, ',', nodeColumns...).Err == nil {
			role, at = "nodes", &nodes
		}
		if *at != nil {
			return nil, &traces.DataError{File: files[i].Name, Found: "a second list of " + role, Expected: "one list of pods and one of nodes", Mend: "import each pair into a bundle of its own"}
		}
		*at = &files[i]
	}
	if nodes != nil {
		l.Account.Assume("nodes.up", "true", "the list does not say which nodes were down")
	}
	take, columns := pod, podColumns
	switch untimed := pods != nil && isUntimed(pods.Head); {
	case pods == nil:
	case untimed && !o.Sequence:
		return nil, &traces.DataError{File: pods.Name, Found: "pods without times", Expected: "when they come", Mend: "take the list openb_pod_list_default or one of gpuspec, or give --arrival sequence: they come one after another, a second apart, and stay"}
	case !untimed && o.Sequence:
		return nil, &traces.DataError{File: pods.Name, Found: "pods with times", Expected: "a list without them, as --arrival sequence says", Mend: "leave the flag out"}
	case untimed:
		take, columns = podInSequence, podColumns[:podSpec]
		l.Account.Assume("jobs.submit", "one a second, in the order of the list", "the list has no times, and --arrival sequence was given")
		l.Account.Assume("jobs.kind", "service", "the list does not say when a pod ends: they stay")
	default:
		l.Account.Assume("jobs.tenant", "the QOS", "pods have no users, and limits are by QOS")
		l.Account.Assume("jobs.end", "deletion_time", "also of pods that still ran when the trace was taken")
	}
	l.Read = func(s *format.Sink) error {
		if pods != nil {
			if err := format.Rows(*pods, ',', columns, func(r *format.Row) error { return take(format.CellsOf(r), s) }); err != nil {
				return err
			}
		}
		if nodes == nil {
			return nil
		}
		return format.Rows(*nodes, ',', nodeColumns, func(r *format.Row) error { return node(format.CellsOf(r), s) })
	}
	return l.Scan()
}

// pod is a job.
func pod(c *format.Cells, s *format.Sink) error {
	j := traces.Job{ID: c.N, Name: c.Text(podName), QOS: c.Text(podQOS), GPUTypes: c.Text(podSpec), NodesMin: traces.Some[int32](1)}
	cpu, memory, gpus, milli := c.Count(podCPU), c.Count(podMemory), c.Count(podGPUs), c.Count(podMilli)
	j.ExitState = c.Word(podPhase, "Running", "RUNNING", "Succeeded", "COMPLETED", "Failed", "FAILED", "Pending", "PENDING")
	j.Tenant = j.QOS
	request(c.Row, &j, int64(cpu), int64(memory), int64(gpus), int64(milli))
	drop := span(c, &j)
	if c.Err != nil {
		return c.Err
	}
	return s.Job(c.Place(j.Name), &j, drop)
}

// podInSequence is a job of a list without times.
func podInSequence(c *format.Cells, s *format.Sink) error {
	j := traces.Job{ID: c.N, Name: c.Text(podName), Kind: "service", NodesMin: traces.Some[int32](1), Submit: model.Time(c.N-1) * model.Time(model.Second)}
	cpu, memory, gpus, milli := c.Count(podCPU), c.Count(podMemory), c.Count(podGPUs), c.Count(podMilli)
	request(c.Row, &j, int64(cpu), int64(memory), int64(gpus), int64(milli))
	if c.Err != nil {
		return c.Err
	}
	return s.Job(c.Place(j.Name), &j, "")
}

// request is what the pod asks for.
func request(r *format.Row, j *traces.Job, cpu, memory, gpus, milli int64) {
	if cpu == 0 {
		r.Repair("zero-cpus")
	} else {
		whole := int32((cpu + 999) / 1000)
		j.CPUsPerNode, j.ProcsRequested = traces.Some(whole), traces.Some(whole)
		if cpu%1000 != 0 {
			r.Repair("cpus-rounded-up")
			j.Extra = `{"cpu_milli":` + strconv.FormatInt(cpu, 10) + `}`
		}
	}
	if memory == 0 {
		r.Repair("zero-memory")
	} else {
		j.MemPerNode = traces.Some(memory << 20)
	}
	j.GPUsPerNode, j.GPUsTotal = traces.Some(int32(gpus)), traces.Some(int32(gpus))
	switch {
	case gpus == 1 && milli > 0 && milli < 1000:
		j.GPUMilli = traces.Some(int32(milli))
	case gpus == 0 && milli == 0, gpus > 0 && milli == 1000:
	default:
		r.Repair("gpu-share-left-out")
	}
	if !strings.Contains(j.GPUTypes, "|") {
		j.GPUType, j.GPUTypes = j.GPUTypes, ""
	}
}

// span is when the pod came, ran and went, and why it cannot be kept.
func span(c *format.Cells, j *traces.Job) (drop string) {
	j.Submit = c.Since(podCreated)
	if !c.Has(podDeleted) {
		return "no-deletion-time"
	}
	gone := c.Since(podDeleted)
	if !c.Has(podScheduled) {
		j.CancelledAt, j.ExitState = traces.Some(gone), "CANCELLED"
		return ""
	}
	begun := c.Since(podScheduled)
	j.Start, j.End, j.Runtime = traces.Some(begun), traces.Some(gone), traces.Some(gone.Sub(begun))
	if gone < begun {
		return "deleted-before-scheduled"
	}
	return ""
}

// node is one that is up.
func node(c *format.Cells, s *format.Sink) error {
	cpu := c.Count(nodeCPU)
	n := traces.Node{Name: c.Text(nodeName), GPUModel: c.Text(nodeModel), CPUs: cpu / 1000, Memory: int64(c.Count(nodeMemory)) << 20, GPUs: c.Count(nodeGPUs), Up: true}
	if cpu%1000 != 0 {
		c.Repair("cpus-rounded-down")
	}
	if c.Err != nil {
		return c.Err
	}
	return s.Node(c.Place(n.Name), &n, "")
}
