package agent

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// partWindow sums up the samples of one GPU instance of MIG.
type partWindow struct {
	last traces.Instance
	sums window
}

// addParts adds a sample of each GPU instance. One that was made anew under the number of another is another.
func addParts(list []partWindow, parts []capture.Part) []partWindow {
	for i := range parts {
		p := &parts[i]
		at := slices.IndexFunc(list, func(w partWindow) bool {
			return w.last.GPUInstance == p.GPUInstance && w.last.UUID == p.UUID
		})
		if at < 0 {
			at, list = len(list), append(list, partWindow{})
		}
		list[at].last = p.Instance
		list[at].sums.add(&capture.Reading{Procs: p.Procs, Telemetry: traces.Telemetry{GPU: traces.Some(p.GPU),
			MemUsed: p.MemUsed, SMActive: p.SMActive, TensorActive: p.TensorActive, DRAMActive: p.DRAMActive}})
	}
	return list
}

// rows are what the window says, as those of a GPU.
func (w *partWindow) rows(from model.Time, width model.Duration) (out []traces.Instance) {
	for _, t := range w.sums.rows(from, width) {
		row := w.last
		row.Time, row.Stat, row.Width, row.Processes = from, t.Stat, t.Width, t.Processes
		row.MemUsed, row.SMActive, row.TensorActive, row.DRAMActive = t.MemUsed, t.SMActive, t.TensorActive, t.DRAMActive
		out = append(out, row)
	}
	return out
}

// samplesOf are the rows of samples.
func samplesOf(parts []capture.Part) (out []traces.Instance) {
	for i := range parts {
		row := parts[i].Instance
		row.Processes = capture.Encode(parts[i].Procs)
		out = append(out, row)
	}
	return out
}

// partMetrics are the columns of GPU instances that Prometheus sees, with the labels that DCGM-exporter gives them beside ours. They are
// metrics of their own: a sum over those of GPUs counts nothing twice.
var partMetrics = []struct {
	desc *prometheus.Desc
	read func(*traces.Instance) (float64, bool)
}{
	{partDesc("sm_active_ratio", "Share of its multiprocessors that had work."), func(i *traces.Instance) (float64, bool) { return i.SMActive.V, i.SMActive.OK }},
	{partDesc("tensor_active_ratio", "Share of the cycles in which its tensor cores worked."), func(i *traces.Instance) (float64, bool) { return i.TensorActive.V, i.TensorActive.OK }},
	{partDesc("dram_active_ratio", "Bytes moved to and from its memory, of the most that it could move."), func(i *traces.Instance) (float64, bool) { return i.DRAMActive.V, i.DRAMActive.OK }},
	{partDesc("memory_used_bytes", "Memory in use in it, a part of that of its GPU."), func(i *traces.Instance) (float64, bool) { return float64(i.MemUsed.V), i.MemUsed.OK }},
	{partDesc("memory_total_bytes", "Memory that it has."), func(i *traces.Instance) (float64, bool) { return float64(i.MemTotal.V), i.MemTotal.OK }},
}

func partDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("orrery_gpu_instance_"+name, help, []string{"node", "gpu", "GPU_I_ID", "GPU_I_PROFILE", "uuid", "gpu_uuid"}, nil)
}

func collectParts(out chan<- prometheus.Metric, node string, parts []capture.Part) {
	for i := range parts {
		p := &parts[i].Instance
		labels := []string{node, strconv.Itoa(int(p.GPU)), strconv.Itoa(int(p.GPUInstance)), p.Profile, p.UUID, p.GPUUUID}
		for _, m := range partMetrics {
			if v, ok := m.read(p); ok {
				out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, v, labels...)
			}
		}
	}
}
