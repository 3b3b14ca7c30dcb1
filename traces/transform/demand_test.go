package transform

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// serving is a log of weeks in which user u submits a service in each, which is to have
// nodes a minute later.
func serving(t *testing.T, weeks int64) *Set {
	tables := traces.Tables{}
	for w := range weeks {
		j := line{w + 1, w * 7 * 86400, w * 7 * 86400, 100_000 + w, "u", 1}.job()
		j.Kind = "reactive"
		tables.Jobs = append(tables.Jobs, j)
		tables.Events = append(tables.Events, traces.Event{Time: j.Submit.Add(model.Minute), Kind: "demand", Subject: strconv.FormatInt(j.ID, 10), Value: strconv.FormatInt(w+2, 10)})
	}
	return setOf(t, traces.Meta{MaxProcs: 10}, tables)
}

// requireDemands checks that each service is to have, a minute after it was submitted,
// one node more than its week of the serving log, which its run time tells.
func requireDemands(t *testing.T, out *Set, jobs []traces.Job) {
	t.Helper()
	told := map[string]traces.Event{}
	last := model.AbsentTime
	for _, e := range out.Events {
		require.GreaterOrEqual(t, e.Time, last)
		last = e.Time
		require.NotContains(t, told, e.Subject)
		told[e.Subject] = e
	}
	require.Len(t, told, len(jobs))
	for _, j := range jobs {
		e := told[strconv.FormatInt(j.ID, 10)]
		require.Equal(t, j.Submit.Add(model.Minute), e.Time)
		require.Equal(t, strconv.FormatInt(int64(j.Runtime.V/model.Second)-100_000+2, 10), e.Value)
	}
}

// TestDemandsFollowTheirServices: into other numbers, other weeks and copies.
func TestDemandsFollowTheirServices(t *testing.T) {
	s := serving(t, 6)
	out, jobs, _ := done(t, s, "resample weeks=30 seed=3")
	require.Greater(t, len(jobs), 15)
	requireDemands(t, out, jobs)

	load, err := s.Load("", 0)
	require.NoError(t, err)
	v, _ := load.Value().Float64()
	out, jobs, _ = done(t, s, "load by=users to="+strconv.FormatFloat(3*v, 'g', -1, 64))
	require.Len(t, jobs, 18)
	requireDemands(t, out, jobs)

	m, err := mergeOpen(s, serving(t, 2))
	require.NoError(t, err)
	requireDemands(t, m, rowsIn(t, m))
}

// TestTheLastDemandStands at the beginning of a window.
func TestTheLastDemandStands(t *testing.T) {
	s := serving(t, 2)
	more := s.Events[0]
	more.Time, more.Value = model.Time(100*model.Second), "9"
	s.Events = append(s.Events[:1:1], more, s.Events[1])
	out, _, _ := done(t, s, "window begin=200s end=300s warm=true")
	require.Equal(t, []traces.Event{{Time: model.Time(200 * model.Second), Kind: "demand", Subject: "1", Value: "9"}}, out.Events)
}

// Demands of unknown jobs are left out of the trace that is made, and counted.
func TestDemandsOfUnknownJobsAreLeftOut(t *testing.T) {
	s, _, _ := done(t, serving(t, 3), "window begin=1000000s end=9000000s")
	m, err := s.Collect()
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	require.Len(t, src.Events(), 1)
	res, err := s.Write(filepath.Join(t.TempDir(), "cut.trace"), nil)
	require.NoError(t, err)
	require.Equal(t, "demand of a service that is not there: 2", said(res.Accounts[len(res.Accounts)-1].Dropped))
	require.Equal(t, m.Info().Hash, res.Hash)
}
