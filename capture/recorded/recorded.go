// Package recorded reads what other programs have measured of GPUs as rows of telemetry: CSV and -q of nvidia-smi, the
// text that DCGM-exporter and node-exporter give Prometheus, and JSON of AMD's amd-smi. Through Polled these are sources
// for an agent like NVML, and Replay is one of bundles. It must not know files, networks or processes.
package recorded

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Options say what a text does not.
type Options struct {
	Node string                 // name of the node, where the text has none
	At   traces.Opt[model.Time] // µs since 1970: when it was measured, where the text does not say; null refuses such a text
	Zone *time.Location         // of times without one; nil is UTC

	Label string                   // of metrics: the label that names the node; "" for Hostname, then Node, then instance without its port
	Model func(node, model string) // of metrics: is told the models that the label modelName has; nil for nothing

	// Unread is told each line that cannot be read. The text is refused with the error that it returns; nil leaves the line out. Without
	// it the first such line refuses the text.
	Unread  func(*traces.DataError) error
	Account *Account // is told what was not taken as it stands; nil for nothing
}

// Account says what became of a text besides its rows.
type Account struct {
	Lines int64         // or samples that were read
	Left  traces.Counts // values, series and lines that were left out, by name
	Noted traces.Counts // how values were read that can be read in two ways
}

func (o *Options) left(what, example string, n int64) {
	if o.Account != nil {
		o.Account.Left.Add(what, example, n)
	}
}

func (o *Options) noted(what, example string) {
	if o.Account != nil {
		o.Account.Noted.Add(what, example, 1)
	}
}

func (o *Options) read(n int64) {
	if o.Account != nil {
		o.Account.Lines += n
	}
}

// unread leaves a line out, or refuses the text.
func (o *Options) unread(err error) error {
	data := err.(*traces.DataError) //nolint:errorlint,forcetypeassert // made by bad
	if o.Unread == nil {
		return err
	}
	return o.Unread(data)
}

// taken says whether a value is a measurement of a column: raw as it was written, v in the unit of the table. If not, it is counted.
func (o *Options) taken(column string, raw, v float64, ofNode bool) bool {
	r, _ := traces.RangeOf(column)
	why := r.Wrong(v, ofNode)
	if traces.IsBlank(raw) {
		why = r.Wrong(raw, ofNode)
	}
	if why == "" {
		return true
	}
	o.left(column+": "+why, strconv.FormatFloat(raw, 'g', -1, 64), 1)
	return false
}

// timeless is the error of a text without times.
func timeless(row int64, column string) error {
	return &traces.DataError{Row: row, Column: column, Found: "a measurement without a time", Expected: "a time with each", Mend: "say when it was measured: --at 2026-07-03T22:11:09Z"}
}

// Parser reads a text whole. Rows have absolute instants and are in the order of the text. A token that
// cannot be read is a *traces.DataError; what a program says it does not know, and what the column cannot have, is null.
type Parser func(text []byte, o Options) ([]traces.Telemetry, error)

// Formats are the parsers by name.
var Formats = []struct {
	Name, Doc string
	Parse     Parser
}{
	{"smi-csv", "nvidia-smi --query-gpu=… --format=csv, with its first line", SMICSV},
	{"smi-q", "nvidia-smi -q", SMIQuery},
	{"exposition", "metrics of DCGM-exporter or node-exporter, as Prometheus reads them", Exposition},
	{"prometheus", "the answer of Prometheus to /api/v1/query_range about such metrics", Prometheus},
	{"amd-smi", "amd-smi metric --json; never tried on hardware", AMD},
}

// unknown words stand for a value that there is not.
var unknown = []string{"", "n/a", "not supported", "requested functionality has been deprecated", "insufficient permissions", "no permission"}

// failed words stand for a value that could not be read; others in brackets count as such.
var failed = []string{"unknown error", "gpu requires reset", "gpu is lost", "err!", "error", "timeout"}

// isUnknown says whether a text is a word of nvidia-smi for a value that there is not, and whether that is for an error.
func isUnknown(text string) (none, byError bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	bare, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		bare, bracketed = strings.CutSuffix(bare, "]")
	}
	switch {
	case slices.Contains(unknown, bare):
		return true, false
	case bracketed || slices.Contains(failed, bare):
		return true, true
	}
	return false, false
}

// units are factors to those of the table.
var units = map[string]float64{"": 1, "%": 0.01, "W": 1, "mW": 0.001, "MHz": 1, "C": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1 << 20, "GB": 1 << 30, "J": 1e3, "mJ": 1, "bytes": 1}

// measured is a number as it was written, and in the unit of the table.
type measured struct{ raw, v float64 }

// measure reads a number with its unit, "52 %" or "32362 MiB"; unit stands where there is none.
func measure(text, unit string) (measured, error) {
	digits, own, _ := strings.Cut(strings.TrimSpace(text), " ")
	if own == "" && strings.HasSuffix(digits, "%") {
		digits, own = strings.TrimSuffix(digits, "%"), "%"
	}
	if own == "" {
		own = unit
	}
	by, known := units[strings.TrimSpace(own)]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !known {
		return measured{}, fmt.Errorf("%q", text)
	}
	return measured{v, float64(v * by)}, nil
}

// put reads a cell into a row. What is no measurement is left out and counted; what is no number is an error.
func (o *Options) put(t *traces.Telemetry, to target, name, text, unit string) error {
	if none, byError := isUnknown(text); none {
		if byError {
			o.left(name+": "+strings.ToLower(strings.TrimSpace(text)), "", 1)
		}
		return nil
	}
	m, err := measure(text, unit)
	if err != nil {
		return err
	}
	if o.taken(to.column, m.raw, m.v, !t.GPU.OK) {
		to.store(t, m.v)
	}
	return nil
}

// target is a column, and puts a value that it can have into a row.
type target struct {
	column string
	store  func(*traces.Telemetry, float64)
}

var (
	smUtil    = target{"sm_util", func(t *traces.Telemetry, v float64) { t.SMUtil = share(v) }}
	smActive  = target{"sm_active", func(t *traces.Telemetry, v float64) { t.SMActive = share(v) }}
	memUtil   = target{"mem_util", func(t *traces.Telemetry, v float64) { t.MemUtil = share(v) }}
	memUsed   = target{"mem_used", func(t *traces.Telemetry, v float64) { t.MemUsed = count[int64](v) }}
	power     = target{"power", func(t *traces.Telemetry, v float64) { t.Power = traces.Some(v) }}
	energy    = target{"energy", func(t *traces.Telemetry, v float64) { t.Energy = count[int64](v) }}
	smClock   = target{"sm_clock", func(t *traces.Telemetry, v float64) { t.SMClock = count[int32](v) }}
	memClock  = target{"mem_clock", func(t *traces.Telemetry, v float64) { t.MemClock = count[int32](v) }}
	throttle  = target{"throttle", func(t *traces.Telemetry, v float64) { t.Throttle = count[int64](v) }}
	warmth    = target{"temperature", func(t *traces.Telemetry, v float64) { t.Temperature = traces.Some(v) }}
	memWarmth = target{"mem_temperature", func(t *traces.Telemetry, v float64) { t.MemTemperature = traces.Some(v) }}
	corrected = target{"ecc_corrected", func(t *traces.Telemetry, v float64) { t.ECCCorrected = count[int64](v) }}
	fatal     = target{"ecc_uncorrected", func(t *traces.Telemetry, v float64) { t.ECCUncorrected = count[int64](v) }}
	tensor    = target{"tensor_active", func(t *traces.Telemetry, v float64) { t.TensorActive = share(v) }}
	dram      = target{"dram_active", func(t *traces.Telemetry, v float64) { t.DRAMActive = share(v) }}
	heldPower = target{"power_violation", func(t *traces.Telemetry, v float64) { t.PowerViolation = count[int64](v) }}
	heldHeat  = target{"thermal_violation", func(t *traces.Telemetry, v float64) { t.ThermalViolation = count[int64](v) }}
	linkFault = target{"nvlink_errors", func(t *traces.Telemetry, v float64) { t.NVLinkErrors = count[int64](float64(t.NVLinkErrors.V) + v) }}
	retired   = target{"retired_pages", func(t *traces.Telemetry, v float64) { t.RetiredPages = count[int64](float64(t.RetiredPages.V) + v) }}
)

// share is a value that its range accepts, which leaves it room for rounding.
func share(v float64) traces.Opt[float64] { return traces.Some(min(v, 1)) }

func count[T int32 | int64](v float64) traces.Opt[T] { return traces.Some(T(math.Round(v))) }

// bad is a value that cannot be read.
func bad(row int64, column, found, expected string) error {
	return &traces.DataError{Row: row, Column: column, Found: found, Expected: expected}
}

// indexed is the GPU of a row, NodeSeries for none.
func indexed(t *traces.Telemetry) int32 {
	if !t.GPU.OK {
		return capture.NodeSeries
	}
	return t.GPU.V
}
