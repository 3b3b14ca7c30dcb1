package research

import (
	"cmp"
	"slices"
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
// of other events are dropped as other-event. Options have the short or the long names of sbatch, their values behind a blank, behind = or, of
// short ones, right behind the letter; of one that is given twice the last counts. Of a range of nodes, 2-4, both ends are read. --ntasks times
// --cpus-per-task are the processors; GPUs are --gpus-per-node, --gpus or those of --gres; --mem is of a node. Other options are kept in extra.
//
// Source: https://github.com/ubccr-slurm-simulator/slurm_sim_tools.
var SlurmSim = &format.Format{
	Name: "slurm-simulator", Version: 2, Files: 1, What: "events of the Slurm simulator of Buffalo (-dt ... -e submit_batch_job | ...)",
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
	simCPUs
	simReservation
	simExclusive
	simGPUs
	simGPUsPerNode
)

var simColumns = []string{simAt: "-dt", simEvent: "-e", simRun: "-sim-walltime", simUser: "--uid", simName: "-J", simNodes: "-N", simTasks: "-n", simLimit: "-t", simPartition: "-p",
	simQOS: "-q", simAccount: "-A", simMem: "--mem", simGRES: "--gres", simPerNode: "--ntasks-per-node", simFeatures: "-C", simCPUs: "-c", simReservation: "--reservation", simExclusive: "--exclusive", simGPUs: "-G", simGPUsPerNode: "--gpus-per-node"}

// longNames are those of sbatch(1) for the short ones above.
var longNames = map[string]string{"--job-name": "-J", "--nodes": "-N", "--ntasks": "-n", "--time": "-t", "--partition": "-p", "--qos": "-q", "--account": "-A", "--constraint": "-C",
	"--cpus-per-task": "-c", "--gpus": "-G"}

// alone are the options of sbatch(1) that have no value, or one behind = alone.
var alone = strings.Fields("--exclusive --hold -H --requeue --no-requeue --contiguous --overcommit -O --oversubscribe -s --parsable --quiet -Q --wait -W --spread-job --use-min-nodes " +
	"--verbose -v --ignore-pbs --propagate --nice --get-user-env --reboot --test-only --no-kill -k --network --resv-ports")

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

// flags takes NAME VALUE, NAME=VALUE and -NVALUE; what is not wanted is kept.
func flags(c *format.Cells, words []string) {
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		if !strings.HasPrefix(name, "-") {
			continue
		}
		if k := slices.Index(simColumns, short(name)); !joined && k < 0 && len(name) > 2 && name[1] != '-' && slices.Contains(simColumns, name[:2]) {
			name, value, joined = name[:2], words[i][2:], true // -N2
		}
		if !joined && i+1 < len(words) && !slices.Contains(alone, name) && !isOption(words[i+1]) {
			i++
			value = words[i]
		}
		if k := slices.Index(simColumns, short(name)); k >= 0 {
			c.Fields[k] = cmp.Or(value, "yes")
		} else {
			c.Keep(name, cmp.Or(value, "yes"))
		}
	}
}

// short is the short name of an option that has one.
func short(name string) string { return cmp.Or(longNames[name], name) }

// isOption says whether a word is the name of an option and no number below 0.
func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.'
}

func simJob(c *format.Cells) traces.Job {
	j := traces.Job{ID: c.N, Name: c.Name(simName), User: c.Name(simUser), Account: c.Name(simAccount), Partition: c.Name(simPartition), QOS: c.Name(simQOS), Features: c.Name(simFeatures),
		Reservation: c.Name(simReservation), Submit: c.Instant(simAt, model.Second)}
	simSize(c, &j)
	simGPU(c, &j)
	if c.Has(simMem) {
		bytes, ok := simBytes(c.Raw(simMem))
		if !ok {
			c.Fail(simMem, "memory such as 500G or 4000M")
		}
		j.MemPerNode = traces.Opt[int64]{V: bytes, OK: bytes > 0} // 0 is all that the node has
	}
	j.Exclusive = traces.Opt[bool]{V: true, OK: c.Has(simExclusive)}
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
	c.Keep("gres", c.Raw(simGRES))
	c.Keep("ntasks_per_node", c.Raw(simPerNode))
	j.Extra = c.Extra()
	return j
}

// simSize is the nodes and processors that are asked for.
func simSize(c *format.Cells, j *traces.Job) {
	if from, to, ranged := strings.Cut(c.Raw(simNodes), "-"); ranged {
		c.Fields[simNodes] = from
		least := c.OptCount(simNodes)
		c.Fields[simNodes] = to
		j.NodesMin, j.NodesMax = least, c.OptCount(simNodes)
	} else {
		j.NodesMin = c.OptCount(simNodes)
	}
	tasks, per, each := c.OptCount(simTasks), c.OptCount(simPerNode), c.OptCount(simCPUs)
	if !tasks.OK && per.V > 0 && j.NodesMin.V > 0 {
		tasks = traces.Opt[int32]{V: int32(min(int64(per.V)*int64(j.NodesMin.V), format.MostCount)), OK: true}
	}
	if !tasks.OK && each.V > 0 {
		tasks = traces.Some(max(j.NodesMin.V, 1)) // one for each node, as sbatch has it
	}
	if each.V > 0 {
		tasks.V = int32(min(int64(tasks.V)*int64(each.V), format.MostCount))
	}
	j.ProcsRequested = tasks
	if n := j.NodesMin.V; n > 0 && tasks.OK {
		j.CPUsPerNode = traces.Some((tasks.V + n - 1) / n)
	}
}

// simGPU is the GPUs that are asked for.
func simGPU(c *format.Cells, j *traces.Job) {
	k, whole := simGPUsPerNode, false
	switch {
	case c.Has(simGPUs):
		k, whole = simGPUs, true
	case !c.Has(simGPUsPerNode):
		k = simGRES
	}
	if !c.Has(k) {
		return
	}
	n, kind, ok := gpuCount(c.Raw(k), k == simGRES)
	if !ok {
		c.Fail(k, "a number of GPUs such as 2, a100:2 or, of --gres, gpu:a100:2")
		return
	}
	nodes := max(j.NodesMin.V, 1)
	if whole {
		j.GPUsTotal, j.GPUsPerNode = traces.Some(n), traces.Some((n+nodes-1)/nodes)
	} else {
		j.GPUsTotal, j.GPUsPerNode = traces.Some(int32(min(int64(n)*int64(nodes), format.MostCount))), traces.Some(n)
	}
	j.GPUType = kind
}

// gpuCount sums terms such as 2 or a100:2, behind gpu: in a list of generic resources.
func gpuCount(list string, generic bool) (n int32, kind string, ok bool) {
	for _, term := range strings.Split(list, ",") {
		words := strings.Split(term, ":")
		if generic {
			if words[0] != "gpu" {
				continue
			}
			words = words[1:]
		}
		one := uint64(1)
		if len(words) > 0 {
			v, err := strconv.ParseUint(words[len(words)-1], 10, 20)
			switch {
			case err == nil:
				one, words = v, words[:len(words)-1]
			case !generic:
				return 0, "", false
			}
		}
		if len(words) > 1 || n > 1<<20 {
			return 0, "", false
		}
		if len(words) == 1 {
			kind = words[0]
		}
		n += int32(one)
	}
	return n, kind, true
}

// simBytes reads MB, or a number with K, M, G or T.
func simBytes(text string) (int64, bool) {
	unit := 2
	if i := strings.IndexByte("KMGT", text[len(text)-1]); i >= 0 {
		unit, text = i+1, text[:len(text)-1]
	}
	n, err := strconv.ParseUint(text, 10, 20)
	return int64(n) << (10 * unit), err == nil
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
