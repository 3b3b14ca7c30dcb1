package world

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// classesOn makes a class of work of each, for the jobs that are named 0, 1 and so on.
func classesOn(cfg *SiteConfig, on ...hwmodel.Bytes) {
	m := cfg.Hardware.(*hwmodel.Model)
	first := m.Classes[0]
	m.Classes, cfg.Rows.Hardware.Rules = nil, nil
	for i, b := range on {
		class := first
		class.Bytes = b
		m.Classes = append(m.Classes, class)
		cfg.Rows.Hardware.Rules = append(cfg.Rows.Hardware.Rules, translate.ClassRule{
			Class: int32(i) + 1, Columns: []translate.ColumnPattern{{ByName: true, Match: regexp.MustCompile(fmt.Sprint("^", i, "$"))}},
		})
	}
}

// named says what rows of one node are named.
func named(rows []traces.Job, names []int) *traces.Batch {
	b := recordedOn(batchOf(rows...), slices.Repeat([]int32{1}, len(names))...)
	for i, n := range names {
		b.Past.Name[i] = fmt.Sprint(n)
	}
	return b
}

// TestFileSystems: transfers slow those of their own file system, and no others; which one it is
// says the class of the job, for its checkpoints and for its input.
//
//	   0         10        20
//	1  | scratch | works   |     | at 10 B/s, though 2 stages too
//	2  | home    | works   |     |
func TestFileSystems(t *testing.T) {
	build := func(systems []FileSystem, on ...hwmodel.Bytes) *story {
		cfg := modelled(2, func(c *SiteConfig) {
			grace(c)
			c.Storage = &StorageConfig{FileSystems: systems, Stage: 10}
		})
		classesOn(&cfg, on...)
		long := walltime(1000 * sec)
		return play(t, cfg, named([]traces.Job{row(1, 0, stages(hundred), long), row(2, 0, stages(hundred), long)}, []int{0, 1}))
	}
	two := []FileSystem{{Name: "scratch", Bandwidth: 10}, {Name: "home", Bandwidth: 10}}
	ends := func(p *story) (out []model.Time) {
		at := map[int64]model.Time{}
		for i := range p.sink.jobs {
			at[p.sink.jobs[i].ID] = p.sink.jobs[i].End
		}
		return append(out, at[1], at[2])
	}
	p := build(two, hwmodel.Bytes{}, hwmodel.Bytes{InputOn: 1})
	require.Equal(t, []model.Time{20 * at, 20 * at}, ends(p))
	s := int64(sec)
	for k, c := range p.world.Meter.Transfers {
		want := storage.Counts{Kind: storage.Kind(k%storage.Kinds + 1).String(), FileSystem: two[k/storage.Kinds].Name}
		if want.Kind == "stage" {
			want.Begun, want.Done, want.Asked, want.Moved, want.Time, want.Alone = 1, 1, 100, 100, 10*s, 10*s
		}
		require.Equal(t, want, c)
	}
	require.Len(t, p.world.Meter.Transfers, 2*storage.Kinds)
	require.Equal(t, []model.Time{30 * at, 30 * at}, ends(build(two, hwmodel.Bytes{}, hwmodel.Bytes{CheckpointOn: 1})), "both stage from the first")
	require.Equal(t, []model.Time{20 * at, 30 * at}, ends(build([]FileSystem{{Name: "scratch", Bandwidth: 0}, {Name: "home", Bandwidth: 5}}, hwmodel.Bytes{}, hwmodel.Bytes{InputOn: 1})), "home is half as fast as the job")
}

// TestFileSystemsApart: what jobs on one file system do is what they do on a site whose only storage
// it is, to the microsecond, whatever jobs on the other one do. One pool for both is the wrong model,
// and fails.
func TestFileSystemsApart(t *testing.T) {
	shared := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(rt, "jobs")
		systems := []FileSystem{{Name: "a", Bandwidth: rapid.Int64Range(1, 60).Draw(rt, "a")}, {Name: "b", Bandwidth: rapid.Int64Range(1, 60).Draw(rt, "b")}}
		var rows [3][]traces.Job // of both, and of each
		var names [3][]int
		now := model.Time(0)
		for i := range n {
			now += model.Time(rapid.Int64Range(0, int64(4*sec)).Draw(rt, "gap"))
			on := rapid.IntRange(0, 1).Draw(rt, "on")
			j := row(int64(i), now, manual, runs(model.Duration(rapid.Int64Range(20, 300).Draw(rt, "runs"))*sec), walltime(100_000*sec),
				stages(fmt.Sprintf(`{"cold":%d}`, rapid.Int64Range(0, 1000).Draw(rt, "bytes"))))
			for _, k := range []int{0, on + 1} {
				rows[k], names[k] = append(rows[k], j), append(names[k], on)
			}
		}
		of := func(k int, c StorageConfig) map[int64]model.JobRecord {
			out := map[int64]model.JobRecord{}
			if len(rows[k]) == 0 {
				return out
			}
			c.Stage = 10
			cfg := modelled(n, both(keeps(preempt.YoungInterval, 500*sec), func(s *SiteConfig) { s.Storage = &c }))
			first, second := hwmodel.Bytes{}, hwmodel.Bytes{}
			if len(c.FileSystems) > 0 {
				second = hwmodel.Bytes{CheckpointOn: 1, InputOn: 1}
			}
			classesOn(&cfg, first, second)
			p := play(rt, cfg, named(rows[k], names[k]))
			for _, r := range p.sink.jobs {
				r.Job, r.Energy = 0, model.Energy{}
				out[r.ID] = r
			}
			return out
		}
		whole := of(0, StorageConfig{FileSystems: systems})
		require.Len(rt, whole, n)
		one := of(0, StorageConfig{Bandwidth: systems[0].Bandwidth})
		differs := false
		for k := range systems {
			for id, alone := range of(k+1, StorageConfig{Bandwidth: systems[k].Bandwidth}) {
				require.Equal(rt, alone.Start, whole[id].Start)
				require.Equal(rt, alone.End, whole[id].End, "job %d", id)
				differs = differs || one[id].End != alone.End
			}
		}
		if differs {
			shared++
		}
	})
	require.Positive(t, shared)
}
