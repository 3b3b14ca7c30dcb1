package agent

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"orrery/capture"
	"orrery/traces"
)

// stats is what /metrics answers: the last reading of each GPU, and what the agent itself does and costs.
type stats struct {
	registry *prometheus.Registry
	samples  prometheus.Counter
	gaps     *prometheus.CounterVec
	rows     prometheus.Counter
	bundles  prometheus.Counter
	rowsLost prometheus.Counter
	failures *prometheus.CounterVec
	left     *prometheus.CounterVec
	alerts   *prometheus.CounterVec
	modes    *prometheus.GaugeVec
	waiting  prometheus.Gauge
	node     *prometheus.GaugeVec

	mu   sync.Mutex
	last map[int32]traces.Telemetry // by GPU
	part map[int32][]capture.Part   // likewise: its GPU instances
}

func newStats(node string) *stats {
	labels := prometheus.Labels{"node": node}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "orrery", Subsystem: "capture", Name: name, Help: help, ConstLabels: labels})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "orrery", Subsystem: "capture", Name: name, Help: help, ConstLabels: labels}, []string{label})
	}
	gauges := func(name, help, label string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "orrery", Subsystem: "capture", Name: name, Help: help, ConstLabels: labels}, []string{label})
	}
	s := &stats{
		registry: prometheus.NewRegistry(),
		samples:  counter("samples_total", "Readings of GPUs that were taken."),
		gaps:     counters("gap_samples_total", "Samples that were due and are not there, by reason.", "reason"),
		rows:     counter("rows_total", "Rows in finished bundles."),
		bundles:  counter("bundles_total", "Finished bundles."),
		rowsLost: counter("lost_rows_total", "Rows of the run before that were lost with the file that it was writing."),
		failures: counters("call_failures_total", "Calls of the source that failed, by call and result.", "call"),
		left:     counters("left_out_values_total", "Values that their quantity cannot have, by column, and what the source left out.", "column"),
		alerts:   counters("alerts_total", "Alerts raised, by kind.", "alert"),
		modes:    gauges("mode", "1 for the mode that is on.", "mode"),
		waiting:  prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "orrery", Subsystem: "capture", Name: "queue_ticks", Help: "Instants that wait for the disk; 256 at most.", ConstLabels: labels}),
		node:     gauges("node_info", "1 for the conformance fingerprint of the node.", "fingerprint"),
		last:     map[int32]traces.Telemetry{},
		part:     map[int32][]capture.Part{},
	}
	s.registry.MustRegister(s.samples, s.gaps, s.rows, s.bundles, s.rowsLost, s.failures, s.left, s.alerts, s.modes, s.waiting, s.node,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &gpuCollector{s, node})
	return s
}

func (s *stats) reading(r *capture.Reading) {
	s.samples.Inc()
	for _, f := range r.Failed {
		s.failures.WithLabelValues(f).Inc()
	}
	s.mu.Lock()
	s.last[indexOf(r)], s.part[indexOf(r)] = r.Telemetry, slices.Clone(r.Parts)
	s.mu.Unlock()
}

// silent forgets the last reading of a GPU that does not answer: it says nothing of now.
func (s *stats) silent(gpu int32) {
	s.mu.Lock()
	delete(s.last, gpu)
	delete(s.part, gpu)
	s.mu.Unlock()
}

func (s *stats) gap(reason string, n int64)     { s.gaps.WithLabelValues(reason).Add(float64(n)) }
func (s *stats) leftOut(column string, n int64) { s.left.WithLabelValues(column).Add(float64(n)) }
func (s *stats) alert(kind string)              { s.alerts.WithLabelValues(kind).Inc() }
func (s *stats) queue(n int)                    { s.waiting.Set(float64(n)) }
func (s *stats) lost(rows int64)                { s.rowsLost.Add(float64(rows)) }

func (s *stats) bundle(rows int64) {
	s.bundles.Inc()
	s.rows.Add(float64(rows))
}

func (s *stats) mode(m Mode) {
	for _, other := range Modes {
		s.modes.WithLabelValues(string(other)).Set(0)
	}
	s.modes.WithLabelValues(string(m)).Set(1)
}

func (s *stats) fingerprint(f string) {
	s.node.Reset()
	s.node.WithLabelValues(f).Set(1)
}

// Metrics answers Prometheus.
func (a *Agent) Metrics() http.Handler {
	return promhttp.HandlerFor(a.stats.registry, promhttp.HandlerOpts{})
}

// gpuCollector gives the last reading of each GPU.
type gpuCollector struct {
	s    *stats
	node string
}

// measure is a column that Prometheus sees.
type measure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*traces.Telemetry) (float64, bool)
}

// gpuMetrics are the columns of GPUs that Prometheus sees.
var gpuMetrics = []measure{
	{gpuDesc("utilization_ratio", "Share of the time in which a kernel ran."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.SMUtil.V, t.SMUtil.OK }},
	{gpuDesc("sm_active_ratio", "Share of the multiprocessors that had work."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.SMActive.V, t.SMActive.OK }},
	{gpuDesc("tensor_active_ratio", "Share of the cycles in which the tensor cores worked."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.TensorActive.V, t.TensorActive.OK }},
	{gpuDesc("dram_active_ratio", "Bytes moved to and from the memory, of the most that it could move."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.DRAMActive.V, t.DRAMActive.OK }},
	{gpuDesc("memory_used_bytes", "Memory in use."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.MemUsed.V), t.MemUsed.OK }},
	{gpuDesc("power_watts", "Power drawn."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.Power.V, t.Power.OK }},
	{gpuDesc("energy_joules_total", "Energy consumed since the driver was loaded."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.Energy.V) / 1000, t.Energy.OK }},
	{gpuDesc("temperature_celsius", "Temperature of the chip."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.Temperature.V, t.Temperature.OK }},
	{gpuDesc("sm_clock_hertz", "Clock of the multiprocessors."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.SMClock.V) * 1e6, t.SMClock.OK }},
	{gpuDesc("throttle_reasons", "Bits of NVML's clocks event reasons."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.Throttle.V), t.Throttle.OK }},
	{gpuDesc("power_violation_seconds_total", "Time in which clocks were held down for power."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) {
		return float64(t.PowerViolation.V) / 1e6, t.PowerViolation.OK
	}},
	{gpuDesc("thermal_violation_seconds_total", "Time in which clocks were held down for heat."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) {
		return float64(t.ThermalViolation.V) / 1e6, t.ThermalViolation.OK
	}},
	{gpuDesc("nvlink_errors_total", "CRC errors, replays and recoveries of NVLinks."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.NVLinkErrors.V), t.NVLinkErrors.OK }},
	{gpuDesc("ecc_uncorrected_total", "Uncorrected memory errors."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.ECCUncorrected.V), t.ECCUncorrected.OK }},
}

// nodeMetrics are those of a row of the node as a whole.
var nodeMetrics = []measure{
	{nodeDesc("cpu_utilization_ratio", "Share of the time in which the processors worked."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.CPUUtil.V, t.CPUUtil.OK }},
	{nodeDesc("memory_used_bytes", "Main memory in use."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.MemUsed.V), t.MemUsed.OK }},
	{nodeDesc("power_watts", "Power drawn by the node as a whole."), prometheus.GaugeValue, func(t *traces.Telemetry) (float64, bool) { return t.Power.V, t.Power.OK }},
	{nodeDesc("cpu_energy_joules_total", "Energy consumed by the processor packages alone."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.CPUEnergy.V) / 1000, t.CPUEnergy.OK }},
	{nodeDesc("disk_read_bytes_total", "Read from disks."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.DiskRead.V), t.DiskRead.OK }},
	{nodeDesc("disk_written_bytes_total", "Written to disks."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.DiskWritten.V), t.DiskWritten.OK }},
	{nodeDesc("network_receive_bytes_total", "Received by network adapters."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.NetRx.V), t.NetRx.OK }},
	{nodeDesc("network_transmit_bytes_total", "Sent by network adapters."), prometheus.CounterValue, func(t *traces.Telemetry) (float64, bool) { return float64(t.NetTx.V), t.NetTx.OK }},
}

func nodeDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("orrery_node_"+name, help, []string{"node"}, nil)
}

func gpuDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("orrery_gpu_"+name, help, []string{"node", "gpu"}, nil)
}

// Describe implements prometheus.Collector.
func (c *gpuCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range slices.Concat(gpuMetrics, nodeMetrics) {
		out <- m.desc
	}
	for _, m := range partMetrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *gpuCollector) Collect(out chan<- prometheus.Metric) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, gpu := range slices.Sorted(maps.Keys(c.s.last)) {
		t := c.s.last[gpu]
		metrics, labels := gpuMetrics, []string{c.node, strconv.Itoa(int(gpu))}
		if gpu == capture.NodeSeries {
			metrics, labels = nodeMetrics, labels[:1]
		}
		for _, m := range metrics {
			if v, ok := m.read(&t); ok {
				out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
			}
		}
		collectParts(out, c.node, c.s.part[gpu])
	}
}
