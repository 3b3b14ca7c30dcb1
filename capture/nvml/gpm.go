//go:build linux && cgo && !nonvml

package nvml

import (
	"time"

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

// readGPM reads SM activity over the time since the sample of GPM before.
func (s *source) readGPM(g *gpu, r *capture.Reading) nvml.Return {
	k := &g.slow
	if time.Since(k.gpmAt) < renewal {
		r.SMActive, g.kept = k.active, true
		return nvml.SUCCESS
	}
	k.active = traces.Opt[float64]{}
	at := time.Now()
	if ret := g.device.GpmSampleGet(g.gpm[1]); ret != nvml.SUCCESS {
		return ret
	}
	g.active.NumMetrics, g.active.Sample1, g.active.Sample2 = 1, g.gpm[0], g.gpm[1]
	g.active.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_SM_UTIL)
	ret := s.api.GpmMetricsGet(&g.active)
	g.gpm[0], g.gpm[1], k.gpmAt = g.gpm[1], g.gpm[0], at
	if ret != nvml.SUCCESS {
		return ret
	}
	if one := &g.active.Metrics[0]; nvml.Return(one.NvmlReturn) == nvml.SUCCESS {
		k.active = percent(one.Value)
		r.SMActive = k.active
	}
	return nvml.SUCCESS
}
