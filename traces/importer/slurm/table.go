package slurm

import (
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// JobTable is the job table of slurmdbd, dumped with the names of its columns, as in the
// data of MIT Supercloud. Times are seconds since 1970, 0 for none; the time limit is in
// minutes, 4294967295 for none; states are numbers; trackable resources have the numbers of
// their kinds (1 CPU, 2 memory in MB, 4 nodes, 1001 and up what the site defined, taken as
// GPUs). Ids that were written as floating point have lost digits, counted as
// id-lost-digits: they are not unique.
var JobTable = &format.Format{
	Name: "slurmdbd", Version: 3, Files: 1 << 10, What: "the job table of slurmdbd (id_job, time_submit, tres_req ...), as of MIT Supercloud",
	Sniff: func(h format.Head) format.Match { return format.HeaderMatch(h, ',', tableColumns...) },
	Scan:  scanTable,
}

const (
	tabID = iota
	tabArrayJob
	tabArrayTask
	tabUser
	tabNodes
	tabNodeList
	tabCPUs
	tabExit
	tabConstraints
	tabMem
	tabPartition
	tabPriority
	tabState
	tabLimit
	tabSubmit
	tabEligible
	tabStart
	tabEnd
	tabSuspended
	tabGiven
	tabAsked
	tabAccount
	tabName
)

var tableColumns = []string{tabID: "id_job", tabArrayJob: "id_array_job?", tabArrayTask: "id_array_task?", tabUser: "id_user", tabNodes: "nodes_alloc", tabNodeList: "nodelist?",
	tabCPUs: "cpus_req", tabExit: "exit_code", tabConstraints: "constraints?", tabMem: "mem_req?", tabPartition: "partition?", tabPriority: "priority?", tabState: "state",
	tabLimit: "timelimit", tabSubmit: "time_submit", tabEligible: "time_eligible?", tabStart: "time_start", tabEnd: "time_end", tabSuspended: "time_suspended?",
	tabGiven: "tres_alloc", tabAsked: "tres_req", tabAccount: "account?", tabName: "job_name?"}

// stateNumbers are the base states of slurm.h.
var stateNumbers = []string{"PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}

func scanTable(f *format.Format, files []format.File, _ format.Options) (format.Scanned, error) {
	t := format.NewTable(f, files, format.Layout{Comma: ',', Columns: tableColumns})
	t.Log.Account.Assume("jobs.gpus_total", "trackable resources 1001 and up", "the dump does not name what the site defined")
	t.Row = func(c *format.Cells, s *format.Sink) error {
		j, drop := tableJob(c)
		if c.Err != nil {
			return c.Err
		}
		return s.Job(c.Place(c.Raw(tabID)), &j, drop)
	}
	return t.Scan()
}

// none are the numbers that stand for no value, and for infinity, in 32 bits.
func none(n int64) bool { return n == 4294967294 || n == 4294967295 }

// dbInstant is a number of seconds, 0 for none.
func dbInstant(c *format.Cells, k int) traces.Opt[model.Time] {
	at := c.OptAt(k, model.Second)
	if at.V == 0 {
		return traces.Opt[model.Time]{}
	}
	return at
}

// tableJob is the job of a row, or why it is none.
func tableJob(c *format.Cells) (j traces.Job, drop string) {
	state := c.Whole(tabState, 0, 1<<32)
	base := int(state & 0xff)
	if base >= len(stateNumbers) {
		return j, "unknown-state"
	}
	word := stateNumbers[base]
	if !states[word] {
		return j, "not-ended"
	}
	j = traces.Job{ID: c.Whole(tabID, 0, 1<<62), Name: c.Name(tabName), User: c.Name(tabUser), Account: c.Name(tabAccount), Tenant: c.Name(tabAccount), Partition: c.Name(tabPartition), ExitState: word,
		Features: c.Name(tabConstraints), Priority: c.OptWhole(tabPriority, 0, 1<<62), RecordedNodes: nodeList(c.Name(tabNodeList))}
	if strings.ContainsAny(c.Raw(tabID), ".eE") {
		c.Repair("id-lost-digits")
	}
	submit := dbInstant(c, tabSubmit)
	if !submit.OK {
		return j, "no-submission"
	}
	j.Submit, j.Eligible, j.Start, j.End = submit.V, dbInstant(c, tabEligible), dbInstant(c, tabStart), dbInstant(c, tabEnd)
	if n := c.OptWhole(tabLimit, 0, 1<<40); n.OK && !none(n.V) {
		j.Walltime = traces.Some(model.Duration(n.V) * model.Minute)
	}
	if task := c.OptWhole(tabArrayTask, 0, 1<<40); task.OK && !none(task.V) {
		j.Index, j.Group = traces.Some(int32(min(task.V, 1<<31-1))), c.Name(tabArrayJob)
	}
	if code := c.OptWhole(tabExit, 0, 1<<32); code.OK && !none(code.V) { // as of wait(2)
		j.ExitCode = traces.Some(int32(code.V >> 8 & 0xff))
	}
	tableSize(c, &j)
	if j.Start.OK && j.End.OK {
		run := j.End.V.Sub(j.Start.V) - c.OptSpan(tabSuspended, model.Second).V
		j.Runtime = traces.Some(run)
	} else if word == "CANCELLED" {
		j.CancelledAt, j.End = j.End, traces.Opt[model.Time]{}
	}
	j.Extra = c.Extra()
	return j, ""
}

// nodeList is a list of names as Slurm writes it, or as Python does.
func nodeList(text string) string {
	return strings.NewReplacer("['", "", "']", "", "', '", ",").Replace(text)
}

func tableSize(c *format.Cells, j *traces.Job) {
	nodes, cpus := c.OptCount(tabNodes), c.OptCount(tabCPUs) // nodes_alloc and cpus_req
	asked, given := numbered(c, tabAsked), numbered(c, tabGiven)
	if asked.nodes > 0 {
		nodes.V = asked.nodes
	}
	if j.Start.OK && asked.nodes == 0 && nodes.V > 0 {
		c.Repair(nodesAsAllocated)
	}
	if given.nodes > 0 {
		j.NodesAllocated = traces.Some(given.nodes)
	}
	fill(c.Row, j, nodes.V, cpus.V, given.cpus)
	t, exclusive, rule := request(asked, given, asked.cpus)
	if given.tellsGPUs(t) {
		j.GPUsAllocated = traces.Some(given.gpus)
	}
	if rule != "" {
		c.Repair(rule)
	}
	if exclusive {
		j.Exclusive = traces.Some(true)
	}
	if t.there {
		j.GPUsTotal = traces.Some(t.gpus)
		if nodes.V > 0 {
			j.GPUsPerNode = traces.Some((t.gpus + nodes.V - 1) / nodes.V)
		}
	}
	memory := asked.memory
	if memory == 0 && given.memory > 0 {
		memory = given.memory
		c.Repair(memoryAsAllocated)
	}
	if text, flagged := withoutFlag(c.Raw(tabMem)); flagged {
		c.Repair("reqmem-flag")
		c.Keep("mem_per_cpu_mb", text)
	} else if x := c.OptReal(tabMem); x.V > 9e18 { // bit 63, and the rest was rounded off
		c.Repair("mem-req-lost")
	}
	if memory > 0 {
		j.MemPerNode = traces.Some(memory / int64(max(nodes.V, 1)))
	}
}

// numbered reads a list such as 1=20,2=170000,4=1,1002=2.
func numbered(c *format.Cells, k int) (t tres) {
	text := c.Raw(k)
	if text == "" || format.Missing(text) {
		return t
	}
	t.there = true
	for _, term := range strings.Split(text, ",") {
		kind, value, ok := strings.Cut(term, "=")
		id, err1 := strconv.ParseUint(kind, 10, 32)
		n, err2 := strconv.ParseUint(value, 10, 64)
		if !ok || err1 != nil || err2 != nil || n > 1<<40 && id != 3 && id != 5 && n < 1<<63 {
			c.Fail(k, "resources such as 1=20,2=170000,4=1")
			return t
		}
		if n >= 1<<40 { // none
			continue
		}
		count := int32(min(n, format.MostCount))
		switch {
		case id == 1:
			t.cpus = count
		case id == 2:
			t.memory = int64(n) << 20
		case id == 4:
			t.nodes = count
		case id >= 1001:
			t.gpus = min(t.gpus+count, format.MostCount)
		}
	}
	return t
}
