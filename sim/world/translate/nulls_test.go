package translate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestNullZeroValue: of each number that a row may leave out, what nothing, 0 and 7 mean. Where 0 is
// as nothing, the quantity cannot be 0, or 0 asks for nothing.
func TestNullZeroValue(t *testing.T) {
	rows := Rows{Shared: true, CPUs: 3, Memory: 11}
	for _, c := range []struct {
		column            string
		of                func(a *model.Allocation) int64
		null, zero, seven int64
	}{
		{"class", func(a *model.Allocation) int64 { return int64(a.Class) }, 5, 0, 7},
		{"requeue_max", func(a *model.Allocation) int64 { return int64(a.MaxRequeue) }, 3, 0, 7},
		{"nice", func(a *model.Allocation) int64 { return a.Nice }, 0, 0, 7},
		{"site_factor", func(a *model.Allocation) int64 { return a.Priority }, 0, 0, 7},
		{"ckpt_bytes", func(a *model.Allocation) int64 { return a.CkptBytes }, 0, 0, 7},
		{"io_demand", func(a *model.Allocation) int64 { return a.IODemand }, 0, 0, 7},        // null is told as unstated-io_demand
		{"power", func(a *model.Allocation) int64 { return a.Power }, 0, 0, 7},               // 0 is that of its nodes
		{"cpus_per_node", func(a *model.Allocation) int64 { return int64(a.CPUs) }, 3, 3, 7}, // job_cpus, told as unstated-cpus_per_node
		{"mem_per_node", func(a *model.Allocation) int64 { return a.Memory }, 11, 11, 7},     // job_memory, told as unstated-mem_per_node
		{"gpus_per_node", func(a *model.Allocation) int64 { return int64(a.GPUs) }, 0, 0, 7}, // asks for none
		{"nodes_max", func(a *model.Allocation) int64 { return int64(a.NodesMax) }, 1, 1, 7}, // at least nodes_min
		{"index", func(a *model.Allocation) int64 { return int64(a.Index) }, 0, 0, 7},        // of no group
		{"max_concurrent", func(a *model.Allocation) int64 { return int64(a.MaxConcurrent) }, 0, 0, 7},
		{"walltime", func(a *model.Allocation) int64 { return int64(a.Walltime) }, int64(model.Forever), 0, 7},
	} {
		f, ok := traces.JobFieldOf(c.column)
		require.True(t, ok, c.column)
		said := func(change func(*traces.Job)) int64 {
			site := smallSite(1)
			site.Amounts = true
			b := batchOf(row(1, 0, change))
			tr := NewSite(site, &rows)
			var a model.Allocation
			_, ok, err := tr.Allocation(b, 0, &a)
			require.NoError(t, err)
			require.True(t, ok)
			return c.of(&a)
		}
		null := said(func(j *traces.Job) {
			if c.column == "walltime" {
				j.Walltime = traces.Opt[model.Duration]{}
			}
		})
		require.Equal(t, []int64{c.null, c.zero, c.seven}, []int64{null, said(func(j *traces.Job) { f.SetNumber(j, 0) }), said(func(j *traces.Job) { f.SetNumber(j, 7) })}, c.column)
	}
}
