// Package capture is the vocabulary of measuring real GPU nodes: what a node is made of,
// its conformance fingerprint, a reading of a GPU, the records that say how the readings came
// about, and the narrow interface of what can be asked for them. It must not know which
// library or file answers, and reads neither clock nor disk.
package capture

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
)

// Source answers for the GPUs of one node. GPUs that are asked together are a unit: a call
// that does not return stops the series of its unit only.
type Source interface {
	// Inventory asks for everything that changes seldom. What could not be learnt is in
	// Missing; an error is one of the source as a whole.
	Inventory() (*Inventory, error)
	// Units lists the GPUs of each unit by their index in the node; NodeSeries for the node.
	Units() [][]int32
	// Sample reads a unit and appends to out, one reading for each GPU that answered. It may
	// block for ever. It is never called twice at a time for one unit, but for several units
	// at once. ErrLost says that the GPU has fallen off the bus, ErrEnd that a recording is
	// over. Of readings that come with an error only the XIDs count.
	Sample(unit int, out []Reading) ([]Reading, error)
	// Close ends the source. No other call may be under way or follow.
	Close() error
}

// Teller is a Source that is told errors of GPUs as they occur. Errors are those that came after the last sample of a unit, for the end of a
// measurement; it is called as Sample is, and once.
type Teller interface {
	Errors(unit int) []Reading
}

// NodeSeries stands for the node as a whole in the place of the index of a GPU.
const NodeSeries int32 = -1

// Errors of Sample that have a meaning of their own.
var (
	ErrLost = errors.New("the GPU is lost")
	ErrEnd  = errors.New("the recording is over")
)

// Reading is one sample of a GPU. Node and Time are set by the agent.
type Reading struct {
	traces.Telemetry
	Procs  []Process
	Parts  []Part        // its GPU instances, where MIG divides it
	XIDs   []uint64      // errors that the driver reported since the reading before
	Failed []string      // calls that failed, and not for want of support
	Left   traces.Counts // what the source left out of its answer; of several readings of one answer the first has it
}

// Part is one sample of a GPU instance of MIG. Node and Time are set by the agent.
type Part struct {
	traces.Instance
	Procs []Process
}

// Process is one on a GPU, as in the column processes.
type Process struct {
	PID       int    `json:"pid"`
	Name      string `json:"name,omitempty"`
	Memory    int64  `json:"memory,omitempty"`    // B on the GPU
	Job       string `json:"job,omitempty"`       // of Slurm
	Container string `json:"container,omitempty"` // id, or pod and id
	Pod       string `json:"pod,omitempty"`       // namespace, pod and container with slashes between them
	Instance  string `json:"instance,omitempty"`  // of MIG: those of the GPU and of compute, as 1/0
	Read      *int64 `json:"read,omitempty"`      // B from storage so far
	Written   *int64 `json:"written,omitempty"`   // B to storage so far
}

// Encode writes processes as the column has them, "" for none.
func Encode(procs []Process) string {
	if len(procs) == 0 {
		return ""
	}
	text, err := json.Marshal(procs)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	return string(text)
}

// Decode reads the column processes. What is no array of such objects is refused.
func Decode(text string) (procs []Process, err error) {
	if text == "" {
		return nil, nil
	}
	return procs, json.Unmarshal([]byte(text), &procs)
}

// Fact is one thing about a node, by a name of words with dots between them.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Missing is a fact that could not be learnt.
type Missing struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// GPU is what an agent needs to know of one.
type GPU struct {
	Index    int32   `json:"index"`
	Name     string  `json:"name"`
	UUID     string  `json:"uuid,omitempty"`
	Memory   int64   `json:"memory_bytes,omitempty"`
	Slowdown float64 `json:"slowdown_celsius,omitempty"` // the chip slows down from here on; 0 when not known
}

// Inventory is what a node is made of.
type Inventory struct {
	GPUs    []GPU     `json:"gpus"`
	CPUs    int32     `json:"cpus,omitempty"`
	Memory  int64     `json:"memory_bytes,omitempty"` // main memory
	Facts   []Fact    `json:"facts"`
	Missing []Missing `json:"missing,omitempty"`
}

// Add appends a fact; an empty value is one that is missing.
func (v *Inventory) Add(name, value string) {
	value = strings.Join(strings.Fields(value), " ")
	if value == "" {
		v.Lack(name, "empty")
		return
	}
	v.Facts = append(v.Facts, Fact{name, value})
}

// Lack notes a fact that could not be learnt.
func (v *Inventory) Lack(name, why string) { v.Missing = append(v.Missing, Missing{name, why}) }

// Value is the fact of that name, "" when there is none.
func (v *Inventory) Value(name string) string {
	for _, f := range v.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// OfGPU is the fact of that name about a GPU, "" when there is none.
func (v *Inventory) OfGPU(index int32, name string) string {
	return v.Value(OfGPU(index) + name)
}

// Facts about the clock of the multiprocessors of a GPU, MHz, and about its power, W. NVML has
// no call that tells a locked clock (nvidia-smi --lock-gpu-clocks): it is seen in the clock at work.
const (
	FactTopClock    = "clock.sm_max_mhz"
	FactClockTarget = "clock.sm_target_mhz" // of the applications clock
	FactPowerLimit  = "power.limit_w"
)

// OfGPU begins the names of the facts about a GPU.
func OfGPU(index int32) string { return "gpu." + strconv.Itoa(int(index)) + "." }

// Sort puts facts in the order of their names, for output.
func (v *Inventory) Sort() {
	slices.SortStableFunc(v.Facts, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(v.Missing, func(a, b Missing) int { return strings.Compare(a.Name, b.Name) })
}

// Join adds what another source knows of the same node.
func (v *Inventory) Join(o *Inventory) {
	v.Facts = append(v.Facts, o.Facts...)
	v.Missing = append(v.Missing, o.Missing...)
	v.GPUs = append(v.GPUs, o.GPUs...)
	v.CPUs, v.Memory = max(v.CPUs, o.CPUs), max(v.Memory, o.Memory)
}
