// Package calibrate finds what a site's own telemetry and jobs say of its hardware, as figures
// for its cluster file: draws by state and by class of work, speeds by GPU and by placement,
// bandwidths, delays, failures and repairs. Each has the range in which it is known and what it
// rests on; what the data cannot carry is refused with what is missing. It must not know files.
package calibrate

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"orrery/capture/join"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Source is what was captured, and what the cluster file calls it. Telemetry and events have
// absolute instants, jobs instants since Epoch.
type Source struct {
	Telemetry func() iter.Seq2[*traces.Telemetry, error]
	Events    []traces.Event
	Jobs      func() iter.Seq2[*traces.Job, error]
	Epoch     model.Time
	// TypeOf is the node type of a node, -1 where the cluster file has no such node.
	TypeOf func(node string) int
	Nodes  []string // of the cluster file
	// Types are the node types, with the names of their GPUs in classes of work.
	Types []NodeType
	// ClassOf is the class of work of a job, -1 for none.
	ClassOf func(*traces.Job) int
	Classes []string
	// SensorOf is what is known of the sensors of the GPUs of a node type.
	SensorOf func(typ int) fit.Sensor
	// Meters are those at nodes. What one measures is not read by the sensor of its node.
	Meters []Meter
}

// rows are the jobs, none where there is no trace of them.
func (s *Source) rows() iter.Seq2[*traces.Job, error] {
	if s.Jobs == nil {
		return func(func(*traces.Job, error) bool) {}
	}
	return s.Jobs()
}

// NodeType is one of the cluster file.
type NodeType struct {
	Name string
	GPU  string // as classes of work call it
	GPUs int32  // on a node
}

// Finding is a figure for a key of the cluster file, or why there is none.
type Finding struct {
	Target
	Figure fit.Figure
	Unit   string // of the figure and of Points: W, B/s, µs, factor
	// Spread says that the range of the key is where most of what was measured lies, not the
	// interval of the value.
	Spread bool
	Base   bool  // it is 1, and others are relative to it
	Rows   int64 // of telemetry, or jobs
	From   model.Time
	To     model.Time
	Valid  string
	Points []float64 // what the figure was fitted to, where it does not say itself
	Apart  string    // why it is never put into a file, "" where it may be
}

// Target is the key that a figure is for.
type Target struct {
	Type  int     // of Source.Types, -1 for none
	Class int     // of Source.Classes, -1 for none
	GPU   string  // that the row of a class is about
	Nodes int32   // of a step by placement
	Draw  float64 // of throughput under a cap: the cap ÷ the draw
	Clock float64 // of a class at a locked clock: the clock ÷ that without a lock
	Part  string  // of a row with several figures
	Node  string  // that a meter is at
	Key   string
}

// Keys of targets.
const (
	GPUIdle    = "gpu_idle_power"
	GPUHeld    = "gpu_held_power"
	Alpha      = "draw by SM activity, exponent"
	NodeIdle   = "idle_power"
	NodeBusy   = "busy_power"
	NodeBase   = "draw by that of its GPUs, base"
	NodeFactor = "draw by that of its GPUs, factor"
	OwnSensor  = "own sensor ÷ meter"
	ClassPower = "power"
	Throughput = "throughput"
	Steps      = "steps"
	Caps       = "caps"
	Clocks     = "clocks"

	// Parts of Clocks.
	ClockThroughput = "throughput"
	ClockPower      = "power"

	CheckpointBytes     = "checkpoint_bytes"
	CheckpointBandwidth = "agents.checkpoint_bandwidth"
	RestoreBandwidth    = "agents.restore_bandwidth"
	StartDelay          = "agents.start_delay"
	CompletionDelay     = "agents.completion_delay"
	BootDelay           = "agents.boot_delay"
	KernelBoot          = "boot from the start of the kernel"
	Tail                = "from the last kernel to the recorded end"

	MTBF         = "failures.mtbf"
	Shape        = "failures.shape"
	RepairMedian = "failures.repair_median"
	RepairSigma  = "failures.repair_sigma"
)

// Result is what was found.
type Result struct {
	Findings []Finding
	// Counts are what was read and what was passed over, for people.
	Counts []Count
}

// Count is a number of rows with what became of them.
type Count struct {
	What string
	N    int64
}

// Of reads a source twice: rows by state, then jobs.
func Of(src Source) (*Result, error) {
	jobs, err := readJobs(&src)
	if err != nil {
		return nil, err
	}
	seen, err := observe(&src, jobs)
	if err != nil {
		return nil, err
	}
	if seen.set, err = clocksSet(&src, jobs, seen); err != nil {
		return nil, err
	}
	if seen.all > 0 && seen.known == "" {
		return nil, &traces.DataError{Found: "telemetry of nodes such as " + seen.other, Expected: "nodes of the cluster file, such as " + first(src.Nodes), Mend: "name nodes in both alike"}
	}
	out := &Result{}
	for _, find := range []func(*Source, *jobTable, *observed) ([]Finding, error){draws, nodeDraws, transfers, startDelays, tails, completions, boots, speeds, caps, clocks, breakdowns} {
		found, err := find(&src, jobs, seen)
		if err != nil {
			return nil, err
		}
		out.Findings = append(out.Findings, found...)
	}
	jobs.counts = append(jobs.counts, Count{"jobs at a lower clock than the same work elsewhere, of which no draw, speed or cap is fitted", jobs.slowed})
	out.Counts = slices.Concat(jobs.counts, seen.counts(), seen.unset, seen.fits)
	return out, nil
}

// refused is a finding that the data cannot carry.
func refused(to Target, found, want, obtain string) Finding {
	return Finding{Target: to, Figure: fit.Figure{Refused: &fit.Refusal{What: to.Key, Found: found, Want: want, Obtain: obtain}}}
}

// whole is a target of no type and no class.
func whole(key string) Target { return Target{Type: -1, Class: -1, Key: key} }

func plural(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }

// jobTable is what the jobs of the source say of themselves.
type jobTable struct {
	list   []job
	counts []Count
	from   model.Time
	to     model.Time
	slowed int64 // jobs with a clock
}

// job is one row of the jobs.
type job struct {
	class    int
	what     string     // jobs of one name, user and size do the same work
	start    model.Time // Never where the row does not say
	ran      model.Duration
	nodes    []string
	complete bool
	held     bracket // beyond the recorded end, where the record says so
	clock    float64 // ÷ the top one, where it ran at a lower clock than the same work elsewhere; else 0
}

// readJobs reads the jobs once.
func readJobs(src *Source) (*jobTable, error) {
	t := &jobTable{from: model.Never}
	var unclassed int64
	for row, err := range src.rows() {
		if err != nil {
			return nil, err
		}
		j := job{class: src.ClassOf(row), start: model.Never, ran: row.Runtime.V, complete: row.ExitState == "COMPLETED"}
		if j.class < 0 {
			unclassed++
		}
		if !row.Runtime.OK && row.Start.OK && row.End.OK {
			j.ran = row.End.V.Sub(row.Start.V)
		}
		if row.Start.OK {
			j.start = src.Epoch.Add(model.Duration(row.Start.V))
			t.from, t.to = min(t.from, j.start), max(t.to, j.start.Add(j.ran))
		}
		if j.held, err = heldOf(row); err != nil {
			return nil, err
		}
		if j.nodes, err = join.NodesOf(row); err != nil {
			return nil, err
		}
		gpus := cmp.Or(row.GPUsAllocated.V, row.GPUsTotal.V, row.GPUsPerNode.V*int32(len(j.nodes)))
		j.what = fmt.Sprintf("%q %q %d %d", row.Name, row.User, gpus, row.ProcsRequested.V)
		t.list = append(t.list, j)
	}
	t.counts = []Count{{"jobs", int64(len(t.list))}, {"jobs in no class of work, of which nothing is fitted", unclassed}}
	return t, nil
}

func first(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return names[0]
}

// numbers gives each text a number from 0, in the order in which they are met.
type numbers map[string]int

func (n numbers) of(text string) int {
	id, ok := n[text]
	if !ok {
		id = len(n)
		n[text] = id
	}
	return id
}
