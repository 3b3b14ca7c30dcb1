package research

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// SlurmSim is the format of the events of the Slurm simulator of Buffalo: a submission on each line,
//
//	-dt 10.50 -e submit_batch_job | -sim-walltime 84805 --uid=U -J NAME -N 1 -n 32 -t 3-00:00:00 -p P -q Q --mem=500G
//
// with the seconds from the start and those that the job runs, -1 for as long as it may. Lines
// of other events are dropped as other-event.
//
// Source: https://github.com/ubccr-slurm-simulator/slurm_sim_tools.
var SlurmSim = &format.Format{
	Name: "slurm-simulator", Version: 1, Files: 1, What: "events of the Slurm simulator of Buffalo (-dt ... -e submit_batch_job | ...)",
	Sniff: func(h format.Head) format.Match {
		for n, line := range format.Lines(h) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if strings.HasPrefix(line, "-dt ") && strings.Contains(line, " -e ") {
				return format.Match{Percent: 100}
			}
			return format.No(0, int64(n)+1, format.Excerpt(line), "-dt SECONDS -e EVENT", "name another file")
		}
		return format.No(0, 1, "no line", "-dt SECONDS -e EVENT", "name another file")
	},
	Scan: scanEvents,
}

const (
	simAt = iota
	simEvent
	simRun
	simUser
	simName
	simNodes
	simTasks
	simLimit
	simPartition
	simQOS
	simAccount
	simMem
	simGRES
	simPerNode
	simFeatures
)

var simColumns = []string{simAt: "-dt", simEvent: "-e", simRun: "-sim-walltime", simUser: "--uid", simName: "-J", simNodes: "-N", simTasks: "-n", simLimit: "-t", simPartition: "-p",
	simQOS: "-q", simAccount: "-A", simMem: "--mem", simGRES: "--gres", simPerNode: "--ntasks-per-node", simFeatures: "-C"}

func scanEvents(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	l := &format.Log{Format: f, Files: files, Relative: true}
	l.Read = func(s *format.Sink) error {
		row, err := format.NewRow(files[0], simColumns, simColumns, "")
		if err != nil {
			return err
		}
		fields := make([]string, len(simColumns))
		return format.EachLine(files[0], func(n int64, text string) error {
			if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
				return nil
			}
			clear(fields)
			row.Next(n, fields)
			c := format.CellsOf(row)
			flags(c, strings.Fields(text))
			if c.Raw(simEvent) == "" || c.Raw(simAt) == "" {
				return format.LineError(files[0], n, format.Excerpt(text), "-dt SECONDS -e EVENT", "correct the line, or fetch the file again if it was cut short")
			}
			if c.Raw(simEvent) != "submit_batch_job" {
				return s.Job(c.Place(""), &traces.Job{}, "other-event")
			}
			j := simJob(c)
			if c.Err != nil {
				return c.Err
			}
			return s.Job(c.Place(j.Name), &j, "")
		})
	}
	return l.Scan()
}

// flags takes NAME VALUE and NAME=VALUE; what is not wanted is kept.
func flags(c *format.Cells, words []string) {
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		if !strings.HasPrefix(name, "-") {
			continue
		}
		if !joined && i+1 < len(words) {
			i++
			value = words[i]
		}
		known := false
		for k, want := range simColumns {
			if want == name {
				c.Fields[k], known = value, true
			}
		}
		if !known {
			c.Keep(name, value)
		}
	}
}

func simJob(c *format.Cells) traces.Job {
	j := traces.Job{ID: c.N, Name: c.Name(simName), User: c.Name(simUser), Account: c.Name(simAccount), Partition: c.Name(simPartition), QOS: c.Name(simQOS), Features: c.Name(simFeatures),
		Submit: c.Instant(simAt, model.Second), NodesMin: c.OptCount(simNodes), ProcsRequested: c.OptCount(simTasks)}
	if run := c.OptSpan(simRun, model.Second); run.OK && run.V >= 0 {
		j.Runtime = run
	}
	if c.Has(simLimit) {
		limit, err := slurmLimit(c.Raw(simLimit))
		if err {
			c.Fail(simLimit, "a time limit such as 3-00:00:00")
		}
		j.Walltime = traces.Some(limit)
	}
	if !j.Runtime.OK {
		j.Runtime = j.Walltime
	}
	if n := j.NodesMin.V; n > 0 && j.ProcsRequested.OK {
		j.CPUsPerNode = traces.Some((j.ProcsRequested.V + n - 1) / n)
	}
	c.Keep("mem", c.Raw(simMem))
	c.Keep("gres", c.Raw(simGRES))
	c.Keep("ntasks_per_node", c.Raw(simPerNode))
	j.Extra = c.Extra()
	return j
}

// slurmLimit reads D-HH:MM:SS, HH:MM:SS, or minutes.
func slurmLimit(text string) (model.Duration, bool) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return model.Duration(n) * model.Minute, false
	}
	d, err := model.ParseDuration(text)
	return d, err != nil
}

// SlurmSimJobs is the format of the micro cluster of the same simulator: values between semicolons, dt in
// seconds from the start, wall_time in seconds, wall_limit in minutes.
var SlurmSimJobs = format.Spec{
	Format: format.Format{Name: "slurm-simulator-jobs", Version: 1, What: "jobs of the Slurm simulator of Buffalo (dt;job_id;wall_time;user;wall_limit;n_tasks;...)"},
	Layout: format.Layout{Comma: ';', Columns: []string{"dt", "job_id", "wall_time", "user", "wall_limit", "n_tasks", "ntasks_per_node", "account", "partition", "qos", "constraint"}}, Relative: true,
	Row: func(_ *format.Table, c *format.Cells, s *format.Sink) error {
		j := traces.Job{ID: c.Whole(1, 0, 1<<62), Submit: c.Instant(0, model.Second), Runtime: c.OptSpan(2, model.Second), User: c.Name(3), Walltime: c.OptSpan(4, model.Minute), ProcsRequested: c.OptCount(5),
			Account: c.Name(7), Partition: c.Name(8), QOS: c.Name(9), Features: c.Name(10)}
		if j.Runtime.V < 0 { // as long as it may
			j.Runtime = j.Walltime
		}
		if per := c.OptCount(6); per.V > 0 {
			j.NodesMin, j.CPUsPerNode = traces.Some((j.ProcsRequested.V+per.V-1)/per.V), per
		}
		j.Extra = c.Extra()
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(c.Raw(1)), &j, "")
	},
}.Build()
