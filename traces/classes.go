package traces

// Class says what a column tells of: what was asked for, what happened, or neither. A scheduler
// core sees requests alone, for else it would be told what another policy decided.
type Class uint8

// The classes of columns.
const (
	// Request is what was asked for, by a user or by the site, and does not depend on the policy.
	Request Class = iota
	// Truth is what a job does by itself, or what happens to the site. The simulated world has it, and
	// tells a scheduler when it happens.
	Truth
	// Outcome is what the recorded policy decided, or what followed from that: for comparisons, warm
	// starts and the sizes of rows that do not say what they asked for, which are counted.
	Outcome
	// History names a row, or says what no replay reads.
	History
)

var classNames = [...]string{"request", "truth", "outcome", "history"}

// String is the word in docs/IMPORT.md.
func (c Class) String() string { return classNames[c] }

// classOfTable is that of all columns of a table.
var classOfTable = map[string]Class{"deps": Request, "nodes": Request, "tenants": Request, "events": Truth, "prices": Truth, "load": Truth, "telemetry": Outcome, "mig": Outcome}

// jobClasses are those of the jobs table.
var jobClasses = map[string]Class{
	"id": History, "name": History, "extra": History, "exit_code": History,

	"user": Request, "tenant": Request, "vcluster": Request, "kind": Request, "submit": Request, "walltime": Request,
	"nodes_min": Request, "nodes_max": Request, "gpus_per_node": Request, "gpu_type": Request, "gpu_mem": Request, "cpus_per_node": Request, "mem_per_node": Request,
	"features": Request, "topology": Request, "class": Request, "sensitive": Request, "checkpoint": Request, "ckpt_bytes": Request, "requeue": Request, "requeue_max": Request,
	"mounts": Request, "io_demand": Request, "power": Request, "group": Request, "index": Request, "max_concurrent": Request, "dag": Request,
	"procs_requested": Request, "eligible": Request, "partition": Request, "qos": Request, "account": Request, "reservation": Request, "exclusive": Request,
	"node_include": Request, "node_exclude": Request, "after_job": Request, "think_time": Request, "hold": Request, "nice": Request, "site_factor": Request,
	"gpu_milli": Request, "gpu_types": Request, "gpus_total": Request, "deadline": Request, "scale_metric": Request, "scale_target": Request,

	"runtime": Truth, "exit_state": Truth, "cancelled_at": Truth, "released": Truth, "comm_fraction": Truth,

	"start": Outcome, "end": Outcome, "procs_allocated": Outcome, "nodes_allocated": Outcome, "gpus_allocated": Outcome, "priority": Outcome, "recorded_nodes": Outcome,
}

// ClassOf is the class of a column of a table; false when it has none.
func ClassOf(table, column string) (Class, bool) {
	if table == "jobs" {
		c, ok := jobClasses[column]
		return c, ok
	}
	c, ok := classOfTable[table]
	return c, ok
}
