package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Live is what an agent shows of itself while it runs: the last sample of each GPU. It is for looking at, and no
// part of what was measured: bundles alone are.
type Live struct {
	Node     string         `json:"node"`
	At       model.Time     `json:"at_us"` // of the last sample that was due, since 1970
	Interval model.Duration `json:"interval_us"`
	Mode     string         `json:"mode"`
	Bundle   string         `json:"bundle"`  // the one that is being written
	Samples  int64          `json:"samples"` // taken for it so far, of all GPUs
	GPUs     []LiveGPU      `json:"gpus"`
}

// LiveGPU is the last sample of one GPU, or of the node as a whole with GPU -1. What it does not say is null.
type LiveGPU struct {
	GPU         int32      `json:"gpu"`
	Time        model.Time `json:"time_us,omitempty"` // of the sample, since 1970; 0 when there was none
	Silent      string     `json:"silent,omitempty"`  // why the last one that was due is not there, as gaps say it
	SMUtil      *float64   `json:"sm_util,omitempty"`
	SMActive    *float64   `json:"sm_active,omitempty"`
	Power       *float64   `json:"power_w,omitempty"`
	MemUsed     *int64     `json:"mem_used,omitempty"`
	Temperature *float64   `json:"temperature,omitempty"`
	SMClock     *int32     `json:"sm_clock,omitempty"`
	Throttle    *int64     `json:"throttle,omitempty"`
	Processes   int        `json:"processes,omitempty"`
}

// liveSuffix ends the names of files that hold one.
const liveSuffix = ".live"

// LiveName is the file of a node, in the folder of its bundles.
func LiveName(node string) string { return "." + node + liveSuffix }

// IsLive says whether a name is that of such a file.
func IsLive(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, liveSuffix)
}

// Show takes a reading for the one that is shown.
func (g *LiveGPU) Show(r *Reading) {
	*g = LiveGPU{GPU: g.GPU, Time: r.Time, SMUtil: finite(r.SMUtil), SMActive: finite(r.SMActive), Power: finite(r.Power), MemUsed: known(r.MemUsed),
		Temperature: finite(r.Temperature), SMClock: known(r.SMClock), Throttle: known(r.Throttle), Processes: len(r.Procs)}
}

func known[T any](v traces.Opt[T]) *T {
	if !v.OK {
		return nil
	}
	return &v.V
}

// finite leaves out what JSON has no word for.
func finite(v traces.Opt[float64]) *float64 {
	if math.IsNaN(v.V) || math.IsInf(v.V, 0) {
		return nil
	}
	return known(v)
}

// Append writes a line with its sum in front, by which a reader knows one that is being written over.
func (l *Live) Append(out []byte) []byte {
	line, err := json.Marshal(l)
	if err != nil {
		panic(err) // text and finite numbers alone
	}
	return append(append(fmt.Appendf(out, "%08x ", crc32.ChecksumIEEE(line)), line...), '\n')
}

// ErrTorn says that a line was read while it was written.
var ErrTorn = errors.New("the line and its sum differ")

// ParseLive reads what Append wrote; blanks may follow. It is ErrTorn when that was not whole.
func ParseLive(text []byte) (*Live, error) {
	var sum uint32
	head, line, _ := bytes.Cut(bytes.TrimRight(text, " \n\x00"), []byte(" "))
	if _, err := fmt.Sscanf(string(head), "%08x", &sum); err != nil || crc32.ChecksumIEEE(line) != sum {
		return nil, ErrTorn
	}
	l := &Live{}
	return l, json.Unmarshal(line, l)
}
