package traces

import (
	"fmt"
	"math"
	"strconv"
)

// Range is what a column of telemetry can hold, in the unit of the column. A value outside is no measurement: readers leave it
// out and count it.
type Range struct {
	Column      string
	Least, Most float64 // of a GPU
	MostOfNode  float64 // of a row without gpu
	Source      string  // why no measurement is outside

	get   func(*Telemetry) (float64, bool)
	clear func(*Telemetry)
}

// rounding is by how much a share may be above 1: activity is a quotient of counters that are read one after the other. Such a share is 1.
const rounding = 0.005

// TelemetryRanges are those of all columns that hold numbers, in the order of the table. The bounds are well beyond what is built,
// so that no true value is lost, and below what programs write for "no value".
var TelemetryRanges = []Range{
	ofReal("sm_util", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.SMUtil }),
	ofReal("mem_util", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.MemUtil }),
	ofWhole("mem_used", 0, 1<<44, 1<<50, "GPUs have up to 288 GB (B300), nodes up to some 30 TB", func(t *Telemetry) *Opt[int64] { return &t.MemUsed }),
	ofReal("power", 0, 10_000, 1e6, "boards of GPUs draw up to 1.4 kW (GB300), racks of 72 GPUs 140 kW", func(t *Telemetry) *Opt[float64] { return &t.Power }),
	ofWhole("energy", 0, 1e16, 1e18, "the most power for 30 years", func(t *Telemetry) *Opt[int64] { return &t.Energy }),
	ofWhole("sm_clock", 0, 10_000, 10_000, "GPUs run at up to 3.5 GHz", func(t *Telemetry) *Opt[int32] { return &t.SMClock }),
	ofWhole("mem_clock", 0, 50_000, 50_000, "GDDR7 has 16 GHz", func(t *Telemetry) *Opt[int32] { return &t.MemClock }),
	ofWhole("throttle", 0, 1<<30, 1<<30, "NVML has bits up to 0x100", func(t *Telemetry) *Opt[int64] { return &t.Throttle }),
	ofReal("temperature", -50, 150, 150, "GPUs switch off at 90 to 115 °C", func(t *Telemetry) *Opt[float64] { return &t.Temperature }),
	ofWhole("ecc_corrected", 0, 1e15, 1e15, "a thousand errors each second for 30 years", func(t *Telemetry) *Opt[int64] { return &t.ECCCorrected }),
	ofWhole("ecc_uncorrected", 0, 1e12, 1e12, "a thousand errors each second for 30 years", func(t *Telemetry) *Opt[int64] { return &t.ECCUncorrected }),
	ofWhole("nvlink_rx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.NVLinkRx }),
	ofWhole("nvlink_tx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.NVLinkTx }),
	ofWhole("pcie_rx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.PCIeRx }),
	ofWhole("pcie_tx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.PCIeTx }),
	ofReal("sm_active", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.SMActive }),
	ofReal("mem_temperature", -50, 150, 150, "memory is held below 110 °C", func(t *Telemetry) *Opt[float64] { return &t.MemTemperature }),
	ofWhole("retired_pages", 0, 20_000, 20_000, "GPUs retire at most 64 pages, or remap 512 rows of each bank of their HBM", func(t *Telemetry) *Opt[int64] { return &t.RetiredPages }),
	ofReal("tensor_active", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.TensorActive }),
	ofReal("dram_active", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.DRAMActive }),
	ofWhole("power_violation", 0, 1e15, 1e15, "30 years", func(t *Telemetry) *Opt[int64] { return &t.PowerViolation }),
	ofWhole("thermal_violation", 0, 1e15, 1e15, "30 years", func(t *Telemetry) *Opt[int64] { return &t.ThermalViolation }),
	ofWhole("nvlink_errors", 0, 1e15, 1e15, "a million errors each second for 30 years", func(t *Telemetry) *Opt[int64] { return &t.NVLinkErrors }),
	ofReal("cpu_util", 0, 1, 1, "a share", func(t *Telemetry) *Opt[float64] { return &t.CPUUtil }),
	ofWhole("cpu_energy", 0, 1e18, 1e18, "as energy of a node", func(t *Telemetry) *Opt[int64] { return &t.CPUEnergy }),
	ofWhole("disk_read", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.DiskRead }),
	ofWhole("disk_written", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.DiskWritten }),
	ofWhole("net_rx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.NetRx }),
	ofWhole("net_tx", 0, 9e18, 9e18, "2 TB/s for 140 years", func(t *Telemetry) *Opt[int64] { return &t.NetTx }),
}

func ofReal(column string, least, most, ofNode float64, source string, at func(*Telemetry) *Opt[float64]) Range {
	return Range{column, least, most, ofNode, source,
		func(t *Telemetry) (float64, bool) { o := at(t); return o.V, o.OK },
		func(t *Telemetry) { *at(t) = Opt[float64]{} }}
}

func ofWhole[T int32 | int64](column string, least, most, ofNode float64, source string, at func(*Telemetry) *Opt[T]) Range {
	return Range{column, least, most, ofNode, source,
		func(t *Telemetry) (float64, bool) { o := at(t); return float64(o.V), o.OK },
		func(t *Telemetry) { *at(t) = Opt[T]{} }}
}

// RangeOf is that of a column.
func RangeOf(column string) (Range, bool) {
	for i := range TelemetryRanges {
		if TelemetryRanges[i].Column == column {
			return TelemetryRanges[i], true
		}
	}
	return Range{}, false
}

// Wrong says why a value is no measurement of the column, "" for one that may be. ofNode says that it is of a node as a whole.
func (r *Range) Wrong(v float64, ofNode bool) string {
	most := r.Most
	if ofNode {
		most = r.MostOfNode
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "no number"
	case IsBlank(v):
		return "a constant that stands for no value"
	case v < r.Least || v > most && (most != 1 || v > most+rounding):
		return "outside " + strconv.FormatFloat(r.Least, 'g', -1, 64) + " to " + strconv.FormatFloat(most, 'g', -1, 64)
	}
	return ""
}

// IsBlank says whether a number as a program writes it, before any change of its unit, stands for a value that the program does not have:
// DCGM's constants of whole numbers of 32 and 64 bits and of floating point, each with those beside it that say why (not found, not
// supported, not permissioned), and all bits set, which is NVML's and amd-smi's.
func IsBlank(v float64) bool {
	const (
		blank32   = 1<<31 - 16 // DCGM_INT32_BLANK, 0x7ffffff0
		blankReal = 1 << 47    // DCGM_FP64_BLANK
		reasons   = 16
		ones32    = 1<<32 - 1
		// DCGM_INT64_BLANK is 2^63 - 16, and all bits of 64 are 2^64 - 1; as floating point they are these.
		blank64, ones64 = 1 << 63, 1 << 64
	)
	return v >= blank32 && v < blank32+reasons || v >= blankReal && v < blankReal+reasons || v == ones32 || v == blank64 || v == ones64
}

// LeaveOut takes out of a row the values that are no measurements of their columns, and tells each by its column and why. Shares that
// rounding put above 1 become 1.
func (t *Telemetry) LeaveOut(tell func(column, why string, v float64)) {
	for i := range TelemetryRanges {
		r := &TelemetryRanges[i]
		v, ok := r.get(t)
		if !ok {
			continue
		}
		if why := r.Wrong(v, !t.GPU.OK); why != "" {
			r.clear(t)
			tell(r.Column, why, v)
		}
	}
	for _, share := range []*Opt[float64]{&t.SMUtil, &t.MemUtil, &t.SMActive, &t.TensorActive, &t.DRAMActive, &t.CPUUtil} {
		share.V = min(share.V, 1)
	}
}

// LeaveOut is that of telemetry for a GPU instance: what its GPU cannot have it cannot, either.
func (i *Instance) LeaveOut(tell func(column, why string, v float64)) {
	t := i.asTelemetry()
	t.LeaveOut(tell)
	i.MemUsed, i.SMActive, i.TensorActive, i.DRAMActive = t.MemUsed, t.SMActive, t.TensorActive, t.DRAMActive
}

// asTelemetry is what the row has in common with one of a GPU.
func (i *Instance) asTelemetry() Telemetry {
	return Telemetry{Node: i.Node, GPU: Some(i.GPU), Time: i.Time, MemUsed: i.MemUsed, SMActive: i.SMActive, TensorActive: i.TensorActive, DRAMActive: i.DRAMActive}
}

// wrong is the rule that the first value breaks that is no measurement, "" where there is none.
func (t *Telemetry) wrong() string {
	for i := range TelemetryRanges {
		r := &TelemetryRanges[i]
		if v, ok := r.get(t); ok {
			if why := r.Wrong(v, !t.GPU.OK); why != "" {
				return r.Column + " that cannot be: " + why
			}
		}
	}
	return ""
}

// Counts are numbers of things by what they are, in the order in which they were first met.
type Counts []Rule

// Add counts n more of a thing, of which example is one.
func (c *Counts) Add(what, example string, n int64) {
	for i := range *c {
		if (*c)[i].Rule == what {
			(*c)[i].Count += n
			return
		}
	}
	*c = append(*c, Rule{Rule: what, Count: n, Example: example})
}

// Values counts, for LeaveOut, values by column and why.
func (c *Counts) Values(column, why string, v float64) {
	c.Add(column+": "+why, fmt.Sprint(v), 1)
}
