// Package column holds the shapes in which finished results travel between
// the recorder that stores them and the code that reduces them: batches of
// columns of equal length, and time bins. It knows neither files nor
// formulas, so that metrics need not know Parquet.
package column

import (
	"math"

	"orrery/scheduler/model"
)

// Absent marks a missing instant or span in a column; on disk it is null. It
// equals model.AbsentTime and model.AbsentDuration.
const Absent int64 = math.MinInt64

// Jobs is a batch of rows of the result table jobs, in order of leaving the
// system (ties by Job). Times are microseconds since the trace's epoch, spans
// are microseconds. All slices have the same length; a consumer must not keep
// them, the next batch reuses them.
type Jobs struct {
	Job      []int32 // row of the trace
	ID       []int64 // the log's own job number
	User     []int32 // index into the user names, -1 when unknown
	Submit   []int64
	Eligible []int64
	Start    []int64 // first start, Absent when it never started
	End      []int64 // when it left the system
	Runtime  []int64 // time it ran in the replay, 0 when it never did
	Walltime []int64 // requested, Absent when none was stated
	Procs    []int32 // units asked for
	Nodes    []int32 // distinct nodes held by the last attempt
	Wait     []int64 // Start-Submit, Absent when it never started
	State    []uint8 // model.JobState
	Reason   []uint8 // model.Reason
	Attempts []int32

	// Of a site; empty for other clusters.
	OfSite bool // Append fills them
	Site
}

// Site is what the table jobs says more of jobs at a site.
type Site struct {
	VCluster    []int32 // index into the names of the vClusters, -1 when unknown
	Tenant      []int32 // index into the names of the tenants, -1 when it has none
	Class       []int32 // preemption class
	Kind        []uint8 // model.Kind
	GPUs        []int32 // asked for on each node
	Requeues    []int32
	Preemptions []int32
	NodeUS      []int64 // nodes held by all attempts, in node·µs
	GPUUS       []int64 // GPUs held, in GPU·µs
	BorrowedUS  []int64 // of NodeUS, on nodes of other vClusters
	KeptUS      []int64 // of GPUUS, work that counted
	LostUS      []int64 // of GPUUS, work thrown away
	// What its nodes drew for it, in mJ: at least, most likely and at most.
	EnergyLow, Energy, EnergyHigh []int64
	Source                        []uint8 // model.PowerSource
	// What that cost, in 10^-6 of the currency, and emitted, in mg; Absent where it is not known.
	CostLow, Cost, CostHigh       []int64
	CarbonLow, Carbon, CarbonHigh []int64
}

// Len is the number of rows in the batch.
func (c *Jobs) Len() int { return len(c.Job) }

// Append adds one row. It allocates only when a column has to grow.
func (c *Jobs) Append(r *model.JobRecord) {
	start, wait, wall := int64(r.Start), Absent, int64(r.Walltime)
	if start != Absent {
		wait = start - int64(r.Submit)
	}
	if r.Walltime == model.Forever {
		wall = Absent
	}
	c.Job = append(c.Job, int32(r.Job))
	c.ID = append(c.ID, r.ID)
	c.User = append(c.User, r.User)
	c.Submit = append(c.Submit, int64(r.Submit))
	c.Eligible = append(c.Eligible, int64(r.Eligible))
	c.Start = append(c.Start, start)
	c.End = append(c.End, int64(r.End))
	c.Runtime = append(c.Runtime, int64(r.Runtime))
	c.Walltime = append(c.Walltime, wall)
	c.Procs = append(c.Procs, r.Procs)
	c.Nodes = append(c.Nodes, r.Nodes)
	c.Wait = append(c.Wait, wait)
	c.State = append(c.State, uint8(r.State))
	c.Reason = append(c.Reason, uint8(r.Reason))
	c.Attempts = append(c.Attempts, r.Attempts)
	if c.OfSite {
		c.Site.add(r)
	}
}

func (c *Site) add(r *model.JobRecord) {
	c.VCluster = append(c.VCluster, int32(r.VCluster))
	c.Tenant = append(c.Tenant, int32(r.Tenant))
	c.Class = append(c.Class, r.Class)
	c.Kind = append(c.Kind, uint8(r.Kind))
	c.GPUs = append(c.GPUs, r.GPUs)
	c.Requeues = append(c.Requeues, r.Requeues)
	c.Preemptions = append(c.Preemptions, r.Preemptions)
	c.NodeUS = append(c.NodeUS, r.Allocated.Nodes)
	c.GPUUS = append(c.GPUUS, r.Allocated.GPUs)
	c.BorrowedUS = append(c.BorrowedUS, r.Allocated.Borrowed)
	c.KeptUS = append(c.KeptUS, r.KeptGPU)
	c.LostUS = append(c.LostUS, r.LostGPU)
	c.EnergyLow, c.Energy, c.EnergyHigh = append(c.EnergyLow, r.Energy.Low), append(c.Energy, r.Energy.Value), append(c.EnergyHigh, r.Energy.High)
	c.Source = append(c.Source, uint8(r.Source))
	var cost, carbon model.Charge
	if r.Bill != nil {
		cost, carbon = r.Bill.Cost, r.Bill.Carbon
	}
	addCharge(&c.CostLow, &c.Cost, &c.CostHigh, &cost)
	addCharge(&c.CarbonLow, &c.Carbon, &c.CarbonHigh, &carbon)
}

func addCharge(low, value, high *[]int64, x *model.Charge) {
	of := model.Charge{Low: Absent, Value: Absent, High: Absent}
	if x.Known {
		of = *x
	}
	*low, *value, *high = append(*low, of.Low), append(*value, of.Value), append(*high, of.High)
}

func (c *Site) slice(i, j int) Site {
	return Site{
		VCluster: c.VCluster[i:j], Tenant: c.Tenant[i:j], Class: c.Class[i:j], Kind: c.Kind[i:j], GPUs: c.GPUs[i:j],
		Requeues: c.Requeues[i:j], Preemptions: c.Preemptions[i:j],
		NodeUS: c.NodeUS[i:j], GPUUS: c.GPUUS[i:j], BorrowedUS: c.BorrowedUS[i:j], KeptUS: c.KeptUS[i:j], LostUS: c.LostUS[i:j],
		EnergyLow: c.EnergyLow[i:j], Energy: c.Energy[i:j], EnergyHigh: c.EnergyHigh[i:j], Source: c.Source[i:j],
		CostLow: c.CostLow[i:j], Cost: c.Cost[i:j], CostHigh: c.CostHigh[i:j],
		CarbonLow: c.CarbonLow[i:j], Carbon: c.Carbon[i:j], CarbonHigh: c.CarbonHigh[i:j],
	}
}

// Slice is the sub-batch of rows [i, j); it shares memory with c.
func (c *Jobs) Slice(i, j int) Jobs {
	out := Jobs{
		Job: c.Job[i:j], ID: c.ID[i:j], User: c.User[i:j],
		Submit: c.Submit[i:j], Eligible: c.Eligible[i:j], Start: c.Start[i:j], End: c.End[i:j],
		Runtime: c.Runtime[i:j], Walltime: c.Walltime[i:j],
		Procs: c.Procs[i:j], Nodes: c.Nodes[i:j], Wait: c.Wait[i:j],
		State: c.State[i:j], Reason: c.Reason[i:j], Attempts: c.Attempts[i:j],
		OfSite: c.OfSite,
	}
	if c.OfSite {
		out.Site = c.Site.slice(i, j)
	}
	return out
}

// Attempts is a batch of rows of the result table attempts, in order of
// ending. The rules of Jobs apply. Nodes and Shares are the texts of the
// file: ascending node ranges like "0-3,7", and units per node, run-length
// encoded in node order, like "4x3,1" (empty when whole nodes are held).
type Attempts struct {
	Job     []int32
	ID      []int64
	Attempt []int32 // from 1
	Start   []int64
	End     []int64
	Outcome []uint8 // model.JobState
	Procs   []int32
	Nodes   []string
	Shares  []string

	// OfSite says that Site is filled: the run is of a site.
	OfSite bool
	Site   SiteAttempts
}

// SiteAttempts are the columns of attempts of a site.
type SiteAttempts struct {
	Kept      []int64 // µs of work
	Lost      []int64
	Reason    []uint8 // model.Reason
	NodeCount []int32
	GPUs      []int32
	Borrowed  []int32 // of the nodes
}

// Len is the number of rows in the batch.
func (c *Attempts) Len() int { return len(c.Job) }

// Append adds one row whose node texts are given. It allocates only when a
// column has to grow.
func (c *Attempts) Append(r *model.AttemptRecord, nodes, shares string) {
	c.Job = append(c.Job, int32(r.Job))
	c.ID = append(c.ID, r.ID)
	c.Attempt = append(c.Attempt, r.Attempt)
	c.Start = append(c.Start, int64(r.Start))
	c.End = append(c.End, int64(r.End))
	c.Outcome = append(c.Outcome, uint8(r.Outcome))
	c.Procs = append(c.Procs, r.Procs)
	c.Nodes = append(c.Nodes, nodes)
	c.Shares = append(c.Shares, shares)
	if s := &c.Site; c.OfSite {
		s.Kept, s.Lost = append(s.Kept, int64(r.Kept)), append(s.Lost, int64(r.Lost))
		s.Reason = append(s.Reason, uint8(r.Reason))
		s.NodeCount, s.GPUs, s.Borrowed = append(s.NodeCount, r.Nodes), append(s.GPUs, r.GPUs), append(s.Borrowed, r.Borrowed)
	}
}

// Slice is the sub-batch of rows [i, j); it shares memory with c.
func (c *Attempts) Slice(i, j int) Attempts {
	out := Attempts{
		Job: c.Job[i:j], ID: c.ID[i:j], Attempt: c.Attempt[i:j],
		Start: c.Start[i:j], End: c.End[i:j], Outcome: c.Outcome[i:j], Procs: c.Procs[i:j],
		Nodes: c.Nodes[i:j], Shares: c.Shares[i:j], OfSite: c.OfSite,
	}
	if s := &c.Site; c.OfSite {
		out.Site = SiteAttempts{
			Kept: s.Kept[i:j], Lost: s.Lost[i:j], Reason: s.Reason[i:j],
			NodeCount: s.NodeCount[i:j], GPUs: s.GPUs[i:j], Borrowed: s.Borrowed[i:j],
		}
	}
	return out
}

// Scanner hands out all rows of the table jobs in order, batch by batch. Scan
// may be called any number of times and delivers the same rows each time; it
// stops at the first error fn returns and returns it.
type Scanner interface {
	Scan(fn func(*Jobs) error) error
}

// Set is a set of columns of Jobs.
type Set uint64

// The columns of Jobs, in the order of the file.
const (
	Job Set = 1 << iota
	ID
	User
	Submit
	Eligible
	Start
	End
	Runtime
	Walltime
	Procs
	Nodes
	Wait
	State
	NumAttempts
	Reason
	VCluster
	Tenant
	Class
	Kind
	GPUs
	Requeues
	Preemptions
	NodeUS
	GPUUS
	BorrowedUS
	KeptUS
	LostUS
	EnergyLow
	Energy
	EnergyHigh
	Source
	CostLow
	Cost
	CostHigh
	CarbonLow
	Carbon
	CarbonHigh
	Every = 1<<iota - 1
)

// Selector is a Scanner that can leave out columns, which saves their
// decoding. The slices of columns that are not wanted may be empty, so a
// consumer counts rows by a column it has asked for.
type Selector interface {
	Scanner
	ScanOnly(want Set, fn func(*Jobs) error) error
}

// ScanOnly hands out at least the wanted columns of s.
func ScanOnly(s Scanner, want Set, fn func(*Jobs) error) error {
	if sel, ok := s.(Selector); ok {
		return sel.ScanOnly(want, fn)
	}
	return s.Scan(fn)
}

// Bin is the state of the system summed over [Time, Time+Width): unit·µs and
// job·µs as integers, so that two neighbours add up exactly to the bin that
// covers both. The sums saturate at the largest int64.
type Bin struct {
	Time           model.Time
	Width          model.Duration
	BusyUnitUS     int64
	QueuedJobUS    int64
	QueuedUnitUS   int64
	RunningJobUS   int64
	QueuedUnitsMax int64
	QueuedJobsMax  int32
	BusyUnitsMax   int32
	Starts         int32
	Ends           int32
	Submits        int32
}

// VClusterBin is what the running jobs of a vCluster held over [Time,
// Time+Width), and how many of its jobs waited; its widths are those of Bin.
type VClusterBin struct {
	Time        model.Time
	Width       model.Duration
	VCluster    int32
	NodeUS      int64 // nodes held, in node·µs
	BorrowedUS  int64 // of them, at home in other vClusters
	LentUS      int64 // home nodes held by jobs of other vClusters
	GPUUS       int64
	QueuedJobUS int64
}

// Group is what came of the jobs of one vCluster, tenant or class in one
// window. Values that are not defined are nil.
type Group struct {
	By     string `json:"by"` // vcluster, tenant or class
	Name   string `json:"name"`
	Window string `json:"window"`

	Jobs        int64 `json:"jobs"` // submitted in the window, as all that follows
	Started     int64 `json:"started"`
	Preemptions int64 `json:"preemptions"`
	Requeues    int64 `json:"requeues"`
	NodeUS      int64 `json:"node_us"`
	GPUUS       int64 `json:"gpu_us"`
	BorrowedUS  int64 `json:"borrowed_us"`
	KeptUS      int64 `json:"kept_gpu_us"`
	LostUS      int64 `json:"lost_gpu_us"`
	// What the nodes of these jobs drew for them, in mJ.
	EnergyLow  int64 `json:"energy_low_mj"`
	Energy     int64 `json:"energy_mj"`
	EnergyHigh int64 `json:"energy_high_mj"`
	// What that cost, in 10^-6 of the currency, and emitted, in mg.
	CostLow    *int64 `json:"energy_cost_low_micro"`
	Cost       *int64 `json:"energy_cost_micro"`
	CostHigh   *int64 `json:"energy_cost_high_micro"`
	CarbonLow  *int64 `json:"carbon_low_mg"`
	Carbon     *int64 `json:"carbon_mg"`
	CarbonHigh *int64 `json:"carbon_high_mg"`

	WaitMean *float64 `json:"wait_mean"` // s, as the percentiles
	WaitP50  *float64 `json:"wait_p50"`
	WaitP90  *float64 `json:"wait_p90"`
	WaitP95  *float64 `json:"wait_p95"`
	WaitP99  *float64 `json:"wait_p99"`
	WaitMax  *float64 `json:"wait_max"`
	Within   *float64 `json:"within_target"` // share that started within its target
	Starved  *float64 `json:"starved"`       // share that waited longer than the limit

	Share     *float64 `json:"share"` // of all node time held within the window
	Target    *float64 `json:"target"`
	Deviation *float64 `json:"deviation"`     // Share - Target
	LentUS    *int64   `json:"lent_us"`       // home nodes held by others within the window
	HeldUS    *int64   `json:"quota_hold_us"` // job time spent waiting for a limit
}
