package profiles

import (
	"strings"

	"orrery/scheduler/model"
)

// Cluster is a cluster file: the nodes of a site, the vClusters and tenants that share it, and what
// changes with time. Its tags describe cluster.yaml as those of Profile describe
// profile.yaml.
type Cluster struct {
	Name        string `yaml:"name" unit:"name" doc:"what the site is called in results; the name of the file where it is left out"`
	Description string `yaml:"description" unit:"text" doc:"what it models"`

	Sharing          string `yaml:"sharing" of:"whole,gpus,resources" default:"whole" doc:"what is allocated: whole nodes, or of nodes that several jobs may share their GPUs, or their CPUs, memory, GPUs and thousandths of a GPU"`
	JobCPUs          int32  `yaml:"job_cpus" when:"sharing=resources" default:"1" min:"1" max:"16384" unit:"cores" doc:"of each node for a job that does not say how many it needs"`
	JobMemory        Bytes  `yaml:"job_memory" when:"sharing=resources" default:"0" min:"0" unit:"size" doc:"of each node for a job that does not say how much it needs; 0 reckons with none"`
	JobCheckpoint    string `yaml:"job_checkpoint" of:"auto,manual,none" default:"none" doc:"what saves the work of a job whose row does not say: the system at any time, the job when it is asked, or nothing, so that a preempted job begins anew"`
	JobRequeue       string `yaml:"job_requeue" of:"never,on-node-failure,always" default:"on-node-failure" doc:"after which failures a job whose row does not say returns to the queue; a preemption that loses its work counts as a failure of its nodes"`
	JobRequeueMax    int32  `yaml:"job_requeue_max" default:"3" min:"0" max:"1000000000" unit:"times" doc:"how often such a job returns at most; with one more failure it ends as FAILED"`
	Topology         string `yaml:"topology" of:"dragonfly,listed" default:"dragonfly" doc:"which groups are adjacent: all to all, or those that each group lists"`
	GroupUplink      Rate   `yaml:"group_uplink" zero:"unknown" default:"unknown" min:"1B/s" unit:"rate" doc:"what the link of each group to the rest of the network carries one way, where the group does not say its own; jobs of classes with communication share it where runtime is modelled"`
	PowerCap         Power  `yaml:"power_cap" zero:"none" default:"none" min:"0" unit:"power" doc:"what running jobs may draw in all"`
	OverPowerCap     string `yaml:"over_power_cap" of:"delay,shed,slow" default:"delay" doc:"what keeps power_cap: starts wait by what is reckoned, and with shed jobs leave while that is more than the cap; or GPUs are held back by what the site draws, those of classes with caps alike"`
	PowerCapScope    string `yaml:"power_cap_scope" of:"jobs,site" default:"jobs" doc:"what is reckoned with delay and shed: running jobs, or idle nodes beside them, each with its idle_power"`
	StorageBandwidth Rate   `yaml:"storage_bandwidth" zero:"none" default:"none" min:"0" unit:"rate" doc:"storage traffic that running jobs may demand in all"`
	SensitivePool    int32  `yaml:"sensitive_pool" zero:"none" default:"none" min:"1" unit:"nodes" doc:"most nodes that sensitive jobs hold together"`

	UserSessions int32  `yaml:"user_sessions" zero:"none" default:"none" min:"1" unit:"jobs" doc:"sessions of a user that run at a time at most"`
	OverLimit    string `yaml:"over_limit" of:"wait,reject" default:"wait" doc:"what becomes of a job that a limit on what is in use keeps from starting at its submission: it waits, or is rejected at once"`

	Price          float64 `yaml:"price" default:"0.5" min:"0" max:"1" unit:"price" doc:"of energy until an event changes it; 0 is cheap, 1 is dear"`
	UnknownTenants string  `yaml:"unknown_tenants" of:"none,neutral,reject" default:"none" doc:"work that names no tenant of the site: behind all that have a share left, as a tenant without a share, or refused"`

	Runtime      string       `yaml:"runtime" of:"recorded,modelled" default:"recorded" doc:"how long jobs run: as their rows say, or by the hardware that they get relative to that of their record"`
	RuntimeTerms RuntimeTerms `yaml:"runtime_terms" when:"runtime=modelled" doc:"which reasons for a longer or shorter run time count"`
	RecordedGPU  []string     `yaml:"recorded_gpu" unit:"names" doc:"GPUs on which jobs ran in the log whose rows do not say it: of the catalogue, or of a node type"`
	GPUNames     []string     `yaml:"gpu_names" unit:"NAME=GPU" doc:"what the trace calls GPUs of the catalogue or of a node type"`
	Facility     Facility     `yaml:"facility" doc:"how the power of nodes becomes energy, cost and carbon"`

	NodeTypes    []NodeType    `yaml:"node_types" doc:"kinds of nodes"`
	Groups       []Group       `yaml:"groups" doc:"dragonfly groups and their nodes; a group of several kinds of nodes is written once for each kind"`
	VClusters    []VCluster    `yaml:"vclusters" doc:"parts of the site with a queue and a profile of their own; without any there is one, default, at home on all nodes"`
	Routing      Routing       `yaml:"routing" doc:"where jobs go whose rows name no vCluster, where there are several"`
	Tenants      []Tenant      `yaml:"tenants" doc:"customers and their limits, over all vClusters"`
	Associations []Association `yaml:"associations" doc:"accounts and users of Slurm's database, for backfill: slurm with order multifactor; without any each tenant is an account with its fair share"`
	QOS          []QOS         `yaml:"qos" doc:"qualities of service, as Slurm has them"`
	Classes      []ClassTarget `yaml:"classes" doc:"what is promised to the jobs of a preemption class; no decision depends on it, within_target and within_target_wait are measured by it"`
	Partitions   []Partition   `yaml:"partitions" doc:"named sets of nodes with limits; they may overlap"`
	Reservations []Reservation `yaml:"reservations" doc:"nodes set aside for a time"`
	Services     []Service     `yaml:"services" doc:"reactive services that a scaling policy sizes while the trace is replayed; they are submitted beside its jobs"`
	Workloads    []Workload    `yaml:"workloads" doc:"classes of work, with what is known of their speed and draw; a job in none runs as recorded, and is counted"`
	Storage      Storage       `yaml:"storage" doc:"how jobs share the way to their data"`
	FileSystems  []FileSystem  `yaml:"file_systems" doc:"what jobs share instead of storage.bandwidth, each with a bandwidth of its own; jobs whose class of work names none use the first"`
	Quorum       Quorum        `yaml:"quorum" doc:"the replicated state that grants nodes"`
	Agents       Agents        `yaml:"agents" doc:"how long nodes take for what they are told"`
	Failures     Failures      `yaml:"failures" doc:"what goes wrong by chance"`
	Events       []Event       `yaml:"events" doc:"changes at stated instants; those of one instant happen in the order of the file"`
	Calibration  []Calibrated  `yaml:"calibration" unit:"text" doc:"where figures of this file come from, as orrery calibrate writes it; no result depends on it"`

	src  *source
	rows []NodeRow // instead of Groups
	// from names the tables that stand for a key of the file.
	from map[string]string
}

// NodeType is what nodes of one kind have.
type NodeType struct {
	Name          string         `yaml:"name" unit:"name" doc:"that groups refer to"`
	From          string         `yaml:"from" unit:"name" doc:"a node of orrery cluster catalogue, whose figures it has where it does not say its own"`
	GPUModel      string         `yaml:"gpu_model" unit:"name" doc:"its GPU in the catalogue, by which classes of work know it; without it they know it by the name under gpu"`
	GPU           string         `yaml:"gpu" unit:"name" doc:"model of its GPUs, that jobs ask for; any: it is not known, and where that holds of all nodes each model that a job asks for counts as it"`
	GPUs          int32          `yaml:"gpus" default:"0" min:"0" max:"64" unit:"GPUs" doc:"on each node"`
	GPUMemory     Bytes          `yaml:"gpu_memory" default:"0" min:"0" unit:"size" doc:"of one GPU"`
	CPUs          int32          `yaml:"cpus" default:"0" min:"0" max:"16384" unit:"cores" doc:"on each node"`
	Memory        Bytes          `yaml:"memory" default:"0" min:"0" unit:"size" doc:"of the node"`
	MTBF          model.Duration `yaml:"mtbf" zero:"failures.mtbf" default:"failures.mtbf" min:"1m" when:"failures.mtbf!=never" unit:"span" doc:"mean time that such a node works before it breaks"`
	Features      []string       `yaml:"features" unit:"names" doc:"that jobs may ask for"`
	Unified       bool           `yaml:"unified" default:"false" doc:"CPU and GPU share one memory"`
	CXLOnly       bool           `yaml:"cxl_only" default:"false" doc:"all its memory is attached by CXL; only jobs that allow it go there"`
	IdlePower     Power          `yaml:"idle_power" default:"0" min:"0" unit:"power" doc:"drawn without work"`
	BusyPower     Power          `yaml:"busy_power" default:"0" min:"0" unit:"power" doc:"drawn with all GPUs at work"`
	GPUIdlePower  Power          `yaml:"gpu_idle_power" default:"0W" min:"0" unit:"power" doc:"of idle_power, by one GPU"`
	GPUHeldPower  Power          `yaml:"gpu_held_power" default:"0W" min:"0" unit:"power" doc:"drawn by one GPU while a job holds it and does not work: before its work begins, and while it writes or reads a checkpoint; without it it draws as at work then"`
	GPUPowerLimit Power          `yaml:"gpu_power_limit" zero:"none" default:"none" min:"0" unit:"power" doc:"that one GPU is held to; classes of work say what that costs"`
	GPUClock      float64        `yaml:"gpu_clock" zero:"none" default:"none" min:"0.01" max:"1" unit:"of that without" doc:"to which the clock of each GPU is locked, as a part of that at which it works without a lock; clocks of classes of work say what that costs and saves"`
	GPUTopology   GPUTopology    `yaml:"gpu_topology" doc:"how near its GPUs are; without it they are all alike"`
}

// GPUTopology is written as islands, or as the whole matrix.
type GPUTopology struct {
	Islands         [][]int32 `yaml:"islands" unit:"GPU numbers" doc:"GPUs from 0 that are joined by fast links; each in at most one list"`
	IslandBandwidth int64     `yaml:"island_bandwidth" default:"450" min:"1" max:"1000000" unit:"GB/s" doc:"between two GPUs of one island"`
	OtherBandwidth  int64     `yaml:"other_bandwidth" default:"64" min:"0" max:"1000000" unit:"GB/s" doc:"between GPUs of different islands"`
	NUMA            []int32   `yaml:"numa" unit:"domains" doc:"NUMA domain of each GPU"`
	Bandwidth       [][]int64 `yaml:"bandwidth" unit:"GB/s" doc:"between GPU i and GPU j, all pairs, instead of islands"`
}

// Group is some nodes of one kind in one dragonfly group.
type Group struct {
	Name        string   `yaml:"name" unit:"name" doc:"of the dragonfly group"`
	Nodes       Nodes    `yaml:"nodes" doc:"a number of nodes, which are then called GROUP-1 and so on, or names like n[001-256]"`
	Type        string   `yaml:"type" unit:"name" doc:"the kind of these nodes; needed where there are several"`
	Fingerprint string   `yaml:"fingerprint" unit:"name" doc:"conformance group of these nodes; without it each is a group of its own"`
	Adjacent    []string `yaml:"adjacent" unit:"names" when:"topology=listed" doc:"groups one hop away; it holds both ways"`
	Uplink      Rate     `yaml:"uplink" zero:"group_uplink" default:"group_uplink" min:"1B/s" unit:"rate" doc:"what the link of the dragonfly group to the rest of the network carries one way; once for each group"`
}

// VCluster is a part of the site with a queue of its own.
type VCluster struct {
	Name    string         `yaml:"name" unit:"name" doc:"that jobs name"`
	Profile ProfileRef     `yaml:"profile" default:"default" doc:"a profile of the program, the path of a file beside this one, or the keys of a profile"`
	Home    Nodes          `yaml:"home" doc:"nodes it owns: groups, names, all, or a number of nodes that no other vCluster has; nodes at home nowhere are for all"`
	Lend    bool           `yaml:"lend" default:"true" doc:"others may borrow its idle nodes"`
	Borrow  bool           `yaml:"borrow" default:"true" doc:"its preemptible jobs may use borrowed nodes"`
	MaxLent float64        `yaml:"max_lent" default:"0.2" min:"0" max:"1" unit:"of home" doc:"most of its nodes that are lent at a time, rounded down"`
	Grace   model.Duration `yaml:"grace" default:"1m" min:"0s" unit:"span" doc:"that its jobs have on borrowed nodes before they must checkpoint"`
}

// Routing says in which vCluster jobs are whose rows name none.
type Routing struct {
	Column    string   `yaml:"column" of:"none,user,account,tenant,qos,partition,group,kind" default:"none" doc:"the column of the trace whose values say it"`
	To        []string `yaml:"to" when:"routing.column!=none" unit:"VALUE=VCLUSTER" doc:"the vCluster of each value; without any the values are names of vClusters"`
	Otherwise string   `yaml:"otherwise" unit:"name" doc:"the vCluster of all other rows; without it their jobs are rejected"`
}

// Routes are the values of the column and their vClusters, in the order of the file.
func (r *Routing) Routes() (values, vclusters []string) {
	for _, text := range r.To {
		value, vcluster, _ := strings.Cut(text, "=")
		values, vclusters = append(values, strings.TrimSpace(value)), append(vclusters, strings.TrimSpace(vcluster))
	}
	return values, vclusters
}

// Empty says that nothing is said.
func (r *Routing) Empty() bool { return r.Column == "none" && r.Otherwise == "" }

// Tenant is a customer.
type Tenant struct {
	Name          string  `yaml:"name" unit:"name" doc:"that jobs name"`
	MaxNodes      int32   `yaml:"max_nodes" zero:"none" default:"none" min:"1" unit:"nodes" doc:"held at a time, one that jobs share once; hard"`
	MaxGPUs       int32   `yaml:"max_gpus" zero:"none" default:"none" min:"1" unit:"GPUs" doc:"held at a time, a part of one as that; hard"`
	MaxConcurrent int32   `yaml:"max_concurrent" zero:"none" default:"none" min:"1" unit:"jobs" doc:"running at a time; hard"`
	FairShare     float64 `yaml:"fair_share" default:"0" min:"0" max:"1" unit:"of the nodes" doc:"its target; 0 is none, which is neutral"`
	Burst         float64 `yaml:"burst" zero:"none" default:"none" min:"1" max:"1000" unit:"of fair_share" doc:"1.5 raises its target to at most 150 % while the site is idle"`
	Priority      int64   `yaml:"priority" default:"0" min:"0" max:"4294967295" unit:"points" doc:"of its account, for the order multifactor, relative to the highest there is"`
	GPUHours      float64 `yaml:"gpu_hours" zero:"none" default:"none" min:"0" max:"1e9" unit:"h" doc:"budget of GPU time within the window; soft"`
	NodeHours     float64 `yaml:"node_hours" zero:"none" default:"none" min:"0" max:"1e9" unit:"h" doc:"budget of node time within the window; soft"`
}

// QOS bounds the jobs of a quality of service.
type QOS struct {
	Name         string         `yaml:"name" unit:"name" doc:"that jobs name"`
	Priority     int64          `yaml:"priority" default:"0" min:"0" max:"4294967295" unit:"points" doc:"for the order multifactor, relative to the highest there is"`
	Class        int32          `yaml:"class" default:"-1" min:"-1" max:"10" unit:"class" doc:"preemption class of its jobs; -1 leaves them their own"`
	MaxWall      model.Duration `yaml:"max_wall" zero:"none" default:"none" min:"0s" unit:"span" doc:"longest requested time of a job"`
	MaxNodes     int32          `yaml:"max_nodes" zero:"none" default:"none" min:"1" unit:"nodes" doc:"of a job"`
	GroupNodes   int32          `yaml:"group_nodes" zero:"none" default:"none" min:"1" unit:"nodes" doc:"of all its running jobs"`
	GroupJobs    int32          `yaml:"group_jobs" zero:"none" default:"none" min:"1" unit:"jobs" doc:"running at a time"`
	UserJobs     int32          `yaml:"user_jobs" zero:"none" default:"none" min:"1" unit:"jobs" doc:"running jobs of a user"`
	UserNodes    int32          `yaml:"user_nodes" zero:"none" default:"none" min:"1" unit:"nodes" doc:"of the running jobs of a user"`
	MaxGPUs      int32          `yaml:"max_gpus" zero:"none" default:"none" min:"1" unit:"GPUs" doc:"of a job"`
	GroupGPUs    int32          `yaml:"group_gpus" zero:"none" default:"none" min:"1" unit:"GPUs" doc:"of all its running jobs"`
	UserGPUs     int32          `yaml:"user_gpus" zero:"none" default:"none" min:"1" unit:"GPUs" doc:"of the running jobs of a user"`
	UserPending  int32          `yaml:"user_pending" zero:"none" default:"none" min:"1" unit:"jobs" doc:"of a user in the system, waiting or running; read, but not enforced yet"`
	Preempts     []string       `yaml:"preempts" unit:"names" doc:"qualities of service whose jobs it may preempt"`
	UsageFactor  float64        `yaml:"usage_factor" default:"1" min:"0" max:"1000" unit:"factor" doc:"that its usage counts by"`
	PreemptGrace model.Duration `yaml:"preempt_grace" default:"0s" min:"0s" unit:"span" doc:"that its jobs have when preempted"`
}

// ClassTarget is what is promised to the jobs of a preemption class.
type ClassTarget struct {
	Class      int32          `yaml:"class" default:"-1" min:"-1" max:"10" unit:"class" doc:"preemption class; 10 is sensitive work"`
	TargetWait model.Duration `yaml:"target_wait" zero:"none" default:"none" min:"0s" unit:"span" doc:"within which its jobs should start"`
}

// Partition is a named set of nodes.
type Partition struct {
	Name     string         `yaml:"name" unit:"name" doc:"that jobs name"`
	Nodes    Nodes          `yaml:"nodes" default:"all" doc:"groups, names, or all"`
	Tier     int32          `yaml:"tier" default:"1" min:"0" max:"65535" unit:"tier" doc:"jobs of higher tiers come first, whatever their score"`
	Priority int64          `yaml:"priority" default:"1" min:"0" max:"65535" unit:"points" doc:"for the order multifactor, relative to the highest there is"`
	MaxWall  model.Duration `yaml:"max_wall" zero:"none" default:"none" min:"0s" unit:"span" doc:"longest requested time of a job"`
	MinNodes int32          `yaml:"min_nodes" default:"0" min:"0" unit:"nodes" doc:"of a job"`
	MaxNodes int32          `yaml:"max_nodes" zero:"none" default:"none" min:"1" unit:"nodes" doc:"of a job"`
	Up       bool           `yaml:"up" default:"true" doc:"whether its jobs may start"`
}

// Reservation sets nodes aside.
type Reservation struct {
	Name        string         `yaml:"name" unit:"name" doc:"that jobs name to run in it"`
	Nodes       Nodes          `yaml:"nodes" default:"all" doc:"groups, names, or all"`
	Start       model.Duration `yaml:"start" default:"0s" min:"0s" unit:"span" doc:"since the epoch of the trace"`
	End         model.Duration `yaml:"end" default:"0s" min:"0s" unit:"span" doc:"since the epoch of the trace, after start"`
	Maintenance bool           `yaml:"maintenance" default:"false" doc:"nothing runs in it"`
	Flex        bool           `yaml:"flex" default:"false" doc:"jobs that name it may start before it begins and run past its end, as with FLEX of Slurm; none starts when it is over"`
}

// Quorum says how long a proposal takes.
type Quorum struct {
	Latency model.Duration `yaml:"latency" default:"0s" min:"0s" max:"1h" unit:"span" doc:"from a proposal to its answer"`
	Jitter  model.Duration `yaml:"jitter" default:"0s" min:"0s" max:"1h" unit:"span" doc:"uniform, on top of the latency"`
}

// Agents says how long nodes take.
type Agents struct {
	StartDelay          model.Duration `yaml:"start_delay" default:"0s" min:"0s" max:"1d" unit:"span" doc:"from the assignment to the start of the work"`
	BootDelay           model.Duration `yaml:"boot_delay" default:"5m" min:"0s" max:"1d" unit:"span" doc:"from up or undrain of a node that was down until it takes work"`
	Wipe                model.Duration `yaml:"wipe" default:"10m" min:"0s" max:"1d" unit:"span" doc:"cleaning a node after sensitive work"`
	KillGrace           model.Duration `yaml:"kill_grace" default:"30s" min:"0s" max:"1d" unit:"span" doc:"from asking a job to end until it is killed, at its walltime and as a victim without checkpoint"`
	CompletionDelay     model.Duration `yaml:"completion_delay" default:"0s" min:"0s" max:"1h" unit:"span" doc:"uniform from 0, from the end of a job until its nodes are known to be free"`
	CheckpointBandwidth Rate           `yaml:"checkpoint_bandwidth" default:"10GiB/s" min:"1B/s" unit:"rate" doc:"at which a job writes its checkpoint"`
	RestoreBandwidth    Rate           `yaml:"restore_bandwidth" default:"10GiB/s" min:"1B/s" unit:"rate" doc:"at which a job reads it back"`
	CheckpointStop      Rate           `yaml:"checkpoint_stop" zero:"none" default:"none" min:"1B/s" unit:"rate" doc:"at which a job copies a checkpoint into the memory of its nodes, which is all that stops it: it then writes the copy at checkpoint_bandwidth while it works, and the checkpoint is safe when that is done; none: the job stands still until it is written"`
	Heartbeat           Heartbeat      `yaml:"heartbeat" doc:"when the scheduler learns that a node has broken"`
	BootFailure         float64        `yaml:"boot_failure" default:"0" min:"0" max:"0.9" unit:"probability" doc:"that a node that was down does not boot; it is booted again after boot_timeout"`
	BootTimeout         model.Duration `yaml:"boot_timeout" zero:"none" default:"none" min:"1s" max:"1d" when:"agents.boot_failure!=0" unit:"span" doc:"after which a boot counts as failed (ResumeTimeout of Slurm); needed with boot_failure, for no figure suits all nodes"`
	PrologueFailure     float64        `yaml:"prologue_failure" default:"0" min:"0" max:"0.5" unit:"probability" doc:"that the prologue of a job fails on one of its nodes; the node drains and the job goes back to the queue"`
	PrologueRepair      model.Duration `yaml:"prologue_repair" zero:"none" default:"none" min:"1s" when:"agents.prologue_failure!=0" unit:"span" doc:"mean of the exponential time until such a node takes work again; needed with prologue_failure"`
	Checkpoints         string         `yaml:"checkpoints" of:"none,value,young,daly" default:"none" doc:"when running jobs write checkpoints of their own accord: never, when the value exceeds the cost, or after the interval of Young or of Daly"`
}

// Event is a change at an instant.
type Event struct {
	Time    model.Duration `yaml:"time" default:"0s" min:"0s" unit:"span" doc:"since the epoch of the trace"`
	Kind    string         `yaml:"kind" of:"drain,undrain,degraded,down,up,quota,power_cap,storage_bandwidth,sensitive_pool,price" doc:"what changes"`
	Subject Nodes          `yaml:"subject" doc:"nodes (groups, names, or all) of drain, undrain, degraded, down and up; the tenant of quota"`
	Limit   string         `yaml:"limit" unit:"key" doc:"of quota: the key of the tenant that changes"`
	Value   string         `yaml:"value" any:"scalar" unit:"of what changes" doc:"the new limit, cap, or price (0 to 1); none lifts a limit"`
}
