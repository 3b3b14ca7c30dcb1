//go:build linux && cgo && !nonvml

package nvml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
)

// split is a whole GPU, and one with three GPU instances: the second has two compute instances, the third is there for 0.4 s and another after it.
const split = `gpus 2
set * power const 400000
set * mem_used const 42949672960
set * sm_active const 40
set * tensor_active const 10
set * dram_active const 20
instance 1 1 3g.40gb 40192 60
instance 1 2 2g.20gb 19968 32 2
instance 1 5 1g.10gb 9856 16 1 0 0.4
instance 1 7 1g.10gb 9856 16 1 0.4 1000
set 1/1 mem_used const 21474836480
set 1/1 sm_active const 75
set 1/1 tensor_active const 50
set 1/1 dram_active const 25
set 1/2 mem_used const 1073741824
set 1/5 mem_used const 1048576
set 1/7 mem_used const 2097152
process 1 11 1000 1
process 1 12 2000 2
`

func TestInstances(t *testing.T) {
	s, here := openInChild(t, split)
	if !here {
		return
	}
	v, err := s.Inventory()
	require.NoError(t, err)
	why := map[string]string{}
	for _, m := range v.Missing {
		if name, found := strings.CutPrefix(m.Name, "gpu.1.gpu_instance."); found {
			why[name] = m.Why
		}
	}
	none := "not supported"
	require.Equal(t, none, why["2.telemetry.sm_active"], "an instance without activity is said to have none")
	require.NotContains(t, why, "1.telemetry.sm_active")
	require.NotContains(t, why, "2.telemetry.mem_used")
	whole, err := s.Sample(0, nil)
	require.NoError(t, err)
	require.Empty(t, whole[0].Parts)
	_, err = s.Sample(1, nil)
	require.NoError(t, err)
	time.Sleep(110 * time.Millisecond)
	got, err := s.Sample(1, nil)
	require.NoError(t, err)
	r := got[0]
	require.Equal(t, []float64{400, 0.4}, []float64{r.Power.V, r.SMActive.V}, "the GPU has its own")
	require.EqualValues(t, 40<<30, r.MemUsed.V)
	require.Len(t, r.Procs, 2)
	require.Len(t, r.Parts, 3)
	one, two, five := r.Parts[0], r.Parts[1], r.Parts[2]
	require.Equal(t, []int32{1, 1, 60}, []int32{one.GPU, one.GPUInstance, one.Multiprocessors.V})
	require.Equal(t, []string{"GPU-00000000-0000-4000-8000-000000000001", "MIG-00000000-0000-4000-8000-000000000200", "3g.40gb"}, []string{one.GPUUUID, one.UUID, one.Profile})
	require.Equal(t, []int64{20 << 30, 40192 << 20}, []int64{one.MemUsed.V, one.MemTotal.V}, "without what the driver reserves of the GPU")
	require.Equal(t, []float64{0.75, 0.5, 0.25}, []float64{one.SMActive.V, one.TensorActive.V, one.DRAMActive.V})
	require.Equal(t, []capture.Process{{PID: 11, Memory: 1000, Instance: "1/0"}}, one.Procs)
	require.Equal(t, "2g.20gb", two.Profile, "that of the GPU instance, not of its compute instances")
	require.Equal(t, "MIG-00000000-0000-4000-8000-000000000201,MIG-00000000-0000-4000-8000-000000000202", two.UUID)
	require.EqualValues(t, 32, two.Multiprocessors.V, "of both compute instances")
	require.EqualValues(t, 1<<30, two.MemUsed.V, "of both once")
	require.Equal(t, []bool{true, false, false}, []bool{two.MemUsed.OK, two.SMActive.OK, two.DRAMActive.OK}, "what it does not say is absent, and not 0")
	require.Equal(t, []capture.Process{{PID: 12, Memory: 2000, Instance: "2/0"}}, two.Procs)
	require.EqualValues(t, 5, five.GPUInstance)
	require.Empty(t, r.Left)

	time.Sleep(400 * time.Millisecond)
	got, err = s.Sample(1, nil)
	require.NoError(t, err, "the GPU answers whether or not a part of it does")
	require.Len(t, got[0].Parts, 2)
	require.Equal(t, "GPU 1, GPU instance 5: memory: result 2", got[0].Left[0].Rule, "one that went is told once")
	got, err = s.Sample(1, nil)
	require.NoError(t, err)
	require.Empty(t, got[0].Left)
	require.EqualValues(t, 7, got[0].Parts[2].GPUInstance, "and what is there now is looked for")
	require.NoError(t, s.Close())
}

// A library without the calls, as of an old driver, has no GPU instances.
func TestWithoutCallsOfMIG(t *testing.T) {
	s, here := openInChild(t, split, "nvmlDeviceGetGpuInstanceId")
	if !here {
		return
	}
	got, err := s.Sample(1, nil)
	require.NoError(t, err)
	require.Empty(t, got[0].Parts)
	require.Empty(t, got[0].Left)
}

// Without a name of the profile it is made of the slices and the memory; without GPM there is memory alone.
func TestInstancesOfHalfALibrary(t *testing.T) {
	s, here := openInChild(t, split, "nvmlDeviceGetName", "nvmlGpmMigSampleGet", "nvmlDeviceGetMemoryInfo_v2")
	if !here {
		return
	}
	time.Sleep(110 * time.Millisecond)
	got, err := s.Sample(1, nil)
	require.NoError(t, err)
	one := got[0].Parts[0]
	require.Equal(t, "3g.40gb", one.Profile)
	require.EqualValues(t, 20<<30, one.MemUsed.V)
	require.False(t, one.SMActive.OK)
	require.Empty(t, got[0].Left)
}
