// Package recorded reads what other programs have measured of GPUs as rows of telemetry: CSV and -q of nvidia-smi, the
// text that DCGM-exporter and node-exporter give Prometheus, and JSON of AMD's amd-smi. Through Polled these are sources
// for an agent like NVML, and Replay is one of bundles. It must not know files, networks or processes.
package recorded

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Options say what a text does not.
type Options struct {
	Node string         // name of the node, where the text has none
	At   model.Time     // µs since 1970: when it was measured, where the text does not say
	Zone *time.Location // of times without one; nil is UTC

	Label string                   // of metrics: the label that names the node; "" for Hostname, then Node, then instance without its port
	Model func(node, model string) // of metrics: is told the models that the label modelName has; nil for nothing
}

// Parser reads a text whole. Rows have absolute instants and are in the order of the text. A token that
// cannot be read is a *traces.DataError; what a program says it does not know is null.
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

// Unknown words stand for a value that there is not.
var unknown = []string{"", "n/a", "[n/a]", "[not supported]", "[unknown error]", "unknown error", "not supported", "[requested functionality has been deprecated]",
	"requested functionality has been deprecated", "[gpu requires reset]", "gpu requires reset", "[insufficient permissions]", "err!"}

func isUnknown(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, word := range unknown {
		if text == word {
			return true
		}
	}
	return false
}

// units are factors to those of the table.
var units = map[string]float64{"": 1, "%": 0.01, "W": 1, "mW": 0.001, "MHz": 1, "C": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1 << 20, "GB": 1 << 30, "J": 1e3, "mJ": 1, "bytes": 1}

// measure reads a number with its unit, "52 %" or "32362 MiB"; unit stands where there is none.
func measure(text, unit string) (traces.Opt[float64], error) {
	if isUnknown(text) {
		return traces.Opt[float64]{}, nil
	}
	digits, own, _ := strings.Cut(strings.TrimSpace(text), " ")
	if own == "" && strings.HasSuffix(digits, "%") {
		digits, own = strings.TrimSuffix(digits, "%"), "%"
	}
	if own == "" {
		own = unit
	}
	by, known := units[strings.TrimSpace(own)]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || math.IsNaN(v) || math.IsInf(v, 0) {
		return traces.Opt[float64]{}, fmt.Errorf("%q", text)
	}
	return traces.Some(float64(v * by)), nil
}

// store puts a value into a row.
type store func(*traces.Telemetry, float64)

var (
	smUtil    store = func(t *traces.Telemetry, v float64) { t.SMUtil = share(v) }
	smActive  store = func(t *traces.Telemetry, v float64) { t.SMActive = share(v) }
	memUtil   store = func(t *traces.Telemetry, v float64) { t.MemUtil = share(v) }
	memUsed   store = func(t *traces.Telemetry, v float64) { t.MemUsed = count[int64](v) }
	power     store = func(t *traces.Telemetry, v float64) { t.Power = traces.Some(v) }
	energy    store = func(t *traces.Telemetry, v float64) { t.Energy = count[int64](v) }
	smClock   store = func(t *traces.Telemetry, v float64) { t.SMClock = count[int32](v) }
	memClock  store = func(t *traces.Telemetry, v float64) { t.MemClock = count[int32](v) }
	throttle  store = func(t *traces.Telemetry, v float64) { t.Throttle = count[int64](v) }
	warmth    store = func(t *traces.Telemetry, v float64) { t.Temperature = traces.Some(v) }
	memWarmth store = func(t *traces.Telemetry, v float64) { t.MemTemperature = traces.Some(v) }
	corrected store = func(t *traces.Telemetry, v float64) { t.ECCCorrected = count[int64](v) }
	fatal     store = func(t *traces.Telemetry, v float64) { t.ECCUncorrected = count[int64](v) }
	retired   store = func(t *traces.Telemetry, v float64) { t.RetiredPages = count[int64](float64(t.RetiredPages.V) + v) }
)

func share(v float64) traces.Opt[float64] { return traces.Some(min(max(v, 0), 1)) }

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
