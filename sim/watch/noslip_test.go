package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// A machine of four units. Job 0 has all of them until 10 s, job 1 has been given them from 10 s on,
// and job 2 one of them from 20 s on.
func TestReservationsDoNotSlip(t *testing.T) {
	const never = model.Never
	for _, c := range []struct {
		name   string
		later  [2]model.Time // the reservations of jobs 1 and 2 in the second pass, at 5 s
		starts bool          // job 2 does, in the second pass
		broken string
	}{
		{"they stay", [2]model.Time{10, 20}, false, ""},
		{"the last moves to an earlier instant, with room", [2]model.Time{10, 14}, false, ""},
		{"the first moves to a later one", [2]model.Time{11, 21}, false, "its reservation moves to"},
		{"the last moves behind nothing", [2]model.Time{10, 21}, false, "its reservation moves to"},
		{"the last has none", [2]model.Time{10, never}, false, "its reservation moves to"},
		{"there is no room for both", [2]model.Time{10, 13}, false, "5 units reserved at 00:00:13"},
		{"nor beside what runs", [2]model.Time{9, 20}, false, "8 units reserved at 00:00:09"},
		{"nor for a start", [2]model.Time{10, 20}, true, "5 units reserved at 00:00:05"},
	} {
		t.Run(c.name, func(t *testing.T) {
			slots := []model.Time{never, 10, 20}
			w := NewPlain(PlainConfig{Units: []int32{1, 1, 1, 1}, Backfill: "conservative", Reserved: func(ref model.Ref) model.Time {
				if slots[ref] == never {
					return never
				}
				return slots[ref] * sec
			}})
			for i, j := range []struct {
				units int32
				wall  model.Duration
			}{{4, 10}, {4, 4}, {1, 5}} {
				w.Fact(0, &model.Fact{Kind: model.FactSubmitted, Job: model.JobID(i), Ref: model.Ref(i), Walltime: j.wall * model.Second, Request: model.Request{Units: j.units}})
			}
			p := model.Proposal{Request: model.Request{Units: 4}, Placement: model.Placement{Words: []model.NodeWord{{Mask: 15}}}}
			w.Passed(0, &scheduler.Plan{Proposals: []model.Proposal{p}})
			w.Proposed(0, &p)
			w.Fact(0, &model.Fact{Kind: model.FactAssigned})
			require.Empty(t, w.Breaches)
			slots = []model.Time{never, c.later[0], c.later[1]}
			plan := &scheduler.Plan{}
			if c.starts {
				plan.Proposals = []model.Proposal{{Job: 2, Ref: 2}}
			}
			w.Passed(5*sec, plan)
			if c.broken == "" {
				require.Empty(t, w.Breaches)
				return
			}
			require.NotEmpty(t, w.Breaches)
			for _, b := range w.Breaches {
				require.Equal(t, 11, b.Invariant)
			}
			require.Contains(t, w.Breaches[0].Found, c.broken)
		})
	}
}
