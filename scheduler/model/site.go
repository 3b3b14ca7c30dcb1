package model

import "math"

// The ids of what a site has several of are dense, from 0, in the order of the
// cluster file; -1 is none.
type (
	// VClusterID indexes Site.VClusters.
	VClusterID int32
	// TenantID indexes Site.Tenants.
	TenantID int32
	// QOSID indexes Site.QOS.
	QOSID int32
	// PartitionID indexes Site.Partitions.
	PartitionID int32
	// ReservationID indexes Site.Reservations.
	ReservationID int32
	// ConstraintID indexes Site.Constraints.
	ConstraintID int32
)

// Site is everything that a scheduler knows of a cluster whose nodes differ,
// and of those that share it. It does not change while a core runs, but for Constraints:
// the translation of a trace adds to them, and a core learns of these by submissions
// alone. What else changes (states of nodes, limits, prices) comes as facts.
type Site struct {
	Nodes  []Node
	Groups []Group // dragonfly (electrical) groups
	// Fingerprints is the number of conformance groups; Node.Fingerprint indexes
	// them.
	Fingerprints int32
	Topologies   []GPUTopology
	// Amounts says that jobs divide nodes by CPUs, memory and thousandths of GPUs; else
	// they divide them by GPU alone, or not at all.
	Amounts bool
	// Constraints holds each distinct set of hard constraints once.
	Constraints []Constraint

	VClusters    []VCluster
	Tenants      []Tenant
	QOS          []QOS
	Partitions   []Partition
	Reservations []Reservation

	PowerCap int64 // W that running jobs may draw in all, 0 for no cap
	// CountIdle says that nodes which no job holds count against PowerCap too, each with its
	// IdlePower unless it is down.
	CountIdle bool
	// Sheds says that jobs are made to leave while more than PowerCap is reckoned.
	Sheds     bool
	Bandwidth int64 // B/s of storage that running jobs may demand in all, 0 for no cap
	// SensitivePool bounds the nodes held by sensitive jobs, 0 for no bound.
	SensitivePool int32
	UserSessions  int32 // sessions of a user that run at a time at most, 0 for no bound
}

// Node is one node as the scheduler knows it.
type Node struct {
	Name        string
	Group       int32 // index into Site.Groups
	Fingerprint int32 // conformance group, -1 when unknown: a group of its own
	Home        VClusterID
	GPUType     int32 // index of the type's name, -1 without GPUs
	GPUs        int32
	GPUMemory   int64 // bytes of one GPU
	CPUs        int32
	Memory      int64    // bytes
	Features    []string // ascending
	Unified     bool     // one memory for CPU and GPU
	CXLOnly     bool     // its memory is CXL attached only
	Topology    int32    // index into Site.Topologies, -1 for GPUs that are all alike
	IdlePower   int64    // W
	BusyPower   int64    // W with all GPUs at work
	State       NodeState
}

// IdlePower is what the nodes draw without a job that are not down, and by how much more one of
// them draws at work at least, W.
func (s *Site) IdlePower() (watts, growth int64) {
	growth = math.MaxInt64
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.State != Down {
			watts, growth = watts+n.IdlePower, min(growth, n.BusyPower-n.IdlePower)
		}
	}
	if growth == math.MaxInt64 {
		growth = 0
	}
	return watts, growth
}

// Group is a dragonfly group.
type Group struct {
	Name     string
	Adjacent []int32 // ascending, without itself
}

// GPUTopology says how near the GPUs of a node are: Bandwidth[i][j] in GB/s
// between GPU i and GPU j; islands of the highest bandwidth are what jobs of a
// few GPUs should stay within. NUMA is the domain of each GPU.
type GPUTopology struct {
	Name      string
	Bandwidth [][]int64
	NUMA      []int32
}

// NodeState of a node. Only Ready nodes take new work.
type NodeState uint8

const (
	Ready NodeState = iota
	Degraded
	Draining
	Drained
	Down
	Wiping // cleaned after sensitive work
)

var nodeStates = [...]string{"READY", "DEGRADED", "DRAINING", "DRAINED", "DOWN", "WIPING"}

// String is the spelling in files.
func (s NodeState) String() string { return nodeStates[s] }

// CanBecome is the table of legal transitions of a node.
func (s NodeState) CanBecome(next NodeState) bool {
	switch s {
	case Ready, Degraded:
		return next == Ready || next == Degraded || next == Draining || next == Down || next == Wiping
	case Draining:
		return next == Drained || next == Down || next == Ready
	case Drained, Down, Wiping:
		return next == Ready || next == Down || next == Drained
	}
	return false
}

// Constraint is a set of hard constraints on each node of a job.
type Constraint struct {
	GPUType   int32 // -1 any
	GPUMemory int64 // bytes on each GPU, 0 any
	Memory    int64 // bytes on the node, 0 any
	CPUs      int32 // 0 any
	Features  []string
	Unified   bool
	AllowCXL  bool
	Include   NodeSet // nil all
	Exclude   NodeSet // nil none
}

// Holds says whether node n, which is nodes[n], meets c.
func (c *Constraint) Holds(n NodeID, node *Node) bool {
	switch {
	case c.GPUType >= 0 && node.GPUType != c.GPUType,
		c.GPUMemory > node.GPUMemory, c.Memory > node.Memory, c.CPUs > node.CPUs,
		c.Unified && !node.Unified,
		!c.AllowCXL && node.CXLOnly,
		c.Include != nil && !c.Include.Has(n),
		c.Exclude != nil && c.Exclude.Has(n):
		return false
	}
	i := 0
	for _, f := range c.Features {
		for i < len(node.Features) && node.Features[i] < f {
			i++
		}
		if i == len(node.Features) || node.Features[i] != f {
			return false
		}
	}
	return true
}

// VCluster is a part of the site with a queue and a profile of its own.
type VCluster struct {
	Name    string
	Lend    bool // its idle home nodes may be borrowed
	Borrow  bool // its jobs may use borrowed nodes
	MaxLent Fixed
	Grace   Duration // of a borrower between reclaim and checkpoint
}

// Tenant is a customer with limits that hold over all vClusters. 0 is no limit
// and no share.
type Tenant struct {
	Name string
	Limits
}

// Limits of a tenant. MaxNodes, MaxConcurrent and MaxGPUs are hard; the rest bends
// scores and never refuses.
type Limits struct {
	MaxNodes      int32    // distinct ones: a node that jobs share counts once
	MaxConcurrent int32    // running jobs
	FairShare     Fixed    // of the nodes, 0 to 1
	Burst         Fixed    // 1.5 is up to 150 % of the share while the site is idle; 0 none
	GPUBudget     Duration // GPU time within the window
	NodeBudget    Duration // node time within the window
	MaxGPUs       int32    // a fraction of a GPU counts as that
}

// QOS bounds the jobs of a quality of service, in the manner of Slurm. 0 is no
// bound.
type QOS struct {
	Name         string
	Priority     int64
	Class        int32 // -1 leaves the job's own
	MaxWall      Duration
	MaxNodes     int32 // of a job
	GroupNodes   int32 // of all running jobs
	GroupJobs    int32
	UserJobs     int32 // running jobs of a user
	UserNodes    int32
	MaxGPUs      int32 // of a job
	GroupGPUs    int32 // of all running jobs
	UserGPUs     int32
	UserPending  int32 // jobs of a user in the system; not enforced
	PreemptsQOS  []QOSID
	UsageFactor  Fixed
	PreemptGrace Duration
}

// Partition is a named set of nodes with limits; partitions may overlap.
type Partition struct {
	Name     string
	Nodes    NodeSet
	Tier     int32 // higher tiers come first; 0 to 65,535
	Factor   int64 // of the multifactor priority
	MaxWall  Duration
	MinNodes int32
	MaxNodes int32 // of a job, 0 for no bound
	Up       bool
}

// Reservation sets nodes aside from Start to End for the jobs that name it, or
// for no job at all (maintenance).
type Reservation struct {
	Name        string
	Nodes       NodeSet
	Start, End  Time
	Maintenance bool
	// Flex lets jobs that name it start before it begins and run past its end.
	Flex bool
}

// Outside says whether a run over [from, until) of a job that names r is not wholly within
// it, although it must be, or begins when it is over.
func (r *Reservation) Outside(from, until Time) bool {
	switch {
	case r.Maintenance:
		return false
	case r.Flex:
		return from >= r.End
	}
	return from < r.Start || until > r.End
}
