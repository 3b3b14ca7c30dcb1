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
	"fmt"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Openb is the format.
var Openb = &format.Format{
	Name: "openb", Version: 1, Files: 2, What: "pods and nodes of Alibaba's GPU cluster of 2023 (openb)", Sniff: sniff, Scan: scan,
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
	if pods.Err != nil && pods.Percent > 0 {
		if m := format.HeaderMatch(h, ',', podColumns[:podSpec]...); m.Err == nil {
			pods.Percent, pods.Err.Found = 95, "pods without times"
			pods.Err.Mend = "take the list openb_pod_list_default or one of gpuspec: the other variants do not say when their pods come"
		}
	}
	return pods
}

// cluster is a list of pods, of nodes, or both.
type cluster struct {
	format      *format.Format
	files       []format.File
	pods, nodes *format.File // nil when there is none
	account     format.Account
	unsorted    string // the first pod out of order
	size        struct{ nodes, cpus int64 }
}

func scan(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	c := &cluster{format: f, files: files}
	for i := range files {
		list, role, at := &files[i], "pods", &c.pods
		if format.HeaderMatch(list.Head, ',', nodeColumns...).Err == nil {
			role, at = "nodes", &c.nodes
		}
		if *at != nil {
			return nil, &traces.DataError{File: list.Name, Found: "a second list of " + role, Expected: "one list of pods and one of nodes", Mend: "import each pair into a bundle of its own"}
		}
		*at = list
	}
	if c.nodes != nil {
		if err := c.eachNode(func(*format.Row, *traces.Node) error { return nil }); err != nil {
			return nil, err
		}
		c.account.Assume("nodes.up", "true", "the list does not say which nodes were down")
	}
	if c.pods == nil {
		return c, nil
	}
	last := model.AbsentTime
	err := format.Rows(*c.pods, ',', podColumns, func(r *format.Row) error {
		if _, _, err := pod(r); err != nil {
			return err
		}
		at, err := created(r)
		if at < last && c.unsorted == "" {
			c.unsorted = fmt.Sprintf("line %d", r.Line)
		}
		last = at
		return err
	})
	if err != nil {
		return nil, err
	}
	c.account.Assume("jobs.tenant", "the QOS", "pods have no users, and limits are by QOS")
	c.account.Assume("jobs.end", "deletion_time", "also of pods that still ran when the trace was taken")
	return c, nil
}

func created(r *format.Row) (model.Time, error) {
	n, err := seconds(r, podCreated)
	return model.Time(n), err
}

// seconds is a time of the trace, in µs.
func seconds(r *format.Row, column int) (model.Duration, error) {
	n, err := r.Int(r.At[column])
	if err == nil && (n < 0 || n > 1<<40) {
		err = r.Wrong(r.At[column], "seconds from the start of the trace", "correct the value, or leave the row out")
	}
	return model.Duration(n) * model.Second, err
}

// Write implements format.Scanned.
func (c *cluster) Write(w *traces.Writer) error {
	c.account.Again()
	rules := traces.NewRules()
	if c.pods != nil {
		table := c.account.Table("jobs")
		err := format.InOrder(*c.pods, ',', podColumns, c.unsorted == "", created, func(r *format.Row, _ model.Time) error {
			j, drop, err := pod(r)
			if err != nil {
				return err
			}
			table.Read++
			for _, rule := range r.Repaired {
				table.Repair(rule, where(r, j.Name))
			}
			if drop == "" {
				drop = ruleName(rules.Job(&j))
			}
			if drop != "" {
				table.Drop(drop, where(r, j.Name))
				return nil
			}
			table.Kept++
			return w.WriteJob(&j)
		})
		if err != nil {
			return err
		}
		if c.unsorted != "" {
			table.Repair("sorted", c.unsorted)
		}
	}
	if c.nodes == nil {
		return nil
	}
	table := c.account.Table("nodes")
	c.size.nodes, c.size.cpus = 0, 0
	return c.eachNode(func(r *format.Row, n *traces.Node) error {
		table.Read++
		for _, rule := range r.Repaired {
			table.Repair(rule, where(r, n.Name))
		}
		if rule := ruleName(rules.Node(n)); rule != "" {
			table.Drop(rule, where(r, n.Name))
			return nil
		}
		table.Kept++
		c.size.nodes++
		c.size.cpus += int64(n.CPUs)
		return w.WriteNode(*n)
	})
}

// ruleName writes a rule of the bundle as importers write theirs.
func ruleName(rule string) string { return strings.ReplaceAll(rule, " ", "-") }

func where(r *format.Row, name string) string { return fmt.Sprintf("line %d: %s", r.Line, name) }

// pod is the job of a row, or why it can be none.
func pod(r *format.Row) (j traces.Job, drop string, err error) {
	var n [podScheduled + 1]int64
	for _, k := range []int{podCPU, podMemory, podGPUs, podMilli} {
		if n[k], err = r.Int(r.At[k]); err != nil {
			return j, "", err
		}
		if n[k] < 0 || n[k] > 1<<30 {
			return j, "", r.Wrong(r.At[k], "a number from 0 to 2^30", "correct the value, or leave the row out")
		}
	}
	texts := [...]struct {
		column int
		to     *string
	}{{podName, &j.Name}, {podQOS, &j.QOS}, {podPhase, &j.ExitState}, {podSpec, &j.GPUTypes}}
	for _, t := range texts {
		if *t.to, err = r.Text(r.At[t.column]); err != nil {
			return j, "", err
		}
	}
	j.ID, j.Kind, j.Tenant, j.NodesMin = r.N, "bounded", j.QOS, traces.Some[int32](1)
	if err := phase(r, &j); err != nil {
		return j, "", err
	}
	request(r, &j, n[podCPU], n[podMemory], n[podGPUs], n[podMilli])
	drop, err = span(r, &j)
	return j, drop, err
}

var phases = map[string]string{"Running": "RUNNING", "Succeeded": "COMPLETED", "Failed": "FAILED", "Pending": "PENDING"}

func phase(r *format.Row, j *traces.Job) error {
	word, known := phases[j.ExitState]
	if !known {
		return r.Wrong(r.At[podPhase], "Running, Succeeded, Failed or Pending", "correct the value, or leave the row out")
	}
	j.ExitState = word
	return nil
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

// span is when the pod came, ran and went.
func span(r *format.Row, j *traces.Job) (drop string, err error) {
	if j.Submit, err = created(r); err != nil {
		return "", err
	}
	if r.Empty(r.At[podDeleted]) {
		return "no-deletion-time", nil
	}
	gone, err := seconds(r, podDeleted)
	if err != nil {
		return "", err
	}
	if r.Empty(r.At[podScheduled]) {
		j.CancelledAt, j.ExitState = traces.Some(model.Time(gone)), "CANCELLED"
		return "", nil
	}
	begun, err := seconds(r, podScheduled)
	if err != nil {
		return "", err
	}
	j.Start, j.End = traces.Some(model.Time(begun)), traces.Some(model.Time(gone))
	j.Runtime = traces.Some(gone - begun)
	if gone < begun {
		return "deleted-before-scheduled", nil
	}
	return "", nil
}

// eachNode goes through the nodes.
func (c *cluster) eachNode(fn func(*format.Row, *traces.Node) error) error {
	return format.Rows(*c.nodes, ',', nodeColumns, func(r *format.Row) error {
		n := traces.Node{Up: true}
		var err error
		if n.Name, err = r.Text(r.At[nodeName]); err != nil {
			return err
		}
		if n.GPUModel, err = r.Text(r.At[nodeModel]); err != nil {
			return err
		}
		var v [nodeModel]int64
		for _, k := range []int{nodeCPU, nodeMemory, nodeGPUs} {
			if v[k], err = r.Int(r.At[k]); err != nil {
				return err
			}
			if v[k] < 0 || v[k] > 1<<30 {
				return r.Wrong(r.At[k], "a number from 0 to 2^30", "correct the value, or leave the row out")
			}
		}
		n.CPUs, n.Memory, n.GPUs = int32(v[nodeCPU]/1000), v[nodeMemory]<<20, int32(v[nodeGPUs])
		if v[nodeCPU]%1000 != 0 {
			r.Repair("cpus-rounded-down")
		}
		return fn(r, &n)
	})
}

// Report implements format.Scanned.
func (c *cluster) Report() traces.Report { return c.account.Report(c.files, c.format) }

// Meta implements format.Scanned.
func (c *cluster) Meta() (traces.Meta, error) {
	m, err := format.Describe(c.files, c.Report())
	m.Sorted = true
	m.MaxNodes, m.MaxProcs = int32(min(c.size.nodes, 1<<31-1)), int32(min(c.size.cpus, 1<<31-1))
	return m, err
}
