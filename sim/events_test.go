package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// What the events table of a trace says happens to the site: a node that goes
// down takes its job along, which starts anew elsewhere.
func TestEventsOfTheTraceHappen(t *testing.T) {
	m := &memory{size: 10, info: traces.Info{Name: "log", Hash: "log"}}
	m.add(row{submit: 0, runtime: 100, walltime: 200, procs: 1, cancel: -1})
	spec := siteOf(t, "agents: {kill_grace: 0s}\ngroups: [{name: a, nodes: 2, fingerprint: x}]\nvclusters: [{name: all, home: all, profile: {order: fcfs}}]\n")
	end := func() model.Time {
		res, err := Run(context.Background(), spec, m.open, Options{})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.State.Left)
		return res.Last
	}
	require.Equal(t, model.Time(100*model.Second), end())
	m.events = []traces.Event{{Time: model.Time(50 * model.Second), Kind: "down", Subject: "a-1"}}
	require.Equal(t, model.Time(150*model.Second), end())
}

// startsAmid replays jobs on two nodes while what the events say happens, and
// returns the second at which each started.
func startsAmid(t *testing.T, events []traces.Event, jobs ...submittedJob) []int64 {
	t.Helper()
	out, _ := replayJobs(t, "groups: [{name: a, nodes: 2, fingerprint: x}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n", events, jobs)
	return out
}

// Nodes that the trace reserves are kept from jobs that would run into it and do
// not name it; maintenance keeps them from all. Both are known from the begin on.
func TestReservationsOfTheTrace(t *testing.T) {
	reserve := func(value string) []traces.Event {
		return []traces.Event{{Time: model.Time(10 * model.Second), Kind: "reservation", Subject: "exam", Value: value}}
	}
	names := traces.Job{Reservation: "exam"}
	both := `{"nodes":["a-1","a-2"],"start":50000000,"end":80000000`
	require.Equal(t, []int64{80, 5, 50}, startsAmid(t, reserve(both+"}"), submittedJob{0, 60, 1, 1, 0, traces.Job{}}, submittedJob{5, 20, 1, 2, 0, traces.Job{}}, submittedJob{30, 30, 1, 3, 0, traces.Job{Reservation: "exam", Eligible: traces.Some(model.Time(50 * model.Second))}}))
	require.Equal(t, []int64{50}, startsAmid(t, reserve(both+"}"), submittedJob{0, 30, 1, 1, 0, names}))
	require.Equal(t, []int64{-1}, startsAmid(t, reserve(both+"}"), submittedJob{0, 60, 1, 1, 0, names}), "longer than it")
	require.Equal(t, []int64{80}, startsAmid(t, reserve(both+`,"maintenance":true}`), submittedJob{0, 60, 1, 1, 0, names}))
	require.Equal(t, []int64{0, 80}, startsAmid(t, reserve(`{"nodes":["a-1"],"start":50000000,"end":80000000}`), submittedJob{0, 60, 1, 1, 0, traces.Job{}}, submittedJob{1, 100, 2, 1, 0, traces.Job{}}))
}

// The bound on nodes of sensitive work is lowered and lifted as the trace says; a
// job above it waits and is not refused.
func TestPoolOfTheTrace(t *testing.T) {
	pool := func(s int64, n string) traces.Event {
		return traces.Event{Time: model.Time(s) * model.Time(model.Second), Kind: "sensitive_pool", Value: n}
	}
	secret := traces.Job{Sensitive: traces.Some(true)}
	jobs := []submittedJob{{0, 100, 1, 1, 0, secret}, {10, 100, 1, 2, 0, secret}}
	require.Equal(t, []int64{0, 10}, startsAmid(t, nil, jobs...))
	require.Equal(t, []int64{0, 100}, startsAmid(t, []traces.Event{pool(5, "1")}, jobs...))
	require.Equal(t, []int64{0, 40}, startsAmid(t, []traces.Event{pool(5, "1"), pool(40, "0")}, jobs...))
	require.Equal(t, []int64{50}, startsAmid(t, []traces.Event{pool(0, "1"), pool(50, "2")}, submittedJob{1, 100, 2, 1, 0, secret}))
}

// While the quorum is out no job starts.
func TestOutagesOfTheTrace(t *testing.T) {
	out := []traces.Event{{Time: model.Time(10 * model.Second), Kind: "quorum_outage", Value: "20000000"}}
	require.Equal(t, []int64{0, 30}, startsAmid(t, out, submittedJob{0, 60, 1, 1, 0, traces.Job{}}, submittedJob{12, 60, 1, 1, 0, traces.Job{}}))
}
