// Package workload says what an operator wants to know of a trace before tuning: load over time, arrivals by hour and
// weekday, sizes and runtimes, how good requests are, who holds the machine, what stood idle while jobs waited, and how far
// idle GPUs are scattered. It takes the rows of a trace, as recorded, and gives numbers and a page of figures. It must not
// know of replays.
//
// Memory grows with the jobs, by about 100 B each.
package workload

import (
	"slices"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Stats are what a trace holds. Times are µs since its epoch, spans µs; quantiles are by nearest rank.
type Stats struct {
	Trace      string `json:"trace"`
	EpochUS    *int64 `json:"epoch_us"` // µs since 1970-01-01 UTC, null when it is not known
	TimeZone   string `json:"time_zone"`
	Jobs       int64  `json:"jobs"`
	Started    int64  `json:"started"` // of which the start is recorded
	FirstUS    int64  `json:"first_submit_us"`
	LastUS     int64  `json:"last_submit_us"`
	EndUS      int64  `json:"end_us"` // the last recorded end, or submission
	Unit       string `json:"unit"`   // processors, nodes or GPUs: what sizes and loads count in
	Capacity   int64  `json:"capacity"`
	CapacityBy string `json:"capacity_by"`
	PeakHeld   int64  `json:"peak_held"`
	TooLarge   int64  `json:"too_large"`       // jobs larger than the capacity
	ZeroTime   int64  `json:"zero_time"`       // jobs that ran for no time
	Cut        int64  `json:"ended_by_policy"` // attempts that the recorded scheduler ended: preempted, requeued

	Load     []Bin        `json:"load"`
	Hours    [24]int64    `json:"arrivals_by_hour"`
	Weekdays [7]int64     `json:"arrivals_by_weekday"` // from Monday; where the epoch is not known, days from it on
	Sizes    Distribution `json:"sizes"`
	Runtimes Distribution `json:"runtimes_us"`
	Requests Distribution `json:"requests_us"`
	Waits    Distribution `json:"recorded_waits_us"`
	MeanWait *float64     `json:"recorded_wait_mean_us"` // nil where no start is recorded
	Accuracy Accuracy     `json:"accuracy"`
	Beyond   Allocated    `json:"allocated_beyond_request"`
	Tenants  Tenants      `json:"tenants"`
	Idle     Idle         `json:"idle_while_jobs_wait"`
	GPUs     Scatter      `json:"gpu_fragmentation"`
}

// Bin is a stretch of time.
type Bin struct {
	StartUS    int64   `json:"start_us"`
	WidthUS    int64   `json:"width_us"`
	Submitted  int64   `json:"submitted"` // jobs
	Offered    float64 `json:"offered"`   // work submitted ÷ what the capacity can do in the time
	Held       float64 `json:"held"`      // mean share of the capacity
	Waiting    float64 `json:"waiting"`   // mean number of jobs
	WaitingMax int64   `json:"waiting_max"`
}

// Distribution is that of a number of each job.
type Distribution struct {
	Known   int64    `json:"known"`
	Unknown int64    `json:"unknown"` // jobs without it
	P10     int64    `json:"p10"`
	P50     int64    `json:"p50"`
	P90     int64    `json:"p90"`
	P99     int64    `json:"p99"`
	Max     int64    `json:"max"`
	Buckets []Bucket `json:"buckets"`
}

// Bucket counts jobs above the bound of the bucket before it, up to its own.
type Bucket struct {
	UpTo int64 `json:"up_to"`
	Jobs int64 `json:"jobs"`
}

// Accuracy is that of requested times, for jobs that have one and ran.
type Accuracy struct {
	Jobs      int64     `json:"jobs"`
	NoRequest int64     `json:"no_request"`
	Exceeded  int64     `json:"exceeded"` // ran longer than requested
	Tenths    [10]int64 `json:"tenths"`   // by runtime ÷ request, those that exceeded it in the last
	Median    float64   `json:"median"`
	Mean      float64   `json:"mean"`
}

// Tenants are those that hold most, and the rest in one row.
type Tenants struct {
	By   string   `json:"by"` // the column: tenant, account, group or user
	Rows []Tenant `json:"rows"`
}

// Tenant is one of them.
type Tenant struct {
	Name      string   `json:"name"`
	Jobs      int64    `json:"jobs"`
	UnitHours float64  `json:"unit_hours"`
	Share     float64  `json:"share"`
	FairShare *float64 `json:"fair_share,omitempty"`
}

// Idle is what was not held while jobs waited, by the record.
type Idle struct {
	Known     bool    `json:"known"`
	Why       string  `json:"why,omitempty"` // it is not known
	WaitingUS int64   `json:"waiting_us"`    // time with a waiting job
	Share     float64 `json:"share"`         // mean share of the capacity that was idle in that time
	UnitHours float64 `json:"unit_hours"`
	FitsUS    int64   `json:"fits_us"` // time in which the smallest waiting job was no larger than what was idle
}

// Scatter is how far idle GPUs lie on nodes that are in use in part.
type Scatter struct {
	Known     bool    `json:"known"`
	Why       string  `json:"why,omitempty"`
	GPUs      int64   `json:"gpus"`
	Idle      float64 `json:"idle"`      // mean number
	Scattered float64 `json:"scattered"` // share of the idle GPU time on nodes of which some GPU was held
	Jobs      int64   `json:"jobs"`      // whose nodes the trace names
}

// Measure reads the jobs of a trace, twice where its nodes have GPUs. Hours and weekdays are those of zone.
func Measure(b *traces.Bundle, zone *time.Location) (*Stats, error) {
	info := b.Info()
	c := collector{s: &Stats{Trace: info.Name, TimeZone: zone.String()}, zone: zone, epoch: info.Epoch, nodes: b.Nodes()}
	if info.EpochKnown {
		at := int64(info.Epoch)
		c.s.EpochUS = &at
	}
	if err := c.chooseUnit(b); err != nil {
		return nil, err
	}
	for j, err := range b.Rows() {
		if err != nil {
			return nil, err
		}
		c.add(j)
	}
	c.capacity(&info)
	c.finish(b.Tenants())
	return c.s, nil
}

// chooseUnit takes GPUs where there are some and at least half of the jobs want any, else processors where half of the jobs
// say how many, else nodes.
func (c *collector) chooseUnit(b *traces.Bundle) error {
	info := b.Info()
	filled := map[string]int64{}
	for _, f := range info.Filled {
		filled[f.Column] = f.Rows
	}
	c.s.Unit = "nodes"
	if info.Filled == nil || 2*max(filled["procs_requested"], filled["procs_allocated"], filled["cpus_per_node"]) >= info.Rows {
		c.s.Unit = "processors"
	}
	if !slices.ContainsFunc(c.nodes, func(n traces.Node) bool { return n.GPUs > 0 }) {
		return nil
	}
	with := int64(0)
	for j, err := range b.Rows() {
		if err != nil {
			return err
		}
		if j.GPUsTotal.V > 0 || j.GPUsPerNode.V > 0 {
			with++
		}
	}
	if 2*with >= info.Rows {
		c.s.Unit = "GPUs"
	}
	return nil
}

// size is what a job holds, or asked for when that is not recorded; at least 0.
func (c *collector) size(j *traces.Job) int64 {
	nodes := max(int64(j.NodesMin.V), 1)
	switch c.s.Unit {
	case "GPUs":
		if j.GPUsTotal.OK {
			return int64(j.GPUsTotal.V)
		}
		return int64(j.GPUsPerNode.V) * nodes
	case "nodes":
		return nodes
	}
	switch {
	case j.ProcsAllocated.OK:
		return int64(j.ProcsAllocated.V)
	case j.ProcsRequested.OK:
		return int64(j.ProcsRequested.V)
	}
	return max(int64(j.CPUsPerNode.V), 1) * nodes
}

// capacity is that of the nodes table, else what the log states, else the most that was held at once.
func (c *collector) capacity(info *traces.Info) {
	total := int64(0)
	for i := range c.nodes {
		n := &c.nodes[i]
		total += map[string]int64{"GPUs": int64(n.GPUs), "processors": int64(n.CPUs), "nodes": 1}[c.s.Unit]
	}
	stated := map[string]int32{"processors": info.MaxProcs, "nodes": info.MaxNodes}[c.s.Unit]
	c.s.PeakHeld, c.stated = c.peak(), total > 0 || stated > 0
	switch {
	case total > 0:
		c.s.Capacity, c.s.CapacityBy = total, "the nodes table"
	case stated > 0:
		c.s.Capacity, c.s.CapacityBy = int64(stated), "the log"
	default:
		c.s.Capacity, c.s.CapacityBy = max(c.s.PeakHeld, 1), "the most that was held at once"
	}
}

// clock is the instant of a trace on the wall clock of the zone.
func (c *collector) clock(t model.Time) time.Time {
	return time.UnixMicro(int64(c.epoch) + int64(t)).UTC().In(c.zone)
}

// meanOf is nil of no value. A sum of spans may be beyond 64 bits.
func meanOf(spans []int64) *float64 {
	if len(spans) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range spans {
		sum += float64(v)
	}
	mean := sum / float64(len(spans))
	return &mean
}
