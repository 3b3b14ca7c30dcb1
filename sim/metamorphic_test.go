package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order/ordertest"
	"orrery/sim/plan"
	"orrery/traces"
)

// times is where a replay put its jobs: start, end and state by row.
type times []struct {
	start, end model.Time
	state      string
}

func timesOf(t *testing.T, m *memory, spec plan.Spec) times {
	got, _, err := runCore(m, spec, Options{})
	require.NoError(t, err)
	out := make(times, m.all.Len())
	for _, line := range got.jobs {
		var id int
		var state string
		var start, end model.Time
		_, err := fmt.Sscanf(strings.SplitN(line, " on", 2)[0], "job %d %s start %d end %d", &id, &state, &start, &end)
		require.NoError(t, err)
		out[id].start, out[id].end, out[id].state = start, end, state
	}
	return out
}

func (a times) mapped(f func(model.Time) model.Time) times {
	out := make(times, len(a))
	for i, j := range a {
		out[i] = j
		if j.start != model.AbsentTime {
			out[i].start = f(j.start)
		}
		out[i].end = f(j.end)
	}
	return out
}

// relation changes a world in a way that has a known effect on its schedule.
type relation struct {
	name string
	// holds says whether the relation applies to a policy.
	holds  func(s *plan.Spec) bool
	change func(m *memory, s *plan.Spec)
	effect func(t model.Time) model.Time
}

const shift = 86_400 * model.Time(model.Second)

func relations() []relation {
	same := func(t model.Time) model.Time { return t }
	return []relation{
		{
			"a day later is a day later", func(s *plan.Spec) bool { return ordertest.Timeless(s.Order) },
			func(m *memory, _ *plan.Spec) {
				for i := range m.all.Submit {
					m.all.Submit[i] += shift
					if m.all.CancelledAt[i] != model.AbsentTime {
						m.all.CancelledAt[i] += shift
					}
				}
			},
			func(t model.Time) model.Time { return t + shift },
		},
		{
			// The second that an overdue end is put off, and the one that a
			// request for no time counts as, do not scale.
			"three times slower takes three times as long",
			func(s *plan.Spec) bool {
				return ordertest.Timeless(s.Order) && s.Overrun != "extend" && s.QuorumLatency == 0
			},
			func(m *memory, s *plan.Spec) {
				slower(m, 3)
				s.Cycle, s.Phase, s.DefaultRequest = 3*s.Cycle, 3*s.Phase, 3*s.DefaultRequest
			},
			func(t model.Time) model.Time { return 3 * t },
		},
		{
			"twice the processors for jobs twice as large changes nothing",
			func(s *plan.Spec) bool { return s.Cluster.Procs > 0 && ordertest.Sizeless(s.Order) },
			func(m *memory, s *plan.Spec) {
				s.Cluster.Procs *= 2
				for i := range m.all.ProcsRequested {
					m.all.ProcsRequested[i] *= 2
				}
			}, same,
		},
		{
			"nodes of two cores, handed out whole, are processors",
			func(s *plan.Spec) bool { return s.Cluster.Procs > 0 && ordertest.Sizeless(s.Order) },
			func(m *memory, s *plan.Spec) {
				s.Cluster = plan.ClusterSpec{Nodes: s.Cluster.Procs, CoresPerNode: 2, Exclusive: true}
				for i := range m.all.ProcsRequested {
					m.all.ProcsRequested[i] *= 2
				}
			}, same,
		},
		{
			"how cores are spread over shared nodes does not matter to those that want any",
			func(s *plan.Spec) bool { return s.Cluster.Procs > 0 },
			func(_ *memory, s *plan.Spec) {
				if s.Cluster.Procs%2 == 0 {
					s.Cluster = plan.ClusterSpec{Nodes: s.Cluster.Procs / 2, CoresPerNode: 2}
				}
			}, same,
		},
		{
			"a cycle of a microsecond is the event cycle, where nothing is waited for",
			func(s *plan.Spec) bool {
				return s.Cycle == 0 && s.Backfill == "none" && s.Order == "fcfs" && s.EventOrder == ""
			},
			func(_ *memory, s *plan.Spec) { s.Cycle = 1 }, nil,
		},
		{
			"conservative with a window that is never full needs no depth",
			func(s *plan.Spec) bool { return s.Backfill == "conservative" && s.Depth == 0 && s.EventOrder == "" },
			func(_ *memory, s *plan.Spec) { s.Depth = 1000 }, same,
		},
	}
}

// TestMetamorphic applies every relation to random worlds.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	worlds := 250
	if testing.Short() {
		worlds = 50
	}
	for _, r := range relations() {
		t.Run(r.name, func(t *testing.T) {
			tried := 0
			for i := uint64(0); tried < worlds; i++ {
				m, spec := decodeWorld(randomBytes(i))
				if spec.Cluster.Procs == 0 {
					spec.Cluster, m.nodes = plan.ClusterSpec{Procs: int32(1 + i%12)}, nil
				}
				if !r.holds(&spec) || zeroRequests(m) {
					continue
				}
				tried++
				before := timesOf(t, m, spec)
				changed := spec
				r.change(m, &changed)
				after := timesOf(t, m, changed)
				if r.effect == nil {
					requireSoon(t, before, after)
					continue
				}
				require.Equal(t, before.mapped(r.effect), after, "%s\n%s", changed.JSON(), m)
			}
		})
	}
}

// requireSoon allows a microsecond per start for jobs that end at once.
func requireSoon(t *testing.T, a, b times) {
	for i := range a {
		require.Equal(t, a[i].state, b[i].state)
		require.InDelta(t, float64(a[i].end), float64(b[i].end), 100)
	}
}

// zeroRequests says whether a job asks for no time: such are predicted to take
// a second, which is a constant of its own.
func zeroRequests(m *memory) bool {
	for i, w := range m.all.Walltime {
		if w == 0 || w == model.AbsentDuration && m.all.Runtime[i] == 0 {
			return true
		}
	}
	return false
}

// slower multiplies every instant and span of a trace.
func slower(m *memory, by int64) {
	a := &m.all
	for i := range a.Submit {
		a.Submit[i] *= model.Time(by)
		if a.CancelledAt[i] != model.AbsentTime {
			a.CancelledAt[i] *= model.Time(by)
		}
		if a.Runtime[i] != model.AbsentDuration {
			a.Runtime[i] *= model.Duration(by)
		}
		if a.Walltime[i] != model.AbsentDuration {
			a.Walltime[i] *= model.Duration(by)
		}
	}
}

// TestRoomForAllJobs: where all jobs fit at once, no job waits under any
// policy.
func TestRoomForAllJobs(t *testing.T) {
	for i := range uint64(300) {
		m, spec := decodeWorld(randomBytes(i))
		spec.Cluster, m.nodes, spec.Cycle, spec.Phase, spec.QuorumLatency = plan.ClusterSpec{Procs: 400}, []traces.Node(nil), 0, 0, 0
		for id, j := range timesOf(t, m, spec) {
			require.Equal(t, m.all.Submit[id], j.start, "%s", spec.JSON())
		}
	}
}
