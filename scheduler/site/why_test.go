package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
)

// why is the answer for a job, without what victims there are.
func (s *stand) why(at int64, ref model.Ref) scheduler.Answer {
	return s.core.Answers([]model.Ref{ref}, seconds(at), false, nil)[0]
}

func reason(r model.Reason, behind model.JobID) scheduler.Answer {
	return scheduler.Answer{Reason: r, Behind: behind}
}

// A job that has room at its turn, and would delay the blocked one, waits for nodes after the pass, since a shorter one behind it
// was backfilled onto them.
func TestWhyIsAsOfAfterThePass(t *testing.T) {
	s := newStand(t, alike(4, fcfs(order.Easy)))
	s.submit(0, size(3), wall(1000))
	s.submit(0, size(4), wall(1000))
	s.submit(0, wall(5000))
	require.Equal(t, ids(0), s.pass(0))
	require.Equal(t, reason(model.ReasonResources, -1), s.why(0, 1))
	require.Equal(t, reason(model.ReasonPriority, 1), s.why(0, 2))
	s.submit(10, wall(500))
	require.Equal(t, reason(model.ReasonNone, -1), s.why(10, 3), "for the next pass")
	require.Equal(t, ids(3), s.pass(10))
	require.Equal(t, reason(model.ReasonResources, -1), s.why(10, 2))
	require.Equal(t, reason(model.ReasonNone, -1), s.why(10, 3), "it runs")
}

// Between two ticks a job waits for the next one where no test fails, and for a job before it where that is blocked.
func TestWhyBetweenTicks(t *testing.T) {
	p := fcfs(order.None)
	p.Cycle = 100 * model.Second
	s := newStand(t, alike(4, p))
	s.submit(0, size(3), wall(1000))
	require.Equal(t, ids(0), s.pass(0))
	s.submit(10)
	require.Equal(t, reason(model.ReasonNone, -1), s.why(10, 1))
	require.Empty(t, s.pass(10))
	s.submit(20, size(2))
	s.submit(30)
	require.Equal(t, reason(model.ReasonResources, -1), s.why(30, 2))
	require.Equal(t, reason(model.ReasonPriority, 2), s.why(30, 3))
	require.Equal(t, reason(model.ReasonNone, -1), s.why(30, 1), "it comes before the blocked one")
}

// The first blocked job is held by its limit as soon as a shorter one of its tenant has started behind it: the next job need not
// heed it then.
func TestWhyBehindAJobThatIsHeldNow(t *testing.T) {
	s := newStand(t, tenanted(4, fcfs(order.Easy), model.Limits{MaxConcurrent: 1}, model.Limits{}))
	s.submit(0, size(2), wall(1000), of(1))
	s.submit(0, size(4), wall(1000), of(0))
	s.submit(0, size(1), wall(5000), of(1))
	s.submit(0, size(1), wall(500), of(0))
	require.Equal(t, ids(0, 3), s.pass(0))
	require.Equal(t, reason(model.ReasonQuotaConcurrent, -1), s.why(0, 1))
	require.Equal(t, reason(model.ReasonNone, -1), s.why(0, 2))
}

// Jobs in no queue wait for what keeps them out of it.
func TestWhyInNoQueue(t *testing.T) {
	s := newStand(t, alike(4, fcfs(order.Easy)))
	s.submit(0, wall(100), func(a *model.Allocation) { a.Awaited = true })
	s.submit(0, func(a *model.Allocation) { a.Deps = []model.Dependency{{On: 0, Condition: model.AfterOK}} })
	s.submit(0, func(a *model.Allocation) { a.Eligible = seconds(50) })
	s.submit(0, func(a *model.Allocation) { a.Hold = true })
	require.Equal(t, ids(0), s.pass(0))
	require.Equal(t, reason(model.ReasonDependency, 0), s.why(0, 1))
	require.Equal(t, reason(model.ReasonNotEligible, -1), s.why(0, 2))
	require.Equal(t, reason(model.ReasonHeld, -1), s.why(0, 3))
	s.fact(60, model.Fact{Kind: model.FactEnded, Outcome: model.Failed})
	require.Equal(t, reason(model.ReasonDependencyNever, -1), s.why(60, 1))
	require.Equal(t, reason(model.ReasonNone, -1), s.why(60, 2), "its time has come")
	s.core.Plan(seconds(60))
	require.Equal(t, reason(model.ReasonDependencyNever, -1), s.why(60, 1), "its withdrawal is proposed")
}

// Of three blocked jobs that might each preempt one, the pass looks for victims for the first alone.
func TestWhyNoVictimsWereSought(t *testing.T) {
	p := fcfs(order.Easy)
	p.Preempts, p.Preemption = true, preempt.DefaultConfig()
	p.Preemption.MaxTries = 1
	s := newStand(t, alike(3, p))
	for range 3 {
		s.submit(0, class(2), wall(90000))
	}
	require.Len(t, s.pass(0), 3)
	for range 2 {
		s.submit(10, class(8), wall(90000))
	}
	s.submit(10, class(1), wall(90000))
	require.Len(t, s.core.Plan(seconds(10)).Proposals, 1)
	for ref, want := range map[model.Ref]scheduler.NoVictims{3: scheduler.VictimsFound, 4: scheduler.VictimsUntried, 5: scheduler.VictimsNone} {
		n := s.core.Why(ref, seconds(10))
		require.Equal(t, model.ReasonResources, n.Reason)
		require.Equal(t, want, n.NoVictims, ref)
	}
}
