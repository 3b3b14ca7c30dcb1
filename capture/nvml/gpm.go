//go:build linux && cgo && !nonvml

package nvml

import (
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
	"orrery/traces"
)

// prepareGPM takes the first sample, if the GPU has any. Whether it does is not asked for by nvmlGpmQueryDeviceSupport: in this version of the
// binding that fails on every GPU, for the version of its structure.
func (s *source) prepareGPM(g *gpu) nvml.Return {
	first, ret := s.api.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		return ret
	}
	second, ret := s.api.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		_ = s.api.GpmSampleFree(first)
		return ret
	}
	if ret = g.device.GpmSampleGet(first); ret != nvml.SUCCESS {
		_ = s.api.GpmSampleFree(first)
		_ = s.api.GpmSampleFree(second)
		return ret
	}
	g.gpm, g.slow.gpmAt = [2]nvml.GpmSample{first, second}, time.Now()
	return nvml.SUCCESS
}

func (s *source) hasGPM() bool {
	return s.has("nvmlGpmSampleAlloc") && s.has("nvmlGpmSampleGet") && s.has("nvmlGpmMetricsGet") && s.has("nvmlGpmSampleFree")
}

// activity are the metrics of GPM that are asked for, shares in percent.
var activity = []struct {
	metric nvml.GpmMetricId
	at     func(*capture.Reading) *traces.Opt[float64]
}{
	{nvml.GPM_METRIC_SM_UTIL, func(r *capture.Reading) *traces.Opt[float64] { return &r.SMActive }},
	{nvml.GPM_METRIC_ANY_TENSOR_UTIL, func(r *capture.Reading) *traces.Opt[float64] { return &r.TensorActive }},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, func(r *capture.Reading) *traces.Opt[float64] { return &r.DRAMActive }},
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

// readGPM reads activity over the time since the sample of GPM before. A metric that the GPU does not have is null; those that it has stay.
func (s *source) readGPM(g *gpu, r *capture.Reading) nvml.Return {
	k := &g.slow
	if time.Since(k.gpmAt) < renewal {
		k.show(r)
		g.kept = true
		return nvml.SUCCESS
	}
	k.active = [activities]traces.Opt[float64]{}
	at := time.Now()
	if ret := g.device.GpmSampleGet(g.gpm[1]); ret != nvml.SUCCESS {
		return ret
	}
	g.active.NumMetrics, g.active.Sample1, g.active.Sample2 = activities, g.gpm[0], g.gpm[1]
	for i := range activity {
		asked(&g.active)[i].id = uint32(activity[i].metric)
	}
	ret := s.api.GpmMetricsGet(&g.active)
	g.gpm[0], g.gpm[1], k.gpmAt = g.gpm[1], g.gpm[0], at
	if ret != nvml.SUCCESS {
		return ret
	}
	for i := range activity {
		if one := &asked(&g.active)[i]; nvml.Return(one.ret) == nvml.SUCCESS {
			k.active[i] = percent(one.value)
		}
	}
	k.show(r)
	return nvml.SUCCESS
}

// show puts the activity that was found last into a reading.
func (k *slowValues) show(r *capture.Reading) {
	for i := range activity {
		*activity[i].at(r) = k.active[i]
	}
}
