//go:build linux && cgo && !nonvml

package nvml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
	"orrery/traces"
)

// regrouped is how often it is looked for which GPU instances there are. One that stops answering is looked for at once.
const regrouped = 10 * time.Second

// divided is what is known of the GPU instances of a GPU.
type divided struct {
	parts   []*part
	looked  time.Time
	without bool // the GPU has no MIG, as far as the inventory before knew
}

// part is a GPU instance with its MIG devices, one for each of its compute instances. Memory and activity are of the GPU instance, whichever
// of its devices is asked.
type part struct {
	traces.Instance // what does not change
	devices         []nvml.Device
	gpm             *pair // nil where there is none
	why             nvml.Return
}

// parts adds the GPU instances to a reading. What one does not answer is counted as left out.
func (s *source) parts(g *gpu, r *capture.Reading) {
	m := &g.mig
	if m.without {
		return
	}
	if time.Since(m.looked) >= regrouped {
		found, ret := s.partsOf(g.device, g.index)
		m.without = ret == nvml.ERROR_NOT_SUPPORTED
		if ret != nvml.SUCCESS && !m.without {
			r.Left.Add(fmt.Sprintf("GPU %d, its GPU instances: %s", g.index, retName(ret)), "", 1)
		}
		s.regroup(m, found)
	}
	for _, p := range m.parts {
		one, failed := s.part(p, &g.active)
		for _, why := range failed {
			r.Left.Add(fmt.Sprintf("GPU %d, GPU instance %d: %s", g.index, p.GPUInstance, why), "", 1)
			m.looked = time.Time{}
		}
		if one.MemUsed.OK || one.SMActive.OK || len(failed) == 0 {
			r.Parts = append(r.Parts, one)
		}
	}
}

// regroup takes the GPU instances that were found for those that there are. One that was there before keeps its samples.
func (s *source) regroup(m *divided, found []*part) {
	for _, p := range found {
		i := slices.IndexFunc(m.parts, func(old *part) bool {
			return old.GPUInstance == p.GPUInstance && old.UUID == p.UUID && old.Profile == p.Profile
		})
		if i >= 0 && m.parts[i].gpm != nil {
			s.free(p.gpm)
			p.gpm, m.parts[i].gpm = m.parts[i].gpm, nil
		}
	}
	for _, old := range m.parts {
		s.free(old.gpm)
	}
	m.parts, m.looked = found, time.Now()
}

// part reads one GPU instance.
func (s *source) part(p *part, array *nvml.GpmMetricsGetType) (one capture.Part, failed []string) {
	one.Instance = p.Instance
	told := func(what string, ret nvml.Return) {
		if ret != nvml.SUCCESS && ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_NO_PERMISSION {
			failed = append(failed, what+": "+retName(ret))
		}
	}
	m, ret := s.memory(p.devices[0])
	one.MemUsed, one.MemTotal = traces.Opt[int64]{V: int64(m.Used), OK: ret == nvml.SUCCESS}, traces.Opt[int64]{V: int64(m.Total), OK: ret == nvml.SUCCESS}
	told("memory", ret)
	if p.gpm != nil {
		_, ret := s.readGPM(p.gpm, array)
		one.SMActive, one.TensorActive, one.DRAMActive = p.gpm.active[0], p.gpm.active[1], p.gpm.active[2]
		told(gpmCall, ret)
	}
	if s.has(processCalls...) {
		for _, d := range p.devices {
			list, ret := d.GetComputeRunningProcesses()
			one.Procs = append(one.Procs, processes(list)...)
			told("processes", ret)
		}
	}
	return one, failed
}

// memory is that of a GPU instance, by the newest call that the library has.
func (s *source) memory(d nvml.Device) (nvml.Memory, nvml.Return) {
	switch {
	case s.has("nvmlDeviceGetMemoryInfo_v2"):
		m, ret := d.GetMemoryInfo_v2()
		return nvml.Memory{Total: m.Total, Used: m.Used, Free: m.Free}, ret
	case s.has("nvmlDeviceGetMemoryInfo"):
		return d.GetMemoryInfo()
	}
	return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED
}

// partsOf lists the GPU instances of a GPU by their ids.
func (s *source) partsOf(gpu nvml.Device, index int32) (parts []*part, ret nvml.Return) {
	for _, symbol := range []string{"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId"} {
		if !s.has(symbol) {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
	}
	if mode, _, ret := gpu.GetMigMode(); ret != nvml.SUCCESS || mode != nvml.DEVICE_MIG_ENABLE {
		return nil, ret
	}
	most, ret := gpu.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	for i := range most {
		d, ret := gpu.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // no device at this place
		}
		id, ret := d.GetGpuInstanceId()
		if ret != nvml.SUCCESS {
			continue // it went since
		}
		at := slices.IndexFunc(parts, func(p *part) bool { return p.GPUInstance == int32(id) })
		if at < 0 {
			at = len(parts)
			parts = append(parts, s.newPart(gpu, d, index, id))
		}
		s.addDevice(parts[at], d)
	}
	slices.SortStableFunc(parts, func(a, b *part) int { return int(a.GPUInstance) - int(b.GPUInstance) })
	return parts, nvml.SUCCESS
}

// newPart is a GPU instance with what its first MIG device says of it.
func (s *source) newPart(gpu, d nvml.Device, index int32, id int) *part {
	p := &part{why: nvml.ERROR_NOT_SUPPORTED}
	p.GPU, p.GPUInstance = index, int32(id)
	if s.has("nvmlDeviceGetUUID") {
		p.GPUUUID, _ = gpu.GetUUID()
	}
	if s.has("nvmlDeviceGetName") {
		name, _ := d.GetName()
		p.Profile = profileOf(name)
	}
	if s.hasGPM() && s.has("nvmlGpmMigSampleGet") {
		p.gpm, p.why = s.newPair(func(sample nvml.GpmSample) nvml.Return { return gpu.GpmMigSampleGet(id, sample) })
	}
	return p
}

// addDevice adds a MIG device, which is one of the compute instances.
func (s *source) addDevice(p *part, d nvml.Device) {
	p.devices = append(p.devices, d)
	if s.has("nvmlDeviceGetUUID") {
		if uuid, ret := d.GetUUID(); ret == nvml.SUCCESS {
			p.UUID = strings.TrimPrefix(p.UUID+","+uuid, ",")
		}
	}
	if !s.has("nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes") {
		return
	}
	a, ret := d.GetAttributes()
	if ret != nvml.SUCCESS {
		return
	}
	p.Multiprocessors = traces.Some(p.Multiprocessors.V + int32(min(a.MultiprocessorCount, math.MaxInt16)))
	if p.Profile == "" && a.GpuInstanceSliceCount > 0 { // drivers that do not name it
		p.Profile = fmt.Sprintf("%dg.%dgb", a.GpuInstanceSliceCount, (a.MemorySizeMB+1023)/1024)
	}
}

// profileOf is the profile of the GPU instance in the name of a MIG device: of "NVIDIA H100 MIG 1c.3g.40gb" it is 3g.40gb.
func profileOf(name string) string {
	_, profile, found := strings.Cut(name, " MIG ")
	if !found {
		return ""
	}
	if compute, rest, found := strings.Cut(profile, "."); found && strings.HasSuffix(compute, "c") {
		return rest
	}
	return profile
}

// partsLack names what the GPU instances of a GPU have no value for, and why.
func (s *source) partsLack(gpu nvml.Device) (missing []capture.Missing) {
	parts, _ := s.partsOf(gpu, 0)
	for _, p := range parts {
		lack := func(column string, ret nvml.Return) {
			if ret != nvml.SUCCESS {
				missing = append(missing, capture.Missing{Name: "gpu_instance." + strconv.Itoa(int(p.GPUInstance)) + ".telemetry." + column, Why: retName(ret)})
			}
		}
		_, ret := s.memory(p.devices[0])
		lack("mem_used", ret)
		if p.gpm != nil {
			s.free(p.gpm)
			continue
		}
		for i := range activity {
			lack(activity[i].column, p.why)
		}
	}
	return missing
}
