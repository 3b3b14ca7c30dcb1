//go:build linux && cgo && !nonvml

package nvml_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/nvml"
	"orrery/capture/scripted"
)

// A library stays in the process that has loaded it, so each test runs the program of the tests once more.
const child = "ORRERY_NVML_CHILD"

// inChild runs body with the library in a process of its own. It returns false in the process that started it.
func inChild(t *testing.T, scenario string, missing ...string) (library string, here bool) {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		return os.Getenv("ORRERY_NVML_LIBRARY"), true
	}
	dir := t.TempDir()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	path, err := scripted.Build(dir, missing...)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scenario"), []byte(scenario), 0o600))
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), child+"="+t.Name(), "ORRERY_NVML_LIBRARY="+path, scripted.Scenario+"="+filepath.Join(dir, "scenario"))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
	return "", false
}

// openInChild is inChild with the source of the library.
func openInChild(t *testing.T, scenario string, missing ...string) (s capture.Source, here bool) {
	t.Helper()
	library, here := inChild(t, scenario, missing...)
	if !here {
		return nil, false
	}
	s, err := nvml.Open(library)
	require.NoError(t, err)
	return s, true
}

const steady = `gpus 2
links 3
mig 1 2
set 1/2 mem_used const 0
set * util const 73
set * mem_util const 31
set * mem_used const 42949672960
set * power const 512345
set * energy rate 1000 500000
set * sm_clock const 1755
set * mem_clock const 2619
set * throttle const 4
set * temperature const 61
set * mem_temperature const 77
set * ecc_corrected const 5
set * ecc_uncorrected const 0
set * retired const 2
set * sm_active const 48.5
set * nvlink_rx const 1000
set * nvlink_tx const 2000
set * pcie_rx const 3000
set * pcie_tx const 4000
set * tensor_active const 37.5
set * dram_active const 12.5
set * power_violation const 1234567890
set * thermal_violation const 5000999
set * link_errors const 3
process 0 4242 1048576
process 0 4243 2097152
process 1 4244 1048576 3
fault 1 xid 0 79
`

func TestSample(t *testing.T) {
	s, here := openInChild(t, steady+"fault 1 unsupported tensor_active\nfault 1 failing link_errors\n")
	if !here {
		return
	}
	require.Equal(t, [][]int32{{0}, {1}}, s.Units())
	first, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.False(t, first[0].SMActive.OK, "activity is measured between two samples")
	time.Sleep(2 * time.Millisecond)
	soon, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.Equal(t, first[0].Energy, soon[0].Energy, "the driver renews it each 100 ms")
	require.False(t, soon[0].SMActive.OK)
	time.Sleep(100 * time.Millisecond)
	got, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.Len(t, got, 1)
	r := got[0]
	require.Empty(t, r.Failed)
	require.Equal(t, 0.73, r.SMUtil.V)
	require.Equal(t, 0.485, r.SMActive.V)
	require.Equal(t, []float64{0.375, 0.125}, []float64{r.TensorActive.V, r.DRAMActive.V})
	require.Equal(t, []int64{1234567, 5000, 15}, []int64{r.PowerViolation.V, r.ThermalViolation.V, r.NVLinkErrors.V}, "µs of ns, and four counters, the last twice the others")
	require.Equal(t, 0.31, r.MemUtil.V)
	require.Equal(t, int64(40<<30), r.MemUsed.V)
	require.Equal(t, 512.345, r.Power.V)
	require.Greater(t, r.Energy.V, first[0].Energy.V)
	require.Equal(t, []int32{1755, 2619}, []int32{r.SMClock.V, r.MemClock.V})
	require.Equal(t, int64(4), r.Throttle.V)
	require.Equal(t, []float64{61, 77}, []float64{r.Temperature.V, r.MemTemperature.V})
	require.Equal(t, []int64{5, 0, 2}, []int64{r.ECCCorrected.V, r.ECCUncorrected.V, r.RetiredPages.V})
	require.Equal(t, []int64{1000 << 10, 2000 << 10, 3000, 4000}, []int64{r.NVLinkRx.V, r.NVLinkTx.V, r.PCIeRx.V, r.PCIeTx.V})
	require.Equal(t, []capture.Process{{PID: 4242, Memory: 1 << 20}, {PID: 4243, Memory: 2 << 20}}, r.Procs)
	other, err := s.Sample(1, nil)
	require.NoError(t, err)
	require.Equal(t, []uint64{79}, other[0].XIDs)
	require.Equal(t, []bool{true, false, true}, []bool{other[0].SMActive.OK, other[0].TensorActive.OK, other[0].DRAMActive.OK}, "one metric that the GPU does not have")
	require.False(t, other[0].NVLinkErrors.OK)
	require.Contains(t, other[0].Failed, "field values, nvlink_errors: result 999")
	require.Equal(t, []capture.Process{{PID: 4244, Memory: 1 << 20, Instance: "3/0"}}, other[0].Procs)
	require.NoError(t, s.Close())
}

// without are the columns of a GPU that its inventory names as missing, with why.
func without(v *capture.Inventory, gpu int) map[string]string {
	out := map[string]string{}
	for _, m := range v.Missing {
		if name, found := strings.CutPrefix(m.Name, fmt.Sprintf("gpu.%d.telemetry", gpu)); found {
			out[name] = m.Why
		}
	}
	return out
}

func TestInventory(t *testing.T) {
	s, here := openInChild(t, steady)
	if !here {
		return
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	for name, want := range map[string]string{
		capture.FactDriver: "550.54.15", "gpu.0.name": "NVIDIA Scripted 80GB", "gpu.0.memory_bytes": "85899345920", "gpu.1.pci": "0000:11:00.0", "gpu.0.vbios": "96.00.61.00.01",
		"gpu.0.clock.sm_max_mhz": "1980", "gpu.0.clock.sm_target_mhz": "1755",
		"gpu.0.power.limit_w": "650", "gpu.0.power.min_w": "200", "gpu.0.pcie.width": "16", "gpu.0.nvlink.0.peer": "0000:11:00.0", "gpu.0.nvlink.0.peer_kind": "GPU",
		"gpu.0.nvlink.2.peer_kind": "switch", "gpu.0.nvlink.2.version": "4", "gpu.0.fabric.state": "completed", "gpu.0.mig": "off", "gpu.1.mig": "on",
		"gpu.1.mig.1.uuid": "MIG-00000000-0000-4000-8000-000000000201", "gpu.1.mig.1.name": "NVIDIA Scripted 80GB MIG 1g.10gb", "gpu.1.mig.1.gpu_instance": "2",
		"gpu.1.mig.1.compute_instance": "0", "gpu.1.mig.1.memory_bytes": "10334765056", "gpu.0.temperature.slowdown": "87", "gpu.0.ecc": "on",
	} {
		require.Equal(t, want, v.Value(name), name)
	}
	require.Empty(t, v.Value("gpu.0.nvlink.3.state"))
	require.Empty(t, without(v, 0), "all columns have values")
	require.Equal(t, capture.GPU{Index: 1, Name: "NVIDIA Scripted 80GB", UUID: "GPU-00000000-0000-4000-8000-000000000001", Memory: 85899345920, Slowdown: 87}, v.GPUs[1])
}

// Of half a library, what is there is recorded, and the rest is named.
func TestMissingSymbols(t *testing.T) {
	s, here := openInChild(t, steady, "nvmlDeviceGetPowerUsage", "nvmlDeviceGetFieldValues", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlGpmSampleAlloc", "nvmlEventSetWait_v2", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetVbiosVersion", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMigMode",
		"nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetUUID", "nvmlSystemGetNVMLVersion", "nvmlDeviceGetEnforcedPowerLimit",
		"nvmlInit_v2", "nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetViolationStatus", "nvmlDeviceGetGspFirmwareVersion", "nvmlDeviceGetSerial", "nvmlDeviceGetMemoryInfo_v2")
	if !here {
		return
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	require.Equal(t, "550.54.15", v.Value(capture.FactDriver))
	require.Contains(t, v.Missing, capture.Missing{Name: "gpu.0.vbios", Why: "the library has no nvmlDeviceGetVbiosVersion"})
	require.Contains(t, v.Missing, capture.Missing{Name: "nvml.nvmlDeviceGetPowerUsage", Why: "the library has no such call"})
	none := "the library has no such call"
	require.Equal(t, map[string]string{".power": none, ".sm_active": none, ".mem_temperature": none, ".ecc_corrected": none, ".ecc_uncorrected": none, ".retired_pages": none,
		".tensor_active": none, ".dram_active": none, ".nvlink_errors": none, ".power_violation": none, ".thermal_violation": none, ".nvlink_rx": none, ".nvlink_tx": none, ".pcie_rx": none, ".pcie_tx": none, ".processes": none}, without(v, 0))
	require.Contains(t, v.Missing, capture.Missing{Name: "gpu.0.xid", Why: none})
	got, err := s.Sample(0, nil)
	require.NoError(t, err)
	r := got[0]
	require.False(t, r.Power.OK)
	require.False(t, r.PCIeRx.OK)
	require.False(t, r.RetiredPages.OK)
	require.Equal(t, 0.73, r.SMUtil.V)
	require.Equal(t, int64(4), r.Throttle.V, "by the call of older drivers")
	require.Equal(t, int64(40<<30+480<<20), r.MemUsed.V, "likewise, with what the driver reserves")
	require.Empty(t, r.Procs)
	require.NoError(t, s.Close())
}

// A GPU that is lost says why.
func TestLostWithXID(t *testing.T) {
	s, here := openInChild(t, "gpus 1\nset * power const 100000\nfault 0 lost 0.2\nfault 0 xid 0.2 79\n")
	if !here {
		return
	}
	_, err := s.Sample(0, nil)
	require.NoError(t, err)
	time.Sleep(250 * time.Millisecond)
	got, err := s.Sample(0, nil)
	require.ErrorIs(t, err, capture.ErrLost)
	require.Len(t, got, 1)
	require.Equal(t, []uint64{79}, got[0].XIDs)
}

// XIDs that came after the last sample can be asked for, once.
func TestLastErrors(t *testing.T) {
	s, here := openInChild(t, steady+"fault 1 xid 0.2 63\n")
	if !here {
		return
	}
	_, err := s.Sample(1, nil)
	require.NoError(t, err)
	time.Sleep(250 * time.Millisecond)
	require.Empty(t, s.(capture.Teller).Errors(0))
	got := s.(capture.Teller).Errors(1)
	require.Len(t, got, 1)
	require.Equal(t, []uint64{63}, got[0].XIDs)
	require.EqualValues(t, 1, got[0].GPU.V)
	require.Empty(t, s.(capture.Teller).Errors(1))
}

// What a GPU has no value for is named in the inventory, also before the first sample.
func TestWithoutValues(t *testing.T) {
	s, here := openInChild(t, steady+"fault 0 unsupported util\nfault 0 unsupported sm_active\nfault 0 unsupported nvlink_rx\nfault 0 unsupported retired\nfault 1 hang 0 5\n")
	if !here {
		return
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	none := "not supported"
	require.Equal(t, map[string]string{".sm_util": none, ".mem_util": none, ".sm_active": none, ".tensor_active": none, ".dram_active": none, ".nvlink_rx": none, ".retired_pages": none}, without(v, 0))
	require.Equal(t, map[string]string{"": "no answer within 1s"}, without(v, 1), "one that hangs holds the inventory up no longer")
	got, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false, true}, []bool{got[0].SMUtil.OK, got[0].SMActive.OK, got[0].NVLinkRx.OK, got[0].NVLinkTx.OK})
	require.NoError(t, s.Close())
}

// A field that fails is told as a call that fails is, and when all do, the call has failed.
func TestFailingFields(t *testing.T) {
	s, here := openInChild(t, "gpus 2\nset * mem_temperature const 70\nset * pcie_rx const 1\nset * pcie_tx const 2\nfault * failing pcie_rx\nfault 0 failing pcie_tx\nfault 0 failing mem_temperature\n",
		"nvmlDeviceGetComputeRunningProcesses_v3") // which would answer
	if !here {
		return
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	require.Equal(t, "result 999", without(v, 1)[".pcie_rx"])
	for range 2 {
		got, err := s.Sample(0, nil)
		require.EqualError(t, err, "field values: result 999")
		require.Empty(t, got)
		got, err = s.Sample(1, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"field values, pcie_rx: result 999"}, got[0].Failed)
		require.False(t, got[0].PCIeRx.OK)
		require.Equal(t, []int64{70, 2}, []int64{int64(got[0].MemTemperature.V), got[0].PCIeTx.V})
	}
}

func TestFaults(t *testing.T) {
	s, here := openInChild(t, "gpus 3\nset * power const 100000\nset * util const 1\nset * mem_util const 1\nset * energy rate 900 1000 1000\nfault 0 unsupported util\nfault 1 lost 0\nset 2 temperature const 50\n")
	if !here {
		return
	}
	got, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.False(t, got[0].SMUtil.OK)
	require.Equal(t, 100.0, got[0].Power.V)
	require.False(t, got[0].Temperature.OK)
	for range 2 {
		got, err = s.Sample(1, nil)
		require.ErrorIs(t, err, capture.ErrLost)
		require.Empty(t, got)
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	require.Len(t, v.GPUs, 3)
	require.Contains(t, v.Missing, capture.Missing{Name: "gpu.1.name", Why: "the GPU is lost"})
	_, err = s.Sample(1, nil)
	require.ErrorIs(t, err, capture.ErrLost, "also after it was looked for again")
	got, err = s.Sample(2, nil)
	require.NoError(t, err)
	require.Equal(t, 50.0, got[0].Temperature.V)
	before := got[0].Energy.V
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), 5*time.Second, "the counter wraps within a second")
		if got, _ = s.Sample(2, nil); got[0].Energy.V < before {
			break
		}
		before = got[0].Energy.V
	}
}

// The counters of PCIe have 32 bits in the driver, and go on here. A counter that is larger than that is left as it is.
func TestPCIeCountersGoOn(t *testing.T) {
	s, here := openInChild(t, "gpus 1\nset * pcie_rx rate 3000000000 3000000000 4294967296\nset * pcie_tx rate 9000000000 1000\n")
	if !here {
		return
	}
	began := time.Now()
	first, err := s.Sample(0, nil)
	require.NoError(t, err)
	got := first
	for last := first; got[0].PCIeRx.V < 2<<32; last = got { // the driver's begins anew each 1.4 s
		require.Less(t, time.Since(began), 30*time.Second)
		time.Sleep(20 * time.Millisecond)
		got, err = s.Sample(0, nil)
		require.NoError(t, err)
		require.Greater(t, got[0].PCIeRx.V, last[0].PCIeRx.V)
	}
	require.InEpsilon(t, 3e9*time.Since(began).Seconds(), got[0].PCIeRx.V-first[0].PCIeRx.V, 0.2)
	require.InDelta(t, 9e9, got[0].PCIeTx.V, 1e5)
}

// A GPU whose XIDs are not told is named in the inventory. Asking for them again and again leaves nothing behind.
func TestWithoutXIDs(t *testing.T) {
	s, here := openInChild(t, steady+"fault 1 unsupported xid\n")
	if !here {
		return
	}
	for range 20 {
		v, err := s.Inventory()
		require.NoError(t, err)
		require.Contains(t, v.Missing, capture.Missing{Name: "gpu.1.xid", Why: "not supported"})
		require.NotContains(t, fmt.Sprint(v.Missing), "gpu.0.xid")
		_, err = s.Sample(1, nil) // tries once more
		require.NoError(t, err)
	}
}

// A driver that answers every call with an error gives no row of nulls.
func TestDead(t *testing.T) {
	s, here := openInChild(t, steady+"dead 0\n")
	if !here {
		return
	}
	got, err := s.Sample(0, nil)
	require.ErrorContains(t, err, "power: result 999")
	require.NotErrorIs(t, err, capture.ErrLost)
	require.Empty(t, got)
}

// One that dies while it is asked gives none either: values that are kept for 100 ms are no answer.
func TestDies(t *testing.T) {
	s, here := openInChild(t, steady+"dead 0.5\n")
	if !here {
		return
	}
	rows, failed := 0, 0
	for began := time.Now(); failed < 10; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(began), 10*time.Second)
		got, err := s.Sample(0, nil)
		if err != nil {
			failed++
			continue
		}
		require.Zero(t, failed, "not after the first that failed")
		rows++
		require.True(t, got[0].SMUtil.OK, "the first call of all: %+v", got[0])
	}
	require.Positive(t, rows)
}

// XIDs come also with an answer in which every call failed.
func TestDeadWithXID(t *testing.T) {
	s, here := openInChild(t, steady+"dead 0.2\nfault 0 xid 0.2 119\n")
	if !here {
		return
	}
	time.Sleep(250 * time.Millisecond)
	got, err := s.Sample(0, nil)
	require.ErrorContains(t, err, "power: result 999")
	require.Len(t, got, 1)
	require.Equal(t, []uint64{119}, got[0].XIDs)
}

func TestNoDriver(t *testing.T) {
	_, err := nvml.Open(filepath.Join(t.TempDir(), "libnvidia-ml.so.1"))
	var none *nvml.NoDriverError
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, "no NVIDIA driver on this node")
}

func TestAllLost(t *testing.T) {
	library, here := inChild(t, "gpus 2\nfault * lost 0\n")
	if !here {
		return
	}
	_, err := nvml.Open(library)
	require.ErrorContains(t, err, "GPU 0: the GPU is lost")
}

// The library is there and the kernel module is not.
func TestDriverNotLoaded(t *testing.T) {
	library, here := inChild(t, "")
	if !here {
		return
	}
	t.Setenv(scripted.Scenario, "") // the library asks for it when it starts
	require.NoError(t, os.Unsetenv(scripted.Scenario))
	_, err := nvml.Open(library)
	require.ErrorContains(t, err, "the kernel module of the driver is not loaded")
}

// All bits set is what the library has for a value that it does not: no measurement, in any column.
func TestAllBitsSet(t *testing.T) {
	s, here := openInChild(t, "gpus 1\nset * util const 4294967295\nset * mem_util const 4294967295\nset * power const 4294967295\nset * sm_clock const 4294967295\nset * mem_clock const 4294967295\nset * temperature const 4294967295\nset * mem_used const 1\n")
	if !here {
		return
	}
	out, err := s.Sample(0, nil)
	require.NoError(t, err)
	columns := map[string]bool{}
	out[0].LeaveOut(func(column, _ string, _ float64) { columns[column] = true })
	for _, name := range []string{"sm_util", "mem_util", "power", "sm_clock", "mem_clock", "temperature"} {
		require.True(t, columns[name], name)
	}
	r := &out[0]
	require.False(t, r.SMUtil.OK || r.MemUtil.OK || r.Power.OK || r.SMClock.OK || r.MemClock.OK || r.Temperature.OK)
	require.True(t, r.MemUsed.OK)
}
