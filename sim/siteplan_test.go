package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// Every key of a profile that preempts reaches the core, and what agents take to end a job.
func TestPreemptionIsTakenOver(t *testing.T) {
	p, err := profiles.Parse("p", []byte(`preemption: {enabled: true, rule: banded, max_victims: 7, near_completion: 1m, timeout: 2m, extension: 0.25,
  deferral: 3m, deferrals_auto: 1, deferrals_manual: 2}`))
	require.NoError(t, err)
	require.Equal(t, preempt.Config{
		Rule: preempt.Banded, MaxVictims: 7, NearCompletion: model.Minute, Timeout: 2 * model.Minute, Extension: model.One / 4,
		Deferral: 3 * model.Minute, DeferralsAuto: 1, DeferralsManual: 2, KillGrace: 4 * model.Second, Bandwidth: 5,
	}, preemptionOf(&p.Preemption, &profiles.Agents{KillGrace: 4 * model.Second, CheckpointBandwidth: 5}))
}
