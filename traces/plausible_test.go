package traces_test

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doctest"
	"orrery/traces"
)

// telemetryColumns are the numbers of a row by their columns.
var telemetryColumns = map[string]struct {
	set   func(*traces.Telemetry, float64)
	read  func(*traces.Telemetry) (float64, bool)
	usual float64
}{
	"sm_util":           real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.SMUtil }, 0.5),
	"mem_util":          real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.MemUtil }, 0.5),
	"sm_active":         real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.SMActive }, 0.5),
	"power":             real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.Power }, 1400),
	"temperature":       real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.Temperature }, 115),
	"mem_temperature":   real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.MemTemperature }, 110),
	"mem_used":          whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.MemUsed }, 288e9),
	"energy":            whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.Energy }, 4e13),
	"sm_clock":          whole64(func(t *traces.Telemetry) *traces.Opt[int32] { return &t.SMClock }, 3500),
	"mem_clock":         whole64(func(t *traces.Telemetry) *traces.Opt[int32] { return &t.MemClock }, 16_000),
	"throttle":          whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.Throttle }, 0x1ff),
	"ecc_corrected":     whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.ECCCorrected }, 5e9),
	"ecc_uncorrected":   whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.ECCUncorrected }, 12),
	"nvlink_rx":         whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.NVLinkRx }, 1e17),
	"nvlink_tx":         whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.NVLinkTx }, 1e17),
	"pcie_rx":           whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.PCIeRx }, 1e16),
	"pcie_tx":           whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.PCIeTx }, 1e16),
	"retired_pages":     whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.RetiredPages }, 600),
	"tensor_active":     real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.TensorActive }, 0.5),
	"dram_active":       real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.DRAMActive }, 0.5),
	"power_violation":   whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.PowerViolation }, 3e13),
	"thermal_violation": whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.ThermalViolation }, 3e13),
	"nvlink_errors":     whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.NVLinkErrors }, 5e9),
	"cpu_util":          real64(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.CPUUtil }, 0.5),
	"cpu_energy":        whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.CPUEnergy }, 4e13),
	"disk_read":         whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.DiskRead }, 1e16),
	"disk_written":      whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.DiskWritten }, 1e16),
	"net_rx":            whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.NetRx }, 1e16),
	"net_tx":            whole64(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.NetTx }, 1e16),
}

type accessor = struct {
	set   func(*traces.Telemetry, float64)
	read  func(*traces.Telemetry) (float64, bool)
	usual float64
}

func real64(at func(*traces.Telemetry) *traces.Opt[float64], usual float64) accessor {
	return accessor{func(t *traces.Telemetry, v float64) { *at(t) = traces.Some(v) }, func(t *traces.Telemetry) (float64, bool) { return at(t).V, at(t).OK }, usual}
}

func whole64[T int32 | int64](at func(*traces.Telemetry) *traces.Opt[T], usual float64) accessor {
	return accessor{func(t *traces.Telemetry, v float64) { *at(t) = traces.Some(T(v)) }, func(t *traces.Telemetry) (float64, bool) { return float64(at(t).V), at(t).OK }, usual}
}

// blanks are what programs write for a value that they do not have: DCGM's constants of three types with those of the reasons,
// and all bits set.
var blanks = []float64{1<<31 - 16, 1<<31 - 15, 1<<31 - 14, 1<<31 - 13, 1<<31 - 1, 1<<32 - 1, 1 << 47, 1<<47 + 1, 1<<47 + 2, 1<<47 + 3,
	9223372036854775792, 9223372036854775793, 9223372036854775794, 9223372036854775807, 18446744073709551615}

// Every column of numbers, and every value that it cannot have: no measurement, and told by the name of the column. What it can have stays, and
// trace validate refuses the same.
func TestValuesThatCannotBe(t *testing.T) {
	columns := 0
	for _, c := range traces.Columns("telemetry") {
		of, number := telemetryColumns[c.Name]
		if !number {
			require.Contains(t, []string{"node", "gpu", "time", "processes", "stat", "width"}, c.Name, "a column of numbers has a range")
			continue
		}
		columns++
		r, ok := traces.RangeOf(c.Name)
		require.True(t, ok)
		require.NotEmpty(t, r.Source)
		for _, v := range []float64{0, of.usual, 2147483000} {
			if v <= r.Most && v >= r.Least {
				require.Empty(t, r.Wrong(v, false), "%s %g", c.Name, v)
			}
		}
		wrong := append([]float64{-1e9, r.Most*1.01 + 1, math.NaN(), math.Inf(1), math.Inf(-1)}, blanks...)
		for _, v := range wrong {
			require.NotEmpty(t, r.Wrong(v, false), "%s %g", c.Name, v)
			if c.Type != traces.Double && (math.IsNaN(v) || math.Abs(v) >= 1<<63 || c.Type == traces.Int32 && math.Abs(v) >= 1<<31) {
				continue // the column cannot hold it
			}
			row := traces.Telemetry{Node: "n", GPU: traces.Some[int32](0)}
			of.set(&row, v)
			require.NotEmpty(t, validated(c, v), "%s %g", c.Name, v)
			var counts traces.Counts
			row.LeaveOut(counts.Values)
			_, there := of.read(&row)
			require.False(t, there, "%s %g", c.Name, v)
			require.Len(t, counts, 1)
			require.Contains(t, counts[0].Rule, c.Name+": ")
		}
		row := traces.Telemetry{Node: "n", GPU: traces.Some[int32](0)}
		of.set(&row, of.usual)
		require.Empty(t, validated(c, of.usual))
		row.LeaveOut(func(column, why string, v float64) { t.Errorf("%s %s %g", column, why, v) })
		v, there := of.read(&row)
		require.True(t, there)
		require.Equal(t, of.usual, v)
	}
	require.Equal(t, len(telemetryColumns), columns)
	require.Len(t, traces.TelemetryRanges, columns)
}

// validated is the rule that a row of one value breaks.
func validated(c traces.Column, v float64) string {
	r, _ := traces.NewRecord("telemetry")
	r.Set(r.Column("node"), traces.Value{Text: "n"})
	r.Set(r.Column("gpu"), traces.Value{})
	value := traces.Value{Number: int64(v)}
	if c.Type == traces.Double {
		value = traces.RealValue(v)
	}
	r.Set(r.Column(c.Name), value)
	return r.Broken(traces.NewRules())
}

// A node draws more than a GPU, and a share that rounding put above 1 is 1.
func TestRangesOfNodesAndRounding(t *testing.T) {
	row := traces.Telemetry{Node: "n", Power: traces.Some(130_000.0), SMActive: traces.Some(1.0004)}
	row.LeaveOut(func(column, why string, v float64) { t.Errorf("%s %s %g", column, why, v) })
	require.Equal(t, traces.Some(1.0), row.SMActive)
	row.GPU = traces.Some[int32](0)
	var counts traces.Counts
	row.LeaveOut(counts.Values)
	require.Equal(t, traces.Counts{{Rule: "power: outside 0 to 10000", Count: 1, Example: "130000"}}, counts)
}

var update = flag.Bool("update", false, "write the ranges into docs/CAPTURE.md")

func TestDocumentHasTheRanges(t *testing.T) {
	text := ""
	for _, r := range traces.TelemetryRanges {
		text += fmt.Sprintf("| `%s` | %g to %g | %g to %g | %s |\n", r.Column, r.Least, r.Most, r.Least, r.MostOfNode, r.Source)
	}
	doctest.Part{File: "../docs/CAPTURE.md", Begin: "| column | of a GPU | of a node | why |\n|---|---|---|---|\n", End: "\nShares up to 1.005"}.Holds(t, text, *update)
}
