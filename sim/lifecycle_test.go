package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Under the policy error nothing is replayed when a job can never run.
func TestInfeasibleJobsRefuseTheRun(t *testing.T) {
	m := &memory{size: 2, info: traces.Info{Name: "log"}}
	m.add(row{submit: 1, runtime: 5, walltime: 5, procs: 2})
	m.add(row{submit: 2, runtime: 5, walltime: 5, procs: 9})
	s := plan.DefaultSpec()
	s.Cluster.Procs, s.Infeasible = 4, "error"
	_, err := Run(context.Background(), s, m.open, Options{})
	var infeasible *plan.UnheededError
	require.ErrorAs(t, err, &infeasible)
	require.EqualValues(t, 1, infeasible.Found[0].Jobs)
	require.Equal(t, []int64{2}, infeasible.Found[0].First)

	s.Infeasible = ""
	res, err := Run(context.Background(), s, m.open, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.State.Started)
	require.EqualValues(t, 2, res.State.Left)
}

// A trace that goes back in time is refused with the row.
func TestSubmissionsMustAscend(t *testing.T) {
	m := &memory{size: 2, info: traces.Info{Name: "log"}}
	m.add(row{submit: 5, runtime: 5, walltime: 5, procs: 2})
	m.add(row{submit: 4, runtime: 5, walltime: 5, procs: 2})
	s := plan.DefaultSpec()
	s.Cluster.Procs = 4
	_, err := Run(context.Background(), s, m.open, Options{})
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.EqualValues(t, 2, data.Row)
}

// A cancelled context ends a long run.
func TestRunIsCancelled(t *testing.T) {
	m := &memory{size: 4096, info: traces.Info{Name: "log"}}
	for i := range int64(2 * progressEvery) {
		m.add(row{submit: i, runtime: 1, walltime: 1, procs: 1})
	}
	s := plan.DefaultSpec()
	s.Cluster.Procs = 4
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := Run(ctx, s, m.open, Options{Progress: func(p Progress) {
		calls++
		require.Greater(t, p.Now, model.Time(0))
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, calls)
}

// impatient is a context that ends at its fourth look.
type impatient struct {
	context.Context
	looks int
}

func (c *impatient) Err() error {
	if c.looks++; c.looks > 3 {
		return context.DeadlineExceeded
	}
	return nil
}

// A bound on the time of a task holds of short replays too.
func TestShortRunIsCancelled(t *testing.T) {
	m := &memory{size: 4096, info: traces.Info{Name: "log"}}
	for i := range int64(200) {
		m.add(row{submit: i, runtime: 1, walltime: 1, procs: 1})
	}
	s := plan.DefaultSpec()
	s.Cluster.Procs = 4
	ctx := &impatient{Context: context.Background()}
	_, err := Run(ctx, s, m.open, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 4, ctx.looks)
}

// Jobs that can never end, for want of time itself, are not lost: they are
// recorded as unfinished, and every row is accounted for.
func TestUnfinishedJobsAreRecorded(t *testing.T) {
	m := &memory{size: 8, info: traces.Info{Name: "log"}}
	for i := range int64(4) {
		m.add(row{submit: i, runtime: 5, walltime: 5, procs: 1})
	}
	for i := range m.all.Runtime {
		m.all.Runtime[i], m.all.Walltime[i] = 1<<62, 1<<62
	}
	s := plan.DefaultSpec()
	s.Cluster.Procs = 1
	sink := record.NewMemory()
	res, err := Run(context.Background(), s, m.open, Options{Sink: sink})
	require.NoError(t, err)
	require.EqualValues(t, 4, sink.Jobs.Len())
	require.EqualValues(t, 3, res.Unfinished, "the second would end after the end of time")
	states := map[model.JobState]int{}
	for i, state := range sink.Jobs.State {
		states[model.JobState(state)]++
		require.Equal(t, model.JobState(state).Terminal(), model.Reason(sink.Jobs.Reason[i]) != model.ReasonEndOfRun)
	}
	require.Equal(t, map[model.JobState]int{model.Completed: 1, model.Running: 1, model.Pending: 2}, states)
	table, err := metric.Compute(sink, res.Series)
	require.NoError(t, err)
	unfinished, _ := table.Get("jobs_unfinished", metric.All)
	require.EqualValues(t, 3, *unfinished.Value)
}

// A row that states what cannot be is dropped under a rule and counted.
func TestImpossibleRowsAreDropped(t *testing.T) {
	m := &memory{size: 8, info: traces.Info{Name: "log"}}
	for i := range int64(4) {
		m.add(row{submit: i, runtime: 5, walltime: 5, procs: 1})
	}
	m.all.Submit[0], m.all.Runtime[1], m.all.Walltime[2] = -1, -2, -3
	s := plan.DefaultSpec()
	s.Cluster.Procs = 1
	res, err := Run(context.Background(), s, m.open, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Awkward.Count[translate.RuleImpossible])
	require.EqualValues(t, 1, res.State.Left)
}
