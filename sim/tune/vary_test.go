package tune

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
)

func TestWhatIsVaried(t *testing.T) {
	slurm := "order: multifactor, multifactor: {age: 1000, fairshare: 2000, job_size: 500}, backfill: conservative, depth: 50"
	decay := halves + ", usage: {rule: decay}, preemption: {enabled: true}"
	all := "priority, wait_time, fair_share, topology, data_readiness, backlog, energy, checkpoint, conformance"
	points := "multifactor (shares of age, fairshare, job_size, partition, qos, assoc)"
	for _, c := range []struct {
		profile string
		vary    []string
		want    []string
	}{
		{halves, nil, []string{"weights (shares of " + all + ")", "reference_wait (00:05:00 to 7d00:00:00)", "backfill (easy, conservative)"}},
		{decay, []string{"default"}, []string{"weights (shares of " + all + ")", "reference_wait (00:05:00 to 7d00:00:00)", "usage.half_life (12:00:00 to 60d00:00:00)",
			"backfill (easy, conservative)", "preemption.max_victims (1 to 8)"}},
		{slurm, nil, []string{points, "multifactor.max_age (1d00:00:00 to 60d00:00:00)", "multifactor.half_life (12:00:00 to 60d00:00:00)",
			"multifactor.favor_small (false, true)", "backfill (easy, conservative)", "depth (all, 10, 100, 50)"}},
		{halves, []string{"weights=wait_time,fair_share"}, []string{"weights (shares of wait_time, fair_share)"}},
		{halves, []string{"default", "reference_wait=1h..2h"}, []string{"weights (shares of " + all + ")", "reference_wait (01:00:00 to 02:00:00)", "backfill (easy, conservative)"}},
		{halves, []string{"accounting_tick=1m..1h", "cycle=event,30s", "weights.topology=0.1..0.9", "reference_wait"},
			[]string{"accounting_tick (00:01:00 to 01:00:00)", "cycle (event, 30s)", "weights.topology (0.1 to 0.9)", "reference_wait (00:05:00 to 7d00:00:00)"}},
	} {
		w := newWorld(t, 300, 0.8, c.profile)
		tuner := &tuner{ctx: context.Background(), problem: w.problem(), opt: small()}
		tuner.opt.Vary = c.vary
		s, err := tuner.wholeSpace()
		require.NoError(t, err)
		require.Equal(t, c.want, s.described())
		now, err := tuner.leading()
		require.NoError(t, err)
		at, err := s.pointOf(&now)
		require.NoError(t, err)
		require.NoError(t, s.Check(at), "the current policy is a point of the space")
		same, err := tuner.found("same", s, at, false)
		require.NoError(t, err)
		if c.profile != slurm || c.vary != nil {
			require.Empty(t, profiles.Diff(w.cluster.VClusters[0].Profile.Inline, same.cluster.VClusters[0].Profile.Inline), "and gives it again")
		}
	}
}

func TestWhatCannotBeVaried(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	for text, want := range map[string]string{
		"weights=wait_time":                 "want two weights or more",
		"weights=wait_time,speed":           "there is no weights.speed",
		"multifactor":                       "the queue is not ordered by it: name keys of weights",
		"cycle":                             "want cycle=LOW..HIGH or cycle=A,B,C",
		"tenants.red.fair_share=0.1..0.2":   "only keys of a profile and of services are searched here",
		"reference_wait=2h..1h":             "want a range from a lower to a higher value",
		"reference_wait=0s..1h":             "reference_wait",
		"backfill=1..2":                     "it is text, and has no range",
		"backfill=easy":                     "want values that differ, and from easy, which it has now",
		"backfill=easy,often":               "often",
		"usage.half_life=one day..two days": "usage.half_life",
	} {
		o := small()
		o.Evaluate, o.Vary = planted(0, 0), []string{text}
		_, err := Run(context.Background(), w.problem(), o)
		var usage *UsageError
		require.ErrorAs(t, err, &usage, text)
		require.ErrorContains(t, err, want, text)
	}
	o := small()
	o.Evaluate, o.Vary = planted(0, 0), []string{"default", "weights.topology=0.1..0.9"}
	_, err := Run(context.Background(), w.problem(), o)
	require.ErrorContains(t, err, "it is one of the weights that are varied together")
}

// Nodes whose GPUs are shared cannot be reserved whole.
func TestNothingImpossibleIsVaried(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	cluster := *w.cluster
	cluster.Sharing = "gpus"
	p := w.problem()
	p.Cluster = &cluster
	tuner := &tuner{ctx: context.Background(), problem: p, opt: small()}
	s, err := tuner.wholeSpace()
	require.NoError(t, err)
	require.Len(t, s.Space, 2, "no way to backfill but easy")
	tuner.opt.Vary = []string{"backfill=easy,conservative"}
	_, err = tuner.wholeSpace()
	require.ErrorContains(t, err, "cannot divide them")
}

// A site that orders by the points of Slurm gets points.
func TestPointsOfSlurmAreSearched(t *testing.T) {
	w := newWorld(t, 3000, 0.75, "order: multifactor, multifactor: {age: 1000, fairshare: 2000, job_size: 500}")
	o := small()
	o.Trials, o.Windows, o.Trajectories, o.Points = 8, 20, 2, 0
	o.Evaluate = w.real(2)
	r := w.tune(t, o)
	require.Contains(t, r.Settings, "multifactor.age")
	require.Contains(t, inert(r), "multifactor.qos")
	found := 0
	for i := range r.Tried {
		if r.Tried[i].Role == Found {
			found++
		}
	}
	require.Positive(t, found)
}
