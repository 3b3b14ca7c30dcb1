//go:build linux && cgo && !nonvml

package nvml

import (
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/traces"
)

// pair are samples of GPM of a GPU or of a GPU instance of MIG, between which activity is measured.
type pair struct {
	take    func(nvml.GpmSample) nvml.Return
	samples [2]nvml.GpmSample // the one before and the next
	at      time.Time         // samples[0] was taken
	active  [activities]traces.Opt[float64]
}

// newPair takes the first sample, if there is any. Whether there is is not asked for by nvmlGpmQueryDeviceSupport: in this version of the
// binding that fails on every GPU, for the version of its structure.
func (s *source) newPair(take func(nvml.GpmSample) nvml.Return) (*pair, nvml.Return) {
	p := &pair{take: take, at: time.Now()}
	for i := range p.samples {
		sample, ret := s.api.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			s.free(p)
			return nil, ret
		}
		p.samples[i] = sample
	}
	if ret := take(p.samples[0]); ret != nvml.SUCCESS {
		s.free(p)
		return nil, ret
	}
	return p, nvml.SUCCESS
}

// free gives the samples back; nil is none.
func (s *source) free(p *pair) {
	if p == nil {
		return
	}
	for _, sample := range p.samples {
		if sample != nil {
			_ = s.api.GpmSampleFree(sample)
		}
	}
}

func (s *source) hasGPM() bool {
	return s.has("nvmlGpmSampleAlloc") && s.has("nvmlGpmSampleGet") && s.has("nvmlGpmMetricsGet") && s.has("nvmlGpmSampleFree")
}

// activity are the metrics of GPM that are asked for, shares in percent.
var activity = []struct {
	metric nvml.GpmMetricId
	column string
	at     func(*traces.Telemetry) *traces.Opt[float64]
}{
	{nvml.GPM_METRIC_SM_UTIL, "sm_active", func(t *traces.Telemetry) *traces.Opt[float64] { return &t.SMActive }},
	{nvml.GPM_METRIC_ANY_TENSOR_UTIL, "tensor_active", func(t *traces.Telemetry) *traces.Opt[float64] { return &t.TensorActive }},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, "dram_active", func(t *traces.Telemetry) *traces.Opt[float64] { return &t.DRAMActive }},
}

// activities is how many they are.
const activities = 3

// metric is one of nvmlGpmMetricsGet_t as the header has it. In this version of the binding a metric has 1624 bytes in place of 40, so that
// only the first lies where the library looks for it.
type metric struct {
	id, ret uint32
	value   float64
	_       [3]uintptr // names and unit
}

// asked are the metrics of the array of the binding, which has room for more.
func asked(g *nvml.GpmMetricsGetType) *[activities]metric {
	return (*[activities]metric)(unsafe.Pointer(&g.Metrics)) //nolint:gosec // see metric
}

// readGPM reads activity over the time since the sample before. A metric that the GPU does not have is null; those that it has stay. It is kept
// where that was too short a time ago. The array of the binding takes 340 kB, so that the instances of a GPU have it in common.
func (s *source) readGPM(p *pair, array *nvml.GpmMetricsGetType) (kept bool, ret nvml.Return) {
	if time.Since(p.at) < renewal {
		return true, nvml.SUCCESS
	}
	p.active = [activities]traces.Opt[float64]{}
	at := time.Now()
	if ret := p.take(p.samples[1]); ret != nvml.SUCCESS {
		return false, ret
	}
	array.NumMetrics, array.Sample1, array.Sample2 = activities, p.samples[0], p.samples[1]
	for i := range activity {
		asked(array)[i].id = uint32(activity[i].metric)
	}
	ret = s.api.GpmMetricsGet(array)
	p.samples[0], p.samples[1], p.at = p.samples[1], p.samples[0], at
	if ret != nvml.SUCCESS {
		return false, ret
	}
	for i := range activity {
		if one := &asked(array)[i]; nvml.Return(one.ret) == nvml.SUCCESS {
			p.active[i] = percent(one.value)
		}
	}
	return false, nvml.SUCCESS
}
