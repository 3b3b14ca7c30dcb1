package alibaba

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// DLRM is the format of the disaggregated recommendation models of 2025: instances with 17
// columns, times in seconds from the start of the trace, empty before its start and behind its end. An
// instance that was there before the start is submitted at 0, counted as before-the-trace; one that is there at the end
// has no end, and runs until the last instant of the file is not assumed.
// Instances of one application share a node up to max_instance_per_node, which is kept in extra, as are
// RDMA and disk.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2025.
var DLRM = format.Spec{
	Format: format.Format{Name: "alibaba-dlrm", Version: 1, What: "instances of Alibaba's recommendation models of 2025 (disaggregated_DLRM_trace.csv)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"instance_sn", "role", "app_name", "cpu_request", "gpu_request", "memory_request", "creation_time", "scheduled_time", "deletion_time"}},
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("jobs.kind", "service", "instances serve until they are deleted")
		t.Log.Account.Assume("jobs.tenant", "the application", "instances have no users")
		return nil
	},
	Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.N, Name: c.Text(0), Kind: "service", Group: c.Name(2), Tenant: c.Name(2), NodesMin: traces.Some[int32](1), CPUsPerNode: c.OptCount(3), GPUsPerNode: c.OptCount(4)}
		j.ProcsRequested, j.GPUsTotal = j.CPUsPerNode, j.GPUsPerNode
		if mem := c.OptReal(5); mem.V > 0 && mem.V < 1<<30 {
			j.MemPerNode = traces.Some(int64(float64(mem.V * (1 << 30))))
		}
		c.Keep("role", c.Raw(1))
		created := c.OptAt(6, model.Second)
		j.Submit, j.Start, j.End = created.V, c.OptAt(7, model.Second), c.OptAt(8, model.Second)
		if !created.OK {
			c.Repair("before-the-trace")
			if j.Start.OK && j.Start.V > 0 {
				j.Submit = 0
			}
		}
		if !j.Start.OK && !created.OK {
			j.Start = traces.Some(j.Submit)
		}
		if j.Start.OK && j.End.OK {
			j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
		}
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.Name), &j, "")
	},
}.Build()

// SpotNodes is the format of the nodes of the cluster with spot GPUs of 2026.
var SpotNodes = format.Spec{
	Format: format.Format{Name: "alibaba-spot-nodes", Version: 1, What: "nodes of Alibaba's cluster with spot GPUs of 2026 (node_info_df.csv)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"gpu_model", "gpu_capacity_num", "cpu_num", "node_name"}},
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("nodes.up", "true", "the list does not say which nodes were down")
		return nil
	},
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		n := traces.Node{Name: c.Text(3), GPUModel: c.Name(0), GPUs: c.Count(1), CPUs: c.Count(2), Up: true}
		if c.Err != nil {
			return c.Err
		}
		return s.Node(c.Place(n.Name), &n, "")
	},
}.Build()

// SpotJobs is the format of the jobs of that cluster: requests of each worker, times in seconds from
// the first submission, job_type HP or Spot, which becomes the QOS. Untested on real rows.
var SpotJobs = format.Spec{
	Format:   format.Format{Name: "alibaba-spot", Version: 1, Untested: true, What: "jobs of Alibaba's cluster with spot GPUs of 2026 (job_info_df.csv)"},
	Layout:   format.Layout{Comma: ',', Columns: []string{"job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num", "submit_time", "duration", "job_type"}},
	Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		workers := c.Count(5)
		cpu, gpu := c.OptReal(3), c.OptReal(4)
		j := traces.Job{ID: c.N, Name: c.Text(0), Tenant: c.Name(1), GPUType: c.Name(2), NodesMin: traces.Some(workers), Submit: c.Instant(6, model.Second), Runtime: c.OptSpan(7, model.Second), QOS: c.Name(8)}
		if cpu.V < 0 || cpu.V > 1<<20 || gpu.V < 0 || gpu.V > 1<<20 {
			c.Fail(3, "a request of a worker")
		}
		perCPU, perGPU := ceil(c, "cpus-rounded-up", cpu.V), int64(0)
		if gpu.V > 0 && gpu.V < 1 {
			j.GPUMilli, perGPU = traces.Some(int32(max(1, float64(gpu.V*1000)))), 1
		} else {
			perGPU = ceil(c, "gpus-rounded-up", gpu.V)
		}
		totals(c, &j, int64(workers), perCPU, perGPU)
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.Name), &j, "")
	},
}.Build()

// ceil is a number of things, rounded up.
func ceil(c *format.Cells, rule string, x float64) int64 {
	n := int64(x)
	if float64(n) < x {
		c.Repair(rule)
		n++
	}
	return n
}

// totals are the requests of workers times their number.
func totals(c *format.Cells, j *traces.Job, workers, cpus, gpus int64) {
	if workers*max(cpus, gpus) > format.MostCount {
		c.Err = c.Wrong(0, "requests of less than 2^30 in all", "correct the row, or leave it out")
		return
	}
	j.NodesMin = traces.Some(int32(workers))
	j.GPUsPerNode, j.GPUsTotal = traces.Some(int32(gpus)), traces.Some(int32(workers*gpus))
	if cpus > 0 {
		j.CPUsPerNode, j.ProcsRequested = traces.Some(int32(cpus)), traces.Some(int32(workers*cpus))
	}
}

// PAISpec is the format of the machines of PAI of 2020: machine,gpu_type,cap_cpu,cap_mem,cap_gpu, in the
// published file without these names; memory in GB, the type CPU for machines without a GPU.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2020.
var PAISpec = format.Spec{
	Format: format.Format{Name: "pai-machines", Version: 1, What: "machines of Alibaba's PAI of 2020 (pai_machine_spec)", Sniff: sniffPAI(paiSpec, 1, "CPU", "P100", "V100", "V100M32", "T4", "MISC", "UNKNOWN")},
	Layout: format.Layout{Comma: ',', Header: paiSpec, Columns: paiSpec},
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("nodes.up", "true", "the list does not say which machines were down")
		return nil
	},
	Row: belowNames(paiSpec, func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		n := traces.Node{Name: c.Text(0), CPUs: c.Count(2), Memory: int64(c.Count(3)) << 30, GPUs: c.Count(4), Up: true}
		if kind := c.Name(1); kind != "CPU" {
			n.GPUModel = kind
		}
		if c.Err != nil {
			return c.Err
		}
		return s.Node(c.Place(n.Name), &n, "")
	}),
}.Build()

var (
	paiSpec = strings.Split("machine,gpu_type,cap_cpu,cap_mem,cap_gpu", ",")
	paiTask = strings.Split("job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type", ",")
)

// belowNames passes over the names of the columns, which a file may have though the published
// ones do not.
func belowNames(names []string, row func(*format.Table, *format.Cells, *format.Sink) error) func(*format.Table, *format.Cells, *format.Sink) error {
	return func(t *format.Table, c *format.Cells, s *format.Sink) error {
		if c.N == 1 && c.Raw(0) == names[0] {
			return nil
		}
		return row(t, c, s)
	}
}

// sniffPAI wants rows of so many fields of which one is one of some words.
func sniffPAI(names []string, at int, words ...string) func(format.Head) format.Match {
	return func(h format.Head) format.Match {
		for i, line := range format.Lines(h) {
			f := strings.Split(line, ",")
			if i == 0 && line == strings.Join(names, ",") {
				if h.Whole && len(format.Lines(h)) == 1 {
					return format.No(95, 1, "the names of the columns alone", "rows", "name the table itself: the file .header only describes it")
				}
				continue
			}
			if len(f) == len(names) {
				for _, w := range words {
					if f[at] == w {
						return format.Match{Percent: 100}
					}
				}
			}
			break
		}
		return format.No(0, 1, "other columns", strings.Join(names, ","), "name another file")
	}
}

// PAITasks is the format of the tasks of PAI: each row is a task of a job, of as many instances
// as inst_num, with its plan for each: hundredths of a core, GB, hundredths of a GPU. When it was
// submitted is not in the table: its start is taken. Untested on real rows.
var PAITasks = format.Spec{
	Format: format.Format{Name: "pai-tasks", Version: 1, Untested: true, What: "tasks of Alibaba's PAI of 2020 (pai_task_table)", Sniff: sniffPAI(paiTask, 3, "Terminated", "Failed", "Waiting", "Running")},
	Layout: format.Layout{Comma: ',', Header: paiTask, Columns: paiTask}, Relative: true,
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("jobs.submit", "the start", "the table does not say when a task was submitted")
		return nil
	},
	Row: belowNames(paiTask, func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.N, Name: c.Text(1), Group: c.Text(0), Start: c.OptAt(4, model.Second), End: c.OptAt(5, model.Second), GPUTypes: "",
			ExitState: c.Word(3, "Terminated", "COMPLETED", "Failed", "FAILED", "Waiting", "PENDING", "Running", "RUNNING")}
		instances := max(1, c.OptWhole(2, 0, format.MostCount).V)
		j.Submit = j.Start.V
		cpu, mem, gpu := c.OptReal(6), c.OptReal(7), c.OptReal(8)
		if min(cpu.V, mem.V, gpu.V) < 0 || max(cpu.V, mem.V, gpu.V) > 1<<20 {
			c.Fail(6, "a plan of an instance")
		}
		gpus := int64(0)
		if gpu.V > 0 && gpu.V < 100 {
			gpus = 1
			j.GPUMilli = traces.Some(int32(max(1, float64(gpu.V*10))))
		} else {
			gpus = ceil(c, "gpus-rounded-up", float64(gpu.V/100))
		}
		totals(c, &j, instances, ceil(c, "cpus-rounded-up", float64(cpu.V/100)), gpus)
		if mem.V > 0 {
			j.MemPerNode = traces.Some(int64(float64(mem.V * (1 << 30))))
		}
		if kind := c.Name(9); kind != "MISC" && kind != "CPU" {
			j.GPUType = kind
		}
		drop := ""
		switch {
		case !j.Start.OK:
			drop = "no-start"
		case j.End.OK:
			j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
		}
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.Group+"/"+j.Name), &j, drop)
	}),
}.Build()

// Requests is the format of the image requests of GenAI of 2026 (lora_request_trace.csv): one sample
// of width 0 for each, with the seconds of its execution as work where it succeeded. Those
// that failed or had not ended keep no work. The service is the type of the request.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-v2026-GenAI.
var Requests = format.Spec{
	Format: format.Format{Name: "alibaba-genai", Version: 2, Zoned: true, What: "requests of Alibaba's GenAI serving of 2026 (lora_request_trace.csv)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"gmt_create", "predict_type", "predict_status", "exec_time_seconds"}},
	Begin: func(t *format.Table, o format.Options) error {
		t.Clock.Zone = t.Log.Account.OrUTC(o.Zone, "the column is named gmt_create; --time-zone gives another")
		return nil
	},
	Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
		state := c.Word(2, "SUCCEED", "SUCCEED", "FAILED", "FAILED", "PENDING", "", "PROCESSING", "")
		l := traces.Load{Service: c.Text(1), Time: c.When(0, &t.Clock), Arrivals: traces.Some(1.0)}
		if work := c.OptSpan(3, model.Second); state == "SUCCEED" {
			l.Work = work
		}
		if c.Err != nil {
			return c.Err
		}
		return s.Load(c.Place(strconv.FormatInt(c.N, 10)), &l, "")
	},
}.Build()
