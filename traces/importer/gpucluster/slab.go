package gpucluster

import (
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

const (
	slID = iota
	slUser
	slGPUs
	slCPUs
	slNodes
	slState
	slSubmit
	slStart
	slEnd
	slVC   // of Helios
	slType // of Acme
	slMem  // of Kalos
	slDuration
)

// Words for the end of a job in both logs.
var slStates = []string{"COMPLETED", "COMPLETED", "CANCELLED", "CANCELLED", "FAILED", "FAILED", "TIMEOUT", "TIMEOUT", "NODE_FAIL", "NODE_FAIL", "OUT_OF_MEMORY", "OUT_OF_MEMORY"}

var (
	slColumns = []string{slID: "job_id", slUser: "user", slGPUs: "gpu_num", slCPUs: "cpu_num", slNodes: "node_num", slState: "state", slSubmit: "submit_time", slStart: "start_time", slEnd: "end_time"}
	helios    = append(slColumns[:slVC:slVC], "vc", "type?", "mem_per_pod_GB?", "duration?", "queue?")
	acme      = append(slColumns[:slVC:slVC], "vc?", "type", "mem_per_pod_GB?", "duration?", "queue?", "gpu_time?")
)

// Helios is the format of the logs of Helios.
var Helios = slSpec("helios", "jobs of Helios (cluster_log.csv)", helios, true)

// Acme is the format of the logs of Acme.
var Acme = slSpec("acme", "jobs of Acme (trace_seren.csv, trace_kalos.csv)", acme, false)

func slSpec(name, what string, columns []string, zoned bool) *format.Format {
	return format.Spec{
		Format: format.Format{Name: name, Version: 2, Zoned: zoned, Untested: true, What: what}, Layout: format.Layout{Comma: ',', Columns: columns},
		Row: func(t *format.Table, c *format.Cells, s *format.Sink) error {
			j := traces.Job{ID: c.N, Name: c.Text(slID), User: c.Name(slUser), Tenant: c.Name(slVC), NodesMin: c.OptCount(slNodes), GPUsTotal: c.OptCount(slGPUs), ProcsRequested: c.OptCount(slCPUs),
				ExitState: c.Word(slState, slStates...)}
			slInstants(t, c, &j)
			if id := c.Raw(slID); id != "" && len(id) < 19 {
				if n, err := c.Int(c.At[slID]); err == nil {
					j.ID, j.Name = n, ""
				}
			}
			share(c, &j)
			c.Keep("type", c.Raw(slType))
			if mem := c.OptReal(slMem); mem.V > 0 && mem.V < 1<<20 {
				j.MemPerNode = traces.Some(int64(float64(mem.V * (1 << 30))))
			}
			if j.Start.OK && j.End.OK {
				j.Runtime = traces.Some(j.End.V.Sub(j.Start.V))
			} else if j.ExitState == "CANCELLED" && !j.Start.OK {
				j.CancelledAt = j.End
				j.End.OK = false
			}
			j.Extra = c.Extra()
			if c.Err != nil {
				return c.Err
			}
			return s.Job(c.Place(c.Raw(slID)), &j, "")
		},
	}.Build()
}

// slInstants are those of a row. Rows come by submission, or in no order. The column duration of Helios counts from the
// start; that of Acme, whose times name their zone, from submission in some rows.
func slInstants(t *format.Table, c *format.Cells, j *traces.Job) {
	submit, start, end := c.Moment(slSubmit, &t.Clock), c.Moment(slStart, &t.Later), c.Moment(slEnd, &t.Later)
	if !c.Has(slSubmit) {
		c.Fail(slSubmit, format.InstantForms)
	}
	var elapsed traces.Opt[model.Duration]
	if d, _, ok := format.Decimal(c.Raw(slDuration), model.Second); ok {
		elapsed = traces.Some(d)
	}
	c.Decide(elapsed, &submit, &start, &end)
	j.Submit, j.Start, j.End = submit.At().V, start.At(), end.At()
}

// share spreads GPUs and CPUs over the nodes.
func share(c *format.Cells, j *traces.Job) {
	n := j.NodesMin.V
	if n == 0 {
		j.NodesMin.OK = false
		return
	}
	j.GPUsPerNode, j.CPUsPerNode = traces.Some((j.GPUsTotal.V+n-1)/n), traces.Some((j.ProcsRequested.V+n-1)/n)
	if j.GPUsTotal.V%n != 0 || j.ProcsRequested.V%n != 0 {
		c.Repair("uneven-nodes-rounded-up")
	}
	if j.ProcsRequested.V == 0 {
		j.ProcsRequested.OK, j.CPUsPerNode.OK = false, false
	}
}
