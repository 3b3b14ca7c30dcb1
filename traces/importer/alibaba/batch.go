package alibaba

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Batch2017 is the format of the batch tasks of 2017: eight columns, times in seconds from the start
// of the trace. A task is one job of all its instances: instances times CPUs, which are in hundredths of a core and
// rounded up. It is taken to run from its creation to its end. Tasks of the state Waiting ask for
// nothing and never ran; they keep a null start.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-v2017.
var Batch2017 = format.Spec{
	Format: format.Format{Name: "alibaba-2017", Version: 1, What: "batch tasks of Alibaba's cluster of 2017 (batch_task.csv with the names of the columns)"},
	Layout: format.Layout{Comma: ',', Columns: []string{"task_create_time", "task_end_time", "job_id", "task_id", "number_of_instances", "status",
		"number_of_cpus_requested_per_instance_in_the_task", "normalized_memory_requested_per_instance_in_the_task"}},
	Relative: true,
	Begin: func(t *format.Table, _ format.Options) error {
		t.Log.Account.Assume("jobs.start", "the creation", "the table does not say when a task began")
		t.Log.Account.Assume("unit of CPUs", "hundredths of a core", "as in the trace of 2018; the description of 2017 names none")
		return nil
	},
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		created := c.Instant(0, model.Second)
		end := c.OptAt(1, model.Second)
		j := traces.Job{ID: c.N, Name: c.Text(3), DAG: c.Text(2), Submit: created,
			ExitState: c.Word(5, "Terminated", "COMPLETED", "Failed", "FAILED", "Waiting", "PENDING", "Running", "RUNNING", "Cancelled", "CANCELLED", "Ready", "PENDING")}
		procs(c, &j, 4, 6)
		c.Keep("memory_normalized", c.Raw(7))
		if j.ExitState != "PENDING" && end.OK {
			j.Start, j.End, j.Runtime = traces.Some(created), end, traces.Some(end.V.Sub(created))
		}
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(j.DAG+"/"+j.Name), &j, "")
	},
}.Build()

// procs are the processors of all instances.
func procs(c *format.Cells, j *traces.Job, instances, cpu int) {
	n := c.OptWhole(instances, 0, 1<<40)
	x := c.OptReal(cpu)
	c.Keep("instances", c.Raw(instances))
	if !x.OK {
		return
	}
	all := float64(x.V*float64(max(n.V, 1))) / 100
	if !(all >= 0 && all <= format.MostCount) {
		c.Fail(cpu, "hundredths of a core, of less than 2^30 cores in all instances")
		return
	}
	j.ProcsRequested = traces.Some(int32(ceil(c, "cpus-rounded-up", all)))
}

// batchColumns are those of 2018; the published file does not name them.
var batchColumns = strings.Split("task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem", ",")

// Batch2018 is the format of the batch tasks of 2018, with the names of the columns or without. The name of
// a task says what it waits for: M1, R2_1, J3_1_2 (a number, and behind _ those of the tasks before
// it), or nothing (task_xxx, MergeTask). A start or an end of 0 is missing. When a task was
// submitted is not in the table: its start is taken. Rows of one job must follow one another for
// their dependencies to be found; one that names a task which is not there is dropped as unknown-prerequisite.
//
// Source: https://github.com/alibaba/clusterdata, cluster-trace-v2018.
var Batch2018 = &format.Format{
	Name: "alibaba-2018", Version: 1, Files: 1, What: "batch tasks of Alibaba's cluster of 2018 as DAGs (batch_task.csv)", Sniff: sniff2018, Scan: scan2018,
}

func sniff2018(h format.Head) format.Match {
	m := format.HeaderMatch(h, ',', batchColumns...)
	lines := format.Lines(h)
	if m.Err == nil || len(lines) == 0 {
		return m
	}
	f := strings.Split(lines[0], ",")
	if len(f) == len(batchColumns) && (f[4] == "Terminated" || f[4] == "Failed" || f[4] == "Waiting" || f[4] == "Running") && strings.HasPrefix(f[2], "j_") {
		return format.Match{Percent: 100}
	}
	return m
}

func scan2018(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	l.Account.Assume("jobs.submit", "the start", "the table does not say when a task was submitted")
	layout := format.Layout{Comma: ',', Columns: batchColumns}
	if format.HeaderMatch(files[0].Head, ',', batchColumns...).Err != nil {
		layout.Header = batchColumns
	}
	l.Read = func(s *format.Sink) error {
		var d dag
		err := layout.Rows(files[0], func(r *format.Row) error { return d.task(format.CellsOf(r), s) })
		if err != nil {
			return err
		}
		return d.edges(s)
	}
	return l.Scan()
}

// dag is the tasks of one job, while its rows follow one another.
type dag struct {
	job   string
	ids   map[int]int64
	waits []wait
}

type wait struct {
	id   int64
	on   int
	line int64
	name string
}

func (d *dag) task(c *format.Cells, s *format.Sink) error {
	job := c.Text(2)
	if job == "" {
		c.Fail(2, "the name of a job, which says whose tasks this one waits for")
	}
	j := traces.Job{ID: c.N, Name: c.Text(0), DAG: job, ExitState: c.Word(4, "Terminated", "COMPLETED", "Failed", "FAILED", "Waiting", "PENDING", "Running", "RUNNING", "Cancelled", "CANCELLED", "Interrupted", "CANCELLED")}
	procs(c, &j, 1, 7)
	begun, end := c.OptAt(5, model.Second), c.OptAt(6, model.Second)
	c.Keep("task_type", c.Raw(3))
	c.Keep("plan_mem", c.Raw(8))
	j.Extra = c.Extra()
	if c.Err != nil {
		return c.Err
	}
	if job != d.job {
		if err := d.edges(s); err != nil {
			return err
		}
		*d = dag{job: job, ids: map[int]int64{}}
	}
	drop := ""
	if begun.V == 0 {
		drop = "no-start"
	}
	j.Submit, j.Start = begun.V, begun
	if end.V > 0 {
		j.End, j.Runtime = end, traces.Some(end.V.Sub(begun.V))
	}
	place := c.Place(d.job + "/" + j.Name)
	if number, on, ok := prerequisites(j.Name); ok {
		if drop == "" && (j.Runtime.V >= 0) {
			d.ids[number] = j.ID
		}
		for _, o := range on {
			d.waits = append(d.waits, wait{j.ID, o, c.Line, place.Name})
		}
		if drop != "" || j.Runtime.V < 0 {
			d.waits = d.waits[:len(d.waits)-len(on)]
		}
	}
	return s.Job(place, &j, drop)
}

// edges hands over the dependencies of the job.
func (d *dag) edges(s *format.Sink) error {
	for _, w := range d.waits {
		on, known := d.ids[w.on]
		drop := ""
		if !known || on == w.id {
			drop = "unknown-prerequisite"
		}
		if err := s.Dep(&format.Place{Line: w.line, Name: w.name}, &traces.Dep{Job: w.id, On: on, Condition: "success"}, drop); err != nil {
			return err
		}
	}
	d.waits = d.waits[:0]
	return nil
}

// prerequisites reads M1, R2_1, J3_1_2.
func prerequisites(name string) (number int, on []int, ok bool) {
	if name == "" || strings.HasPrefix(name, "task_") || name == "MergeTask" {
		return 0, nil, false
	}
	head, rest, more := strings.Cut(name, "_")
	number, err := strconv.Atoi(strings.TrimLeft(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	if err != nil {
		return 0, nil, false
	}
	if !more {
		return number, nil, true
	}
	for _, word := range strings.Split(rest, "_") {
		n, err := strconv.Atoi(word)
		if err != nil {
			continue // J3_1_Stg2: words beside the numbers mean nothing
		}
		on = append(on, n)
	}
	return number, on, true
}
