//go:build linux && cgo && !nonvml

package nvml

import (
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
)

// asker asks for the facts of one GPU, each symbol looked up first.
type asker struct {
	s      *source
	v      *capture.Inventory
	prefix string
}

// fact adds what query answers, or why there is no answer.
func (a *asker) fact(name, symbol string, query func() (string, nvml.Return)) {
	name = a.prefix + name
	if !a.s.has(strings.Split(symbol, "|")...) {
		a.v.Lack(name, "the library has no "+symbol)
		return
	}
	value, ret := query()
	if ret != nvml.SUCCESS {
		a.v.Lack(name, retName(ret))
		return
	}
	a.v.Add(name, value)
}

// whole makes a number the answer.
func whole[T int | int32 | uint32 | uint64](query func() (T, nvml.Return)) func() (string, nvml.Return) {
	return func() (string, nvml.Return) {
		v, ret := query()
		return strconv.FormatInt(int64(v), 10), ret
	}
}

// watts makes mW the answer in W.
func watts(query func() (uint32, nvml.Return)) func() (string, nvml.Return) {
	return func() (string, nvml.Return) {
		mw, ret := query()
		return strconv.FormatFloat(float64(mw)/1000, 'f', -1, 64), ret
	}
}

// Inventory asks again for everything, calls that were not supported included.
func (s *source) Inventory() (*capture.Inventory, error) {
	v := &capture.Inventory{}
	a := asker{s, v, ""}
	a.fact(capture.FactDriver, "nvmlSystemGetDriverVersion", s.api.SystemGetDriverVersion)
	a.fact("nvml.version", "nvmlSystemGetNVMLVersion", s.api.SystemGetNVMLVersion)
	for _, g := range s.gpus {
		a.prefix = capture.OfGPU(g.index)
		v.GPUs = append(v.GPUs, a.gpu(g))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, symbol := range s.lacking {
		v.Lack("nvml."+symbol, "the library has no such call")
	}
	return v, nil
}

func (a *asker) gpu(g *gpu) capture.GPU {
	d, ret := a.s.api.DeviceGetHandleByIndex(int(g.index))
	if ret != nvml.SUCCESS {
		a.v.Lack(a.prefix+"name", retName(ret))
		g.again.Store(true)
		return capture.GPU{Index: g.index}
	}
	a.fact("name", "nvmlDeviceGetName", d.GetName)
	a.fact("uuid", "nvmlDeviceGetUUID", d.GetUUID)
	a.fact("serial", "nvmlDeviceGetSerial", d.GetSerial)
	a.fact("vbios", "nvmlDeviceGetVbiosVersion", d.GetVbiosVersion)
	a.fact("inforom", "nvmlDeviceGetInforomImageVersion", d.GetInforomImageVersion)
	a.fact("gsp_firmware", "nvmlDeviceGetGspFirmwareVersion", d.GetGspFirmwareVersion)
	a.fact("memory_bytes", "nvmlDeviceGetMemoryInfo", func() (string, nvml.Return) {
		m, ret := d.GetMemoryInfo()
		return strconv.FormatUint(m.Total, 10), ret
	})
	a.fact("pci", "nvmlDeviceGetPciInfo_v3|nvmlDeviceGetPciInfo_v2|nvmlDeviceGetPciInfo", func() (string, nvml.Return) {
		p, ret := d.GetPciInfo()
		return busID(&p), ret
	})
	a.fact("pcie.generation", "nvmlDeviceGetCurrPcieLinkGeneration", whole(d.GetCurrPcieLinkGeneration))
	a.fact("pcie.generation_max", "nvmlDeviceGetMaxPcieLinkGeneration", whole(d.GetMaxPcieLinkGeneration))
	a.fact("pcie.width", "nvmlDeviceGetCurrPcieLinkWidth", whole(d.GetCurrPcieLinkWidth))
	a.fact("pcie.width_max", "nvmlDeviceGetMaxPcieLinkWidth", whole(d.GetMaxPcieLinkWidth))
	a.fact(capture.FactPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", watts(d.GetEnforcedPowerLimit))
	a.fact("power.default_w", "nvmlDeviceGetPowerManagementDefaultLimit", watts(d.GetPowerManagementDefaultLimit))
	a.fact("power.min_w", "nvmlDeviceGetPowerManagementLimitConstraints", watts(func() (uint32, nvml.Return) {
		low, _, ret := d.GetPowerManagementLimitConstraints()
		return low, ret
	}))
	a.fact("power.max_w", "nvmlDeviceGetPowerManagementLimitConstraints", watts(func() (uint32, nvml.Return) {
		_, high, ret := d.GetPowerManagementLimitConstraints()
		return high, ret
	}))
	a.fact(capture.FactTopClock, "nvmlDeviceGetMaxClockInfo", whole(func() (uint32, nvml.Return) { return d.GetMaxClockInfo(nvml.CLOCK_SM) }))
	a.fact(capture.FactClockTarget, "nvmlDeviceGetClock", whole(func() (uint32, nvml.Return) { return d.GetClock(nvml.CLOCK_SM, nvml.CLOCK_ID_APP_CLOCK_TARGET) }))
	a.fact("temperature.slowdown", "nvmlDeviceGetTemperatureThreshold", whole(func() (uint32, nvml.Return) {
		return d.GetTemperatureThreshold(nvml.TEMPERATURE_THRESHOLD_SLOWDOWN)
	}))
	a.fact("temperature.shutdown", "nvmlDeviceGetTemperatureThreshold", whole(func() (uint32, nvml.Return) {
		return d.GetTemperatureThreshold(nvml.TEMPERATURE_THRESHOLD_SHUTDOWN)
	}))
	a.fact("ecc", "nvmlDeviceGetEccMode", func() (string, nvml.Return) {
		now, _, ret := d.GetEccMode()
		return onOff(now == nvml.FEATURE_ENABLED), ret
	})
	a.fabric(d)
	a.mig(d)
	a.links(d)
	a.columns(d)
	if why := g.deaf.Load(); why != nil {
		a.v.Lack(a.prefix+"xid", *why)
	}
	g.again.Store(true)
	memory, _ := strconv.ParseInt(a.v.Value(a.prefix+"memory_bytes"), 10, 64)
	slowdown, _ := strconv.ParseFloat(a.v.Value(a.prefix+"temperature.slowdown"), 64)
	return capture.GPU{Index: g.index, Name: a.v.Value(a.prefix + "name"), UUID: a.v.Value(a.prefix + "uuid"), Memory: memory, Slowdown: slowdown}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// busID is an address as sysfs has it: four digits of domain, lower case.
func busID(p *nvml.PciInfo) string {
	var b strings.Builder
	for _, c := range p.BusId {
		if c == 0 {
			break
		}
		b.WriteByte(c)
	}
	id := strings.ToLower(b.String())
	if domain, rest, ok := strings.Cut(id, ":"); ok && len(domain) == 8 {
		id = domain[4:] + ":" + rest
	}
	return id
}

// fabric is the state of the NVSwitch fabric.
func (a *asker) fabric(d nvml.Device) {
	states := map[uint8]string{nvml.GPU_FABRIC_STATE_NOT_SUPPORTED: "none", nvml.GPU_FABRIC_STATE_NOT_STARTED: "not started",
		nvml.GPU_FABRIC_STATE_IN_PROGRESS: "in progress", nvml.GPU_FABRIC_STATE_COMPLETED: "completed"}
	a.fact("fabric.state", "nvmlDeviceGetGpuFabricInfo", func() (string, nvml.Return) {
		f, ret := d.GetGpuFabricInfo()
		return states[f.State], ret
	})
	a.fact("fabric.clique", "nvmlDeviceGetGpuFabricInfo", func() (string, nvml.Return) {
		f, ret := d.GetGpuFabricInfo()
		return strconv.FormatUint(uint64(f.CliqueId), 10), ret
	})
}

// mig lists the instances of a GPU.
func (a *asker) mig(d nvml.Device) {
	enabled := false
	a.fact("mig", "nvmlDeviceGetMigMode", func() (string, nvml.Return) {
		now, _, ret := d.GetMigMode()
		enabled = ret == nvml.SUCCESS && now == nvml.DEVICE_MIG_ENABLE
		return onOff(enabled), ret
	})
	if !enabled || !a.s.has("nvmlDeviceGetMaxMigDeviceCount") || !a.s.has("nvmlDeviceGetMigDeviceHandleByIndex") {
		return
	}
	most, ret := d.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		a.v.Lack(a.prefix+"mig.instances", retName(ret))
		return
	}
	outer := a.prefix
	for i := range most {
		instance, ret := d.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // no instance at this place
		}
		a.prefix = outer + "mig." + strconv.Itoa(i) + "."
		a.fact("name", "nvmlDeviceGetName", instance.GetName)
		a.fact("uuid", "nvmlDeviceGetUUID", instance.GetUUID)
		a.fact("gpu_instance", "nvmlDeviceGetGpuInstanceId", whole(instance.GetGpuInstanceId))
		a.fact("compute_instance", "nvmlDeviceGetComputeInstanceId", whole(instance.GetComputeInstanceId))
		a.fact("memory_bytes", "nvmlDeviceGetMemoryInfo", func() (string, nvml.Return) {
			m, ret := instance.GetMemoryInfo()
			return strconv.FormatUint(m.Total, 10), ret
		})
	}
	a.prefix = outer
}

// links lists the NVLinks of a GPU with their peers.
func (a *asker) links(d nvml.Device) {
	if !a.s.has("nvmlDeviceGetNvLinkState") {
		a.v.Lack(a.prefix+"nvlink", "the library has no nvmlDeviceGetNvLinkState")
		return
	}
	outer := a.prefix
	kinds := map[nvml.IntNvLinkDeviceType]string{nvml.NVLINK_DEVICE_TYPE_GPU: "GPU", nvml.NVLINK_DEVICE_TYPE_IBMNPU: "CPU", nvml.NVLINK_DEVICE_TYPE_SWITCH: "switch"}
	for link := range nvml.NVLINK_MAX_LINKS {
		state, ret := d.GetNvLinkState(link)
		if ret != nvml.SUCCESS {
			break // the GPU has no more
		}
		a.prefix = outer + "nvlink." + strconv.Itoa(link) + "."
		a.v.Add(a.prefix+"state", onOff(state == nvml.FEATURE_ENABLED))
		a.fact("version", "nvmlDeviceGetNvLinkVersion", whole(func() (uint32, nvml.Return) { return d.GetNvLinkVersion(link) }))
		a.fact("peer", "nvmlDeviceGetNvLinkRemotePciInfo_v2|nvmlDeviceGetNvLinkRemotePciInfo", func() (string, nvml.Return) {
			p, ret := d.GetNvLinkRemotePciInfo(link)
			return busID(&p), ret
		})
		a.fact("peer_kind", "nvmlDeviceGetNvLinkRemoteDeviceType", func() (string, nvml.Return) {
			kind, ret := d.GetNvLinkRemoteDeviceType(link)
			return kinds[kind], ret
		})
	}
	a.prefix = outer
}
