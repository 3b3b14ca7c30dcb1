package workflow

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

var gwfColumns = []string{"WorkflowID", "JobID", "SubmitTime", "RunTime", "NProcs", "ReqNProcs", "Dependencies"}

// GWF is the format of the Grid Workload Format with the names of its columns, as OpenDC and WorkflowSim use it: instants
// in seconds from an arbitrary zero, dependencies as numbers of jobs between blanks.
var GWF = format.Spec{
	Format: format.Format{Name: "gwf", Version: 1, Files: 1, What: "workflows in the Grid Workload Format (WorkflowID,JobID,SubmitTime,RunTime,NProcs,ReqNProcs,Dependencies)"},
	Layout: format.Layout{Comma: ',', Columns: gwfColumns}, Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.Whole(1, 0, 1<<62), DAG: c.Name(0), Submit: c.Instant(2, model.Second), Runtime: c.OptSpan(3, model.Second), ProcsAllocated: c.OptCount(4), ProcsRequested: c.OptCount(5)}
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return waits(c, s, &j, 6)
	},
}.Build()

// waits hands over a job and its dependencies, ids between blanks.
func waits(c *format.Cells, s *format.Sink, j *traces.Job, k int) error {
	var before []int64
	for _, word := range strings.Fields(c.Raw(k)) {
		on, err := strconv.ParseInt(word, 10, 64)
		switch {
		case err != nil || on < -1:
			c.Fail(k, "numbers of jobs between blanks")
			return c.Err
		case on >= 0:
			before = append(before, on)
		}
	}
	place := c.Place(strconv.FormatInt(j.ID, 10))
	if err := s.Job(place, j, ""); err != nil {
		return err
	}
	place.Repaired = nil // they are of the row
	for _, on := range before {
		if err := s.Dep(place, &traces.Dep{Job: j.ID, On: on, Condition: "success"}, ""); err != nil {
			return err
		}
	}
	return nil
}

const (
	wtfID = iota
	wtfSubmit
	wtfRuntime
	wtfAmount
	wtfParents
	wtfUser
	wtfGroup
	wtfWorkflow
	wtfWait
	wtfMemory
	wtfKind
	wtfElements // parents, as other writers name the elements of a list
)

// Names of a list's elements differ between writers.
var wtfColumns = []string{wtfID: "id", wtfSubmit: "ts_submit", wtfRuntime: "runtime", wtfAmount: "resource_amount_requested", wtfParents: "parents.list.item?",
	wtfUser: "user_id?", wtfGroup: "group_id?", wtfWorkflow: "workflow_id", wtfWait: "wait_time", wtfMemory: "memory_requested?", wtfKind: "resource_type?", wtfElements: "parents.list.element?"}

// WTF is the format of the tasks of the Workflow Trace Archive, in Parquet: times in ms from the start of
// the trace; -1 is missing. Ids are numbers of 64 bits. The tables of workflows and of the workload repeat what
// follows from the tasks and are not read.
var WTF = &format.Format{
	Name: "wtf", Version: 1, Files: 1, Parquet: true, What: "tasks of the Workflow Trace Archive (Parquet)",
	Sniff: func(h format.Head) format.Match { return format.ColumnsMatch(h, wtfColumns...) },
	Scan: func(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
		l := &format.Log{Format: f, Files: files, Relative: true}
		l.Account.Assume("unit of times", "ms", "the archive says so")
		l.Read = func(s *format.Sink) error {
			return format.ParquetRows(files[0], wtfColumns, func(r *format.Row) error { return wtfTask(format.CellsOf(r), s) })
		}
		return l.Scan()
	},
}

func wtfTask(c *format.Cells, s *format.Sink) error {
	j := traces.Job{ID: c.Whole(wtfID, 0, 1<<62), User: positive(c, wtfUser), Account: positive(c, wtfGroup), DAG: positive(c, wtfWorkflow), Submit: c.Instant(wtfSubmit, model.Millisecond)}
	if run := c.OptSpan(wtfRuntime, model.Millisecond); run.V >= 0 {
		j.Runtime = run
	}
	if wait := c.OptSpan(wtfWait, model.Millisecond); wait.OK && wait.V > 0 && j.Runtime.OK {
		j.Start = traces.Some(j.Submit.Add(wait.V))
		j.End = traces.Some(j.Start.V.Add(j.Runtime.V))
	}
	if n := c.OptReal(wtfAmount); n.V > 0 && n.V <= format.MostCount {
		procs := int32(n.V)
		if float64(procs) < n.V {
			procs++
			c.Repair("cpus-rounded-up")
		}
		j.ProcsRequested = traces.Some(procs)
	}
	if c.Err != nil {
		return c.Err
	}
	parents := wtfParents
	if c.At[parents] < 0 {
		parents = wtfElements
	}
	return waits(c, s, &j, parents)
}

// positive is a number as a name, "" for -1.
func positive(c *format.Cells, k int) string {
	if text := c.Name(k); text != "-1" {
		return text
	}
	return ""
}

var opendcColumns = []string{"id", "submission_time", "duration", "cpu_count", "mem_capacity?", "cpu_capacity?", "name?", "gpu_count?"}

// OpenDC is the format of the tasks of OpenDC in Parquet: submission_time, an instant, duration in
// ms, cpu_count, mem_capacity in MB. Fragments, which say how busy a task is, are not read. Untested on real
// rows.
var OpenDC = &format.Format{
	Name: "opendc", Version: 1, Files: 1, Parquet: true, Untested: true, What: "tasks of OpenDC (tasks.parquet)",
	Sniff: func(h format.Head) format.Match { return format.ColumnsMatch(h, opendcColumns...) },
	Scan: func(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
		l := &format.Log{Format: f, Files: files}
		l.Account.Assume("time zone", "UTC", "instants of the file have none")
		l.Read = func(s *format.Sink) error {
			return format.ParquetRows(files[0], opendcColumns, func(r *format.Row) error {
				c := format.CellsOf(r)
				j := traces.Job{ID: c.N, Name: c.Name(6), Submit: c.Instant(1, model.Microsecond), Runtime: c.OptSpan(2, model.Millisecond), NodesMin: traces.Some[int32](1),
					CPUsPerNode: c.OptCount(3), GPUsPerNode: c.OptCount(7)}
				if j.Name == "" {
					j.Name = c.Text(0)
				}
				j.ProcsRequested, j.GPUsTotal = j.CPUsPerNode, j.GPUsPerNode
				if mem := c.OptWhole(4, 0, 1<<40); mem.V > 0 {
					j.MemPerNode = traces.Some(mem.V * 1e6)
				}
				if c.Err != nil {
					return c.Err
				}
				return s.Job(c.Place(j.Name), &j, "")
			})
		}
		return l.Scan()
	},
}
