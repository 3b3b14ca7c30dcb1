package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// factor is what a factor of a waiting job is in a pass at an instant.
func (s *stand) factor(at int64, job model.JobID, f score.Factor) float64 {
	s.Helper()
	s.pass(at)
	n := s.core.Why(model.Ref(job), seconds(at))
	require.True(s, n.Scored)
	return n.Score.Factors[f].Value.Float()
}

// scored is a site of one node that is scored by all factors.
func scored(p site.Policy) site.Config { return alike(1, p) }

// A job that comes back with an hour left of its five is scored by the price of the hour that
// it has left. Energy costs nothing until 10,000 s, and all from then on.
func TestExpectedPriceIsOfWhatIsLeft(t *testing.T) {
	for at, want := range map[int64]float64{6400: 1, 8200: .5, 10_000: 0} {
		p := balanced(t, order.Easy)
		p.Expected = true
		cfg := scored(p)
		cfg.Prices = site.NewPriceSeries([]model.Time{0, seconds(10_000)}, []model.Fixed{0, model.One})
		s := newStand(t, cfg)
		s.submit(0, wall(5*3600), ckpt(model.CheckpointAuto), class(1))
		require.Equal(t, ids(0), s.pass(0))
		s.submit(10, wall(100_000), class(9))
		s.fact(at, model.Fact{Kind: model.FactPreempted})
		s.fact(at, model.Fact{Kind: model.FactSuspended, Value: int64(model.Hour)})
		require.InDelta(t, want, s.factor(at, 0, score.Energy), 1e-9, "from %d s on", at)
	}
}

// Seconds in the backlog are rounded up: of 4 s that run, 1.5 s that wait are a half.
func TestBacklogRoundsSecondsUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		queued model.Duration
		want   float64
	}{
		{"a whole second", model.Second, .25},
		{"a microsecond more", model.Second + 1, .5},
		{"one and a half", 1500 * model.Millisecond, .5},
		{"a microsecond", 1, .25},
		{"two", 2 * model.Second, .5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, scored(balanced(t, order.Easy)))
			s.submit(0, func(a *model.Allocation) { a.Walltime = 4*model.Second - 1 })
			require.Equal(t, ids(0), s.pass(0))
			s.submit(1, func(a *model.Allocation) { a.Walltime = c.queued })
			require.InDelta(t, c.want, s.factor(1, 1, score.Backlog), 1e-9)
		})
	}
}
