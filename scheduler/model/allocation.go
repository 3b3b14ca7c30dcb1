package model

// Allocation is a job, service or session in the words of the scheduler:
// everything it may know of it. The truth about its runtime is not here.
type Allocation struct {
	Job JobID
	ID  int64 // the log's own number

	Submit   Time
	Eligible Time // not started before; at least Submit
	Walltime Duration
	Kind     Kind
	Hold     bool // not started until released

	VCluster    VClusterID
	Tenant      TenantID
	User        int32
	Account     int32
	QOS         QOSID
	Partition   PartitionID
	Reservation ReservationID // that it runs in

	NodesMin   int32
	NodesMax   int32 // at least NodesMin
	GPUs       int32 // whole ones on each node
	Amounts          // on each node beside them; without either the job takes whole nodes
	Tasks      int32 `json:",omitempty"` // of Amounts each, on as many nodes as have room for them together; 0 where each node gives Amounts
	Constraint ConstraintID
	Topology   Topology

	Class      int32 // preemption class, 0 to 10
	Sensitive  bool
	Checkpoint Checkpoint
	CkptBytes  int64 // of one checkpoint, 0 when unknown
	Requeue    Requeue
	MaxRequeue int32

	Power     int64 // W in all, 0 to take the nodes' own figures
	IODemand  int64 // B/s in all
	DataReady Fixed // fraction of input on the hot tier, -1 when unknown
	Priority  int64 // of the site, for multifactor
	Nice      int64 // taken off it in points, for multifactor

	TaskGroup     int32 // -1 none
	Index         int32
	MaxConcurrent int32 // running members of the task group, 0 for no bound
	DAG           int32 // -1 none
	Deps          []Dependency
	Awaited       bool // others depend on it

	// Scaled says that a policy sizes this reactive service while it runs: nodes above
	// NodesMin may be borrowed, and go back to their home when that wants them.
	Scaled bool `json:",omitempty"`
}

// Dependency makes a job wait for another.
type Dependency struct {
	On        JobID
	Condition Condition
	Mutex     int32 // name, for condition Mutex; On is then not used
}

// Condition of a dependency on the predecessor.
type Condition uint8

const (
	AfterOK    Condition = iota // success: COMPLETED
	AfterNotOK                  // failure: FAILED, TIMEOUT, REJECTED; not CANCELLED
	AfterAny                    // any end, CANCELLED and REJECTED included
	AfterCorr                   // success of the element of equal index
	Mutex                       // at most one with this name runs
)

var conditions = [...]string{"success", "failure", "any", "corresponding", "mutex"}

// String is the spelling in the deps table.
func (c Condition) String() string { return conditions[c] }

// Kind says how an allocation ends.
type Kind uint8

const (
	Bounded  Kind = iota // at completion or walltime
	Service              // when it is cancelled or fails
	Reactive             // a service whose node count follows demand between NodesMin and NodesMax
	Session              // an interactive service of one user, never requeued
)

var kinds = [...]string{"bounded", "service", "reactive", "session"}

// String is the spelling in the jobs table.
func (k Kind) String() string { return kinds[k] }

// Topology is what a job prefers of the groups of its nodes.
type Topology uint8

const (
	Tight  Topology = iota // the fewest groups
	Spread                 // evenly over groups
	Any                    // no matter
)

var topologies = [...]string{"tight", "spread", "any"}

// String is the spelling in files.
func (t Topology) String() string { return topologies[t] }

// Checkpoint says what writes a job's checkpoints.
type Checkpoint uint8

const (
	CheckpointAuto   Checkpoint = iota // the system, at any time
	CheckpointManual                   // the application, when asked
	CheckpointNone                     // none are written: preemption loses the work
)

var checkpoints = [...]string{"auto", "manual", "none"}

// String is the spelling in files.
func (c Checkpoint) String() string { return checkpoints[c] }

// Requeue says after which failures a job returns to the queue.
type Requeue uint8

const (
	RequeueNever Requeue = iota
	RequeueOnNodeFailure
	RequeueAlways
)

var requeues = [...]string{"never", "on-node-failure", "always"}

// String is the spelling in files.
func (r Requeue) String() string { return requeues[r] }

// Divides says whether a takes shares of its nodes, and not the whole of them.
func (a *Allocation) Divides() bool { return a.GPUs|a.CPUs|a.GPUMilli != 0 || a.Memory != 0 }

// TasksIn is how many tasks of a the share of a node holds, or 1 where it is what a asks for of each; 0 where it is neither.
func (a *Allocation) TasksIn(h *NodeShare) int32 {
	if h.Amounts == a.Amounts {
		return 1
	}
	if a.Tasks < 2 || a.CPUs < 1 {
		return 0
	}
	n := h.CPUs / a.CPUs
	if h.Amounts != (Amounts{CPUs: n * a.CPUs, GPUMilli: a.GPUMilli, Memory: int64(n) * a.Memory}) {
		return 0
	}
	return n
}

// Holds says whether the shares of p have as many tasks as a asks for, where these may be spread.
func (a *Allocation) Holds(p *Placement) bool {
	if a.Tasks == 0 {
		return true
	}
	n := int32(0)
	for i := range p.Shares {
		n += a.TasksIn(&p.Shares[i])
	}
	return n == a.Tasks
}

// Cards is how many GPUs of each node the shares of a touch.
func (a *Allocation) Cards() int32 { return a.GPUs + min(a.GPUMilli, 1) }

// SensitiveClass is the preemption class that makes a job sensitive.
const SensitiveClass = 10

// IsSensitive says whether the rules for sensitive work hold for a: it is
// marked so, or of class 10.
func (a *Allocation) IsSensitive() bool { return a.Sensitive || a.Class >= SensitiveClass }

// Preemptible says whether a may lose its nodes to other work: sensitive work
// never does, nor does work of class 7 and above that cannot be checkpointed.
func (a *Allocation) Preemptible() bool {
	return !a.IsSensitive() && (a.Checkpoint != CheckpointNone || a.Class < 7)
}

// OutOfRequeues says whether a failed allocation would return to the queue if it had not
// done so as often as it may: at least once.
func (a *Allocation) OutOfRequeues(hardware bool, count int32) bool {
	return a.MaxRequeue > 0 && count >= a.MaxRequeue && a.Requeues(hardware, a.MaxRequeue-1)
}

// Requeues says whether a failed allocation returns to the queue: hardware is
// set when its nodes were the cause, count is the number of earlier requeues.
func (a *Allocation) Requeues(hardware bool, count int32) bool {
	if a.IsSensitive() || a.Kind == Session || count >= a.MaxRequeue {
		return false
	}
	return a.Requeue == RequeueAlways || (a.Requeue == RequeueOnNodeFailure && hardware)
}
