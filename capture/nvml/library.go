//go:build linux && cgo && !nonvml

package nvml

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"orrery/capture"
	"orrery/traces"
)

// source is the library with its GPUs.
type source struct {
	library *dl.DynamicLibrary // for looking up symbols
	api     nvml.Interface
	gpus    []*gpu

	mu      sync.Mutex // units and the inventory look symbols up at once
	known   map[string]bool
	lacking []string // symbols, in the order in which they were looked up

	probing atomic.Int32 // GPUs that the inventory has asked for their columns and that have not answered
}

// gpu is one of the node. It is used by one goroutine at a time.
type gpu struct {
	device nvml.Device // nil while the driver gives no handle, as of a GPU that has fallen off the bus
	why    nvml.Return // it gives none
	again  atomic.Bool // the inventory was taken: calls that were not supported are tried once more
	index  int32
	calls  []call // those that the library has and the GPU supports
	fields []nvml.FieldValue
	gpm    *pair // nil where there is none
	active nvml.GpmMetricsGetType
	mig    divided
	slow   slowValues
	pcie   [2]counter32 // received, sent
	events nvml.EventSet
	deaf   atomic.Pointer[string] // why XIDs are not told; nil when they are
	kept   bool                   // the call that was made last did not ask the GPU
}

// renewal is how often the driver renews energy and the counters of GPM (H100, driver 580). They are asked for no more often: reading
// energy takes 3 to 16 ms there, and activity between two samples of GPM closer to each other is that of none or of the whole 100 ms.
// A little less, for a sample may come a little early.
const renewal = 95 * time.Millisecond

// slowValues are those that are kept for so long.
type slowValues struct {
	energy   traces.Opt[int64]
	energyAt time.Time // it was read
}

// call is one of a sample.
type call struct {
	name    string
	symbols []string // any of them will do: the binding takes the newest
	read    func(*gpu, *capture.Reading) nvml.Return
}

// Built says whether this program can load the library.
const Built = true

// Open loads the library, by default DefaultLibrary, and finds the GPUs. A *NoDriverError says that
// there is nothing to ask.
func Open(path string) (capture.Source, error) {
	if path == "" {
		path = DefaultLibrary
	}
	s := &source{library: dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL), known: map[string]bool{}}
	if err := s.library.Open(); err != nil {
		return nil, &NoDriverError{path, err.Error()}
	}
	if !s.has("nvmlInit_v2", "nvmlInit") || !s.has("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") ||
		!s.has("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex") || !s.has("nvmlErrorString") || !s.has("nvmlShutdown") {
		return nil, &NoDriverError{path, "it lacks the calls to start, to list GPUs or to stop"}
	}
	s.api = nvml.New(nvml.WithLibraryPath(path))
	if ret := s.api.Init(); ret != nvml.SUCCESS {
		return nil, &NoDriverError{path, "starting it: " + retName(ret)}
	}
	n, ret := s.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, &NoDriverError{path, "counting the GPUs: " + retName(ret)}
	}
	found := 0
	for i := range n { // one that is lost must not hide the others
		g := &gpu{index: int32(i)}
		if s.handle(g) {
			found++
		}
		s.gpus = append(s.gpus, g)
	}
	if n > 0 && found == 0 {
		return nil, &NoDriverError{path, "GPU 0: " + retName(s.gpus[0].why)}
	}
	return s, nil
}

// handle asks for the handle of a GPU and makes its list of calls.
func (s *source) handle(g *gpu) bool {
	device, ret := s.api.DeviceGetHandleByIndex(int(g.index))
	if ret != nvml.SUCCESS {
		g.why = ret
		return false
	}
	g.device = device
	s.prepare(g)
	return true
}

// has says whether the library has one of the symbols.
func (s *source) has(symbols ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, symbol := range symbols {
		known, asked := s.known[symbol]
		if !asked {
			known = s.library.Lookup(symbol) == nil
			s.known[symbol] = known
			if !known {
				s.lacking = append(s.lacking, symbol)
			}
		}
		if known {
			return true
		}
	}
	return false
}

// prepareCalls makes the list of calls of a GPU that take no state.
func (s *source) prepareCalls(g *gpu) {
	g.calls = nil
	for _, c := range calls {
		if s.has(c.symbols...) {
			g.calls = append(g.calls, c)
		}
	}
	if s.has("nvmlDeviceGetFieldValues") {
		g.fields = nil
		for _, f := range fields {
			g.fields = append(g.fields, nvml.FieldValue{FieldId: f.id, ScopeId: f.scope})
		}
		g.calls = append(g.calls, call{name: fieldsCall, read: readFields})
	}
}

// prepare makes the list of all calls of a GPU.
func (s *source) prepare(g *gpu) {
	s.prepareCalls(g)
	if g.gpm == nil && s.hasGPM() {
		g.gpm, _ = s.newPair(g.device.GpmSampleGet) // the inventory says why
	}
	if g.gpm != nil {
		g.calls = append(g.calls, call{name: gpmCall, read: func(g *gpu, r *capture.Reading) (ret nvml.Return) {
			if g.kept, ret = s.readGPM(g.gpm, &g.active); ret == nvml.SUCCESS {
				for i := range activity {
					*activity[i].at(&r.Telemetry) = g.gpm.active[i]
				}
			}
			return ret
		}})
	}
	g.mig.without = false
	if g.events == nil {
		s.prepareEvents(g)
	}
	if g.events != nil {
		g.calls = append(g.calls, call{name: eventsCall, read: readEvents})
	}
}

// Units makes each GPU a unit of its own.
func (s *source) Units() [][]int32 {
	out := make([][]int32, len(s.gpus))
	for i, g := range s.gpus {
		out[i] = []int32{g.index}
	}
	return out
}

// Sample makes all calls that the GPU has answered so far.
func (s *source) Sample(unit int, out []capture.Reading) ([]capture.Reading, error) {
	g := s.gpus[unit]
	switch again := g.again.Swap(false); {
	case g.device == nil && (!again || !s.handle(g)):
		if g.why == nvml.ERROR_GPU_IS_LOST {
			return out, capture.ErrLost
		}
		return out, errors.New("no handle: " + retName(g.why))
	case again:
		s.prepare(g)
	}
	r := capture.Reading{Telemetry: traces.Telemetry{GPU: traces.Some(g.index)}}
	kept := g.calls[:0]
	answered := false
	for i, c := range g.calls {
		g.kept = false
		switch ret := c.read(g, &r); ret {
		case nvml.SUCCESS:
			answered = answered || !g.kept
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_NO_PERMISSION, nvml.ERROR_FUNCTION_NOT_FOUND:
			continue // until the inventory is taken again
		case nvml.ERROR_GPU_IS_LOST:
			g.calls = append(kept, g.calls[i:]...)
			g.pcie = [2]counter32{}
			_ = readEvents(g, &r) // among them why it is lost; the GPU itself answers no longer
			return withXIDs(out, &r), capture.ErrLost
		default:
			r.Failed = append(r.Failed, c.name+": "+retName(ret))
		}
		kept = append(kept, c)
	}
	g.calls = kept
	if !answered && len(r.Failed) > 0 { // as after the driver was loaded anew: a row of nulls would hide it
		return withXIDs(out, &r), errors.New(strings.Join(r.Failed, ", "))
	}
	s.parts(g, &r)
	return append(out, r), nil
}

// Close stops the library. GPM samples and event sets go with it.
func (s *source) Close() error {
	if s.probing.Load() > 0 {
		return nil // stopping would wait for the call that hangs
	}
	if ret := s.api.Shutdown(); ret != nvml.SUCCESS {
		return errors.New("stopping the library: " + retName(ret))
	}
	return nil
}

// calls are those of a sample that take no state.
var calls = []call{
	{"utilisation", []string{"nvmlDeviceGetUtilizationRates"}, func(g *gpu, r *capture.Reading) nvml.Return {
		u, ret := g.device.GetUtilizationRates()
		if ret == nvml.SUCCESS {
			r.SMUtil, r.MemUtil = percent(float64(u.Gpu)), percent(float64(u.Memory))
		}
		return ret
	}},
	{"memory", []string{"nvmlDeviceGetMemoryInfo_v2"}, func(g *gpu, r *capture.Reading) nvml.Return {
		m, ret := g.device.GetMemoryInfo_v2()
		return set(&r.MemUsed, int64(m.Used), ret)
	}},
	{"memory of older drivers", []string{"nvmlDeviceGetMemoryInfo"}, func(g *gpu, r *capture.Reading) nvml.Return {
		if r.MemUsed.OK {
			return nvml.ERROR_NOT_SUPPORTED // the newer call is there, and leaves out what the driver reserves
		}
		m, ret := g.device.GetMemoryInfo()
		return set(&r.MemUsed, int64(m.Used), ret)
	}},
	{"power", []string{"nvmlDeviceGetPowerUsage"}, func(g *gpu, r *capture.Reading) nvml.Return {
		mw, ret := g.device.GetPowerUsage()
		return set(&r.Power, float64(mw)/1000, ret)
	}},
	{"energy", []string{"nvmlDeviceGetTotalEnergyConsumption"}, func(g *gpu, r *capture.Reading) nvml.Return {
		k := &g.slow
		if k.energy.OK && time.Since(k.energyAt) < renewal {
			r.Energy, g.kept = k.energy, true
			return nvml.SUCCESS
		}
		k.energyAt = time.Now()
		mj, ret := g.device.GetTotalEnergyConsumption()
		k.energy = traces.Opt[int64]{V: int64(mj), OK: ret == nvml.SUCCESS}
		r.Energy = k.energy
		return ret
	}},
	{"SM clock", []string{"nvmlDeviceGetClockInfo"}, func(g *gpu, r *capture.Reading) nvml.Return {
		mhz, ret := g.device.GetClockInfo(nvml.CLOCK_SM)
		return set(&r.SMClock, int32(mhz), ret)
	}},
	{"memory clock", []string{"nvmlDeviceGetClockInfo"}, func(g *gpu, r *capture.Reading) nvml.Return {
		mhz, ret := g.device.GetClockInfo(nvml.CLOCK_MEM)
		return set(&r.MemClock, int32(mhz), ret)
	}},
	{"throttle reasons", []string{"nvmlDeviceGetCurrentClocksEventReasons"}, func(g *gpu, r *capture.Reading) nvml.Return {
		bits, ret := g.device.GetCurrentClocksEventReasons()
		return set(&r.Throttle, int64(bits&math.MaxInt64), ret)
	}},
	{"throttle reasons of older drivers", []string{"nvmlDeviceGetCurrentClocksThrottleReasons"}, func(g *gpu, r *capture.Reading) nvml.Return {
		if r.Throttle.OK {
			return nvml.ERROR_NOT_SUPPORTED // the newer call is there
		}
		bits, ret := g.device.GetCurrentClocksThrottleReasons()
		return set(&r.Throttle, int64(bits&math.MaxInt64), ret)
	}},
	{"temperature", []string{"nvmlDeviceGetTemperature"}, func(g *gpu, r *capture.Reading) nvml.Return {
		c, ret := g.device.GetTemperature(nvml.TEMPERATURE_GPU)
		return set(&r.Temperature, float64(c), ret)
	}},
	{"corrected ECC errors", []string{"nvmlDeviceGetTotalEccErrors"}, func(g *gpu, r *capture.Reading) nvml.Return {
		n, ret := g.device.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.AGGREGATE_ECC)
		return set(&r.ECCCorrected, int64(n), ret)
	}},
	{"uncorrected ECC errors", []string{"nvmlDeviceGetTotalEccErrors"}, func(g *gpu, r *capture.Reading) nvml.Return {
		n, ret := g.device.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC)
		return set(&r.ECCUncorrected, int64(n), ret)
	}},
	{"remapped rows", []string{"nvmlDeviceGetRemappedRows"}, func(g *gpu, r *capture.Reading) nvml.Return {
		corrected, uncorrected, _, _, ret := g.device.GetRemappedRows()
		return set(&r.RetiredPages, int64(corrected)+int64(uncorrected), ret)
	}},
	{"retired pages", []string{"nvmlDeviceGetRetiredPages"}, func(g *gpu, r *capture.Reading) nvml.Return {
		if r.RetiredPages.OK {
			return nvml.ERROR_NOT_SUPPORTED // a GPU remaps rows or retires pages
		}
		one, ret := g.device.GetRetiredPages(nvml.PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)
		if ret != nvml.SUCCESS {
			return ret
		}
		two, ret := g.device.GetRetiredPages(nvml.PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
		return set(&r.RetiredPages, int64(len(one)+len(two)), ret)
	}},
	{"power violation", []string{"nvmlDeviceGetViolationStatus"}, func(g *gpu, r *capture.Reading) nvml.Return {
		return violation(g, nvml.PERF_POLICY_POWER, &r.PowerViolation)
	}},
	{"thermal violation", []string{"nvmlDeviceGetViolationStatus"}, func(g *gpu, r *capture.Reading) nvml.Return {
		return violation(g, nvml.PERF_POLICY_THERMAL, &r.ThermalViolation)
	}},
	{"processes", processCalls,
		func(g *gpu, r *capture.Reading) nvml.Return {
			list, ret := g.device.GetComputeRunningProcesses()
			r.Procs = processes(list)
			return ret
		}},
}

func processes(list []nvml.ProcessInfo) (out []capture.Process) {
	for _, p := range list {
		one := capture.Process{PID: int(p.Pid)}
		if p.UsedGpuMemory < 1<<62 { // all bits are set where it is not known
			one.Memory = int64(p.UsedGpuMemory)
		}
		if p.GpuInstanceId != noInstance {
			one.Instance = strconv.FormatUint(uint64(p.GpuInstanceId), 10) + "/" + strconv.FormatUint(uint64(p.ComputeInstanceId), 10)
		}
		out = append(out, one)
	}
	return out
}

// Names of calls that are no part of calls.
const (
	fieldsCall = "field values"
	gpmCall    = "GPM"
	eventsCall = "events"
)

// processCalls are the names that the call has had.
var processCalls = []string{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"}

// noInstance stands for a process that is in no instance of MIG.
const noInstance = math.MaxUint32

func set[T any](to *traces.Opt[T], v T, ret nvml.Return) nvml.Return {
	if ret == nvml.SUCCESS {
		*to = traces.Some(v)
	}
	return ret
}

// violation reads for how long a policy has held clocks down so far, which NVML has in ns.
func violation(g *gpu, policy nvml.PerfPolicyType, to *traces.Opt[int64]) nvml.Return {
	v, ret := g.device.GetViolationStatus(policy)
	return set(to, int64(v.ViolationTime/1000), ret)
}

// percent is a share; what is no number is null. A reader of the sample leaves out what cannot be.
func percent(v float64) traces.Opt[float64] {
	return traces.Opt[float64]{V: v / 100, OK: !math.IsNaN(v)}
}

// counter is a number of bytes. One that no counter has becomes one that a reader leaves out.
func counter(v float64) traces.Opt[int64] {
	if !(v >= 0 && v < 1<<63) {
		v = -1
	}
	return traces.Some(int64(v))
}

// retName is a result in words, without asking the library for them.
func retName(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "the library was not found"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "the kernel module of the driver is not loaded"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission"
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU is lost"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "library and kernel module are of different versions"
	case nvml.ERROR_TIMEOUT:
		return "timeout"
	}
	return "result " + strconv.Itoa(int(ret))
}
