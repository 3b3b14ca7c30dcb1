package agent_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/agent"
	"orrery/scheduler/model"
	"orrery/traces"
)

// splits gives each sample of a GPU two GPU instances.
func splits(r *capture.Reading, n int) {
	r.Power.V = float64(n)
	for id := range int32(2) {
		p := capture.Part{Instance: traces.Instance{GPU: r.GPU.V, GPUInstance: id + 1, UUID: []string{"MIG-a", "MIG-b"}[id], GPUUUID: "GPU-x", Profile: "3g.40gb",
			MemTotal: traces.Some[int64](40 << 30), MemUsed: traces.Some(int64(n))}}
		if id == 0 {
			p.SMActive = traces.Some(0.25)
			p.Procs = []capture.Process{{PID: 1, Instance: "1/0"}}
		}
		r.Parts = append(r.Parts, p)
	}
}

// GPU instances have rows of their own, samples and windows alike, and the rows of their GPU are what they are without them.
func TestRowsOfInstances(t *testing.T) {
	for _, mode := range []agent.Mode{agent.Debug, agent.Prod} {
		o := options(t)
		o.Mode = mode
		a := measure(t, &source{gpus: 1, driver: "1", mig: []int32{0}, change: splits}, o)
		set, sum := read(t, o.Out)
		require.Len(t, sum.Series, 1)
		if mode == agent.Debug {
			accounted(t, sum, 10*model.Millisecond)
		}
		type at struct {
			time model.Time
			stat string
		}
		gpu, parts := map[at]traces.Telemetry{}, map[at][]traces.Instance{}
		for r, err := range set.Telemetry() {
			require.NoError(t, err)
			gpu[at{r.Time, r.Stat}] = *r
		}
		for p, err := range set.Instances() {
			require.NoError(t, err)
			parts[at{p.Time, p.Stat}] = append(parts[at{p.Time, p.Stat}], *p)
		}
		require.NotEmpty(t, gpu)
		require.Len(t, parts, len(gpu), "wherever the GPU has a row")
		for when, list := range parts {
			require.Len(t, list, 2)
			one, two := list[0], list[1]
			require.Equal(t, []string{"n1", "MIG-a", "GPU-x", "3g.40gb"}, []string{one.Node, one.UUID, one.GPUUUID, one.Profile})
			require.Equal(t, gpu[when].Width, one.Width)
			require.Equal(t, traces.Some(0.25), one.SMActive)
			require.False(t, two.SMActive.OK, "absent is not 0")
			require.InDelta(t, gpu[when].Power.V, float64(one.MemUsed.V), 0.5, "the same samples")
			if when.stat == "" || when.stat == "mean" {
				require.JSONEq(t, `[{"pid":1,"instance":"1/0"}]`, one.Processes)
			}
			require.False(t, gpu[when].MemUsed.OK, "none of it is added to the GPU")
		}
		answer := httptest.NewRecorder()
		a.Metrics().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		text := answer.Body.String()
		require.Contains(t, text, `orrery_gpu_instance_sm_active_ratio{GPU_I_ID="1",GPU_I_PROFILE="3g.40gb",gpu="0",gpu_uuid="GPU-x",node="n1",uuid="MIG-a"} 0.25`)
		require.Contains(t, text, `orrery_gpu_instance_memory_total_bytes{GPU_I_ID="2",GPU_I_PROFILE="3g.40gb",gpu="0",gpu_uuid="GPU-x",node="n1",uuid="MIG-b"} 4.294967296e+10`)
		require.NotContains(t, text, `orrery_gpu_instance_sm_active_ratio{GPU_I_ID="2"`)
		require.NotContains(t, text, `orrery_gpu_memory_used_bytes`, "a sum over GPUs has no instance in it")
	}
}

// A value that cannot be is none of an instance, either, and counted.
func TestInstanceValuesThatCannotBe(t *testing.T) {
	o := options(t)
	measure(t, &source{gpus: 1, driver: "1", change: func(r *capture.Reading, n int) {
		splits(r, n)
		r.Parts[0].SMActive.V = 7
	}}, o)
	set, _ := read(t, o.Out)
	for p, err := range set.Instances() {
		require.NoError(t, err)
		require.False(t, p.SMActive.OK)
	}
	require.Equal(t, "GPU instance 1, sm_active: outside 0 to 1", records(t, set, capture.RecordLeftOut)[0].Reason)
}

// The program on a library with MIG: rows in both tables.
func TestInstancesOfTheProgram(t *testing.T) {
	out := t.TempDir()
	cmd, said := command(t, busy+"instance 3 1 3g.40gb 40192 60\ninstance 3 2 4g.40gb 40192 64\nset 3/1 mem_used const 1073741824\nset 3/1 sm_active const 50\nset 3/2 mem_used const 5\n", out, "--mode", "debug", "--interval", "50ms", "--for", "1s")
	require.NoError(t, cmd.Run(), said)
	require.Contains(t, said.String(), "MIG is on: power, clocks")
	set, _ := read(t, out)
	of := map[string]int{}
	var rows int
	for r, err := range set.Telemetry() {
		require.NoError(t, err)
		if r.GPU.OK && r.GPU.V == 3 {
			rows++
		}
	}
	for p, err := range set.Instances() {
		require.NoError(t, err)
		require.EqualValues(t, 3, p.GPU)
		of[p.Profile]++
		if p.SMActive.OK {
			require.Equal(t, []any{"3g.40gb", 0.5}, []any{p.Profile, p.SMActive.V})
		}
	}
	require.Positive(t, rows)
	require.Equal(t, map[string]int{"3g.40gb": rows, "4g.40gb": rows}, of)
}
