package traces

import "orrery/scheduler/model"

// Opt is a field that may be null: V counts only when OK.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some wraps a value that is there; the zero Opt is null.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// or is the value, or absent when it is null.
func (o Opt[T]) or(absent T) T {
	if o.OK {
		return o.V
	}
	return absent
}

// Job is one whole row of the jobs table, for importers, exports and tools; a
// replay reads Batch instead. Instants are relative to the bundle's epoch, as
// everywhere in memory; on disk they are absolute. An empty string is null.
// The unit and meaning of every field stand in the table of columns
// (JobColumns) and in docs/TRACE-FORMAT.md.
type Job struct {
	ID       int64
	Name     string
	User     string
	Tenant   string
	VCluster string
	Kind     string // bounded, service, reactive or session; written as bounded when empty

	Submit   model.Time
	Start    Opt[model.Time]
	End      Opt[model.Time]
	Runtime  Opt[model.Duration]
	Walltime Opt[model.Duration]

	NodesMin    Opt[int32]
	NodesMax    Opt[int32]
	GPUsPerNode Opt[int32]
	GPUType     string
	GPUMem      Opt[int64]
	CPUsPerNode Opt[int32]
	MemPerNode  Opt[int64]
	Features    string
	Topology    string

	Class      Opt[int32]
	Sensitive  Opt[bool]
	Checkpoint string
	CkptBytes  Opt[int64]
	Requeue    string
	RequeueMax Opt[int32]

	Mounts       string
	IODemand     Opt[int64]
	Power        Opt[int64]
	CommFraction Opt[float64]

	Group         string
	Index         Opt[int32]
	MaxConcurrent Opt[int32]
	DAG           string

	ExitState string
	ExitCode  Opt[int32]

	ProcsRequested Opt[int32]
	ProcsAllocated Opt[int32]
	Eligible       Opt[model.Time]
	CancelledAt    Opt[model.Time]
	Partition      string
	QOS            string
	Account        string
	Priority       Opt[int64]

	RecordedNodes string
	Reservation   string
	Exclusive     Opt[bool]
	NodeInclude   string
	NodeExclude   string

	AfterJob  Opt[int64]
	ThinkTime Opt[model.Duration]
	Extra     string

	Hold     Opt[bool]
	Released Opt[model.Time]
	Nice     Opt[int32]

	GPUMilli    Opt[int32]
	GPUTypes    string
	GPUsTotal   Opt[int32]
	Deadline    Opt[model.Time]
	ScaleMetric string
	ScaleTarget Opt[float64]

	SiteFactor     Opt[int64]
	NodesAllocated Opt[int32]
	GPUsAllocated  Opt[int32]
}

// Dep is one row of the deps table: Job may not start before On has reached
// the state that Condition names (success, failure, any, corresponding or
// mutex). Both are job ids.
type Dep struct {
	Job       int64
	On        int64
	Condition string
}

// Tenant is one row of the tenants table: what a site grants to a tenant.
type Tenant struct {
	Name          string
	MaxNodes      Opt[int32]
	MaxConcurrent Opt[int32]
	FairShare     Opt[float64]
	Burst         Opt[float64]
	GPUHours      Opt[float64]
	NodeHours     Opt[float64]
}

// Event is one row of the events table: a change of the site that is no job.
// The words for Kind and how each writes Value stand in docs/TRACE-FORMAT.md.
type Event struct {
	Time    model.Time
	Kind    string
	Subject string
	Value   string
}

// Price is one row of the prices table; it holds until the next one.
type Price struct {
	Time   model.Time
	Price  float64      // EUR/kWh
	Carbon Opt[float64] // gCO2/kWh
	Supply Opt[int64]   // W
}

// Load is one row of the load table: what was asked of a service from outside
// during Width from Time on. It never depends on what the service could do. A
// sample of Width 0 is what came at one instant. The means are those of the
// requests of the sample.
type Load struct {
	Service    string
	Time       model.Time
	Width      model.Duration
	Arrivals   Opt[float64]
	Concurrent Opt[float64]
	Work       Opt[model.Duration]
	WorkCV     Opt[float64]
	TokensIn   Opt[float64]
	TokensOut  Opt[float64]
}

// Telemetry is one row of the telemetry table: what was measured of a GPU, or of
// a node as a whole, at an instant. Counters (energy, ECC errors, bytes) count
// from an instant of their own, and may begin anew. A row with Stat sums up the
// samples of Width from Time on.
type Telemetry struct {
	Node string
	GPU  Opt[int32]
	Time model.Time

	SMUtil  Opt[float64]
	MemUtil Opt[float64]
	MemUsed Opt[int64]
	Power   Opt[float64]
	Energy  Opt[int64]

	SMClock     Opt[int32]
	MemClock    Opt[int32]
	Throttle    Opt[int64]
	Temperature Opt[float64]

	ECCCorrected   Opt[int64]
	ECCUncorrected Opt[int64]
	NVLinkRx       Opt[int64]
	NVLinkTx       Opt[int64]
	PCIeRx         Opt[int64]
	PCIeTx         Opt[int64]
	Processes      string

	SMActive       Opt[float64]
	MemTemperature Opt[float64]
	RetiredPages   Opt[int64]
	Stat           string
	Width          Opt[model.Duration]

	TensorActive     Opt[float64]
	DRAMActive       Opt[float64]
	PowerViolation   Opt[int64]
	ThermalViolation Opt[int64]
	NVLinkErrors     Opt[int64]

	// Of rows without a GPU.
	CPUUtil     Opt[float64]
	CPUEnergy   Opt[int64]
	DiskRead    Opt[int64]
	DiskWritten Opt[int64]
	NetRx       Opt[int64]
	NetTx       Opt[int64]
}

// Instance is one row of the table mig: what was measured of a GPU instance of MIG. It has a table of its own because its
// GPU has a row in telemetry, for all instances together: none may be counted twice. Power, energy, clocks and temperature are of
// the GPU alone, and have no columns here.
type Instance struct {
	Node        string
	GPU         int32 // that it is a part of
	GPUUUID     string
	GPUInstance int32
	UUID        string
	Profile     string
	Time        model.Time

	Multiprocessors Opt[int32]
	MemTotal        Opt[int64]
	MemUsed         Opt[int64]
	SMActive        Opt[float64]
	TensorActive    Opt[float64]
	DRAMActive      Opt[float64]
	Processes       string
	Stat            string
	Width           Opt[model.Duration]
}
