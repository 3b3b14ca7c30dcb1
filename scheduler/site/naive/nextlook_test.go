package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// TestQuietUntilCountsOvertakersOnly: a job that was examined, but cannot come before the
// blocked one within the foresight, does not bring quietUntil forward. Its wait grows along a
// logarithm, and along the tangent it would get there.
func TestQuietUntilCountsOvertakersOnly(t *testing.T) {
	w := wakeSite([]int{0, 0}, 1)
	var raw [score.NumFactors]float64
	raw[score.Priority], raw[score.Wait] = 3.856, 1
	p := &w.cfg.Policies[0]
	p.Weights, _ = score.Normalise(raw)
	p.Reference, p.Cycle = 600*model.Second, model.Second
	w.cfg.Quota.Tick, w.cfg.Quota.Window = model.Day, model.Day
	w.enqueue(0, 0, 1, 200_000, 0)
	w.enqueue(0, 1, 2, 50_000, 0)       // blocked, and old
	w.enqueue(0, 59_400, 1, 500_000, 9) // has room, and would delay it
	s := site.New(w.cfg)
	at := func(sec int) model.Time { return model.Time(sec) * model.Time(model.Second) }
	submit := func(ref int) {
		a := &w.jobs[ref].Allocation
		s.Observe(a.Submit, []model.Fact{{Kind: model.FactSubmitted, Job: a.Job, Ref: model.Ref(ref), Submit: a.Submit, Alloc: a}})
	}
	submit(0)
	plan := s.Plan(at(0))
	require.Len(t, plan.Proposals, 1)
	s.Observe(at(0), []model.Fact{{Kind: model.FactAssigned, Ref: 0, Seq: plan.Proposals[0].Seq, Placement: &plan.Proposals[0].Placement}})
	submit(1)
	s.Plan(at(1))
	submit(2)
	require.Empty(t, s.Plan(at(60_000)).Proposals)
	blocked, _, ok := s.FirstBlocked(0)
	require.True(t, ok)
	require.Equal(t, model.Ref(1), blocked)
	require.Equal(t, at(60_600), s.Plan(at(60_000)).Due)
}
